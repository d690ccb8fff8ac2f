//! Large policies: what a snapshot finds in its compiled tables is what the interpreter finds in
//! the written rules.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use policy::model::criterion::Field;
use policy::{
    ParseOptions, Partitions, Policy, PortFacts, Problem, Query, compile, interpret, parse,
};
use proptest::prelude::*;
use sa_rig::rng::Rng;
use sa_snapshot::model::{
    Capacity, EngineSl, Model, Pairs, PathClass, PathSl, PathTables, PolicyTables, PortRow,
    Provenance, RateCaps, Subnet,
};
use sa_snapshot::{Builder, MatchInput, PortIx, Snapshot};
use sa_wire::{Guid, Lid, Lmc, NodeType, Pkey, SlVlMask};

const PORTS: u64 = 64;
const GROUPS: u64 = 24;

/// A range of numbers below `limit`, as policies write it.
fn range(dice: &mut Rng, limit: u64, width: u64) -> String {
    let low = dice.below(limit);
    format!("{low}-{}", (low + dice.below(width)).min(limit - 1))
}

/// Of a hundred rules, how many ask for source, destination, QoS class, P_Key and service id, and
/// how many of the ranges are wide.
#[derive(Debug, Clone, Copy)]
struct Habit {
    asks: [u64; 5],
    wide: u64,
}

fn text(rules: usize, habit: &Habit, dice: &mut Rng) -> String {
    let mut text = "qos-levels\n".to_owned();
    for (sl, name) in ["default", "L1", "L2"].iter().enumerate() {
        text += &format!("qos-level\nname: {name}\nsl: {sl}\nend-qos-level\n");
    }
    text += "end-qos-levels\nport-groups\n";
    for group in 0..GROUPS {
        let members = [range(dice, PORTS, 6), range(dice, PORTS, 3)].join(",");
        text += &format!("port-group\nname: g{group}\nport-guid: {members}\nend-port-group\n");
    }
    text += "end-port-groups\nqos-match-rules\n";
    let limits = [GROUPS, GROUPS, 4096, 0x8000, 1 << 20];
    let words = ["source", "destination", "qos-class", "pkey", "service-id"];
    for _ in 0..rules {
        text += "qos-match-rule\n";
        for (at, (word, limit)) in words.iter().zip(limits).enumerate() {
            if dice.below(100) >= habit.asks[at] {
                continue;
            }
            let width = match dice.below(100) < habit.wide {
                true => limit / 3,
                false => 4,
            };
            let value = match at {
                0 | 1 => format!("g{}, g{}", dice.below(GROUPS), dice.below(GROUPS)),
                _ => [range(dice, limit, width), range(dice, limit, 2)].join(", "),
            };
            text += &format!("{word}: {value}\n");
        }
        text += &format!(
            "qos-level-name: L{}\nend-qos-match-rule\n",
            1 + dice.below(2)
        );
    }
    text + "end-qos-match-rules\n"
}

/// Ports with the GUIDs 1 to 64.
fn facts() -> Vec<PortFacts> {
    let fact = |guid| PortFacts {
        guid: Guid::new(guid).unwrap(),
        node_guid: Guid::new(guid).unwrap(),
        node_type: NodeType::Ca,
        description: String::new(),
        port_number: 1,
        node_ports: 1,
        is_sm: false,
    };
    (1..=PORTS).map(fact).collect()
}

fn snapshot(facts: &[PortFacts], tables: PolicyTables) -> Snapshot {
    let class = PathClass {
        capacity: Capacity::UNLIMITED,
        carried: SlVlMask::ALL,
        hops: 1,
        sl: PathSl::Policy,
    };
    let row = |(fact, lid): (&PortFacts, u16)| PortRow {
        guid: fact.guid,
        node_type: fact.node_type,
        lid: Lid::new(lid).unwrap(),
        lmc: Lmc::default(),
        switch: Some(0),
        own: Capacity::UNLIMITED,
        edge: Capacity::UNLIMITED,
        sl_out: SlVlMask::ALL,
        sl_in: SlVlMask::ALL,
        rate_caps: RateCaps::default(),
        pkeys: vec![Pkey::DEFAULT_FULL],
        coordinate: None,
    };
    let model = Model {
        groups: Vec::new(),
        prefix_routes: Vec::new(),
        aliases: Vec::new(),
        provenance: Provenance::default(),
        subnet: Subnet::default(),
        ports: facts.iter().zip(1..).map(row).collect(),
        partitions: vec![],
        paths: PathTables {
            engine_sl: EngineSl::Keep,
            classes: vec![class; 2],
            rows: vec![1; facts.len()],
            columns: vec![vec![1]; facts.len()],
            pairs: Pairs::Uniform {
                within: 1,
                across: 1,
            },
        },
        policy: Some(tables),
    };
    Builder::build(&model).unwrap()
}

