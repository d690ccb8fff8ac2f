//! torus-2QoS against the tables that OpenSM made for the same fabrics, entry for entry.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use crate::common;

use std::collections::BTreeMap;
use std::fmt::Write;

use common::{Case, cases, dumps};
use routing::engine::torus;
use routing::{EndPortIx, Qos, Routes, Topology, Torus};
use sa_wire::{Lid, Mlid, Sl};

fn routed(case: &Case) -> (Topology, Routes) {
    let topology = case.topology();
    let routes = torus::route(&topology, &case.config(), Qos::On)
        .unwrap_or_else(|refusal| panic!("{}: {refusal}", case.name));
    (topology, routes)
}

fn for_each_up(check: impl Fn(&Case, &Topology, &Routes)) {
    let mut count = 0;
    for case in cases().into_iter().filter(Case::is_up) {
        let (topology, routes) = routed(&case);
        check(&case, &topology, &routes);
        count += 1;
    }
    assert_eq!(count, 27);
}

fn torus_dump(topology: &Topology, torus: &Torus) -> String {
    let mut dump = String::new();
    for placed in torus.by_place() {
        let switch = topology.switch(placed.switch);
        let (at, guid) = (placed.at, switch.guid.get());
        writeln!(
            dump,
            "switch {at} GUID 0x{guid:04x} ({})",
            switch.description
        )
        .unwrap();
    }
    dump
}

#[test]
fn every_switch_is_where_opensm_puts_it() {
    for_each_up(|case, topology, routes| {
        let expected = case.text("opensm-torus.dump.xz");
        assert_eq!(
            torus_dump(topology, routes.torus().unwrap()),
            expected,
            "{}",
            case.name
        );
    });
}

#[test]
fn every_forwarding_entry_is_opensms() {
    for_each_up(|case, topology, routes| {
        let expected = dumps::read_lfts(&case.text("opensm-lfts.dump.xz"), topology);
        for switch in topology.switch_ixs() {
            assert_eq!(
                routes.lft(switch),
                expected[switch.index()],
                "{} {switch:?}",
                case.name
            );
        }
    });
}

#[test]
fn every_sl2vl_table_is_opensms() {
    for_each_up(|case, topology, routes| {
        let expected = dumps::read_sl2vl(&case.text("opensm-sl2vl.dump.xz"), topology);
        for (switch, input, output, table) in expected.switches {
            let ours = routes.sl2vl(switch, input, output);
            assert_eq!(ours, table, "{} {switch:?} {input} {output}", case.name);
        }
        for (end, table) in expected.end_ports {
            assert_eq!(routes.end_port_sl2vl(end), table, "{} {end:?}", case.name);
        }
    });
}

#[test]
fn every_path_sl_is_opensms() {
    for_each_up(|case, topology, routes| {
        let lids: BTreeMap<u64, Lid> = topology
            .end_ports
            .iter()
            .filter(|end| end.port_number != 0)
            .map(|end| (end.node_guid.get(), end.lid))
            .collect();
        let mut compared = 0;
        for (guid, dlid, expected) in dumps::read_psl(&case.text("psl.xz")) {
            // Refused pairs have no path, which is not the engine's say. The second partition of
            // s21 asks for the second level.
            let Some(expected) = expected else { continue };
            let hint = Sl::new(if case.has("partitions.conf") { 8 } else { 0 }).unwrap();
            let ours = routes.path_sl(hint, lids[&guid], Lid::new(dlid).unwrap());
            assert_eq!(
                ours.unwrap().get(),
                expected,
                "{} {guid:#x} {dlid}",
                case.name
            );
            compared += 1;
        }
        assert!(compared > 1000, "{}", case.name);
    });
}

#[test]
fn every_multicast_entry_is_opensms() {
    let mut compared = 0;
    for case in cases()
        .into_iter()
        .filter(|case| case.is_up() && case.has("mcgroups.txt"))
    {
        let (topology, routes) = routed(&case);
        let torus = routes.torus().unwrap();
        let tree = routes.multicast_tree().unwrap();
        assert_eq!(tree.branches().len() + 1, torus.switches().len(), "a tree");
        let by_guid: BTreeMap<u64, EndPortIx> = topology
            .end_port_ixs()
            .map(|ix| (topology.end_port(ix).guid.get(), ix))
            .collect();
        let mut expected = dumps::read_mcfdbs(&case.text("opensm.mcfdbs.xz"));
        for (mlid, _, members) in dumps::read_groups(&case.text("mcgroups.txt")) {
            let members: Vec<_> = members.iter().map(|guid| by_guid[guid]).collect();
            let table = tree.table(&topology, Mlid::new(mlid).unwrap(), &members);
            for (switch, ports) in table.switches {
                let guid = topology.switch(switch).guid.get();
                let theirs = expected.remove(&(guid, mlid));
                let ours: Vec<_> = ports.iter().collect();
                assert_eq!(Some(ours), theirs, "{} {switch:?} {mlid:#x}", case.name);
                compared += 1;
            }
        }
        assert!(expected.is_empty(), "{}: {expected:?}", case.name);
    }
    assert!(compared > 1000);
}

#[test]
fn refusals_are_opensms() {
    let mut count = 0;
    for case in cases().into_iter().filter(|case| !case.is_up()) {
        let topology = case.topology();
        let refusal = torus::route(&topology, &case.config(), Qos::On).unwrap_err();
        let log = case.text("osm-torus.log");
        let ours: Vec<_> = refusal
            .reasons
            .iter()
            .filter_map(|r| r.opensm_code())
            .collect();
        let theirs = log.lines().filter_map(|line| line.split_once("ERR "));
        // 4E57 only says that one of the others came before.
        for code in theirs
            .map(|(_, rest)| &rest[..4])
            .filter(|code| *code != "4E57")
        {
            assert!(
                ours.contains(&code),
                "{}: {code} not in {refusal}",
                case.name
            );
        }
        assert_eq!(
            refusal.torus.is_some(),
            case.has("opensm-torus.dump.xz"),
            "{}",
            case.name
        );
        if let Some(torus) = refusal.torus {
            let expected = case.text("opensm-torus.dump.xz");
            assert_eq!(torus_dump(&topology, &torus), expected, "{}", case.name);
        }
        count += 1;
    }
    assert_eq!(count, 8);
}
