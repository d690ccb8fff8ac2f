//! When the sources are to be read, and why.
//!
//! A change of the fabric is a burst: one write of the SM to a switch is followed by hundreds, and
//! a reading in their midst would find half of them. So a change that is told does not load at
//! once: it sets a time, each further one moves that time on, and a longest wait bounds the whole.
//! Files that are watched and a poll that has run out are due at once, as nothing tells of them
//! what else is to come.
//!
//! Where this process is the Subnet Manager:
//!
//! ```text
//!  a trap at 0, another at 1 ms        due at 2 or 3: the devices of both are read
//!  traps without end                   due at 40 (20 x 2), and after that when the sweep has rested for as long as it took
//!  Sets that were not answered         another sweep after 50, 100, 200 .. 4000 ms, as long as some are not
//!  nothing                             each sweep_interval
//! ```
//!
//! Only the thread that loads uses this; it does not wait here but asks [`Schedule::patience`].
//!
//! ```text
//!  change at 0, 30, 70 ms, settle 50 ms     due at 120
//!  changes without end, settle 50 ms        due at 1000 (20 x 50)
//!  a load failed                            again after 250, 500, 1000, 2000, 4000, 4000 .. ms
//!  a sweep failed                           the same, but up to sweep_interval: it costs the subnet SMPs
//! ```

use core::fmt;
use std::time::{Duration, Instant};

use sa_source::When;

use crate::config::{Config, OpenSmSection, Source};
use crate::server::opensm::Change;
use crate::server::operators::control::Order;

/// How often the thread that loads frees old snapshots and, until the sources were read once, looks
/// whether they changed.
const HEARTBEAT: Duration = Duration::from_millis(500);

/// How often watched files are looked at. A look is a `stat` of each, some ten system calls.
const WATCH: Duration = Duration::from_millis(20);

/// How long traps of devices are collected before a sweep.
const TRAPS_COLLECTED: Duration = Duration::from_millis(2);

/// A fabric that keeps changing is read after so many times of what it should have done: a port
/// that goes up and down all day must not keep all other changes out.
const LONGEST_SETTLE: u32 = 20;

/// Pause after a reading that failed; twice as long after each that fails too.
const RETRY: Duration = Duration::from_millis(250);

/// The pause grows no longer: an OpenSM that is back is not waited for longer.
const LONGEST_RETRY: Duration = Duration::from_secs(4);

/// It grows so often at most.
const MOST_DOUBLINGS: u32 = 16;

/// Why the sources are read. For people, and for one decision: [`Self::is_by_itself`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::server) enum Cause {
    /// The daemon starts.
    Start,
    /// SIGHUP.
    Signal,
    /// An operator, over the control socket.
    Order(Order),
    /// The last reading failed, or there was none yet.
    Retry,
    /// Nobody has told of a change for as long as the configuration allows.
    Regular,
    /// `[policy] watch` saw another policy, or other names in it.
    Policy,
    /// `[fabric] watch` saw other files of the fabric.
    Fabric,
    /// Files that are read besides what an SA tells are others.
    BesideSa,
    /// The fleet that this host follows announced it.
    Fleet,
    /// An SA or OpenSM's library told of it.
    Told(Change),
}

impl Cause {
    /// True for readings that nobody asked for: the same failure of one is no news.
    pub(super) const fn is_by_itself(self) -> bool {
        matches!(self, Self::Retry | Self::Regular)
    }

    /// True where what is known of the fabric may be wrong: the SA answers otherwise, or an
    /// operator has everything read again.
    pub(super) const fn is_of_doubt(self) -> bool {
        matches!(
            self,
            Self::Signal | Self::Order(_) | Self::Told(Change::Differs | Change::Agrees)
        )
    }
}

/// As logs, `sapphire status` and the metrics name it.
impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Start => "start",
            Self::Signal => "SIGHUP",
            Self::Order(order) => return order.fmt(f),
            Self::Retry => "retry",
            Self::Regular => "poll",
            Self::Policy => "the policy file changed",
            Self::Fabric => "files of the fabric changed",
            Self::BesideSa => "files of the SM changed",
            Self::Fleet => "the fleet announced it",
            Self::Told(change) => return change.fmt(f),
        })
    }
}

/// A reading of the sources that is to be done now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) cause: Cause,
    /// Whether it is worth compiling what an SA told before, or a copy that is in service already.
    pub(super) when: When,
    /// Also when the sources look as they did, or a rollback holds.
    anyway: bool,
}

impl Due {
    /// One that somebody ordered, whatever the sources look like.
    pub(super) const fn ordered(cause: Cause) -> Self {
        Self {
            cause,
            when: When::Always,
            anyway: true,
        }
    }
}

/// A reading that is to come. There is one at most: changes that come together are read together.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    /// Not before.
    at: Instant,
    /// However many changes follow.
    latest: Instant,
    cause: Cause,
    anyway: bool,
}

/// What decides whether a reading that nobody ordered is worth it. Given as a value, so that the
/// schedule can be tested without a daemon.
pub(super) struct Situation<F> {
    /// What is in service comes from the sources.
    pub(super) is_loaded: bool,
    /// A rollback holds what is in service.
    pub(super) is_held: bool,
    /// Whether the source files look as they did at the last attempt. Costs one `stat` per file.
    pub(super) look_the_same: F,
}

