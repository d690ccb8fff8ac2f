//! Dumps that OpenSM wrote, read and written again.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use sa_fabric::formats::{fdbs, lfts, mcfdbs, psl, sl2vl, slvl, subnet_lst, torus};
use sa_fabric::{Subnet, SubnetOptions};
use sa_wire::{Guid, Lid, SlToVl};

use crate::common::{fabric, file, golden, routed_cases, text, torus_cases};

fn subnet(case: &Path) -> Subnet {
    Subnet::new(fabric(case, "opensm-subnet.lst"), &SubnetOptions::default()).unwrap()
}

/// Fails with the first line that differs rather than with megabytes.
fn same(case: &Path, name: &str, written: Vec<u8>) {
    let written = String::from_utf8(written).unwrap();
    let expected = text(case, name);
    for (number, (ours, theirs)) in (1..).zip(written.lines().zip(expected.lines())) {
        assert_eq!(ours, theirs, "{} {name} line {number}", case.display());
    }
    assert_eq!(written.len(), expected.len(), "{} {name}", case.display());
}

#[test]
fn torus_dumps_round_trip() {
    let mut read = 0;
    for case in torus_cases() {
        if let Some(input) = file(&case, "opensm-torus.dump") {
            let placed = torus::read(&input.bytes).unwrap();
            let switches = placed
                .iter()
                .map(|p| (p.coordinate, p.guid, p.description.as_str()));
            let mut out = Vec::new();
            torus::write(&mut out, switches).unwrap();
            same(&case, "opensm-torus.dump", out);
            read += 1;
        }
    }
    assert!(read > 27, "{read}");
}

#[test]
fn subnet_lists_round_trip() {
    for case in routed_cases() {
        let mut out = Vec::new();
        subnet_lst::write(&mut out, &subnet(&case)).unwrap();
        same(&case, "opensm-subnet.lst", out);
        let net = fabric(&case, "net");
        let lmc = Some(crate::common::lmc(&case));
        let ours = Subnet::new(
            net,
            &SubnetOptions {
                lmc,
                ..SubnetOptions::default()
            },
        )
        .unwrap();
        let mut out = Vec::new();
        subnet_lst::write(&mut out, &ours).unwrap();
        same(&case, "opensm-subnet.lst", out);
    }
}

#[test]
fn forwarding_tables_round_trip() {
    for case in routed_cases() {
        let subnet = subnet(&case);
        let tables = lfts::read(&file(&case, "opensm-lfts.dump").unwrap().bytes).unwrap();
        let max_lid = tables[0].max_lid.unwrap();
        let bytes: Vec<_> = tables.iter().map(|switch| switch.table(max_lid)).collect();
        let headings = subnet.switches().iter().map(|ix| {
            let node = subnet.fabric().node(*ix);
            let port0 = subnet.find(&node.guid.to_string()).unwrap();
            lfts::Heading {
                lid: subnet.end_ports()[port0].lid,
                guid: node.guid,
                description: &node.description,
                ports: node.port_count(),
            }
        });
        let owner = |lid| {
            let port = subnet.end_ports()[subnet.by_lid(Lid::new(lid).ok()?)?];
            let node = subnet.fabric().node(port.at.node);
            let (node_type, guid) = (node.kind, port.guid);
            Some(lfts::Owner {
                node_type,
                guid,
                description: &node.description,
            })
        };
        let mut out = Vec::new();
        let entry = |switch: usize, lid| bytes[switch][usize::from(lid)];
        lfts::write(&mut out, headings, max_lid, owner, entry).unwrap();
        same(&case, "opensm-lfts.dump", out);
        if fdbs_case(&case).exists() {
            fdbs_from(&case, &subnet, &bytes, max_lid);
        }
    }
}

/// Writes opensm.fdbs from the tables of the other dump: port and hop column as OpenSM does.
fn fdbs_from(case: &Path, subnet: &Subnet, tables: &[Vec<u8>], max_lid: u16) {
    let guids: Vec<Guid> = subnet
        .switches()
        .iter()
        .map(|ix| subnet.fabric().node(*ix).guid)
        .collect();
    let entry = |switch: usize, lid: u16| {
        let Some(port) = Lid::new(lid).ok().and_then(|lid| subnet.by_lid(lid)) else {
            return fdbs::Entry::Unreachable;
        };
        let at = subnet.end_ports()[port].at;
        let peer = subnet.fabric().port(at).peer;
        let is_local = peer.is_some_and(|peer| peer.node == subnet.switches()[switch]);
        match tables[switch][usize::from(lid)] {
            255 => fdbs::Entry::Unreachable,
            port => fdbs::Entry::without_hops(port, is_local),
        }
    };
    let mut out = Vec::new();
    fdbs::write(&mut out, guids, max_lid, entry).unwrap();
    same(&fdbs_case(case), "opensm.fdbs", out);
}

