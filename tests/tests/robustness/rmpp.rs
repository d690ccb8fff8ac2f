//! RMPP: senders against receivers over a channel that loses, doubles and reorders, with a clock
//! of its own; and against packets that nobody in his right mind would send.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::time::Duration;

use proptest::prelude::*;
use sa_answer::rmpp::{
    Allowance, Arrival, Bytes, Class, Generated, Poll, Receivers, SenderLimits, Senders, Source,
    Timing, acknowledgement, classify,
};
use sa_tests::rng::Rng;
use sa_wire::mad::{MGMT_CLASS_SA, method};
use sa_wire::rmpp::{RmppHeader, packet_type, payload_lengths};
use sa_wire::sa::SaMad;
use sa_wire::umad::Slot;

/// True in so many of a hundred cases.
fn hits(rng: &mut Rng, percent: u64) -> bool {
    rng.number() % 100 < percent
}

/// What the way between the two ends does to packets. Units: percent, and ms.
#[derive(Debug, Clone, Copy)]
struct Weather {
    lost: u64,
    doubled: u64,
    least_delay: u64,
    most_delay: u64,
}

const FINE: Weather = Weather {
    lost: 0,
    doubled: 0,
    least_delay: 1,
    most_delay: 1,
};

/// One direction: packets and when they arrive.
struct Way {
    weather: Weather,
    rng: Rng,
    flying: Vec<(Duration, Slot)>,
    carried: u64,
}

impl Way {
    fn new(weather: Weather, seed: u64) -> Self {
        Self {
            weather,
            rng: Rng::new(seed),
            flying: Vec::new(),
            carried: 0,
        }
    }

    fn send(&mut self, packet: &Slot, now: Duration) {
        self.carried += 1;
        let Weather {
            lost,
            doubled,
            least_delay,
            most_delay,
        } = self.weather;
        if hits(&mut self.rng, lost) {
            return;
        }
        let copies = if hits(&mut self.rng, doubled) { 2 } else { 1 };
        for _ in 0..copies {
            let delay = least_delay + self.rng.number() % (most_delay - least_delay + 1);
            self.flying
                .push((now + Duration::from_millis(delay), *packet));
        }
    }

    /// In order of sending when times are equal.
    fn arrived(&mut self, now: Duration) -> Vec<Slot> {
        let due = |(time, _): &mut (Duration, Slot)| *time <= now;
        let mut due: Vec<_> = self.flying.extract_if(.., due).collect();
        due.sort_by_key(|(time, _)| *time);
        due.into_iter().map(|(_, packet)| packet).collect()
    }

    fn next(&self) -> Option<Duration> {
        self.flying.iter().map(|(time, _)| *time).min()
    }
}

fn request(transaction: u64) -> Slot {
    let mut slot = Slot::EMPTY;
    slot.header.lid = 5.into();
    slot.header.qpn = 1.into();
    let mad = SaMad::from_bytes_mut(&mut slot.mad);
    mad.mad.mgmt_class = MGMT_CLASS_SA;
    mad.mad.method = method::GET_TABLE;
    mad.mad.transaction_id = transaction.into();
    slot
}

fn head(request: &Slot) -> SaMad {
    let mut head = *SaMad::from_bytes(&request.mad);
    head.mad.method |= method::RESPONSE_BIT;
    head.sa.attribute_offset = 8.into();
    head
}

/// How an exchange went.
struct Outcome {
    message: Option<Vec<u8>>,
    /// When the sender had nothing more to do.
    ended: Duration,
    /// Most that the receivers kept. Units: bytes.
    held: usize,
    delivered: u64,
    packets: u64,
}

