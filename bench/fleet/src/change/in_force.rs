//! What is in force on the leader's host.
//!
//! In the daemon this is the publisher's slot, of which the thread that leads has a reader
//! (`server::fleet::leading`). Here no worker answers on the leader's host, so a lock will do: it
//! is looked at a hundred times a second, and set once a change.

use std::sync::{Arc, Mutex, PoisonError};

use fleet_node::leading::{Newest, Source};
use sa_snapshot::Snapshot;

/// Set by who compiles, looked at by who leads.
#[derive(Clone, Default)]
pub(super) struct InForce(Arc<Mutex<Option<Numbered>>>);

/// Another number for each.
type Numbered = (u64, Arc<Holder>);

/// For who packs it, as a value that can be looked at.
struct Holder(Snapshot);

impl AsRef<Snapshot> for Holder {
    fn as_ref(&self) -> &Snapshot {
        &self.0
    }
}

impl InForce {
    /// This is in force from now on. The one before is freed once nobody packs it any more.
    pub(super) fn set(&self, snapshot: Snapshot) {
        let mut now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = now.as_ref().map_or(1, |(number, _)| number + 1);
        *now = Some((number, Arc::new(Holder(snapshot))));
    }
}

impl Source for InForce {
    fn newest(&mut self) -> Newest {
        let now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*now {
            None => Newest::Nothing,
            Some((number, snapshot)) => Newest::InForce {
                number: *number,
                snapshot: Arc::clone(snapshot) as Arc<_>,
            },
        }
    }
}
