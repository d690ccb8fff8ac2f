//! What is known of the daemon: the last reading, what it differs from the one before by, and
//! whether it is there.
//!
//! ```text
//!  Waiting ──reading──> Live ──no answer for a while──> Late ──an answer──> Live
//!     │                  │ ^                              │
//!     └──no answer──> Absent / Lost <─────no answer───────┘        the last reading stays, with its age, without rates
//! ```

use std::time::{Duration, Instant};

use super::asker::News;
use super::events::Events;
use super::rates::{Rates, between};
use super::reading::Reading;

/// All that is shown. A copy of it is what a pause shows.
#[derive(Debug, Clone)]
pub(super) struct Model {
    /// Path of the control socket.
    pub(super) place: String,
    pub(super) every: Duration,
    /// The last one that came; none before the first.
    pub(super) reading: Option<Reading>,
    /// None where there are no two readings of one process, one right after the other.
    pub(super) rates: Option<Rates>,
    pub(super) events: Events,
    /// Since when nobody answers, and why; none while somebody does.
    lost: Option<(Instant, String)>,
}

/// Whether the daemon is there, and of when the figures are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing<'a> {
    /// Nothing has come yet, of either kind.
    Waiting,
    /// Nobody has ever answered.
    Absent {
        /// Since the first try.
        since: Duration,
        why: &'a str,
    },
    /// The figures are of now.
    Live,
    /// An answer is overdue.
    Late {
        /// Of the figures.
        age: Duration,
    },
    /// Who answered does so no more.
    Lost {
        since: Duration,
        /// Of the figures.
        age: Duration,
        why: &'a str,
    },
}

impl Model {
    /// Nothing is known yet of the daemon at `place`, which is asked each `every`.
    pub(super) const fn new(place: String, every: Duration, events: Events) -> Self {
        Self {
            place,
            every,
            reading: None,
            rates: None,
            events,
            lost: None,
        }
    }

    /// What a question came to, at `now`.
    pub(super) fn take(&mut self, news: News, now: Instant) {
        match news {
            Ok(reading) => self.read(reading, now),
            Err(why) => self.miss(why, now),
        }
    }

    fn read(&mut self, reading: Reading, now: Instant) {
        let was_lost = self.lost.take().is_some();
        match &self.reading {
            None => self.events.begin(&reading),
            Some(before) if before.pid() != reading.pid() || before.uptime() > reading.uptime() => {
                let text = format!("another daemon answers: process {}", reading.word("pid"));
                self.events.add(now, true, text);
            }
            Some(before) => {
                if was_lost {
                    self.events
                        .add(now, false, "the daemon answers again".to_owned());
                }
                self.events.compare(before, &reading);
            }
        }
        // After a gap the figures would be of all of it.
        let before = self.reading.as_ref().filter(|_| !was_lost);
        self.rates = before.and_then(|before| between(before, &reading));
        self.reading = Some(reading);
    }

    fn miss(&mut self, why: String, now: Instant) {
        self.rates = None;
        match &mut self.lost {
            // The reason may be another by now: first it hung, then it was killed.
            Some((_, told)) => *told = why,
            None => {
                if self.reading.is_some() {
                    self.events
                        .add(now, true, "the daemon answers no more".to_owned());
                }
                self.lost = Some((now, why));
            }
        }
    }

