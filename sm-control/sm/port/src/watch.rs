//! Telling how far a sweep is.

use std::fmt;
use std::time::Duration;

use sa_sm::sweep::Progress;

use crate::{Hidden, now};

/// What a watcher is told.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Told {
    /// How far the sweep is.
    pub progress: Progress,
    /// SMPs sent since the last telling. Units: per second.
    pub per_second: f64,
    /// What the port did not hand on.
    pub hidden: Hidden,
}

/// Who is told, and how often at most.
pub struct Watch<'a> {
    every: Duration,
    tell: Box<dyn FnMut(&Told) + 'a>,
    /// When it was told last, and how many SMPs were sent then.
    last: Option<(Duration, u64)>,
}

impl<'a> Watch<'a> {
    /// Calls `tell` at most once in `every`, from the thread that runs the sweep: what `tell` takes, the sweep waits.
    pub fn new(every: Duration, tell: impl FnMut(&Told) + 'a) -> Self {
        Self {
            every,
            tell: Box::new(tell),
            last: None,
        }
    }

    /// Nobody is told.
    pub fn nobody() -> Self {
        Self::new(Duration::MAX, |_| {})
    }

    /// How long until there is something to tell; the first time is one interval after the beginning.
    pub(crate) fn due_in(&self) -> Duration {
        let since = self
            .last
            .map_or(Duration::ZERO, |(at, _)| now().saturating_sub(at));
        self.every.saturating_sub(since)
    }

    /// Tells if it is time.
    pub(crate) fn look(&mut self, progress: impl FnOnce() -> Progress, hidden: Hidden) {
        let now = now();
        let Some((at, sent)) = self.last else {
            self.last = Some((now, progress().counts.sent));
            return;
        };
        let since = now.saturating_sub(at);
        if since < self.every {
            return;
        }
        let progress = progress();
        self.last = Some((now, progress.counts.sent));
        let newly = u32::try_from(progress.counts.sent.saturating_sub(sent)).unwrap_or(u32::MAX);
        let per_second = f64::from(newly) / since.as_secs_f64().max(f64::MIN_POSITIVE);
        (self.tell)(&Told {
            progress,
            per_second,
            hidden,
        });
    }
}

impl fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("every", &self.every)
            .finish_non_exhaustive()
    }
}
