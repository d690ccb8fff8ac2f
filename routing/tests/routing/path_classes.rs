//! Compiled path classes against the plain walk, on every pair of many small fabrics.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail the test"
)]

use crate::common;

use common::generate::{TorusSpec, random_graph, random_torus, vary};
use common::trees::{cut, fat_tree};
use proptest::prelude::*;
use routing::engine::{files, minhop, torus};
use routing::paths::classes::{self, PortEdge};
use routing::reference::{NoPath, walk};
use routing::{EndPortIx, GivenSl2Vl, Qos, Routes, Topology};
use sa_rig::rng::Rng;
use sa_snapshot::model::{Capacity, Pairs, PathTables};
use sa_wire::{Lid, NodeType, SlToVl, SlVlMask};

/// What tables and edges together say about a pair.
fn looked_up(
    topology: &Topology,
    tables: &PathTables,
    edges: &[PortEdge],
    source: EndPortIx,
    destination: EndPortIx,
    offset: usize,
) -> Option<(Capacity, SlVlMask, u8)> {
    let (from, to) = (&edges[source.index()], &edges[destination.index()]);
    let is_switch = topology.end_port(source).node_type == NodeType::Switch;
    if source == destination {
        let has_path = !is_switch || tables.columns[destination.index()][offset] != 0;
        return has_path.then_some((from.own, from.sl_out, 0));
    }
    let row = usize::from(tables.rows[source.index()].checked_sub(1)?);
    let column = usize::from(tables.columns[destination.index()][offset].checked_sub(1)?);
    let class = match &tables.pairs {
        Pairs::Uniform { within, .. } if from.switch == to.switch => *within,
        Pairs::Uniform { across, .. } => *across,
        Pairs::Dense { columns, table } => table[row * *columns as usize + column],
    };
    let class = tables.classes[usize::from(class)];
    if class == tables.classes[0] {
        return None;
    }
    // The facing port of the only switch on the way is the egress of a switch as source, whose own
    // numbers do not count.
    let to_edge = if is_switch && from.switch == to.switch {
        to.own
    } else {
        to.edge
    };
    let out = if is_switch {
        SlVlMask::ALL
    } else {
        from.sl_out
    };
    let capacity = from.edge.min(class.capacity).min(to_edge);
    Some((capacity, out.and(class.carried).and(to.sl_in), class.hops))
}

pub(crate) fn agree(topology: &Topology, routes: &Routes, qos: Qos) {
    let tables = classes::compile(topology, routes, qos).unwrap();
    let edges = classes::port_edges(topology, routes, qos);
    let is_uniform = matches!(tables.pairs, Pairs::Uniform { .. });
    let mut longest = 0;
    for source in topology.end_port_ixs() {
        for destination in topology.end_port_ixs() {
            let lids = topology.end_port(destination).lids();
            for (offset, lid) in lids.enumerate() {
                let found = looked_up(topology, &tables, &edges, source, destination, offset);
                let place = format!("{source:?} to LID {lid} of {destination:?}");
                match walk(topology, routes, qos, source, lid) {
                    Ok(walk) => {
                        let (capacity, carried, hops) = found.expect(&place);
                        assert_eq!(
                            (capacity, carried),
                            (walk.capacity, walk.carried),
                            "{place}"
                        );
                        let length = u8::try_from(walk.hops.len()).unwrap();
                        longest = longest.max(length);
                        assert!(hops == length || (is_uniform && hops >= length), "{place}");
                    }
                    Err(NoPath::AllSlsDropped) => {
                        assert!(
                            found.is_none_or(|(_, carried, _)| carried.0 == 0),
                            "{place}"
                        );
                    }
                    Err(_) => {
                        let is_none = found.is_none_or(|(_, carried, _)| carried.0 == 0);
                        assert!(is_none, "{place}: {found:?}");
                    }
                }
            }
        }
    }
    if is_uniform && topology.switches.len() > 1 && longest > 1 {
        assert_eq!(tables.classes[2].hops, longest, "the longest path");
    }
}

/// SL2VL tables that differ by input port and drop some SLs.
fn dropping_tables(topology: &Topology, random: &mut Rng) -> GivenSl2Vl {
    let mut given = GivenSl2Vl::default();
    for switch in topology.switch_ixs() {
        let ports = u8::try_from(topology.switch(switch).ports.len()).unwrap();
        for (input, output) in (0..ports).flat_map(|input| (0..ports).map(move |o| (input, o))) {
            if random.below(3) == 0 {
                given
                    .switches
                    .push((switch, input, output, dropping_table(random)));
            }
        }
    }
    for end in topology.end_port_ixs() {
        if random.below(4) == 0 {
            given.end_ports.push((end, dropping_table(random)));
        }
    }
    given
}

fn dropping_table(random: &mut Rng) -> SlToVl {
    SlToVl([0; 16].map(|_: u8| if random.below(4) == 0 { 15 } else { 0 }))
}

