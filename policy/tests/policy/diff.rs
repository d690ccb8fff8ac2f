//! What a new policy changes is what asking both policies everything finds out.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::collections::{BTreeMap, BTreeSet};

use policy::diff::{Fate, answers, group_changes, level_changes, offer};
use policy::{ParseOptions, Partitions, Policy, PortFacts, Query, interpret, parse};
use proptest::prelude::*;
use sa_wire::{Guid, NodeType};

const CLASSES: [u64; 4] = [0, 1, 8, 4095];
const IDS: [u64; 4] = [0, 22, 0x10000, u64::MAX];
const KEYS: [u64; 3] = [1, 2, 0x7fff];

fn ports() -> Vec<PortFacts> {
    let port = |at: u64| PortFacts {
        guid: Guid::new(0x10 + at).unwrap(),
        node_guid: Guid::new(0x100 + at).unwrap(),
        node_type: NodeType::Ca,
        description: format!("h{at}"),
        port_number: 1,
        node_ports: 1,
        is_sm: at == 0,
    };
    (0..6).map(port).collect()
}

/// A policy that numbers decide: four levels, three groups, few rules.
fn written(numbers: &[u32]) -> String {
    let mut numbers = numbers.iter().cycle();
    let mut roll = |sides: usize| usize::try_from(*numbers.next().unwrap()).unwrap() % sides;
    let mut text = String::from("qos-levels\n");
    for name in ["default", "L1", "L2", "L3"] {
        text += &format!("qos-level\nname: {name}\nsl: {}\nend-qos-level\n", roll(4));
    }
    text += "end-qos-levels\nport-groups\n";
    for name in ["A", "B", "C"] {
        let (low, high) = (0x10 + roll(6), 0x10 + roll(6));
        text += &format!("port-group\nname: {name}\nport-guid: {low}-{high}\nend-port-group\n");
    }
    text += "end-port-groups\nqos-match-rules\n";
    for _ in 0..roll(7) {
        text += "qos-match-rule\n";
        let mut criterion = |name: &str, values: &[u64]| {
            if roll(2) == 0 {
                let (low, high) = (values[roll(values.len())], values[roll(values.len())]);
                text += &format!("{name}: {low}-{high}\n");
            }
        };
        criterion("qos-class", &CLASSES);
        criterion("service-id", &IDS);
        criterion("pkey", &KEYS);
        for end in ["source", "destination"] {
            if roll(2) == 0 {
                text += &format!("{end}: {}\n", ["A", "b", "C, A"][roll(3)]);
            }
        }
        let level = ["L1", "l2", "L3"][roll(3)];
        text += &format!("qos-level-name: {level}\nend-qos-match-rule\n");
    }
    text + "end-qos-match-rules\n"
}

fn parsed(text: &str) -> Policy {
    parse(text, &ParseOptions::default()).unwrap()
}

fn values(pool: &[u64], last: u64) -> Vec<Option<u64>> {
    let near = pool
        .iter()
        .flat_map(|value| [value.checked_sub(1), Some(*value), value.checked_add(1)]);
    let within = near.flatten().filter(|value| *value <= last);
    let all: BTreeSet<u64> = within.collect();
    std::iter::once(None)
        .chain(all.into_iter().map(Some))
        .collect()
}

