//! A subnet without switches: two hosts and a cable, or a host alone.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use crate::common;

use common::build::{FabricBuilder, default_capacity};
use routing::engine::{self, EngineInput, Request};
use routing::proof::reachability;
use routing::reference::{NoPath, walk};
use routing::watch::Watch;
use routing::{EndPortIx, EngineKind, GivenSl2Vl, Qos, Topology};
use sa_snapshot::model::Capacity;
use sa_wire::{Mtu, Sl, SlToVl};

use crate::path_classes::agree;

/// Two hosts and one cable, their ports unlike; with `cable` false it is pulled.
fn pair(cable: bool) -> Topology {
    let mut fabric = FabricBuilder {
        lmc: 1,
        op_vls: 4,
        ..FabricBuilder::default()
    };
    for host in [1, 2] {
        fabric.host(0x10 * host, 1, 0x10 * host + 1, "host");
    }
    if cable {
        fabric.cable((0x10, 1), (0x20, 1));
    }
    let slower = Capacity {
        mtu: small_mtu(),
        ..default_capacity()
    };
    fabric.capacities.insert((0x20, 1), slower);
    // The second drops SL 3 on its way out.
    let mut dropping = SlToVl([0; 16]);
    dropping.0[3] = 15;
    fabric.sl2vl.insert((0x20, 1), dropping);
    fabric.build()
}

#[test]
fn two_hosts_with_a_cable_have_paths_of_no_switch_and_without_it_none() {
    for (cable, lost) in [(true, 0), (false, 4)] {
        let topology = pair(cable);
        for kind in EngineKind::ALL {
            let is_files = kind == EngineKind::Files;
            let given = GivenSl2Vl::default();
            let request = Request {
                topology: &topology,
                qos: Qos::On,
                // What torus engines need is not there, and is not asked for.
                input: match is_files {
                    true => EngineInput::Tables {
                        lfts: &[],
                        sl2vl: &given,
                    },
                    false => EngineInput::Nothing,
                },
                before: None,
                watch: Watch::default(),
            };
            let routes = engine::route(kind, &request).unwrap();
            assert_eq!(routes.engine(), kind);
            agree(&topology, &routes, Qos::On);
            agree(&topology, &routes, Qos::Off);
            let reached = reachability(&topology, &routes, 10);
            assert_eq!((reached.pairs, reached.lost), (4, lost), "{kind}");
            assert_eq!(reached.lost_between_hosts, lost / 2);
            assert_eq!(reached.listed.len() as u64, lost);
            let (one, other) = (EndPortIx(0), EndPortIx(1));
            let lid = topology.end_port(one).lids().last().unwrap();
            let back = walk(&topology, &routes, Qos::On, other, lid);
            match cable {
                true => {
                    let back = back.unwrap();
                    assert!(back.hops.is_empty() && !back.carried.carries(Sl::new(3).unwrap()));
                    assert_eq!(back.capacity.mtu, small_mtu());
                }
                false => assert_eq!(back, Err(NoPath::NotAttached)),
            }
        }
    }
}

/// 1,024 bytes.
fn small_mtu() -> Mtu {
    Mtu::from_code(3).unwrap()
}
