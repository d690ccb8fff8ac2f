//! What it costs to route a torus and to prove the result: forwarding tables, SL2VL tables, credit
//! loops, reachability, path classes. No files, no snapshot.
//!
//! Healthy tori with one host per switch and single cables; `16x16x16` is the size at which
//! OpenSM 3.3.23 takes half a minute.
//!
//! Fabrics of other shapes, as `sapphire bench --fabric` names them, each with the engine that goes with it: a
//! fat tree of 43,904 hosts, a dragonfly+ and a random graph.
//!
//! Rerouting is timed three ways after the same failure: from the tables before (what the daemon
//! does), from nothing, and by the engine that proves its tables on the way. The proofs are those
//! of the daemon, in its order.

#![allow(
    clippy::expect_used,
    reason = "a benchmark that cannot start should say so"
)]

use std::hint::black_box;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, criterion_group, criterion_main};
use routing::engine::{Before, EngineInput, Needs, Request, by_kind, torus, torus_proved};
use routing::paths::classes;
use routing::proof::{DependencyGraph, Hosts, Judge, PathSls, reachability};
use routing::watch::Watch;
use routing::{Peer, Qos, Routes, SwitchIx, Topology, TorusConfig};
use sa_bench::shapes;
use sa_fabric::damage::Failed;
use sa_fabric::formats::net;
use sa_fabric::generate::{self, TorusSpec};
use sa_fabric::model::{Assumed, NodeIx, PortRef};
use sa_fabric::options::OpenSmOptions;
use sa_fabric::subnet::{Subnet, SubnetOptions};

/// A fabric as the engine gets it.
///
/// Read from a net file in memory, as ibsim would have it, so that ports and LIDs are those of a
/// real run.
struct Fabric {
    name: String,
    subnet: Subnet,
    topology: Topology,
    config: TorusConfig,
}

impl Fabric {
    fn new(radix: u8) -> Self {
        let plan = generate::plan(&TorusSpec::new([radix; 3], 1)).expect("can be built");
        let subnet = subnet(&plan.net());
        Self {
            name: format!("{radix}x{radix}x{radix}"),
            topology: subnet.topology(&options()),
            config: TorusConfig::parse(&plan.torus_conf()).expect("a configuration"),
            subnet,
        }
    }

    /// The same with something failed; LIDs stay.
    fn without(&self, failed: Failed) -> Topology {
        let mut fabric = self.subnet.fabric().clone();
        fabric.fail(&[failed]);
        // Kept, as an SM keeps them: else every table would differ and nothing could be rerouted in
        // part.
        let lids = self.subnet.lids();
        let wanted = SubnetOptions {
            lids: Some(&lids),
            ..SubnetOptions::default()
        };
        let subnet = Subnet::new(fabric, &wanted).expect("a subnet");
        subnet.topology(&options())
    }

    /// A switch away from the seed.
    fn some_switch(&self) -> NodeIx {
        let switches = self.subnet.switches();
        switches[switches.len() / 2 + 7]
    }

    /// Errors end the benchmark: the torus is whole.
    fn route(&self) -> Routes {
        torus::route(&self.topology, &self.config, Qos::On).expect("a healthy torus")
    }
}

/// A fabric from the text of a net file.
fn subnet(net: &str) -> Subnet {
    let mut fabric = net::parse(net.as_bytes()).expect("a net file");
    fabric.assume(Assumed::IBSIM);
    Subnet::new(fabric, &SubnetOptions::default()).expect("a subnet")
}

/// QoS on: without it a torus would have no SL2VL tables to make.
fn options() -> OpenSmOptions {
    OpenSmOptions {
        qos: true,
        ..OpenSmOptions::default()
    }
}

/// Placement, forwarding tables, multicast tree.
fn route(criterion: &mut Criterion) {
    let mut group = group(criterion, "route");
    for fabric in [8, 16].map(Fabric::new) {
        let id = BenchmarkId::new("full", &fabric.name);
        group.bench_function(id, |bencher| {
            bencher.iter_with_large_drop(|| fabric.route())
        });
        let routes = fabric.route();
        let id = BenchmarkId::new("SL2VL tables", &fabric.name);
        group.bench_function(id, |bencher| {
            bencher.iter(|| sl2vl_tables(&fabric.topology, &routes));
        });
    }
    group.finish();
}

/// After a failure: from the tables before, and by the engine for any damage, which proves what it
/// makes on the way.
fn reroute(criterion: &mut Criterion) {
    let mut group = group(criterion, "reroute");
    let fabric = Fabric::new(16);
    let healthy = fabric.route();
    let before = Before {
        topology: &fabric.topology,
        routes: &healthy,
    };
    let switch = fabric.some_switch();
    let failures = [
        (
            "cable",
            Failed::Cable(PortRef {
                node: switch,
                port: 1,
            }),
        ),
        ("switch", Failed::Node(switch)),
    ];
    for (name, failed) in failures {
        let damaged = fabric.without(failed);
        let quick = || torus::reroute(&damaged, &fabric.config, Qos::On, before);
        let id = BenchmarkId::new(format!("{name}, incremental"), &fabric.name);
        group.bench_function(id, |bencher| bencher.iter_with_large_drop(quick));
        let full = || torus::route(&damaged, &fabric.config, Qos::On);
        let id = BenchmarkId::new(format!("{name}, full"), &fabric.name);
        group.bench_function(id, |bencher| bencher.iter_with_large_drop(full));
        let proved = || torus_proved::route(&damaged, &fabric.config, Qos::On);
        let id = BenchmarkId::new(format!("{name}, torus-proved"), &fabric.name);
        group.bench_function(id, |bencher| bencher.iter_with_large_drop(proved));
    }
    group.finish();
}

