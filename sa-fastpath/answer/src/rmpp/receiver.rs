//! One message on its way in.
//!
//! What is kept of a message, with segments 1 to 3 and 5 here and 4 missing:
//!
//! ```text
//!  message      56 bytes of headers | 1 | 2 | 3 | 4 (zeros) | 5      200 bytes each
//!  in_order     3        ahead  0b10 (bit 0 is segment 4, bit 1 segment 5)
//! ```
//!
//! When 4 comes, `in_order` moves over the run of ones to 5. The sender hears of it when its window
//! is used up, when the message is whole, or when it repeats what was acknowledged. So one
//! acknowledgement serves 64 segments.
//!
//! A sender may lie: lengths that contradict each other, segments behind the last, a message longer
//! than is granted. Each ends the transfer with the status that the specification has for it.
//! Memory grows with what has come, and never beyond the allowance and what the window reaches.

use core::time::Duration;

use sa_wire::rmpp::{RMPP_VERSION, RmppHeader, SEGMENT_PAYLOAD, flag, packet_type, status};
use sa_wire::sa::SaMad;
use sa_wire::umad::MAD_SIZE;
use zerocopy::IntoBytes;

use super::packet::{acknowledgement, refusal};
use super::{HEADERS, SEGMENT_DATA};

/// What a receiver grants to the sender of a message, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// Segments that a sender may send without an acknowledgement, 1 to 64.
    pub window: u32,
    /// A longer message is stopped. Units: record bytes.
    pub message: usize,
    /// The whole transfer may take so long; then it is aborted.
    pub transfer: Duration,
    /// For how long a message that has come is still acknowledged.
    pub linger: Duration,
}

impl Allowance {
    /// Windows and times of a kernel's receiver.
    pub const fn for_messages_of(message: usize) -> Self {
        Self {
            window: WINDOW,
            message,
            transfer: Duration::from_secs(40),
            linger: Duration::from_secs(10),
        }
    }
}

/// What became of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Nothing is to be sent.
    Quiet,
    /// The packet handed out, an acknowledgement, is to be sent.
    Acknowledge,
    /// The same, and the message is whole.
    Complete,
    /// The packet handed out, a STOP or ABORT with this status, is to be sent; it is over.
    Failed(u8),
}

/// Puts one message together.
///
/// It knows neither port nor clock: segments and the time are handed in, packets to send are handed
/// out. Segments may come in any order within the window, and more than once.
///
/// Lives from the first segment until the message is given up, or for `linger` behind its end: the
/// last acknowledgement may be lost, and then the last segment comes again.
#[derive(Debug)]
pub struct Receiver {
    allowance: Allowance,
    /// The headers of segment 1, then the record bytes at their places.
    message: Vec<u8>,
    /// All segments up to this are here, without a gap.
    in_order: u32,
    /// Segments beyond `in_order + 1`: bit n is segment `in_order + 1 + n`.
    ahead: u64,
    window_last: u32,
    /// Up to where the sender was told what is here; older segments show that it was not heard.
    acknowledged: u32,
    /// Segments of the message: as segment 1 declares, or the last one shows.
    total: Option<u32>,
    /// The length that segment 1 declares. Units: bytes of payload; 0 when it declares none.
    declared: u32,
    is_complete: bool,
    /// When the transfer is given up; once it is complete, when it is forgotten.
    until: Duration,
}

impl Receiver {
    /// For a transfer whose first segment is about to be given to [`Receiver::receive`].
    pub const fn new(allowance: Allowance, now: Duration) -> Self {
        Self {
            message: Vec::new(),
            in_order: 0,
            ahead: 0,
            window_last: 1,
            acknowledged: 0,
            total: None,
            declared: 0,
            is_complete: false,
            until: now.saturating_add(allowance.transfer),
            allowance,
        }
    }

    /// Takes a DATA packet of this transfer; what is to be sent is handed out in `out`.
    pub fn receive(&mut self, mad: &SaMad, now: Duration, out: &mut [u8; MAD_SIZE]) -> Step {
        match self.take(mad, now) {
            Ok(Told::Nothing) => Step::Quiet,
            Ok(told) => {
                self.acknowledged = self.in_order;
                *out = acknowledgement(mad, self.in_order, self.window_last);
                if told == Told::All {
                    Step::Complete
                } else {
                    Step::Acknowledge
                }
            }
            Err(code) => {
                // No resources is STOP, as nobody has broken a rule; all else is ABORT. What was
                // taken is let go at once.
                let kind = if code == status::RESOURCES_EXHAUSTED {
                    packet_type::STOP
                } else {
                    packet_type::ABORT
                };
                *out = refusal(mad, kind, code);
                self.message = Vec::new();
                Step::Failed(code)
            }
        }
    }

