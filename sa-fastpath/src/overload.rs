//! What is given up first when more is asked than can be answered.
//!
//! Nothing here counts while a port's queue runs empty now and then, and then no clock is read. A
//! batch that is full says that more may wait. From then on every sender has a share, and a
//! request that has waited for longer than its sender waits for an answer is not worth one.
//!
//! How long a request has waited no transport tells. The time since the queue was last seen empty
//! is the most it can be, but at a steady load just above what can be done at once a queue is never
//! empty and nobody waits for long. So before anything is dropped for its age, the port is read far
//! ahead ([`MadPort::recv_backlog`](sa_port::MadPort::recv_backlog)): if that empties it, what was
//! read is answered, the newest first.
//!
//! An example with the default limits. A port gets 1.5 times what its worker can answer. For 134 ms
//! all are answered, within their shares. Then the worker reads up to 1,024 requests ahead in each
//! turn. While that finds no end, everything read is dropped: dropping costs a read only, so the
//! queue shrinks fast. The turn that reaches the end of the queue answers what it read, newest
//! first, and the watch begins anew. The test `goodput_under_load` plays this with measured costs:
//! at twice the load more than 60 % of what could be answered is answered in time.
//!
//! Dropping and not "busy" is the default because clients ask again after their own timeout, but
//! the kernel's take a reply with the status BUSY for final.
//!
//! Called by [`crate::worker`] alone. The gate beside an answer, and why it is not inside it: ADR
//! 7.

use std::time::{Duration, Instant};

use sa_answer::DropReason;
use sa_wire::Lid;
use sa_wire::mad::method;
use sa_wire::sa::SaMad;
use sa_wire::umad::Slot;

/// When to give up what.
///
/// From the daemon's configuration; a worker keeps its copy as long as it lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The answer to a request that has waited for longer is of no use; none: any is.
    pub oldest: Option<Duration>,
    /// What one LID may ask by Get while others wait; none: anything.
    pub gets: Option<Share>,
    /// What it may ask by all other methods.
    pub others: Option<Share>,
    /// Requests given up get "busy", not silence. Clients in the kernel take that for final.
    pub busy_reply: bool,
}

/// Requests of one LID.
///
/// A bucket of `burst` tokens that refills at `per_second`: a LID that was silent for long may ask
/// `burst` times at once, and `per_second` times a second from then on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// In the long run. Units: requests per second.
    pub per_second: u32,
    /// At once, after a rest. With 0 nothing is answered under pressure.
    pub burst: u32,
}

impl Limits {
    /// Nothing is given up.
    pub const NONE: Self = Self {
        oldest: None,
        gets: None,
        others: None,
        busy_reply: false,
    };
}

impl Default for Limits {
    /// Half of the response time that OpenSM announces (code 16, 268 ms), and shares far above what
    /// a node asks when a job starts.
    fn default() -> Self {
        Self {
            oldest: Some(Duration::from_millis(134)),
            gets: Some(Share {
                per_second: 20_000,
                burst: 20_000,
            }),
            others: Some(Share {
                per_second: 1_000,
                burst: 1_000,
            }),
            busy_reply: false,
        }
    }
}

/// What a port's queue looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pressure {
    /// All that waited was taken.
    None,
    /// More may wait: senders have shares.
    Shares,
    /// What was taken has waited for too long.
    Late,
}

/// Watches one port: how long its queue has not been empty, and what each sender has left.
///
/// One for each worker and owned by it. Memory: 768 KiB where there are shares (16 bytes for each
/// of 49,152 LIDs), taken when it is made; a few words otherwise.
#[derive(Debug)]
pub struct Overload {
    limits: Limits,
    /// Requests may wait for any time before they are taken. False for rings: a full ring stops its
    /// client, so nothing in it is older than the client's own patience.
    piles_up: bool,
    started: Instant,
    /// When the queue was last known to be empty, or the watch began anew. Units: since `started`.
    /// None: the last batch was not full.
    since: Option<Duration>,
    /// When it was first read far ahead without getting to its end.
    late_since: Option<Duration>,
    /// Shape: one for each unicast LID, 0 included; empty without shares.
    accounts: Box<[Account]>,
    /// The time of the last full batch, which stands for the time of all its requests. Units: since
    /// `started`.
    now: Duration,
}

