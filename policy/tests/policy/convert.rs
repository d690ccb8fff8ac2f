//! Conversion: what is read back is the same policy but for the losses that are told.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use crate::written;

use policy::model::criterion::Field;
use policy::model::{Origin, RuleOrigin, Selector, Setup, Sl2VlScope, VlArbScope};
use policy::{
    Dialect, Loss, LossKind, Lost, ParseOptions, Policy, Ranges, ScopePrecedence, convert, parse_as,
};
use proptest::prelude::*;
use sa_text::Spanned;
use written::Dice;

fn read(text: &str, dialect: Dialect) -> Policy {
    parse_as(text, Some(dialect), &ParseOptions::default())
        .unwrap_or_else(|error| panic!("{error} {:?}\n{text}", error.help()))
}

/// What the dialect can say of a policy, places aside.
#[derive(Debug, PartialEq)]
struct Said {
    groups: Vec<(Option<String>, Option<String>, Vec<String>)>,
    levels: Vec<String>,
    names: Vec<Option<String>>,
    rules: Vec<String>,
    default: Option<usize>,
    vlarb: Vec<String>,
    sl2vl: Vec<String>,
}

impl Said {
    fn of(policy: &Policy, to: Dialect) -> Self {
        let rfc = to.is_rfc();
        let xml = to == Dialect::Rfc01Xml;
        let sayable = |rule: &&policy::model::Rule| {
            !(rfc && rule.fields[Field::Pkey].is_some()
                || xml && rule.fields[Field::QosClass].is_some()
                || !xml && rule.fields[Field::TClass].is_some())
        };
        let text = |text: &Option<Spanned<String>>| {
            // OpenSM has no double quotes inside a description.
            let quote = if rfc { "\"" } else { "'" };
            text.as_ref().map(|text| text.replace('"', quote))
        };
        let default = policy.level(policy.default_level);
        Self {
            groups: policy
                .groups
                .iter()
                .map(|group| {
                    let written = group.origin != Origin::Ulp;
                    let name = written.then(|| group.name.value.clone());
                    let selectors = group
                        .selectors
                        .iter()
                        .filter_map(|s| selector(&s.value, rfc));
                    (name, text(&group.purpose), selectors.collect())
                })
                .collect(),
            levels: policy
                .levels
                .iter()
                .map(|level| level_said(level, to))
                .collect(),
            names: policy
                .levels
                .iter()
                .map(|level| level.key.name().map(str::to_owned))
                .collect(),
            rules: policy
                .rules
                .iter()
                .filter(sayable)
                .map(|rule| {
                    let groups = |ends: &Vec<Spanned<policy::model::GroupIx>>| -> Vec<u32> {
                        ends.iter().map(|end| end.value.0).collect()
                    };
                    let ranges = |r: &Option<Spanned<Ranges>>| r.as_ref().map(|r| r.value.clone());
                    let ipoib = rule.origin == (RuleOrigin::Ulp { ipoib: true }) && !rfc;
                    format!(
                        "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {} {ipoib}",
                        text(&rule.purpose),
                        groups(&rule.source),
                        groups(&rule.destination),
                        ranges(&rule.fields[Field::QosClass]),
                        ranges(&rule.fields[Field::TClass]),
                        ranges(&rule.fields[Field::ServiceId]),
                        ranges(&rule.fields[Field::Pkey]),
                        rule.level.value.0,
                    )
                })
                .collect(),
            default: (default.origin != Origin::BuiltIn || !rfc)
                .then(|| policy.default_level.0.into()),
            vlarb: scopes(policy, &policy.setup.vlarb, |scope| vlarb(scope, to)),
            sl2vl: scopes(policy, &policy.setup.sl2vl, |scope| {
                sl2vl(scope, policy.dialect, to)
            }),
        }
    }
}

fn selector(selector: &Selector, rfc: bool) -> Option<String> {
    match selector {
        Selector::Pkeys(_) if rfc => None,
        Selector::PortName(name) => Some(format!("{} {}", name.node, name.port)),
        other => Some(format!("{other:?}")),
    }
}

fn level_said(level: &policy::model::Level, to: Dialect) -> String {
    let sl = level.sl.map(|sl| sl.value);
    let life = level.packet_life.map(|life| life.value);
    format!(
        "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
        level.purpose.as_ref().map(|text| match to {
            Dialect::OpenSm => text.replace('"', "'"),
            _ => text.value.clone(),
        }),
        match to {
            Dialect::OpenSm => sl.or(Some(0)),
            _ => sl,
        },
        level.mtu_limit.map(|mtu| mtu.value),
        level.rate_limit.map(|rate| rate.value),
        match to {
            Dialect::OpenSm => life,
            Dialect::Rfc02Text => life.filter(|life| *life < 64),
            _ => None,
        },
        level.path_bits.as_ref().map(|bits| &bits.value),
        level
            .tclass
            .map(|t| t.value)
            .filter(|_| to == Dialect::Rfc01Xml),
        level
            .pkeys
            .as_ref()
            .map(|p| &p.value)
            .filter(|_| to == Dialect::OpenSm),
    )
}

