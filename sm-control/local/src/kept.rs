//! What an SA said, for as long as it holds.

use std::collections::{HashMap, VecDeque};
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use sa_wire::path_record::PathRecord;

use super::agent::Reason;
use super::key::Key;
use crate::options::CacheSection;

/// Answers by question, the oldest given up for new ones.
#[derive(Debug)]
pub struct Kept {
    answers: HashMap<Key, Answer>,
    /// As they came. Keys that came again have a later place too.
    order: VecDeque<(Key, Instant)>,
    most: NonZeroUsize,
    keep: Duration,
    keep_failure: Duration,
}

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

    /// The answer, if there is one that still holds.
    pub fn get(&self, key: &Key, now: Instant) -> Option<Result<PathRecord, Reason>> {
        let answer = self.answers.get(key)?;
        let age = now.saturating_duration_since(answer.since);
        let limit = match answer.what {
            Ok(_) => self.keep,
            Err(_) => self.keep_failure,
        };
        (age < limit).then_some(answer.what)
    }

    /// Takes an answer.
    pub fn put(&mut self, key: Key, what: Result<PathRecord, Reason>, now: Instant) {
        self.answers.insert(key, Answer { since: now, what });
        self.order.push_back((key, now));
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
