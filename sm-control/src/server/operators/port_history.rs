//! What the handles of a port have counted, and whether it is attached.
//!
//! A port that goes and comes back has new handles, whose counters begin at 0; a metric that falls
//! back to 0 reads as a restart. So what the old ones counted is added up here.
//!
//! ```text
//!  attached   now [120, 3]                     sum 123
//!  lost       now [120, 3], away "no device"   sum 123
//!  attached   before 123, now [5, 0]           sum 128, attachments 2
//! ```

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use sa_port::{PortCounters, PortStats};

/// Of one port, over all its lives. A port that is attached again has new handles; what the old
/// ones counted stays. Shared by the port's thread, which writes, and whoever reports.
#[derive(Debug, Default)]
pub(in crate::server) struct PortHistory {
    pages: Mutex<Pages>,
    /// At the port, while it is not served: what the watchdog sees of a thread that waits.
    looks: AtomicU64,
}

/// Under the lock, which is taken when a port comes or goes and when somebody looks: never by a
/// worker's turn.
#[derive(Debug, Default)]
struct Pages {
    /// Of handles that are gone, added up.
    before: PortCounters,
    /// The handles of now: the worker's and the slow lane's.
    now: Vec<Arc<PortStats>>,
    /// How often the port was attached, since the start.
    attachments: u64,
    /// Why it is not attached, though it should be.
    away: Option<String>,
}

/// What a [`PortHistory`] comes to at one time. Counters never fall.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::server) struct PortSummary {
    /// None where the transport hides nothing.
    pub(in crate::server) counters: Option<PortCounters>,
    /// How often the port was attached.
    pub(in crate::server) attachments: u64,
    /// Why it is not attached, though it should be.
    pub(in crate::server) away: Option<String>,
}

impl PortHistory {
    /// The port is attached, and these are its handles.
    pub(in crate::server) fn attached(&self, handles: impl IntoIterator<Item = Arc<PortStats>>) {
        self.with(|pages| {
            for handle in pages.now.drain(..) {
                // Their last counts: nothing writes to a handle that was let go.
                pages.before += handle.snapshot();
            }
            pages.now.extend(handles);
            pages.attachments += 1;
            pages.away = None;
        });
    }

    /// The port's thread is about to look whether it can be served.
    pub(in crate::server) fn look(&self) {
        self.looks.fetch_add(1, Ordering::Relaxed);
    }

    /// How often it did.
    pub(in crate::server) fn looks(&self) -> u64 {
        self.looks.load(Ordering::Relaxed)
    }

    /// What the port was attached to is gone.
    pub(in crate::server) fn lost(&self, why: &str) {
        self.with(|pages| pages.away = Some(why.to_owned()));
    }

    /// Everything, as of now.
    pub(in crate::server) fn summary(&self) -> PortSummary {
        self.with(|pages| {
            let mut sum = pages.before;
            for handle in &pages.now {
                sum += handle.snapshot();
            }
            // A port that has never been attached, or that has no counters, shows none: zeros would
            // look like silence.
            let counts = !pages.now.is_empty() || sum != PortCounters::default();
            PortSummary {
                counters: counts.then_some(sum),
                attachments: pages.attachments,
                away: pages.away.clone(),
            }
        })
    }

    fn with<T>(&self, turn: impl FnOnce(&mut Pages) -> T) -> T {
        turn(&mut self.pages.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_outlives_its_handles() {
        let history = PortHistory::default();
        assert_eq!(history.summary(), PortSummary::default());
        history.attached([Arc::default(), Arc::default()]);
        history.lost("unplugged");
        let away = history.summary();
        assert_eq!(away.away.as_deref(), Some("unplugged"));
        history.attached([Arc::default()]);
        let back = history.summary();
        assert_eq!((back.attachments, back.away), (2, None));
        assert_eq!(back.counters, Some(PortCounters::default()));
    }
}
