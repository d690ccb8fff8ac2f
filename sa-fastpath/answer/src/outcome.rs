//! What becomes of a request.
//!
//! Every request ends in exactly one [`Outcome`], and a worker counts each by its reason: the
//! counters of a port add up to the requests it received.

use crate::{DropReason, PuntReason, Reject};

/// What became of a request, and so what the worker does next: send, keep quiet, or hand it on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The slot holds a reply with a record, or an empty table. Units: MAD bytes.
    Answered(u16),
    /// The slot holds a reply with an error status. Units: MAD bytes.
    Refused(u16, Reject),
    /// No reply, whoever waits for one.
    Dropped(DropReason),
    /// The request is the slow lane's, for this reason; the slot is unchanged.
    Punt(PuntReason),
}

/// Why the request is not answered here with a record.
///
/// Inside this crate only: it is turned into an [`Outcome`] where the reply is written, so that the
/// functions between can use `?`.
pub(crate) enum Stop {
    /// An error reply with the status of this reason.
    Reject(Reject),
    /// Silence.
    Drop(DropReason),
    /// The slow lane has to look at it; nothing was written to the slot.
    Punt(PuntReason),
}

impl From<Reject> for Stop {
    fn from(reject: Reject) -> Self {
        Self::Reject(reject)
    }
}
