//! The simulated fabric file, read by our rules, is what OpenSM found.

use std::collections::BTreeMap;
use std::path::Path;

use sa_fabric::formats::{net, subnet_lst};
use sa_fabric::{Fabric, LidOverlay, Link, Subnet, SubnetOptions};
use sa_wire::Lmc;

use crate::common::{fabric, file, golden, lmc, routed_cases, text};

/// Cables by node GUID and port number, with what they run at.
fn cables(subnet: &Subnet) -> BTreeMap<(u64, u8), ((u64, u8), Link)> {
    let fabric = subnet.fabric();
    let name = |at: sa_fabric::PortRef| (fabric.node(at.node).guid.get(), at.port);
    let reached = |at: sa_fabric::PortRef| subnet.by_port(at).is_some();
    fabric
        .cabled()
        .filter(|(here, _)| reached(*here))
        .map(|(here, there)| (name(here), (name(there), fabric.link(here))))
        .collect()
}

fn lids(subnet: &Subnet) -> Vec<(u64, u16, u8)> {
    let all = subnet.end_ports().iter();
    all.map(|port| (port.guid.get(), port.lid.get(), port.lmc.get()))
        .collect()
}

fn descriptions(subnet: &Subnet) -> BTreeMap<u64, (String, usize)> {
    let nodes = subnet
        .end_ports()
        .iter()
        .map(|port| subnet.fabric().node(port.at.node));
    nodes
        .map(|node| {
            (
                node.guid.get(),
                (node.description.clone(), node.ports.len()),
            )
        })
        .collect()
}

fn subnet(fabric: Fabric, options: SubnetOptions<'_>) -> Subnet {
    let subnet = Subnet::new(fabric, &options).unwrap();
    assert!(subnet.report().moved.is_empty(), "{:?}", subnet.report());
    subnet
}

/// The net file numbered by our rules, and the list that OpenSM wrote, are the same subnet.
fn agree(net: Fabric, list: Fabric, options: SubnetOptions<'_>) {
    let found = subnet(list, SubnetOptions::default());
    let ours = subnet(net, options);
    assert_eq!(lids(&ours), lids(&found));
    assert_eq!(cables(&ours), cables(&found));
    assert_eq!(descriptions(&ours), descriptions(&found));
    assert_eq!(ours.sm(), found.sm());
    assert_eq!(ours.lmc(), found.lmc(), "LMC inferred from the list");
}

#[test]
fn every_torus_case_is_numbered_as_opensm_did() {
    for case in routed_cases() {
        println!("{}", case.display());
        let options = SubnetOptions {
            lmc: Some(lmc(&case)),
            ..SubnetOptions::default()
        };
        agree(
            fabric(&case, "net"),
            fabric(&case, "opensm-subnet.lst"),
            options,
        );
    }
}

#[test]
fn the_policy_fabrics_are_numbered_and_trained_as_opensm_did() {
    let directory = golden("policy/fabrics");
    let read = |name: &str| file(&directory, name).unwrap().fabric().unwrap();
    let with = |lmc, sm_node| SubnetOptions {
        lmc: Lmc::new(lmc).ok(),
        sm_node: Some(sm_node),
        ..SubnetOptions::default()
    };
    agree(read("tree.net"), read("tree.subnet.lst"), with(0, "H1"));
    agree(
        read("tree.net"),
        read("tree-lmc1.subnet.lst"),
        with(1, "H1"),
    );
    for name in ["torus-5x3x3", "torus-5x5x3"] {
        let (net, list) = (format!("{name}.net"), format!("{name}.subnet.lst"));
        agree(read(&net), read(&list), with(0, "H0_0_0"));
    }
}

#[test]
fn lids_laid_over_a_net_file_are_those_of_the_list() {
    for case in routed_cases() {
        let overlay = LidOverlay::from_fabric(&fabric(&case, "opensm-subnet.lst"));
        let options = SubnetOptions {
            lids: Some(&overlay),
            ..SubnetOptions::default()
        };
        let ours = subnet(fabric(&case, "net"), options);
        assert!(ours.report().unknown_guids.is_empty() && ours.report().without_lid.is_empty());
        assert_eq!(
            lids(&ours),
            lids(&subnet(
                fabric(&case, "opensm-subnet.lst"),
                SubnetOptions::default()
            ))
        );
        assert_eq!(ours.lmc(), lmc(&case));
    }
}

#[test]
fn a_foreign_lid_file_is_refused_and_a_partial_one_reported() {
    let directory = golden("torus");
    let case = |name: &str| Path::new(&directory).join(name);
    let overlay = LidOverlay::from_fabric(&fabric(&case("s10-6x5-swT"), "opensm-subnet.lst"));
    let options = SubnetOptions {
        lids: Some(&overlay),
        ..SubnetOptions::default()
    };
    let whole = Subnet::new(fabric(&case("s01-6x5"), "net"), &options).unwrap();
    assert_eq!(
        whole.report().without_lid.len(),
        3,
        "the failed switch and its hosts"
    );
    let other = text(&case("s01-6x5"), "net").replace("guid=0x", "guid=0x77");
    let error = Subnet::new(net::parse(other.as_bytes()).unwrap(), &options).unwrap_err();
    let error = error.to_string();
    assert!(error.contains("none of this fabric"), "{error}");
}

/// Odd fabrics, started on with OpenSM over ibsim: the list comes out byte for byte.
#[test]
fn simulated_fabrics_give_the_list_that_opensm_wrote() {
    let mut cases = 0;
    for entry in std::fs::read_dir(golden("fabric/sim")).unwrap() {
        let case = entry.unwrap().path();
        let told = text(&case, "CASE.txt");
        let sm_node = told.lines().find_map(|line| line.strip_prefix("sm: "));
        let lmc = Some(lmc(&case));
        let options = SubnetOptions {
            lmc,
            sm_node,
            ..SubnetOptions::default()
        };
        let ours = Subnet::new(fabric(&case, "net"), &options).unwrap();
        let mut list = Vec::new();
        subnet_lst::write(&mut list, &ours).unwrap();
        let list = String::from_utf8(list).unwrap();
        for (line, recorded) in list.lines().zip(text(&case, "opensm-subnet.lst").lines()) {
            assert_eq!(line, recorded, "{}", case.display());
        }
        assert_eq!(list, text(&case, "opensm-subnet.lst"));
        cases += 1;
    }
    assert!(cases >= 10, "{cases}");
}
