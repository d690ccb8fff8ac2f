//! The fast-path contract: a worker's turn neither allocates nor frees, whatever it is asked and
//! however often snapshots change under it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::Duration;

use policy::{Dialect, Echo, Ranges, ServiceIdEncoding, Span, Spanned};
use sa_fastpath::access::Access;
use sa_fastpath::answer::{DropReason, PuntReason, Reject};
use sa_fastpath::overload::{Limits, Share};
use sa_fastpath::port::ring::{RingClient, RingServer, ring};
use sa_fastpath::port::{BATCH, MadPort, PortError, Verdict};
use sa_fastpath::publish::Publisher;
use sa_fastpath::punt::{PuntReceiver, punt_queue};
use sa_fastpath::stats::{StatsSnapshot, WorkerStats};
use sa_fastpath::worker::Worker;
use sa_snapshot::Snapshot;
use sa_wire::mad::method;
use sa_wire::multipath_record::{MultiPathCompMask, MultiPathRecord};
use sa_wire::path_record::{FlowWord, NumbPathByte, PathCompMask, PathRecord, SelectedValue};
use sa_wire::umad::Slot;
use sa_wire::{Gid, Guid, SubnetPrefix};
use sm_control::generate::{TorusSpec, plan};
use sm_control::pipeline::{self, Compiled, Inputs, Stamp};
use sm_control::request;

/// Counts what the calling thread does.
struct Counting;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    // The counter has no destructor, so it can be reached at any time.
    let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
}

