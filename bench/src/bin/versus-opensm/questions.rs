//! What both are asked, and what must come back.
//!
//! The same requests go to both, in the same order, and the replies are compared byte by byte with
//! what the snapshot gives. Wrong are another status and another record. Other bytes in a header
//! are counted and shown: two servers may differ there without being wrong.
//!
//! ```text
//! bytes 0..56 of a MAD    headers; 4..6 status, 8..16 transaction
//! bytes 56..120           the PathRecord
//! ```

use std::fs;

use sa_answer::whole;
use sa_compiler::path_json;
use sa_compiler::pipeline::{self, Inputs, Stamp};
use sa_fabric::formats::subnet_lst;
use sa_snapshot::Snapshot;
use sa_wire::sa::DATA_OFFSET;
use sa_wire::umad::{MAD_SIZE, Slot};
use sa_wire::{Gid, Guid, NodeType, SubnetPrefix, request};

use crate::fabric::{Fabric, Files};
use crate::failure::{Failure, Outcome};
use crate::options::{Options, Workload};

/// The pools of all workloads.
///
/// Drawn before any load, so that making requests takes no time of a measurement.
#[derive(Debug)]
pub(crate) struct Questions {
    pools: Vec<Pool>,
}

/// Requests of one workload.
///
/// Made once, and asked round and round by both sides.
#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) workload: Workload,
    pub(crate) requests: Vec<[u8; MAD_SIZE]>,
    /// Shape: as `requests`; headers and one record, or an error.
    expected: Vec<Vec<u8>>,
}

/// A port of a host.
///
/// In the order of LIDs, so that both sides' lists can be compared as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Host {
    lid: u16,
    guid: u64,
}

/// What is wrong with replies.
#[derive(Debug, Clone, Default)]
pub(crate) struct Differences {
    /// Replies whose headers differ in some byte, though status and record are right.
    pub(crate) headers: u64,
    /// In words, of the first of them.
    pub(crate) first: Option<String>,
}

impl Questions {
    /// Draws pairs of hosts and compiles what a client at `lid` must be answered. Errors: the two
    /// SMs gave different LIDs; the fabric cannot be compiled.
    pub(crate) fn draw(
        options: &Options,
        fabric: &Fabric,
        files: &[&Files; 2],
        lid: u16,
    ) -> Outcome<Self> {
        // Files of both: that the two OpenSMs gave the same LIDs is what the comparison rests on.
        let [one, other] = files.map(hosts);
        let (all, same) = (one?, other?);
        // Else one snapshot could not say what both must answer.
        if all != same || all.len() != fabric.hosts() {
            return Err(Failure::Failed(format!(
                "the two SMs gave different LIDs to the {} hosts",
                fabric.hosts()
            )));
        }
        let [opensm, _] = *files;
        // By OpenSM's own file, so that what is expected comes of the LIDs that it gave.
        let snapshot = compile(opensm)?;
        let pools = options.workloads.iter();
        let pools = pools.map(|workload| Pool::draw(*workload, options, &all, lid, &snapshot));
        Ok(Self {
            pools: pools.collect::<Outcome<_>>()?,
        })
    }

    pub(crate) fn pools(&self) -> &[Pool] {
        &self.pools
    }
}

impl Pool {
    /// Errors: no hosts; the snapshot says nothing to a request.
    fn draw(
        workload: Workload,
        options: &Options,
        hosts: &[Host],
        lid: u16,
        snapshot: &Snapshot,
    ) -> Outcome<Self> {
        // From the seed for each workload anew: all ask about the same pairs.
        let mut random = Random(options.seed);
        let mut pool = Self {
            workload,
            requests: Vec::new(),
            expected: Vec::new(),
        };
        for _ in 0..options.pairs {
            let (Some(from), Some(to)) = (random.of(hosts), random.of(hosts)) else {
                return Err(Failure::Failed("no hosts to ask about".to_owned()));
            };
            let mut slot = asked(workload, lid, from, to)?;
            // The requester is the client, whoever the pair is: what it may see depends on it.
            slot.header.lid = lid.into();
            let reply = whole::respond(snapshot, &slot);
            pool.expected.push(reply.ok_or_else(|| {
                Failure::Failed("the snapshot gives no answer to the client".to_owned())
            })?);
            pool.requests.push(slot.mad);
        }
        Ok(pool)
    }