/// Tables of minhop with two entries in `most` spoilt: gone, or leading elsewhere.
fn spoilt_tables(topology: &Topology, random: &mut Rng, most: u64) -> Vec<Vec<u8>> {
    let routes = minhop::route(topology);
    let mut tables: Vec<_> = topology
        .switch_ixs()
        .map(|ix| routes.lft(ix).to_vec())
        .collect();
    for (switch, table) in topology.switch_ixs().zip(&mut tables) {
        let ports = topology.switch(switch).ports.len() as u64;
        for entry in table.iter_mut() {
            match random.below(most) {
                0 => *entry = 0xff,
                1 => *entry = u8::try_from(random.below(ports)).unwrap(),
                _ => {}
            }
        }
    }
    tables
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn irregular_fabrics_agree(seed: u64, drops: bool) {
        let topology = random_graph(seed, drops).build();
        let routes = minhop::route(&topology);
        agree(&topology, &routes, Qos::On);
        agree(&topology, &routes, Qos::Off);
    }

    #[test]
    fn given_tables_agree(seed: u64, spoil: bool) {
        let topology = random_graph(seed, false).build();
        let mut random = Rng::new(seed ^ 1);
        let sl2vl = dropping_tables(&topology, &mut random);
        let tables = if spoil {
            spoilt_tables(&topology, &mut random, 12)
        } else {
            let routes = minhop::route(&topology);
            topology.switch_ixs().map(|ix| routes.lft(ix).to_vec()).collect()
        };
        let routes = files::route(&topology, &tables, &sl2vl).unwrap();
        agree(&topology, &routes, Qos::On);
        agree(&topology, &routes, Qos::Off);
    }

    /// Several LIDs to a switch, which go different ways, most of them the shortest.
    #[test]
    fn trees_agree(seed: u64, most in prop::sample::select(vec![100_u64, 1000, u64::MAX])) {
        let mut random = Rng::new(seed);
        let mut fabric = fat_tree(4, 2, Some(seed));
        cut(&mut fabric, random.below(3), &mut random);
        let topology = fabric.build();
        let tables = spoilt_tables(&topology, &mut random, most);
        let routes = files::route(&topology, &tables, &GivenSl2Vl::default()).unwrap();
        agree(&topology, &routes, Qos::Off);
    }

    #[test]
    fn tori_agree(seed: u64, varied: bool) {
        let spec = random_torus(seed, 48);
        let mut fabric = spec.fabric();
        if varied {
            vary(&mut fabric, &mut Rng::new(seed), true);
        }
        let topology = fabric.build();
        if let Ok(routes) = torus::route(&topology, &spec.config(), Qos::On) {
            agree(&topology, &routes, Qos::On);
        }
    }
}

#[test]
fn a_whole_torus_is_uniform() {
    let spec = TorusSpec {
        hosts: 2,
        lmc: 1,
        ..TorusSpec::new([5, 4, 3])
    };
    let topology = spec.topology();
    let routes = torus::route(&topology, &spec.config(), Qos::On).unwrap();
    let tables = classes::compile(&topology, &routes, Qos::On).unwrap();
    assert_eq!(
        tables.pairs,
        Pairs::Uniform {
            within: 1,
            across: 2
        }
    );
    assert_eq!(tables.classes[2].hops, 6);
    agree(&topology, &routes, Qos::On);
}

#[test]
fn long_lines_end_after_64_switches() {
    let spec = TorusSpec {
        mesh: [true; 3],
        ..TorusSpec::new([70, 1, 1])
    };
    let topology = spec.topology();
    agree(&topology, &minhop::route(&topology), Qos::On);
}

/// Large enough to be worked on by several threads.
#[test]
fn a_large_torus_agrees_where_sampled() {
    let spec = TorusSpec {
        hosts: 2,
        ..TorusSpec::new([8, 8, 8])
    };
    for varied in [false, true] {
        let mut fabric = spec.fabric();
        if varied {
            vary(&mut fabric, &mut Rng::new(2), true);
        }
        let topology = fabric.build();
        let routes = torus::route(&topology, &spec.config(), Qos::On).unwrap();
        let tables = classes::compile(&topology, &routes, Qos::On).unwrap();
        assert_eq!(matches!(tables.pairs, Pairs::Dense { .. }), varied);
        let edges = classes::port_edges(&topology, &routes, Qos::On);
        let mut random = Rng::new(1);
        let mut any = || EndPortIx(random.below(1536));
        for _ in 0..3000 {
            let (source, destination) = (any(), any());
            let lid = topology.end_port(destination).lid;
            let found = looked_up(&topology, &tables, &edges, source, destination, 0);
            let walk = walk(&topology, &routes, Qos::On, source, lid).unwrap();
            let found = found.map(|(capacity, carried, _)| (capacity, carried));
            assert_eq!(
                found,
                Some((walk.capacity, walk.carried)),
                "{source:?} {destination:?}"
            );
        }
    }
}

/// One switch sends one LID a longer way, which arrives none the less.
#[test]
fn a_detour_makes_the_longest_path_longer() {
    let topology = fat_tree(4, 2, Some(5)).build();
    let whole = minhop::route(&topology);
    agree(&topology, &whole, Qos::Off);
    let mut random = Rng::new(1);
    let mut below = |limit: usize| random.below(limit);
    let mut found = 0;
    while found < 3 {
        let tables = topology.switch_ixs().map(|ix| whole.lft(ix).to_vec());
        let mut tables: Vec<_> = tables.collect();
        let lid = 1 + below(usize::from(topology.max_lid()));
        tables[below(topology.switches.len())][lid] = u8::try_from(1 + below(4)).unwrap();
        let routes = files::route(&topology, &tables, &GivenSl2Vl::default()).unwrap();
        let lid = Lid::new(u16::try_from(lid).unwrap()).unwrap();
        let ends = topology.end_port_ixs();
        let walks = ends.map(|source| walk(&topology, &routes, Qos::Off, source, lid));
        let lengths: Result<Vec<_>, _> = walks.map(|w| w.map(|walk| walk.hops.len())).collect();
        if lengths.is_ok_and(|lengths| lengths.into_iter().max() > Some(5)) {
            found += 1;
            agree(&topology, &routes, Qos::Off);
        }
    }
}
