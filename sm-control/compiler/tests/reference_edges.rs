//! What the recorded cases leave open about the reference: senders, keys, order, LMC, limits.
//! The expectations are OpenSM's behaviour, but for the limit on tables.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::path::Path;
use std::time::Instant;

use policy::{PartitionOptions, Partitions, PartitionsConfig, PortFacts};
use routing::engine::{minhop, torus};
use routing::{EndPortIx, Qos, Routes, Topology, TorusConfig};
use sa_compiler::off_subnet::OffSubnet;
use sa_compiler::reference::{Reference, ReferenceInputs, ReferenceOptions, Reply};
use sa_fabric::formats::net;
use sa_fabric::generate::{TorusSpec, plan};
use sa_fabric::{Fabric, Loaded, OpenSmOptions, Subnet, SubnetOptions, load};
use sa_snapshot::model::RateCaps;
use sa_wire::Lmc;
use sa_wire::mad::Status;
use sa_wire::path_record::PathRecord;

const GET: u8 = 0x01;
const GET_TABLE: u8 = 0x12;
const DGID: u64 = 1 << 2;
const SGID: u64 = 1 << 3;
const DLID: u64 = 1 << 4;
const SLID: u64 = 1 << 5;
const NUMB_PATH: u64 = 1 << 12;
const RATE: u64 = 3 << 18;

/// Port GUIDs of two hosts on different switches of golden/policy's tree.
const H1: u64 = 0x10_0011;
const H3: u64 = 0x10_0031;

#[test]
fn silence_is_for_strangers_and_wrong_keys() {
    let world = World::tree(0);
    let reference = world.reference(ReferenceOptions {
        sa_key: 5,
        ..ReferenceOptions::default()
    });
    let ask = |lid, key: u64, rate: u8| {
        let mut mad = request(GET, SGID | DGID | RATE, |data| {
            ends(data, H1, H3);
            data[55] = 0xc0 | rate;
        });
        mad[36..44].copy_from_slice(&key.to_be_bytes());
        reference.respond(lid, &mad)
    };
    assert!(matches!(ask(1, 0, 2), Some(Reply::Records(_))));
    assert!(matches!(ask(1, 5, 2), Some(Reply::Records(_))));
    assert_eq!(ask(1, 6, 2), None);
    assert_eq!(ask(999, 0, 2), None);
    assert_eq!(
        ask(999, 0, 1),
        Some(Reply::Error(Status::REQ_INVALID)),
        "values come first"
    );
    assert_eq!(ask(999, 6, 1), None, "but the key before them");
}

#[test]
fn only_paths_are_judged() {
    let world = World::tree(0);
    let reference = world.reference(ReferenceOptions::default());
    let changed = |at: usize, byte| {
        let mut mad = request(GET, SGID | DGID, |data| ends(data, H1, H3));
        mad[at] = byte;
        reference.respond(1, &mad)
    };
    let elsewhere = [(3, 0x02), (3, 0x81), (17, 0x11), (1, 0x81), (2, 1), (0, 2)];
    for (at, byte) in elsewhere {
        assert_eq!(changed(at, byte), Some(Reply::NotMine), "{at} {byte:#x}");
    }
    let multi_path = changed(17, 0x3a);
    assert_eq!(
        multi_path,
        Some(Reply::Error(Status::REQ_INVALID)),
        "no RMPP"
    );
}

#[test]
fn what_does_not_exist_counts_before_what_contradicts() {
    let world = World::tree(0);
    let reference = world.reference(ReferenceOptions::default());
    let ask = |mask, dgid| {
        let mad = request(GET, mask, |data| {
            ends(data, H1, dgid);
            data[43] = 5;
        });
        reference.respond(1, &mad)
    };
    assert_eq!(
        ask(SGID | SLID | DGID, H3),
        Some(Reply::Error(Status::REQ_INVALID))
    );
    assert_eq!(
        ask(SGID | SLID | DGID, 0x999),
        Some(Reply::Error(Status::NO_RECORDS))
    );
}

