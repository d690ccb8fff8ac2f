//! What is announced now, and who waits for the next.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sa_fleet::offer::Offer;
use tokio::sync::watch;

/// The newest announcement of each subnet. Any thread may put one; polls of that subnet wake up.
#[derive(Debug, Default)]
pub(super) struct Board {
    // Few and for ever: a fleet has some subnets. Polls make none, so strangers cannot let it grow.
    subnets: Mutex<HashMap<u64, watch::Sender<Option<Offer>>>>,
}

impl Board {
    /// From now on this is the newest of its subnet, be it a relay's that knows less than before.
    /// None: there is nothing to say. `before`: gets how many polls wait for it, just before they
    /// are woken.
    pub(super) fn put(&self, prefix: u64, offer: Option<Offer>, before: impl FnOnce(usize)) {
        let mut subnets = self.lock();
        let subnet = subnets.entry(prefix).or_default();
        before(subnet.receiver_count());
        subnet.send_replace(offer);
    }

    /// What is announced of a subnet now.
    pub(super) fn newest(&self, prefix: u64) -> Option<Offer> {
        self.lock().get(&prefix)?.borrow().clone()
    }

    /// To wait with. None: no such subnet here.
    pub(super) fn watch(&self, prefix: u64) -> Option<watch::Receiver<Option<Offer>>> {
        Some(self.lock().get(&prefix)?.subscribe())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, watch::Sender<Option<Offer>>>> {
        self.subnets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
