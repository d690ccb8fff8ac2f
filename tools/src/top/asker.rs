//! Who asks the daemon: once, or again and again in a thread of its own.
//!
//! A question may wait for as long as `--timeout`, as of a daemon that is stopped. Keys are to work
//! all the while, so the loop on the terminal never asks itself: it takes what this thread sends.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::reading::Reading;
use crate::control::{ask, bare};
use crate::failure::{Failure, Outcome};

/// How often a Subnet Manager is asked for its links: they change by the minute, and the answer is
/// long where much is wrong.
const HEALTH: Duration = Duration::from_secs(5);

/// Asks one daemon. Keeps the last answer about links, which is asked for less often.
#[derive(Debug)]
pub(super) struct Asker {
    control: PathBuf,
    patience: Duration,
    health: Option<(Instant, Arc<Value>)>,
}

/// What comes of a question: a reading, or why there is none, in words.
pub(super) type News = Result<Reading, String>;

impl Asker {
    /// Asks nothing yet. `patience`: how long an answer is waited for.
    pub(super) fn new(control: &Path, patience: Duration) -> Self {
        Self {
            control: control.to_owned(),
            patience,
            health: None,
        }
    }

    /// Where it asks.
    pub(super) fn place(&self) -> String {
        self.control.display().to_string()
    }

    /// One reading. Errors: nobody answers (exit 4); what answers is no daemon of ours (exit 1).
    pub(super) fn ask(&mut self) -> Outcome<Reading> {
        let status = ask(&self.control, bare("status"), self.patience);
        // What is known of links is of a daemon that may be gone.
        let status = status.inspect_err(|_| self.health = None)?;
        // The moment that the counters are of, as near as it can be told.
        let at = Instant::now();
        if status.get("ok") != Some(&Value::Bool(true)) {
            let why = status.get("error").and_then(Value::as_str);
            let why = why.unwrap_or("it answers no question for its status");
            return Err(Failure::failed(format!("{}: {why}", self.place())));
        }
        let is_manager = status.get("subnet_manager").is_some_and(Value::is_object);
        let health = match is_manager {
            true => self.health(at),
            false => None,
        };
        Ok(Reading::new(at, status, health))
    }

    /// How links are; none where it is not told, as before the first sweep.
    fn health(&mut self, now: Instant) -> Option<Arc<Value>> {
        if let Some((asked, health)) = &self.health
            && now.duration_since(*asked) < HEALTH
        {
            return Some(Arc::clone(health));
        }
        // The status has come, so the daemon is there: what this question comes to does not decide on that.
        let answer = ask(&self.control, bare("health"), self.patience).ok()?;
        if answer.get("ok") != Some(&Value::Bool(true)) {
            return None;
        }
        let health = Arc::new(answer);
        self.health = Some((now, Arc::clone(&health)));
        Some(health)
    }

    /// Asks each `every`, and at once again where an answer took longer. The thread ends when
    /// nobody takes its news. Errors: no thread.
    pub(super) fn begin(mut self, every: Duration) -> Outcome<Receiver<News>> {
        let (sender, news) = mpsc::channel();
        let asking = move || {
            loop {
                let begun = Instant::now();
                let told = self.ask().map_err(|failure| failure.text().to_owned());
                if sender.send(told).is_err() {
                    return;
                }
                thread::sleep(every.saturating_sub(begun.elapsed()));
            }
        };
        thread::Builder::new()
            .name("top-asker".to_owned())
            .spawn(asking)
            .map_err(Failure::failed)?;
        Ok(news)
    }
}
