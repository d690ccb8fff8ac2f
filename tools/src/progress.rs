//! Long work shows itself: which step it is at, for how long, and how much of it is done.
//!
//! ```text
//!  pipeline, export, ..  ──Watch──> SCREEN <──looks, ten times a second── a thread of its own
//!                                             terminal: a bar (`output::bar`), from half a second on
//!                                             else:     a line after 2 s, then one every 5 s
//!                                             --quiet:  nothing
//! ```
//!
//! All of it goes to standard error: what is printed for people or programs stays as it is. What
//! works says where it is and never waits for the screen. There is one for the process, as there is
//! one standard error.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use routing::watch::{Observer, Watch};

use crate::output::bar;

/// Until then work is not long enough for a bar: it would only flicker.
const FIRST_BAR: Duration = Duration::from_millis(500);
/// Until then it is not worth a line.
const FIRST_LINE: Duration = Duration::from_secs(2);
/// So that a log of an hour has hundreds of lines and not thousands.
const NEXT_LINE: Duration = Duration::from_secs(5);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(100);
/// Steps that are no farther apart are one piece of work.
const PAUSE: Duration = Duration::from_secs(1);

/// Where the work is.
struct Screen {
    is_quiet: AtomicBool,
    work: LazyLock<Mutex<Work>>,
    /// Of the step, in units of its own. Apart from the rest, because workers say them often.
    done: AtomicU64,
    total: AtomicU64,
    drawn: Once,
}

/// A piece of work, step by step.
struct Work {
    step: Option<Step>,
    /// When the first of its steps began.
    begun: Instant,
    /// When the last one ended.
    ended: Option<Instant>,
}

struct Step {
    name: String,
    since: Instant,
    /// How long it will take, where it ends by the clock.
    takes: Option<Duration>,
}

static SCREEN: Screen = Screen {
    is_quiet: AtomicBool::new(false),
    work: LazyLock::new(|| {
        Mutex::new(Work {
            step: None,
            begun: Instant::now(),
            ended: None,
        })
    }),
    done: AtomicU64::new(0),
    total: AtomicU64::new(0),
    drawn: Once::new(),
};

/// Nothing is shown.
pub(crate) fn silence() {
    SCREEN.is_quiet.store(true, Ordering::Relaxed);
}

/// Whether anything is to be shown.
pub(crate) fn is_wanted() -> bool {
    !SCREEN.is_quiet.load(Ordering::Relaxed)
}

/// For what says by itself how far it is.
pub(crate) fn watch() -> Watch {
    Watch::by(&SCREEN)
}

/// A step that says no more.
pub(crate) fn step<T>(name: &str, work: impl FnOnce() -> T) -> T {
    watch().step(name, work)
}

/// A step that takes so long by the clock.
pub(crate) fn timed<T>(name: &str, takes: Duration, work: impl FnOnce() -> T) -> T {
    step(name, || {
        if let Some(step) = &mut SCREEN.work().step {
            step.takes = Some(takes);
        }
        work()
    })
}

impl Observer for Screen {
    fn begin(&self, step: &str) {
        if self.is_quiet.load(Ordering::Relaxed) {
            return;
        }
        self.done.store(0, Ordering::Relaxed);
        self.total.store(0, Ordering::Relaxed);
        let mut work = self.work();
        if work.ended.is_none_or(|ended| ended.elapsed() > PAUSE) && work.step.is_none() {
            work.begun = Instant::now();
        }
        work.step = Some(Step {
            name: step.to_owned(),
            since: Instant::now(),
            takes: None,
        });
        drop(work);
        self.drawn.call_once(|| {
            let thread = thread::Builder::new().name("progress".to_owned());
            // Without the thread nothing is shown, and the work is done all the same.
            let _ = thread.spawn(show);
        });
    }

    fn reach(&self, done: u64, total: u64) {
        // Relaxed: two figures that do not fit each other for a moment do no harm.
        self.done.store(done, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
    }

    fn end(&self) {
        let mut work = self.work();
        work.step = None;
        work.ended = Some(Instant::now());
    }
}

impl Screen {
    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What there is to be shown.
    fn look(&self) -> Option<Look> {
        let work = self.work();
        let step = work.step.as_ref()?;
        let spent = step.since.elapsed();
        let told = (
            self.done.load(Ordering::Relaxed),
            self.total.load(Ordering::Relaxed),
        );
        let (done, total) = match step.takes {
            Some(takes) => (millis(spent), millis(takes)),
            None => told,
        };
        Some(Look {
            name: step.name.clone(),
            spent,
            begun: work.begun,
            // An estimate may have been too small: there is no more than all.
            part: (total > 0).then(|| (u128::from(done) * 1000 / u128::from(total)).min(1000)),
        })
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// A moment of a step.
struct Look {
    name: String,
    /// At this step.
    spent: Duration,
    /// The work that it belongs to.
    begun: Instant,
    /// How much of the step is done, where that is known. Units: per mille.
    part: Option<u128>,
}

/// As a line has it.
impl fmt::Display for Look {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        if let Some(part) = self.part {
            write!(f, ", {} %", part / 10)?;
        }
        write!(f, ", {} s", self.spent.as_secs())
    }
}

/// Shows the work for as long as the process lives.
fn show() {
    let mut told = None;
    loop {
        thread::sleep(LOOK);
        let look = SCREEN.look();
        match (look, bar::is_possible()) {
            (Some(look), true) if look.begun.elapsed() >= FIRST_BAR => {
                let words = format!("{}, {} s", look.name, look.spent.as_secs());
                bar::draw(words, look.part.and_then(|part| u64::try_from(part).ok()));
            }
            (None, true) => bar::clear(),
            (Some(look), false) if is_due(&look, told) => {
                errln!("sapphire: {look}");
                told = Some(Instant::now());
            }
            _ => {}
        }
    }
}

/// Whether another line is due; `told`: when there was the last one, of whatever work.
fn is_due(look: &Look, told: Option<Instant>) -> bool {
    look.begun.elapsed() >= FIRST_LINE && told.is_none_or(|told| told.elapsed() >= NEXT_LINE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_seen_with_its_part_and_none_between_steps() {
        assert!(SCREEN.look().is_none());
        step("routing", || {
            let look = SCREEN.look().unwrap();
            assert_eq!(look.to_string(), "routing, 0 s");
            // Twice what an estimate said.
            SCREEN.reach(2, 1);
            assert_eq!(SCREEN.look().unwrap().to_string(), "routing, 100 %, 0 s");
            SCREEN.reach(1, 3);
            assert_eq!(SCREEN.look().unwrap().to_string(), "routing, 33 %, 0 s");
        });
        assert!(SCREEN.look().is_none());
        timed("loading", Duration::from_secs(3600), || {
            // What the step before has said is not this one's.
            assert_eq!(SCREEN.look().unwrap().to_string(), "loading, 0 %, 0 s");
        });
    }

    #[test]
    fn lines_come_after_two_seconds_and_every_five() {
        let ago = |seconds| Instant::now().checked_sub(Duration::from_secs(seconds));
        let look = |seconds| Look {
            name: String::new(),
            spent: Duration::ZERO,
            begun: ago(seconds).unwrap(),
            part: None,
        };
        assert!(!is_due(&look(1), None));
        assert!(is_due(&look(3), None));
        assert!(!is_due(&look(6), ago(4)));
        assert!(is_due(&look(8), ago(6)));
    }
}
