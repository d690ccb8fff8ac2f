//! What the slow lane has done, as an object of the status.

use serde::Serialize;

use super::Pairs;
use crate::server::slow_lane::LaneTally;

/// Counts since the start.
#[derive(Debug, Serialize)]
pub(super) struct SlowLane {
    /// Whole requests, by the name of their attribute; without those that nobody asked for.
    requests: Pairs<&'static str, u64>,
    /// Given up, as they had waited for too long.
    late: u64,
    /// Given up, as their sender had its share while others waited.
    beyond_share: u64,
}

impl SlowLane {
    pub(super) fn new(tally: &LaneTally) -> Self {
        Self {
            requests: Pairs(tally.by_attribute()),
            late: tally.late.get(),
            beyond_share: tally.beyond_share.get(),
        }
    }
}
