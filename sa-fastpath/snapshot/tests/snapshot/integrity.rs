//! A snapshot is either whole or refused.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use proptest::prelude::*;
use sa_snapshot::model::*;
use sa_snapshot::{Builder, LoadError, MAX_EPOCH, MatchInput, PortIx, RareInput, Snapshot};
use sa_wire::{Gid, Guid, Lid, Lmc, Mlid, Mtu, NodeType, Pkey, Rate, Sl, SlVlMask, SubnetPrefix};

/// The place of a router's port, where there are as many ports.
const ROUTER: u16 = 2;

fn capacity(mtu: u8, rate: u8) -> Capacity {
    let rate = Rate::from_code(rate).unwrap().rank();
    Capacity {
        mtu: Mtu::from_code(mtu).unwrap(),
        rate,
    }
}

fn port(ix: u16, lmc: u8, pkeys: &[u16]) -> PortRow {
    PortRow {
        guid: Guid::new(0x1000_0000_0000_0000 + u64::from(ix) * 0x0101_0107).unwrap(),
        node_type: match ix {
            ROUTER => NodeType::Router,
            _ if ix.is_multiple_of(5) => NodeType::Switch,
            _ => NodeType::Ca,
        },
        lid: Lid::new(1 + ix * 8).unwrap(),
        lmc: Lmc::new(lmc).unwrap(),
        switch: Some(u32::from(ix / 5)),
        own: capacity(4, 7),
        edge: capacity(4, 3),
        sl_out: SlVlMask::ALL,
        sl_in: SlVlMask::ALL,
        rate_caps: RateCaps::default(),
        pkeys: pkeys.iter().map(|key| Pkey::new(*key).unwrap()).collect(),
        coordinate: Some([u8::try_from(ix / 5).unwrap(), 0, 0]),
    }
}

fn policy(ports: usize) -> PolicyTables {
    let single = |rules: &[u64]| rules.iter().map(|word| vec![*word]).collect();
    PolicyTables {
        levels: vec![
            QosLevelRow {
                name: "DEFAULT".into(),
                sl: Some(0),
                mtu_limit: None,
                rate_limit: None,
                packet_life: None,
                pkeys: vec![],
                path_bits: None,
                tclass: None,
            },
            QosLevelRow {
                name: "gold".into(),
                sl: Some(8),
                mtu_limit: Some(Mtu::M2048),
                rate_limit: None,
                packet_life: Some(17),
                pkeys: vec![(1, 9), (0x7fff, 0x7fff)],
                path_bits: None,
                tclass: None,
            },
        ],
        default_level: 0,
        rules: vec![RuleRow { level: 1, line: 12 }],
        source: Dimension {
            map: vec![0; ports],
            sets: single(&[1]),
        },
        destination: Dimension {
            map: (0..ports).map(|ix| u16::from(ix % 2 == 0)).collect(),
            sets: single(&[0, 1]),
        },
        unnamed: UnnamedEnds::default(),
        qos_class: Dimension {
            map: vec![0; 4097],
            sets: single(&[1]),
        },
        pkey: Dimension {
            map: vec![0; 0x8001],
            sets: single(&[1]),
        },
        service_id: Dimension {
            map: ServiceIntervals {
                starts: vec![0, 100, 200],
                classes: vec![0, 1, 0],
                absent: 0,
            },
            sets: single(&[0, 1]),
        },
        rare: vec![Dimension {
            map: vec![0; 257],
            sets: single(&[1]),
        }],
        flow_labels: vec![],
        semantics: PolicySemantics::default(),
    }
}

