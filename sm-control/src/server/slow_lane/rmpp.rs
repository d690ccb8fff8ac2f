//! RMPP for a port whose transport has none: replies of more than one MAD, and requests of more
//! than one.
//!
//! The protocol is `sa_answer::rmpp`, without clock or port; here it gets both. Transfers are
//! bounded in number and in what each may hold, and one that nobody acknowledges is aborted, so
//! that a receiver that went away costs a bounded time.
//!
//! ```text
//!  request ──> begin ──> senders: segments 1..w ──pump──> port
//!                          ^  ACK, window moves on  │
//!                          └────────────────────────┘
//!  segments of a request ──> receivers ──> whole request ──> answered like any other
//! ```

use std::time::Duration;

use sa_answer::rmpp::{
    Allowance, Arrival, Bytes, Class, Poll, Receivers, Refused, SenderLimits, Senders, Source,
    Tally, classify,
};
use sa_answer::whole::Streamed;
use sa_port::{PortError, ReplyPort};
use sa_wire::rmpp::{RmppHeader, flag, packet_type};
use sa_wire::sa::{DATA_OFFSET, SaMad};
use sa_wire::umad::{MAD_SIZE, Slot, UmadHeader};
use zerocopy::FromBytes;

/// The transfers of one port, in both directions. Only for transports that do not segment by
/// themselves: the simulator.
pub(in crate::server) struct Rmpp {
    /// Long replies under way.
    senders: Senders<Box<dyn Source + Send>>,
    /// Long requests that are not whole yet.
    receivers: Receivers,
    /// Where the protocol writes what is to be sent.
    out: Box<Slot>,
}

/// How a long reply goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::server) enum Begun {
    /// Its segments leave from the next turn on.
    Yes,
    /// No room for another transfer now.
    Busy,
    /// RMPP cannot carry so much.
    TooLong,
}

impl Rmpp {
    /// With room for 16 requests in segments, and for as many replies as the protocol's default
    /// allows.
    pub(in crate::server) fn new() -> Self {
        Self {
            senders: Senders::new(SenderLimits::default()),
            receivers: empty_receivers(),
            out: Box::new(Slot::EMPTY),
        }
    }

    /// Takes a packet that is RMPP's and gives the request that it completes, as one MAD. Errors:
    /// an acknowledgement could not be sent; its sender repeats.
    pub(in crate::server) fn receive(
        &mut self,
        packet: &Slot,
        now: Duration,
        port: &mut dyn ReplyPort,
    ) -> Result<Option<Slot>, PortError> {
        let mad = SaMad::from_bytes(&packet.mad);
        if classify(mad) != Class::Segment {
            self.senders.receive(packet, now);
            // These may be about a transfer in either direction.
            if matches!(mad.rmpp.packet_type, packet_type::STOP | packet_type::ABORT) {
                self.receivers.abort(packet);
            }
            return Ok(None);
        }
        match self.receivers.receive(packet, now, &mut self.out) {
            Arrival::Quiet => Ok(None),
            Arrival::Answer => port.reply(&self.out, &self.out.mad).map(|()| None),
            Arrival::Message(message) => {
                port.reply(&self.out, &self.out.mad)?;
                Ok(Some(whole_request(packet, &message)))
            }
        }
    }

    /// True when the answer to this very request is under way already. A client that asks again
    /// gets the rest of it, not a second one.
    pub(in crate::server) fn resume(&mut self, request: &Slot) -> bool {
        self.senders.resume(request)
    }

    /// Begins to send a reply. Shape: 56 header bytes, then all records.
    pub(in crate::server) fn begin(
        &mut self,
        request: &Slot,
        reply: Vec<u8>,
        now: Duration,
    ) -> Begun {
        let mut head = [0; MAD_SIZE];
        for (place, byte) in head.iter_mut().zip(reply.iter().take(DATA_OFFSET)) {
            *place = *byte;
        }
        let streamed = Streamed {
            head: *SaMad::from_bytes(&head),
            records: Box::new(Bytes::from(reply, DATA_OFFSET)),
        };
        self.begin_stream(request, streamed, now)
    }

    /// Begins to send a reply that is made meanwhile.
    pub(in crate::server) fn begin_stream(
        &mut self,
        request: &Slot,
        reply: Streamed,
        now: Duration,
    ) -> Begun {
        let Streamed { head, records } = reply;
        match self.senders.start(request, &head, records, now) {
            Ok(()) => Begun::Yes,
            Err(Refused::Busy) => Begun::Busy,
            Err(Refused::TooLong) => Begun::TooLong,
        }
    }

    /// Sends what is due, a burst at most. False when nothing was.
    pub(in crate::server) fn pump(
        &mut self,
        now: Duration,
        port: &mut dyn ReplyPort,
    ) -> Result<bool, PortError> {
        // First: who waits in vain for our acknowledgements holds one of few places.
        while self.receivers.expire(now, &mut self.out) {
            port.reply(&self.out, &self.out.mad)?;
        }
        for sent in 0..BURST {
            if self.senders.poll(now, &mut self.out) != Some(Poll::Send) {
                return Ok(sent > 0);
            }
            port.reply(&self.out, &self.out.mad)?;
        }
        Ok(true)
    }

