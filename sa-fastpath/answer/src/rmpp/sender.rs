//! One message on its way out.
//!
//! States and what moves them:
//!
//! ```text
//!                 acknowledged all                      ┌──> Ended(Delivered)
//!  UnderWay ──────STOP, ABORT of the receiver───────────┼──> Ended(Stopped, AbortedByPeer)
//!      │  └───────too long, too many retries, nonsense──┴──> Aborting ──one packet──> Ended(Aborted)
//!      └─ nothing heard for `acknowledgement`: again from behind the last acknowledged
//! ```
//!
//! The caller's loop is `poll` until it says wait, then sleep until then or until a packet comes,
//! `receive`, and again.
//!
//! Records are read when their segment is sent, and again when it is repeated: a source must give
//! the same bytes each time.

use core::time::Duration;

use sa_wire::mad::method::RESPONSE_BIT;
use sa_wire::rmpp::{
    PayloadLengths, RMPP_VERSION, RmppHeader, flag, packet_type, payload_lengths, status,
};
use sa_wire::sa::SaMad;
use sa_wire::umad::MAD_SIZE;

use super::packet::{control, stated_response_time};
use super::{SEGMENT_DATA, Source};

/// How patient a sender is with its receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// For an acknowledgement, unless the receiver states a longer response time.
    pub acknowledgement: Duration,
    /// The longest stated response time that is believed.
    pub longest_response: Duration,
    /// How often segments are sent again without any progress.
    pub retries: u32,
    /// For the whole transfer.
    pub transfer: Duration,
}

impl Default for Timing {
    /// 2 s and 3 retries, as the kernel for OpenSM; 60 s in all, above the 40 s after which a
    /// kernel's receiver gives up.
    fn default() -> Self {
        Self {
            acknowledgement: Duration::from_secs(2),
            longest_response: Duration::from_secs(10),
            retries: 3,
            transfer: Duration::from_secs(60),
        }
    }
}

/// What a sender wants its caller to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Poll {
    /// The packet handed out is to be sent now. There may be more.
    Send,
    /// Nothing before this time, unless something is received.
    Wait(Duration),
    /// It is over, this way.
    Ended(End),
}

/// How a transfer ended; counted in [`Tally`](super::Tally).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The receiver has acknowledged all of it.
    Delivered,
    /// The receiver had no resources.
    Stopped,
    /// The receiver gave up, with this RMPPStatus.
    AbortedByPeer(u8),
    /// This end gave up, and said so with this RMPPStatus.
    Aborted(u8),
}

/// Sends one message. It is asked what to do (`poll`) and told what came (`receive`); it has
/// neither clock nor port.
///
/// The window is the receiver's: segments up to the last that it is ready for go out at once, and
/// its acknowledgements open it further. Without one, all behind the last acknowledged segment go
/// out again, a limited number of times.
///
/// Takes little more memory than its headers, but for what its source keeps.
#[derive(Debug)]
pub struct Sender<S> {
    /// The headers; the RMPP header differs from segment to segment.
    head: SaMad,
    source: S,
    lengths: PayloadLengths,
    timing: Timing,
    state: State,
    /// All segments up to this have arrived, as the receiver says.
    acknowledged: u32,
    /// The last segment that the receiver is ready for.
    window_last: u32,
    /// To be sent next.
    next: u32,
    /// The last segment ever sent.
    highest_sent: u32,
    retries_left: u32,
    /// How long the next acknowledgement may take.
    acknowledgement: Duration,
    resend_at: Duration,
    give_up_at: Duration,
}

/// Where a transfer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    UnderWay,
    /// An ABORT with this status has to go out.
    Aborting(u8),
    Ended(End),
}

