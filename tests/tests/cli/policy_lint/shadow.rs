//! What the linter says of rules is what asking everything finds out.

use std::collections::BTreeSet;

use policy::lint::{Analysis, FabricView, Life, LintId, lint};
use policy::model::RuleIx;
use policy::model::criterion::Field;
use policy::{ParseOptions, Partitions, Policy, PortFacts, Query, interpret, parse};
use proptest::prelude::*;

use super::support::port;

/// Numbers of each field that tell all rules of [`written`] apart.
const NUMBERS: [u64; 7] = [0, 1, 2, 3, 4, 5, 6];

/// Six ports; groups hold ports 0 to 4.
fn ports() -> Vec<PortFacts> {
    (0..6)
        .map(|at| port(0x10 + at, &format!("h{at}")))
        .collect()
}

/// Groups that overlap in ways that numbers decide, or that share no port.
fn groups(mut roll: impl FnMut(usize) -> usize, apart: bool) -> String {
    let mut text = String::from("port-groups\n");
    for (at, name) in ["A", "B", "C"].into_iter().enumerate() {
        let (low, high) = match apart {
            true => (at, at),
            false => (roll(5), roll(5)),
        };
        text += &format!(
            "port-group\nname: {name}\nport-guid: 0x{:x}-0x{:x}\nend-port-group\n",
            0x10 + low,
            0x10 + high
        );
    }
    text + "end-port-groups\n"
}

/// A policy that numbers decide: few rules, few values, many overlaps.
fn written(numbers: &[usize], apart: bool) -> String {
    let mut numbers = numbers.iter().cycle();
    let mut roll = move |sides: usize| numbers.next().unwrap() % sides;
    let mut text = String::from("qos-levels\n");
    for (sl, name) in ["default", "L1", "L2"].into_iter().enumerate() {
        text += &format!("qos-level\nname: {name}\nsl: {sl}\nend-qos-level\n");
    }
    text += "end-qos-levels\n";
    text += &groups(&mut roll, apart);
    text += "qos-match-rules\n";
    for _ in 0..2 + roll(9) {
        text += "qos-match-rule\n";
        for end in ["source", "destination"] {
            match roll(6) {
                0 => text += &format!("{end}: A\n"),
                1 => text += &format!("{end}: B\n"),
                2 => text += &format!("{end}: B,C\n"),
                3 => text += &format!("{end}: A,C\n"),
                _ => {}
            }
        }
        for field in ["qos-class", "service-id", "pkey"] {
            match roll(5) {
                0 => text += &format!("{field}: {}\n", roll(6)),
                1 => text += &format!("{field}: {}-{}\n", roll(6), roll(6)),
                2 => text += &format!("{field}: {}-{},{}\n", roll(6), roll(6), roll(6)),
                _ => {}
            }
        }
        text += &format!("qos-level-name: L{}\nend-qos-match-rule\n", 1 + roll(2));
    }
    text + "end-qos-match-rules\n"
}

/// Rules that some request gets.
fn chosen(policy: &Policy, ports: &[PortFacts], partitions: &Partitions) -> BTreeSet<RuleIx> {
    let numbers = || std::iter::once(None).chain(NUMBERS.map(Some));
    let mut chosen = BTreeSet::new();
    for source in 0..ports.len() {
        for destination in 0..ports.len() {
            for class in numbers() {
                for id in numbers() {
                    for pkey in numbers() {
                        for named in [true, false] {
                            if !named && !policy.semantics.endpoint_mask_required {
                                continue;
                            }
                            let query = Query {
                                source,
                                destination,
                                qos_class: class.map(|it| u16::try_from(it).unwrap()),
                                service_id: id,
                                pkey: pkey.map(|it| u16::try_from(it).unwrap()),
                                tclass: None,
                                source_named: named,
                                destination_named: true,
                            };
                            chosen.extend(interpret(policy, ports, partitions, &query).rule);
                        }
                    }
                }
            }
        }
    }
    chosen
}

fn view<'a>(ports: &'a [PortFacts], partitions: &'a Partitions) -> FabricView<'a> {
    FabricView {
        ports,
        partitions,
        sl_bits: FabricView::ALL_BITS,
    }
}

