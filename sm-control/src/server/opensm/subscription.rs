//! Hearing of changes: subscriptions at OpenSM, whose Reports come over its socket.
//!
//! The queue pair that is subscribed with is one that no HCA has: the library in OpenSM knows it,
//! hands such Reports over and lets none of them out on the wire.
//!
//! ```text
//!  sapphired ──Set(InformInfo), QP 0xffff5a──> OpenSM
//!  OpenSM ──Report(Notice) to that QP──> library ──Frame::Report──> here ──ReportResp──> OpenSM
//! ```
//!
//! A Report does not say what changed well enough to act on: it makes the loader read everything.
//! One that is lost is made up for by the poll.

use sa_wire::mad::method;
use sa_wire::notice::Notice;
use sa_wire::records::{ANY16, ANY24, InformInfo};
use sa_wire::request;
use sa_wire::sa::{AttributeId, DATA_OFFSET, SaMad};
use sa_wire::umad::Slot;
use split_protocol::{Packet, SUBSCRIBER_QP};
use zerocopy::{FromBytes, FromZeros, IntoBytes};

use super::link::packet;

/// A port came; a port went; a link changed; a port's capabilities or name did. Those that are sent
/// by an SM itself, or forwarded by it.
pub(super) const TRAPS: [u16; 4] = [64, 65, 128, 144];

/// Set(InformInfo) for a trap, from every LID, as from `lid`.
pub(super) fn subscribe(lid: u16, trap: u16) -> Slot {
    let mut info = InformInfo::new_zeroed();
    info.lid_range_begin = ANY16.into();
    info.is_generic = 1;
    info.subscribe = 1;
    info.trap_type = ANY16.into();
    info.trap_number = trap.into();
    info.qpn_and_resp_time = RESPONSE_TIME.into();
    info.producer_type = ANY24;
    let attribute = AttributeId::INFORM_INFO;
    let mut slot = request::request(lid, method::SET, attribute, 0, info.as_bytes());
    slot.header.qpn = SUBSCRIBER_QP.into();
    slot
}

/// About 1 s. The queue pair in the upper bits does not count: OpenSM takes that of the request's
/// header.
const RESPONSE_TIME: u32 = 18;

/// What a Report tells, and the response to it, without which OpenSM keeps the transaction. None:
/// no generic trap.
pub(super) fn receive(report: &Packet) -> (Option<u16>, Packet) {
    let mut slot = Slot::EMPTY;
    let bytes = report.header.iter().chain(&report.mad);
    for (place, byte) in slot.as_mut_bytes().iter_mut().zip(bytes) {
        *place = *byte;
    }
    let notice = report.mad.get(DATA_OFFSET..);
    let notice = notice.and_then(|data| Notice::ref_from_prefix(data).ok());
    let trap = notice
        .filter(|(notice, _)| notice.is_generic())
        .map(|(notice, _)| notice.trap_number.get());
    let mad = SaMad::from_bytes_mut(&mut slot.mad);
    mad.mad.method = method::REPORT_RESP;
    mad.mad.status = 0.into();
    // From where it was sent to.
    slot.header.qpn = SUBSCRIBER_QP.into();
    (trap, packet(&slot))
}