/// The few cases whose opensm.fdbs is kept, as it holds what opensm-lfts.dump holds.
fn fdbs_case(case: &Path) -> PathBuf {
    golden("fabric/fdbs").join(case.file_name().unwrap())
}

#[test]
fn both_dumps_of_the_tables_say_the_same() {
    for case in routed_cases()
        .into_iter()
        .filter(|case| fdbs_case(case).exists())
    {
        let fdbs = fdbs::read(&file(&fdbs_case(&case), "opensm.fdbs").unwrap().bytes).unwrap();
        let lfts = lfts::read(&file(&case, "opensm-lfts.dump").unwrap().bytes).unwrap();
        assert_eq!(fdbs.len(), lfts.len());
        for (fdb, lft) in fdbs.iter().zip(&lfts) {
            assert_eq!(fdb.guid, lft.guid);
            let ports: Vec<u8> = fdb.entries.iter().map(|entry| entry.port()).collect();
            assert_eq!(ports, lft.table(lft.max_lid.unwrap())[1..]);
        }
        let mut out = Vec::new();
        let max_lid = u16::try_from(fdbs[0].entries.len()).unwrap();
        let entry = |switch: usize, lid: u16| fdbs[switch].entries[usize::from(lid) - 1];
        fdbs::write(&mut out, fdbs.iter().map(|fdb| fdb.guid), max_lid, entry).unwrap();
        same(&fdbs_case(&case), "opensm.fdbs", out);
    }
}

#[test]
fn lane_tables_round_trip() {
    for case in routed_cases() {
        let subnet = subnet(&case);
        let ports = sl2vl::read(&file(&case, "opensm-sl2vl.dump").unwrap().bytes).unwrap();
        let tables: HashMap<(usize, u8, u8), SlToVl> = (0..)
            .zip(&ports)
            .flat_map(|(n, port)| {
                port.rows
                    .iter()
                    .map(move |r| ((n, r.input, r.output), r.table))
            })
            .collect();
        let sections = subnet.end_ports().iter().map(|end| {
            let node = subnet.fabric().node(end.at.node);
            let cabled = (0..)
                .zip(&node.ports)
                .filter(|(_, port)| port.peer.is_some());
            sl2vl::Section {
                node_type: node.kind,
                guid: end.guid,
                lid: end.lid,
                description: &node.description,
                ports: node.port_count(),
                cabled: cabled.map(|(number, _)| number).collect(),
            }
        });
        let mut out = Vec::new();
        sl2vl::write(&mut out, sections, |n, input, output| {
            tables[&(n, input, output)]
        })
        .unwrap();
        same(&case, "opensm-sl2vl.dump", out);
        slvl_round_trip(&ports);
    }
}

/// There is no recorded slvl file: what is written must come back.
fn slvl_round_trip(ports: &[sl2vl::PortTables]) {
    let entries: Vec<_> = ports
        .iter()
        .filter(|port| port.node_type == sa_wire::NodeType::Switch)
        .flat_map(|port| {
            let guid = port.guid;
            port.rows.iter().map(move |row| slvl::Entry {
                guid,
                input: row.input,
                output: row.output,
                table: row.table,
            })
        })
        .collect();
    let mut out = Vec::new();
    slvl::write(&mut out, entries.iter().copied()).unwrap();
    assert_eq!(slvl::read(&out).unwrap(), entries);
}

#[test]
fn path_levels_and_multicast_tables_round_trip() {
    for case in routed_cases() {
        let entries = psl::read(&file(&case, "psl").unwrap().bytes).unwrap();
        let mut out = Vec::new();
        psl::write(&mut out, entries).unwrap();
        same(&case, "psl", out);
        let switches = mcfdbs::read(&file(&case, "opensm.mcfdbs").unwrap().bytes).unwrap();
        let mut out = Vec::new();
        mcfdbs::write(&mut out, &switches).unwrap();
        same(&case, "opensm.mcfdbs", out);
    }
}
