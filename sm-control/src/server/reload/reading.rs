//! When what is in service was read from its sources.
//!
//! The age of an answer is the age of the reading, not of the snapshot: a fabric that is read again
//! and again without a change is fresh. The local service asks here how old its answers are.
//!
//! ```text
//!  10:00:00  read, epoch 7 published     age counts from 10:00:00
//!  10:00:10  read again, as it was       epoch 7 stays, age counts from 10:00:10
//!  10:00:12  another SM takes over       what was read before counts for nothing here until it is read again
//! ```

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Instant;

use arc_swap::ArcSwapOption;
use sa_local::origin::Origin;
use sa_snapshot::EpochId;

/// When the snapshot of an epoch was read from its sources.
struct Reading {
    epoch: EpochId,
    at: Instant,
}

/// The newest reading, which is there before its snapshot is: whoever sees the snapshot finds its
/// age. Clones are the same slot.
#[derive(Clone, Default)]
pub(in crate::server) struct Readings(Arc<ArcSwapOption<Reading>>);

impl Readings {
    /// Of the snapshot of that epoch.
    pub(in crate::server) fn began(&self, epoch: EpochId, at: Instant) {
        self.0.store(Some(Arc::new(Reading { epoch, at })));
    }

    /// None where another snapshot is in service.
    pub(in crate::server) fn of(&self, epoch: EpochId) -> Option<Instant> {
        let reading = self.0.load();
        let its = reading.as_ref().filter(|reading| reading.epoch == epoch);
        its.map(|reading| reading.at)
    }
}

/// What the daemon knows of the snapshot in service, for the local service.
pub(in crate::server) struct InService {
    pub(in crate::server) readings: Readings,
    /// It is in doubt.
    pub(in crate::server) muted: Arc<AtomicBool>,
}

impl Origin for InService {
    fn read_at(&self, epoch: EpochId) -> Option<Instant> {
        let is_in_doubt = self.muted.load(Ordering::SeqCst);
        // In doubt it is as good as unknown: the kernel is sent to the SA.
        self.readings.of(epoch).filter(|_| !is_in_doubt)
    }
}