impl<S: Source> Sender<S> {
    /// `head` are the headers of the message, the direction's R bit in them.
    /// `None` when the message is longer than RMPP can say.
    pub fn new(head: &SaMad, source: S, timing: Timing, now: Duration) -> Option<Self> {
        Some(Self {
            head: *head,
            lengths: payload_lengths(source.length())?,
            source,
            timing,
            state: State::UnderWay,
            acknowledged: 0,
            window_last: FIRST_WINDOW,
            next: 1,
            highest_sent: 0,
            retries_left: timing.retries,
            acknowledgement: timing.acknowledgement,
            resend_at: now,
            give_up_at: now.saturating_add(timing.transfer),
        })
    }

    /// True when the message is a response.
    pub const fn is_response(&self) -> bool {
        self.head.mad.method & RESPONSE_BIT != 0
    }

    /// Where the records come from.
    pub const fn source(&self) -> &S {
        &self.source
    }

    /// What to do now; [`Poll::Send`] hands the packet out in `out`.
    pub fn poll(&mut self, now: Duration, out: &mut [u8; MAD_SIZE]) -> Poll {
        // Time first: a transfer that is over must not send one more segment.
        if self.state == State::UnderWay {
            self.look_at_clock(now);
        }
        match self.state {
            State::Aborting(status) => {
                self.state = State::Ended(End::Aborted(status));
                self.put(control(packet_type::ABORT, status, 0, 0), &[], out);
                Poll::Send
            }
            State::Ended(end) => Poll::Ended(end),
            State::UnderWay if self.next > self.window_last.min(self.lengths.segments) => {
                Poll::Wait(self.resend_at.min(self.give_up_at))
            }
            State::UnderWay => self.send_next(now, out),
        }
    }

    /// Takes a packet of this transfer other than DATA.
    pub fn receive(&mut self, mad: &SaMad, now: Duration) {
        if self.state != State::UnderWay {
            return;
        }
        let rmpp = &mad.rmpp;
        if rmpp.version != RMPP_VERSION {
            self.state = State::Aborting(status::UNSUPPORTED_VERSION);
            return;
        }
        self.state = match (rmpp.packet_type, rmpp.status) {
            (packet_type::ACK, status::SUCCESS) => self.acknowledge(rmpp, now),
            (packet_type::STOP, status::RESOURCES_EXHAUSTED) => State::Ended(End::Stopped),
            (packet_type::ABORT, reason @ status::TIME_TOO_LONG..=status::UNSPECIFIED) => {
                State::Ended(End::AbortedByPeer(reason))
            }
            (packet_type::ACK | packet_type::STOP | packet_type::ABORT, _) => {
                State::Aborting(status::BAD_STATUS)
            }
            _ => State::Aborting(status::BAD_TYPE),
        };
    }

    /// Begins again at segment 1, because the requester asked for the same again. A receiver that
    /// has some of it says so in its next acknowledgement; one that forgot begins anew.
    pub fn rewind(&mut self) {
        self.acknowledged = 0;
        self.window_last = FIRST_WINDOW;
        self.next = 1;
        self.retries_left = self.timing.retries;
    }

    /// Resends, or gives up, when it is time; nothing before.
    fn look_at_clock(&mut self, now: Duration) {
        if now >= self.give_up_at {
            self.state = State::Aborting(status::TIME_TOO_LONG);
            return;
        }
        // While the window is open there is something to send, and no acknowledgement is due.
        let is_waiting = self.next > self.window_last.min(self.lengths.segments);
        if !is_waiting || now < self.resend_at {
            return;
        }
        if self.retries_left == 0 {
            self.state = State::Aborting(status::TOO_MANY_RETRIES);
        } else {
            self.retries_left -= 1;
            self.next = self.acknowledged + 1;
            // A closed window is probed by one segment: its opening may have been lost.
            self.window_last = self.window_last.max(self.next);
        }
    }