/// What the RFCs can say and OpenSM's dialect cannot. The rule, of the level "gold", also wants
/// traffic class 7; ends of even place are destinations of it.
fn rfc(mut policy: PolicyTables) -> PolicyTables {
    policy.levels[0].sl = None;
    policy.levels[1].path_bits = Some(1 << 1 | 1 << 100);
    policy.levels[1].tclass = Some(9);
    policy.rare[0].map[7] = 1;
    policy.rare[0].sets = vec![vec![0], vec![1]];
    policy.service_id.sets = vec![vec![1], vec![1]];
    policy.flow_labels = vec![FlowLabels::spread(4).unwrap(), FlowLabels::Hash];
    policy.semantics = PolicySemantics {
        echo: Echo::TClass,
        endpoint_mask_required: true,
        legacy_service_id: true,
        service_id_in_key: false,
    };
    policy
}

fn rfc_model(ports: u16, lmc: u8, dense: bool) -> Model {
    let mut model = model(ports, lmc, dense, true);
    model.policy = model.policy.map(rfc);
    model
}

fn model(ports: u16, lmc: u8, dense: bool, with_policy: bool) -> Model {
    let rows: Vec<PortRow> = (0..ports)
        .map(|ix| {
            port(
                ix,
                lmc,
                if ix % 3 == 0 {
                    &[0xffff, 0x8001]
                } else {
                    &[0xffff]
                },
            )
        })
        .collect();
    let count = rows.len();
    let columns = u32::from(ports).max(1);
    Model {
        provenance: Provenance {
            engine: "test".into(),
            ..Default::default()
        },
        subnet: Subnet {
            qos: true,
            ..Default::default()
        },
        paths: PathTables {
            engine_sl: EngineSl::Torus { radix: [255, 1, 1] },
            classes: vec![
                PathClass {
                    capacity: capacity(4, 7),
                    carried: SlVlMask::ALL,
                    hops: 2,
                    sl: PathSl::Policy,
                };
                3
            ],
            rows: (1..=ports).collect(),
            columns: (1..=ports).map(|column| vec![column; 1 << lmc]).collect(),
            pairs: if dense {
                Pairs::Dense {
                    columns,
                    table: (0..count * count)
                        .map(|i| u16::try_from(i % 3).unwrap())
                        .collect(),
                }
            } else {
                Pairs::Uniform {
                    within: 1,
                    across: 2,
                }
            },
        },
        partitions: vec![PartitionRow { base: 1, sl: 3 }],
        policy: with_policy.then(|| policy(count)),
        groups: vec![group(0xfe, 1), group(2, 2), group(0x12, 0)],
        prefix_routes: vec![
            PrefixRouteRow {
                prefix: Some(SubnetPrefix(0xfec0 << 48)),
                router: None,
            },
            PrefixRouteRow {
                prefix: None,
                router: (ports > ROUTER).then_some(ROUTER.into()),
            },
        ],
        aliases: (0..count.min(4))
            .flat_map(|ix| (1..4).map(move |nth| (alias(ix, nth), ix)))
            .collect(),
        ports: rows,
    }
}

/// By a dense table of so many classes, each of its own length, all of them in the table.
fn of_classes(ports: u16, classes: u16) -> Model {
    let mut model = model(ports, 0, true, false);
    let class = |hops: u16| PathClass {
        capacity: capacity(4, 7),
        carried: SlVlMask::ALL,
        hops: u8::try_from(hops % 64).unwrap(),
        sl: PathSl::Policy,
    };
    model.paths.classes = (0..classes).map(class).collect();
    if let Pairs::Dense { table, .. } = &mut model.paths.pairs {
        for (place, class) in (0..).zip(table) {
            *class = place % classes;
        }
    }
    model
}

/// Among and around the GUIDs of ports in their order.
fn alias(port: usize, nth: u64) -> Guid {
    let port = u64::try_from(port).unwrap();
    Guid::new(0x2000_0000_0000_0000 + port * 0x0101_0107 + nth * 0x51).unwrap()
}

fn group(last: u8, nth: u16) -> GroupRow {
    let mut mgid = [0; 16];
    (mgid[0], mgid[15]) = (0xff, last);
    GroupRow {
        mgid: Gid(mgid),
        mlid: Mlid::new(0xc000 + nth).unwrap(),
        pkey: Pkey::new(0xffff).unwrap(),
        q_key: 0x8001_0000,
        mtu: Mtu::M2048,
        rate: Rate::from_code(3).unwrap(),
        packet_life: 18,
        sl: Sl::new(5).unwrap(),
        tclass: 7,
        flow_label: 0x12345,
        hop_limit: 3,
        scope: 2,
    }
}

