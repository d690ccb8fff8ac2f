//! The messages on their way out, a bounded number.
//!
//! Limits decide before a transfer begins, so that one under way is never given up for another: 64
//! in all, 8 to one LID, 128 MiB held by their sources. A scan finds the transfer of a packet, as
//! places are few.

use core::time::Duration;

use sa_wire::mad::method::RESPONSE_BIT;
use sa_wire::sa::SaMad;
use sa_wire::umad::{MAD_SIZE, Slot, UmadHeader};

use super::packet::TransferId;
use super::{End, Poll, Sender, Source, Timing};

/// How much is sent at once, so that requesters that take nothing cost a bounded amount of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SenderLimits {
    /// Transfers at once.
    pub transfers: usize,
    /// Transfers to one LID.
    pub per_lid: usize,
    /// What all sources keep in memory. Units: bytes.
    pub held: usize,
    /// Patience with the receiver of each transfer.
    pub timing: Timing,
}

impl Default for SenderLimits {
    /// 64 transfers, 8 of them to one LID, 128 MiB.
    fn default() -> Self {
        Self {
            transfers: 64,
            per_lid: 8,
            held: 128 << 20,
            timing: Timing::default(),
        }
    }
}

/// Why a transfer was not begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// A limit is reached; later it may not be.
    Busy,
    /// The message is longer than RMPP can say.
    TooLong,
}

/// How transfers ended so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// The receiver has acknowledged all of it.
    pub delivered: u64,
    /// The receiver stopped or aborted it.
    pub refused: u64,
    /// Nobody acknowledged, it took too long, what came back made no sense, or it was given up here.
    pub aborted: u64,
}

/// Senders by the transfer that they are for.
///
/// Transfers take turns, one packet each, so that a long table does not hold up a short one.
#[derive(Debug)]
pub struct Senders<S> {
    places: Vec<Place<S>>,
    limits: SenderLimits,
    tally: Tally,
    /// The place whose turn it is.
    turn: usize,
}

/// One transfer, whom it goes to, and the request that it answers.
#[derive(Debug)]
struct Place<S> {
    id: TransferId,
    to: UmadHeader,
    request: [u8; MAD_SIZE],
    sender: Sender<S>,
}

impl<S: Source> Senders<S> {
    /// Nothing is under way.
    pub const fn new(limits: SenderLimits) -> Self {
        Self {
            places: Vec::new(),
            limits,
            tally: Tally {
                delivered: 0,
                refused: 0,
                aborted: 0,
            },
            turn: 0,
        }
    }

    /// True when the answer to exactly this request is under way. It then begins again at its
    /// first segment: the requester may have lost what it had of it.
    pub fn resume(&mut self, request: &Slot) -> bool {
        let id = TransferId::of(request);
        let known = self.places.iter_mut().find(|place| place.id == id);
        let same = known.filter(|place| place.request == request.mad);
        same.map(|place| place.sender.rewind()).is_some()
    }

    /// Gives all up without a word: nobody gets another segment, and who waits asks again.
    pub fn give_up(&mut self) {
        self.tally.aborted += self.places.len() as u64;
        self.places.clear();
    }

    /// Begins to answer `request` with `head` and the records of `source`. An answer to another
    /// request of the same transaction is given up for it.
    pub fn start(
        &mut self,
        request: &Slot,
        head: &SaMad,
        source: S,
        now: Duration,
    ) -> Result<(), Refused> {
        // The requester has forgotten what it asked before, or it would have waited.
        let id = TransferId::of(request);
        self.places.retain(|place| place.id != id);
        let to_lid = self
            .places
            .iter()
            .filter(|place| place.id.lid == id.lid)
            .count();
        let held: usize = self
            .places
            .iter()
            .map(|place| place.sender.source().held())
            .sum();
        // Three limits, one answer: whoever asks cannot do anything about either.
        if self.places.len() >= self.limits.transfers
            || to_lid >= self.limits.per_lid
            || held.saturating_add(source.held()) > self.limits.held
        {
            return Err(Refused::Busy);
        }
        let timing = self.limits.timing;
        let sender = Sender::new(head, source, timing, now).ok_or(Refused::TooLong)?;
        self.places.push(Place {
            id,
            to: request.header,
            request: request.mad,
            sender,
        });
        Ok(())
    }

    /// Takes a packet other than DATA. False when it belongs to no transfer of ours.
    pub fn receive(&mut self, packet: &Slot, now: Duration) -> bool {
        let mad = SaMad::from_bytes(&packet.mad);
        let id = TransferId::of(packet);
        // What comes from a receiver goes against the direction of the data.
        let opposes = |place: &&mut Place<S>| {
            place.id == id && (mad.mad.method & RESPONSE_BIT != 0) != place.sender.is_response()
        };
        let Some(place) = self.places.iter_mut().find(opposes) else {
            return false;
        };
        place.sender.receive(mad, now);
        true
    }

