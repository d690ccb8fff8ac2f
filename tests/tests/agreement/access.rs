//! Who gets an answer to what: every attribute by every method, with and without the key, under
//! both rules; and that under the strict rule nothing of another partition is told.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fmt::Write as _;
use std::sync::LazyLock;

use sa_answer::Outcome;
use sa_answer::access::Access;
use sa_compiler::pipeline::Compiled;
use sa_service::dispatch;
use sa_snapshot::EpochId;
use sa_tests::site::{Site, hosts};
use sa_wire::mad::{Status, method};
use sa_wire::multipath_record::{MultiPathCompMask, MultiPathRecord};
use sa_wire::path_record::{NumbPathByte, PathCompMask, PathRecord};
use sa_wire::sa::{AttributeId, SaMad};
use sa_wire::umad::Slot;
use sa_wire::{Gid, SubnetPrefix, request};

/// A 3x3 torus with two hosts to a switch. The hosts are by turns in partition 1, in partition 2
/// and in both; the first, where the SM runs, meets everybody and is left out.
struct World {
    compiled: Compiled,
    /// Shape: LID, GID, of host after host.
    hosts: Vec<(u16, Gid)>,
}

const PRIVATE: u64 = 0x1234_5678_9abc_def0;

/// Whether two hosts are in one partition.
fn may_meet(one: usize, other: usize) -> bool {
    one == other || matches!((one % 3, other % 3), (2, _) | (_, 2)) || one % 3 == other % 3
}

impl World {
    fn new(sa_key: u64) -> Self {
        let options = format!("qos TRUE\nsa_key {sa_key:#x}\n");
        let site = Site::torus([3, 3, 1], 2).opensm_conf(&options);
        let all = site.compile();
        let mut partitions = String::from("Default=0x7fff: ALL_SWITCHES=full;\n");
        let ends = all.parts.topology.end_ports.iter();
        let others = ends.filter(|end| end.port_number == 1).skip(1);
        for (at, host) in others.enumerate() {
            for (name, key) in [("One", 1), ("Two", 2)] {
                if at % 3 == 2 || at % 3 == key - 1 {
                    writeln!(partitions, "{name}={key:#x}, ipoib: {}=full;", host.guid).unwrap();
                }
            }
        }
        let compiled = site.partitions(&partitions).compile();
        let hosts = hosts(&compiled).split_off(1);
        Self { compiled, hosts }
    }

    /// What a worker and the slow lane make of it.
    fn answer(&self, access: Access, request: &Slot) -> Option<Vec<u8>> {
        let mut request = *request;
        if !access.admits(&self.compiled.snapshot, &mut request) {
            return None;
        }
        let parts = Some(&self.compiled.parts);
        dispatch::respond_with(&self.compiled.snapshot, parts, &request)
    }

    fn admits(&self, access: Access, request: &Slot) -> bool {
        access.admits(&self.compiled.snapshot, &mut { *request })
    }

    fn path(
        &self,
        from: usize,
        asked: u8,
        source: Option<usize>,
        destination: Option<usize>,
    ) -> Slot {
        let mut mask = PathCompMask(0);
        let mut record = PathRecord::default();
        if let Some(source) = source {
            mask = mask | PathCompMask::SGID;
            record.sgid = self.hosts[source].1.0;
        }
        if let Some(destination) = destination {
            mask = mask | PathCompMask::DLID;
            record.dlid = self.hosts[destination].0.into();
        }
        request::path_request(self.hosts[from].0, asked, mask, &record)
    }

    fn paths(&self, from: usize, sources: &[usize], destinations: &[usize]) -> Slot {
        let gids = |hosts: &[usize]| hosts.iter().map(|at| self.hosts[*at].1).collect::<Vec<_>>();
        let record = MultiPathRecord {
            numb_path: NumbPathByte::new(2),
            ..Default::default()
        };
        let mask = MultiPathCompMask::NUMB_PATH;
        let (sources, destinations) = (gids(sources), gids(destinations));
        let from = self.hosts[from].0;
        request::multi_path_request(from, mask, &record, &sources, &destinations).unwrap()
    }
}

