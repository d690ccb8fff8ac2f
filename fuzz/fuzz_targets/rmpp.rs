//! RMPP sequences: a program of single bytes drives senders and receivers, a client of theirs that
//! plays by the rules, and packets that do not. Nothing may panic, grow, or stay for ever.
#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use sa_fastpath::rmpp::{
    Allowance, Arrival, Bytes, Class, Poll, Receivers, SenderLimits, Senders, classify,
};
use sa_wire::mad::{MGMT_CLASS_SA, method};
use sa_wire::rmpp::RmppHeader;
use sa_wire::sa::SaMad;
use sa_wire::umad::Slot;

const TRANSFERS: usize = 4;
const LONGEST: usize = 30_000;

struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn word(&mut self) -> Option<u32> {
        let (first, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*first))
    }
}

struct World {
    now: Duration,
    senders: Senders<Bytes>,
    receivers: Receivers,
    out: Slot,
    /// What was sent last, so that an input can lose, double and reorder by choosing among them.
    flying: Vec<Slot>,
}

fuzz_target!(|bytes: &[u8]| {
    let limits = SenderLimits {
        transfers: TRANSFERS,
        ..SenderLimits::default()
    };
    let mut world = World {
        now: Duration::ZERO,
        senders: Senders::new(limits),
        receivers: Receivers::new(TRANSFERS, Allowance::for_messages_of(LONGEST)),
        out: Slot::EMPTY,
        flying: Vec::new(),
    };
    let mut input = Input(bytes);
    while step(&mut world, &mut input).is_some() {
        assert!(world.senders.under_way() <= TRANSFERS);
        assert!(world.receivers.held() <= 2 * TRANSFERS * (LONGEST + 256));
    }
    for _ in 0..200 {
        world.now += Duration::from_secs(1);
        while world.receivers.expire(world.now, &mut world.out) {}
        while world.senders.poll(world.now, &mut world.out) == Some(Poll::Send) {}
    }
    assert_eq!(
        (world.senders.under_way(), world.receivers.next()),
        (0, None)
    );
});

fn step(world: &mut World, input: &mut Input<'_>) -> Option<()> {
    match input.byte()? % 8 {
        0 => world.now += Duration::from_millis(u64::from(input.byte()?) * 20),
        1 => {
            let request = request(input.byte()?);
            let mut head = *SaMad::from_bytes(&request.mad);
            head.mad.method |= method::RESPONSE_BIT;
            let length = input.word()? as usize % (2 * LONGEST);
            let records = Bytes::from(vec![input.byte()?; length], 0);
            let _ = world.senders.start(&request, &head, records, world.now);
        }
        2 => {
            world.senders.resume(&request(input.byte()?));
        }
        3 => {
            for _ in 0..input.byte()? {
                if world.senders.poll(world.now, &mut world.out) == Some(Poll::Send) {
                    keep(world);
                }
            }
        }
        4 | 5 => {
            let choice = usize::from(input.byte()?) % world.flying.len().max(1);
            let packet = world.flying.get(choice).copied();
            packet.map(|packet| deliver(world, &packet));
        }
        6 => {
            // Everything that is on its way, in order.
            for packet in std::mem::take(&mut world.flying) {
                deliver(world, &packet);
            }
        }
        _ => {
            let mut packet = request(input.byte()?);
            let mad = SaMad::from_bytes_mut(&mut packet.mad);
            mad.mad.method = input.byte()?;
            mad.rmpp = RmppHeader::data(input.byte()? | 1, input.word()?, input.word()?);
            mad.rmpp.packet_type = input.byte()?;
            mad.rmpp.status = input.byte()?;
            deliver(world, &packet);
        }
    }
    Some(())
}

fn deliver(world: &mut World, packet: &Slot) {
    match classify(SaMad::from_bytes(&packet.mad)) {
        Class::Plain => {}
        Class::Segment => {
            let arrival = world.receivers.receive(packet, world.now, &mut world.out);
            if let Arrival::Message(message) = &arrival {
                assert!((56..=56 + LONGEST).contains(&message.len()));
            }
            if arrival != Arrival::Quiet {
                keep(world);
            }
        }
        Class::Control => {
            world.senders.receive(packet, world.now);
            world.receivers.abort(packet);
        }
    }
}

fn keep(world: &mut World) {
    if world.flying.len() < 256 {
        world.flying.push(world.out);
    }
}

fn request(transaction: u8) -> Slot {
    let mut slot = Slot::EMPTY;
    slot.header.lid = 5.into();
    let mad = SaMad::from_bytes_mut(&mut slot.mad);
    mad.mad.mgmt_class = MGMT_CLASS_SA;
    mad.mad.method = method::GET_TABLE;
    mad.mad.transaction_id = u64::from(transaction % 6).into();
    slot
}
