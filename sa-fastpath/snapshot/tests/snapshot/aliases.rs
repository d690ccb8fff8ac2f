//! Second GUIDs of ports: found, in order, and refused where they cannot be.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use proptest::prelude::*;
use sa_snapshot::model::*;
use sa_snapshot::{BuildError, Builder, EpochId, LoadError, NamedPort, PortIx, Snapshot};
use sa_wire::{Guid, Lid, Lmc, Mtu, NodeType, Pkey, Rate, SlVlMask};

fn guid(raw: u64) -> Guid {
    Guid::new(raw).unwrap()
}

/// Ports 0x1001, 0x2001 and so on, on one switch.
fn model(ports: u16, aliases: &[(u64, usize)]) -> Model {
    let capacity = Capacity {
        mtu: Mtu::M2048,
        rate: Rate::from_code(3).unwrap().rank(),
    };
    let port = |ix: u16| PortRow {
        guid: guid(u64::from(ix + 1) << 12 | 1),
        node_type: NodeType::Ca,
        lid: Lid::new(ix + 1).unwrap(),
        lmc: Lmc::new(0).unwrap(),
        switch: Some(0),
        own: capacity,
        edge: capacity,
        sl_out: SlVlMask::ALL,
        sl_in: SlVlMask::ALL,
        rate_caps: RateCaps::default(),
        pkeys: vec![Pkey::new(0xffff).unwrap()],
        coordinate: None,
    };
    Model {
        provenance: Provenance::default(),
        subnet: Subnet::default(),
        ports: (0..ports).map(port).collect(),
        partitions: Vec::new(),
        paths: PathTables {
            engine_sl: EngineSl::Keep,
            classes: vec![
                PathClass {
                    capacity,
                    carried: SlVlMask::ALL,
                    hops: 1,
                    sl: PathSl::Policy,
                };
                2
            ],
            rows: vec![1; ports.into()],
            columns: vec![vec![1]; ports.into()],
            pairs: Pairs::Uniform {
                within: 1,
                across: 1,
            },
        },
        policy: None,
        groups: Vec::new(),
        prefix_routes: Vec::new(),
        aliases: aliases
            .iter()
            .map(|(alias, port)| (guid(*alias), *port))
            .collect(),
    }
}

fn built(ports: u16, aliases: &[(u64, usize)]) -> Snapshot {
    Builder::build(&model(ports, aliases)).unwrap()
}

fn raw(named: NamedPort) -> u64 {
    u64::from_be_bytes(named.guid)
}

#[test]
fn aliases_stand_among_the_ports_in_the_order_of_tables() {
    // Byte-reversed: 0x200000 < 0x1001 < 0x2001 < 0x3001 < 0x2; two of the second port.
    let snapshot = built(3, &[(2, 1), (0x20_0000, 1), (0x2101, 0)]);
    let all: Vec<_> = (0..snapshot.guid_count())
        .map(|nth| raw(snapshot.nth_guid(nth).unwrap()))
        .collect();
    let mut expected = [0x1001, 0x2001, 0x3001, 2, 0x20_0000, 0x2101].map(guid);
    expected.sort_by_key(|guid| guid.map_order());
    assert_eq!(all, expected.map(Guid::get));
    assert_eq!(snapshot.nth_guid(6), None);
    let second = snapshot.port_by_guid(0x2001).unwrap();
    let of_second: Vec<_> = (0..snapshot.guid_count_of(second))
        .map(|nth| raw(snapshot.nth_guid_of(second, nth).unwrap()))
        .collect();
    assert_eq!(of_second, [0x20_0000, 0x2001, 2]);
    assert_eq!(snapshot.nth_guid_of(second, 3), None);
    assert!(snapshot.aliases_of(second).map(raw).eq([0x20_0000, 2]));
    assert_eq!(snapshot.alias(2), Some(second));
    assert_eq!(snapshot.alias(0x2001), None, "its own");
    assert_eq!(snapshot.alias(3), None);
    assert_eq!(snapshot.named_port(0x2001).unwrap().port, second);
    assert_eq!(snapshot.named_port(0x20_0000).unwrap().port, second);
    let third = snapshot.port_by_guid(0x3001).unwrap();
    assert!(snapshot.is_aliased(second) && !snapshot.is_aliased(third));
    assert_eq!(snapshot.guid_count_of(third), 1);
}

#[test]
fn without_aliases_every_port_has_its_own_guid_only() {
    let snapshot = built(3, &[]);
    assert!(!snapshot.has_aliases());
    assert_eq!(snapshot.guid_count(), 3);
    let own = |(nth, (ix, port)): (u64, (PortIx, &sa_snapshot::PortRecord))| {
        let named = snapshot.nth_guid(nth).unwrap();
        named.port == ix && named.guid == port.guid && snapshot.nth_guid_of(ix, 0) == Some(named)
    };
    assert!((0..).zip(snapshot.ports()).all(own));
}

#[test]
fn aliases_that_cannot_be_are_refused() {
    let error = |aliases: &[(u64, usize)]| Builder::build(&model(3, aliases)).unwrap_err();
    assert_eq!(
        error(&[(7, 0), (7, 1)]),
        BuildError::DuplicateAlias(guid(7))
    );
    assert_eq!(
        error(&[(7, 0), (7, 0)]),
        BuildError::DuplicateAlias(guid(7))
    );
    assert_eq!(
        error(&[(0x3001, 0)]),
        BuildError::DuplicateAlias(guid(0x3001))
    );
    assert!(matches!(error(&[(7, 3)]), BuildError::Inconsistent { .. }));
    let snapshot = built(3, &[]);
    let error = |aliases: &[(u64, u64)]| {
        let aliases: Vec<_> = aliases
            .iter()
            .map(|(alias, port)| (guid(*alias), guid(*port)))
            .collect();
        snapshot.with_aliases(&aliases, None, 0).unwrap_err()
    };
    assert_eq!(
        error(&[(7, 0x1001), (7, 0x2001)]),
        BuildError::DuplicateAlias(guid(7))
    );
    assert_eq!(
        error(&[(0x1001, 0x1001)]),
        BuildError::DuplicateAlias(guid(0x1001))
    );
    assert!(matches!(error(&[(7, 8)]), BuildError::Inconsistent { .. }));
}

