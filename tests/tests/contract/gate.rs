//! Who follows a fleet answers while the gate is open for the snapshot in its hands, and finds out by itself.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::sync::Arc;
use std::time::Instant;

use sa_answer::DropReason;
use sa_compiler::pipeline::Compiled;
use sa_fastpath::gate::{ALWAYS, Gate, boot_time};
use sa_fastpath::publish::{NO_GENERATION, Publisher};
use sa_fastpath::punt::{PuntReceiver, punt_queue};
use sa_fastpath::stats::WorkerStats;
use sa_fastpath::worker::Worker;
use sa_local::Paths;
use sa_local::addresses::Addresses;
use sa_local::agent::{Reason, Records, Resolver, Verdict};
use sa_local::origin::Origin;
use sa_local::ports::HostPort;
use sa_local::replica::Replica;
use sa_local::watch::Seen;
use sa_port::ring::{RingClient, RingServer, reply_length, ring};
use sa_rig::counting::counted;
use sa_snapshot::{EpochId, Snapshot};
use sa_wire::netlink_ls::{PathUse, Resolve};
use sa_wire::umad::Slot;
use sa_wire::{Gid, SubnetPrefix};

use super::fabric::{compiled, requests};

const OLD: u64 = 7;
const NEW: u64 = 8;

/// Units: ns.
const HOUR: u64 = 3_600_000_000_000;
const MOMENT: u64 = 50_000_000;

/// A worker behind a gate, and who asks it. Nothing else runs.
struct Bench {
    publisher: Publisher,
    gate: Arc<Gate>,
    client: RingClient,
    worker: Worker<RingServer>,
    stats: Arc<WorkerStats>,
    _punted: PuntReceiver,
    bytes: Vec<u8>,
    /// Of every kind; the first is answered.
    requests: Vec<Slot>,
}

impl Bench {
    fn new() -> Self {
        let compiled = compiled();
        let publisher = Publisher::new();
        let gate = Arc::new(Gate::new());
        let (client, server, _) = ring(64);
        let (punted, sender) = punt_queue(512);
        let stats = Arc::new(WorkerStats::default());
        let reader = publisher.reader().unwrap();
        let worker = Worker::new(server, reader, sender(0), Arc::clone(&stats));
        Self {
            publisher,
            worker: worker.gated_by(Some(Arc::clone(&gate))),
            gate,
            client,
            stats,
            _punted: punted,
            bytes: compiled.snapshot.as_bytes().to_vec(),
            requests: requests(&compiled),
        }
    }

    fn publish(&mut self, generation: u64) {
        let snapshot = Snapshot::from_bytes(&self.bytes).unwrap();
        self.publisher.publish_as(snapshot, generation);
    }

    /// Whether the worker answers now, of all requests that are answered at all.
    fn answers(&mut self) -> bool {
        self.client.claim(1)[0] = self.requests[0];
        self.client.publish(1);
        assert_eq!(self.worker.turn().unwrap(), 1);
        let is_answered = reply_length(&self.client.replies()[0]).is_some();
        self.client.release(1);
        is_answered
    }

    /// Allocator calls of a worker that is asked everything there is.
    fn calls(&mut self) -> u64 {
        let mut calls = 0;
        let mut rest = &*self.requests;
        while !rest.is_empty() {
            // Fewer where the ring ends.
            let claimed = self.client.claim(rest.len().min(16));
            let (some, behind) = rest.split_at(claimed.len());
            claimed.copy_from_slice(some);
            self.client.publish(some.len());
            calls += counted(|| assert_eq!(self.worker.turn().unwrap(), some.len())).0;
            self.client.release(some.len());
            rest = behind;
        }
        calls
    }

    fn not_ready(&self) -> u64 {
        self.stats.snapshot().dropped[DropReason::NotReady as usize]
    }
}

#[test]
fn a_gate_does_not_make_a_worker_allocate() {
    let mut bench = Bench::new();
    bench.publish(OLD);
    assert_eq!(bench.calls(), 0, "shut");
    assert_eq!(bench.stats.snapshot().answered, 0);
    assert_eq!(bench.not_ready(), bench.requests.len() as u64);
    bench.gate.set(boot_time() + HOUR, OLD);
    assert_eq!(bench.calls(), 0, "open");
    assert!(bench.stats.snapshot().answered > 80);
    bench.gate.set(boot_time(), OLD);
    assert_eq!(bench.calls(), 0, "its time is over");
    assert_eq!(bench.not_ready(), 2 * bench.requests.len() as u64);
}