static DEFAULT: LazyLock<World> = LazyLock::new(|| World::new(1));
static KEYED: LazyLock<World> = LazyLock::new(|| World::new(PRIVATE));

fn with_key(mut request: Slot, key: u64) -> Slot {
    SaMad::from_bytes_mut(&mut request.mad).sa.sm_key = key.into();
    request
}

/// Any request by attribute and method, of host 0 for itself: its GID wherever one may stand.
fn any(world: &World, attribute: u16, asked: u8) -> Slot {
    let (lid, gid) = world.hosts[0];
    match (AttributeId(attribute), asked) {
        (AttributeId::PATH_RECORD, _) => world.path(0, asked, Some(0), Some(2)),
        (AttributeId::MULTI_PATH_RECORD, method::GET_MULTI) => world.paths(0, &[0], &[2]),
        _ => {
            let mut slot = world.path(0, asked, None, None);
            slot.header.lid = lid.into();
            let mad = SaMad::from_bytes_mut(&mut slot.mad);
            mad.mad.attribute_id = attribute.into();
            mad.sa.component_mask = 3.into();
            // MCMemberRecord has its PortGID at 16, ServiceRecord its ServiceGID at 8.
            let at = if mad.attribute_id() == AttributeId::SERVICE_RECORD {
                8
            } else {
                16
            };
            mad.data[at..at + 16].copy_from_slice(&gid.0);
            slot
        }
    }
}

const METHODS: [u8; 8] = [
    method::GET,
    method::SET,
    method::REPORT,
    method::GET_TABLE,
    method::GET_TRACE_TABLE,
    method::GET_MULTI,
    method::DELETE,
    0x03,
];

/// What those without the key may do for themselves. Source: the enhanced trust model.
const FOR_ALL: [(AttributeId, u8); 11] = [
    (AttributeId::CLASS_PORT_INFO, method::GET),
    (AttributeId::PATH_RECORD, method::GET),
    (AttributeId::PATH_RECORD, method::GET_TABLE),
    (AttributeId::MULTI_PATH_RECORD, method::GET_MULTI),
    (AttributeId::MC_MEMBER_RECORD, method::GET),
    (AttributeId::MC_MEMBER_RECORD, method::SET),
    (AttributeId::MC_MEMBER_RECORD, method::DELETE),
    (AttributeId::SERVICE_RECORD, method::GET),
    (AttributeId::SERVICE_RECORD, method::SET),
    (AttributeId::SERVICE_RECORD, method::DELETE),
    (AttributeId::INFORM_INFO, method::SET),
];

#[test]
fn every_attribute_by_every_method() {
    let mut admitted = 0;
    for attribute in (0..=0x40).chain([0xf3, 0xff, 0x1234, 0xffff]) {
        for asked in METHODS {
            let is_for_all = FOR_ALL.contains(&(AttributeId(attribute), asked));
            admitted += usize::from(is_for_all);
            let plain = any(&KEYED, attribute, asked);
            let public = any(&DEFAULT, attribute, asked);
            let seen = [
                KEYED.admits(Access::Strict, &plain),
                KEYED.admits(Access::Strict, &with_key(plain, PRIVATE)),
                DEFAULT.admits(Access::Strict, &public),
                DEFAULT.admits(Access::Strict, &with_key(public, 1)),
                KEYED.admits(Access::OpenSm, &plain),
                DEFAULT.admits(Access::OpenSm, &with_key(public, 1)),
            ];
            let expected = [is_for_all, true, is_for_all, is_for_all, true, true];
            assert_eq!(
                seen, expected,
                "attribute {attribute:#06x} method {asked:#04x}"
            );
        }
    }
    assert_eq!(admitted, FOR_ALL.len());
}

