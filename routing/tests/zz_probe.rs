#![allow(clippy::unwrap_used, missing_docs)]
mod common;
use common::build::FabricBuilder;
use common::dumps;
use routing::{Qos, TorusConfig, torus};
use std::collections::BTreeMap;
#[test]
fn probe() {
    let mut stats: BTreeMap<String, u32> = BTreeMap::new();
    let dir = std::env::var("DIFF").unwrap_or("/tmp/diff/cases".into());
    let mut dirs: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    dirs.sort();
    for d in dirs {
        let text = |f: &str| std::fs::read_to_string(d.join(f));
        let Ok(result) = text("RESULT") else { continue };
        let mut lines = result.lines();
        let first = lines.next().unwrap();
        let codes: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
        let up = first.starts_with("up");
        let name = d.file_name().unwrap().to_string_lossy().into_owned();
        if !(first.contains("rc=0") || first.contains("rc=refused")) {
            println!("{name} odd {first} {codes:?}");
            continue;
        }
        let mut fabric = FabricBuilder {
            op_vls: 4,
            ..Default::default()
        };
        let case = text("CASE.txt").unwrap();
        let l2 = case.lines().nth(1).unwrap_or("");
        fabric.lmc = l2
            .strip_prefix("-l ")
            .map_or(0, |n| n.trim().parse().unwrap());
        if up {
            dumps::read_subnet_list(&text("opensm-subnet.lst").unwrap(), &mut fabric);
        } else {
            dumps::read_net(&text("net").unwrap(), &mut fabric);
        }
        let topology = fabric.build();
        let conf = text("torus-2QoS.conf").unwrap();
        let config = match TorusConfig::parse(&conf) {
            Ok(c) => c,
            Err(e) => {
                if up {
                    println!("{name} CONFIG refused by us: {e}");
                } else if !codes.contains(&"4E13") {
                    println!("{name} config err but codes {codes:?}: {e}");
                }
                *stats.entry("config".into()).or_default() += 1;
                continue;
            }
        };
        match torus::route(&topology, &config, Qos::On) {
            Ok(routes) => {
                if !up {
                    println!("{name} WE ROUTE, OpenSM refuses {codes:?}");
                    continue;
                }
                let mut dump = String::new();
                use std::fmt::Write;
                for p in routes.torus().unwrap().by_place() {
                    let s = topology.switch(p.switch);
                    writeln!(
                        dump,
                        "switch {} GUID 0x{:04x} ({})",
                        p.at,
                        s.guid.get(),
                        s.description
                    )
                    .unwrap();
                }
                if dump != text("opensm-torus.dump").unwrap() {
                    println!("{name} DUMP differs");
                }
                let lfts = dumps::read_lfts(&text("opensm-lfts.dump").unwrap(), &topology);
                let bad = topology
                    .switch_ixs()
                    .filter(|s| routes.lft(*s) != lfts[s.index()])
                    .count();
                if bad > 0 {
                    println!("{name} LFT differs on {bad} switches");
                }
                let sl2vl =
                    dumps::read_sl2vl(&text("opensm-sl2vl.dump").unwrap_or_default(), &topology);
                let bad = sl2vl
                    .switches
                    .iter()
                    .filter(|(s, i, o, t)| routes.sl2vl(*s, *i, *o) != *t)
                    .count()
                    + sl2vl
                        .end_ports
                        .iter()
                        .filter(|(e, t)| routes.end_port_sl2vl(*e) != *t)
                        .count();
                if bad > 0 {
                    println!("{name} SL2VL differs {bad} of {}", sl2vl.switches.len());
                }
                let partial = routes.torus().unwrap().empty_places().count() > 0
                    || routes.torus().unwrap().switches().len() < topology.switches.len();
                *stats
                    .entry(format!("up {}", if partial { "partial" } else { "whole" }))
                    .or_default() += 1;
            }
            Err(r) => {
                if up {
                    println!("{name} WE REFUSE: {r}");
                    continue;
                }
                let ours: Vec<_> = r.reasons.iter().filter_map(|x| x.opensm_code()).collect();
                for c in &codes {
                    if !ours.contains(c) && !["4E57", "4E17", "4E18"].contains(c) {
                        println!("{name} code {c} not in {ours:?}");
                    }
                }
                if codes.is_empty() && !ours.is_empty() {
                    println!("{name} no codes but ours {ours:?}");
                }
                if let Ok(t) = text("opensm-torus.dump") {
                    let mut dump = String::new();
                    use std::fmt::Write;
                    if let Some(torus) = &r.torus {
                        for p in torus.by_place() {
                            let s = topology.switch(p.switch);
                            writeln!(
                                dump,
                                "switch {} GUID 0x{:04x} ({})",
                                p.at,
                                s.guid.get(),
                                s.description
                            )
                            .unwrap();
                        }
                        if dump != t {
                            println!("{name} refused DUMP differs");
                        }
                    } else {
                        println!("{name} no torus but dump");
                    }
                }
                for c in ours {
                    *stats.entry(format!("refused {c}")).or_default() += 1;
                }
            }
        }
    }
    println!("{stats:#?}");
}