/// Every table that is programmed: from each port and port 0 to each port in use.
fn sl2vl_tables(topology: &Topology, routes: &Routes) {
    for switch in topology.switch_ixs() {
        let ports = (0..=u8::MAX).zip(&topology.switch(switch).ports);
        let used = ports.filter(|(_, port)| port.peer != Peer::Nothing);
        for (output, _) in used {
            for (input, _) in (0..=u8::MAX).zip(&topology.switch(switch).ports) {
                black_box(routes.sl2vl(switch, input, output));
            }
        }
    }
}

/// No credit loop, every pair connected.
fn proof(criterion: &mut Criterion) {
    let mut group = group(criterion, "proof");
    for fabric in [8, 16].map(Fabric::new) {
        let (topology, routes) = (&fabric.topology, &fabric.route());
        let unicast = || {
            let mut graph = DependencyGraph::new(topology, routes);
            graph.add_unicast(topology, routes, PathSls::Engine);
            assert_eq!(graph.shortest_loop(), None);
            graph
        };
        let id = BenchmarkId::new("unicast", &fabric.name);
        group.bench_function(id, |bencher| bencher.iter_with_large_drop(unicast));
        let both = || {
            let mut graph = unicast();
            graph.add_multicast(topology, &routes.worst_groups(topology));
            assert_eq!(graph.shortest_loop(), None);
            graph
        };
        let id = BenchmarkId::new("unicast and multicast", &fabric.name);
        group.bench_function(id, |bencher| bencher.iter_with_large_drop(both));
        let id = BenchmarkId::new("reachability", &fabric.name);
        group.bench_function(id, |bencher| {
            bencher.iter(|| assert_eq!(reachability(topology, routes, 1).lost, 0));
        });
        let id = BenchmarkId::new("path classes", &fabric.name);
        group.bench_function(id, |bencher| {
            bencher.iter(|| classes::compile(topology, routes, Qos::On).expect("few classes"));
        });
    }
    group.finish();
}

/// Ten samples: one routing of 16x16x16 takes long enough to be timed alone.
fn group<'c>(criterion: &'c mut Criterion, name: &str) -> BenchmarkGroup<'c, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group
        .sample_size(10)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(3));
    group
}

/// A fat tree of 43,904 hosts, a dragonfly+ and a dragonfly of about 10,000, and a random graph of 4,000: routes from
/// nothing and after the loss of a cable, the proof of them, and path classes.
fn other_shapes(criterion: &mut Criterion) {
    let mut group = group(criterion, "shapes");
    for word in [
        "fat-tree:56",
        "dragonfly-plus:16x16x20x2",
        "dragonfly:16x8x4",
        "random:400x12x10",
    ] {
        let wiring = generate::named(word)
            .expect("numbers that fit")
            .expect("a shape");
        let subnet = subnet(&wiring.net());
        let topology = subnet.topology(&options());
        let kind = shapes::engine(word);
        let request = Request {
            topology: &topology,
            qos: Qos::On,
            // Roots are found.
            input: match by_kind(kind).needs() {
                Needs::Roots => EngineInput::Roots(&[]),
                _ => EngineInput::Nothing,
            },
            before: None,
            watch: Watch::default(),
        };
        let route = || by_kind(kind).route(&request).expect("routes");
        let id = BenchmarkId::new(kind.name(), word);
        group.bench_function(id, |bencher| bencher.iter_with_large_drop(route));
        let routes = route();
        let damaged = without_cable(&subnet);
        let again = Request {
            topology: &damaged,
            before: Some(Before {
                topology: &topology,
                routes: &routes,
            }),
            ..request
        };
        let again = || by_kind(kind).route(&again).expect("routes");
        let id = BenchmarkId::new("a cable less", word);
        group.bench_function(id, |bencher| bencher.iter_with_large_drop(again));
        let sls = PathSls::Engine;
        let judge = Judge {
            topology: &topology,
            routes: &routes,
            sls,
            hosts: Hosts::default(),
        };
        let id = BenchmarkId::new("proof", word);
        group.bench_function(id, |bencher| {
            bencher.iter(|| assert_eq!(judge.loops(&judge.everybody(), |_| ()).hosts, None));
        });
        let id = BenchmarkId::new("path classes", word);
        group.bench_function(id, |bencher| {
            bencher.iter_with_large_drop(|| {
                classes::compile(&topology, &routes, Qos::On).expect("few classes")
            });
        });
    }
    group.finish();
}

/// The same without the last cable of the first switch, which leads to another one.
fn without_cable(subnet: &Subnet) -> Topology {
    let mut topology = subnet.topology(&options());
    let switch = SwitchIx(0);
    let (port, far, far_port) = topology.cables(switch).last().expect("a cable");
    for (end, number) in [(switch, port), (far, far_port)] {
        topology.switches[end.index()].ports[usize::from(number)].peer = Peer::Nothing;
    }
    topology
}

criterion_group!(benches, route, reroute, proof, other_shapes);
criterion_main!(benches);