fn alive(lives: &[Life]) -> BTreeSet<RuleIx> {
    let rules = (0..).map(RuleIx).zip(lives);
    rules
        .filter(|(_, life)| life.may_be_alive())
        .map(|(rule, _)| rule)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// In a fabric: dead and never chosen are the same, whether or not ends must be named.
    #[test]
    fn rules_are_dead_exactly_when_nothing_gets_them(
        numbers in proptest::collection::vec(0usize..720_720, 60),
        required: bool,
    ) {
        let options = ParseOptions {
            endpoint_mask_required: Some(required),
            ..ParseOptions::default()
        };
        let policy = parse(&written(&numbers, false), &options).unwrap();
        let ports = ports();
        let partitions = Partitions::without_file(&ports);
        let analysis = Analysis::new(&policy, Some(view(&ports, &partitions)));
        let chosen = chosen(&policy, &ports, &partitions);
        prop_assert_eq!(alive(analysis.lives()), chosen);
        // What is told is what was found.
        let dead = lint(&policy, Some(&view(&ports, &partitions)), None);
        let dead = dead.iter().filter(|it| it.id == LintId::SHADOWED).count();
        let shadowed = analysis.lives().iter().filter(|it| matches!(it, Life::Dead(_)));
        prop_assert_eq!(dead, shadowed.count());
    }

    /// Without a fabric: dead rules are dead in every fabric, and there is one where the others
    /// live: with a port in each group alone and one in none.
    #[test]
    fn without_a_fabric_any_fabric_is_meant(
        numbers in proptest::collection::vec(0usize..720_720, 60),
    ) {
        let options = ParseOptions::default();
        let apart = parse(&written(&numbers, true), &options).unwrap();
        let ports = ports();
        let partitions = Partitions::without_file(&ports);
        let alive_apart = alive(Analysis::new(&apart, None).lives());
        prop_assert_eq!(&alive_apart, &chosen(&apart, &ports, &partitions));
        let mixed = parse(&written(&numbers, false), &options).unwrap();
        let alive_mixed = alive(Analysis::new(&mixed, None).lives());
        prop_assert!(chosen(&mixed, &ports, &partitions).is_subset(&alive_mixed));
    }

    /// The rules that are said to stand before a dead one hold wherever it does, and the witness of
    /// a live one gets to it.
    #[test]
    fn reasons_are_true(numbers in proptest::collection::vec(0usize..720_720, 60)) {
        let policy = parse(&written(&numbers, false), &ParseOptions::default()).unwrap();
        let ports = ports();
        let partitions = Partitions::without_file(&ports);
        let analysis = Analysis::new(&policy, Some(view(&ports, &partitions)));
        for (at, life) in analysis.lives().iter().enumerate() {
            match life {
                Life::Dead(by) => {
                    let mut alone = policy.clone();
                    alone.rules = by.iter().map(|it| policy.rule(*it).clone()).collect();
                    alone.rules.push(policy.rules[at].clone());
                    let last = RuleIx(u16::try_from(by.len()).unwrap());
                    prop_assert!(!chosen(&alone, &ports, &partitions).contains(&last));
                }
                Life::Alive(witness) => {
                    let [class, _, id, pkey] = Field::ALL.map(|field| witness.values[field]);
                    let query = Query {
                        source: analysis.classes().ports(witness.source)[0],
                        destination: analysis.classes().ports(witness.destination)[0],
                        qos_class: class.map(|it| u16::try_from(it).unwrap()),
                        service_id: id,
                        pkey: pkey.map(|it| u16::try_from(it).unwrap()),
                        tclass: None,
                        source_named: true,
                        destination_named: true,
                    };
                    let got = interpret(&policy, &ports, &partitions, &query).rule;
                    prop_assert_eq!(got, Some(RuleIx(u16::try_from(at).unwrap())));
                }
                Life::Never(_) | Life::Undecided => {}
            }
        }
    }
}

/// A thousand rules with many overlaps are judged, every one.
#[test]
fn a_thousand_rules_leave_none_open() {
    let mut state = 1_usize;
    let mut roll = move |sides: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_041);
        (state >> 33) % sides
    };
    let mut text = String::from(
        "qos-levels\nqos-level\nname: default\nsl: 0\nend-qos-level\nend-qos-levels\nport-groups\n",
    );
    for group in 0..40 {
        let first = 0x10 + roll(500);
        text += &format!(
            "port-group\nname: g{group}\nport-guid: 0x{first:x}-0x{:x}\nend-port-group\n",
            first + roll(200)
        );
    }
    text += "end-port-groups\nqos-match-rules\n";
    for _ in 0..1000 {
        let (class, id) = (roll(300), roll(100));
        text += &format!(
            "qos-match-rule\nsource: g{},g{}\ndestination: g{}\nqos-class: {class}-{}\n\
             service-id: {id}-{}\nqos-level-name: default\nend-qos-match-rule\n",
            roll(40),
            roll(40),
            roll(40),
            class + roll(90),
            id + roll(60)
        );
    }
    text += "end-qos-match-rules\n";
    let policy = parse(&text, &ParseOptions::default()).unwrap();
    let ports: Vec<_> = (0..512)
        .map(|at| port(0x10 + at, &format!("h{at}")))
        .collect();
    let partitions = Partitions::without_file(&ports);
    let here = Analysis::new(&policy, Some(view(&ports, &partitions)));
    let anywhere = Analysis::new(&policy, None);
    assert!(!here.lives().contains(&Life::Undecided));
    assert!(!anywhere.lives().contains(&Life::Undecided));
    assert!(alive(here.lives()).is_subset(&alive(anywhere.lives())));
    let dead = here
        .lives()
        .iter()
        .filter(|life| matches!(life, Life::Dead(_)));
    assert!(dead.count() > 10);
}