/// What a LID has left, of Get and of all else.
#[derive(Debug, Clone, Copy, Default)]
struct Account {
    gets: Bucket,
    others: Bucket,
}

/// What is left of a share, at some time. Before its first use, all of it.
///
/// Counting what is gone and not what is left lets a bucket of zeros be a full one, whatever the
/// share is: 49,152 accounts need no initialisation beyond zeroed pages.
#[derive(Debug, Clone, Copy, Default)]
struct Bucket {
    /// What is gone. Units: thousandths of a request.
    spent: u32,
    /// Units: ms since the start, modulo 2^32.
    at: u32,
}

impl Overload {
    /// Allocates nothing afterwards. `piles_up`: see [`sa_port::MadPort::piles_up`].
    pub fn new(limits: Limits, piles_up: bool) -> Self {
        let has_shares = limits.gets.is_some() || limits.others.is_some();
        let lids = if has_shares {
            usize::from(Lid::MAX.get()) + 1
        } else {
            0
        };
        Self {
            limits,
            piles_up,
            started: Instant::now(),
            since: None,
            late_since: None,
            accounts: vec![Account::default(); lids].into_boxed_slice(),
            now: Duration::ZERO,
        }
    }

    /// True when requests given up are to be told so.
    pub(crate) const fn says_busy(&self) -> bool {
        self.limits.busy_reply
    }

    /// True when the port is to be read far ahead before more is answered.
    ///
    /// True means only that the clock has run out since the queue was last empty, not that anything
    /// is late: that is what the next turn finds out.
    #[inline(always)]
    pub(crate) fn wants_backlog(&self) -> bool {
        self.since.is_some() && self.is_overdue()
    }

    /// Judges a batch. `is_full`: it has all that a batch can hold.
    #[inline(always)]
    pub(crate) fn judge(&mut self, is_full: bool) -> Pressure {
        if !is_full {
            // The end of the queue was reached: whatever waited before is answered now, so both
            // watches end.
            self.since = None;
            self.late_since = None;
            return Pressure::None;
        }
        let now = self.started.elapsed();
        self.full(now)
    }

    /// Judges a full batch. Reading far ahead for longer than requests may wait means that
    /// dropping is no faster than arriving: then some are answered all the same.
    fn full(&mut self, now: Duration) -> Pressure {
        // Of the state before this batch: this one was read far ahead only if the queue was overdue
        // then.
        let was_overdue = self.wants_backlog();
        self.now = now;
        let since = *self.since.get_or_insert(now);
        if !was_overdue {
            return Pressure::Shares;
        }
        let late_since = *self.late_since.get_or_insert(now);
        let oldest = self.limits.oldest.unwrap_or(Duration::MAX);
        debug_assert!(since <= late_since);
        // A second limit went by without reaching the end: more arrives than can even be dropped,
        // so silence helps nobody. Answering begins again for one limit, with half of the time
        // spent on either (test `dropping_for_ever_is_no_answer`).
        if now.saturating_sub(late_since) > oldest {
            self.since = Some(now);
            self.late_since = None;
            return Pressure::Shares;
        }
        Pressure::Late
    }

    /// True when what waits may have waited for too long to be worth an answer.
    fn is_overdue(&self) -> bool {
        let oldest = self.limits.oldest.filter(|_| self.piles_up);
        let waited = self.since.map(|since| self.now.saturating_sub(since));
        matches!((waited, oldest), (Some(waited), Some(oldest)) if waited > oldest)
    }

    /// Why a request is given up under this pressure; none: it is not.
    ///
    /// [`Pressure::Late`] comes first and charges nobody: a sender does not lose its share to
    /// requests that are dropped for their age.
    #[inline]
    pub(crate) fn gives_up(&mut self, pressure: Pressure, request: &Slot) -> Option<DropReason> {
        match pressure {
            Pressure::None => None,
            Pressure::Late => Some(DropReason::Age),
            Pressure::Shares => (!self.charge(request)).then_some(DropReason::Share),
        }
    }