    /// The message, once. Shape: 56 bytes of headers, those of segment 1, then all records.
    pub fn take_message(&mut self) -> Vec<u8> {
        core::mem::take(&mut self.message)
    }

    /// True when the message is whole; it then only waits for late segments.
    pub const fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// When to call [`Receiver::expire`] and forget this.
    pub const fn until(&self) -> Duration {
        self.until
    }

    /// The ABORT for the sender of a transfer that takes too long; none for one that is complete.
    pub fn expire(self) -> Option<[u8; MAD_SIZE]> {
        let headers = self.message.get(..HEADERS).filter(|_| !self.is_complete)?;
        let mut first = [0; MAD_SIZE];
        first.get_mut(..HEADERS)?.copy_from_slice(headers);
        let first = SaMad::from_bytes(&first);
        Some(refusal(first, packet_type::ABORT, status::TIME_TOO_LONG))
    }

    /// Units: bytes in memory.
    pub fn held(&self) -> usize {
        self.message.capacity()
    }

    /// Takes a segment and says what its sender is told. Errors: the status of an ABORT or STOP.
    fn take(&mut self, mad: &SaMad, now: Duration) -> Result<Told, u8> {
        let rmpp = &mad.rmpp;
        check(rmpp)?;
        let segment = rmpp.segment_number.get();
        // Complete first: the message was handed out, so nothing may be written any more.
        if self.is_complete || segment <= self.acknowledged {
            // The acknowledgement was lost, or is on its way.
            return Ok(Told::Again);
        }
        // Beyond the window: the sender has not waited, and will send it again.
        if segment > self.window_last || self.is_here(segment) {
            return Ok(Told::Nothing);
        }
        // All rules before anything is kept: a segment that contradicts the rest must not change
        // the message.
        self.agree(rmpp)?;
        self.keep(mad)?;
        if self.total == Some(self.in_order) {
            self.complete(now);
            return Ok(Told::All);
        }
        // The window is used up, and only an acknowledgement opens it further.
        if self.in_order == self.window_last {
            let step = self.allowance.window.clamp(1, WINDOW);
            self.window_last = self.window_last.saturating_add(step);
            return Ok(Told::Again);
        }
        Ok(Told::Nothing)
    }

    /// True for a segment that was taken.
    fn is_here(&self, segment: u32) -> bool {
        segment <= self.in_order || self.ahead & bit(segment - self.in_order - 1) != 0
    }

    /// Holds lengths and the Last flag against what is known of the message.
    fn agree(&mut self, rmpp: &RmppHeader) -> Result<(), u8> {
        let (segment, payload) = (rmpp.segment_number.get(), rmpp.payload_length.get());
        let is_last = rmpp.flags() & flag::LAST != 0;
        if segment == 1 && payload != 0 {
            self.declare(payload)?;
        }
        // A last segment has at least its SA header, and never more than fits.
        if is_last && !(SA_HEADER..=SEGMENT_PAYLOAD).contains(&payload) {
            return Err(status::BAD_LENGTH);
        }
        match self.total {
            Some(total) if segment > total || (segment == total) != is_last => {
                return Err(status::BAD_LENGTH);
            }
            Some(_) => {}
            // A segment behind the last one is already here.
            None if is_last
                && self.ahead.checked_shr(segment - self.in_order).unwrap_or(0) != 0 =>
            {
                return Err(status::BAD_LENGTH);
            }
            None if is_last => self.total = Some(segment),
            None => {}
        }
        let last_of = (segment - 1).checked_mul(SEGMENT_PAYLOAD);
        let whole = last_of.and_then(|before| before.checked_add(payload));
        // Some senders declare nothing; then the last segment decides alone.
        if is_last && segment > 1 && self.declared != 0 && whole != Some(self.declared) {
            return Err(status::BAD_LENGTH);
        }
        Ok(())
    }

    /// Takes the length that segment 1 states. Errors: it contradicts itself, or is more than is
    /// granted.
    fn declare(&mut self, payload: u32) -> Result<(), u8> {
        // The first segment states the payload of all of them, each with its SA header counted in.
        let total = payload.div_ceil(SEGMENT_PAYLOAD);
        let of_last = payload - (total - 1) * SEGMENT_PAYLOAD;
        if of_last < SA_HEADER {
            return Err(status::BAD_LENGTH);
        }
        let records = payload - total * SA_HEADER;
        if usize::try_from(records).is_ok_and(|records| records > self.allowance.message) {
            return Err(status::RESOURCES_EXHAUSTED);
        }
        (self.declared, self.total) = (payload, Some(total));
        Ok(())
    }

