//! The loop of a pinned core: take a batch, answer in place, send.
//!
//! One turn is: look for a newer snapshot (one comparison of pointers), take what waits at the
//! port, answer it where it lies, give it back with a verdict each. The whole batch is answered
//! from one snapshot, so that no reply mixes two. What the engine hands on (`Outcome::Punt`) is
//! copied to a bounded queue for the slow lane; where that is full the request is dropped, as its
//! sender asks again.
//!
//! Nothing in a turn allocates, locks, logs or makes a system call but the port's, so that the time
//! of an answer depends on nothing else. `tests/tests/contract` counts allocations and runs the
//! worker under a filter of system calls.
//!
//! A worker reads no clock unless batches are sampled, the port is overloaded, a request is punted
//! or the host follows a fleet ([`crate::gate`]), and it decides nothing about paths.
//!
//! ```text
//!  refresh ─> recv ──0 requests──> idle: spin, yield or sleep
//!               │ 1 to 64
//!               v
//!            judge the queue ──not full──────────> answer all together
//!               │ full                                    │
//!               └──> one by one, each may be given up ────┤
//!                                                         v
//!                                   send: one verdict per slot
//! ```
//!
//! Verdicts: reply with so many bytes, punted (the slow lane answers), silence.
//! Who makes workers: the daemon, one thread per port; the load generator and tests, which call
//! [`Worker::turn`] themselves.

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

use sa_answer::access::Access;
use sa_port::{BACKLOG, BATCH, MadPort, PortError, Verdict};

use crate::gate::Gate;
use crate::overload::{Limits, Overload, Pressure};
use crate::publish::{NO_GENERATION, Published, Reader};
use crate::punt::PuntSender;
use crate::sampling::Sampler;
use crate::stats::WorkerStats;
use crate::turn::Turn;

const _: () = assert!(
    sa_answer::TOGETHER == BATCH,
    "what a port lends at once is answered at once"
);

/// One worker: a port, a view of the snapshot, a way to the slow lane, counters.
///
/// Lives on one thread. A port that comes and goes takes it apart with [`Worker::into_parts`] and
/// makes another of the parts, so that its place among the readers is kept.
pub struct Worker<P> {
    port: P,
    reader: Reader,
    punt: PuntSender,
    stats: Arc<WorkerStats>,
    access: Access,
    overload: Overload,
    sampler: Sampler,
    /// Set by the daemon while the snapshot in service is in doubt.
    muted: Option<Arc<AtomicBool>>,
    /// Of the fleet that this host follows.
    gate: Option<Arc<Gate>>,
}

/// What a worker does when nothing waits.
///
/// From the configuration. Empty turns are counted and not timed, because an idle worker reads no
/// clock: how long so many take depends on the port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Idle {
    /// Spins: the lowest latency, all of a core.
    #[default]
    Spin,
    /// After this many empty turns, gives the core to others between turns.
    YieldAfter(u32),
    /// The same, and after still more waits in the kernel for the next request, where the port can
    /// be waited on: no time of a core when nothing comes, some tens of us more for what comes
    /// then.
    SleepAfter {
        /// Empty turns, as in [`Idle::YieldAfter`].
        yields: u32,
        /// Empty turns in a row before it waits in the kernel.
        sleeps: u32,
    },
}

/// How long an idle worker waits in the kernel at most before it looks at all else: for so long it
/// may keep an old snapshot from being freed, and not see that it is to stop.
pub const LONGEST_SLEEP: Duration = Duration::from_millis(50);

impl<P: MadPort> Worker<P> {
    /// One that answers everybody and gives nothing up. Allocates nothing afterwards.
    pub fn new(port: P, reader: Reader, punt: PuntSender, stats: Arc<WorkerStats>) -> Self {
        let sampler = Sampler::new(stats.sampling());
        Self {
            port,
            reader,
            punt,
            stats,
            access: Access::OpenSm,
            overload: Overload::new(Limits::NONE, false),
            sampler,
            muted: None,
            gate: None,
        }
    }

    /// The same for those who may ask.
    pub fn with_access(self, access: Access) -> Self {
        Self { access, ..self }
    }

    /// The same with limits.
    pub fn with_limits(self, limits: Limits) -> Self {
        let overload = Overload::new(limits, self.port.piles_up());
        Self { overload, ..self }
    }

    /// The same, silent while `muted` is set: what is in service is not to be answered from.
    /// Requests are then dropped as before the first snapshot, and nobody is told "busy".
    pub fn muted_by(self, muted: Arc<AtomicBool>) -> Self {
        Self {
            muted: Some(muted),
            ..self
        }
    }

    /// The same, silent unless `gate` is open for the snapshot in its hands: it looks itself, once
    /// for each batch that is not empty. None: of no fleet, and never asked.
    pub fn gated_by(self, gate: Option<Arc<Gate>>) -> Self {
        Self { gate, ..self }
    }