    /// How it stands at `now`.
    pub(super) fn standing(&self, now: Instant) -> Standing<'_> {
        let since = |then: Instant| now.saturating_duration_since(then);
        match (&self.reading, &self.lost) {
            (None, None) => Standing::Waiting,
            (None, Some((then, why))) => Standing::Absent {
                since: since(*then),
                why,
            },
            (Some(reading), Some((then, why))) => Standing::Lost {
                since: since(*then),
                age: since(reading.at),
                why,
            },
            (Some(reading), None) => {
                let age = since(reading.at);
                // One that is on its way, and a second for a machine that is busy.
                match age > self.every * 2 + Duration::from_secs(1) {
                    true => Standing::Late { age },
                    false => Standing::Live,
                }
            }
        }
    }

    /// An age that the last reading tells, as it is now. Units: seconds.
    pub(super) fn aged(&self, then: Option<u64>, now: Instant) -> Option<u64> {
        let since = self
            .reading
            .as_ref()
            .map(|reading| now.saturating_duration_since(reading.at).as_secs());
        then?.checked_add(since?)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn reading(at: Instant, pid: u64, uptime: u64, received: u64) -> News {
        let status = json!({
            "ok": true, "pid": pid, "uptime_s": uptime,
            "ports": [{"transport": "ring", "place": "/r", "received": received, "answered": received, "unsent": 0}],
        });
        Ok(Reading::new(at, status, None))
    }

    fn model() -> Model {
        Model::new("/c".to_owned(), SECOND, Events::default())
    }

    fn received(model: &Model) -> Option<f64> {
        let rates = model.rates.as_ref()?;
        Some(rates.ports[0]?.received)
    }

    fn texts(model: &Model) -> Vec<&str> {
        model
            .events
            .iter()
            .map(|event| event.text.as_str())
            .collect()
    }

    #[test]
    fn a_daemon_that_never_answered_is_absent() {
        let (t0, mut model) = (Instant::now(), model());
        assert_eq!(model.standing(t0), Standing::Waiting);
        model.take(Err("no".to_owned()), t0);
        let why = Standing::Absent {
            since: SECOND,
            why: "no",
        };
        assert_eq!(model.standing(t0 + SECOND), why);
        // It has lost nothing.
        assert!(texts(&model).is_empty());
    }

    #[test]
    fn figures_of_a_lost_daemon_have_an_age_and_no_rates() {
        let (t0, mut model) = (Instant::now(), model());
        model.take(reading(t0, 7, 5, 100), t0);
        model.take(reading(t0 + SECOND, 7, 6, 300), t0 + SECOND);
        assert_eq!(
            (model.standing(t0 + SECOND), received(&model)),
            (Standing::Live, Some(200.0))
        );
        model.take(Err("closed".to_owned()), t0 + 2 * SECOND);
        model.take(Err("refused".to_owned()), t0 + 3 * SECOND);
        let lost = Standing::Lost {
            since: 2 * SECOND,
            age: 3 * SECOND,
            why: "refused",
        };
        assert_eq!(
            (model.standing(t0 + 4 * SECOND), received(&model)),
            (lost, None)
        );
        assert_eq!(texts(&model), ["the daemon answers no more"]);
        // Ages go on while nothing is read.
        assert_eq!(model.aged(Some(10), t0 + 4 * SECOND), Some(13));
    }

    #[test]
    fn after_a_gap_there_are_no_rates_until_the_second_reading() {
        let (t0, mut model) = (Instant::now(), model());
        model.take(reading(t0, 7, 5, 100), t0);
        model.take(Err("slow".to_owned()), t0 + SECOND);
        model.take(reading(t0 + 9 * SECOND, 7, 14, 5000), t0 + 9 * SECOND);
        assert_eq!(
            (model.standing(t0 + 9 * SECOND), received(&model)),
            (Standing::Live, None)
        );
        assert_eq!(texts(&model)[0], "the daemon answers again");
        model.take(reading(t0 + 10 * SECOND, 7, 15, 5050), t0 + 10 * SECOND);
        assert_eq!(received(&model), Some(50.0));
    }

    #[test]
    fn a_restart_is_told_and_gives_no_rates() {
        let (t0, mut model) = (Instant::now(), model());
        model.take(reading(t0, 7, 5, 100_000), t0);
        model.take(reading(t0 + SECOND, 8, 0, 3), t0 + SECOND);
        assert_eq!(received(&model), None);
        assert_eq!(texts(&model), ["another daemon answers: process 8"]);
        model.take(reading(t0 + 2 * SECOND, 8, 1, 13), t0 + 2 * SECOND);
        assert_eq!(received(&model), Some(10.0));
    }

    #[test]
    fn an_answer_that_is_overdue_is_said() {
        let (t0, mut model) = (Instant::now(), model());
        model.take(reading(t0, 7, 5, 1), t0);
        assert_eq!(model.standing(t0 + 2 * SECOND), Standing::Live);
        let late = Standing::Late { age: 4 * SECOND };
        assert_eq!(model.standing(t0 + 4 * SECOND), late);
    }
}