#[test]
fn wildcards_go_by_byte_swapped_guids_destination_first() {
    let world = World::tree(0);
    let reference = world.reference(ReferenceOptions::default());
    let records = records(reference.respond(1, &request(GET_TABLE, 0, |_| ())));
    let guid = |gid: [u8; 16]| u64::from_be_bytes(gid[8..].try_into().unwrap()).swap_bytes();
    let pairs: Vec<_> = records
        .iter()
        .map(|record| (guid(record.dgid), guid(record.sgid)))
        .collect();
    assert_eq!(pairs.len(), 81);
    assert!(pairs.is_sorted());
    let half = request(GET_TABLE, DLID, |data| data[41] = 1);
    assert_eq!(
        reference.respond(1, &half).map(|reply| count(&reply)),
        Some(9)
    );
    let first = reference.respond(1, &request(GET, 0, |_| ()));
    assert_eq!(first, Some(Reply::Records(vec![records[0]])));
}

#[test]
fn lids_pair_up_and_numb_path_counts_per_pair() {
    let world = World::tree(1);
    let reference = world.reference(ReferenceOptions::default());
    let ask = |mask, numb_path: u8| {
        let mad = request(GET_TABLE, mask, |data| {
            ends(data, H1, H3);
            data[49] = numb_path;
        });
        let records = records(reference.respond(2, &mad));
        let lids = |record: &PathRecord| (record.slid.get(), record.dlid.get(), record.preference);
        records.iter().map(lids).collect::<Vec<_>>()
    };
    let all = [(2, 12, 0), (3, 13, 0), (2, 13, 2), (3, 12, 2)];
    assert_eq!(ask(SGID | DGID, 0), all);
    assert_eq!(ask(SGID | DGID | NUMB_PATH, 3), all[..3]);
    assert_eq!(ask(SGID | DGID | NUMB_PATH, 0), []);
    // Seven ports with two LIDs, two switches with one: four, or two, for each.
    assert_eq!(ask(SGID, 0).len(), 7 * 4 + 2 * 2);
    assert_eq!(ask(SGID | NUMB_PATH, 1).len(), 9);
}

#[test]
fn tables_have_a_limit_and_get_has_none() {
    let world = World::tree(0);
    let limited = |most_records, method| {
        let reference = world.reference(ReferenceOptions {
            most_records,
            ..ReferenceOptions::default()
        });
        reference.respond(1, &request(method, 0, |_| ())).unwrap()
    };
    assert_eq!(count(&limited(81, GET_TABLE)), 81);
    assert_eq!(limited(80, GET_TABLE), Reply::Error(Status::NO_RESOURCES));
    assert_eq!(count(&limited(1, GET)), 1);
}

#[test]
fn groups_and_other_subnets_have_no_records() {
    let world = World::tree(0);
    let reference = world.reference(ReferenceOptions::default());
    for start in [[0xff, 0x12], [0xfe, 0xc0]] {
        let ask = |method| {
            let mad = request(method, DGID, |data| data[8..10].copy_from_slice(&start));
            reference.respond(1, &mad)
        };
        assert_eq!(ask(GET), Some(Reply::Error(Status::NO_RECORDS)));
        assert_eq!(ask(GET_TABLE), Some(Reply::Records(Vec::new())));
    }
}

#[test]
fn every_pair_of_a_large_torus_has_a_path() {
    let world = World::torus([8, 8, 8], 2);
    let reference = world.reference(ReferenceOptions {
        qos: Qos::On,
        ..ReferenceOptions::default()
    });
    let count = u32::try_from(world.topology.end_ports.len()).unwrap();
    let guid = |nth: u32| world.topology.end_port(EndPortIx(nth % count)).guid.get();
    let begin = Instant::now();
    for nth in 0..65_536_u32 {
        let (source, destination) = (
            guid(nth.wrapping_mul(7919)),
            guid(nth.wrapping_mul(104_729)),
        );
        let mad = request(GET, SGID | DGID, |data| ends(data, source, destination));
        assert_eq!(records(reference.respond(1, &mad)).len(), 1);
    }
    println!("65536 requests, {count} end ports: {:?}", begin.elapsed());
}