/// Every request that could matter, of every pair.
fn queries() -> Vec<Query> {
    let mut all = Vec::new();
    let narrow = |value: u64| u16::try_from(value).unwrap();
    for (source, destination) in (0..6).flat_map(|a| (0..6).map(move |b| (a, b))) {
        for class in values(&CLASSES, 4095) {
            for service_id in values(&IDS, u64::MAX) {
                all.extend(values(&KEYS, 0x7fff).into_iter().map(|pkey| Query {
                    source,
                    destination,
                    qos_class: class.map(narrow),
                    service_id,
                    pkey: pkey.map(narrow),
                    source_named: true,
                    destination_named: true,
                    ..Query::default()
                }));
            }
        }
    }
    all.retain(|query| query.source != query.destination);
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn counts_are_those_of_asking_everything(
        old in prop::collection::vec(any::<u32>(), 40..120),
        new in prop::collection::vec(any::<u32>(), 40..120),
    ) {
        let (old, new) = (parsed(&written(&old)), parsed(&written(&new)));
        let ports = ports();
        let partitions = Partitions::without_file(&ports);
        let found = answers(&old, &new, &ports, &partitions).unwrap();
        let mut changed = BTreeSet::new();
        let mut transitions: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for query in queries() {
            let levels = [&old, &new].map(|policy| interpret(policy, &ports, &partitions, &query).level);
            if offer(old.level(levels[0])) != offer(new.level(levels[1])) {
                let pair = (query.source, query.destination);
                changed.insert(pair);
                transitions.entry(levels).or_default().insert(pair);
            }
        }
        prop_assert!(found.complete);
        prop_assert_eq!(found.pairs, 30);
        prop_assert_eq!(found.changed, changed.len() as u64);
        let counted: BTreeMap<_, _> = found
            .transitions
            .iter()
            .map(|change| ([change.old, change.new], change.pairs))
            .collect();
        let expected: BTreeMap<_, _> = transitions
            .iter()
            .map(|(levels, pairs)| (*levels, pairs.len() as u64))
            .collect();
        prop_assert_eq!(counted, expected);
        for change in &found.transitions {
            let query = &change.example.query;
            for (policy, level, rule) in [
                (&old, change.old, change.example.old),
                (&new, change.new, change.example.new),
            ] {
                let chosen = interpret(policy, &ports, &partitions, query);
                prop_assert_eq!((chosen.level, chosen.rule), (level, rule));
            }
        }
    }

    #[test]
    fn the_same_policy_changes_nothing(numbers in prop::collection::vec(any::<u32>(), 40..120)) {
        let policy = parsed(&written(&numbers));
        let ports = ports();
        let partitions = Partitions::without_file(&ports);
        let found = answers(&policy, &policy, &ports, &partitions).unwrap();
        prop_assert_eq!(found.changed, 0);
        prop_assert!(found.transitions.is_empty());
        prop_assert!(level_changes(&policy, &policy).is_empty());
        prop_assert!(group_changes(&policy, &policy, &ports, &partitions).unwrap().is_empty());
    }
}

#[test]
fn levels_and_groups_are_told_by_name() {
    let lines = |text: &str| parsed(&text.replace("; ", "\n"));
    let old = lines(
        "port-groups; port-group; name: A; port-guid: 0x10-0x12; end-port-group; \
         port-group; name: gone; port-guid: 0x10; end-port-group; end-port-groups; \
         qos-levels; qos-level; name: default; sl: 0; end-qos-level; \
         qos-level; name: bulk; sl: 2; mtu-limit: 4; end-qos-level; \
         qos-level; name: old; sl: 3; end-qos-level; end-qos-levels; ",
    );
    let new = lines(
        "port-groups; port-group; name: a; port-guid: 0x11-0x13; end-port-group; end-port-groups; \
         qos-levels; qos-level; name: default; sl: 0; end-qos-level; \
         qos-level; name: Bulk; sl: 2; packet-life: 9; end-qos-level; \
         qos-level; name: gold; sl: 5; pkey: 1-2; end-qos-level; end-qos-levels; ",
    );
    let levels: Vec<_> = level_changes(&old, &new)
        .into_iter()
        .map(|change| (change.name, change.fate, change.old, change.new))
        .collect();
    let words = |text: &str| Some(text.to_owned());
    assert_eq!(
        levels,
        [
            (
                "Bulk".to_owned(),
                Fate::Changed,
                words("SL 2, MTU to 2048"),
                words("SL 2, packet life 9")
            ),
            (
                "gold".to_owned(),
                Fate::Added,
                None,
                words("SL 5, P_Keys 0x0001-0x0002")
            ),
            ("old".to_owned(), Fate::Removed, words("SL 3"), None),
        ]
    );
    let ports = ports();
    let groups = group_changes(&old, &new, &ports, &Partitions::without_file(&ports)).unwrap();
    let groups: Vec<_> = groups
        .into_iter()
        .map(|change| (change.name, change.fate, change.gained, change.lost))
        .collect();
    assert_eq!(
        groups,
        [
            ("a".to_owned(), Fate::Changed, vec![3], vec![0]),
            ("gone".to_owned(), Fate::Removed, vec![], vec![0]),
        ]
    );
}
