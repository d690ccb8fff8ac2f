use core::net::IpAddr;

use proptest::prelude::*;
use zerocopy::{FromBytes, IntoBytes};

use super::kernel::{Answer, read_answer, read_gid, read_timeout, write_ip_resolve, write_resolve};
use super::*;
use crate::ids::{Gid, ServiceId};
use crate::path_record::PathRecord;

fn path_use() -> impl Strategy<Value = PathUse> {
    prop_oneof![
        Just(PathUse::All),
        Just(PathUse::Unidirectional),
        Just(PathUse::Gmp)
    ]
}

prop_compose! {
    fn components()(
        service_id in any::<Option<u64>>(),
        dgid in any::<Option<[u8; 16]>>(),
        sgid in any::<Option<[u8; 16]>>(),
        tclass in any::<Option<u8>>(),
        pkey in any::<Option<u16>>(),
        qos_class in any::<Option<u16>>(),
    ) -> Resolve<'static> {
        Resolve {
            seq: 0,
            device: b"",
            port: 1,
            path_use: PathUse::All,
            service_id: service_id.map(ServiceId),
            dgid: dgid.map(Gid),
            sgid: sgid.map(Gid),
            tclass,
            pkey,
            qos_class,
        }
    }
}

fn is_empty(it: &Resolve<'_>) -> bool {
    let Resolve {
        service_id: None,
        dgid: None,
        sgid: None,
        ..
    } = it
    else {
        return false;
    };
    it.tclass.is_none() && it.pkey.is_none() && it.qos_class.is_none()
}

fn only(datagram: &[u8]) -> Message<'_> {
    Messages::new(datagram).next().unwrap().unwrap()
}

