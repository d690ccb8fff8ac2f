//! What an SA said, for as long as it holds.
//!
//! Answers leave in three ways: by age (`keep_s`, or `keep_failure_ms` for a failure), for newer
//! ones when there are more than `paths`, and all together by [`Kept::clear`] when the port, its SM
//! or the SA's snapshot changes. The last is what keeps answers true; age only bounds the harm of a
//! change that nobody told of, as with an SA of another make.

use std::collections::{HashMap, VecDeque};
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use sa_wire::path_record::PathRecord;

use super::agent::Reason;
use super::key::Key;
use crate::options::CacheSection;

/// Answers by question, the oldest given up for new ones. A question and its answer have about 160
/// bytes, so the default of 65,536 takes 10 MiB, or twice that with the spare room of a hash map;
/// the order beside it takes up to 11 MiB.
#[derive(Debug)]
pub struct Kept {
    answers: HashMap<Key, Answer>,
    /// As they came, one entry for each [`Kept::put`]. A key that came again stands here twice;
    /// only the entry with the time of its answer counts.
    order: VecDeque<(Key, Instant)>,
    /// Answers at most; `order` may be twice as long.
    most: NonZeroUsize,
    /// How long a path holds.
    keep: Duration,
    /// How long a failure holds. Shorter: a port that was absent is asked for again when it comes.
    keep_failure: Duration,
}

/// What an SA said, and when it came.
#[derive(Debug, Clone, Copy)]
struct Answer {
    since: Instant,
    what: Result<PathRecord, Reason>,
}

impl Kept {
    /// Nothing yet.
    pub fn new(section: &CacheSection) -> Self {
        Self {
            answers: HashMap::new(),
            order: VecDeque::new(),
            most: section.paths,
            keep: Duration::from_secs(section.keep_s.into()),
            keep_failure: Duration::from_millis(section.keep_failure_ms.into()),
        }
    }

    /// The answer, if there is one that still holds. One that holds no more stays until it is
    /// replaced or pushed out: to look for such ones would cost more than they take.
    pub fn get(&self, key: &Key, now: Instant) -> Option<Result<PathRecord, Reason>> {
        let answer = self.answers.get(key)?;
        let age = now.saturating_duration_since(answer.since);
        let limit = match answer.what {
            Ok(_) => self.keep,
            Err(_) => self.keep_failure,
        };
        (age < limit).then_some(answer.what)
    }

    /// Takes an answer, in place of one to the same question. O(1) over many calls: each entry of
    /// the order is pushed and popped once.
    pub fn put(&mut self, key: Key, what: Result<PathRecord, Reason>, now: Instant) {
        self.answers.insert(key, Answer { since: now, what });
        self.order.push_back((key, now));
        // The second bound is for a key that comes again and again: it adds to the order and not to
        // the answers. Entries that are superseded go without an answer being lost.
        while self.answers.len() > self.most.get() || self.order.len() > 2 * self.most.get() {
            let Some((oldest, since)) = self.order.pop_front() else {
                return;
            };
            if self
                .answers
                .get(&oldest)
                .is_some_and(|it| it.since == since)
            {
                self.answers.remove(&oldest);
            }
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.answers.clear();
        self.order.clear();
    }

    /// How many answers there are, those included that hold no more.
    pub fn count(&self) -> usize {
        self.answers.len()
    }
}
