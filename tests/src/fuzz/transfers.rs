//! Programs of RMPP: single bytes drive senders and receivers, a client of theirs that plays by
//! the rules, and packets that do not. Nothing may grow or stay for ever, and whatever is sent
//! must be a legal packet.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

use sa_answer::rmpp::{
    Allowance, Arrival, Bytes, Class, Poll, Receivers, SenderLimits, Senders, Timing, classify,
    turn_acknowledgement,
};
use sa_wire::rmpp::RmppHeader;
use sa_wire::sa::SaMad;
use sa_wire::umad::Slot;

use super::choices::Choices;
use super::wire::{GET_MULTI, GET_TABLE, Rmpp, be64};

const TRANSFERS: usize = 4;
const PER_LID: usize = 3;
/// What receivers take.
const LONGEST: usize = 30_000;
/// What senders have at most, and more.
const MOST_SENT: usize = LONGEST + LONGEST / 2;
const DATA: u8 = 1;
const ACK: u8 = 2;
const STOP: u8 = 3;
const ABORT: u8 = 4;

/// What a program did, for counting.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// Packets handed out.
    pub sent: u64,
    /// Messages that became whole.
    pub messages: u64,
    /// Transfers acknowledged to the end.
    pub delivered: u64,
    /// Transfers that ended otherwise.
    pub given_up: u64,
}

/// Runs a program to its end, and then time until nothing is left. Panics when something is, or
/// when a packet is not legal.
pub fn run(program: &[u8]) -> Done {
    let mut world = World::new();
    let mut choices = Choices::new(program);
    while !choices.is_over() {
        world.step(&mut choices);
        world.check_size();
    }
    world.wait_for_the_end();
    let tally = world.senders.tally();
    Done {
        delivered: tally.delivered,
        given_up: tally.refused + tally.aborted,
        ..world.done
    }
}

/// Whose transfer: LID, transaction, method of the request.
type Id = (u16, u64, u8);

struct World {
    now: Duration,
    senders: Senders<Bytes>,
    receivers: Receivers,
    out: Slot,
    /// What was sent last, so that a program can lose, double and reorder by choosing among them.
    flying: Vec<Slot>,
    /// How many bytes each message has that is being sent.
    lengths: BTreeMap<Id, usize>,
    done: Done,
}

impl World {
    fn new() -> Self {
        let limits = SenderLimits {
            transfers: TRANSFERS,
            per_lid: PER_LID,
            held: 3 * LONGEST,
            timing: Timing::default(),
        };
        Self {
            now: Duration::ZERO,
            senders: Senders::new(limits),
            receivers: Receivers::new(TRANSFERS, Allowance::for_messages_of(LONGEST)),
            out: Slot::EMPTY,
            flying: Vec::new(),
            lengths: BTreeMap::new(),
            done: Done::default(),
        }
    }

    fn step(&mut self, choices: &mut Choices<'_>) {
        match choices.byte() % 10 {
            0 => self.now += Duration::from_millis(u64::from(choices.byte()) * 20),
            1 => self.start(choices),
            2 => {
                self.senders.resume(&request(choices.byte()));
            }
            3 => {
                for _ in 0..choices.byte() {
                    self.send();
                }
            }
            4 | 5 => {
                let choice = usize::from(choices.byte()) % self.flying.len().max(1);
                if let Some(packet) = self.flying.get(choice).copied() {
                    self.deliver(&packet);
                }
            }
            6 => {
                // Everything that is on its way, in order.
                for packet in std::mem::take(&mut self.flying) {
                    self.deliver(&packet);
                }
            }
            7 => {
                // A requester of a double-sided exchange gives the turn.
                let mut packet = request(choices.byte());
                let ack = *SaMad::from_bytes(&packet.mad);
                packet.mad = turn_acknowledgement(&ack, u32::from(choices.byte()));
                packet.mad[3] &= 0x7f;
                self.deliver(&packet);
            }
            8 => {
                self.now += Duration::from_secs(u64::from(choices.byte() % 64));
                self.expire();
            }
            _ => {
                let packet = nonsense(choices);
                self.deliver(&packet);
            }
        }
    }

    fn start(&mut self, choices: &mut Choices<'_>) {
        let request = request(choices.byte());
        let mut head = *SaMad::from_bytes(&request.mad);
        head.mad.method |= 0x80;
        let length = usize::from(choices.half()) % MOST_SENT;
        let records = PATTERN[..length].to_vec();
        let started = self
            .senders
            .start(&request, &head, Bytes::from(records, 0), self.now);
        match started {
            Ok(()) => self.lengths.insert(id(&request), length),
            Err(_) => self.lengths.remove(&id(&request)),
        };
    }

