//! Where the snapshot in service comes from.
//!
//! A snapshot does not say how old the truth is that it was compiled from. The daemon knows, and
//! implements this; [`super::replica`] compares it with the time at which another SM came.

use std::time::Instant;

use sa_fastpath::publish::EpochId;

/// What is known of a snapshot in service besides itself. Asked for each question, so it must not
/// wait.
pub trait Origin: Send {
    /// When its sources began to be read, or were last found to say the same: the beginning,
    /// because an SM that came while they were read may have changed what was read before. None
    /// where that epoch is not in service.
    fn read_at(&self, epoch: EpochId) -> Option<Instant>;
}