    /// One turn. Returns how many requests were taken. Errors: the port is gone.
    ///
    /// The whole batch is answered from one snapshot.
    #[inline]
    pub fn turn(&mut self) -> Result<usize, PortError> {
        let begun = self.sampler.begin();
        let count = if self.overload.wants_backlog() {
            // Cold: most workers never get here, and the stack of verdicts is sixteen times larger.
            self.backlog_turn()?
        } else {
            self.batch_turn()?
        };
        // Empty turns are not samples: an idle port would hide the batches that count.
        if count > 0 {
            self.sampler.end(begun, self.stats.sampling());
        }
        Ok(count)
    }

    /// A turn of at most [`BATCH`] requests: nearly every turn is one.
    #[inline(always)]
    fn batch_turn(&mut self) -> Result<usize, PortError> {
        // On every turn, also one that finds nothing: an idle worker must let go of old snapshots.
        let published = self.reader.refresh();
        self.stats.epoch(published.map(|published| published.epoch));
        let slots = self.port.recv()?;
        let count = slots.len();
        if count == 0 {
            self.stats.empty();
            // An empty batch ends any watch over the queue.
            self.overload.judge(false);
            return Ok(0);
        }
        let pressure = self.overload.judge(count == BATCH);
        let mut verdicts = [Verdict::Silence; BATCH];
        // After the requests came, and not for an empty turn: what a gate costs is a look at the clock.
        let is_silent = is_silent(&self.muted, &self.gate, published);
        let mut turn = Turn {
            published: published.filter(|_| !is_silent),
            is_silent,
            access: self.access,
            punt: &self.punt,
            stats: &self.stats,
        };
        // Together only where nothing is to be given up: shares need each request's sender before
        // its answer.
        if pressure == Pressure::None {
            turn.answer_all(slots, &mut verdicts);
        } else {
            for (slot, verdict) in slots.iter_mut().zip(&mut verdicts) {
                *verdict = turn.answer_under(&mut self.overload, pressure, slot);
            }
        }
        self.sampler.note(slots, &verdicts);
        let unsent = self.port.send(verdicts.get(..count).unwrap_or_default())?;
        self.stats.batch(count as u64, unsent as u64);
        Ok(count)
    }

    /// A turn that reads far ahead. It tells a queue that is never empty from one whose end is out
    /// of reach. The newest request is answered first, because its sender still waits.
    #[cold]
    #[inline(never)]
    fn backlog_turn(&mut self) -> Result<usize, PortError> {
        let published = self.reader.refresh();
        let most = self.port.backlog();
        let slots = self.port.recv_backlog()?;
        let count = slots.len();
        let pressure = self.overload.judge(count >= most);
        let mut verdicts = [Verdict::Silence; BACKLOG];
        let is_silent = count > 0 && is_silent(&self.muted, &self.gate, published);
        let mut turn = Turn {
            published: published.filter(|_| !is_silent),
            is_silent,
            access: self.access,
            punt: &self.punt,
            stats: &self.stats,
        };
        // Backwards, as slots are in the order of arrival.
        for (slot, verdict) in slots.iter_mut().zip(&mut verdicts).rev() {
            *verdict = turn.answer_under(&mut self.overload, pressure, slot);
        }
        self.sampler.note(slots, &verdicts);
        let unsent = self.port.send(verdicts.get(..count).unwrap_or_default())?;
        self.stats.batch(count as u64, unsent as u64);
        Ok(count)
    }

    /// Turns until `stop` is set. Errors: the port is gone.
    pub fn run(&mut self, stop: &AtomicBool, idle: Idle) -> Result<(), PortError> {
        self.reader.prepare_thread();
        let mut empty = 0u32;
        // Relaxed: nothing else is read through the flag.
        while !stop.load(Ordering::Relaxed) {
            if self.turn()? > 0 {
                empty = 0;
                continue;
            }
            empty = empty.saturating_add(1);
            match idle {
                Idle::SleepAfter { sleeps, .. } if empty > sleeps => {
                    self.port.wait(LONGEST_SLEEP)?;
                }
                Idle::YieldAfter(turns) | Idle::SleepAfter { yields: turns, .. }
                    if empty > turns =>
                {
                    std::thread::yield_now();
                }
                _ => core::hint::spin_loop(),
            }
        }
        Ok(())
    }

    /// What it was made of, for another worker: the port, the view of the snapshot, the way to the
    /// slow lane.
    pub fn into_parts(self) -> (P, Reader, PuntSender) {
        (self.port, self.reader, self.punt)
    }

    /// The port, for tests that look behind the worker.
    pub const fn port(&mut self) -> &mut P {
        &mut self.port
    }
}

/// True while nobody is to be answered: what is in service is in doubt, or the gate is not open for
/// it. Where there is neither, this is two comparisons with nothing.
#[inline(always)]
fn is_silent(
    muted: &Option<Arc<AtomicBool>>,
    gate: &Option<Arc<Gate>>,
    published: Option<&Published>,
) -> bool {
    // Relaxed: nothing else is read through the flag.
    let is_muted = |muted: &Arc<AtomicBool>| muted.load(Ordering::Relaxed);
    if muted.as_ref().is_some_and(is_muted) {
        return true;
    }
    let Some(gate) = gate else {
        return false;
    };
    let generation = published.map_or(NO_GENERATION, |published| published.generation);
    !gate.may_answer(generation)
}