    /// Polls once. A sender that has nothing to send must have something to wait for.
    fn send(&mut self) {
        match self.senders.poll(self.now, &mut self.out) {
            Some(Poll::Send) => {
                self.check_senders_packet();
                self.keep();
            }
            Some(Poll::Wait(until)) => {
                assert!(
                    until > self.now,
                    "waits until {until:?}, and it is {:?}",
                    self.now
                );
            }
            Some(Poll::Ended(end)) => panic!("{end:?} told of no transfer"),
            None => assert_eq!(self.senders.under_way(), 0),
        }
    }

    fn deliver(&mut self, packet: &Slot) {
        match classify(SaMad::from_bytes(&packet.mad)) {
            Class::Plain => {}
            Class::Segment => {
                let arrival = self.receivers.receive(packet, self.now, &mut self.out);
                if let Arrival::Message(message) = &arrival {
                    assert!(
                        (56..=56 + LONGEST).contains(&message.len()),
                        "{}",
                        message.len()
                    );
                    self.done.messages += 1;
                }
                if arrival != Arrival::Quiet {
                    self.check_receivers_packet(Some(packet));
                    self.keep();
                }
            }
            Class::Control => {
                // As the server's slow lane does it.
                self.senders.receive(packet, self.now);
                if matches!(packet.mad[25], STOP | ABORT) {
                    self.receivers.abort(packet);
                }
            }
        }
    }

    fn expire(&mut self) {
        while self.receivers.expire(self.now, &mut self.out) {
            self.check_receivers_packet(None);
            self.keep();
        }
        if let Some(next) = self.receivers.next() {
            assert!(
                next > self.now,
                "something is left at {:?} that ended at {next:?}",
                self.now
            );
        }
    }

    fn keep(&mut self) {
        self.done.sent += 1;
        if self.flying.len() < 256 {
            self.flying.push(self.out);
        }
    }

    fn check_size(&self) {
        assert!(self.senders.under_way() <= TRANSFERS);
        assert!(self.receivers.under_way() <= TRANSFERS);
        assert!(self.receivers.held() <= 2 * TRANSFERS * (LONGEST + 256));
    }

    /// A minute ends every transfer: 60 s a sender, 40 s a receiver, and retries.
    fn wait_for_the_end(&mut self) {
        for _ in 0..200 {
            if self.senders.under_way() == 0 && self.receivers.next().is_none() {
                break;
            }
            self.now += Duration::from_secs(1);
            self.expire();
            let before = self.done.sent;
            while self.senders.poll(self.now, &mut self.out) == Some(Poll::Send) {
                self.check_senders_packet();
                self.done.sent += 1;
                assert!(self.done.sent - before < 10_000, "no end of sending");
            }
        }
        assert_eq!(self.senders.under_way(), 0, "senders stay");
        assert_eq!(self.receivers.next(), None, "receivers stay");
        assert_eq!(
            (self.receivers.under_way(), self.receivers.held()),
            (0, 0),
            "receivers keep"
        );
    }

    /// A segment of a message that was begun, or its ABORT; with the heads of the reply.
    fn check_senders_packet(&self) {
        let mad = &self.out.mad;
        let rmpp = Rmpp::of(mad);
        let length = *self
            .lengths
            .get(&id(&self.out))
            .expect("of a transfer that was begun");
        assert_eq!((rmpp.version, rmpp.flags() & 1), (1, 1), "{rmpp:?}");
        assert_eq!(
            (mad[1], mad[3] & 0x80),
            (3, 0x80),
            "a response of the class"
        );
        if rmpp.kind == ABORT {
            return check_end(&rmpp, mad);
        }
        let segments = length.div_ceil(200).max(1);
        let at = rmpp.segment as usize;
        assert_eq!((rmpp.kind, rmpp.status), (DATA, 0), "{rmpp:?}");
        assert!((1..=segments).contains(&at), "segment {at} of {segments}");
        let (first, last) = (at == 1, at == segments);
        assert_eq!(rmpp.flags(), 1 | u8::from(first) << 1 | u8::from(last) << 2);
        let here = if last {
            length - (segments - 1) * 200
        } else {
            200
        };
        let payload = match (first, last) {
            (true, _) => length + 20 * segments,
            (false, true) => here + 20,
            (false, false) => 0,
        };
        assert_eq!(
            rmpp.length as usize, payload,
            "PayloadLength of segment {at} of {segments}"
        );
        let start = (at - 1) * 200;
        let (data, rest) = mad[56..].split_at(here);
        let is_right = data == &PATTERN[start..start + here] && rest.iter().all(|byte| *byte == 0);
        assert!(is_right, "data of segment {at}");
    }

