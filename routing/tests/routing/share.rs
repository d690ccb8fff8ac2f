//! How much is done, as engines and the proof tell it: it only grows, step by step, and ends at the whole.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use crate::common;

use std::sync::Mutex;

use common::generate::TorusSpec;
use common::trees::fat_tree;
use routing::engine::{Before, EngineInput, Request, by_kind, minhop, torus};
use routing::proof::{Hosts, Judge, PathSls};
use routing::watch::{Observer, WHOLE, Watch};
use routing::{EngineKind, Qos, Routes, Survey, Topology, TorusConfig};

/// What was told, in order.
#[derive(Default)]
struct Told(Mutex<Vec<u64>>);

impl Observer for Told {
    fn begin(&self, _: &str) {}

    fn reach(&self, done: u64, total: u64) {
        assert_eq!(total, WHOLE);
        self.0.lock().unwrap().push(done);
    }

    fn end(&self) {}
}

/// Does work that is told of, and looks at what was told. `most`: the largest part that may be done without a word,
/// in per cent.
fn assert_told<T>(what: &str, most: u64, work: impl FnOnce(Watch) -> T) -> T {
    let told: &'static Told = Box::leak(Box::default());
    let result = work(Watch::by(told));
    let told = told.0.lock().unwrap().clone();
    assert!(told.is_sorted_by(|a, b| a < b), "{what}: {told:?}");
    assert_eq!(told.last(), Some(&WHOLE), "{what}: {told:?}");
    let from = std::iter::once(0).chain(told.iter().copied());
    let silent = told.iter().zip(from).map(|(to, from)| to - from);
    let silent = silent.max().unwrap() * 100 / WHOLE;
    assert!(silent <= most, "{what}: {silent} % at once, {told:?}");
    result
}

fn request<'a>(topology: &'a Topology, input: EngineInput<'a>) -> Request<'a> {
    Request {
        topology,
        qos: Qos::On,
        input,
        before: None,
        watch: Watch::default(),
    }
}

/// Routes twice, with somebody who is told and with nobody: the tables are the same.
fn route(what: &str, most: u64, kind: EngineKind, request: &Request<'_>) -> Routes {
    let told = assert_told(what, most, |watch| {
        let request = Request { watch, ..*request };
        by_kind(kind).route(&request).unwrap()
    });
    let silent = by_kind(kind).route(request).unwrap();
    let mut switches = request.topology.switch_ixs();
    assert!(
        switches.all(|switch| told.lft(switch) == silent.lft(switch)),
        "{what}"
    );
    told
}

fn grid() -> TorusSpec {
    TorusSpec::new([7, 7, 7])
}

#[test]
fn engines_of_a_torus_tell_their_share() {
    let topology = grid().fabric().build();
    let config = grid().config();
    let with_conf = request(&topology, EngineInput::TorusConf(&config));
    let routes = route("torus-2qos", 2, EngineKind::Torus2Qos, &with_conf);
    route("torus-proved", 2, EngineKind::TorusProved, &with_conf);
    // A switch less: numbers move, so that tables are copied.
    let mut spec = grid();
    spec.missing_switches = vec![[3, 3, 3]];
    let damaged = spec.fabric().build();
    let again = Request {
        topology: &damaged,
        before: Some(Before {
            topology: &topology,
            routes: &routes,
        }),
        ..with_conf
    };
    route("torus-2qos again", 20, EngineKind::Torus2Qos, &again);
    lacking_two(&config);
}

/// What torus-2QoS refuses: ways have to be searched.
fn lacking_two(config: &TorusConfig) {
    let mut spec = grid();
    spec.missing_switches = vec![[3, 3, 3], [5, 2, 4]];
    let damaged = spec.fabric().build();
    assert!(torus::route(&damaged, config, Qos::On).is_err());
    let request = request(&damaged, EngineInput::TorusConf(config));
    route("torus-proved", 40, EngineKind::TorusProved, &request);
}

#[test]
fn engines_of_any_fabric_tell_their_share() {
    let topology = grid().fabric().build();
    let nothing = request(&topology, EngineInput::Nothing);
    route("minhop", 3, EngineKind::MinHop, &nothing);
    let routes = route("layers", 23, EngineKind::DfssspNue, &nothing);
    let before = Some(Before {
        topology: &topology,
        routes: &routes,
    });
    let again = Request { before, ..nothing };
    route("dfsssp-nue again", 70, EngineKind::DfssspNue, &again);
    let one_vl = Request {
        qos: Qos::Off,
        ..nothing
    };
    route("nue", 10, EngineKind::DfssspNue, &one_vl);
    let roots = request(&topology, EngineInput::Roots(&[]));
    route("updn", 15, EngineKind::UpDown, &roots);
    let tree = fat_tree(12, 0, None).build();
    let roots = request(&tree, EngineInput::Roots(&[]));
    let routes = route("ftree", 20, EngineKind::FatTree, &roots);
    let before = Some(Before {
        topology: &tree,
        routes: &routes,
    });
    let again = Request { before, ..roots };
    route("ftree again", 20, EngineKind::FatTree, &again);
}

fn judge<'a>(topology: &'a Topology, routes: &'a Routes) -> Judge<'a> {
    Judge {
        topology,
        routes,
        sls: PathSls::Engine,
        hosts: Hosts::default(),
    }
}

#[test]
fn the_proof_tells_its_share() {
    let topology = grid().fabric().build();
    // SLs by coordinates are carried along columns; where all are the same, tables are read row by row.
    let carried = torus::route(&topology, &grid().config(), Qos::On).unwrap();
    for (what, routes) in [("carried", carried), ("straight", minhop::route(&topology))] {
        let judge = judge(&topology, &routes);
        let graph = assert_told(what, 20, |watch| {
            watch.share(|share| judge.everybody_watched(share))
        });
        let loops = |graph| judge.loops(graph, |_| ());
        assert_eq!(loops(&graph), loops(&judge.everybody()));
        assert_told("columns", 20, |watch| {
            watch.share(|share| Survey::from_routes_watched(&topology, &routes, share))
        });
    }
}