// SAFETY: every method hands its arguments to the system allocator unchanged.
// WHY: nothing but a global allocator sees every allocation.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as given.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count();
        // SAFETY: as given.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as given.
        unsafe { System.realloc(place, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocator calls of `work` on this thread.
fn calls_of(work: impl FnOnce()) -> u64 {
    let before = CALLS.with(Cell::get);
    work();
    CALLS.with(Cell::get) - before
}

const POLICY: &str = include_str!("../../docs/examples/qos-policy.conf");

/// What OpenSM's dialect cannot say: levels without SL and of one path bit, rules by traffic class
/// and by ends that must be named, service ids in another place, and classes that come back.
fn beyond_opensm(mut compiled: Compiled, encoding: ServiceIdEncoding) -> Compiled {
    let policy = compiled.parts.policy.as_mut().unwrap();
    policy.dialect = Dialect::Rfc01Xml;
    policy.semantics.echo = Echo::TClass;
    policy.semantics.endpoint_mask_required = true;
    policy.semantics.service_id_encoding = encoding;
    let here = Span::START;
    let default = usize::from(policy.default_level.0);
    for (place, level) in policy.levels.iter_mut().enumerate() {
        level.sl = None;
        if place != default {
            level.path_bits = Some(Spanned::new(Ranges::single(1), here));
            level.tclass = Some(Spanned::new(9, here));
        }
    }
    for rule in &mut policy.rules {
        rule.tclass = Some(Spanned::new(Ranges::single(7), here));
    }
    compiled.snapshot = pipeline::build(&compiled.parts, Vec::new(), Stamp::default()).unwrap();
    assert!(!compiled.snapshot.is_plain());
    compiled
}

/// A second GUID of a switch.
const ALIAS: u64 = 0xa11a5;

/// A 3x3x3 torus, LMC 1, with the sample policy and an alias GUID.
fn compiled() -> Compiled {
    let directory = tempfile::tempdir().unwrap();
    let plan = plan(&TorusSpec::new([3, 3, 3], 2)).unwrap();
    let file = |name: &str| directory.path().join(name);
    std::fs::write(file("net"), plan.net()).unwrap();
    std::fs::write(file("conf"), plan.torus_conf()).unwrap();
    std::fs::write(file("policy"), POLICY).unwrap();
    let inputs = Inputs {
        fabric: file("net"),
        torus_conf: Some(file("conf")),
        policy: Some(file("policy")),
        lmc: Some(sa_wire::Lmc::new(1).unwrap()),
        ..Inputs::default()
    };
    let mut compiled = pipeline::compile(&inputs, Stamp::default()).unwrap();
    let mut ends = compiled.parts.topology.end_ports.iter();
    let switch = ends.find(|end| end.port_number == 0).unwrap().guid;
    compiled.parts.aliases = vec![(Guid::new(ALIAS).unwrap(), switch)];
    compiled.snapshot = pipeline::build(&compiled.parts, Vec::new(), Stamp::default()).unwrap();
    compiled
}

struct Bench {
    publisher: Publisher,
    client: RingClient,
    worker: Worker<RingServer>,
    stats: Arc<WorkerStats>,
    punted: PuntReceiver,
}

impl Bench {
    fn new(punt_capacity: usize) -> Self {
        let publisher = Publisher::new();
        let (client, server, _) = ring(64);
        let (punted, sender) = punt_queue(punt_capacity);
        let stats = Arc::new(WorkerStats::default());
        let reader = publisher.reader().unwrap();
        let worker = Worker::new(server, reader, sender(0), Arc::clone(&stats));
        Self {
            publisher,
            client,
            worker,
            stats,
            punted,
        }
    }

    /// Asks, lets the worker turn, and returns the allocator calls of its turns.
    fn ask(&mut self, requests: &[Slot]) -> u64 {
        let mut calls = 0;
        let mut rest = requests;
        while !rest.is_empty() {
            let claimed = self.client.claim(rest.len().min(16));
            let count = claimed.len();
            claimed.copy_from_slice(&rest[..count]);
            self.client.publish(count);
            rest = &rest[count..];
            let worker = &mut self.worker;
            calls += calls_of(|| assert_eq!(worker.turn().unwrap(), count));
            let back = self.client.replies().len();
            self.client.release(back);
        }
        calls
    }

    fn stats(&self) -> StatsSnapshot {
        self.stats.snapshot()
    }
}

/// Every kind of request there is: answered, refused, dropped, punted for each reason.
fn requests(compiled: &Compiled) -> Vec<Slot> {
    let ends = compiled.parts.topology.end_ports.iter();
    let hosts: Vec<_> = ends.filter(|end| end.port_number == 1).collect();
    let gid = |n: usize| Gid::unicast(SubnetPrefix::LINK_LOCAL, hosts[n % hosts.len()].guid);
    let lid = |n: usize| hosts[n % hosts.len()].lid.get();
    let ask = |asked, mask, record: PathRecord| request::path_request(lid(0), asked, mask, &record);
    let by_lid = PathRecord {
        slid: lid(0).into(),
        dlid: lid(9).into(),
        ..Default::default()
    };
    let lids = PathCompMask::SLID | PathCompMask::DLID;
    let by_gid = PathRecord {
        sgid: gid(0).0,
        dgid: gid(9).0,
        ..Default::default()
    };
    let gids = PathCompMask::SGID | PathCompMask::DGID;
    let mut all = Vec::new();
    for n in 1..40 {
        all.push(request::path_by_lids(lid(n), lid(n * 7)));
        all.push(request::path_by_gids(lid(n), gid(n), gid(n * 5)));
    }
    // Tables that fit, with selectors, P_Key, SL, service id, class.
    let selected = PathRecord {
        mtu: SelectedValue(0x41),
        rate: SelectedValue(0xc2),
        packet_life: SelectedValue(0x92),
        pkey: 0xffff.into(),
        service_id: 0x0106_1144.into(),
        numb_path: NumbPathByte::new(2).with_reversible(),
        ..by_gid
    };
    let many = PathCompMask(0x3f_7c0f) | gids;
    all.push(ask(method::GET_TABLE, many, selected));
    let exactly = PathRecord {
        mtu: SelectedValue(0x84),
        ..selected
    };
    all.push(ask(method::GET, many, exactly));
    let three = PathRecord {
        numb_path: NumbPathByte::new(3),
        ..by_gid
    };
    all.push(ask(
        method::GET_TABLE,
        gids | PathCompMask::NUMB_PATH,
        three,
    ));
    let raw = PathRecord {
        flow: FlowWord::new(0, 0).with_raw_traffic(),
        ..by_gid
    };
    all.push(ask(method::GET, gids | PathCompMask::RAW_TRAFFIC, raw));
    let classed = PathRecord {
        tclass: 7,
        ..selected
    };
    for mask in [PathCompMask::TCLASS, PathCompMask(0x447f)] {
        all.push(ask(method::GET, gids | mask, classed));
        all.push(ask(method::GET_TABLE, gids | mask, classed));
    }
    // Refusals.
    let bad_rate = PathRecord {
        rate: SelectedValue(0x81),
        ..by_lid
    };
    all.push(ask(method::GET, lids | PathCompMask::RATE_PAIR, bad_rate));
    all.push(ask(
        method::GET_TABLE,
        lids | PathCompMask::RATE_PAIR,
        bad_rate,
    ));
    all.push(ask(
        method::GET,
        lids | PathCompMask::SERVICE_ID_MSB,
        by_lid,
    ));
    let unknown = PathRecord {
        dlid: 0xbfff.into(),
        ..by_lid
    };
    all.push(ask(method::GET, lids, unknown));
    all.push(ask(method::GET_TABLE, lids, unknown));
    let contradicting = PathRecord {
        slid: lid(3).into(),
        ..by_gid
    };
    all.push(ask(method::GET, gids | PathCompMask::SLID, contradicting));
    // Silence.
    let plain = request::path_by_lids(lid(1), lid(2));
    let changed = |change: &dyn Fn(&mut Slot)| {
        let mut slot = plain;
        change(&mut slot);
        slot
    };
    all.push(changed(&|slot| slot.mad[1] = 0x81));
    all.push(changed(&|slot| slot.mad[3] = method::REPORT_RESP));
    all.push(changed(&|slot| slot.mad[3] |= 0x80));
    all.push(changed(&|slot| {
        slot.mad[24..28].copy_from_slice(&[1, 2, 1, 0])
    }));
    all.push(changed(&|slot| slot.mad[43] = 7));
    all.push(changed(&|slot| slot.header.lid = 0xbfff.into()));
    // The slow lane's.
    all.push(changed(&|slot| slot.mad[16..18].copy_from_slice(&[0, 1])));
    all.push(ask(method::GET_TABLE, PathCompMask::SLID, by_lid));
    let multicast = PathRecord {
        dgid: [0xff; 16],
        ..by_gid
    };
    all.push(ask(method::GET, gids, multicast));
    all.push(ask(method::GET_TABLE, gids, by_gid));
    let aliased = PathRecord {
        dgid: Gid::unicast(SubnetPrefix::LINK_LOCAL, Guid::new(ALIAS).unwrap()).0,
        ..by_gid
    };
    all.push(ask(method::GET, gids, aliased));
    all.extend(multi_requests(&gid, lid(0)));
    all
}

/// For MultiPathRecord: few paths, many, none, alternate ones, and everything that is wrong.
fn multi_requests(gid: &dyn Fn(usize) -> Gid, requester: u16) -> Vec<Slot> {
    let ask = |mask, record: MultiPathRecord, sources: &[usize], destinations: &[usize]| {
        let list = |hosts: &[usize]| hosts.iter().map(|n| gid(*n)).collect::<Vec<_>>();
        let (sgids, dgids) = (list(sources), list(destinations));
        request::multi_path_request(requester, mask, &record, &sgids, &dgids).unwrap()
    };
    let free = MultiPathCompMask(0);
    let paths = |count| MultiPathRecord {
        numb_path: NumbPathByte::new(count),
        ..Default::default()
    };
    let mut selected = MultiPathRecord {
        mtu: SelectedValue(0x41),
        rate: SelectedValue(0xc2),
        packet_life: SelectedValue(0x92),
        pkey: 0xffff.into(),
        tclass: 7,
        ..paths(3)
    };
    selected.set_service_id(sa_wire::ServiceId(0x0106_1144));
    let bad_rate = MultiPathRecord {
        rate: SelectedValue(0x81),
        ..selected
    };
    let some = MultiPathCompMask::NUMB_PATH;
    let many = MultiPathCompMask(0xfcf0) | MultiPathCompMask::SERVICE_ID;
    let mut all = vec![
        ask(some, paths(1), &[0], &[9]),
        ask(some, paths(0), &[0], &[9]),
        ask(some, paths(3), &[0, 1], &[9, 9]),
        ask(free, paths(2), &[0, 1], &[9, 13]),
        ask(many, selected, &[0], &[9, 10]),
        ask(free, paths(0), &[0, 1, 2, 3, 4], &[9, 10, 11, 12, 13, 14]),
        ask(many, bad_rate, &[0], &[9]),
        ask(MultiPathCompMask::SERVICE_ID_LSB, paths(1), &[0], &[9]),
        ask(free, paths(1), &[], &[9]),
    ];
    let plain = all[0];
    let changed = |at: usize, value: u8| {
        let mut slot = plain;
        slot.mad[at] = value;
        slot
    };
    // No RMPP, another method, no counts, a GID of nobody, counts beyond what was sent.
    all.extend([
        changed(26, 0),
        changed(3, method::GET),
        changed(53, 0),
        changed(95, 0xee),
        changed(72, 255),
    ]);
    all
}

#[test]
fn no_request_makes_a_worker_allocate() {
    let compiled = compiled();
    let mut bench = Bench::new(256);
    let requests = requests(&compiled);
    assert_eq!(bench.ask(&requests), 0, "without a snapshot");
    bench.publisher.publish(compiled.snapshot);
    assert_eq!(bench.ask(&requests), 0, "with one");
    let stats = bench.stats();
    assert!(stats.answered > 80, "{stats:?}");
    // The list of requests really reaches every outcome; the full queue has its own test.
    for (reason, name) in Reject::ALL {
        let reached = stats.refused[reason as usize] > 0;
        // A table without records is a success, so only Get says that there are none.
        assert!(reached, "no request was refused as {name}");
    }
    for (reason, name) in PuntReason::ALL {
        assert!(
            stats.punted[reason as usize] > 0,
            "no request was punted as {name}"
        );
    }
    for (reason, name) in DropReason::ALL {
        let reached = stats.dropped[reason as usize] > 0;
        assert!(
            reached || matches!(name, "queue_full" | "rmpp" | "access" | "age" | "share"),
            "no request was dropped as {name}"
        );
    }
}

#[test]
fn no_policy_of_the_rfcs_makes_a_worker_allocate() {
    for encoding in ServiceIdEncoding::ALL {
        let compiled = beyond_opensm(compiled(), encoding);
        let mut bench = Bench::new(256);
        let requests = requests(&compiled);
        bench.publisher.publish(compiled.snapshot);
        assert_eq!(bench.ask(&requests), 0);
        let stats = bench.stats();
        assert!(stats.answered > 80, "{stats:?}");
        let half = stats.refused[Reject::InsufficientComponents as usize];
        let strange_keys = stats.dropped[DropReason::Key as usize];
        // Without counts there is no MultiPathRecord request.
        let expected = match encoding {
            ServiceIdEncoding::Standard => (3, 1),
            ServiceIdEncoding::LegacyA => (3, 0),
            ServiceIdEncoding::LegacyB => (1, 1),
        };
        assert_eq!((half, strange_keys), expected, "{encoding}");
    }
}

#[test]
fn a_full_punt_queue_does_not_make_a_worker_allocate() {
    let compiled = compiled();
    let requests = requests(&compiled);
    let mut bench = Bench::new(2);
    bench.publisher.publish(compiled.snapshot);
    assert_eq!(bench.ask(&requests), 0);
    // Of each kind.
    assert_eq!(bench.punted.len(), 2 * 2);
    assert!(bench.stats().dropped[DropReason::QueueFull as usize] > 0);
}

/// A ring that says that requests may wait in it for any time.
struct Piling(RingServer);

impl MadPort for Piling {
    fn recv(&mut self) -> Result<&mut [Slot], PortError> {
        self.0.recv()
    }

    fn piles_up(&self) -> bool {
        true
    }

    fn send(&mut self, verdicts: &[Verdict]) -> Result<usize, PortError> {
        self.0.send(verdicts)
    }
}

#[test]
fn neither_access_nor_limits_make_a_worker_allocate() {
    let compiled = compiled();
    let requests = requests(&compiled);
    let share = Some(Share {
        per_second: 1,
        burst: 100,
    });
    let limits = Limits {
        oldest: Some(Duration::from_nanos(1)),
        gets: share,
        others: share,
        busy_reply: true,
    };
    let mut publisher = Publisher::new();
    let (mut client, server, _) = ring(BATCH);
    let (_punted, sender) = punt_queue(64);
    let stats = Arc::new(WorkerStats::default());
    let reader = publisher.reader().unwrap();
    let worker = Worker::new(Piling(server), reader, sender(0), Arc::clone(&stats));
    let mut worker = worker.with_access(Access::Strict).with_limits(limits);
    publisher.publish(compiled.snapshot);
    let mut calls = 0;
    for first in 0..200 {
        let claimed = client.claim(BATCH);
        assert_eq!(claimed.len(), BATCH, "so that batches are full");
        let some = requests.iter().cycle().skip(first);
        for (place, request) in claimed.iter_mut().zip(some) {
            *place = *request;
        }
        client.publish(BATCH);
        calls += calls_of(|| assert_eq!(worker.turn().unwrap(), BATCH));
        let back = client.replies().len();
        client.release(back);
    }
    assert_eq!(calls, 0);
    let stats = stats.snapshot();
    for reason in [DropReason::Access, DropReason::Age, DropReason::Share] {
        assert!(stats.dropped[reason as usize] > 0, "{reason:?}: {stats:?}");
    }
}

#[test]
fn a_thousand_publications_make_a_worker_neither_allocate_nor_free() {
    let compiled = compiled();
    let requests = requests(&compiled);
    let mut bench = Bench::new(4096 * 4);
    let bytes = compiled.snapshot.as_bytes().to_vec();
    let mut calls = 0;
    for nth in 1..=1000 {
        // Building and freeing snapshots happens here, outside what is counted.
        let epoch = bench
            .publisher
            .publish(Snapshot::from_bytes(&bytes).unwrap());
        assert_eq!(epoch.get(), nth);
        calls += bench.ask(&requests[..20]);
        assert_eq!(
            bench.stats().epoch,
            nth,
            "the worker took it up at its next turn"
        );
        assert!(bench.publisher.retired() <= 1);
    }
    assert_eq!(calls, 0);
    assert_eq!(bench.publisher.reclaim(), 0);
}

#[test]
fn the_counter_counts() {
    assert!(calls_of(|| drop(std::hint::black_box(vec![1u8; 100]))) >= 2);
}

/// Notes on which thread it is destroyed.
struct Payload(Arc<Mutex<Vec<ThreadId>>>);

impl Drop for Payload {
    fn drop(&mut self) {
        self.0.lock().unwrap().push(std::thread::current().id());
    }
}

#[test]
fn no_reader_ever_runs_a_destructor() {
    let drops = Arc::new(Mutex::new(Vec::new()));
    let stop = AtomicBool::new(false);
    let mut publisher = Publisher::<Payload>::new();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            let mut reader = publisher.reader().unwrap();
            let stop = &stop;
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::black_box(reader.refresh().map(|published| published.epoch));
                }
            });
        }
        for _ in 0..1000 {
            publisher.publish(Payload(Arc::clone(&drops)));
            std::thread::yield_now();
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(publisher.reclaim(), 0, "every reader is gone");
    drop(publisher);
    let drops = drops.lock().unwrap();
    assert_eq!(drops.len(), 1000);
    assert!(
        drops
            .iter()
            .all(|thread| *thread == std::thread::current().id())
    );
}