    /// An acknowledgement, STOP or ABORT, back to where `to` came from.
    fn check_receivers_packet(&self, to: Option<&Slot>) {
        let mad = &self.out.mad;
        let rmpp = Rmpp::of(mad);
        if let Some(to) = to {
            assert_eq!(self.out.header, to.header, "to somebody else");
            assert_eq!((mad[3] ^ to.mad[3], &mad[..3]), (0x80, &to.mad[..3]));
            assert_eq!(mad[4..24], to.mad[4..24], "the headers of another");
        }
        assert_eq!(mad[36..44], [0; 8], "a key came back");
        assert!(
            mad[56..].iter().all(|byte| *byte == 0),
            "data in a control packet"
        );
        if rmpp.kind != ACK {
            return check_end(&rmpp, mad);
        }
        assert_eq!(
            (rmpp.version, rmpp.flags(), rmpp.status),
            (1, 1, 0),
            "{rmpp:?}"
        );
        assert!(
            rmpp.length >= rmpp.segment,
            "a window that is over: {rmpp:?}"
        );
        let most = LONGEST.div_ceil(200) + 1;
        assert!(
            rmpp.segment as usize <= most,
            "segment {} was never let in",
            rmpp.segment
        );
    }
}

/// STOP says that resources are exhausted; ABORT has a status of its own.
fn check_end(rmpp: &Rmpp, mad: &[u8; 256]) {
    let is_legal = match rmpp.kind {
        STOP => rmpp.status == 1,
        ABORT => (118..=127).contains(&rmpp.status),
        _ => false,
    };
    assert!(is_legal, "{rmpp:?}");
    assert_eq!(
        (rmpp.version, rmpp.flags(), rmpp.segment, rmpp.length),
        (1, 1, 0, 0)
    );
    assert!(
        mad[56..].iter().all(|byte| *byte == 0),
        "data in a control packet"
    );
}

fn id(packet: &Slot) -> Id {
    let method = packet.mad[3] & 0x7f;
    (packet.header.lid.get(), be64(&packet.mad, 8), method)
}

/// What every message begins with.
static PATTERN: LazyLock<Vec<u8>> =
    LazyLock::new(|| (0..MOST_SENT).map(|at| (at % 251) as u8).collect());

/// One of 24 requests of two LIDs.
fn request(which: u8) -> Slot {
    let mut slot = Slot::EMPTY;
    slot.header.lid = u16::from(5 + which / 6 % 2).into();
    slot.mad[..3].copy_from_slice(&[1, 3, 2]);
    slot.mad[3] = if which % 24 < 12 {
        GET_TABLE
    } else {
        GET_MULTI
    };
    slot.mad[15] = which % 6;
    slot
}

/// Of one of the requests, or its reply, but with whatever the program says about RMPP.
fn nonsense(choices: &mut Choices<'_>) -> Slot {
    let mut packet = request(choices.byte());
    packet.mad[3] |= choices.byte() & 0x80;
    let (flags, segment, length) = (choices.byte() | 1, choices.byte(), choices.byte());
    let wide = choices.hits(64);
    let number = |small: u8, wide: u32| if wide == 0 { u32::from(small) } else { wide };
    let (wide_segment, wide_length) = if wide {
        (choices.word(), choices.word())
    } else {
        (0, 0)
    };
    let mut rmpp = RmppHeader::data(
        flags,
        number(segment, wide_segment),
        number(length, wide_length),
    );
    rmpp.packet_type = choices.pick(&[DATA, ACK, DATA, ACK, STOP, ABORT, 0, 5, 255]);
    rmpp.status = choices.pick(&[0, 0, 0, 1, 118, 127, 117, 128, 255]);
    rmpp.version = choices.pick(&[1, 1, 1, 1, 1, 1, 0, 2]);
    rmpp.response_time_flags = choices.byte() & 0xf8 | flags & 7;
    SaMad::from_bytes_mut(&mut packet.mad).rmpp = rmpp;
    if choices.hits(32) {
        packet.mad[36..44].copy_from_slice(&7_u64.to_be_bytes());
    }
    packet
}
