//! Log lines: selected by `RUST_LOG`, limited in number, as text or JSON.
//!
//! What repeats is limited by the place in the program that it comes from, so that nobody who makes
//! the daemon complain can fill a disk or hide what else it says. What an operator asked for
//! ([`REPORT`]) is as long as it is.
//!
//! ```text
//!  per_second = 10: each place in the program has a bucket of 10 lines, filled at 10 a second
//!  100 lines at once from one place: 10 are written, 90 counted; a second later one line says so
//! ```
//!
//! ```text
//!  2026-01-05T10:00:00Z  WARN sm_control::server::opensm::link: ..             format = "text"
//!  {"timestamp":"..","level":"WARN","message":"..","target":".."}       format = "json"
//! ```

use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::HashMap;
use std::io::IsTerminal;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing::callsite::Identifier;
use tracing::{Event, Subscriber, info};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, fmt};

use crate::config::{LogFormat, LogSection};

/// Target of reports: never limited. `RUST_LOG` selects them by this name.
pub const REPORT: &str = "sm_control::report";

/// Lines that were only counted, in this process. A metric.
static SUPPRESSED: AtomicU64 = AtomicU64::new(0);

/// How many lines were only counted so far.
pub fn suppressed() -> u64 {
    SUPPRESSED.load(Ordering::Relaxed)
}

/// Says from time to time what was only counted.
#[derive(Debug, Clone)]
pub struct Reporter(Arc<Places>);

/// Sets logging to standard error up, for the whole process; the first call counts.
pub fn start(section: LogSection) -> Reporter {
    let places = Arc::new(Places::new(section.per_second));
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    // Where standard error is closed or full there is nobody to complain to about that.
    let lines = fmt::layer()
        .with_writer(std::io::stderr)
        .log_internal_errors(false);
    let limiter = Limiter(Arc::clone(&places));
    let registry = tracing_subscriber::registry().with(filter).with(limiter);
    // Who set logging up before, as a test does, keeps it.
    let _ = match section.format {
        // Colours are for people; in a file or a journal they are noise.
        LogFormat::Text => registry
            .with(lines.with_ansi(std::io::stderr().is_terminal()))
            .try_init(),
        LogFormat::Json => registry.with(lines.json().flatten_event(true)).try_init(),
    };
    Reporter(places)
}

impl Reporter {
    /// Logs how many lines of each place were left out since the last call. To be called every
    /// second or so.
    pub fn report(&self) {
        for (place, suppressed) in self.0.take() {
            info!(target: REPORT, place, suppressed, "more log lines like these were suppressed");
        }
    }
}

/// Reports from a thread of its own, for as long as the process lives.
pub fn report_always(reporter: Reporter) {
    let thread = std::thread::Builder::new().name("sa-log".into());
    // Without it lines are only counted.
    let _ = thread.spawn(move || {
        loop {
            std::thread::sleep(EVERY);
            reporter.report();
        }
    });
}

/// Between reports: a place that is flooded is one line a second more.
const EVERY: Duration = Duration::from_secs(1);

/// Lets events pass or counts them. Behind the filter, so that lines that nobody selected use up
/// nothing.
struct Limiter(Arc<Places>);

impl<S: Subscriber> Layer<S> for Limiter {
    fn event_enabled(&self, event: &Event<'_>, _: Context<'_, S>) -> bool {
        let about = event.metadata();
        if about.target() == REPORT {
            return true;
        }
        let passes = self.0.admit(about.callsite(), Instant::now(), || {
            let line = about.line().unwrap_or(0);
            format!("{}:{line}", about.target())
        });
        if !passes {
            SUPPRESSED.fetch_add(1, Ordering::Relaxed);
        }
        passes
    }
}

/// What came from each place that logs. Grows with the number of places in the program, which is
/// fixed.
#[derive(Debug)]
struct Places {
    /// 0: any.
    per_second: u32,
    all: Mutex<HashMap<Identifier, Place>>,
}

