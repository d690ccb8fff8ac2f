//! The examples of both RFCs, byte for byte: they load, and their rules hold as the text says.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::path::Path;

use policy::model::{LevelKey, Origin, RuleIx, Selector, Skipped};
use policy::{
    Dialect, Echo, ParseOptions, Partitions, Policy, PortFacts, Query, ScopePrecedence, compile,
    interpret, parse_as,
};
use sa_text::{Severity, decode};
use sa_wire::{Guid, NodeType};

fn example(name: &str) -> Policy {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/policy-rfc");
    let bytes = std::fs::read(folder.join(name)).unwrap();
    let text = decode(&bytes);
    parse_as(&text, None, &ParseOptions::default()).unwrap()
}

/// Words are leaked, so that tests can name them.
fn remarks(policy: &Policy, severity: Severity) -> Vec<(u32, &'static str)> {
    let all = policy.diagnostics().into_iter();
    let of_severity = all.filter(|d| d.severity == severity);
    of_severity
        .map(|d| (d.place.unwrap().start.line, &*d.message.leak()))
        .collect()
}

/// Two storage targets, two virtual servers of the examples and another host.
fn ports() -> Vec<PortFacts> {
    let rows = [
        (0x1000_0000_0000_0001, 0x100, "st1 HCA-1", 1),
        (0x1000_0000_0000_0002, 0x200, "st2 HCA-1", 1),
        (0x31, 0x30, "vs1 HCA-1 in rack 5", 1),
        (0x41, 0x40, "vs3 HCA-2", 1),
        (0x42, 0x40, "vs3 HCA-2", 2),
        (0x51, 0x50, "h1 HCA-1", 1),
    ];
    let port = |row: &(u64, u64, &str, u8)| PortFacts {
        guid: Guid::new(row.0).unwrap(),
        node_guid: Guid::new(row.1).unwrap(),
        node_type: NodeType::Ca,
        description: row.2.to_owned(),
        port_number: row.3,
        node_ports: 2,
        is_sm: false,
    };
    rows.iter().map(port).collect()
}

const STORAGE: usize = 0;
const HOST: usize = 5;

fn rule_for(policy: &Policy, query: Query) -> Option<RuleIx> {
    let ports = ports();
    let partitions = Partitions::without_file(&ports);
    interpret(policy, &ports, &partitions, &query).rule
}

#[test]
fn the_example_of_rfc_0_1_loads() {
    let policy = example("rfc-0.1-example.xml");
    assert_eq!(policy.dialect, Dialect::Rfc01Xml);
    assert_eq!(policy.semantics.scope_precedence, ScopePrecedence::Last);
    assert_eq!(policy.semantics.echo, Echo::TClass);
    let names: Vec<&str> = policy
        .groups
        .iter()
        .map(|g| g.name.value.as_str())
        .collect();
    assert_eq!(
        names,
        ["Storage", "Virtual Servers", "Partition 1", "Routers"]
    );
    let keys = policy.levels.iter().map(|level| level.key.to_string());
    assert!(keys.eq(["sn 1", "sn 2", "sn 3", "default"]));
    let level = &policy.levels[2];
    assert_eq!(level.tclass.unwrap().value, 32);
    assert_eq!(level.mtu_limit.unwrap().code(), 1);
    assert_eq!(level.rate_limit, None, "1 is no rate");
    let built_in = policy.level(policy.default_level);
    assert_eq!((built_in.origin, built_in.sl), (Origin::BuiltIn, None));
    let table = &policy.setup.sl2vl[0];
    assert_eq!(table.skipped, Some(Skipped::UnknownGroup));
    assert_eq!((table.table[14], table.table[15]), (14, 0));
    let across = &policy.setup.sl2vl[1];
    assert_eq!(
        (across.across[0].as_str(), across.skipped),
        ("Storage", None)
    );
    assert_eq!(across.to.pairs(), [(1, 1)]);
    assert_eq!(policy.setup.vlarb[0].high_limit, Some(10));
    assert_eq!(policy.setup.vlarb[0].low.len(), 7);
}

#[test]
fn the_example_of_rfc_0_1_is_remarked_upon() {
    let policy = example("rfc-0.1-example.xml");
    assert_eq!(
        remarks(&policy, Severity::Error),
        [
            (31, "there is no port-group 'Part1'; the scope is skipped"),
            (
                55,
                "there is no SL 16; queries that get this level find no path"
            ),
        ]
    );
    let hint = policy
        .diagnostics()
        .into_iter()
        .find(|d| d.place.unwrap().start.line == 31);
    assert!(hint.unwrap().help[0].contains("Partition 1"));
    let warnings = remarks(&policy, Severity::Warning);
    for (line, words) in [
        (1, "no-break"),
        (10, "dash"),
        (32, "15 values"),
        (39, "taken for </sl2vl-tables>"),
        (63, "</mtl_limit> is taken for </mtu-limit>"),
        (64, "no rate code 1"),
        (63, "'_'"),
    ] {
        let found = warnings
            .iter()
            .any(|(at, text)| *at == line && text.contains(words));
        assert!(found, "{line} {words}: {warnings:#?}");
    }
}