    /// What to do now; [`Poll::Send`] hands out an addressed packet. Transfers take turns.
    /// `None` when none is under way.
    pub fn poll(&mut self, now: Duration, out: &mut Slot) -> Option<Poll> {
        let mut wait: Option<Duration> = None;
        let mut tries = self.places.len();
        // Each place is looked at once a call, so that a call ends even if all of them wait.
        while tries > 0 {
            tries -= 1;
            if self.turn >= self.places.len() {
                self.turn = 0;
            }
            let place = self.places.get_mut(self.turn)?;
            match place.sender.poll(now, &mut out.mad) {
                Poll::Send => {
                    out.header = place.to;
                    self.turn += 1;
                    return Some(Poll::Send);
                }
                Poll::Wait(until) => {
                    wait = Some(wait.map_or(until, |other| other.min(until)));
                    self.turn += 1;
                }
                Poll::Ended(end) => {
                    self.tally.count(end);
                    // The last place moves here, so the turn stays and it is looked at next.
                    self.places.swap_remove(self.turn);
                }
            }
        }
        wait.map(Poll::Wait)
    }

    /// How many are under way.
    pub const fn under_way(&self) -> usize {
        self.places.len()
    }

    /// How transfers ended so far.
    pub const fn tally(&self) -> Tally {
        self.tally
    }
}

impl Tally {
    /// Counts how a transfer ended.
    const fn count(&mut self, end: End) {
        match end {
            End::Delivered => self.delivered += 1,
            End::Stopped | End::AbortedByPeer(_) => self.refused += 1,
            End::Aborted(_) => self.aborted += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use sa_wire::mad::method;

    use super::*;
    use crate::rmpp::{Bytes, acknowledgement};

    const NOW: Duration = Duration::ZERO;

    fn request(lid: u16, transaction: u64) -> Slot {
        let mut slot = Slot::EMPTY;
        slot.header.lid = lid.into();
        let mad = SaMad::from_bytes_mut(&mut slot.mad);
        mad.mad.method = method::GET_TABLE;
        mad.mad.transaction_id = transaction.into();
        slot
    }

    fn start(senders: &mut Senders<Bytes>, request: &Slot, bytes: usize) -> Result<(), Refused> {
        let mut head = *SaMad::from_bytes(&request.mad);
        head.mad.method = method::GET_TABLE_RESP;
        senders.start(request, &head, Bytes::from(vec![1; bytes], 0), NOW)
    }

    #[test]
    fn transfers_take_turns_and_end_by_their_own_acknowledgements() {
        let mut senders = Senders::new(SenderLimits::default());
        start(&mut senders, &request(1, 5), 500).unwrap();
        start(&mut senders, &request(2, 5), 500).unwrap();
        let mut out = Slot::EMPTY;
        let mut lids = Vec::new();
        let mut acks = Vec::new();
        while senders.poll(NOW, &mut out) == Some(Poll::Send) {
            lids.push(out.header.lid.get());
            let data = SaMad::from_bytes(&out.mad);
            let mut ack = out;
            ack.mad = acknowledgement(data, data.rmpp.segment_number.get(), 3);
            acks.push(ack);
            if acks.len() % 2 == 0 {
                acks.drain(..)
                    .for_each(|ack| assert!(senders.receive(&ack, NOW)));
            }
        }
        assert_eq!(lids, [1, 2, 1, 2, 1, 2]);
        assert_eq!((senders.under_way(), senders.tally().delivered), (0, 2));
        assert!(!senders.receive(&request(1, 5), NOW));
    }

    #[test]
    fn limits_hold_and_a_new_request_takes_the_place_of_the_old() {
        let limits = SenderLimits {
            transfers: 3,
            per_lid: 2,
            held: 2500,
            ..SenderLimits::default()
        };
        let mut senders = Senders::new(limits);
        start(&mut senders, &request(1, 1), 1000).unwrap();
        start(&mut senders, &request(1, 2), 1000).unwrap();
        assert_eq!(
            start(&mut senders, &request(1, 3), 100),
            Err(Refused::Busy),
            "the LID"
        );
        assert_eq!(
            start(&mut senders, &request(2, 1), 1000),
            Err(Refused::Busy),
            "memory"
        );
        start(&mut senders, &request(2, 1), 100).unwrap();
        assert_eq!(
            start(&mut senders, &request(3, 1), 100),
            Err(Refused::Busy),
            "places"
        );
        assert!(senders.resume(&request(1, 2)));
        let mut other = request(1, 2);
        other.mad[60] = 1;
        assert!(!senders.resume(&other));
        start(&mut senders, &other, 1000).unwrap();
        assert_eq!(senders.under_way(), 3);
        assert!(!senders.resume(&request(1, 2)) && senders.resume(&other));
    }
}
