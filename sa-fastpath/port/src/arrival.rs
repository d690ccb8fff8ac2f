//! What arrives at a responder: requests, and what is none.
//!
//! Sorted before a worker sees it, by four fields of a header, so that what is lent is a request or
//! something that the slow lane waits for. What is wrong with a request itself is the answer's
//! business, not the port's.

use sa_wire::mad::{MGMT_CLASS_SA, method};
use sa_wire::sa::SaMad;
use sa_wire::umad::Slot;

/// What came, and so what a port does with it: only requests are lent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// For the worker.
    Request,
    /// A reply of ours that failed.
    Returned,
    /// Of another class, or a response that nobody here waits for: traps, SMInfo.
    Foreign,
    /// Shorter than a MAD header.
    Malformed,
}

/// Requests of class Subnet Administration are lent, RMPP's ACK, STOP and ABORT and responses to
/// Reports included.
///
/// Cost: four comparisons and no table. `mad_len` is what the transport says; bytes behind it are
/// zero.
pub(crate) fn sort(slot: &Slot, mad_len: usize) -> Arrival {
    let mad = &SaMad::from_bytes(&slot.mad).mad;
    // The status first: a reply of ours that came back has a length of its own, and is no request
    // whatever its class.
    if slot.header.status != 0 {
        Arrival::Returned
    } else if mad_len < MIN_REQUEST {
        Arrival::Malformed
    } else if mad.mgmt_class != MGMT_CLASS_SA
        || (mad.is_response() && mad.method != method::REPORT_RESP)
    {
        Arrival::Foreign
    } else {
        Arrival::Request
    }
}

/// The length of a MAD header; anything shorter cannot even be dropped by class. Units: bytes.
pub(crate) const MIN_REQUEST: usize = 24;