    /// The next segment of the window. Records are made here, so that a long table is never in
    /// memory.
    fn send_next(&mut self, now: Duration, out: &mut [u8; MAD_SIZE]) -> Poll {
        let segment = self.next;
        let mut data = [0; SEGMENT_DATA];
        let Some(records) = data.get_mut(..self.data_length(segment)) else {
            return self.lose(now, out);
        };
        // No overflow: `payload_lengths` has counted these bytes.
        let offset = (segment - 1) * SEGMENT;
        if self.source.read(offset, records).is_err() {
            return self.lose(now, out);
        }
        let header = segment_header(&self.lengths, segment);
        self.put(header, &data, out);
        self.highest_sent = self.highest_sent.max(segment);
        self.next += 1;
        self.resend_at = now.saturating_add(self.acknowledgement);
        Poll::Send
    }

    /// What a segment carries. Units: record bytes.
    fn data_length(&self, segment: u32) -> usize {
        let length = if segment == self.lengths.segments {
            self.lengths.last - SA_HEADER
        } else {
            SEGMENT
        };
        usize::try_from(length).unwrap_or(usize::MAX)
    }

    /// Gives up for a reason that RMPP has no word for.
    fn lose(&mut self, now: Duration, out: &mut [u8; MAD_SIZE]) -> Poll {
        self.state = State::Aborting(status::UNSPECIFIED);
        self.poll(now, out)
    }

    /// A packet with the message's headers and this RMPP header; zeros behind the data.
    fn put(&self, header: RmppHeader, data: &[u8], out: &mut [u8; MAD_SIZE]) {
        let mad = SaMad::from_bytes_mut(out);
        *mad = self.head;
        mad.rmpp = header;
        mad.data = [0; SEGMENT_DATA];
        if let Some(place) = mad.data.get_mut(..data.len()) {
            place.copy_from_slice(data);
        }
    }

    /// Moves on by an acknowledgement. What cannot be is answered with an ABORT that names it.
    fn acknowledge(&mut self, rmpp: &RmppHeader, now: Duration) -> State {
        // Both cannot be, whatever was lost. The window is looked at first, as in Linux
        // (`process_rmpp_ack`).
        let (segment, window_last) = (rmpp.segment_number.get(), rmpp.new_window_last());
        if window_last < segment {
            return State::Aborting(status::WINDOW_TOO_SMALL);
        }
        if segment > self.highest_sent {
            return State::Aborting(status::SEGMENT_TOO_BIG);
        }
        if segment < self.acknowledged || window_last < self.window_last {
            // Late.
            return State::UnderWay;
        }
        self.note_response_time(rmpp);
        self.window_last = window_last;
        if segment > self.acknowledged {
            self.acknowledged = segment;
            self.next = self.next.max(segment + 1);
            self.retries_left = self.timing.retries;
            self.resend_at = now.saturating_add(self.acknowledgement);
        }
        if segment == self.lengths.segments {
            State::Ended(End::Delivered)
        } else {
            State::UnderWay
        }
    }

    /// A receiver may say how long it takes; it is believed within limits, so that none can hold a
    /// transfer for ever.
    fn note_response_time(&mut self, rmpp: &RmppHeader) {
        if let Some(stated) = stated_response_time(rmpp) {
            let believed = stated.min(self.timing.longest_response);
            self.acknowledgement = believed.max(self.timing.acknowledgement);
        }
    }
}

/// The header of one segment. PayloadLength: of the first all that follows, of the last its own,
/// else 0.
fn segment_header(lengths: &PayloadLengths, segment: u32) -> RmppHeader {
    let is_first = segment == 1;
    let is_last = segment == lengths.segments;
    let first = if is_first { flag::FIRST } else { 0 };
    let last = if is_last { flag::LAST } else { 0 };
    let payload = match (is_first, is_last) {
        (true, _) => lengths.first,
        (false, true) => lengths.last,
        (false, false) => 0,
    };
    RmppHeader::data(flag::ACTIVE | first | last, segment, payload)
}

/// What a receiver takes before it has said anything.
const FIRST_WINDOW: u32 = 1;
/// Units: record bytes of a segment.
const SEGMENT: u32 = 200;
/// Units: bytes of payload that are no records.
const SA_HEADER: u32 = 20;

const _: () = assert!(SEGMENT_DATA == 200);

#[cfg(test)]
mod tests {
    use sa_wire::mad::method;
    use zerocopy::FromZeros;

