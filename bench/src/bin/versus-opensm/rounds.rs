//! Rounds that alternate between the two.
//!
//! A [`Cell`] is one workload at one pace; a round goes through all cells, and in each measures
//! both sides, one directly after the other. So the two of a ratio are seconds apart, not minutes,
//! and whatever the machine does in between hits both about equally.
//!
//! The rate of the open loop is found first: 40 % of what the slower side answers with 16 under
//! way. There both keep up, and latency is about the answer and not about a queue.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sa_bench::pace::Pace;

use crate::failure::{Failure, Outcome};
use crate::figures::Sample;
use crate::options::Options;
use crate::questions::{Differences, Pool, Questions};
use crate::side::{Pair, Who};

/// All rounds of one kind of load.
///
/// Grows by a sample per side and round.
#[derive(Debug)]
pub(crate) struct Cell {
    pub(crate) workload: &'static str,
    pub(crate) pace: Pace,
    /// By round; OpenSM's, then sapphired's.
    pub(crate) samples: [Vec<Sample>; 2],
    pub(crate) differences: [Differences; 2],
}

/// What was measured.
#[derive(Debug)]
pub(crate) struct Measured {
    /// While nobody asks. Units: share of a core.
    pub(crate) idle: [f64; 2],
    pub(crate) cells: Vec<Cell>,
}

/// What is done in each round.
///
/// Borrows everything: the sides are given to `run`.
pub(crate) struct Rounds<'a> {
    options: &'a Options,
    questions: &'a Questions,
    interrupted: &'a AtomicBool,
}

impl<'a> Rounds<'a> {
    pub(crate) fn new(
        options: &'a Options,
        questions: &'a Questions,
        interrupted: &'a AtomicBool,
    ) -> Self {
        Self {
            options,
            questions,
            interrupted,
        }
    }

    /// Measures; `progress` hears of each round. Errors: a side fails; a reply is wrong.
    pub(crate) fn run(
        &self,
        pair: &mut Pair,
        mut progress: impl FnMut(u16, u16),
    ) -> Outcome<Measured> {
        let mut idle = [0.0; 2];
        // Measured first, as no load has warmed anything up yet, and each side is asked once before.
        for who in Who::BOTH {
            idle[who.index()] = self.wake(pair, who)?;
        }
        let rate = self.open_rate(pair)?;
        let mut cells: Vec<Cell> = Vec::new();
        for pool in self.questions.pools() {
            let windows = self.options.windows.iter();
            let paces = windows.map(|window| Pace::Closed {
                window: usize::from(*window),
            });
            let open = (rate > 0.0).then_some(Pace::Open { rate });
            let paces = paces.chain(open);
            cells.extend(paces.map(|pace| Cell::new(pool.workload.name(), pace)));
        }
        // Cells come workload by workload, so the place of one says its pool.
        let each = cells.len() / self.questions.pools().len().max(1);
        for round in 0..self.options.rounds {
            for (nth, cell) in cells.iter_mut().enumerate() {
                let Some(pool) = self.questions.pools().get(nth / each.max(1)) else {
                    continue;
                };
                // Who goes first alternates from round to round and from load to load.
                // Else whatever is gained or lost by coming second would always be on the same
                // side.
                let is_even = (usize::from(round) + nth).is_multiple_of(2);
                let order = if is_even {
                    Who::BOTH
                } else {
                    [Who::Sapphired, Who::OpenSm]
                };
                for who in order {
                    self.measure(pair, who, pool, cell)?;
                }
            }
            // After the round, not the cell: a person wants to know how long the run takes.
            progress(round + 1, self.options.rounds);
        }
        Ok(Measured { idle, cells })
    }

    /// The first answer may take long: caches are cold, and a client's first packet is lost where
    /// the simulator is slow to let it in.
    ///
    /// Returns the share of a core that the side takes while nobody asks, which is measured right
    /// after.
    fn wake(&self, pair: &mut Pair, who: Who) -> Outcome<f64> {
        let side = pair.side(who);
        side.resume()?;
        for pool in self.questions.pools() {
            let Some(first) = pool.requests.first() else {
                return Err(Failure::Failed("there is nothing to ask".to_owned()));
            };
            side.probe(first)
                .map_err(Failure::of(format!("{}'s side", who.name())))?;
        }
        // Right after an answer: the workers then are in the state between two requests.
        let idle = side.idle()?;
        side.pause()?;
        Ok(idle)
    }

    /// The same for both, and well below what the slower one can do. Units: requests per second; 0
    /// for none.
    fn open_rate(&self, pair: &mut Pair) -> Outcome<f64> {
        if let Some(rate) = self.options.rate {
            return Ok(rate.into());
        }
        let Some(pool) = self.questions.pools().last() else {
            return Ok(0.0);
        };
        // The slower one decides: at a rate that only one can keep the other's latency would be its queue.
        let mut least = f64::INFINITY;
        for who in Who::BOTH {
            let mut cell = Cell::new(pool.workload.name(), Pace::Closed { window: 16 });
            self.measure(pair, who, pool, &mut cell)?;
            let samples = cell.samples.iter().flatten();
            least = samples.map(|sample| sample.rate).fold(least, f64::min);
        }
        // Round figures, so that two runs on like machines have the same rate.
        Ok((least * SHARE / STEP).floor().max(1.0) * STEP)
    }

    /// Wakes the side, warms it up, loads it, stops it, and judges what came back. Errors: one
    /// wrong reply, or none at all, voids the run.
    fn measure(&self, pair: &mut Pair, who: Who, pool: &Pool, cell: &mut Cell) -> Outcome {
        if self.interrupted.load(Ordering::Relaxed) {
            return Err(Failure::Interrupted);
        }
        let side = pair.side(who);
        let differences = &mut cell.differences[who.index()];
        let mut judge = |nth: usize, mad: &[u8]| pool.problem(nth, mad, differences);
        let duration = Duration::from_secs_f64(self.options.seconds);
        // Only while it is measured: a side that is awake would take time of the other's core.
        side.resume()?;
        let warm_up = duration.min(WARM_UP);
        // Unjudged: what is wrong here is wrong in the load that follows, too.
        side.load(&pool.requests, cell.pace, warm_up, &mut |_, _| None)?;
        let taken = side.load(&pool.requests, cell.pace, duration, &mut judge)?;
        side.pause()?;
        if let Some(first) = &taken.report.first_wrong {
            return Err(Failure::Void(format!(
                "{} of {} answers of {} are wrong\nthe first: {first}",
                taken.report.wrong,
                taken.report.answered,
                who.name()
            )));
        }
        // Rates and latencies of nothing are no figures.
        if taken.report.answered == 0 {
            return Err(Failure::Void(format!(
                "{} answered none of {} requests in time",
                who.name(),
                taken.report.sent
            )));
        }
        cell.samples[who.index()].push(Sample::of(&taken));
        Ok(())
    }
}

impl Cell {
    fn new(workload: &'static str, pace: Pace) -> Self {
        Self {
            workload,
            pace,
            samples: Default::default(),
            differences: Default::default(),
        }
    }
}

/// Of each load, before anything counts: a side that was stopped has cold caches.
const WARM_UP: Duration = Duration::from_millis(200);
/// Of what the slower one answers in a closed loop.
const SHARE: f64 = 0.4;
/// Units: requests per second.
///
/// A rate is a multiple of this.
const STEP: f64 = 500.0;
