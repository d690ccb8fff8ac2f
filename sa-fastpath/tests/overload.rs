//! A worker under more load than it can answer: who loses, and what they are told.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use core::sync::atomic::AtomicBool;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use sa_answer::DropReason;
use sa_fastpath::gate::Gate;
use sa_fastpath::overload::{Limits, Share};
use sa_fastpath::publish::Publisher;
use sa_fastpath::punt::punt_queue;
use sa_fastpath::stats::WorkerStats;
use sa_fastpath::worker::Worker;
use sa_port::{BACKLOG, BATCH, MadPort, PortError, Verdict};
use sa_wire::mad::{MGMT_CLASS_SA, Status, method};
use sa_wire::sa::SaMad;
use sa_wire::umad::Slot;

/// A port with what is to come.
struct Queue {
    waiting: VecDeque<Slot>,
    lent: Vec<Slot>,
    /// Requests as they came back, with what became of them.
    done: Vec<(Slot, Verdict)>,
}

impl Queue {
    fn lend(&mut self, most: usize) -> &mut [Slot] {
        let count = most.min(self.waiting.len());
        self.lent = self.waiting.drain(..count).collect();
        &mut self.lent
    }
}

impl MadPort for Queue {
    fn recv(&mut self) -> Result<&mut [Slot], PortError> {
        Ok(self.lend(BATCH))
    }

    fn recv_backlog(&mut self) -> Result<&mut [Slot], PortError> {
        Ok(self.lend(BACKLOG))
    }

    fn backlog(&self) -> usize {
        BACKLOG
    }

    fn piles_up(&self) -> bool {
        true
    }

    fn send(&mut self, verdicts: &[Verdict]) -> Result<usize, PortError> {
        assert_eq!(verdicts.len(), self.lent.len());
        let lent = self.lent.drain(..);
        self.done.extend(lent.zip(verdicts.iter().copied()));
        Ok(0)
    }
}

fn request(lid: u16, asked: u8) -> Slot {
    let mut slot = Slot::EMPTY;
    slot.header.lid = lid.into();
    slot.mad[..4].copy_from_slice(&[1, MGMT_CLASS_SA, 2, asked]);
    slot
}

/// A worker without a snapshot: what is not given up is dropped as "not ready".
struct Bench {
    worker: Worker<Queue>,
    stats: Arc<WorkerStats>,
    _publisher: Publisher,
}

impl Bench {
    fn new(limits: Limits, waiting: impl IntoIterator<Item = Slot>) -> Self {
        let publisher = Publisher::new();
        let (_, sender) = punt_queue(1);
        let stats = Arc::new(WorkerStats::default());
        let queue = Queue {
            waiting: waiting.into_iter().collect(),
            lent: Vec::new(),
            done: Vec::new(),
        };
        let reader = publisher.reader().unwrap();
        let worker = Worker::new(queue, reader, sender(0), Arc::clone(&stats));
        Self {
            worker: worker.with_limits(limits),
            stats,
            _publisher: publisher,
        }
    }

    fn run(&mut self) {
        while self.worker.turn().unwrap() > 0 {}
    }

    fn dropped(&self, reason: DropReason) -> u64 {
        self.stats.snapshot().dropped[reason as usize]
    }
}

const SMALL: Share = Share {
    per_second: 1,
    burst: 100,
};

fn shares() -> Limits {
    Limits {
        gets: Some(SMALL),
        others: Some(SMALL),
        ..Limits::NONE
    }
}

#[test]
fn a_flood_takes_its_own_share_only() {
    // One in a hundred is of somebody else, a thousand LIDs in turn.
    let flood = (0..100_000_u32).map(|at| match at % 100 {
        0 => request(u16::try_from(100 + at / 100).unwrap(), method::GET),
        _ => request(7, method::GET),
    });
    let mut bench = Bench::new(shares(), flood);
    bench.run();
    let done = &bench.worker.port().done;
    assert_eq!(done.len(), 100_000);
    let given_up = bench.dropped(DropReason::Share);
    // The last batch is not full, and a share grows by one a second.
    assert!((98_000..=98_900).contains(&given_up), "{given_up}");
    assert_eq!(bench.dropped(DropReason::NotReady), 100_000 - given_up);
}

#[test]
fn without_a_queue_there_are_no_limits() {
    let mut bench = Bench::new(shares(), []);
    for _ in 0..1000 {
        let some = (0..BATCH - 1).map(|_| request(7, method::GET));
        bench.worker.port().waiting.extend(some);
        bench.run();
    }
    assert_eq!(bench.dropped(DropReason::Share), 0);
}

#[test]
fn what_is_too_old_is_given_up_and_the_newest_is_not() {
    let limits = Limits {
        oldest: Some(Duration::from_nanos(1)),
        ..Limits::NONE
    };
    let count = 10 * BACKLOG + 5;
    let all = (0..count).map(|at| request(u16::try_from(at + 1).unwrap(), method::GET));
    let mut bench = Bench::new(limits, all);
    bench.run();
    let (old, kept) = (
        bench.dropped(DropReason::Age),
        bench.dropped(DropReason::NotReady),
    );
    assert_eq!(old + kept, count as u64);
    assert!(
        old >= BACKLOG as u64 && kept >= 5,
        "{old} too old, {kept} not"
    );
}

#[test]
fn those_given_up_may_be_told() {
    let limits = Limits {
        busy_reply: true,
        ..shares()
    };
    let mut response = request(7, method::GET_RESP);
    response.mad[16..18].copy_from_slice(&[0, 0x35]);
    let flood = (0..1000).map(|_| request(7, method::GET));
    let all = flood.chain((0..BATCH).map(|_| response));
    let mut bench = Bench::new(limits, all);
    bench.run();
    let given_up = bench.dropped(DropReason::Share);
    let done = &bench.worker.port().done;
    let replies: Vec<_> = done
        .iter()
        .filter(|(_, verdict)| matches!(verdict, Verdict::Reply(_)))
        .collect();
    let requests = done
        .iter()
        .filter(|(slot, _)| slot.mad[3] & 0x80 == 0 || is_busy(slot));
    assert!(requests.count() >= 1000);
    assert!(replies.len() >= 800 && replies.len() as u64 <= given_up);
    assert!(replies.iter().all(|(slot, _)| is_busy(slot)));
}

#[test]
fn nobody_is_told_while_nobody_is_to_be_answered() {
    let limits = Limits {
        busy_reply: true,
        ..shares()
    };
    let behind_a_gate = |worker: Worker<Queue>| worker.gated_by(Some(Arc::new(Gate::new())));
    let muted = |worker: Worker<Queue>| worker.muted_by(Arc::new(AtomicBool::new(true)));
    let kinds: [fn(Worker<Queue>) -> Worker<Queue>; 2] = [behind_a_gate, muted];
    for kind in kinds {
        let flood = (0..1000).map(|_| request(7, method::GET));
        let mut bench = Bench::new(limits, flood);
        bench.worker = kind(bench.worker);
        bench.run();
        let done = &bench.worker.port().done;
        assert!(done.iter().all(|(_, verdict)| *verdict == Verdict::Silence));
        assert!(bench.dropped(DropReason::Share) >= 800);
    }
}

fn is_busy(slot: &Slot) -> bool {
    let mad = SaMad::from_bytes(&slot.mad);
    mad.mad.status() == Status::BUSY && mad.mad.method == method::GET_RESP
}
