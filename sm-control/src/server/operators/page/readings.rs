//! Counters of workers at two times, of which rates are made.
//!
//! ```text
//!  every second:  [ 10 s: 5,000 ]  [ 11 s: 5,700 ]  ──> 700 a second
//! ```
//!
//! Counters alone say how much there was; what goes on now is the difference of two readings. One
//! task takes them, whether a page is open or not: it costs a look at some cache lines, and where
//! batches are sampled at those of their histograms.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use sa_fastpath::stats::StatsSnapshot;
use sa_page::events::Level;

use super::Page;
use super::asked::Window;

/// From reading to reading.
const EVERY: Duration = Duration::from_secs(1);

/// The last two, and more of what was asked for. Shape of each: by port.
#[derive(Debug, Default)]
pub(super) struct Readings {
    older: Option<(Instant, Vec<StatsSnapshot>)>,
    newer: Option<(Instant, Vec<StatsSnapshot>)>,
    pub(super) asked: Window,
}

impl Readings {
    /// The newest are these.
    fn take(&mut self, at: Instant, counters: Vec<StatsSnapshot>) {
        self.older = self.newer.replace((at, counters));
    }

    /// What a counter of a port grew in a second; none before two readings.
    pub(super) fn rate(&self, port: usize, counter: impl Fn(&StatsSnapshot) -> u64) -> Option<f64> {
        let ((then, before), (now, after)) = (self.older.as_ref()?, self.newer.as_ref()?);
        let grown = counter(after.get(port)?).saturating_sub(counter(before.get(port)?));
        let seconds = now.saturating_duration_since(*then).as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "requests in a second")]
        let grown = grown as f64;
        (seconds > 0.0).then(|| grown / seconds)
    }

    /// The same over all ports.
    pub(super) fn total(&self, counter: impl Fn(&StatsSnapshot) -> u64) -> Option<f64> {
        let ports = self.newer.as_ref()?.1.len();
        (0..ports).map(|port| self.rate(port, &counter)).sum()
    }
}

/// One reading, under one lock, so that a page sees all of it or nothing.
fn take(page: &Page, now: Instant) {
    let counters = page.status.ports.iter().map(|port| port.stats.snapshot());
    let counters: Vec<StatsSnapshot> = counters.collect();
    let mut readings = page.readings.lock().unwrap_or_else(PoisonError::into_inner);
    readings.asked.read(now, &counters, &page.status);
    readings.take(now, counters);
}

/// Takes readings for ever, and tells when the daemon gets ready or stops being it.
pub(in crate::server) async fn readings(page: Arc<Page>) {
    let mut was_ready = None;
    loop {
        take(&page, Instant::now());
        let why = page.status.readiness().err();
        if was_ready != Some(why.is_none()) {
            was_ready = Some(why.is_none());
            let (level, words) = match why {
                None => (Level::Info, "ready".to_owned()),
                Some(why) => (Level::Warning, format!("not ready: {why}")),
            };
            page.status.happening.tell(level, words);
        }
        tokio::time::sleep(EVERY).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_of_the_last_two_readings() {
        let at = Instant::now();
        let counted = |received| StatsSnapshot {
            received,
            ..StatsSnapshot::default()
        };
        let mut readings = Readings::default();
        readings.take(at, vec![counted(0), counted(5)]);
        assert_eq!(readings.rate(0, |it| it.received), None);
        readings.take(at + Duration::from_secs(1), vec![counted(100), counted(5)]);
        readings.take(at + Duration::from_secs(3), vec![counted(500), counted(7)]);
        assert_eq!(readings.rate(0, |it| it.received), Some(200.0));
        assert_eq!(readings.total(|it| it.received), Some(201.0));
        assert_eq!(readings.rate(2, |it| it.received), None);
    }
}
