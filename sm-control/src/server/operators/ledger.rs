//! What the handles of a port have counted, and whether it is attached.

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use sa_fastpath::port::umad::{PortCounters, PortStats};

/// Of one port. A port that is attached again has new handles; what the old ones counted stays.
#[derive(Debug, Default)]
pub(in crate::server) struct Ledger {
    pages: Mutex<Pages>,
    /// At the port, while it is not served.
    looks: AtomicU64,
}

#[derive(Debug, Default)]
struct Pages {
    before: PortCounters,
    now: Vec<Arc<PortStats>>,
    attachments: u64,
    away: Option<String>,
}

/// A ledger at one time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::server) struct Entry {
    /// None where the transport hides nothing.
    pub(in crate::server) counters: Option<PortCounters>,
    /// How often the port was attached.
    pub(in crate::server) attachments: u64,
    /// Why it is not attached, though it should be.
    pub(in crate::server) away: Option<String>,
}

impl Ledger {
    /// The port is attached, and these are its handles.
    pub(in crate::server) fn attached(&self, handles: impl IntoIterator<Item = Arc<PortStats>>) {
        self.with(|pages| {
            for handle in pages.now.drain(..) {
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

    pub(in crate::server) fn entry(&self) -> Entry {
        self.with(|pages| {
            let mut sum = pages.before;
            for handle in &pages.now {
                sum += handle.snapshot();
            }
            let counts = !pages.now.is_empty() || sum != PortCounters::default();
            Entry {
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
    fn a_ledger_outlives_its_handles() {
        let ledger = Ledger::default();
        assert_eq!(ledger.entry(), Entry::default());
        ledger.attached([Arc::default(), Arc::default()]);
        ledger.lost("unplugged");
        let away = ledger.entry();
        assert_eq!(away.away.as_deref(), Some("unplugged"));
        ledger.attached([Arc::default()]);
        let back = ledger.entry();
        assert_eq!((back.attachments, back.away), (2, None));
        assert_eq!(back.counters, Some(PortCounters::default()));
    }
}
