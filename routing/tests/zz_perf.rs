#![allow(clippy::unwrap_used, missing_docs)]
mod common;
use common::generate::*;
use routing::check::*;
use routing::{Qos, minhop, path_classes, torus};
use std::time::Instant;
fn cpu() -> f64 {
    let s = std::fs::read_to_string("/proc/self/stat").unwrap();
    let f: Vec<_> = s.rsplit(')').next().unwrap().split_whitespace().collect();
    (f[11].parse::<f64>().unwrap() + f[12].parse::<f64>().unwrap()) / 100.0
}
fn rss() -> u64 {
    std::fs::read_to_string("/proc/self/status")
        .unwrap()
        .lines()
        .find(|l| l.starts_with("VmHWM"))
        .unwrap()
        .split_whitespace()
        .nth(1)
        .unwrap()
        .parse::<u64>()
        .unwrap()
        / 1024
}
#[test]
fn perf() {
    let what = std::env::var("PERF").unwrap_or("8,8,8,2".into());
    let v: Vec<u8> = what.split(',').map(|x| x.parse().unwrap()).collect();
    let mut spec = TorusSpec {
        hosts: v[3],
        ports: 10,
        ..TorusSpec::new([v[0], v[1], v[2]])
    };
    if v.len() > 4 {
        spec.missing_switches.push([v[0] / 2, v[1] / 2, v[2] / 2]);
    }
    let topology = spec.topology();
    println!(
        "{} switches {} ends max lid {} rss {}",
        topology.switches.len(),
        topology.end_ports.len(),
        topology.max_lid(),
        rss()
    );
    let t = Instant::now();
    let (tt, _) = torus::place(&topology, &spec.config()).unwrap();
    println!("place {:?} {}", (t.elapsed(), cpu()), tt.switches().len());
    let t = Instant::now();
    let routes = torus::route(&topology, &spec.config(), Qos::On).unwrap();
    println!("route {:?} rss {}", (t.elapsed(), cpu()), rss());
    let t = Instant::now();
    let tables = path_classes::compile(&topology, &routes, Qos::On).unwrap();
    println!(
        "path classes {:?} {} rss {}",
        (t.elapsed(), cpu()),
        tables.classes.len(),
        rss()
    );
    let t = Instant::now();
    let r = reachability(&topology, &routes, 10);
    println!(
        "reach {:?} lost {} of {}",
        (t.elapsed(), cpu()),
        r.lost,
        r.pairs
    );
    let t = Instant::now();
    let mut graph = DependencyGraph::new(&topology, &routes);
    println!("graph new {:?}", (t.elapsed(), cpu()));
    graph.add_unicast(&topology, &routes, PathSls::Engine);
    println!(
        "graph {:?} edges {} rss {}",
        (t.elapsed(), cpu()),
        graph.edges(),
        rss()
    );
    println!(
        "loop {:?} {:?}",
        graph.shortest_loop().map(|l| l.0.len()),
        (t.elapsed(), cpu())
    );
    if topology.switches.len() < 5000 {
        let t = Instant::now();
        let m = minhop::route(&topology);
        println!("minhop {:?}", (t.elapsed(), cpu()));
        let t = Instant::now();
        let l = unicast_loop(&topology, &m, PathSls::Engine);
        println!(
            "minhop loop {:?} {:?}",
            l.map(|l| l.0.len()),
            (t.elapsed(), cpu())
        );
    }
}