    /// Puts the records where they belong and moves on over what is here.
    fn keep(&mut self, mad: &SaMad) -> Result<(), u8> {
        let segment = mad.rmpp.segment_number.get();
        let is_last = mad.rmpp.flags() & flag::LAST != 0;
        let length = if is_last {
            usize::try_from(mad.rmpp.payload_length.get() - SA_HEADER).unwrap_or(0)
        } else {
            SEGMENT_DATA
        };
        let at = usize::try_from(segment - 1)
            .unwrap_or(usize::MAX)
            .saturating_mul(SEGMENT_DATA);
        let end = at.saturating_add(length);
        if end > self.allowance.message {
            return Err(status::RESOURCES_EXHAUSTED);
        }
        // Zeros stand for what is missing until it comes.
        if self.message.len() < HEADERS + end {
            self.message.resize(HEADERS + end, 0);
        }
        if segment == 1
            && let Some(place) = self.message.get_mut(..HEADERS)
        {
            place.copy_from_slice(mad.as_bytes().get(..HEADERS).unwrap_or_default());
        }
        if let Some(place) = self.message.get_mut(HEADERS + at..HEADERS + end) {
            place.copy_from_slice(mad.data.get(..length).unwrap_or_default());
        }
        self.ahead |= bit(segment - self.in_order - 1);
        // All segments that are now without a gap, at once.
        let run = self.ahead.trailing_ones();
        self.in_order += run;
        self.ahead = self.ahead.checked_shr(run).unwrap_or(0);
        Ok(())
    }

    /// From here on it only answers segments that come again.
    const fn complete(&mut self, now: Duration) {
        self.is_complete = true;
        self.until = now.saturating_add(self.allowance.linger);
    }
}

/// What the sender is told about what is here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Nothing,
    /// What is here so far, again.
    Again,
    /// That all is here, for the first time.
    All,
}

/// Errors: the status of what a packet says of itself alone.
fn check(rmpp: &RmppHeader) -> Result<(), u8> {
    if rmpp.version != RMPP_VERSION {
        return Err(status::UNSUPPORTED_VERSION);
    }
    if rmpp.packet_type != packet_type::DATA {
        return Err(status::BAD_TYPE);
    }
    if rmpp.status != status::SUCCESS {
        return Err(status::BAD_STATUS);
    }
    let segment = rmpp.segment_number.get();
    let is_first = rmpp.flags() & flag::FIRST != 0;
    if segment == 0 || (segment == 1) != is_first {
        return Err(status::BAD_SEGMENT);
    }
    Ok(())
}

/// 0 for places that no window reaches.
fn bit(place: u32) -> u64 {
    1u64.checked_shl(place).unwrap_or(0)
}

/// As many as there are bits in [`Receiver::ahead`], and as a kernel with a receive queue of 512
/// grants. Units: segments.
const WINDOW: u32 = 64;
/// Units: bytes of payload that are no records.
const SA_HEADER: u32 = 20;

#[cfg(test)]
mod tests {
    use sa_wire::mad::method;
    use zerocopy::FromZeros;

    use super::*;

    const NOW: Duration = Duration::ZERO;

    fn receiver() -> Receiver {
        Receiver::new(Allowance::for_messages_of(10_000), NOW)
    }

    fn packet(segment: u32, flags: u8, payload: u32) -> SaMad {
        let mut mad = SaMad::new_zeroed();
        mad.mad.method = method::GET_MULTI;
        mad.rmpp = RmppHeader::data(flag::ACTIVE | flags, segment, payload);
        mad.data = [u8::try_from(segment).unwrap(); SEGMENT_DATA];
        mad
    }

    /// What comes of it, and what is said: kind, status, segment, window.
    fn give(receiver: &mut Receiver, mad: &SaMad) -> (Step, [u32; 4]) {
        let mut out = [0; MAD_SIZE];
        let step = receiver.receive(mad, NOW, &mut out);
        let rmpp = &SaMad::from_bytes(&out).rmpp;
        let (segment, window) = (rmpp.segment_number.get(), rmpp.new_window_last());
        (
            step,
            [rmpp.packet_type.into(), rmpp.status.into(), segment, window],
        )
    }

    const QUIET: (Step, [u32; 4]) = (Step::Quiet, [0; 4]);