#[test]
fn groups_and_routers_are_found() {
    let snapshot = built(6, 0, false, false);
    let found = snapshot.group(&group(2, 2).mgid.0).unwrap();
    assert_eq!(
        (found.mlid, found.sl, found.flow_label),
        (0xc002, 5, 0x12345)
    );
    assert_eq!(snapshot.group(&group(3, 0).mgid.0), None);
    assert_eq!(snapshot.groups().len(), 3);
    let router = snapshot.router_to([1; 8]).unwrap();
    assert_eq!(
        snapshot.port(router).guid(),
        Some(model(6, 0, false, false).ports[usize::from(ROUTER)].guid)
    );
    let first_that_fits = [0xfe, 0xc0, 0, 0, 0, 0, 0, 0];
    assert_eq!(
        snapshot.router_to(first_that_fits),
        None,
        "the first that fits leads nowhere"
    );
}

#[test]
fn groups_and_routes_that_cannot_be_are_refused() {
    let mut twice = model(6, 0, false, false);
    twice.groups.push(group(2, 9));
    let error = Builder::build(&twice).unwrap_err();
    assert!(error.to_string().contains("ff00::2"), "{error}");
    let mut nowhere = model(6, 0, false, false);
    nowhere.prefix_routes[0].router = Some(6);
    let error = Builder::build(&nowhere).unwrap_err();
    assert!(error.to_string().contains("router"), "{error}");
    let mut host = model(6, 0, false, false);
    host.prefix_routes[0].router = Some(1);
    let error = Builder::build(&host).unwrap_err();
    assert!(error.to_string().contains("not to a router"), "{error}");
    let mut unicast = model(6, 0, false, false);
    unicast.groups[1].mgid.0[0] = 0xfe;
    let error = Builder::build(&unicast).unwrap_err();
    assert!(
        error.to_string().contains("not a multicast address"),
        "{error}"
    );
}

fn built(ports: u16, lmc: u8, dense: bool, with_policy: bool) -> Snapshot {
    Builder::build(&model(ports, lmc, dense, with_policy)).unwrap()
}

#[test]
fn the_same_model_gives_the_same_bytes() {
    let (a, b) = (built(40, 1, true, true), built(40, 1, true, true));
    assert_eq!(a.as_bytes(), b.as_bytes());
    let again = Snapshot::from_bytes(a.as_bytes()).unwrap();
    assert_eq!(again.info(), a.info());
}

#[test]
fn the_order_of_ports_in_the_model_does_not_matter() {
    let mut shuffled = model(40, 0, false, false);
    shuffled.ports.reverse();
    shuffled.prefix_routes[1].router = Some(39 - usize::from(ROUTER));
    shuffled.paths.rows.reverse();
    shuffled.paths.columns.reverse();
    for (_, port) in &mut shuffled.aliases {
        *port = 39 - *port;
    }
    let straight = built(40, 0, false, false);
    let shuffled = Builder::build(&shuffled).unwrap();
    assert_eq!(straight.info().hosts, shuffled.info().hosts);
    for (ix, port) in straight.ports() {
        assert_eq!(shuffled.port(ix).lid, port.lid);
    }
    assert!(shuffled.aliases().eq(straight.aliases()));
}

#[test]
fn every_port_is_found_by_guid_and_by_every_lid() {
    let snapshot = built(200, 3, false, false);
    for (ix, port) in snapshot.ports() {
        assert_eq!(snapshot.port_by_guid(port.guid().unwrap().get()), Some(ix));
        for lid in port.lid..port.lid + port.lid_count() {
            assert_eq!(snapshot.port_by_lid(lid), Some(ix));
        }
    }
    assert_eq!(snapshot.port_by_guid(0), None);
    assert_eq!(snapshot.port_by_lid(0), None);
    assert_eq!(snapshot.port_by_lid(0xffff), None);
}

