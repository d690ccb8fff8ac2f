//! Requests between hosts drawn at random with a fixed seed, and what the reference expects.
//!
//! All replies are known before the first request goes out: the slow reference (that of
//! `sa-compiler`, which shares nothing with what answers) is asked for each state of the fabric. So
//! a client compares bytes and nothing else while it is measured. For 65,536 requests of three
//! workloads and four states that is 459,000 replies, some seconds of work.
//!
//! Requests are drawn among the hosts of the healthy fabric and stay the same when parts fail:
//! those about hosts that are cut off are then refused, which is what clients would see as well.

use std::time::Instant;

use sa_bench::{Expected, Pool, Request};
use sa_compiler::pipeline::Compiled;
use sa_compiler::reference::Reply;
use sa_compiler::state::FabricState;
use sa_wire::multipath_record::{MultiPathCompMask, MultiPathRecord};
use sa_wire::umad::Slot;
use sa_wire::{Gid, NodeType, request};
use zerocopy::IntoBytes;

use super::prepare::Prepared;

/// Different requests per workload, and for the changes.
/// More than a second-level cache holds, so that answers cost what they cost in operation.
const REQUESTS: usize = 65_536;

/// What is asked.
///
/// Requests and what is right are both fixed before anything is measured; clients only compare.
pub(super) struct Pools {
    /// Of the snapshot before any change, by name.
    ///
    /// `GID-GID`, `LID-LID`, `MultiPath`, as they are shown.
    pub(super) workloads: Vec<(&'static str, Pool)>,
    /// Some of each workload, with the replies before any change and after each.
    /// Of every four requests two are by GIDs, one is by LIDs, one is for MultiPathRecords.
    ///
    /// States in the order of generations: before, with the new policy, then each damage.
    pub(super) changes: Pool,
}

impl Pools {
    /// Draws requests between the hosts of the healthy fabric and has them answered by the
    /// reference. On one thread: nothing is measured yet, and the order of work is that of the
    /// draws.
    ///
    /// Prints how many replies there are, since nothing else is seen for some seconds.
    pub(super) fn new(prepared: &Prepared) -> Self {
        let start = Instant::now();
        let [by_gid, by_lid, multi] = draw(&prepared.before.parts);
        // Workloads run before any change, so one state is enough for them.
        let healthy = [&prepared.before];
        let damages = prepared.damages.iter().map(|damage| &damage.compiled);
        // In the order of generations: see `changes`.
        let states: Vec<&Compiled> = healthy
            .into_iter()
            .chain([&prepared.after])
            .chain(damages)
            .collect();
        // Mixed by fours, so that every batch has all three kinds.
        let fours = by_gid.chunks(4).zip(by_lid.chunks(4)).zip(multi.chunks(4));
        let some = fours.flat_map(|((gid, lid), multi)| [&gid[..2], &lid[..1], &multi[..1]]);
        let mixed: Vec<Slot> = some.flatten().copied().collect();
        let pools = Self {
            workloads: vec![
                ("GID-GID", pool(&by_gid, &healthy)),
                ("LID-LID", pool(&by_lid, &healthy)),
                ("MultiPath", pool(&multi, &healthy)),
            ],
            changes: pool(&mixed, &states),
        };
        outln!(
            "expected    {} replies by the reference in {:.1} s",
            // Three workloads of one state each, and one of all states.
            (3 + states.len()) * REQUESTS,
            start.elapsed().as_secs_f64()
        );
        pools
    }
}

/// By GIDs, by LIDs, and MultiPathRecords from one source to as many destinations as one MAD has
/// room for in its reply.
/// Draws with replacement, so a host may be asked for the path to itself. Shape: the fabric has
/// hosts.
fn draw(parts: &FabricState) -> [Vec<Slot>; 3] {
    let prefix = parts.options.subnet_prefix;
    let hosts: Vec<(u16, Gid)> = parts
        .topology
        .end_ports
        .iter()
        .filter(|end| end.node_type == NodeType::Ca)
        .map(|end| (end.lid.get(), Gid::unicast(prefix, end.guid)))
        .collect();
    // A fixed seed: every run of the demo asks the same.
    let mut random = Random(0x5eed);
    let mut draw = || {
        (
            hosts[random.below(hosts.len())],
            hosts[random.below(hosts.len())],
        )
    };
    let by_gid = (0..REQUESTS).map(|_| {
        let ((lid, from), (_, to)) = draw();
        // Asked by the source itself, as a program on that host would.
        request::path_by_gids(lid, from, to)
    });
    let by_gid = by_gid.collect();
    let by_lid = (0..REQUESTS).map(|_| {
        let ((from, _), (to, _)) = draw();
        request::path_by_lids(from, to)
    });
    let by_lid = by_lid.collect();
    // A request that does not fit a MAD would be left out; with three destinations all fit.
    let multi = (0..REQUESTS).filter_map(|_| {
        let ((lid, from), (_, first)) = draw();
        let ((_, second), (_, third)) = draw();
        let (mask, record) = (MultiPathCompMask::default(), MultiPathRecord::default());
        let dgids = [first, second, third];
        request::multi_path_request(lid, mask, &record, &[from], &dgids).ok()
    });
    [by_gid, by_lid, multi.collect()]
}

/// Expected replies by state, then by request, as the closed loop looks them up.
///
/// Cost: a reply of the reference for each request and state.
fn pool(requests: &[Slot], states: &[&Compiled]) -> Pool {
    let expected = states.iter().map(|compiled| expected(requests, compiled));
    let expected = expected.collect();
    let requests = requests
        .iter()
        .map(|slot| Request::new(slot.header.lid.get(), &slot.mad));
    Pool {
        requests: requests.collect(),
        expected,
    }
}

/// What each client must see: whole records, an error's status, or silence.
///
/// Shape: as `requests`. On one thread.
fn expected(requests: &[Slot], compiled: &Compiled) -> Vec<Expected> {
    let reference = compiled.parts.reference();
    let answers = requests.iter().map(|slot| {
        match reference.respond(slot.header.lid.get(), &slot.mad) {
            Some(Reply::Records(records)) => Expected::Records(records.as_bytes().to_vec()),
            Some(Reply::Error(status)) => Expected::Error(status.get()),
            // Never right: the workloads hold nothing else.
            Some(Reply::NotMine) => Expected::Error(u16::MAX),
            None => Expected::Silence,
        }
    });
    answers.collect()
}

/// xorshift64: the same draws on every machine.
/// Not for secrets. The state must never be 0, which it would stay.
///
/// Own, so that a new version of a crate cannot change what is asked.
struct Random(u64);

impl Random {
    /// The remainder favours low numbers, by less than one in 2^48 for any fabric.
    ///
    /// 0 where there is nothing to draw from. Exclusive of `limit`.
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit.max(1) as u64).unwrap_or(0)
    }
}
