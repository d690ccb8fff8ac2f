//! How long large policies take; run in release with `-- --ignored --nocapture`.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::fmt::Write;
use std::time::Instant;

use policy::{
    Dialect, ParseOptions, PartitionOptions, Partitions, PartitionsConfig, PortFacts, compile,
    parse,
};
use sa_wire::{Guid, NodeType};

const PORTS: u64 = 50_000;

fn ports() -> Vec<PortFacts> {
    let port = |number: u64| PortFacts {
        guid: Guid::new(0x10_0000 + number * 16 + 1).unwrap(),
        node_guid: Guid::new(0x10_0000 + number * 16).unwrap(),
        node_type: NodeType::Ca,
        description: format!("node{number:05} HCA-1"),
        port_number: 1,
        node_ports: 1,
        is_sm: number == 0,
    };
    (0..PORTS).map(port).collect()
}

/// A cheap spread of numbers, the same every time.
fn spread(seed: u64) -> u64 {
    let mixed = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 20
}

/// Most rules ask for a service id, some for a class or P_Key, all for groups.
fn policy_text(rules: u64, groups: u64) -> String {
    let mut text = "qos-levels\n".to_owned();
    for (sl, name) in ["default", "L1", "L2", "L3"].iter().enumerate() {
        writeln!(text, "qos-level\nname: {name}\nsl: {sl}\nend-qos-level").unwrap();
    }
    text += "end-qos-levels\nport-groups\n";
    for group in 0..groups {
        writeln!(text, "port-group\nname: g{group}").unwrap();
        for range in 0..4 {
            let first = 0x10_0000 + spread(group * 7 + range) % (PORTS * 16);
            let last = first + spread(group * 11 + range) % (PORTS * 4);
            writeln!(text, "port-guid: {first:#x}-{last:#x}").unwrap();
        }
        text += "end-port-group\n";
    }
    text += "end-port-groups\nqos-match-rules\n";
    for rule in 0..rules {
        let dice = |salt: u64| spread(rule * 31 + salt);
        text += "qos-match-rule\n";
        writeln!(text, "source: g{}", dice(1) % groups).unwrap();
        writeln!(
            text,
            "destination: g{}, g{}",
            dice(2) % groups,
            dice(3) % groups
        )
        .unwrap();
        if dice(4) % 10 < 7 {
            let id = dice(5);
            writeln!(
                text,
                "service-id: {id}-{}, {}",
                id + dice(6) % 1000,
                dice(7)
            )
            .unwrap();
        }
        if dice(8) % 10 < 2 {
            writeln!(text, "qos-class: {}, {}", dice(9) % 4096, dice(10) % 4096).unwrap();
        }
        if dice(11) % 100 < 15 {
            writeln!(text, "pkey: {}", dice(12) % 0x7fff).unwrap();
        }
        writeln!(
            text,
            "qos-level-name: L{}\nend-qos-match-rule",
            1 + dice(13) % 3
        )
        .unwrap();
    }
    text + "end-qos-match-rules\n"
}

/// A line for each of many GUIDs.
fn ulps_text(lines: u64) -> String {
    let mut text = "qos-ulps\ndefault : 0\n".to_owned();
    for line in 0..lines {
        let guid = 0x10_0001 + line * 64;
        writeln!(text, "any, target-port-guid {guid:#x} : {}", line % 16).unwrap();
    }
    text + "end-qos-ulps\n"
}

#[test]
#[ignore = "a measurement"]
fn compile_times() {
    let ports = ports();
    let config = PartitionsConfig::parse("Default=0x7fff: ALL=full;\nA=1: ALL_CAS;\n").unwrap();
    let begun = Instant::now();
    let partitions = Partitions::new(&config, &ports, PartitionOptions::default());
    println!("partitions {:?}", begun.elapsed());
    let inputs = [
        ("1,000 rules, 16 groups", policy_text(1_000, 16), 0.5),
        ("1,000 rules, 60 groups", policy_text(1_000, 60), 0.5),
        ("10,000 rules, 60 groups", policy_text(10_000, 60), 2.0),
        ("10,000 lines of qos-ulps", ulps_text(10_000), 2.0),
    ];
    for (name, text, limit) in inputs {
        let begun = Instant::now();
        let policy = parse(&text, &ParseOptions::default()).unwrap();
        let parsed = begun.elapsed();
        let begun = Instant::now();
        let tables = compile(&policy, &ports, &partitions).unwrap();
        let compiled = begun.elapsed();
        let classes = [
            tables.source.sets.len(),
            tables.destination.sets.len(),
            tables.qos_class.sets.len(),
            tables.pkey.sets.len(),
            tables.service_id.sets.len(),
        ];
        println!("{name}: parse {parsed:?}, compile {compiled:?}, classes {classes:?}");
        assert!(compiled.as_secs_f64() <= limit, "{name}: {compiled:?}");
    }
}

/// The largest files, of the kinds that would show what takes more than its share.
#[test]
#[ignore = "a measurement"]
fn rfc_parse_times() {
    let line = "a,".repeat(8_000_000);
    let inputs = [
        (
            "text: one long list",
            format!("port-groups\nport-group\nname: x\npartition: {line}"),
        ),
        (
            "text: entries",
            format!(
                "port-groups\nport-group\n{}",
                "port-guid: 1\n".repeat(1 << 20)
            ),
        ),
        (
            "text: remarks",
            format!(
                "qos-levels\n{}",
                "qos-level\nsl: 16\nend-qos-level\n".repeat(60_000)
            ),
        ),
        (
            "XML: one long name",
            format!("<qos-policy><port-groups><port-group><name>{line}"),
        ),
        (
            "XML: comments",
            format!("<qos-policy>{}", "<!\u{2014}--->".repeat(1_500_000)),
        ),
        (
            "XML: sections",
            format!("<qos-policy>{}", "<qos-levels>".repeat(1_300_000)),
        ),
        (
            "XML: entities",
            format!(
                "<qos-policy><port-groups><port-group><use>{}</use>",
                "&lt;\n ".repeat(2_000_000)
            ),
        ),
        (
            "XML: ampersands",
            format!(
                "<qos-policy><port-groups><port-group><use>{}</use>",
                "&a".repeat(8_000_000)
            ),
        ),
    ];
    for (name, text) in inputs {
        let begun = Instant::now();
        let dialect = match name.starts_with("XML") {
            true => Dialect::Rfc01Xml,
            false => Dialect::Rfc02Text,
        };
        let policy = policy::parse_as(&text, Some(dialect), &ParseOptions::default());
        let error = policy
            .map(|policy| policy.levels.len())
            .map_err(|e| e.to_string());
        println!("{name}: {:?} {error:?}", begun.elapsed());
        assert!(begun.elapsed().as_secs() < 5, "{name}");
    }
}