#[test]
fn truncation_anywhere_is_refused() {
    let snapshot = built(12, 0, true, true);
    let bytes = snapshot.as_bytes();
    for length in (0..4096).chain((4096..bytes.len()).step_by(997)) {
        let error = Snapshot::from_bytes(&bytes[..length.min(bytes.len() - 1)]).unwrap_err();
        assert!(
            matches!(error, LoadError::Truncated { .. }),
            "{length}: {error}"
        );
    }
    let mut longer = bytes.to_vec();
    longer.extend([0; 64]);
    assert_eq!(
        Snapshot::from_bytes(&longer).unwrap_err(),
        LoadError::Trailing(64)
    );
}

#[test]
fn every_flipped_bit_is_refused() {
    let snapshot = Builder::build(&rfc_model(3, 0, true)).unwrap();
    let mut bytes = snapshot.as_bytes().to_vec();
    // Every bit of the header and section table, then one bit in every fifth byte.
    let dense = (0..768 * 8).collect::<Vec<_>>();
    let sparse = (768 * 8..bytes.len() * 8).step_by(37);
    for bit in dense.into_iter().chain(sparse) {
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(Snapshot::from_bytes(&bytes).is_err(), "bit {bit}");
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
    assert!(Snapshot::from_bytes(&bytes).is_ok());
}

#[test]
fn criteria_that_no_rule_uses_take_no_room() {
    let length = |snapshot: &Snapshot, name| {
        let sections = snapshot.info().sections;
        let section = sections.iter().find(|section| section.0 == name);
        section.unwrap().1
    };
    let rare = ["traffic class map", "traffic class sets", "level path bits"];
    let plain = built(9, 1, false, true);
    assert!(plain.is_plain() && built(9, 1, false, false).is_plain());
    assert_eq!(rare.map(|name| length(&plain, name)), [0; 3]);
    let rfc = Builder::build(&rfc_model(9, 1, false)).unwrap();
    assert!(!rfc.is_plain());
    assert!(rfc.gives_flow_labels() && !plain.gives_flow_labels());
    assert_eq!(
        (length(&plain, "flow labels"), length(&rfc, "flow labels")),
        (0, 8)
    );
    assert_eq!(rare.map(|name| length(&rfc, name)), [514, 16, 32]);
    assert!(rfc.takes_legacy_service_id() && !plain.takes_legacy_service_id());
    assert_eq!((rfc.echo(), plain.echo()), (Echo::TClass, Echo::None));
    // A rule that holds for no traffic class at all is looked up, though all classes are alike.
    let mut never = model(9, 1, false, true);
    let tclass = &mut never.policy.as_mut().unwrap().rare[0];
    tclass.sets = vec![vec![0]];
    let never = Builder::build(&never).unwrap();
    assert!(!never.is_plain());
    assert_eq!(length(&never, "traffic class sets"), 8);
}

#[test]
fn rare_criteria_decide() {
    let snapshot = Builder::build(&rfc_model(9, 1, false)).unwrap();
    let named = RareInput {
        numbers: [Some(7)],
        names_source: true,
        names_destination: true,
    };
    let classes = snapshot.classify(&MatchInput::default()).unwrap();
    let end = |place: u16| snapshot.port_by_lid(1 + place * 8).unwrap();
    let level = |to: PortIx, offset: u16, rare: &RareInput| {
        let lid = snapshot.port(to).lid + offset;
        let matched = snapshot.match_rare(end(1), (to, lid), &classes, rare);
        matched.map(|matched| matched.level_index)
    };
    assert_eq!(level(end(2), 1, &named), Some(1));
    assert_eq!(level(end(3), 1, &named), Some(0), "not in the group");
    assert_eq!(level(end(2), 0, &named), None, "not that LID");
    assert_eq!(level(end(2), 100, &named), Some(1));
    assert_eq!(level(end(2), 128, &named), None, "no offset is that large");
    for tclass in [None, Some(6), Some(8)] {
        let other = RareInput {
            numbers: [tclass],
            ..named
        };
        assert_eq!(level(end(2), 0, &other), Some(0), "{tclass:?}");
    }
    let unnamed = RareInput {
        names_destination: false,
        ..named
    };
    assert_eq!(level(end(2), 1, &unnamed), Some(0));
    let source_unnamed = RareInput {
        names_source: false,
        ..named
    };
    assert_eq!(level(end(2), 1, &source_unnamed), Some(1), "no rule asks");
    let gold = snapshot.match_rare(end(1), (end(2), 18), &classes, &named);
    assert_eq!(gold.unwrap().level.sl(), Some(8));
    let default = snapshot.match_rare(end(1), (end(3), 25), &classes, &named);
    assert_eq!(default.unwrap().level.sl(), None);
    let labels = |to| snapshot.flow_labels(end(1), end(to), &classes, &named);
    assert_eq!(labels(2), FlowLabels::spread(4).unwrap());
    assert_eq!(labels(3), FlowLabels::Hash, "those of the default");
}

/// Words of flow labels that no builder writes, behind a right digest.
#[test]
fn flow_labels_that_mean_nothing_are_refused() {
    let sound = Builder::build(&rfc_model(9, 1, false)).unwrap();
    let bytes = sound.as_bytes();
    // The last section: one word for the rule, one for the default, then padding.
    let at = bytes.len() - 64;
    assert_eq!(bytes[at..at + 8], [4, 0, 0, 3, 0, 0, 0, 2]);
    let words: [(u32, u32); 7] = [
        (3 << 24 | 1, 0),
        (3 << 24 | 128, 0),
        (1 << 24, 0),
        (1 << 24 | 1 << 20, 0),
        (0, 2 << 24 | 1),
        (0, 4 << 24),
        (0, 0),
    ];
    for (rule, default) in words {
        let mut bytes = bytes.to_vec();
        bytes[at..at + 4].copy_from_slice(&rule.to_le_bytes());
        bytes[at + 4..at + 8].copy_from_slice(&default.to_le_bytes());
        let digest = xxhash_rust::xxh3::xxh3_64(&bytes[16..]);
        bytes[8..16].copy_from_slice(&digest.to_le_bytes());
        let error = Snapshot::from_bytes(&bytes).unwrap_err();
        assert!(error.to_string().contains("flow labels"), "{error}");
    }
}

/// Where a section begins, by its id.
fn section(bytes: &[u8], id: usize) -> usize {
    let at = 64 + id * 24 + 8;
    usize::try_from(u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())).unwrap()
}