#[test]
fn rules_of_rfc_0_1_hold_as_the_text_says() {
    let policy = example("rfc-0.1-example.xml");
    let query = Query {
        source: HOST,
        destination: STORAGE,
        ..Query::default()
    };
    // "low latency by tclass 7-9 or 11"
    for (tclass, rule) in [
        (6, None),
        (7, Some(0)),
        (9, Some(0)),
        (10, None),
        (11, Some(0)),
    ] {
        let query = Query {
            tclass: Some(tclass),
            ..query
        };
        assert_eq!(rule_for(&policy, query), rule.map(RuleIx), "{tclass}");
    }
    // "Storage targets connection"
    for (service, rule) in [(22, Some(1)), (4719, Some(1)), (23, None)] {
        let service_id = Some(service);
        assert_eq!(
            rule_for(
                &policy,
                Query {
                    service_id,
                    ..query
                }
            ),
            rule.map(RuleIx)
        );
        let elsewhere = Query {
            service_id,
            destination: HOST,
            ..query
        };
        assert_eq!(rule_for(&policy, elsewhere), None);
    }
    assert_eq!(policy.rules[0].level.0, 0, "sn 1");
    assert_eq!(policy.rules[1].level.0, 2, "sn 3");
    assert_eq!(rule_for(&policy, query), None);
}

#[test]
fn the_example_of_rfc_0_2_loads() {
    let policy = example("rfc-0.2-example.conf");
    assert_eq!(policy.dialect, Dialect::Rfc02Text);
    assert_eq!(policy.semantics.scope_precedence, ScopePrecedence::First);
    assert_eq!(policy.semantics.echo, Echo::QosClass);
    let keys: Vec<&LevelKey> = policy.levels[..3].iter().map(|l| &l.key.value).collect();
    assert_eq!(
        keys,
        [1, 2, 3].map(LevelKey::Position).iter().collect::<Vec<_>>()
    );
    let life = policy.levels[0].packet_life.unwrap().value;
    assert_eq!((policy.levels[0].sl.unwrap().value, life), (15, 16));
    let bits = policy.levels[2].path_bits.as_ref().unwrap();
    assert_eq!(bits.pairs(), [(2, 2), (4, 4), (8, 32)]);
    assert_eq!(policy.level(policy.default_level).origin, Origin::BuiltIn);
    let skipped: Vec<_> = policy
        .setup
        .sl2vl
        .iter()
        .map(|scope| scope.skipped)
        .collect();
    assert_eq!(skipped, [Some(Skipped::UnknownGroup); 2]);
    assert_eq!(policy.setup.sl2vl[1].across_from[0].value, "Storage1");
    assert_eq!(policy.setup.vlarb[0].skipped, None);
    let unknown = |name| format!("there is no port-group '{name}'; the scope is skipped");
    let errors = [(71, "Part1"), (95, "Storage1"), (92, "Storage2")];
    let mut errors = errors.map(|(line, name)| (line, unknown(name)));
    errors.sort();
    let found = remarks(&policy, Severity::Error);
    assert!(
        found
            .iter()
            .map(|(_, text)| *text)
            .eq(errors.iter().map(|(_, text)| text.as_str()))
    );
    assert_eq!(
        remarks(&policy, Severity::Warning).len(),
        1,
        "the rate code: {:#?}",
        policy.remarks
    );
}

#[test]
fn rules_of_rfc_0_2_hold_as_the_text_says() {
    let policy = example("rfc-0.2-example.conf");
    let query = Query {
        source: HOST,
        destination: STORAGE,
        ..Query::default()
    };
    for (class, rule) in [(7, Some(0)), (10, None), (11, Some(0))] {
        let qos_class = Some(class);
        assert_eq!(
            rule_for(&policy, Query { qos_class, ..query }),
            rule.map(RuleIx)
        );
    }
    for (service, rule) in [
        (22, Some(1)),
        (4719, Some(1)),
        (5000, Some(1)),
        (5001, None),
    ] {
        let service_id = Some(service);
        assert_eq!(
            rule_for(
                &policy,
                Query {
                    service_id,
                    ..query
                }
            ),
            rule.map(RuleIx)
        );
    }
    let from_storage = Query {
        source: STORAGE,
        destination: HOST,
        ..Query::default()
    };
    assert_eq!(rule_for(&policy, from_storage), Some(RuleIx(2)));
    assert_eq!(policy.rules[2].level.0, 2);
}

#[test]
fn port_names_mean_the_first_two_words() {
    let policy = example("rfc-0.2-example.conf");
    let ports = ports();
    let partitions = Partitions::without_file(&ports);
    let resolver = policy::GroupResolver::new(&ports, &partitions);
    assert_eq!(resolver.members(&policy.groups[1]).unwrap(), [2, 4]);
    let mut exact = ports.clone();
    exact[HOST].description = "vs1/HCA-1".into();
    let resolver = policy::GroupResolver::new(&exact, &partitions);
    let members = resolver.members(&policy.groups[1]).unwrap();
    assert_eq!(members, [4, HOST], "the whole description goes first");
    assert!(matches!(
        &policy.groups[1].selectors[0].value,
        Selector::PortName(name) if name.words() == Some(("vs1", "HCA-1"))
    ));
}

#[test]
fn both_examples_compile() {
    let ports = ports();
    let partitions = Partitions::without_file(&ports);
    let tables = compile(&example("rfc-0.1-example.xml"), &ports, &partitions).unwrap();
    let sls: Vec<_> = tables.levels.iter().map(|level| level.sl).collect();
    assert_eq!(sls, [Some(16), Some(0), Some(0), None]);
    assert_eq!(tables.levels[2].tclass, Some(32));
    assert_eq!(tables.levels[3].name, "built-in default");
    let tables = compile(&example("rfc-0.2-example.conf"), &ports, &partitions).unwrap();
    let bits = tables.levels[2].path_bits.unwrap();
    assert_eq!(
        bits,
        1 << 2 | 1 << 4 | (8..=32).fold(0, |set, bit| set | 1 << bit)
    );
}