    #[test]
    fn segments_out_of_order_and_twice_make_one_message() {
        let mut receiver = receiver();
        let first = packet(1, flag::FIRST, 3 * 220 - 150);
        let last = packet(3, flag::LAST, 70);
        assert_eq!(
            give(&mut receiver, &first),
            (Step::Acknowledge, [2, 0, 1, 65])
        );
        assert_eq!(give(&mut receiver, &last), QUIET);
        assert_eq!(give(&mut receiver, &last), QUIET);
        assert_eq!(
            give(&mut receiver, &first),
            (Step::Acknowledge, [2, 0, 1, 65])
        );
        assert_eq!(
            give(&mut receiver, &packet(2, 0, 0)),
            (Step::Complete, [2, 0, 3, 65])
        );
        let message = receiver.take_message();
        assert_eq!(message.len(), 56 + 450);
        assert_eq!(message[24..36], first.as_bytes()[24..36]);
        assert_eq!(
            message[56..],
            [[1; 200], [2; 200]]
                .concat()
                .into_iter()
                .chain([3; 50])
                .collect::<Vec<_>>()
        );
        assert_eq!(
            give(&mut receiver, &last),
            (Step::Acknowledge, [2, 0, 3, 65])
        );
        assert_eq!(receiver.until(), Duration::from_secs(10));
        assert_eq!(receiver.expire(), None);
    }

    #[test]
    fn the_window_grows_when_it_is_used_up() {
        let mut receiver = receiver();
        give(&mut receiver, &packet(1, flag::FIRST, 0));
        for segment in 2..=50 {
            assert_eq!(
                give(&mut receiver, &packet(segment, 0, 0)).0,
                Step::Quiet,
                "{segment}"
            );
        }
        assert_eq!(
            give(&mut receiver, &packet(66, 0, 0)),
            QUIET,
            "beyond the window"
        );
        assert_eq!(
            give(&mut receiver, &packet(51, flag::LAST, 21)).0,
            Step::Failed(1),
            "too long"
        );
    }

    #[test]
    fn each_nonsense_has_its_status() {
        let abort = |code: u8| (Step::Failed(code), [4, code.into(), 0, 0]);
        let spoilt = |spoil: fn(&mut RmppHeader)| {
            let mut mad = packet(1, flag::FIRST, 0);
            spoil(&mut mad.rmpp);
            give(&mut receiver(), &mad)
        };
        assert_eq!(spoilt(|rmpp| rmpp.version = 0), abort(125));
        assert_eq!(spoilt(|rmpp| rmpp.packet_type = 9), abort(121));
        assert_eq!(spoilt(|rmpp| rmpp.status = 118), abort(124));
        assert_eq!(spoilt(|rmpp| rmpp.segment_number = 0.into()), abort(120));
        assert_eq!(spoilt(|rmpp| rmpp.segment_number = 2.into()), abort(120));
        assert_eq!(spoilt(|rmpp| rmpp.set_flags(flag::ACTIVE)), abort(120));
        assert_eq!(spoilt(|rmpp| rmpp.payload_length = 19.into()), abort(119));
        assert_eq!(spoilt(|rmpp| rmpp.payload_length = 230.into()), abort(119));
        assert_eq!(spoilt(|rmpp| rmpp.set_flags(flag::SINGLE)), abort(119));
        let too_long = spoilt(|rmpp| rmpp.payload_length = 3_000_000_000.into());
        assert_eq!(too_long, (Step::Failed(1), [3, 1, 0, 0]), "a STOP");
    }

    #[test]
    fn lengths_must_agree() {
        let after_first = |declared, then: &[SaMad]| {
            let mut receiver = receiver();
            give(&mut receiver, &packet(1, flag::FIRST, declared));
            then.iter()
                .map(|mad| give(&mut receiver, mad).0)
                .last()
                .unwrap()
        };
        let wrong = Step::Failed(status::BAD_LENGTH);
        assert_eq!(after_first(440, &[packet(2, flag::LAST, 219)]), wrong);
        assert_eq!(after_first(440, &[packet(2, 0, 0)]), wrong, "no Last flag");
        assert_eq!(
            after_first(440, &[packet(3, 0, 0)]),
            wrong,
            "behind the end"
        );
        assert_eq!(
            after_first(660, &[packet(2, flag::LAST, 220)]),
            wrong,
            "too early"
        );
        assert_eq!(after_first(0, &[packet(2, flag::LAST, 221)]), wrong);
        assert_eq!(
            after_first(0, &[packet(4, 0, 0), packet(3, flag::LAST, 30)]),
            wrong
        );
        assert_eq!(
            after_first(440, &[packet(2, flag::LAST, 220)]),
            Step::Complete
        );
        assert_eq!(after_first(0, &[packet(2, flag::LAST, 20)]), Step::Complete);
    }

    #[test]
    fn what_takes_too_long_is_aborted() {
        let mut receiver = receiver();
        give(&mut receiver, &packet(1, flag::FIRST, 0));
        assert_eq!(receiver.until(), Duration::from_secs(40));
        let said = receiver.expire().unwrap();
        let said = SaMad::from_bytes(&said);
        assert_eq!(said.mad.method, method::GET_MULTI_RESP);
        assert_eq!((said.rmpp.packet_type, said.rmpp.status), (4, 118));
    }
}
