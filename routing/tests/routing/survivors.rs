//! What is left when an engine refuses: old answers for pairs that lost nothing on their way.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use crate::common;

use std::collections::BTreeMap;
use std::sync::Arc;

use common::generate::TorusSpec;
use proptest::prelude::*;
use routing::engine::torus;
use routing::proof::PathSls;
use routing::proof::unicast_loop;
use routing::tables::{PathSlRule, PathSlTable, survivors};
use routing::{EndPortIx, Peer, Qos, Routes, Topology};
use sa_rig::rng::Rng;
use sa_wire::{Lid, Sl};

/// The torus after damage, LIDs as before.
fn damaged(spec: &TorusSpec, before: &Topology, missing: &[[u8; 3]]) -> Topology {
    let spec = TorusSpec {
        missing_switches: missing.to_vec(),
        ..spec.clone()
    };
    let mut fabric = spec.fabric();
    let lids = before.end_ports.iter();
    fabric.lids = lids
        .map(|end| (end.guid.get(), end.lid.get()))
        .collect::<BTreeMap<_, _>>();
    fabric.build()
}

/// GUIDs of the switches on a path, ports by which it leaves them; none without a path.
fn way(topology: &Topology, routes: &Routes, from: EndPortIx, lid: Lid) -> Option<Vec<(u64, u8)>> {
    let to = routes.lids().owner(lid)?;
    let (mut here, _) = topology.end_port(from).attached?;
    let mut way = Vec::new();
    loop {
        let port = routes.output(here, lid)?;
        way.push((topology.switch(here).guid.get(), port));
        if topology.end_port(to).attached == Some((here, port)) {
            return Some(way);
        }
        match topology.peer(here, port) {
            Peer::Switch { switch, .. } => here = switch,
            _ => return None,
        }
        if way.len() > topology.switches.len() {
            return None;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pairs_keep_their_answers_or_have_none(seed: u64) {
        let mut random = Rng::new(seed);
        let radix = [[5, 5, 1], [4, 3, 3], [1, 6, 5]][random.below(3)];
        let spec = TorusSpec { lmc: random.below(2), ..TorusSpec::new(radix) };
        let before = spec.topology();
        let routes = torus::route(&before, &spec.config(), Qos::On).unwrap();
        let mut places = spec.places();
        random.shuffle(&mut places);
        let missing = &places[..1 + random.below(4)];
        let after = damaged(&spec, &before, missing);
        let left = survivors(&before, &routes, &after);
        prop_assert_eq!(unicast_loop(&after, &left, PathSls::Engine), None);

        let gone: Vec<u64> = missing.iter().map(|at| spec.guid(*at)).collect();
        for old in before.end_port_ixs() {
            let guid = before.end_port(old).guid;
            let new = after.end_port_ixs().find(|ix| after.end_port(*ix).guid == guid);
            for lid in (1..=before.max_lid()).map(|lid| Lid::new(lid).unwrap()) {
                let was = way(&before, &routes, old, lid);
                let is = new.and_then(|new| way(&after, &left, new, lid));
                let was = was.filter(|way| way.iter().all(|(switch, _)| !gone.contains(switch)));
                prop_assert_eq!(&is, &was);
                let slid = before.end_port(old).lid;
                if is.is_some() {
                    let sl = |routes: &Routes| routes.path_sl(Sl::default(), slid, lid);
                    prop_assert_eq!(sl(&left), sl(&routes));
                }
            }
        }
    }

    /// A table of SLs is told by ports and LIDs, whose indices shift.
    #[test]
    fn pairs_keep_the_sls_of_a_table(seed: u64) {
        let mut random = Rng::new(seed);
        let spec = TorusSpec { lmc: random.below(2), ..TorusSpec::new([4, 3, 1]) };
        let before = spec.topology();
        let sl = |from: EndPortIx, lid: Lid| {
            let number = from.0 * 7 + u32::from(lid.get());
            Some(Sl::from_low_bits((number % 16).to_le_bytes()[0]))
        };
        let table = PathSlTable::by_pair(&before, sl);
        let routes = torus::route(&before, &spec.config(), Qos::On).unwrap();
        let routes = routes.with_path_sl(PathSlRule::Table(Arc::new(table)));
        let mut places = spec.places();
        random.shuffle(&mut places);
        let after = damaged(&spec, &before, &places[..1 + random.below(3)]);
        let left = survivors(&before, &routes, &after);
        for end in &after.end_ports {
            let old = before.end_port_ixs().find(|ix| before.end_port(*ix).guid == end.guid);
            for lid in after.end_ports.iter().flat_map(|end| end.lids()) {
                let owner = |topology: &Topology, routes: &Routes| {
                    routes.lids().owner(lid).map(|end| topology.end_port(end).guid)
                };
                let is_kept = owner(&before, &routes) == owner(&after, &left);
                let expected = if is_kept { sl(old.unwrap(), lid) } else { None };
                prop_assert_eq!(left.path_sl(Sl::default(), end.lid, lid), expected);
            }
        }
    }
}