/// A routed fabric without QoS policy.
struct World {
    topology: Topology,
    routes: Routes,
    ports: Vec<PortFacts>,
    partitions: Partitions,
    rate_caps: Vec<RateCaps>,
    off_subnet: OffSubnet,
}

impl World {
    /// The tree of golden/policy: two switches, six hosts, one router.
    fn tree(lmc: u8) -> Self {
        let file = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../tests/golden/policy/fabrics/tree.net");
        let Ok(Loaded::Fabric(fabric)) = load(&file) else {
            panic!("{}", file.display())
        };
        let options = SubnetOptions {
            lmc: Lmc::new(lmc).ok(),
            sm_node: Some("H1"),
            ..SubnetOptions::default()
        };
        Self::new(fabric, &options, false, minhop::route)
    }

    fn torus(size: [u8; 3], hosts: u8) -> Self {
        let plan = plan(&TorusSpec::new(size, hosts)).unwrap();
        let config = TorusConfig::parse(&plan.torus_conf()).unwrap();
        let fabric = net::parse(plan.net().as_bytes()).unwrap();
        let route = |topology: &Topology| torus::route(topology, &config, Qos::On).unwrap();
        Self::new(fabric, &SubnetOptions::default(), true, route)
    }

    fn new(
        fabric: Fabric,
        options: &SubnetOptions<'_>,
        qos: bool,
        route: impl Fn(&Topology) -> Routes,
    ) -> Self {
        let subnet = Subnet::new(fabric, options).unwrap();
        let topology = subnet.topology(&OpenSmOptions {
            qos,
            ..OpenSmOptions::default()
        });
        let ports = subnet.port_facts();
        let config = PartitionsConfig::parse("Default=0x7fff : ALL=full;\n").unwrap();
        let caps = subnet
            .end_ports()
            .iter()
            .map(|port| subnet.fabric().rate_caps(port.at));
        Self {
            routes: route(&topology),
            partitions: Partitions::new(&config, &ports, PartitionOptions::default()),
            rate_caps: caps.collect(),
            off_subnet: OffSubnet::default(),
            topology,
            ports,
        }
    }

    fn reference(&self, options: ReferenceOptions) -> Reference<'_> {
        let inputs = ReferenceInputs {
            topology: &self.topology,
            routes: &self.routes,
            policy: None,
            ports: &self.ports,
            partitions: &self.partitions,
            rate_caps: &self.rate_caps,
            off_subnet: &self.off_subnet,
        };
        Reference::new(inputs, options)
    }
}

fn request(method: u8, mask: u64, fill: impl Fn(&mut [u8])) -> [u8; 256] {
    let mut mad = [0; 256];
    mad[..4].copy_from_slice(&[1, 3, 2, method]);
    mad[17] = 0x35;
    mad[48..56].copy_from_slice(&mask.to_be_bytes());
    fill(&mut mad[56..]);
    mad
}

/// Link-local GIDs of two ports.
fn ends(data: &mut [u8], source: u64, destination: u64) {
    for (at, guid) in [(8, destination), (24, source)] {
        data[at..at + 2].copy_from_slice(&[0xfe, 0x80]);
        data[at + 8..at + 16].copy_from_slice(&guid.to_be_bytes());
    }
}

fn records(reply: Option<Reply>) -> Vec<PathRecord> {
    match reply {
        Some(Reply::Records(records)) => records,
        other => panic!("{other:?}"),
    }
}

fn count(reply: &Reply) -> usize {
    match reply {
        Reply::Records(records) => records.len(),
        other => panic!("{other:?}"),
    }
}