#[test]
fn other_aliases_need_no_model() {
    let before = built(3, &[(2, 1), (3, 2)]);
    let after = before
        .with_aliases(&[(guid(9), guid(0x1001))], EpochId::new(5), 77)
        .unwrap();
    let mut wanted = model(3, &[(9, 0)]);
    wanted.provenance.epoch = EpochId::new(5);
    wanted.provenance.built_unix = 77;
    let wanted = Builder::build(&wanted).unwrap();
    assert_eq!(after.as_bytes(), wanted.as_bytes());
    let none = after.with_aliases(&[], None, 0).unwrap();
    assert_eq!(none.as_bytes(), built(3, &[]).as_bytes());
}

/// Where the section with this id lies.
fn section(bytes: &[u8], id: usize) -> usize {
    let entry = 64 + 24 * id + 8;
    usize::try_from(u64::from_le_bytes(
        bytes[entry..entry + 8].try_into().unwrap(),
    ))
    .unwrap()
}

/// What is said of a snapshot with these bytes changed, under a right digest.
fn said(edits: impl Fn(&mut [u8])) -> String {
    let mut bytes = built(3, &[(2, 1), (0x20_0000, 1), (0x2101, 0)])
        .as_bytes()
        .to_vec();
    edits(&mut bytes);
    let digest = xxhash_rust::xxh3::xxh3_64(&bytes[16..]);
    bytes[8..16].copy_from_slice(&digest.to_le_bytes());
    match Snapshot::from_bytes(&bytes) {
        Ok(_) => "nothing".to_owned(),
        Err(error @ LoadError::Section { .. }) => error.to_string(),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn damage_is_named() {
    const PORTS: usize = 2;
    const ALIASES: usize = 35;
    const BY_PORT: usize = 36;
    let flags = |bytes: &mut [u8]| section(bytes, PORTS) + 18;
    assert_eq!(said(|_| {}), "nothing");
    let at = |id, offset: usize, value: u8| {
        said(move |bytes| {
            let start = section(bytes, id);
            bytes[start + offset] = value;
        })
    };
    assert!(at(ALIASES, 7, 0xff).contains("not in order"));
    assert!(at(ALIASES, 8, 3).contains("port or GUID"));
    assert!(at(ALIASES, 10, 9).contains("out of place"));
    assert!(at(BY_PORT, 0, 3).contains("out of range"));
    assert!(at(BY_PORT, 0, 0).contains("not in order"));
    let unflagged = said(|bytes| bytes[flags(bytes) + 1] &= !4);
    assert!(unflagged.contains("alias flag"), "{unflagged}");
    let flagged = said(|bytes| bytes[flags(bytes) + 65] |= 4);
    assert!(flagged.contains("alias flag"), "{flagged}");
    let own = said(|bytes| {
        let start = section(bytes, ALIASES);
        // The first in order becomes the GUID of the first port, before which it stands.
        bytes[start..start + 8].copy_from_slice(&0x1001_u64.to_be_bytes());
    });
    assert!(own.contains("the GUID of a port"), "{own}");
}

proptest! {
    /// The tables say what a sorted list of all GUIDs would.
    #[test]
    fn lookups_agree_with_a_list(
        ports in 1_u16..20,
        aliases in prop::collection::btree_map(1_u64.., 0_usize..20, 0..40),
    ) {
        let own = |ix: usize| (ix as u64 + 1) << 12 | 1;
        let aliases: Vec<_> = aliases
            .into_iter()
            .map(|(alias, port)| (alias, port % usize::from(ports)))
            .filter(|(alias, _)| (0..20).all(|ix| own(ix) != *alias))
            .collect();
        let snapshot = built(ports, &aliases);
        let mut all: Vec<_> = (0..usize::from(ports)).map(|ix| (own(ix), own(ix))).collect();
        all.extend(aliases.iter().map(|(alias, port)| (*alias, own(*port))));
        all.sort_by_key(|(guid, _)| guid.swap_bytes());
        let base = |named: NamedPort| snapshot.port(named.port).guid().map(Guid::get);
        for (nth, (guid, port)) in (0..).zip(&all) {
            let named = snapshot.nth_guid(nth).unwrap();
            prop_assert_eq!((raw(named), base(named)), (*guid, Some(*port)));
            prop_assert_eq!(snapshot.named_port(*guid), Some(named));
        }
        prop_assert_eq!(snapshot.guid_count(), all.len() as u64);
        for (ix, port) in snapshot.ports() {
            let wanted = all.iter().filter(|(_, base)| Some(*base) == port.guid().map(Guid::get));
            let wanted: Vec<_> = wanted.map(|(guid, _)| *guid).collect();
            let count = snapshot.guid_count_of(ix);
            let found = (0..count).map(|nth| raw(snapshot.nth_guid_of(ix, nth).unwrap()));
            prop_assert_eq!(found.collect::<Vec<_>>(), wanted);
            prop_assert_eq!(snapshot.is_aliased(ix), count > 1);
        }
    }
}
