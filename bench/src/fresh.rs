//! Where the requests of a pass come from.
//!
//! A processor's branch predictor learns what 65,536 requests make of the same code when they come
//! again in the same order. Clients do not do it that favour, so each pass has requests that were
//! never asked before; the same again are for comparison.
//!
//! Drawing is no part of answering, so a pass is drawn whole before it is timed. Expected replies
//! come from two sources: the slow twin for every 2,048th request, and for the others the fast path
//! itself, one request at a time. So the batch is compared with the single answer everywhere, and
//! with the twin often enough that a mistake of both shows.

use sa_answer::{Outcome, answer};
use sa_compiler::reference::{Reference, Reply};
use sa_snapshot::Snapshot;
use sa_wire::mad::DecodeError;
use sa_wire::umad::Slot;
use zerocopy::IntoBytes;

use crate::pool::{Expected, Pool, Request};
use crate::requests::{Draw, Workload};

/// The requests of a pass after another.
///
/// `Same` shows what a branch predictor that has learnt the requests is worth.
pub enum Passes<'a> {
    /// The same again in every pass.
    Same(&'a Pool),
    /// New ones in every pass.
    New(Box<Fresh<'a>>),
}

/// Draws pools of requests that have not been asked before.
///
/// Lives for a measurement; its draw goes on from pass to pass.
pub struct Fresh<'a> {
    /// What answers, one request after another, where the slow twin does not.
    pub snapshot: &'a Snapshot,
    /// What is asked.
    pub draw: Draw<'a>,
    /// How.
    pub workload: Workload,
    /// Requests of a pool.
    pub count: usize,
    /// Says of one in 2,048 what its reply must be; see [`by_twin`].
    pub twin: Box<dyn Fn(&Slot) -> Expected + 'a>,
}

impl Passes<'_> {
    /// Does `work` with the pool of the next pass. Errors: a request cannot be drawn.
    pub fn next<T>(&mut self, work: impl FnOnce(&Pool) -> T) -> Result<T, DecodeError> {
        match self {
            Self::Same(pool) => Ok(work(pool)),
            Self::New(fresh) => Ok(work(&fresh.pool()?)),
        }
    }
}

impl Fresh<'_> {
    /// A pool of `count` requests that were never drawn before. Errors: the draw's.
    fn pool(&mut self) -> Result<Pool, DecodeError> {
        let mut requests = Vec::with_capacity(self.count);
        let mut expected = Vec::with_capacity(self.count);
        for nth in 0..self.count {
            let slot = self.draw.next(self.workload)?;
            requests.push(Request::new(slot.header.lid.get(), &slot.mad));
            expected.push(match nth % TWIN_EVERY {
                0 => (self.twin)(&slot),
                _ => one_by_one(self.snapshot, slot),
            });
        }
        Ok(Pool {
            requests,
            expected: vec![expected],
        })
    }
}

/// What the slow twin answers.
pub fn by_twin(twin: &Reference<'_>, slot: &Slot) -> Expected {
    match twin.respond(slot.header.lid.get(), &slot.mad) {
        Some(Reply::Records(records)) => Expected::Records(records.as_bytes().to_vec()),
        Some(Reply::Error(status)) => Expected::Error(status.get()),
        // Never right: the workloads hold nothing else.
        Some(Reply::NotMine) => Expected::Error(u16::MAX),
        None => Expected::Silence,
    }
}

/// What the fast path answers when it is asked this alone, without what it does for many together.
///
/// Copies the slot first: the answer is written over the request.
fn one_by_one(snapshot: &Snapshot, mut slot: Slot) -> Expected {
    match answer(snapshot, &mut slot) {
        Outcome::Answered(length) => {
            let records = slot.mad.get(56..usize::from(length));
            Expected::Records(records.unwrap_or_default().to_vec())
        }
        Outcome::Refused(_, reject) => Expected::Error(reject.status().get()),
        Outcome::Dropped(_) | Outcome::Punt(_) => Expected::Silence,
    }
}

/// It takes a hundred times as long.
const TWIN_EVERY: usize = 2_048;

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use sa_snapshot::Builder;

    use super::*;
    use crate::memory::in_place;
    use crate::requests::hosts;
    use crate::synthetic::torus_model;

    /// Replies that were wrong, and the requests of two passes.
    fn passes(snapshot: &Snapshot, twin: impl Fn(&Slot) -> Expected) -> (u64, [Vec<[u8; 256]>; 2]) {
        let hosts = hosts(snapshot).unwrap();
        let mut passes = Passes::New(Box::new(Fresh {
            snapshot,
            draw: Draw::new(&hosts, None, 7),
            workload: Workload::Gid,
            count: 100,
            twin: Box::new(twin),
        }));
        let asked = |pool: &Pool| pool.requests.iter().map(|it| it.slot().mad).collect();
        let two = [(); 2].map(|()| passes.next(asked).unwrap());
        let report = in_place(snapshot, &mut passes, 32, Duration::ZERO).unwrap();
        (report.wrong, two)
    }

    #[test]
    fn every_pass_asks_anew_and_judges_its_replies() {
        let model = torus_model([3; 3], 2).unwrap();
        let snapshot = Builder::build(&model).unwrap();
        let (wrong, [first, second]) = passes(&snapshot, |slot| one_by_one(&snapshot, *slot));
        assert_eq!(wrong, 0);
        assert_ne!(first, second);
        let (wrong, _) = passes(&snapshot, |_| Expected::Error(7));
        assert!(wrong > 0, "the twin was not asked");
    }
}