    /// Takes a request off its sender's share; false when nothing of that is left.
    fn charge(&mut self, request: &Slot) -> bool {
        let is_get = SaMad::from_bytes(&request.mad).mad.method == method::GET;
        let now = self.now.as_millis();
        let lid = usize::from(request.header.lid.get());
        let Some(account) = self.accounts.get_mut(lid) else {
            // LIDs of nobody get no answer anyway.
            return true;
        };
        let (bucket, share) = if is_get {
            (&mut account.gets, self.limits.gets)
        } else {
            (&mut account.others, self.limits.others)
        };
        // The clock goes on modulo 2^32 ms, which is 49 days.
        #[expect(clippy::cast_possible_truncation, reason = "modulo 2^32")]
        let now = now as u32;
        share.is_none_or(|share| bucket.take(share, now))
    }
}

impl Bucket {
    /// Takes one request off; false when the share is used up. What came back since the last time
    /// is given first.
    fn take(&mut self, share: Share, now: u32) -> bool {
        let rested = now.wrapping_sub(self.at);
        // Requests a second are thousandths of a request a millisecond.
        let back = u64::from(rested) * u64::from(share.per_second);
        self.at = now;
        // A bucket in time cannot be overdrawn, so the subtraction may stop at zero: full again.
        self.spent = u32::try_from(u64::from(self.spent).saturating_sub(back)).unwrap_or(0);
        let after = u64::from(self.spent) + 1000;
        if after > 1000 * u64::from(share.burst) {
            return false;
        }
        self.spent = u32::try_from(after).unwrap_or(u32::MAX);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn watch(oldest: u32) -> Overload {
        let limits = Limits {
            oldest: Some(oldest * MS),
            ..Limits::default()
        };
        Overload::new(limits, true)
    }

    fn from(lid: u16, asked: u8) -> Slot {
        let mut slot = Slot::EMPTY;
        slot.header.lid = lid.into();
        slot.mad[3] = asked;
        slot
    }

    #[test]
    fn a_queue_that_runs_empty_is_never_late() {
        let mut watch = watch(10);
        for at in 0..1000 {
            assert_eq!(watch.full(at * 9 * MS), Pressure::Shares);
            assert!(!watch.wants_backlog());
            assert_eq!(watch.judge(false), Pressure::None);
        }
    }

    #[test]
    fn what_waits_too_long_is_late_once_the_queue_was_read_ahead() {
        let mut watch = watch(10);
        assert_eq!(watch.full(Duration::ZERO), Pressure::Shares);
        assert_eq!(watch.full(11 * MS), Pressure::Shares);
        assert!(watch.wants_backlog(), "the next read goes far ahead");
        assert_eq!(watch.full(12 * MS), Pressure::Late);
        assert_eq!(watch.judge(false), Pressure::None, "its end was reached");
        assert!(!watch.wants_backlog());
    }

    #[test]
    fn dropping_for_ever_is_no_answer() {
        let mut watch = watch(10);
        let mut answered = 0;
        for at in 0..1000 {
            answered += u32::from(watch.full(at * MS) == Pressure::Shares);
        }
        assert!((400..600).contains(&answered), "{answered} of 1000");
    }

    #[test]
    fn a_port_that_cannot_pile_up_is_never_late() {
        let mut watch = Overload::new(Limits::default(), false);
        for at in 0..1000 {
            assert_eq!(watch.full(at * MS), Pressure::Shares);
        }
    }

    #[test]
    fn one_sender_cannot_take_the_share_of_another() {
        let mut watch = watch(10);
        watch.limits.gets = Some(Share {
            per_second: 1000,
            burst: 5,
        });
        let _ = watch.full(MS);
        let mut flood = || watch.gives_up(Pressure::Shares, &from(7, method::GET));
        for _ in 0..5 {
            assert_eq!(flood(), None);
        }
        assert_eq!(flood(), Some(DropReason::Share));
        let other = watch.gives_up(Pressure::Shares, &from(8, method::GET));
        assert_eq!(other, None);
        // Its tables have a share of their own.
        let table = watch.gives_up(Pressure::Shares, &from(7, method::GET_TABLE));
        assert_eq!(table, None);
        // One comes back each millisecond, and no more than the burst ever.
        let _ = watch.full(3 * MS);
        let left = |watch: &mut Overload| {
            let tries = 0..100;
            let given = |_: &u32| {
                let given_up = watch.gives_up(Pressure::Shares, &from(7, method::GET));
                given_up.is_none()
            };
            tries.into_iter().filter(given).count()
        };
        assert_eq!(left(&mut watch), 2);
        let _ = watch.full(3_600_000 * MS);
        assert_eq!(left(&mut watch), 5);
        // Also when the clock of the accounts has gone round.
        let _ = watch.full(u32::MAX * MS + 3_600_010 * MS);
        assert_eq!(left(&mut watch), 5);
    }

    /// A port whose queue has no end, served by one core, in virtual time.
    struct Line {
        watch: Overload,
        now: Duration,
        /// When each request that waits arrived.
        waiting: std::collections::VecDeque<Duration>,
        next: Duration,
        every: Duration,
        /// Answered while their sender still waited; answered later; given up.
        counts: [u32; 3],
    }

    /// Units: ns of a core, as measured of the kernel's umad: a read, and an answer with its write.
    const READ: Duration = Duration::from_nanos(2_000);
    const ANSWER: Duration = Duration::from_nanos(8_000);

    impl Line {
        fn run(times: f64, patience: Duration, seconds: u64) -> Self {
            let mut line = Self {
                watch: watch(134),
                now: Duration::ZERO,
                waiting: std::collections::VecDeque::new(),
                next: Duration::ZERO,
                every: (READ + ANSWER).div_f64(times),
                counts: [0; 3],
            };
            line.watch.limits.gets = None;
            while line.now < Duration::from_secs(seconds) {
                line.turn(patience);
            }
            line
        }

        fn spend(&mut self, time: Duration) {
            self.now += time;
            while self.next <= self.now {
                self.waiting.push_back(self.next);
                self.next += self.every;
            }
        }

        fn turn(&mut self, patience: Duration) {
            let most = if self.watch.wants_backlog() {
                sa_port::BACKLOG
            } else {
                sa_port::BATCH
            };
            let mut taken = Vec::new();
            while taken.len() < most {
                self.spend(READ);
                let Some(arrived) = self.waiting.pop_front() else {
                    break;
                };
                taken.push(arrived);
            }
            let pressure = if taken.len() < most {
                self.watch.judge(false)
            } else {
                self.watch.full(self.now)
            };
            for arrived in taken.into_iter().rev() {
                if pressure == Pressure::Late {
                    self.counts[2] += 1;
                    continue;
                }
                self.spend(ANSWER);
                let kind = usize::from(self.now - arrived > patience);
                self.counts[kind] += 1;
            }
        }

        /// What was answered in time, as a share of what could be answered in all.
        fn goodput(&self) -> f64 {
            let most = self.now.div_duration_f64(READ + ANSWER);
            f64::from(self.counts[0]) / most
        }
    }

    #[test]
    fn goodput_under_load() {
        let second = Duration::from_secs(1);
        let at = |times| Line::run(times, second, 20);
        assert!(at(0.9).counts[1..] == [0, 0], "{:?}", at(0.9).counts);
        // What is read and dropped costs time too: 2 of 10 us.
        for (times, least) in [(1.0, 0.85), (1.2, 0.8), (2.0, 0.6), (3.0, 0.3)] {
            let goodput = at(times).goodput();
            assert!(goodput > least, "{times} times: {goodput}");
        }
    }

    /// As many clients as wait at once, each for its answer before it asks again: the queue is
    /// never empty, and nobody waits for long. Nothing may be given up.
    #[test]
    fn a_steady_crowd_loses_nothing() {
        let mut watch = watch(134);
        let mut now = Duration::ZERO;
        for _ in 0..100_000 {
            // 200 are there: a batch is full, a look far ahead is not.
            let is_full = !watch.wants_backlog();
            let pressure = if is_full {
                watch.full(now)
            } else {
                watch.judge(false)
            };
            assert_ne!(pressure, Pressure::Late);
            now += 64 * (READ + ANSWER);
        }
    }
}
