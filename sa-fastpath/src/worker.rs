//! The loop of a pinned core: take a batch, answer in place, send.

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use sa_wire::umad::Slot;

use crate::answer::{DropReason, Outcome, answer};
use crate::port::{BATCH, MadPort, PortError, Verdict};
use crate::publish::Reader;
use crate::punt::PuntSender;
use crate::stats::WorkerStats;

/// One worker: a port, a view of the snapshot, a way to the slow lane, counters.
pub struct Worker<P> {
    port: P,
    reader: Reader,
    punt: PuntSender,
    stats: Arc<WorkerStats>,
}

/// What a worker does when nothing waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Idle {
    /// Spins: the lowest latency, all of a core.
    #[default]
    Spin,
    /// After this many empty turns, gives the core to others between turns.
    YieldAfter(u32),
}

impl<P: MadPort> Worker<P> {
    /// Allocates nothing afterwards.
    pub const fn new(port: P, reader: Reader, punt: PuntSender, stats: Arc<WorkerStats>) -> Self {
        Self {
            port,
            reader,
            punt,
            stats,
        }
    }

    /// One turn. Returns how many requests were taken. Errors: the port is gone.
    ///
    /// The whole batch is answered from one snapshot.
    #[inline]
    pub fn turn(&mut self) -> Result<usize, PortError> {
        let published = self.reader.refresh();
        self.stats
            .epoch(published.map_or(0, |published| published.epoch.get()));
        let slots = self.port.recv()?;
        let count = slots.len();
        if count == 0 {
            self.stats.empty();
            return Ok(0);
        }
        let mut verdicts = [Verdict::Silence; BATCH];
        for (slot, verdict) in slots.iter_mut().zip(&mut verdicts) {
            let outcome = match published {
                Some(published) => answer(&published.snapshot, slot),
                None => Outcome::Dropped(DropReason::NotReady),
            };
            *verdict = settle(outcome, slot, &self.punt, &self.stats);
        }
        let unsent = self.port.send(verdicts.get(..count).unwrap_or_default())?;
        self.stats.batch(count as u64, unsent as u64);
        Ok(count)
    }

    /// Turns until `stop` is set. Errors: the port is gone.
    pub fn run(&mut self, stop: &AtomicBool, idle: Idle) -> Result<(), PortError> {
        let mut empty = 0u32;
        // Relaxed: nothing else is read through the flag.
        while !stop.load(Ordering::Relaxed) {
            if self.turn()? > 0 {
                empty = 0;
                continue;
            }
            empty = empty.saturating_add(1);
            match idle {
                Idle::YieldAfter(turns) if empty > turns => std::thread::yield_now(),
                Idle::Spin | Idle::YieldAfter(_) => core::hint::spin_loop(),
            }
        }
        Ok(())
    }

    /// The port, for tests that look behind the worker.
    pub const fn port(&mut self) -> &mut P {
        &mut self.port
    }
}

/// Counts the outcome and says what the port shall do.
#[inline(always)]
fn settle(outcome: Outcome, slot: &Slot, punt: &PuntSender, stats: &WorkerStats) -> Verdict {
    match outcome {
        Outcome::Answered(length) | Outcome::Refused(length, _) => {
            stats.count(outcome);
            Verdict::Reply(length)
        }
        Outcome::Dropped(_) => {
            stats.count(outcome);
            Verdict::Silence
        }
        Outcome::Punt(_) if punt.push(slot) => {
            stats.count(outcome);
            Verdict::Punted
        }
        Outcome::Punt(_) => {
            stats.count(Outcome::Dropped(DropReason::QueueFull));
            Verdict::Silence
        }
    }
}