    use super::*;
    use crate::rmpp::{Bytes, acknowledgement};

    fn sender(bytes: usize) -> Sender<Bytes> {
        let mut head = SaMad::new_zeroed();
        head.mad.method = method::GET_TABLE_RESP;
        let records = (0..bytes)
            .map(|at| u8::try_from(at % 251).unwrap())
            .collect();
        Sender::new(
            &head,
            Bytes::from(records, 0),
            Timing::default(),
            Duration::ZERO,
        )
        .unwrap()
    }

    /// Everything that goes out now: segment number, flags, PayloadLength.
    fn sent(sender: &mut Sender<Bytes>, now: u64) -> Vec<(u32, u8, u32)> {
        let mut out = [0; MAD_SIZE];
        let mut all = Vec::new();
        while sender.poll(Duration::from_millis(now), &mut out) == Poll::Send {
            let rmpp = &SaMad::from_bytes(&out).rmpp;
            assert_eq!(rmpp.response_time(), 0x1f);
            all.push((
                rmpp.segment_number.get(),
                rmpp.flags(),
                rmpp.payload_length.get(),
            ));
        }
        all
    }

    fn ack(sender: &mut Sender<Bytes>, segment: u32, window_last: u32) {
        let mut data = SaMad::new_zeroed();
        data.mad.method = method::GET_TABLE_RESP;
        let ack = acknowledgement(&data, segment, window_last);
        sender.receive(SaMad::from_bytes(&ack), Duration::ZERO);
    }

    fn end(sender: &mut Sender<Bytes>, now: u64) -> Poll {
        sender.poll(Duration::from_millis(now), &mut [0; MAD_SIZE])
    }

    /// The recorded transfer of 640 bytes by a Linux kernel.
    #[test]
    fn ten_records_go_as_a_kernel_sends_them() {
        let mut sender = sender(640);
        assert_eq!(sent(&mut sender, 0), [(1, 0x03, 720)]);
        ack(&mut sender, 1, 65);
        assert_eq!(sent(&mut sender, 0), [(2, 1, 0), (3, 1, 0), (4, 5, 60)]);
        ack(&mut sender, 4, 65);
        assert_eq!(end(&mut sender, 0), Poll::Ended(End::Delivered));
    }

    #[test]
    fn no_records_are_one_segment_of_headers() {
        let mut sender = sender(0);
        assert_eq!(sent(&mut sender, 0), [(1, 0x07, 20)]);
        ack(&mut sender, 1, 1);
        assert_eq!(end(&mut sender, 0), Poll::Ended(End::Delivered));
    }

    #[test]
    fn a_closed_window_is_probed_each_time_and_waited_for() {
        let mut sender = sender(1000);
        assert_eq!(sent(&mut sender, 0), [(1, 3, 1100)]);
        ack(&mut sender, 1, 1);
        assert!(sent(&mut sender, 1999).is_empty());
        for time in [2000, 4000, 6000] {
            assert_eq!(sent(&mut sender, time), [(2, 1, 0)], "at {time}");
            let waits = Poll::Wait(Duration::from_millis(time + 2000));
            assert_eq!(end(&mut sender, time), waits);
        }
        assert_eq!(sent(&mut sender, 8000), [(0, 1, 0)], "the ABORT");
        assert_eq!(end(&mut sender, 8000), Poll::Ended(End::Aborted(126)));
    }

    #[test]
    fn a_silent_receiver_is_sent_four_times_and_told() {
        let mut sender = sender(1000);
        for time in [0, 2000, 4000, 6000] {
            assert_eq!(sent(&mut sender, time), [(1, 3, 1100)], "at {time}");
            assert!(sent(&mut sender, time + 1999).is_empty());
        }
        assert_eq!(sent(&mut sender, 8000), [(0, 1, 0)], "the ABORT");
        assert_eq!(end(&mut sender, 8000), Poll::Ended(End::Aborted(126)));
    }