/// When the sources were read last and are to be read next. Knows nothing of what they are.
pub(super) struct Schedule {
    waiting: Option<Waiting>,
    /// When the last reading began, or was found to be needless.
    last: Instant,
    /// Traps order no reading before: one that is told of all the time takes half of it at most.
    rested: Instant,
    /// Failed readings of a running SA in a row.
    retries: u32,
}

impl Schedule {
    /// Nothing waits, and the regular reading counts from now.
    pub(super) fn new() -> Self {
        Self {
            waiting: None,
            last: Instant::now(),
            rested: Instant::now(),
            retries: 0,
        }
    }

    /// How long the thread that loads may wait for something to happen. `can_load`: false while
    /// what waits has nobody to be read from; its time may be over, and that must not make the
    /// thread spin.
    pub(super) fn patience(&self, config: &Config, can_load: bool) -> Duration {
        let look = if config.fabric.watch {
            WATCH
        } else {
            HEARTBEAT
        };
        let waiting = self.waiting.filter(|_| can_load);
        waiting.map_or(look, |waiting| {
            waiting
                .at
                .saturating_duration_since(Instant::now())
                .min(look)
        })
    }

    /// Puts a reading on the schedule for a change that was told, or moves it on. The last cause is
    /// the one that is told.
    pub(super) fn note(&mut self, change: Change, config: &Config) {
        let settle = match change {
            // Nobody is answered until these are read.
            Change::Invalid(_) | Change::Differs | Change::Agrees | Change::Commanded => {
                Duration::ZERO
            }
            // Both ends of a link tell, and so do all ports of a switch that goes.
            Change::Reported(_) => TRAPS_COLLECTED,
            Change::Trap(_) | Change::Programmed | Change::Returned => config
                .opensm
                .as_ref()
                .map_or(Duration::ZERO, OpenSmSection::settle),
        };
        let now = Instant::now();
        let latest = match self.waiting {
            Some(waiting) => waiting.latest,
            None => now + settle * LONGEST_SETTLE,
        };
        let was_anyway = self.waiting.is_some_and(|waiting| waiting.anyway);
        let rested = match change {
            Change::Reported(_) => self.rested,
            _ => now,
        };
        self.waiting = Some(Waiting {
            at: (now + settle).min(latest).max(rested),
            latest: latest.max(rested),
            cause: Cause::Told(change),
            anyway: was_anyway || matches!(change, Change::Invalid(_)),
        });
    }

    /// What is due now, if it is worth a reading. To be asked only while the sources can be read,
    /// so that what waits is not lost.
    pub(super) fn next(
        &mut self,
        config: &Config,
        now: &Situation<impl Fn() -> bool>,
    ) -> Option<Due> {
        let due = self.occasion(config, now)?;
        self.last = Instant::now();
        // What an operator has gone back to stays, unless it can be of another fabric.
        // `||` before the look at files: a rollback stays whatever they say.
        let is_to_stay = now.is_held || now.is_loaded && (now.look_the_same)();
        (due.anyway || !is_to_stay).then_some(due)
    }

    /// What is due, whether it is worth a reading or not.
    fn occasion(&mut self, config: &Config, now: &Situation<impl Fn() -> bool>) -> Option<Due> {
        let due = |cause, anyway| Due {
            cause,
            when: When::Changed,
            anyway,
        };
        // Told before looked at: who told knows more than a `stat`.
        if let Some(waiting) = self.waiting.take_if(|it| it.at <= Instant::now()) {
            return Some(due(waiting.cause, waiting.anyway));
        }
        if config.fabric.watch && now.is_loaded && !(now.look_the_same)() {
            return Some(due(Cause::Fabric, false));
        }
        // What waits is late on purpose where the reading before failed.
        let is_stale = self.waiting.is_none() && self.last.elapsed() >= config.poll()?;
        (is_stale && now.is_loaded).then(|| due(Cause::Regular, false))
    }

    /// The sources are read from now on. Gives when that began: what is published is as old.
    pub(super) fn begin(&mut self) -> Instant {
        self.last = Instant::now();
        self.last
    }

