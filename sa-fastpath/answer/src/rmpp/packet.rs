//! What a packet is, whose it is, and the packets that answer it.
//!
//! A MAD of RMPP has Active in its flags, and is sorted by type: DATA for a receiver, all else for
//! a sender. Replies to both go back with the headers of the packet they answer, the R bit turned.
//! So this file knows no state.

use sa_wire::mad::method::RESPONSE_BIT;
use sa_wire::rmpp::{NO_RESPONSE_TIME, RMPP_VERSION, RmppHeader, flag, packet_type};
use sa_wire::sa::SaMad;
use sa_wire::umad::{MAD_SIZE, Slot};

/// Whose transfer a packet belongs to: both directions of an exchange have the same.
///
/// Compared as a whole. The LID and queue pair are from the transport's header, so that one
/// requester cannot touch a transfer of another by guessing its transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransferId {
    /// The other end's LID.
    pub lid: u16,
    /// The other end's queue pair.
    pub qpn: u32,
    /// The requester's transaction, which both directions carry.
    pub transaction: u64,
    /// The request's method, without the R bit.
    pub method: u8,
}

impl TransferId {
    /// From a packet that came in.
    pub const fn of(packet: &Slot) -> Self {
        let mad = &SaMad::from_bytes(&packet.mad).mad;
        Self {
            lid: packet.header.lid.get(),
            qpn: packet.header.qpn.get(),
            transaction: mad.transaction_id.get(),
            method: mad.method & !RESPONSE_BIT,
        }
    }

    /// The half of the transaction that no transport changes.
    ///
    /// The kernel puts its own agent's number into the upper half.
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is meant")]
    pub const fn low_transaction(&self) -> u32 {
        self.transaction as u32
    }
}

/// What a MAD is to RMPP, which decides who takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// No RMPP packet: its sender has none, or does not use it here. Programs on the simulator's
    /// preload library set the Active flag and nothing else.
    Plain,
    /// A segment, for a receiver.
    Segment,
    /// An acknowledgement, STOP, ABORT or nonsense, for a sender.
    Control,
}

/// Sorts by the RMPP header alone; what a segment holds does not count.
#[inline]
pub const fn classify(mad: &SaMad) -> Class {
    let rmpp = &mad.rmpp;
    if !rmpp.is_active() {
        return Class::Plain;
    }
    match rmpp.packet_type {
        packet_type::NONE => Class::Plain,
        // Some senders set the Active flag and fill in nothing else.
        packet_type::DATA if rmpp.segment_number.get() == 0 && rmpp.flags() == flag::ACTIVE => {
            Class::Plain
        }
        packet_type::DATA => Class::Segment,
        _ => Class::Control,
    }
}

/// True for a segment that is a whole message: it is answered like a request without RMPP.
#[inline]
pub const fn is_single(mad: &SaMad) -> bool {
    let rmpp = &mad.rmpp;
    matches!(classify(mad), Class::Segment)
        && rmpp.version == RMPP_VERSION
        && rmpp.status == 0
        && rmpp.segment_number.get() == 1
        && rmpp.flags() == flag::SINGLE
}

/// True for what is no request by itself: control packets, segments of a longer message, and
/// segments that contradict themselves.
///
/// The slow lane finds the transfer that they belong to; workers never answer them.
#[inline]
pub const fn is_part(mad: &SaMad) -> bool {
    !matches!(classify(mad), Class::Plain) && !is_single(mad)
}

/// The acknowledgement of all segments up to `segment`, for the sender of `data`.
pub fn acknowledgement(data: &SaMad, segment: u32, window_last: u32) -> [u8; MAD_SIZE] {
    back(data, control(packet_type::ACK, 0, segment, window_last))
}

/// What a requester says in a double-sided exchange when the last segment of its request was
/// acknowledged by `ack`: it is the responder's turn, with a window up to `window_last`.
pub fn turn_acknowledgement(ack: &SaMad, window_last: u32) -> [u8; MAD_SIZE] {
    back(ack, control(packet_type::ACK, 0, 0, window_last))
}

/// STOP or ABORT for the sender of `packet`, with the reason in its status.
pub(super) fn refusal(packet: &SaMad, kind: u8, status: u8) -> [u8; MAD_SIZE] {
    back(packet, control(kind, status, 0, 0))
}

/// An RMPP header that carries no data.
pub(super) const fn control(kind: u8, status: u8, segment: u32, window_last: u32) -> RmppHeader {
    let mut header = RmppHeader::data(flag::ACTIVE, segment, window_last);
    header.packet_type = kind;
    header.status = status;
    header
}

/// The headers of `packet` the other way round, and no data.
fn back(packet: &SaMad, rmpp: RmppHeader) -> [u8; MAD_SIZE] {
    let mut out = [0; MAD_SIZE];
    let mad = SaMad::from_bytes_mut(&mut out);
    mad.mad = packet.mad;
    mad.mad.method ^= RESPONSE_BIT;
    mad.rmpp = rmpp;
    mad.sa = packet.sa;
    // A trust key is nobody's business but the request's.
    mad.sa.sm_key = 0.into();
    out
}

/// The response time that a packet states, if it does. Units: of the result, as any duration.
pub(super) const fn stated_response_time(rmpp: &RmppHeader) -> Option<core::time::Duration> {
    match rmpp.response_time() {
        NO_RESPONSE_TIME => None,
        // Five bits hold it, and 31 says that nothing is stated.
        // 4.096 us times a power of two, 30 at most.
        exponent => Some(core::time::Duration::from_nanos(4096 << exponent)),
    }
}

#[cfg(test)]
mod tests {
    use sa_wire::mad::method;

    use super::*;

    #[test]
    fn a_double_sided_request_is_acknowledged_and_turned() {
        let mut bytes = [0xff; MAD_SIZE];
        let mad = SaMad::from_bytes_mut(&mut bytes);
        mad.mad.method = method::GET_MULTI;
        mad.rmpp = RmppHeader::data(flag::SINGLE, 1, 220);
        assert!(is_single(mad));
        let ack = acknowledgement(mad, 1, 1);
        let ack = SaMad::from_bytes(&ack);
        assert_eq!(ack.mad.method, method::GET_MULTI_RESP);
        assert_eq!(ack.mad.transaction_id, mad.mad.transaction_id);
        assert_eq!(
            (ack.rmpp.segment_number.get(), ack.rmpp.new_window_last()),
            (1, 1)
        );
        assert_eq!(ack.data, [0; 200]);
        assert_eq!(classify(ack), Class::Control);
        let turn = turn_acknowledgement(ack, 64);
        let turn = SaMad::from_bytes(&turn);
        assert_eq!(turn.mad.method, method::GET_MULTI);
        assert_eq!(
            (turn.rmpp.segment_number.get(), turn.rmpp.new_window_last()),
            (0, 64)
        );
    }

    #[test]
    fn what_the_preload_library_sends_is_no_segment() {
        let mut bytes = [0; MAD_SIZE];
        let mad = SaMad::from_bytes_mut(&mut bytes);
        assert_eq!(classify(mad), Class::Plain);
        mad.rmpp.set_flags(flag::ACTIVE);
        assert_eq!(classify(mad), Class::Plain);
        mad.rmpp = RmppHeader::data(flag::ACTIVE, 0, 0);
        assert_eq!(classify(mad), Class::Plain);
        mad.rmpp = RmppHeader::data(flag::ACTIVE, 2, 0);
        assert_eq!(classify(mad), Class::Segment);
        assert!(!is_single(mad));
    }
}