    #[test]
    fn what_was_lost_goes_again_from_the_first_unacknowledged() {
        let mut sender = sender(1000);
        sent(&mut sender, 0);
        ack(&mut sender, 1, 3);
        assert_eq!(sent(&mut sender, 10).len(), 2);
        assert_eq!(sent(&mut sender, 2010), [(2, 1, 0), (3, 1, 0)]);
        ack(&mut sender, 2, 4);
        assert_eq!(sent(&mut sender, 2020), [(4, 1, 0)]);
        ack(&mut sender, 1, 3);
        assert!(
            sent(&mut sender, 2030).is_empty(),
            "a late acknowledgement changes nothing"
        );
    }

    type Spoil = fn(&mut RmppHeader);

    #[test]
    fn each_nonsense_has_its_status() {
        let cases: [(Spoil, u8); 6] = [
            (|rmpp| rmpp.version = 2, 125),
            (|rmpp| rmpp.packet_type = 7, 121),
            (|rmpp| rmpp.status = 1, 124),
            (|rmpp| rmpp.payload_length = 0.into(), 122),
            (|rmpp| rmpp.segment_number = 2.into(), 123),
            (|rmpp| (rmpp.packet_type, rmpp.status) = (4, 117), 124),
        ];
        for (spoil, wanted) in cases {
            let mut sender = sender(1000);
            sent(&mut sender, 0);
            let mut packet = SaMad::new_zeroed();
            packet.rmpp = control(packet_type::ACK, 0, 1, 9);
            spoil(&mut packet.rmpp);
            sender.receive(&packet, Duration::ZERO);
            let mut out = [0; MAD_SIZE];
            assert_eq!(sender.poll(Duration::ZERO, &mut out), Poll::Send);
            let said = SaMad::from_bytes(&out);
            assert_eq!(said.mad.method, method::GET_TABLE_RESP);
            assert_eq!(
                (said.rmpp.packet_type, said.rmpp.status),
                (packet_type::ABORT, wanted)
            );
            assert_eq!(end(&mut sender, 0), Poll::Ended(End::Aborted(wanted)));
        }
    }

    #[test]
    fn stop_and_abort_end_it_without_a_word() {
        for (kind, code, wanted) in [
            (packet_type::STOP, 1, End::Stopped),
            (packet_type::ABORT, 118, End::AbortedByPeer(118)),
        ] {
            let mut sender = sender(1000);
            sent(&mut sender, 0);
            let mut packet = SaMad::new_zeroed();
            packet.rmpp = control(kind, code, 0, 0);
            sender.receive(&packet, Duration::ZERO);
            assert_eq!(end(&mut sender, 0), Poll::Ended(wanted));
        }
    }

    #[test]
    fn a_repeated_request_suits_receivers_that_remember_and_that_forgot() {
        let mut remembered = sender(1000);
        sent(&mut remembered, 0);
        ack(&mut remembered, 1, 3);
        sent(&mut remembered, 0);
        remembered.rewind();
        assert_eq!(sent(&mut remembered, 10), [(1, 3, 1100)]);
        ack(&mut remembered, 3, 5);
        assert_eq!(sent(&mut remembered, 20), [(4, 1, 0), (5, 5, 220)]);

        remembered.rewind();
        sent(&mut remembered, 30);
        ack(&mut remembered, 1, 2);
        assert_eq!(sent(&mut remembered, 40), [(2, 1, 0)]);
    }

    #[test]
    fn a_stated_response_time_is_waited_for_within_reason() {
        let mut sender = sender(1000);
        sent(&mut sender, 0);
        let mut packet = SaMad::new_zeroed();
        packet.rmpp = control(packet_type::ACK, 0, 1, 2);
        // 4.3 s.
        packet.rmpp.response_time_flags = 20 << 3 | flag::ACTIVE;
        sender.receive(&packet, Duration::ZERO);
        sent(&mut sender, 0);
        assert!(sent(&mut sender, 4000).is_empty());
        assert_eq!(sent(&mut sender, 4300).len(), 1);
    }
}
