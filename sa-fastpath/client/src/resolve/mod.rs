//! Many paths at once: all pairs of a job, in one call that ends.
//!
//! One bulk, and what becomes of each of its requests:
//!
//! ```text
//!  to be sent ──> in a slot ──> reply                          found, or the SA's status
//!       ^             ├───────> "comes later" ──> late reply   the same
//!       │             │               └── none in time ─┐
//!       └── a pause ──┴── no reply, busy ───────────────┴──   until the deadline: no answer
//! ```
//!
//! What may be lost is sent again: a request that the daemon gave up (overload, a full queue, no
//! snapshot yet), and all that were in a ring whose daemon has ended, once there is another. So the
//! only end of a request without an answer is the deadline of the whole bulk, and an answer never says
//! "not found" of a path that nobody looked up.
//!
//! Bounds: at most `window` requests are in the ring or expected late; what waits to be sent again is
//! an index and a time each. Nothing else grows with the bulk but what the caller keeps.

mod again;
#[cfg(test)]
mod fake;
mod flight;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use sa_wire::mad::Status;
use sa_wire::path_record::PathRecord;

use super::query::PathQuery;
use super::{Client, Error};
use flight::Flight;

/// How a bulk is resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bulk {
    /// Most requests in flight; 0, and more than the ring's slots, count as these.
    pub window: usize,
    /// For all of them together.
    pub deadline: Duration,
    /// A request whose reply was to come later and has not is sent again after this long.
    pub patience: Duration,
    /// Where the daemon ends, connect to the next one. What was in the ring is sent to it.
    pub reconnect: bool,
    /// LID of who asks; 0: the daemon's own port. Heeded from root and the daemon's user.
    pub requester: u16,
}

impl Default for Bulk {
    /// 256 in flight, ten seconds, half a second for a late reply.
    fn default() -> Self {
        Self {
            window: 256,
            deadline: Duration::from_secs(10),
            patience: Duration::from_millis(500),
            reconnect: true,
            requester: 0,
        }
    }
}

/// What became of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// There is a path, and this is it.
    Found(PathRecord),
    /// The SA has looked, and answers with this status: no such path, or no such request.
    Refused(Status),
    /// None has come in time. Whether there is a path is not known.
    None,
}

/// What a bulk has done.
#[derive(Debug, Default)]
pub struct Summary {
    /// Requests with a path.
    pub found: usize,
    /// Requests that the SA answered with a status.
    pub refused: usize,
    /// Requests without an answer.
    pub unanswered: usize,
    /// How often a request was sent again.
    pub sent_again: u64,
    /// How often the client connected to another daemon.
    pub reconnected: u32,
    /// The last thing that was wrong with the daemon, where requests have no answer.
    pub trouble: Option<Error>,
}

/// What is to be resolved, and what the answers are for.
///
/// For callers who keep neither requests nor answers in a list: both are asked for and told by their
/// number, 0 to [`Self::count`], each answer once, in any order.
pub trait Job {
    /// How many requests there are; the same at any time.
    fn count(&self) -> usize;
    /// The request of this number; the same each time, as it may be sent again.
    fn query(&self, nth: usize) -> PathQuery;
    /// Takes the answer to it.
    fn answer(&mut self, nth: usize, answer: Answer);
    /// Asked now and then, also while nothing comes. False: what is left is to have no answer.
    fn goes_on(&mut self) -> bool {
        true
    }
}

impl Client {
    /// The answer to each of these requests, in their order. Errors: [`Error::Forked`],
    /// [`Error::InFlight`], before anything is sent; what happens afterwards is in the answers and the
    /// summary.
    pub fn resolve(
        &mut self,
        queries: &[PathQuery],
        bulk: Bulk,
    ) -> Result<(Vec<Answer>, Summary), Error> {
        let mut job = Listed {
            queries,
            answers: vec![Answer::None; queries.len()],
        };
        let summary = self.resolve_job(&mut job, bulk)?;
        Ok((job.answers, summary))
    }

    /// The same for a [`Job`].
    pub fn resolve_job(&mut self, job: &mut impl Job, bulk: Bulk) -> Result<Summary, Error> {
        if !self.home.is_here() {
            return Err(Error::Forked);
        }
        if self.produced > self.abandoned && self.in_flight() > 0 {
            return Err(Error::InFlight);
        }
        // A deadline that no clock has is none.
        let ends = Instant::now().checked_add(bulk.deadline);
        let summary = Flight::new(self, job, bulk, ends).run();
        // Whatever is still in the ring, nobody waits for it afterwards.
        self.abandoned = self.produced;
        Ok(summary)
    }
}

/// Requests and answers in lists.
struct Listed<'a> {
    queries: &'a [PathQuery],
    answers: Vec<Answer>,
}

impl Job for Listed<'_> {
    fn count(&self) -> usize {
        self.queries.len()
    }

    fn query(&self, nth: usize) -> PathQuery {
        self.queries[nth]
    }

    fn answer(&mut self, nth: usize, answer: Answer) {
        if let Some(place) = self.answers.get_mut(nth) {
            *place = answer;
        }
    }
}