/// The one that counts first.
fn scopes<T>(policy: &Policy, scopes: &[T], say: impl Fn(&T) -> Option<String>) -> Vec<String> {
    let mut said: Vec<String> = scopes.iter().filter_map(say).collect();
    if policy.semantics.scope_precedence == ScopePrecedence::Last {
        said.reverse();
    }
    said
}

fn names(names: &[Spanned<String>]) -> Vec<String> {
    names.iter().map(|name| name.to_ascii_lowercase()).collect()
}

fn vlarb(scope: &VlArbScope, to: Dialect) -> Option<String> {
    let ports = match to {
        Dialect::Rfc01Xml => Some(scope.to.clone()),
        _ if Setup::is_any_port(&scope.to) => None,
        _ => return None,
    };
    Some(format!(
        "{:?} {:?} {ports:?} {:?} {:?} {:?} {:?}",
        names(&scope.groups),
        names(&scope.across),
        scope.high,
        scope.low,
        scope.high_limit,
        scope.skipped,
    ))
}

fn sl2vl(scope: &Sl2VlScope, from: Dialect, to: Dialect) -> Option<String> {
    if to == Dialect::Rfc01Xml && !(scope.across_to.is_empty() && scope.across_from.is_empty()) {
        return None;
    }
    let any = |ports: &Ranges| {
        let all = ports.pairs() == [if from.is_rfc() { (0, 254) } else { (0, 127) }];
        if all {
            "*".to_owned()
        } else {
            format!("{ports:?}")
        }
    };
    let last = |ports: &Ranges| ports.pairs().last().map_or(0, |(_, last)| *last);
    let over = |ports: &Ranges| any(ports) != "*" && last(ports) > 127;
    if to == Dialect::OpenSm && (over(&scope.from) || over(&scope.to)) {
        return None;
    }
    Some(format!(
        "{:?} {:?} {:?} {:?} {} {} {:?} {:?}",
        names(&scope.groups),
        names(&scope.across),
        names(&scope.across_to),
        names(&scope.across_from),
        any(&scope.from),
        any(&scope.to),
        scope.table,
        scope.skipped,
    ))
}

/// Losses that are to be seen in the policy that is read back.
fn visible(losses: &[Loss]) -> Vec<&Loss> {
    let harmless = [LossKind::Meaning, LossKind::WithoutEffect];
    losses
        .iter()
        .filter(|loss| !harmless.contains(&loss.what.kind()))
        .collect()
}

fn check(text: &str, from: Dialect, to: Dialect) -> Result<(), TestCaseError> {
    let policy = read(text, from);
    let converted = convert(&policy, to);
    let again = read(&converted.text, to);
    let (had, mut got) = (Said::of(&policy, to), Said::of(&again, to));
    for (at, name) in had.names.iter().enumerate() {
        let is_written = policy.levels[at].origin == Origin::Written || from == to;
        let Some(got) = got.names.get_mut(at) else {
            continue;
        };
        // Where there was none one was made up; the default has to have its own.
        if name.is_none() || !is_written || usize::from(policy.default_level.0) == at {
            got.clone_from(name);
        }
    }
    for (had, got) in had.groups.iter().zip(&mut got.groups) {
        if had.0.is_none() {
            got.0 = None;
        }
    }
    prop_assert_eq!(
        &had,
        &got,
        "{} to {}:\n{}\n---\n{}",
        from,
        to,
        text,
        converted.text
    );
    if from == to {
        prop_assert_eq!(visible(&converted.losses), Vec::<&Loss>::new(), "{}", text);
        prop_assert_eq!(Said::of(&policy, from), Said::of(&again, from));
    }
    let whole = |policy: &Policy| {
        Dialect::ALL.map(|dialect| format!("{:?}", Said::of(policy, dialect).rules))
    };
    if visible(&converted.losses).is_empty() {
        prop_assert_eq!(whole(&policy), whole(&again));
    }
    // Nothing more is lost the second time.
    let twice = convert(&again, to);
    prop_assert_eq!(visible(&twice.losses), Vec::<&Loss>::new());
    prop_assert_eq!(&twice.text, &converted.text);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..Default::default() })]

    #[test]
    fn policies_survive_conversion(rolls in prop::collection::vec(any::<u32>(), 300..600)) {
        for from in Dialect::ALL {
            let text = written::policy(from, &mut Dice::new(&rolls));
            for to in Dialect::ALL {
                check(&text, from, to)?;
            }
        }
    }
}

