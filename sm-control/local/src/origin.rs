//! Where the snapshot in service comes from.

use std::time::Instant;

use sa_fastpath::publish::EpochId;

/// What is known of a snapshot in service besides itself.
pub trait Origin: Send {
    /// When its sources began to be read, or were last found to say the same. None where that epoch
    /// is not in service.
    fn read_at(&self, epoch: EpochId) -> Option<Instant>;
}