/// Sends the records to an end that takes messages up to `longest` bytes, until nothing is left
/// to do. `asks` are times at which the requester sends its request again.
fn exchange<S: Source>(
    source: S,
    longest: usize,
    weather: Weather,
    seed: u64,
    asks: &[Duration],
) -> Outcome {
    let request = request(seed);
    let mut senders = Senders::new(SenderLimits::default());
    let mut receivers = Receivers::new(4, Allowance::for_messages_of(longest));
    let (mut there, mut back) = (Way::new(weather, seed), Way::new(weather, !seed));
    let mut now = Duration::ZERO;
    let mut out = Slot::EMPTY;
    let mut outcome = Outcome {
        message: None,
        ended: now,
        held: 0,
        delivered: 0,
        packets: 0,
    };
    senders
        .start(&request, &head(&request), source, now)
        .unwrap();
    let mut asks = asks.iter().peekable();
    loop {
        if asks.next_if(|time| **time <= now).is_some() {
            senders.resume(&request);
        }
        let mut wake = None;
        while let Some(poll) = senders.poll(now, &mut out) {
            match poll {
                Poll::Send => there.send(&out, now),
                Poll::Wait(until) => {
                    wake = Some(until);
                    break;
                }
                Poll::Ended(_) => unreachable!("taken away"),
            }
        }
        if senders.under_way() > 0 {
            outcome.ended = now;
        }
        for packet in there.arrived(now) {
            let mad = SaMad::from_bytes(&packet.mad);
            if classify(mad) == Class::Control {
                assert_eq!(mad.rmpp.packet_type, packet_type::ABORT);
                receivers.abort(&packet);
                continue;
            }
            match receivers.receive(&packet, now, &mut out) {
                Arrival::Quiet => {}
                Arrival::Answer => back.send(&out, now),
                Arrival::Message(message) => {
                    assert!(outcome.message.is_none(), "a message comes once");
                    outcome.message = Some(message);
                    back.send(&out, now);
                }
            }
            outcome.held = outcome.held.max(receivers.held());
        }
        let answers = back.arrived(now);
        for packet in &answers {
            senders.receive(packet, now);
        }
        if receivers.expire(now, &mut out) {
            back.send(&out, now);
        }
        let ask = asks.peek().map(|time| **time);
        if senders.under_way() == 0 && there.next().is_none() && back.next().is_none() {
            break;
        }
        // What was acknowledged may be followed by more at once.
        let at_once = (!answers.is_empty()).then_some(now);
        let times = [
            at_once,
            wake,
            there.next(),
            back.next(),
            receivers.next(),
            ask,
        ];
        now = times
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(now)
            .max(now + TICK);
    }
    outcome.delivered = senders.tally().delivered;
    outcome.packets = there.carried + back.carried;
    outcome
}

const TICK: Duration = Duration::from_micros(100);

fn pattern(length: usize) -> Vec<u8> {
    (0..length)
        .map(|at| u8::try_from((at / 7 + at) % 253).unwrap())
        .collect()
}