    /// True where something is to be read at a time that is known.
    pub(super) const fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }

    /// The reading that began last is over, whatever came of it.
    pub(super) fn ended(&mut self) {
        let now = Instant::now();
        self.rested = now + now.saturating_duration_since(self.last);
    }

    /// What was due is in service.
    pub(super) const fn succeeded(&mut self) {
        self.retries = 0;
    }

    /// What was due is in service and left something undone: another reading comes after this
    /// pause, unless one comes earlier.
    pub(super) fn again(&mut self, pause: Duration) {
        let at = Instant::now() + pause;
        // A trap that waits finds what this one would.
        if self.waiting.is_none() {
            self.waiting = Some(Waiting {
                at,
                latest: at,
                cause: Cause::Retry,
                anyway: false,
            });
        }
    }

    /// What was due failed, and nothing tells when it would not any more: it is tried again soon,
    /// unless something else waits already. OpenSM may have been in the middle of it, or be away.
    /// `again_in`: what the failure says itself.
    pub(super) fn retry(&mut self, failed: Due, again_in: Option<Duration>, config: &Config) {
        if self.waiting.is_some() {
            return;
        }
        if failed.cause != Cause::Retry {
            self.retries = 0;
        }
        // What a sweep finds wrong is wrong for long, most likely: a partition file, two masters.
        let regular = config
            .poll()
            .filter(|_| config.fabric.source == Source::Sweep);
        let longest = regular.map_or(LONGEST_RETRY, |regular| regular.max(LONGEST_RETRY));
        let pause = (RETRY * (1 << self.retries.min(MOST_DOUBLINGS))).min(longest);
        let at = Instant::now() + again_in.unwrap_or(pause);
        self.retries += 1;
        self.waiting = Some(Waiting {
            at,
            latest: at,
            cause: Cause::Retry,
            anyway: failed.anyway,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(more: &str) -> Config {
        let text = format!(
            "[fabric]\nsource = \"opensm\"\n[[port]]\ntransport = \"ibsim\"\nnode = \"H1\"\n{more}"
        );
        Config::parse(&text).unwrap()
    }

    fn loaded(is_held: bool) -> Situation<impl Fn() -> bool> {
        Situation {
            is_loaded: true,
            is_held,
            look_the_same: || false,
        }
    }

    #[test]
    fn changes_one_after_the_other_are_one_reading_and_do_not_put_it_off_for_ever() {
        let config = config("[opensm]\nsettle_ms = 60000\npoll_ms = 0\n");
        let mut schedule = Schedule::new();
        schedule.note(Change::Programmed, &config);
        let first = schedule.waiting.unwrap();
        std::thread::sleep(Duration::from_millis(1));
        schedule.note(Change::Trap(128), &config);
        let second = schedule.waiting.unwrap();
        assert!(second.at > first.at && second.latest == first.latest);
        assert_eq!(schedule.next(&config, &loaded(false)), None, "not yet");
        schedule.waiting = Some(Waiting {
            latest: Instant::now(),
            ..second
        });
        schedule.note(Change::Programmed, &config);
        let due = schedule.next(&config, &loaded(false)).unwrap();
        assert_eq!(due.cause, Cause::Told(Change::Programmed));
        assert_eq!(schedule.next(&config, &loaded(false)), None, "taken");
    }

    #[test]
    fn what_is_held_stays_unless_nothing_of_it_counts_any_more() {
        let config = config("[opensm]\nsettle_ms = 0\npoll_ms = 0\n");
        let mut schedule = Schedule::new();
        schedule.note(Change::Programmed, &config);
        assert_eq!(schedule.next(&config, &loaded(true)), None);
        schedule.note(Change::Invalid("another LID"), &config);
        schedule.note(Change::Programmed, &config);
        let due = schedule.next(&config, &loaded(true)).unwrap();
        assert!(due.anyway);
        schedule.retry(due, None, &config);
        let again = schedule.waiting.unwrap();
        assert!(again.anyway && again.cause == Cause::Retry);
    }

    /// Pauses of a reading that goes on failing, in quarters of a second.
    fn pauses(schedule: &mut Schedule, config: &Config) -> Vec<u128> {
        let mut failed = Due::ordered(Cause::Regular);
        let mut pauses = Vec::new();
        for _ in 0..8 {
            let now = Instant::now();
            schedule.retry(failed, None, config);
            let waiting = schedule.waiting.take().unwrap();
            pauses.push(waiting.at.duration_since(now).as_millis() / 250);
            failed = Due::ordered(Cause::Retry);
        }
        pauses
    }

    #[test]
    fn a_sweep_that_goes_on_failing_comes_no_more_often_than_a_regular_one() {
        let sweep = |interval| {
            let text = format!(
                "[fabric]\nsource = \"sweep\"\n[sm]\nsweep_interval = {interval}\n\
                 [[port]]\ntransport = \"ibsim\"\nnode = \"H1\"\n"
            );
            Config::parse(&text).unwrap()
        };
        let mut schedule = Schedule::new();
        let seen = pauses(&mut schedule, &sweep(10));
        assert_eq!(seen, [1, 2, 4, 8, 16, 32, 40, 40]);
        let seen = pauses(&mut schedule, &sweep(1));
        assert_eq!(seen, [1, 2, 4, 8, 16, 16, 16, 16]);
    }

    #[test]
    fn each_retry_waits_for_twice_as_long_up_to_a_bound() {
        let config = config("[opensm]\npoll_ms = 0\n");
        let mut schedule = Schedule::new();
        let seen = pauses(&mut schedule, &config);
        assert_eq!(seen, [1, 2, 4, 8, 16, 16, 16, 16]);
        // What waits already comes first.
        schedule.note(Change::Returned, &config);
        schedule.retry(Due::ordered(Cause::Retry), None, &config);
        let waiting = schedule.waiting.unwrap();
        assert_eq!(waiting.cause, Cause::Told(Change::Returned));
    }
}