#[test]
fn a_key_that_everybody_knows_opens_nothing() {
    let table = with_key(
        any(
            &DEFAULT,
            AttributeId::PKEY_TABLE_RECORD.get(),
            method::GET_TABLE,
        ),
        1,
    );
    assert!(DEFAULT.answer(Access::OpenSm, &table).is_some());
    assert_eq!(DEFAULT.answer(Access::Strict, &table), None);
    // What is for all stays so, and no more: the key is gone before anybody looks at it.
    let mut path = with_key(DEFAULT.path(0, method::GET, Some(0), Some(2)), 1);
    assert!(DEFAULT.admits(Access::Strict, &{ path }));
    assert!(Access::Strict.admits(&DEFAULT.compiled.snapshot, &mut path));
    assert_eq!(SaMad::from_bytes(&path.mad).sa.sm_key.get(), 0);
    // A private one opens all; a wrong one gets silence as everywhere.
    let table = any(
        &KEYED,
        AttributeId::PKEY_TABLE_RECORD.get(),
        method::GET_TABLE,
    );
    assert!(
        KEYED
            .answer(Access::Strict, &with_key(table, PRIVATE))
            .is_some()
    );
    for wrong in [1, 2, PRIVATE + 1, u64::MAX] {
        assert_eq!(KEYED.answer(Access::Strict, &with_key(table, wrong)), None);
        let path = KEYED.path(0, method::GET, Some(0), Some(2));
        assert_eq!(KEYED.answer(Access::Strict, &with_key(path, wrong)), None);
    }
}

#[test]
fn tables_need_both_ends_and_paths_a_part_in_them() {
    let world = &*KEYED;
    let admits = |request: Slot| world.admits(Access::Strict, &request);
    for (source, destination, get, table) in [
        (Some(0), Some(2), true, true),
        (Some(2), Some(0), true, true),
        (Some(0), None, true, false),
        (None, Some(0), true, false),
        (None, None, false, false),
        (Some(2), Some(3), false, false),
        (Some(2), None, false, false),
    ] {
        let asks = (source, destination);
        let path = |asked| admits(world.path(0, asked, source, destination));
        assert_eq!(path(method::GET), get, "Get {asks:?}");
        assert_eq!(path(method::GET_TABLE), table, "GetTable {asks:?}");
    }
    assert!(admits(world.paths(0, &[0, 3], &[2])));
    assert!(admits(world.paths(0, &[2], &[3, 0])));
    assert!(!admits(world.paths(0, &[2], &[3])), "no part in it");
    assert!(!admits(world.paths(0, &[0], &[1])), "another partition");
}

#[test]
fn what_is_personal_is_for_oneself() {
    let world = &*KEYED;
    for (attribute, at) in [
        (AttributeId::MC_MEMBER_RECORD, 16),
        (AttributeId::SERVICE_RECORD, 8),
    ] {
        for asked in [method::SET, method::DELETE] {
            let mut request = any(world, attribute.get(), asked);
            assert!(world.admits(Access::Strict, &request));
            let mad = SaMad::from_bytes_mut(&mut request.mad);
            mad.data[at..at + 16].copy_from_slice(&world.hosts[2].1.0);
            assert!(
                !world.admits(Access::Strict, &request),
                "{attribute} for another"
            );
            mad_at(&mut request)[at..at + 16].fill(0);
            assert!(
                !world.admits(Access::Strict, &request),
                "{attribute} for nobody"
            );
        }
    }
    let subscribe = |kind: u16, trap: u16| {
        let mut request = any(world, AttributeId::INFORM_INFO.get(), method::SET);
        mad_at(&mut request)[24..26].copy_from_slice(&kind.to_be_bytes());
        mad_at(&mut request)[26..28].copy_from_slice(&trap.to_be_bytes());
        world.admits(Access::Strict, &request)
    };
    assert!(subscribe(0xffff, 64) && subscribe(3, 255) && subscribe(3, 260));
    assert!((256..=259).all(|trap| !subscribe(0xffff, trap)) && !subscribe(2, 64));
}