/// No transfer may take longer: its own limit, and the retries of what was sent last.
fn bound() -> Duration {
    let timing = Timing::default();
    timing.transfer + timing.acknowledgement
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(64), ..ProptestConfig::default() })]

    #[test]
    fn a_transfer_ends_in_the_same_bytes_or_in_a_word_about_it(
        length in prop_oneof![0usize..2000, 0usize..60_000],
        lost in prop_oneof![Just(0u64), 0u64..30, 30u64..100],
        doubled in 0u64..30,
        delays in (0u64..50, 0u64..3000),
        seed in any::<u64>(),
        asks in prop::collection::vec(0u64..20_000, 0..3),
    ) {
        let weather = Weather {
            lost,
            doubled,
            least_delay: delays.0,
            most_delay: delays.0 + delays.1,
        };
        let mut asks: Vec<_> = asks.into_iter().map(Duration::from_millis).collect();
        asks.sort();
        let bytes = pattern(length);
        let source = Bytes::from(bytes.clone(), 0);
        let outcome = exchange(source, 1 << 20, weather, seed, &asks);
        prop_assert!(outcome.ended <= bound(), "{:?}", outcome.ended);
        if let Some(message) = &outcome.message {
            prop_assert_eq!(&message[56..], &bytes[..]);
            prop_assert_eq!(message[44..46].to_vec(), vec![0, 8]);
        }
        // A sender believes nothing that is not so.
        prop_assert!(outcome.delivered == 0 || outcome.message.is_some());
        prop_assert!(outcome.held <= 2 * (length + 56 + 65 * 200));
        if lost == 0 && delays.1 < 900 {
            prop_assert_eq!(outcome.delivered, 1);
        }
    }

    #[test]
    fn what_is_longer_than_the_receiver_allows_is_stopped(
        length in 1usize..20_000,
        less in 1usize..10_000,
        seed in any::<u64>(),
    ) {
        let allowed = length.saturating_sub(less);
        let source = Bytes::from(pattern(length), 0);
        let outcome = exchange(source, allowed, FINE, seed, &[]);
        prop_assert!(outcome.message.is_none());
        prop_assert_eq!(outcome.delivered, 0);
        prop_assert!(outcome.ended < Duration::from_millis(100), "{:?}", outcome.ended);
        prop_assert!(outcome.held <= 2 * (allowed + 56));
    }

    /// Any packets, most of them near enough to real ones to get somewhere.
    #[test]
    fn hostile_packets_break_nothing(seed in any::<u64>()) {
        let mut rng = Rng::new(seed);
        let timing = Timing::default();
        let limits = SenderLimits { transfers: 4, timing, ..SenderLimits::default() };
        let mut senders = Senders::new(limits);
        let mut receivers = Receivers::new(4, Allowance::for_messages_of(20_000));
        let mut now = Duration::ZERO;
        let mut out = Slot::EMPTY;
        for _ in 0..2000 {
            now += Duration::from_millis(rng.number() % 300);
            let mut packet = request(rng.number() % 6);
            match rng.below(8) {
                0 => {
                    let bytes = Bytes::from(pattern(rng.below(30_000)), 0);
                    let _ = senders.start(&packet, &head(&packet), bytes, now);
                }
                1 => {
                    senders.resume(&packet);
                }
                _ => {
                    hostile(&mut rng, &mut packet);
                    let mad = SaMad::from_bytes(&packet.mad);
                    if classify(mad) == Class::Segment {
                        receivers.receive(&packet, now, &mut out);
                    } else {
                        senders.receive(&packet, now);
                        receivers.abort(&packet);
                    }
                }
            }
            for _ in 0..rng.below(100) {
                senders.poll(now, &mut out);
            }
            receivers.expire(now, &mut out);
            prop_assert!(senders.under_way() <= 4);
            prop_assert!(receivers.held() <= 4 * 2 * (20_000 + 56));
        }
        // In the end all is gone.
        for _ in 0..100_000 {
            now += Duration::from_secs(1);
            receivers.expire(now, &mut out);
            if senders.poll(now, &mut out).is_none() && receivers.next().is_none() {
                return Ok(());
            }
        }
        prop_assert!(false, "something is left for ever");
    }
}

/// Gives the packet an RMPP header of small and large numbers.
fn hostile(rng: &mut Rng, packet: &mut Slot) {
    let number = |rng: &mut Rng| match rng.below(6) {
        0 => 0,
        1 => u32::MAX,
        2 => u32::try_from(rng.number() & 0xffff_ffff).unwrap(),
        3 => u32::try_from(rng.below(221)).unwrap(),
        4 => u32::try_from(rng.below(20) * 220).unwrap(),
        _ => u32::try_from(1 + rng.below(80)).unwrap(),
    };
    let byte = |rng: &mut Rng| u8::try_from(rng.below(256)).unwrap();
    let mad = SaMad::from_bytes_mut(&mut packet.mad);
    let flags = byte(rng) | u8::from(!hits(rng, 5));
    mad.rmpp = RmppHeader::data(flags, number(rng), number(rng));
    mad.rmpp.packet_type = u8::try_from(rng.below(5)).unwrap();
    if hits(rng, 10) {
        mad.rmpp.version = byte(rng);
        mad.rmpp.packet_type = byte(rng);
    }
    if hits(rng, 10) {
        mad.rmpp.status = byte(rng);
    }
    if hits(rng, 10) {
        mad.rmpp.response_time_flags = byte(rng);
    }
    if hits(rng, 50) {
        mad.mad.method |= method::RESPONSE_BIT;
    }
}