    /// Gives up what is under way in both directions, without a word to who waits for it.
    pub(in crate::server) fn give_up(&mut self) {
        self.senders.give_up();
        // One that is kept would be told, when its time is over, that nobody acknowledges.
        self.receivers = empty_receivers();
    }

    /// How transfers ended so far.
    pub(in crate::server) const fn tally(&self) -> Tally {
        self.senders.tally()
    }
}

const fn empty_receivers() -> Receivers {
    Receivers::new(REQUESTS, Allowance::for_messages_of(REQUEST))
}

/// What a request of several segments says in its first MAD, as if it were all of it: no request
/// that is answered here looks further.
fn whole_request(packet: &Slot, message: &[u8]) -> Slot {
    let mut request = Slot {
        header: packet.header,
        mad: [0; MAD_SIZE],
    };
    for (place, byte) in request.mad.iter_mut().zip(message) {
        *place = *byte;
    }
    let length = message.len().min(MAD_SIZE);
    let length = u32::try_from(length).unwrap_or(0);
    request.header.length = u32::try_from(size_of::<UmadHeader>()).unwrap_or(0) + length;
    // As if it had come in one segment: decoders then need not know of RMPP.
    let payload = length.saturating_sub(RMPP_END);
    if let Ok(mad) = SaMad::mut_from_bytes(&mut request.mad) {
        mad.rmpp = RmppHeader::data(flag::SINGLE, 1, payload);
    }
    request
}

/// Packets sent before requests are looked at again: a window of a kernel's receiver.
const BURST: usize = 64;
/// Requests of several segments at once.
const REQUESTS: usize = 16;
/// A longer request is stopped; MultiPathRecord with 255 GIDs on either side has 8,184.
/// Units: bytes.
const REQUEST: usize = 16 * 1024;
/// Where payload starts. Units: bytes.
const RMPP_END: u32 = 36;

#[cfg(test)]
mod tests {
    use sa_wire::mad::method;

    use super::*;

    /// Keeps what is sent.
    #[derive(Default)]
    struct Kept(Vec<Slot>);

    impl ReplyPort for Kept {
        fn reply(&mut self, request: &Slot, reply: &[u8]) -> Result<(), PortError> {
            let mut slot = *request;
            slot.mad.copy_from_slice(reply);
            self.0.push(slot);
            Ok(())
        }

        fn can_segment(&self) -> bool {
            false
        }
    }

    fn segment(number: u32, flags: u8, payload: u32) -> Slot {
        let mut slot = Slot::EMPTY;
        slot.header.lid = 9.into();
        let mad = SaMad::from_bytes_mut(&mut slot.mad);
        mad.mad.method = method::GET_MULTI;
        mad.rmpp = RmppHeader::data(flag::ACTIVE | flags, number, payload);
        mad.data = [u8::try_from(number).unwrap(); 200];
        slot
    }

    #[test]
    fn a_request_of_two_segments_is_acknowledged_and_answered_from_its_first() {
        let (mut rmpp, mut port) = (Rmpp::new(), Kept::default());
        let now = Duration::ZERO;
        let first = segment(1, flag::FIRST, 440 - 190);
        assert!(rmpp.receive(&first, now, &mut port).unwrap().is_none());
        let last = segment(2, flag::LAST, 30);
        let request = rmpp.receive(&last, now, &mut port).unwrap().unwrap();
        assert_eq!(port.0.len(), 2);
        let mad = SaMad::from_bytes(&request.mad);
        assert_eq!(
            (mad.rmpp.flags(), mad.rmpp.payload_length.get()),
            (flag::SINGLE, 220)
        );
        assert_eq!((mad.data, request.header.lid.get()), ([1; 200], 9));

        // The answer, of two segments as well, and the requester's turn.
        let mut reply = request.mad[..56].to_vec();
        reply[3] = method::GET_MULTI_RESP;
        reply.resize(56 + 320, 7);
        assert_eq!(rmpp.begin(&request, reply, now), Begun::Yes);
        let turn = SaMad::from_bytes(&port.0[1].mad);
        let mut packet = last;
        packet.mad = sa_answer::rmpp::turn_acknowledgement(turn, 2);
        assert!(rmpp.receive(&packet, now, &mut port).unwrap().is_none());
        assert!(rmpp.pump(now, &mut port).unwrap());
        let sent: Vec<_> = port.0[2..]
            .iter()
            .map(|slot| SaMad::from_bytes(&slot.mad).rmpp)
            .map(|rmpp| (rmpp.flags(), rmpp.payload_length.get()))
            .collect();
        assert_eq!(
            sent,
            [(3, 360), (5, 140)],
            "both at once, as the turn allowed"
        );
        assert!(!rmpp.pump(now, &mut port).unwrap());
    }
}