fn mad_at(request: &mut Slot) -> &mut [u8; 200] {
    &mut SaMad::from_bytes_mut(&mut request.mad).data
}

#[test]
fn an_alias_is_its_port() {
    let mut world = World::new(PRIVATE);
    let raw = |at: usize| world.hosts[at].1.interface_id();
    let (own, foreign) = (0xa0, 0xa1);
    let guid = |raw| sa_wire::Guid::new(raw).unwrap();
    let aliases = [(guid(own), guid(raw(0))), (guid(foreign), guid(raw(1)))];
    world.compiled.snapshot = world
        .compiled
        .snapshot
        .with_aliases(&aliases, EpochId::new(1), 0)
        .unwrap();
    let gid = |raw| Gid::unicast(SubnetPrefix::LINK_LOCAL, guid(raw));
    let lid = world.hosts[0].0;
    world.hosts.extend([(lid, gid(own)), (0, gid(foreign))]);
    let (own, foreign) = (world.hosts.len() - 2, world.hosts.len() - 1);
    let admits = |request: Slot| world.admits(Access::Strict, &request);
    assert!(admits(world.paths(0, &[own], &[2])));
    assert!(
        !admits(world.paths(0, &[own], &[foreign])),
        "another partition by an alias"
    );
    assert!(
        !admits(world.paths(0, &[0, 3], &[foreign, foreign])),
        "alternate paths too"
    );
    assert!(admits(world.path(0, method::GET, Some(own), Some(2))));
    assert!(!admits(world.path(0, method::GET, Some(foreign), Some(2))));
}

/// 100,000 questions about pairs, by Get, GetTable and GetMulti: an answer with a record only where
/// requester, source and destination may meet.
#[test]
fn nothing_of_another_partition_is_told() {
    let world = &*KEYED;
    let count = world.hosts.len();
    let (mut told, mut kept) = (0, 0);
    // A fixed walk through all triples, over and over with other methods.
    for step in 0..100_000_usize {
        let mixed = step.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16;
        let (from, source) = (mixed % count, mixed / count % count);
        let destination = mixed / count / count % count;
        let request = match step % 4 {
            0 => world.path(from, method::GET, Some(source), Some(destination)),
            1 => world.path(from, method::GET_TABLE, Some(source), Some(destination)),
            2 => world.paths(from, &[source], &[destination]),
            _ => world.paths(from, &[source, from], &[destination, from]),
        };
        let reply = world.answer(Access::Strict, &request);
        let has_records = |reply: &Vec<u8>| reply[4..6] == [0, 0] && reply[44..46] != [0, 0];
        if !reply.is_some_and(|reply| has_records(&reply)) {
            kept += 1;
            continue;
        }
        told += 1;
        let pairs = [(from, source), (from, destination), (source, destination)];
        let is_alternate = step % 4 == 3;
        let meet = |(one, other): &(usize, usize)| may_meet(*one, *other);
        let checked = if is_alternate {
            &pairs[..2]
        } else {
            &pairs[..]
        };
        assert!(
            checked.iter().all(meet),
            "step {step}: {from} {source} {destination}"
        );
    }
    assert!(told > 10_000 && kept > 10_000, "{told} told, {kept} not");
}

/// The other rule refuses nothing that OpenSM answers.
#[test]
fn without_the_strict_rule_everybody_is_answered() {
    let world = &*KEYED;
    for layout in sa_wire::records::Layout::ALL {
        let request = any(world, layout.attribute.get(), method::GET_TABLE);
        let reply = world.answer(Access::OpenSm, &request).unwrap();
        let supported = Status(u16::from_be_bytes([reply[4], reply[5]]));
        assert_ne!(supported, Status::BUSY, "{}", layout.attribute);
    }
    let mut slot = world.path(0, method::GET, Some(2), Some(3));
    let outcome = sa_answer::answer(&world.compiled.snapshot, &mut slot);
    assert!(matches!(outcome, Outcome::Answered(_)), "{outcome:?}");
}