/// The file with some of its bytes changed, and a digest that fits.
fn resealed(bytes: &[u8], edits: &[(usize, &[u8])]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for (at, edit) in edits {
        bytes[*at..at + edit.len()].copy_from_slice(edit);
    }
    let digest = xxhash_rust::xxh3::xxh3_64(&bytes[16..]);
    bytes[8..16].copy_from_slice(&digest.to_le_bytes());
    bytes
}

fn bytes_of(snapshot: &Snapshot, name: &str) -> usize {
    let sections = snapshot.info().sections;
    let found = sections.iter().find(|(section, _)| *section == name);
    found.unwrap().1
}

/// 255 classes and "no path" are as many as a byte tells.
#[test]
fn a_byte_tells_a_pair_as_long_as_it_can() {
    const PORTS: u16 = 18;
    for (classes, narrow, wide) in [(3, 324, 0), (256, 324, 0), (257, 0, 648), (300, 0, 648)] {
        let model = of_classes(PORTS, classes);
        let snapshot = Builder::build(&model).unwrap();
        assert_eq!(
            bytes_of(&snapshot, "narrow pair table"),
            narrow,
            "{classes}"
        );
        assert_eq!(bytes_of(&snapshot, "pair table"), wide, "{classes}");
        let reloaded = Snapshot::from_bytes(snapshot.as_bytes()).unwrap();
        for from in 0..PORTS {
            for to in (0..PORTS).filter(|to| *to != from) {
                let class = (from * PORTS + to) % classes;
                let hops = (class != 0).then(|| u8::try_from(class % 64).unwrap());
                for snapshot in [&snapshot, &reloaded] {
                    let port = |nth: u16| snapshot.port_by_lid(1 + nth * 8).unwrap();
                    let path = snapshot.path(port(from), port(to), 1 + to * 8);
                    assert_eq!(
                        path.map(|path| path.hops),
                        hops,
                        "{classes}: {from} to {to}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_class_that_is_none_is_refused_in_tables_of_either_width() {
    const TABLES: [(u16, usize); 2] = [(200, 38), (300, 7)];
    for (classes, id) in TABLES {
        let sound = Builder::build(&of_classes(18, classes)).unwrap();
        let bytes = sound.as_bytes();
        let last = section(bytes, id) + 17 * if id == 7 { 2 } else { 1 };
        let [low, high] = classes.to_le_bytes();
        let edit: &[u8] = if id == 7 { &[low, high] } else { &[low] };
        let error = Snapshot::from_bytes(&resealed(bytes, &[(last, edit)])).unwrap_err();
        assert!(error.to_string().contains("unknown class"), "{error}");
        let mut model = of_classes(18, classes);
        if let Pairs::Dense { table, .. } = &mut model.paths.pairs {
            table[17] = classes;
        }
        assert!(Builder::build(&model).is_err(), "{classes}");
    }
    // As many as a byte tells, and one that it does not.
    let mut model = of_classes(18, 256);
    if let Pairs::Dense { table, .. } = &mut model.paths.pairs {
        table[17] = 256;
    }
    assert!(Builder::build(&model).is_err());
}

#[test]
fn a_pair_table_of_the_other_width_is_refused() {
    let sound = Builder::build(&of_classes(18, 300)).unwrap();
    let bytes = sound.as_bytes();
    // The places of the narrow table's length and of the wide one's in the section table.
    let length = |id: usize| 64 + id * 24 + 16;
    let both = 324u64.to_le_bytes();
    assert_eq!(bytes[length(7)..length(7) + 8], both);
    let longer = [bytes, &[0; 384]].concat();
    let file = (longer.len() as u64).to_le_bytes();
    let edits: [(usize, &[u8]); 2] = [(24, &file), (length(38), &both)];
    let error = Snapshot::from_bytes(&resealed(&longer, &edits)).unwrap_err();
    assert!(error.to_string().contains("unexpected length"), "{error}");
}

#[test]
fn an_epoch_at_the_end_of_numbers_is_refused() {
    let sound = built(12, 0, true, true);
    let bytes = sound.as_bytes();
    let epoch = section(bytes, 0) + 16;
    for (number, is_good) in [
        (u64::MAX, false),
        (u64::MAX - 1, false),
        (1 << 63, false),
        (MAX_EPOCH + 1, false),
        (MAX_EPOCH, true),
        (0, true),
    ] {
        let read = Snapshot::from_bytes(&resealed(bytes, &[(epoch, &number.to_le_bytes())]));
        assert_eq!(read.is_ok(), is_good, "{number}");
    }
}

/// Values that no builder writes, of options, ports, paths and levels.
#[test]
fn codes_that_cannot_be_are_refused() {
    const SUBNET: usize = 0;
    const PORTS: usize = 2;
    const CLASSES: usize = 6;
    const LEVELS: usize = 13;
    let torus = {
        let mut model = model(12, 0, true, true);
        model.paths.engine_sl = EngineSl::Torus { radix: [3, 1, 1] };
        Builder::build(&model).unwrap()
    };
    let bytes = torus.as_bytes();
    assert!(Snapshot::from_bytes(&resealed(bytes, &[])).is_ok());
    let capacity = |mtu: u8, rank: u8| mtu << 5 | rank;
    let cases: [(&str, usize, usize, u8); 29] = [
        ("life time 64", SUBNET, 41, 64),
        ("life time 255", SUBNET, 41, 255),
        ("response time 32", SUBNET, 42, 32),
        ("largest rate 0", SUBNET, 43, 0),
        ("largest rate 1", SUBNET, 43, 1),
        ("largest rate 25", SUBNET, 43, 25),
        ("a rate of rank 0", SUBNET, 64, 2),
        ("rate 0 of the slowest", SUBNET, 65, 0),
        ("rate 0 of the fastest", SUBNET, 64 + 23, 0),
        ("rate 25", SUBNET, 64 + 23, 25),
        ("a rate of another rank", SUBNET, 64 + 9, 2),
        ("rates limited 2", SUBNET, 88, 2),
        ("reserved", SUBNET, 89, 1),
        ("a torus that is smaller", SUBNET, 48, 2),
        ("LID 0", PORTS, 8, 0),
        ("LID 0xc001", PORTS, 9, 0xc0),
        ("MTU 0", PORTS, 16, capacity(0, 3)),
        ("MTU 6", PORTS, 16, capacity(6, 3)),
        ("rank 0", PORTS, 17, capacity(4, 0)),
        ("rank 24", PORTS, 17, capacity(4, 24)),
        ("hops of no path", CLASSES, 1, 1),
        ("MTU 7 of a path", CLASSES, 8, capacity(7, 3)),
        ("an SL of no path", CLASSES, 4, 0),
        ("SL 16 of a path", CLASSES, 8 + 4, 16),
        ("an SL by class in a torus", CLASSES, 8 + 4, 0),
        ("an unknown SL in a torus", CLASSES, 8 + 4, 0xff),
        ("what is zero of a path", CLASSES, 8 + 7, 1),
        ("a level's life time 64", LEVELS, 16 + 11, 64),
        ("a level's MTU 6", LEVELS, 16 + 9, 6),
    ];
    for (what, id, offset, value) in cases {
        let at = section(bytes, id) + offset;
        assert_ne!(bytes[at], value, "{what}: the same");
        let read = Snapshot::from_bytes(&resealed(bytes, &[(at, &[value])]));
        assert!(read.is_err(), "{what}");
    }
}

/// As OpenSM has it: the upper bits of such a life time reach the selector of answers.
#[test]
fn a_life_time_over_63_is_one_that_a_policy_says() {
    let mut long = model(12, 0, true, true);
    long.policy.as_mut().unwrap().levels[1].packet_life = Some(64);
    let long = Builder::build(&long).unwrap();
    let bytes = long.as_bytes();
    let level = section(bytes, 13) + 16;
    assert_eq!((bytes[level + 11], bytes[level + 13]), (64, 0b1001));
    for (life, flags) in [(64, 0b0001), (63, 0b1001), (64, 0b1_1001)] {
        let edits = [(level + 11, &[life][..]), (level + 13, &[flags][..])];
        assert!(Snapshot::from_bytes(&resealed(bytes, &edits)).is_err());
    }
}

#[test]
fn contradictions_in_the_model_are_named() {
    let mut short = rfc_model(6, 0, false);
    short.policy.as_mut().unwrap().rare[0].map.pop();
    let error = Builder::build(&short).unwrap_err();
    assert!(error.to_string().contains("traffic class"), "{error}");
    let mut labels = rfc_model(6, 0, false);
    labels.policy.as_mut().unwrap().flow_labels.pop();
    let error = Builder::build(&labels).unwrap_err();
    assert!(error.to_string().contains("flow labels"), "{error}");
    let mut unnamed = rfc_model(6, 0, false);
    unnamed.policy.as_mut().unwrap().unnamed.destination = 2;
    let error = Builder::build(&unnamed).unwrap_err();
    assert!(error.to_string().contains("unnamed"), "{error}");
    let mut twice = model(6, 0, false, false);
    twice.ports[3].guid = twice.ports[1].guid;
    let error = Builder::build(&twice).unwrap_err();
    assert!(error.to_string().contains("GUID"), "{error}");
    let mut lids = model(6, 0, false, false);
    lids.ports[3].lid = lids.ports[1].lid;
    let error = Builder::build(&lids).unwrap_err();
    assert!(error.to_string().contains("LID"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..Default::default() })]

    /// Damage that keeps the digest right reaches the structural checks: whatever they let
    /// through, no lookup may panic or run away.
    #[test]
    fn damage_behind_a_right_digest_never_breaks_a_lookup(
        dense in any::<bool>(),
        with_policy in any::<bool>(),
        of_rfc in any::<bool>(),
        many_classes in any::<bool>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let snapshot = match (with_policy && of_rfc, dense && many_classes) {
            (_, true) => Builder::build(&of_classes(18, 300)).unwrap(),
            (true, false) => Builder::build(&rfc_model(9, 1, dense)).unwrap(),
            (false, false) => built(9, 1, dense, with_policy),
        };
        let mut bytes = snapshot.as_bytes().to_vec();
        for (at, value) in edits {
            // Mostly headers and small tables, where structure lies.
            let at = 16 + at.index(bytes.len() - 16);
            bytes[at] = value;
        }
        let digest = xxhash_rust::xxh3::xxh3_64(&bytes[16..]);
        bytes[8..16].copy_from_slice(&digest.to_le_bytes());
        if let Ok(snapshot) = Snapshot::from_bytes(&bytes) {
            exercise(&snapshot);
        }
    }
}

fn exercise(snapshot: &Snapshot) {
    let indices: Vec<_> = snapshot.ports().map(|(ix, _)| ix).collect();
    for a in &indices {
        for b in &indices {
            for lid in [0, 1, snapshot.port(*b).lid, 0xbfff, 0xffff] {
                let _ = snapshot.path(*a, *b, lid);
            }
            let _ = snapshot.engine_sl(8, *a, *b);
            let _ = snapshot.share_partition(*a, *b);
            let _ = snapshot.share_pkey(*a, *b, 0x8001);
            let input = MatchInput {
                qos_class: Some(7),
                pkey: Some(1),
                service_id: Some(150),
            };
            if let Some(classes) = snapshot.classify(&input) {
                let matched = snapshot.match_level(*a, *b, &classes);
                let _ = matched.map(|matched| snapshot.level_pkeys(matched.level).len());
                let rare = RareInput {
                    numbers: [Some(7)],
                    names_source: true,
                    names_destination: false,
                };
                let _ = snapshot.flow_labels(*a, *b, &classes, &rare);
                for lid in [0, snapshot.port(*b).lid, 0xffff] {
                    let _ = snapshot.match_rare(*a, (*b, lid), &classes, &rare);
                }
            }
        }
    }
    let _ = snapshot.info();
    for ix in &indices {
        for nth in [0, 1, 2, u64::MAX] {
            let _ = snapshot.nth_guid_of(*ix, nth);
        }
        assert_eq!(
            snapshot.aliases_of(*ix).count() as u64 + 1,
            snapshot.guid_count_of(*ix)
        );
    }
    for nth in (0..snapshot.guid_count() + 1).chain([u64::MAX]) {
        let named = snapshot.nth_guid(nth);
        let _ = named.map(|named| snapshot.named_port(u64::from_be_bytes(named.guid)));
    }
    for last in 0..=255 {
        let _ = snapshot.group(&group(last, 0).mgid.0);
    }
    for prefix in [[0; 8], [1; 8], [0xfe, 0xc0, 0, 0, 0, 0, 0, 0]] {
        let router = snapshot.router_to(prefix);
        let _ = router.map(|router| snapshot.port(router).guid());
    }
    for guid in 0..64u64 {
        let _ = snapshot.port_by_guid(guid.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    }
}