    /// What is wrong with the reply to request `nth`, if anything.
    ///
    /// Status and record decide. The headers before them are compared as well, but for the
    /// transaction, which the simulator marks by client.
    pub(crate) fn problem(
        &self,
        nth: usize,
        reply: &[u8],
        differences: &mut Differences,
    ) -> Option<String> {
        // Asked in turn, so its place in the pool names what is expected.
        let expected = self.expected.get(nth)?;
        // Longer replies are cut: a simulator hands over whole MADs.
        let Some(reply) = reply.get(..expected.len()) else {
            return Some(format!(
                "request {nth}: a reply of {} bytes, expected {}",
                reply.len(),
                expected.len()
            ));
        };
        // `get` on both: ranges are inside, as lengths were judged above.
        let is_same =
            |range: std::ops::Range<usize>| reply.get(range.clone()) == expected.get(range);
        if !is_same(STATUS) || !is_same(DATA_OFFSET..expected.len()) {
            return Some(format!(
                "request {nth} ({}):\n  expected {}\n  answered {}",
                self.workload.name(),
                in_words(expected),
                in_words(reply)
            ));
        }
        if !is_same(0..TRANSACTION.start) || !is_same(TRANSACTION.end..DATA_OFFSET) {
            differences.headers += 1;
            differences.first.get_or_insert_with(|| {
                let bytes = (0..DATA_OFFSET).filter(|at| !TRANSACTION.contains(at));
                let bytes = bytes.filter(|at| reply.get(*at) != expected.get(*at));
                let all: Vec<String> = bytes.map(|at| at.to_string()).collect();
                format!("request {nth}, bytes {} of the MAD", all.join(" "))
            });
        }
        None
    }
}

/// The hosts that OpenSM wrote down. Errors: it cannot be read.
fn hosts(files: &Files) -> Outcome<Vec<Host>> {
    let path = &files.subnet;
    let bytes = fs::read(path).map_err(Failure::of(path.display()))?;
    let fabric = subnet_lst::parse(&bytes).map_err(Failure::of(path.display()))?;
    let nodes = fabric.nodes().iter();
    let ports = nodes
        .filter(|node| node.kind == NodeType::Ca)
        .flat_map(|node| &node.ports);
    // Ports without LID or GUID were not brought up: that a host is missing is found by the count.
    let mut hosts: Vec<Host> = ports
        .filter_map(|port| {
            let (lid, guid) = (port.lid?.get(), port.guid?.get());
            Some(Host { lid, guid })
        })
        .collect();
    // In one order, whatever the order of lines.
    hosts.sort_unstable();
    Ok(hosts)
}

/// As the daemon does by its configuration.
///
/// Errors: the fabric does not compile, or no daemon would publish what comes of it.
fn compile(files: &Files) -> Outcome<Snapshot> {
    let inputs = Inputs {
        fabric: files.subnet.clone(),
        torus_conf: Some(files.torus_conf.clone()),
        policy: files.policy.clone(),
        qos: Some(true),
        ..Inputs::default()
    };
    let compiled = pipeline::compile(&inputs, Stamp::default());
    let compiled = compiled.map_err(Failure::of("compiling the fabric"))?;
    compiled
        .publishable()
        .map_err(Failure::of("compiling the fabric"))?;
    Ok(compiled.snapshot)
}

/// The request, as from a client at `lid`; by LIDs, the LIDs are those of the pair, not of the
/// client.
fn asked(workload: Workload, lid: u16, from: Host, to: Host) -> Outcome<Slot> {
    let gid = |host: Host| {
        let guid = Guid::new(host.guid).map_err(Failure::of("a host"))?;
        Ok(Gid::unicast(LINK_LOCAL, guid))
    };
    Ok(match workload {
        Workload::Gid => request::path_by_gids(lid, gid(from)?, gid(to)?),
        Workload::Lid => request::path_by_lids(from.lid, to.lid),
    })
}

/// For messages about wrong replies: a record in words, or the status.
fn in_words(reply: &[u8]) -> String {
    match request::parse(reply) {
        Ok((status, records)) => match records.first() {
            Some(record) => path_json::in_words(record).to_string(),
            None => format!("status {status:#06x}"),
        },
        Err(error) => error.to_string(),
    }
}

/// xorshift64: the same draws on every machine.
///
/// Shape: the state is never 0, as the seed is at least 1.
struct Random(u64);

impl Random {
    fn of(&mut self, hosts: &[Host]) -> Option<Host> {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        // The bias of the remainder is far below what a pair matters here.
        let place = self.0 % hosts.len().max(1) as u64;
        hosts.get(usize::try_from(place).ok()?).copied()
    }
}

/// The prefix of a subnet that nobody has given another one.
const LINK_LOCAL: SubnetPrefix = SubnetPrefix(0xfe80_0000_0000_0000);
/// Bytes of a MAD.
///
/// Left out of the comparison: the simulator marks it by client.
const STATUS: std::ops::Range<usize> = 4..6;
const TRANSACTION: std::ops::Range<usize> = 8..16;
