//! The messages on their way in, a bounded number.
//!
//! A place is held by a transfer under way, and for a while by one that is complete: a lost last
//! acknowledgement makes its sender repeat the last segment, which must not begin the message anew.
//! When all places are taken, the complete ones make room first, and then a new transfer is told
//! STOP.
//!
//! Looking up a transfer is a scan, as places are few.

use core::time::Duration;

use sa_wire::rmpp::{packet_type, status};
use sa_wire::sa::SaMad;
use sa_wire::umad::{Slot, UmadHeader};

use super::packet::{TransferId, refusal};
use super::{Allowance, Receiver, Step};

/// What became of a segment. Packets "handed out" are addressed and to be sent.
#[derive(Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Nothing is to be done.
    Quiet,
    /// A packet is handed out.
    Answer,
    /// A packet is handed out, and this message is whole. Shape: 56 bytes of headers, those of
    /// segment 1, then all records.
    Message(Vec<u8>),
}

/// Receivers by the transfer that they are for.
///
/// There is a fixed number of places, so that no number of senders takes more memory than that; a
/// sender that finds none is told STOP and may try again.
#[derive(Debug)]
pub struct Receivers {
    places: Vec<Place>,
    capacity: usize,
    allowance: Allowance,
}

/// One transfer, and the header of its first segment, which answers are addressed by.
#[derive(Debug)]
struct Place {
    id: TransferId,
    from: UmadHeader,
    receiver: Receiver,
}

impl Receivers {
    /// For this many transfers at once, those that have just ended included.
    pub const fn new(capacity: usize, allowance: Allowance) -> Self {
        Self {
            places: Vec::new(),
            capacity,
            allowance,
        }
    }

    /// Takes a DATA packet; what is to be sent is handed out in `out`. When all places are taken,
    /// a new transfer takes that of one that has ended, or is stopped.
    pub fn receive(&mut self, packet: &Slot, now: Duration, out: &mut Slot) -> Arrival {
        let mad = SaMad::from_bytes(&packet.mad);
        let id = TransferId::of(packet);
        // Answers go to where this packet came from, whatever the place has: the sender's path may
        // have changed.
        out.header = packet.header;
        let known = self.places.iter().position(|place| place.id == id);
        // A segment in the middle of nothing must not take a place.
        if known.is_none() && mad.rmpp.segment_number.get() != 1 {
            return self.stray(mad, now, out);
        }
        let Some(at) = known.or_else(|| self.begin(id, packet, now)) else {
            out.mad = refusal(mad, packet_type::STOP, status::RESOURCES_EXHAUSTED);
            return Arrival::Answer;
        };
        let Some(place) = self.places.get_mut(at) else {
            return Arrival::Quiet;
        };
        match place.receiver.receive(mad, now, &mut out.mad) {
            Step::Quiet => Arrival::Quiet,
            Step::Acknowledge => Arrival::Answer,
            Step::Complete => Arrival::Message(place.receiver.take_message()),
            Step::Failed(_) => {
                self.places.swap_remove(at);
                Arrival::Answer
            }
        }
    }

    /// Forgets the transfer that its sender gave up.
    ///
    /// A complete one stays, as its message was handed out.
    pub fn abort(&mut self, packet: &Slot) {
        let id = TransferId::of(packet);
        self.places
            .retain(|place| place.id != id || place.receiver.is_complete());
    }

    /// Forgets the transfers of which `which` is true; its second argument says whether the
    /// transfer is complete. Their next segment 1 begins a new one.
    pub fn forget(&mut self, mut which: impl FnMut(TransferId, bool) -> bool) {
        self.places
            .retain(|place| !which(place.id, place.receiver.is_complete()));
    }

    /// Ends one transfer whose time is over. True when a packet is handed out; call again until it
    /// is not.
    pub fn expire(&mut self, now: Duration, out: &mut Slot) -> bool {
        while let Some(at) = self
            .places
            .iter()
            .position(|place| place.receiver.until() <= now)
        {
            let place = self.places.swap_remove(at);
            if let Some(mad) = place.receiver.expire() {
                (out.header, out.mad) = (place.from, mad);
                return true;
            }
        }
        false
    }

    /// When to call [`Receivers::expire`]; none while there is nothing.
    pub fn next(&self) -> Option<Duration> {
        self.places.iter().map(|place| place.receiver.until()).min()
    }