/// At a bound of what some rule asks for or one beside it, or not named.
fn query(policy: &Policy, dice: &mut Rng) -> Query {
    let rule = &policy.rules[dice.below(policy.rules.len())];
    let mut near = |asked: Option<&policy::model::ranges::Ranges>, limit: u64| {
        let pairs = asked.map_or(&[][..], |asked| asked.pairs());
        let any = (dice.below(limit), limit - 1);
        let (low, high) = pairs.first().copied().unwrap_or(any);
        let value = match dice.below(7) {
            0 => return None,
            1 => low.saturating_sub(1),
            2 | 3 => low,
            4 | 5 => high,
            _ => high + 1,
        };
        Some(value.min(limit - 1))
    };
    let narrow = |value: u64| u16::try_from(value).unwrap();
    let qos_class = near(
        rule.fields[Field::QosClass]
            .as_ref()
            .map(|asked| &asked.value),
        4096,
    );
    let pkey = near(
        rule.fields[Field::Pkey].as_ref().map(|asked| &asked.value),
        0x8000,
    );
    let service_id = near(
        rule.fields[Field::ServiceId]
            .as_ref()
            .map(|asked| &asked.value),
        1 << 20,
    );
    Query {
        source: usize::try_from(dice.below(PORTS)).unwrap(),
        destination: usize::try_from(dice.below(PORTS)).unwrap(),
        qos_class: qos_class.map(narrow),
        pkey: pkey.map(narrow),
        service_id,
        ..Query::default()
    }
}

fn found(snapshot: &Snapshot, ports: &[PortIx], query: &Query) -> (Option<u32>, u32) {
    let input = MatchInput {
        qos_class: query.qos_class,
        pkey: query.pkey,
        service_id: query.service_id,
    };
    let classes = snapshot.classify(&input).unwrap();
    let (source, destination) = (ports[query.source], ports[query.destination]);
    let matched = snapshot.match_level(source, destination, &classes).unwrap();
    (matched.rule, matched.level_index)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..Default::default() })]

    #[test]
    fn snapshots_match_as_the_interpreter(
        rules in prop::sample::select(vec![64usize, 500, 1535, 1536, 2500, 4000]),
        asks in prop::array::uniform5(prop::sample::select(vec![10u64, 60, 95, 100])),
        wide in prop::sample::select(vec![0u64, 2, 60]),
        seed in any::<u64>(),
    ) {
        let mut dice = Rng::new(seed);
        let habit = Habit { asks, wide };
        let policy = parse(&text(rules, &habit, &mut dice), &ParseOptions::default()).unwrap();
        let facts = facts();
        let partitions = Partitions::without_file(&facts);
        let tables = compile(&policy, &facts, &partitions).unwrap();
        let snapshot = snapshot(&facts, tables);
        // A snapshot's order of ports is its own.
        let ports: Vec<PortIx> = facts
            .iter()
            .map(|fact| snapshot.port_by_guid(fact.guid.get()).unwrap())
            .collect();
        for _ in 0..300 {
            let query = query(&policy, &mut dice);
            let chosen = interpret(&policy, &facts, &partitions, &query);
            let rule = chosen.rule.map(|rule| u32::from(rule.0));
            let expected = (rule, u32::from(chosen.level.0));
            prop_assert_eq!(found(&snapshot, &ports, &query), expected, "{:?} {:?}", query, habit);
        }
    }
}

#[test]
fn the_rule_behind_the_last_allowed_is_named() {
    let habit = Habit {
        asks: [0, 0, 0, 0, 100],
        wide: 0,
    };
    let most = policy::model::limits::MAX_RULES;
    let parsed = |rules| {
        parse(
            &text(rules, &habit, &mut Rng::new(3)),
            &ParseOptions::default(),
        )
    };
    assert!(parsed(most).is_ok());
    let error = parsed(most + 1).unwrap_err();
    let limit = match error.problem {
        Problem::TooMany {
            what: "rules",
            limit,
            ..
        } => limit,
        ref other => panic!("{other}"),
    };
    assert_eq!((limit, most), (16_384, sa_snapshot::model::MAX_RULES));
    assert!(error.line() > 16_384, "the line of the rule: {error}");
}