#[test]
fn answers_end_at_the_deadline_though_no_other_thread_runs() {
    let mut bench = Bench::new();
    bench.publish(OLD);
    bench.gate.set(boot_time() + HOUR, OLD);
    assert!(bench.answers());
    let until = boot_time() + MOMENT;
    bench.gate.set(until, OLD);
    loop {
        let before = boot_time();
        if !bench.answers() {
            break;
        }
        assert!(before < until, "answered after its time");
    }
    assert!(boot_time() >= until, "silent before its time");
    // The next beat.
    bench.gate.set(boot_time() + HOUR, OLD);
    assert!(bench.answers());
}

#[test]
fn only_the_generation_that_is_announced_is_answered_from() {
    let mut bench = Bench::new();
    bench.gate.set(ALWAYS, OLD);
    assert!(!bench.answers(), "there is no snapshot");
    bench.publish(NO_GENERATION);
    assert!(!bench.answers(), "one of no fleet");
    bench.publish(NEW);
    assert!(!bench.answers(), "one that is not announced");
    bench.publish(OLD);
    assert!(bench.answers());
    bench.gate.shut();
    assert!(!bench.answers(), "nothing is in force");
    assert_eq!(bench.not_ready(), 4);
}

#[test]
fn a_change_of_generations_is_a_pause_whichever_comes_first() {
    for is_gate_first in [true, false] {
        let mut bench = Bench::new();
        bench.publish(OLD);
        bench.gate.set(ALWAYS, OLD);
        assert!(bench.answers());
        if is_gate_first {
            bench.gate.set(boot_time() + HOUR, NEW);
        } else {
            bench.publish(NEW);
        }
        assert!(!bench.answers(), "gate first: {is_gate_first}");
        if is_gate_first {
            bench.publish(NEW);
        } else {
            bench.gate.set(boot_time() + HOUR, NEW);
        }
        assert!(bench.answers(), "gate first: {is_gate_first}");
    }
}

#[test]
fn a_worker_without_a_gate_answers_from_any_generation() {
    let mut bench = Bench::new();
    bench.worker = bench.worker.gated_by(None);
    for generation in [NO_GENERATION, OLD] {
        bench.publish(generation);
        assert!(bench.answers());
    }
}

/// What is in service was read this moment.
struct Fresh;

impl Origin for Fresh {
    fn read_at(&self, _: EpochId) -> Option<Instant> {
        Some(Instant::now())
    }
}

/// The first host of the fabric as its kernel sees it, and a question for the last.
fn host(compiled: &Compiled) -> (Seen, Resolve<'static>) {
    let ends = compiled.parts.topology.end_ports.iter();
    let hosts: Vec<_> = ends.filter(|end| end.port_number == 1).collect();
    let gid = |at: usize| Gid::unicast(SubnetPrefix::LINK_LOCAL, hosts[at].guid);
    let port = HostPort {
        device: "mlx5_0".to_owned(),
        port: 1,
        lid: Some(hosts[0].lid),
        sm_lid: Some(hosts[0].lid),
        sm_sl: 0,
        is_active: true,
        gid: gid(0),
    };
    let seen = Seen {
        port,
        sm_since: None,
        served: None,
    };
    let question = Resolve {
        seq: 1,
        device: b"mlx5_0",
        port: 1,
        path_use: PathUse::All,
        service_id: None,
        dgid: Some(gid(hosts.len() - 1)),
        sgid: Some(gid(0)),
        tclass: None,
        pkey: None,
        qos_class: None,
    };
    (seen, question)
}

#[test]
fn the_kernel_is_sent_to_the_sa_while_the_gate_is_shut() {
    let compiled = compiled();
    let (seen, question) = host(&compiled);
    let bytes = compiled.snapshot.as_bytes().to_vec();
    let mut publisher = Publisher::new();
    let replica = |gate: Option<&Arc<Gate>>| {
        let reader = publisher.reader().unwrap();
        let none = Addresses::default();
        let replica = Replica::new(reader, Box::new(Fresh), none, Vec::new(), false);
        let mut replica = replica.gated_by(gate.cloned());
        replica.look(core::slice::from_ref(&seen));
        replica
    };
    let gate = Arc::new(Gate::new());
    let (mut follower, mut other) = (replica(Some(&gate)), replica(None));
    let ask = |replica: &mut Replica| replica.resolve(&question, &mut Records::default());
    publisher.publish_as(compiled.snapshot, OLD);
    let stale = Verdict::Unresolved(Reason::Stale);
    assert_eq!(ask(&mut follower), stale);
    assert_eq!(ask(&mut other), Verdict::Resolved, "it follows no fleet");
    gate.set(boot_time() + HOUR, OLD);
    assert_eq!(ask(&mut follower), Verdict::Resolved);
    gate.set(boot_time() + HOUR, NEW);
    assert_eq!(ask(&mut follower), stale);
    publisher.publish_as(Snapshot::from_bytes(&bytes).unwrap(), NEW);
    assert_eq!(ask(&mut follower), Verdict::Resolved);
    gate.set(boot_time(), NEW);
    assert_eq!(ask(&mut follower), stale);
}
