use proptest::prelude::*;

use super::super::kernel::{Answer, read_answer};
use super::*;
use crate::netlink_ls::PathFlags;
use crate::path_record::PathRecord;
use zerocopy::{FromBytes, IntoBytes};

fn head() -> impl Strategy<Value = Head> {
    let operation = prop_oneof![Just(Operation::Resolve), Just(Operation::SetTimeout)];
    let role = prop_oneof![
        Just(Role::Request),
        Just(Role::Success),
        Just(Role::Failure)
    ];
    (operation, role, any::<u32>()).prop_map(|(operation, role, seq)| Head {
        operation,
        role,
        seq,
    })
}

/// An attribute that owns its name.
#[derive(Debug, Clone)]
enum Owned {
    Item(Item<'static>),
    Hostname(bool, bool, Vec<u8>),
}

impl Owned {
    fn item(&self) -> Item<'_> {
        match self {
            Self::Item(item) => *item,
            Self::Hostname(is_source, is_destination, name) => Item::Address(Address {
                is_source: *is_source,
                is_destination: *is_destination,
                name: Name::Hostname(Hostname::new(name).unwrap()),
            }),
        }
    }
}

fn item() -> impl Strategy<Value = Owned> {
    let status = prop_oneof![
        Just(Status::Success),
        Just(Status::Invalid),
        Just(Status::NoData)
    ];
    let bytes = || prop::collection::vec(any::<u8>(), 64);
    let flags = || (0..0x40_u32).prop_map(PathFlags);
    let address = |name: Name<'static>, is_source, is_destination| {
        Owned::Item(Item::Address(Address {
            is_source,
            is_destination,
            name,
        }))
    };
    prop_oneof![
        status.prop_map(|it| Owned::Item(Item::Status(it))),
        any::<u32>().prop_map(|it| Owned::Item(Item::Timeout(it))),
        (
            any::<bool>(),
            any::<bool>(),
            prop::collection::vec(1..=u8::MAX, 1..65)
        )
            .prop_map(|(source, destination, name)| Owned::Hostname(
                source,
                destination,
                name
            )),
        (any::<[u8; 4]>(), any::<bool>(), any::<bool>()).prop_map(move |(it, source, to)| address(
            Name::V4(it.into()),
            source,
            to
        )),
        (any::<[u8; 16]>(), any::<bool>(), any::<bool>())
            .prop_map(move |(it, source, to)| address(Name::V6(it.into()), source, to)),
        (flags(), bytes()).prop_map(|(flags, it)| {
            Owned::Item(Item::Path(Path::Wire(
                flags,
                PathRecord::read_from_bytes(&it).unwrap(),
            )))
        }),
        (flags(), bytes()).prop_map(|(flags, it)| {
            let record = UserPathRecord::read_from_bytes(&it).unwrap();
            Owned::Item(Item::Path(Path::User(flags, record)))
        }),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        messages in prop::collection::vec((head(), prop::collection::vec(item(), 0..6)), 1..4),
    ) {
        let mut datagram = Vec::new();
        for (head, items) in &messages {
            let items: Vec<_> = items.iter().map(Owned::item).collect();
            let mut room = [0; 1024];
            let length = write(&mut room, *head, &items).unwrap();
            prop_assert_eq!(length % 4, 0);
            datagram.extend_from_slice(&room[..length]);
        }
        let read: Vec<_> = read(&datagram).map(Result::unwrap).collect();
        prop_assert_eq!(read.len(), messages.len());
        for ((head, items), (read_head, read_items)) in messages.iter().zip(read) {
            prop_assert_eq!(*head, read_head);
            let read_items: Vec<_> = read_items.map(Result::unwrap).collect();
            prop_assert_eq!(items.iter().map(Owned::item).collect::<Vec<_>>(), read_items);
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(datagram in prop::collection::vec(any::<u8>(), 0..300)) {
        for message in read(&datagram) {
            let Ok((_, items)) = message else { continue };
            let _ = items.count();
        }
    }

    #[test]
    fn a_room_too_small_is_refused(head in head(), item in item(), cut in 1..16_usize) {
        let mut room = [0; 256];
        let items = [item.item()];
        let length = write(&mut room, head, &items).unwrap();
        let short = &mut room[..length - cut];
        prop_assert_eq!(write(short, head, &items), Err(WriteError::Room(length - cut)));
    }

    #[test]
    fn the_users_form_keeps_what_it_has_room_for(bytes in prop::collection::vec(any::<u8>(), 64)) {
        let mut record = PathRecord::read_from_bytes(&bytes).unwrap();
        let user = UserPathRecord::from(&record);
        let back = PathRecord::from(&user);
        record.service_id = 0.into();
        record.qos_class_sl = QosClassSl::new(0, record.qos_class_sl.sl());
        record.flow.0 = (record.flow.0.get() & !0x7000_0000).into();
        record.reserved = [0; 6];
        prop_assert_eq!(record, back);
        prop_assert_eq!(UserPathRecord::from(&back), user);
    }
}

use crate::path_record::QosClassSl;

#[test]
fn offsets_of_the_users_form_are_the_headers() {
    let user = UserPathRecord {
        dlid: 0x1122.into(),
        sl: 0x33,
        preference: 0x44,
        ..Default::default()
    };
    let bytes = user.as_bytes();
    assert_eq!(
        (&bytes[32..34], bytes[57], bytes[63]),
        (&[0x11, 0x22][..], 0x33, 0x44)
    );
}

/// Why this layout is never spoken to a kernel.
#[test]
fn a_kernel_reads_success_as_failure_and_failure_as_an_empty_success() {
    let flags = PathFlags(0x2b);
    let record = [Item::Path(Path::Wire(flags, PathRecord::default()))];
    let kernel_makes_of = |role, items: &[Item<'_>]| {
        let mut room = [0; 256];
        let head = Head {
            operation: Operation::Resolve,
            role,
            seq: 1,
        };
        let length = write(&mut room, head, items).unwrap();
        let message = Messages::new(&room[..length]).next().unwrap().unwrap();
        read_answer(&message, PathFlags(0x2b), 3)
    };
    assert_eq!(kernel_makes_of(Role::Success, &record), Answer::AskSa);
    let status = [Item::Status(Status::NoData)];
    assert_eq!(kernel_makes_of(Role::Failure, &status), Answer::Fail);
}