fn losses(text: &str, from: Dialect, to: Dialect) -> Vec<(u32, LossKind, String)> {
    let converted = convert(&read(text, from), to);
    let losses = converted.losses.into_iter();
    losses
        .map(|loss| {
            (
                loss.span.start.line,
                loss.what.kind(),
                loss.what.to_string(),
            )
        })
        .filter(|(_, kind, _)| *kind != LossKind::Meaning)
        .collect()
}

#[test]
fn what_opensm_cannot_say_is_told() {
    let text = include_str!("../../../tests/golden/policy-rfc/rfc-0.1-example.xml");
    let losses = losses(text, Dialect::Rfc01Xml, Dialect::OpenSm);
    let has = |line, kind, words: &str| {
        let found = losses
            .iter()
            .any(|(at, what, said)| (*at, *what) == (line, kind) && said.contains(words));
        assert!(found, "{line} {words}: {losses:#?}");
    };
    has(1, LossKind::Changed, "built-in default has no SL");
    has(13, LossKind::Changed, "whole description");
    has(26, LossKind::WithoutEffect, "qos-setup");
    has(59, LossKind::LeftOut, "tclass");
    has(69, LossKind::LeftOut, "traffic class");
    assert_eq!(losses.len(), 8, "{losses:#?}");
}

#[test]
fn what_the_rfcs_cannot_say_is_told() {
    let text = "port-groups\nport-group\nname: g\npkey: 1\nport-name: \"a/b/P1\"\nend-port-group\n\
        end-port-groups\nqos-levels\nqos-level\nname: default\nsl: 1\npacket-life: 70\npkey: 2\n\
        end-qos-level\nend-qos-levels\nqos-ulps\nipoib, pkey 3 : 4\nend-qos-ulps\n";
    for (to, packet_life) in [(Dialect::Rfc02Text, true), (Dialect::Rfc01Xml, true)] {
        let losses = losses(text, Dialect::OpenSm, to);
        let lines: Vec<u32> = losses.iter().map(|(line, ..)| *line).collect();
        assert_eq!(lines, [4, 5, 12, 13, 17], "{losses:#?}");
        assert_eq!(losses[2].2.contains("packet-life"), packet_life);
    }
    let text = text.replace("70", "7");
    assert_eq!(losses(&text, Dialect::OpenSm, Dialect::Rfc02Text).len(), 4);
    assert_eq!(losses(&text, Dialect::OpenSm, Dialect::Rfc01Xml).len(), 5);
    assert_eq!(losses(&text, Dialect::OpenSm, Dialect::OpenSm), []);
}

#[test]
fn how_a_policy_is_meant_is_told() {
    let text = include_str!("../../../tests/golden/policy-rfc/rfc-0.2-example.conf");
    let policy = read(text, Dialect::Rfc02Text);
    let meaning = |to| {
        let losses = convert(&policy, to).losses.into_iter();
        let meaning = losses.filter(|loss| loss.what.kind() == LossKind::Meaning);
        meaning
            .map(|loss| loss.what.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(meaning(Dialect::Rfc02Text), Vec::<String>::new());
    assert_eq!(
        meaning(Dialect::OpenSm),
        ["answers carry the QoS class; read as OpenSM, answers carry neither QoS class nor TClass"]
    );
}

#[test]
fn names_that_cannot_be_said_are_changed_and_stay_apart() {
    let group = |name: &str| format!("<port-group><name>{name}</name></port-group>");
    let text = format!(
        "<qos-policy><port-groups>{}{}{}</port-groups><qos-levels><qos-level><sn>0</sn>\
         <name>low</name></qos-level><qos-level><sn>7</sn><name>default</name></qos-level>\
         </qos-levels><qos-match-rules><qos-match-rule><source>a&quot;b</source>\
         <destination>a'b, \"c,d\"</destination><match-level>7</match-level></qos-match-rule>\
         </qos-match-rules></qos-policy>",
        group("a&quot;b"),
        group("a'b"),
        group("c,d"),
    );
    let policy = read(&text, Dialect::Rfc01Xml);
    let converted = convert(&policy, Dialect::OpenSm);
    let again = read(&converted.text, Dialect::OpenSm);
    let names = again.groups.iter().map(|group| group.name.value.as_str());
    assert!(names.eq(["a'b", "a'b-2", "c,d"]));
    assert_eq!(again.rules[0].destination[0].value.0, 1);
    let levels = again.levels.iter().map(|level| level.key.to_string());
    assert!(levels.eq(["default", "default-2"]));
    assert_eq!(again.rules[0].level.0, 1);
    let changed = converted
        .losses
        .iter()
        .filter(|loss| matches!(loss.what, Lost::Renamed { .. }));
    assert_eq!(changed.count(), 4, "{:#?}", converted.losses);
}