fn cases(usual: u32) -> u32 {
    let scale = std::env::var("SAPPHIRE_FUZZ_SCALE").ok();
    usual * scale.and_then(|scale| scale.parse().ok()).unwrap_or(1)
}

/// The table of a fabric of 375 nodes, made as it is sent.
#[test]
fn a_table_of_140_625_records_goes_through_a_few_kilobytes() {
    const RECORDS: u32 = 140_625;
    let record = |number: u32| {
        let mut record = [0; 64];
        record[..4].copy_from_slice(&number.to_be_bytes());
        record[60..].copy_from_slice(&(!number).to_be_bytes());
        record
    };
    let source = Generated::new(64, RECORDS, |first, out: &mut [u8]| {
        for (number, place) in (first..).zip(out.chunks_exact_mut(64)) {
            place.copy_from_slice(&record(number));
        }
        Ok(())
    });
    assert!(source.held() <= 32 * 1024);
    let segments = payload_lengths(source.length()).unwrap().segments;
    let outcome = exchange(source, 16 << 20, FINE, 1, &[]);
    let message = outcome.message.expect("a message");
    assert!(
        message[56..]
            .chunks_exact(64)
            .zip(0..)
            .all(|(bytes, number)| bytes == record(number))
    );
    assert_eq!(message.len(), 56 + 64 * 140_625);
    // One acknowledgement for a window of 64, one for the first segment and one for the last.
    assert_eq!(
        outcome.packets,
        u64::from(segments + (segments - 1) / 64 + 2)
    );
}

/// A receiver that takes nearly two seconds for every acknowledgement, and states it.
#[test]
fn slow_acknowledgements_are_waited_for() {
    let weather = Weather {
        least_delay: 950,
        most_delay: 950,
        ..FINE
    };
    let bytes = pattern(64 * 200 * 20);
    let outcome = exchange(Bytes::from(bytes.clone(), 0), 1 << 20, weather, 3, &[]);
    assert_eq!(outcome.message.expect("a message")[56..], bytes);
    assert_eq!(outcome.delivered, 1);
    let segments = bytes.len() / 200;
    // 1.9 s for the first segment, for each window of 64 and for the rest.
    assert_eq!(outcome.packets, (segments + 1 + 20) as u64, "nothing twice");
}

/// A receiver that acknowledges one segment at a time just before it is asked again may hold a
/// sender up, but not for ever.
#[test]
fn a_dawdling_receiver_is_aborted_in_time() {
    let request = request(1);
    let mut senders = Senders::new(SenderLimits::default());
    let source = Bytes::from(pattern(1 << 20), 0);
    senders
        .start(&request, &head(&request), source, Duration::ZERO)
        .unwrap();
    let mut out = Slot::EMPTY;
    let (mut now, mut segment, mut said) = (Duration::ZERO, 0, 0);
    while let Some(poll) = senders.poll(now, &mut out) {
        let mad = SaMad::from_bytes(&out.mad);
        if poll == Poll::Send && mad.rmpp.packet_type == packet_type::DATA {
            segment += 1;
            now += Duration::from_millis(1900);
            let mut ack = request;
            ack.mad = acknowledgement(mad, segment, segment + 1);
            senders.receive(&ack, now);
        } else if poll == Poll::Send {
            said = mad.rmpp.status;
        }
    }
    assert_eq!((said, senders.tally().aborted), (118, 1));
    assert!(now <= bound(), "{now:?}");
}