    /// Transfers that are not complete.
    pub fn under_way(&self) -> usize {
        let unfinished = |place: &&Place| !place.receiver.is_complete();
        self.places.iter().filter(unfinished).count()
    }

    /// Units: bytes in memory.
    pub fn held(&self) -> usize {
        self.places.iter().map(|place| place.receiver.held()).sum()
    }

    /// A segment of a transfer that is forgotten, or was never begun: only nonsense is answered.
    fn stray(&self, mad: &SaMad, now: Duration, out: &mut Slot) -> Arrival {
        // A receiver of its own, for this one packet: it makes the refusal that a broken packet
        // deserves.
        match Receiver::new(self.allowance, now).receive(mad, now, &mut out.mad) {
            Step::Failed(_) => Arrival::Answer,
            Step::Quiet | Step::Acknowledge | Step::Complete => Arrival::Quiet,
        }
    }

    /// A place for a new transfer; none when all are taken.
    fn begin(&mut self, id: TransferId, packet: &Slot, now: Duration) -> Option<usize> {
        // What is complete only answers late segments: it makes room first.
        if self.places.len() >= self.capacity {
            let done = self
                .places
                .iter()
                .position(|place| place.receiver.is_complete());
            self.places.swap_remove(done?);
        }
        self.places.push(Place {
            id,
            from: packet.header,
            receiver: Receiver::new(self.allowance, now),
        });
        Some(self.places.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use sa_wire::rmpp::{RmppHeader, flag};

    use super::*;

    const NOW: Duration = Duration::ZERO;

    fn segment(transaction: u64, segment: u32, flags: u8, payload: u32) -> Slot {
        let mut slot = Slot::EMPTY;
        slot.header.lid = 7.into();
        let mad = SaMad::from_bytes_mut(&mut slot.mad);
        mad.mad.transaction_id = transaction.into();
        mad.rmpp = RmppHeader::data(flag::ACTIVE | flags, segment, payload);
        slot
    }

    fn said(out: &Slot) -> (u8, u8) {
        let rmpp = &SaMad::from_bytes(&out.mad).rmpp;
        (rmpp.packet_type, rmpp.status)
    }

    #[test]
    fn places_are_bounded_and_given_to_others_when_a_message_is_whole() {
        let mut receivers = Receivers::new(2, Allowance::for_messages_of(1000));
        let mut out = Slot::EMPTY;
        for transaction in 1..=2 {
            let first = segment(transaction, 1, flag::FIRST, 0);
            assert_eq!(receivers.receive(&first, NOW, &mut out), Arrival::Answer);
        }
        let third = segment(3, 1, flag::FIRST, 0);
        assert_eq!(receivers.receive(&third, NOW, &mut out), Arrival::Answer);
        assert_eq!(
            (said(&out), out.header.lid.get()),
            ((packet_type::STOP, 1), 7)
        );
        let last = segment(1, 2, flag::LAST, 21);
        let whole = receivers.receive(&last, NOW, &mut out);
        assert!(matches!(whole, Arrival::Message(message) if message.len() == 56 + 201));
        assert_eq!(
            receivers.receive(&last, NOW, &mut out),
            Arrival::Answer,
            "said again"
        );
        assert_eq!(receivers.receive(&third, NOW, &mut out), Arrival::Answer);
        assert_eq!(said(&out), (packet_type::ACK, 0));
        assert_eq!(receivers.under_way(), 2);

        assert!(!receivers.expire(Duration::from_secs(39), &mut out));
        assert!(receivers.expire(Duration::from_secs(40), &mut out));
        assert_eq!(said(&out), (packet_type::ABORT, status::TIME_TOO_LONG));
        assert!(receivers.expire(Duration::from_secs(40), &mut out));
        assert!(!receivers.expire(Duration::from_secs(40), &mut out));
        assert_eq!((receivers.next(), receivers.held()), (None, 0));
    }

    #[test]
    fn a_middle_without_a_beginning_is_passed_over() {
        let mut receivers = Receivers::new(2, Allowance::for_messages_of(1000));
        let mut out = Slot::EMPTY;
        let middle = segment(1, 2, 0, 0);
        assert_eq!(receivers.receive(&middle, NOW, &mut out), Arrival::Quiet);
        assert_eq!(receivers.under_way(), 0);
    }
}