/// A line of the program's source that logs.
#[derive(Debug)]
struct Place {
    name: String,
    /// Lines that may still come, in parts of a line.
    room: f64,
    /// When it logged last: the bucket is filled when it is asked, not by a clock.
    seen: Instant,
    suppressed: u64,
}

impl Places {
    /// Every bucket is full at first: a start may say what it has to say.
    fn new(per_second: u32) -> Self {
        let all = Mutex::default();
        Self { per_second, all }
    }

    /// Whether a line may come now. O(1), under a lock that is held for a few additions.
    fn admit(&self, place: Identifier, now: Instant, name: impl FnOnce() -> String) -> bool {
        if self.per_second == 0 {
            return true;
        }
        let most = f64::from(self.per_second);
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let place = all.entry(place).or_insert_with(|| Place {
            name: name(),
            room: most,
            seen: now,
            suppressed: 0,
        });
        let since = now.saturating_duration_since(place.seen).as_secs_f64();
        // At most a second's worth: a place that was quiet for an hour may not flood for one.
        place.room = since.mul_add(most, place.room).min(most);
        place.seen = now;
        if place.room < 1.0 {
            place.suppressed += 1;
            return false;
        }
        place.room -= 1.0;
        true
    }

    /// Places that had lines left out, and how many.
    fn take(&self) -> Vec<(String, u64)> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let some = all.values_mut().filter(|place| place.suppressed > 0);
        some.map(|place| (place.name.clone(), std::mem::take(&mut place.suppressed)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use tracing::subscriber::with_default;
    use tracing::warn;

    use super::*;

    /// Operators filter by it, so it must not follow a module that moves.
    #[test]
    fn reports_have_the_target_that_the_manual_names() {
        let manual = include_str!("../../docs/operating.md");
        assert!(manual.contains(&format!("target `{REPORT}`")));
    }

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn written(per_second: u32, work: impl FnOnce()) -> (String, Reporter) {
        let places = Arc::new(Places::new(per_second));
        let written = Written::default();
        let to = written.clone();
        let lines = fmt::layer()
            .with_ansi(false)
            .with_writer(move || to.clone());
        let limiter = Limiter(Arc::clone(&places));
        let all = tracing_subscriber::registry().with(limiter).with(lines);
        let reporter = Reporter(places);
        with_default(all, || {
            work();
            reporter.report();
        });
        let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
        (text, reporter)
    }

    #[test]
    fn a_flood_from_one_place_leaves_others_alone() {
        let (text, reporter) = written(10, || {
            for nth in 0..1000 {
                warn!(nth, "flood");
            }
            warn!("drop");
            for _ in 0..30 {
                info!(target: REPORT, "asked for");
            }
        });
        let count = |word: &str| text.matches(word).count();
        let floods = count("flood");
        assert!((10..100).contains(&floods), "{floods}");
        assert_eq!((count("drop"), count("asked for")), (1, 30));
        let said = format!("suppressed={}", 1000 - floods);
        assert!(text.contains(&said), "{said} in {text}");
        assert!(reporter.0.take().is_empty());
    }

    #[test]
    fn without_a_limit_everything_comes() {
        let (text, _) = written(0, || {
            for _ in 0..1000 {
                warn!("flood");
            }
        });
        assert_eq!(text.matches("flood").count(), 1000);
    }

    #[test]
    fn room_comes_back_with_time() {
        let places = Places::new(10);
        let start = Instant::now();
        let callsite =
            tracing::callsite!(name: "here", kind: tracing::metadata::Kind::EVENT, fields: message);
        let identifier = tracing::callsite::Callsite::metadata(callsite).callsite();
        let admitted = |at: Duration| {
            (0..100)
                .filter(|_| places.admit(identifier.clone(), start + at, String::new))
                .count()
        };
        assert_eq!(admitted(Duration::ZERO), 10);
        assert_eq!(admitted(Duration::from_millis(500)), 5);
        assert_eq!(admitted(Duration::from_secs(60)), 10);
    }
}
