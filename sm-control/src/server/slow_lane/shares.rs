//! How much of the slow lane's time each LID or ring takes, so that one that asks for much does not
//! keep the others waiting.
//!
//! Time is charged, not requests: a table of a large fabric costs thousands of times what a record
//! does. What was taken is worked off at the rate that each may take, so a burst is paid for by a
//! pause.
//!
//! ```text
//!  each = 250 ms per second
//!  a table takes 600 ms   owes 600     admitted again when it owes less than 250
//!  after 1 s              owes 350     not yet, if others wait
//!  after 2 s              owes 100     yes
//! ```
//!
//! Whoever is alone is always admitted: an idle lane gives all that it has.

use std::collections::HashMap;
use std::time::Duration;

use sa_fastpath::punt::Requester;

/// Requesters that are remembered before those at rest are forgotten.
const REMEMBERED: usize = 4096;

/// Time that requesters have taken and not worked off. About 4,096 of them are remembered; who is
/// at rest costs nothing to forget.
#[derive(Debug)]
pub(super) struct Shares {
    /// Time per second that each may take in the long run, and at once.
    each: Option<Duration>,
    taken: HashMap<Requester, Taken>,
}

/// What one requester owes.
#[derive(Debug, Clone, Copy, Default)]
struct Taken {
    /// Not worked off at [`Self::at`].
    time: Duration,
    /// When it was charged last, since the lane's start.
    at: Duration,
}

impl Shares {
    /// `each`: time per second for each; none: any.
    pub(super) fn new(each: Option<Duration>) -> Self {
        Self {
            each,
            taken: HashMap::new(),
        }
    }

    /// True when one has time left.
    pub(super) fn admits(&self, who: Requester, now: Duration) -> bool {
        let (Some(each), Some(taken)) = (self.each, self.taken.get(&who)) else {
            return true;
        };
        taken.after(each, now) < each
    }

    /// Notes what answering one took.
    pub(super) fn charge(&mut self, who: Requester, took: Duration, now: Duration) {
        let Some(each) = self.each else {
            return;
        };
        // Only when it is full: going over all of them costs more than remembering some.
        if self.taken.len() >= REMEMBERED {
            self.taken
                .retain(|_, taken| taken.after(each, now) > Duration::ZERO);
        }
        let taken = self.taken.entry(who).or_default();
        taken.time = taken.after(each, now) + took;
        taken.at = now;
    }
}

impl Taken {
    /// What is not worked off yet at `now`. Worked off at `each` per second, also while nobody
    /// waits.
    fn after(&self, each: Duration, now: Duration) -> Duration {
        let rested = now.saturating_sub(self.at);
        // `each` is time per second, so its seconds are the rate at which it is worked off.
        self.time.saturating_sub(rested.mul_f64(each.as_secs_f64()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    const fn lid(who: u32) -> Requester {
        Requester { port: 0, who }
    }

    #[test]
    fn who_takes_much_must_rest() {
        let mut shares = Shares::new(Some(250 * MS));
        shares.charge(lid(1), 240 * MS, Duration::ZERO);
        assert!(shares.admits(lid(1), Duration::ZERO), "something is left");
        shares.charge(lid(1), 240 * MS, Duration::ZERO);
        assert!(
            !shares.admits(lid(1), 100 * MS),
            "a quarter of 100 ms is not enough"
        );
        assert!(
            shares.admits(lid(2), 100 * MS),
            "another LID is not concerned"
        );
        assert!(shares.admits(lid(1), 1000 * MS));
    }

    #[test]
    fn what_is_long_past_is_forgotten() {
        let mut shares = Shares::new(Some(MS));
        for who in 0..u32::from(u16::MAX) {
            shares.charge(lid(who), MS / 10, who * MS * 100);
        }
        assert!(shares.taken.len() <= REMEMBERED);
    }

    #[test]
    fn without_a_limit_nothing_counts() {
        let mut shares = Shares::new(None);
        shares.charge(lid(1), 9999 * MS, Duration::ZERO);
        assert!(shares.admits(lid(1), Duration::ZERO));
    }
}