proptest! {
    #[test]
    fn what_the_kernel_writes_is_heard(
        components in components(),
        path_use in path_use(),
        name in prop::collection::vec(1..=u8::MAX, 0..=64),
        (seq, port) in (any::<u32>(), 1..=u8::MAX),
    ) {
        let question = Resolve { seq, port, path_use, device: &name, ..components };
        let mut room = [0; 160];
        let length = write_resolve(&mut room, &question).unwrap();
        let mut heard = heard(&room[..length]);
        match heard.next() {
            Some(Heard::Malformed { why: Malformed::Empty, .. }) => {
                prop_assert!(is_empty(&question));
            }
            other => prop_assert_eq!(other, Some(Heard::Question(Question::Resolve(question)))),
        }
        prop_assert_eq!(heard.next(), None);
    }

    #[test]
    fn addresses_are_heard(seq: u32, ifindex: u32, v4: [u8; 4], v6: [u8; 16], is_v6: bool) {
        let address = if is_v6 { IpAddr::from(v6) } else { IpAddr::from(v4) };
        let question = IpResolve { seq, ifindex, address };
        let mut room = [0; 64];
        let length = write_ip_resolve(&mut room, &question).unwrap();
        prop_assert_eq!(length, if is_v6 { 40 } else { 28 });
        let heard: Vec<_> = heard(&room[..length]).collect();
        prop_assert_eq!(heard, [Heard::Question(Question::IpResolve(question))]);
    }

    #[test]
    fn the_kernel_takes_what_is_written(
        seq: u32,
        path_use in path_use(),
        bytes in prop::collection::vec(any::<u8>(), 64),
        count in 1..=MAX_RECORDS,
    ) {
        let record = PathRecord::read_from_bytes(&bytes).unwrap();
        let records = vec![(PathFlags::for_main(path_use), record); count];
        let mut room = [0; reply::MAX_REPLY_SIZE];
        let length = write_records(&mut room, seq, &records).unwrap();
        prop_assert_eq!(length, 16 + 76 * count);
        let message = only(&room[..length]);
        prop_assert_eq!((message.header.seq, message.header.flags), (seq, 0));
        match read_answer(&message, PathFlags::mask(path_use), 3) {
            Answer::Taken(taken) => prop_assert_eq!(taken.records(), &records[..]),
            other => prop_assert!(false, "{:?}", other),
        }
    }

    /// Each byte is part of a message that is heard once; no input is answered without its number.
    #[test]
    fn any_bytes_are_heard(datagram in prop::collection::vec(any::<u8>(), 0..400)) {
        for heard in heard(&datagram) {
            if let Heard::Question(Question::Resolve(resolve)) = heard {
                prop_assert!(resolve.device.len() <= DEVICE_SIZE && resolve.port > 0);
                prop_assert!(!is_empty(&resolve));
            }
        }
    }

    /// Valid requests with a few bytes changed reach further into the reader.
    #[test]
    fn damaged_requests_are_heard(
        components in components(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut room = [0; 160];
        let length = write_resolve(&mut room, &components).unwrap();
        for (at, byte) in changes {
            room[at.index(length)] = byte;
        }
        let whole = heard(&room[..length]).count();
        prop_assert!(whole >= 1);
        let _ = heard(&room[..cut.index(length)]).count();
    }

    #[test]
    fn any_reply_is_read(body in prop::collection::vec(any::<u8>(), 0..400), flags: u16, most in 1..4_usize) {
        let header = Header { kind: kind::RESOLVE, flags, seq: 1, pid: 0 };
        let message = Message { header, body: &body };
        if let Answer::Taken(taken) = read_answer(&message, PathFlags::PRIMARY, most) {
            prop_assert!((1..=most).contains(&taken.records().len()));
        }
        let _ = read_gid(&message);
        if let Some(timeout) = read_timeout(&message) {
            prop_assert!((MIN_TIMEOUT_MS..=MAX_TIMEOUT_MS).contains(&timeout));
        }
    }
}

#[test]
fn no_success_is_empty_or_too_long() {
    let mut room = [0; 512];
    let record = (PathFlags(0x2b), PathRecord::default());
    assert_eq!(
        write_records(&mut room, 1, &[]),
        Err(WriteError::Records(0))
    );
    assert_eq!(
        write_records(&mut room, 1, &[record; 4]),
        Err(WriteError::Records(4))
    );
    assert_eq!(
        write_records(&mut room[..91], 1, &[record]),
        Err(WriteError::Room(91))
    );
}

#[test]
fn flags_for_the_main_record_satisfy_every_kernel() {
    assert_eq!(PathFlags::for_main(PathUse::Unidirectional).0, 0x0a);
    assert_eq!(PathFlags::for_main(PathUse::Gmp).0, 0x2b);
    assert_eq!(PathFlags::for_main(PathUse::All).0, 0x2b);
    assert_eq!(PathFlags::mask(PathUse::All).0, 0x02);
}

#[test]
fn a_refusal_repeats_type_and_number() {
    let mut room = [0; 16];
    assert_eq!(write_error(&mut room, 0x1003, 0xffff_ffff), Ok(16));
    let expected = Header {
        kind: 0x1003,
        flags: flags::LS_ERROR,
        seq: u32::MAX,
        pid: 0,
    };
    assert_eq!(only(&room).header, expected);
}

#[test]
fn a_gid_is_read_back_and_a_short_one_is_ignored() {
    let mut room = [0; 36];
    let length = write_gid(&mut room, 3, Gid([9; 16])).unwrap();
    assert_eq!(read_gid(&only(&room[..length])), Some(Gid([9; 16])));
    room[16] = 12;
    assert_eq!(read_gid(&only(&room[..length])), None);
}

/// The request, with bytes put in from a place on, as an agent hears it.
fn damaged(at: usize, bytes: &[u8]) -> Option<Malformed> {
    let question = Resolve {
        seq: 7,
        device: b"mlx5_0",
        port: 1,
        path_use: PathUse::Gmp,
        service_id: None,
        dgid: Some(Gid([1; 16])),
        sgid: Some(Gid([2; 16])),
        tclass: None,
        pkey: Some(0xffff),
        qos_class: None,
    };
    let mut room = [0; 160];
    let length = write_resolve(&mut room, &question).unwrap();
    room[at..at + bytes.len()].copy_from_slice(bytes);
    match heard(&room[..length]).next().unwrap() {
        Heard::Malformed {
            kind: kind::RESOLVE,
            seq: 7,
            why,
        } => Some(why),
        Heard::Question(_) => None,
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_damage_has_its_name() {
    let length = |length: u16| length.to_ne_bytes();
    assert_eq!(damaged(80, &[0]), Some(Malformed::PortZero));
    assert_eq!(damaged(81, &[3]), Some(Malformed::PathUse(3)));
    assert_eq!(damaged(82, &[0xaa, 0x55]), None);
    assert_eq!(
        damaged(84, &length(3)),
        Some(AttributeDamage::LengthTooSmall(3).into())
    );
    let too_large = AttributeDamage::LengthTooLarge {
        length: 64,
        left: 8,
    };
    assert_eq!(damaged(124, &length(64)), Some(too_large.into()));
    assert_eq!(
        damaged(124, &length(5)),
        Some(Malformed::Length { kind: 7, length: 1 })
    );
    assert_eq!(
        damaged(126, &length(40 | MANDATORY)),
        Some(Malformed::UnknownMandatory(40))
    );
    assert_eq!(damaged(126, &length(40)), None);
    // SGID turned into a second DGID of another value, then of the same one.
    assert_eq!(
        damaged(106, &length(4 | MANDATORY)),
        Some(Malformed::Contradiction(4))
    );
    let same: Vec<u8> = length(4 | MANDATORY).into_iter().chain([1; 16]).collect();
    assert_eq!(damaged(106, &same), None);
}

#[test]
fn what_is_not_for_an_agent_is_left_alone() {
    let message = |kind: u16, flags: u16| {
        let mut room = [0; 16];
        write_error(&mut room, kind, 1).unwrap();
        room[6..8].copy_from_slice(&flags.to_ne_bytes());
        room
    };
    let why = |bytes: &[u8]| match heard(bytes).next() {
        Some(Heard::NotForUs(why)) => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(why(&message(kind::DONE, 1)), NotForUs::Control(3));
    assert_eq!(why(&message(kind::NOOP, 1)), NotForUs::Control(1));
    assert_eq!(why(&message(5 << 10, 1)), NotForUs::OtherClient(5));
    assert_eq!(why(&message(kind::RESOLVE, 0)), NotForUs::NoRequest);
    assert_eq!(
        why(&message(kind::RESOLVE, 1)[..15]),
        MessageDamage::Short(15).into()
    );
    let mut short = message(kind::RESOLVE, 1);
    short[0] = 12;
    assert_eq!(why(&short), MessageDamage::LengthTooSmall(12).into());
    short[0] = 20;
    assert_eq!(why(&short), MessageDamage::LengthTooLarge(20).into());
}

#[test]
fn timeouts_are_signed_and_clamped() {
    let taken = |value: u32| {
        let mut room = [0; 24];
        let length = write_set_timeout(&mut room, 1, value, false).unwrap();
        read_timeout(&only(&room[..length]))
    };
    let cases = [
        (500, 500),
        (99, 100),
        (0, 100),
        (300_000, 200_000),
        (u32::MAX, 100),
    ];
    for (asked, expected) in cases {
        assert_eq!(taken(asked), Some(expected), "{asked}");
    }
    // Two bytes change nothing.
    let header = Header {
        kind: kind::SET_TIMEOUT,
        flags: 5,
        seq: 1,
        pid: 0,
    };
    let body = [6, 0, 2, 0, 0xf4, 1, 0, 0];
    assert_eq!(
        read_timeout(&Message {
            header,
            body: &body
        }),
        None
    );
}

#[test]
fn a_short_record_is_read_past_its_end() {
    let header = Header {
        kind: kind::RESOLVE,
        flags: 0,
        seq: 1,
        pid: 0,
    };
    let body = [12, 0, 1, 0, 0x2b, 0, 0, 0, 0, 0, 0, 0];
    let message = Message {
        header,
        body: &body,
    };
    let Answer::Taken(taken) = read_answer(&message, PathFlags(0x2b), 3) else {
        panic!()
    };
    assert!(taken.overread);
    assert_eq!(taken.records()[0].1.as_bytes(), [0; 64]);
}
