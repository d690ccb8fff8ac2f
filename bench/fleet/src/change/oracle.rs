//! Whether a follower answers from a generation other than the newest that it has verified.
//!
//! What a follower has verified is its own word (`Said::position`); which generation that was is
//! the leader's word; what it answers from is read off its slot and its gate. So the oracle shares
//! no step with the code that it judges, and must not be asked before the leader has said what it
//! announced: until then looks are kept, not judged.
//!
//! ```text
//!  verified   answers from   judged
//!  1.1.6      generation A   right, where the leader announced A as 1.1.6
//!  1.1.7      silence        right
//!  1.1.7      generation A   a violation, where the leader announced B as 1.1.7
//!  nothing    generation A   a violation
//! ```
//!
//! What it cannot find: an answer between two looks, and one after a deadline of which no other
//! announcement was heard, which the simulation is for.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use sa_fleet::identity::{Issue, Token};
use serde::Serialize;

use super::leader::Published;

/// Looks at followers, and what they should have seen.
#[derive(Debug, Default)]
pub(super) struct Oracle(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// By announcement.
    generations: BTreeMap<Issue, Token>,
    /// How often a follower that had verified this was seen to answer from that, or to be silent.
    looks: BTreeMap<(Issue, Option<Token>), u64>,
}

/// What came of all looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(super) struct Judged {
    /// Looks at one follower each.
    pub(super) samples: u64,
    /// Samples in which nobody was answered.
    pub(super) silent: u64,
    /// Samples in which the answer was of another generation than was verified.
    pub(super) violations: u64,
}

impl Oracle {
    /// The leader's word.
    pub(super) fn announced(&self, published: &Published) {
        let Published { era, term, seq, .. } = *published;
        let issue = Issue { era, term, seq };
        self.with(|known| known.generations.insert(issue, Token(published.token)));
    }

    /// A look at a follower.
    pub(super) fn saw(&self, look: (Issue, Option<Token>)) {
        self.with(|known| *known.looks.entry(look).or_default() += 1);
    }

    /// All looks at what the leader has told of. An answer where nothing was verified is of no
    /// generation that could be right.
    pub(super) fn judge(&self) -> Judged {
        self.with(|known| {
            let mut judged = Judged::default();
            for ((issue, answers), count) in &known.looks {
                let is_nothing = *issue == Issue::default();
                let expected = known.generations.get(issue).copied();
                if expected.is_none() && !is_nothing {
                    continue;
                }
                judged.samples += count;
                match answers {
                    None => judged.silent += count,
                    Some(_) if *answers == expected => {}
                    Some(_) => judged.violations += count,
                }
            }
            judged
        })
    }

    fn with<T>(&self, work: impl FnOnce(&mut Known) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Judged {
    /// What came since then.
    pub(super) const fn since(&self, before: &Self) -> Self {
        Self {
            samples: self.samples - before.samples,
            silent: self.silent - before.silent,
            violations: self.violations - before.violations,
        }
    }
}
