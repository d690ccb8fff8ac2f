//! `flow-label` in all dialects: read, converted, compared, and told apart from OpenSM's grammar.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use policy::diff::{answers, offer};
use policy::model::{LevelIx, RuleIx};
use policy::{
    Dialect, Lost, ParseOptions, PartitionOptions, Partitions, PartitionsConfig, Policy, PortFacts,
    compile, convert, parse_as,
};
use sa_snapshot::model::FlowLabels;
use sa_wire::roce::FlowLabel;
use sa_wire::{Guid, NodeType};

const OPENSM: &str = "qos-levels
    qos-level
        name: DEFAULT
        sl: 0
    end-qos-level
    qos-level
        name: bulk
        flow-label: spread 8
        sl: 1
    end-qos-level
end-qos-levels
qos-match-rules
    qos-match-rule
        qos-class: 1
        qos-level-name: bulk
    end-qos-match-rule
    qos-match-rule
        qos-class: 2
        qos-level-name: bulk
        flow-label: hash   # for latency
    end-qos-match-rule
    qos-match-rule
        qos-class: 3
        qos-level-name: bulk
        flow-label : none
    end-qos-match-rule
    qos-match-rule
        qos-class: 4
        qos-level-name: DEFAULT
        flow-label: fixed 0xabcde
    end-qos-match-rule
end-qos-match-rules
";

const TEXT: &str = "qos-levels
qos-level
sl: 0
flow-label: hash
end-qos-level
end-qos-levels
qos-match-rules
qos-match-rule
qos-class: 1
flow-label: spread 0x10
qos-level-sn: 1
end-qos-match-rule
end-qos-match-rules
";

const XML: &str = "<qos-policy><qos-levels>
<qos-level><sn>0</sn><sl>0</sl></qos-level>
<qos-level><sn>1</sn><sl>1</sl><flow-label> fixed 12 </flow-label></qos-level>
</qos-levels><qos_match_rules>
<qos_match_rule><service>1</service><match-level>1</match-level></qos_match_rule>
<qos_match_rule><service>2</service><match-level>1</match-level>
<flow_label>hash</flow_label></qos_match_rule>
</qos_match_rules></qos-policy>
";

fn read(text: &str, dialect: Dialect) -> Policy {
    parse_as(text, Some(dialect), &ParseOptions::default()).unwrap()
}

/// By rule, then the default's.
fn labels(policy: &Policy) -> Vec<FlowLabels> {
    let rules = (0..).map(RuleIx).zip(&policy.rules);
    let of_rules = rules.map(|(at, rule)| policy.flow_labels(Some(at), rule.level.value));
    let default = policy.flow_labels(None, policy.default_level);
    of_rules.chain([default]).collect()
}

fn fixed(raw: u32) -> FlowLabels {
    FlowLabels::fixed(FlowLabel::new(raw).unwrap()).unwrap()
}

fn ports() -> Vec<PortFacts> {
    let port = |guid| PortFacts {
        guid: Guid::new(guid).unwrap(),
        node_guid: Guid::new(guid).unwrap(),
        node_type: NodeType::Ca,
        description: String::from("host"),
        port_number: 1,
        node_ports: 1,
        is_sm: false,
    };
    (1..4).map(port).collect()
}

fn partitions(ports: &[PortFacts]) -> Partitions {
    let config = PartitionsConfig::parse("Default=0x7fff : ALL=full ;\n").unwrap();
    let options = PartitionOptions {
        qos: true,
        allow_both_pkeys: false,
    };
    Partitions::new(&config, ports, options)
}

#[test]
fn a_rule_comes_before_its_level_in_every_dialect() {
    let spread = |count| FlowLabels::spread(count).unwrap();
    let opensm = read(OPENSM, Dialect::OpenSm);
    let of_opensm = [
        spread(8),
        FlowLabels::Hash,
        FlowLabels::None,
        fixed(0xabcde),
        FlowLabels::None,
    ];
    assert_eq!(labels(&opensm), of_opensm);
    assert_eq!(offer(opensm.level(LevelIx(1))), "SL 1, flow label spread 8");
    // RFC 0.2 has no default level here: the built-in one gives no labels.
    let text = read(TEXT, Dialect::Rfc02Text);
    assert_eq!(labels(&text), [spread(16), FlowLabels::None]);
    let xml = read(XML, Dialect::Rfc01Xml);
    assert_eq!(
        labels(&xml),
        [fixed(12), FlowLabels::Hash, FlowLabels::None]
    );
    // What is compiled is the same.
    let ports = ports();
    for policy in [opensm, text, xml] {
        let tables = compile(&policy, &ports, &partitions(&ports)).unwrap();
        assert_eq!(tables.flow_labels, labels(&policy));
    }
}

#[test]
fn what_is_wrong_is_told_with_line_and_column() {
    let cases = [
        (
            OPENSM.replace("spread 8", "spread 1"),
            Dialect::OpenSm,
            (8, 28),
        ),
        (OPENSM.replace("0xabcde", "0"), Dialect::OpenSm, (30, 27)),
        (
            OPENSM.replace("0xabcde", "0x100000"),
            Dialect::OpenSm,
            (30, 27),
        ),
        (
            OPENSM.replace(": hash ", ": hush "),
            Dialect::OpenSm,
            (20, 21),
        ),
        (TEXT.replace("0x10", "128"), Dialect::Rfc02Text, (10, 20)),
        (TEXT.replace("hash", "fixed"), Dialect::Rfc02Text, (4, 18)),
        (
            XML.replace("fixed 12", "fixed 0"),
            Dialect::Rfc01Xml,
            (3, 51),
        ),
    ];
    for (text, dialect, place) in cases {
        let error = parse_as(&text, Some(dialect), &ParseOptions::default()).unwrap_err();
        assert_eq!((error.line(), error.column()), place, "{error}");
        assert!(error.help().is_some() || error.expected().is_some());
    }
    for (twice, dialect) in [
        (
            OPENSM.replace("sl: 1\n", "sl: 1\n        flow-label: hash\n"),
            Dialect::OpenSm,
        ),
        (
            TEXT.replace("sl: 0\n", "sl: 0\nflow-label: none\n"),
            Dialect::Rfc02Text,
        ),
        (
            TEXT.replace("qos-class: 1\n", "qos-class: 1\nflow-label: none\n"),
            Dialect::Rfc02Text,
        ),
        (
            XML.replace("<sl>1</sl>", "<sl>1</sl><flow-label>hash</flow-label>"),
            Dialect::Rfc01Xml,
        ),
    ] {
        let error = parse_as(&twice, Some(dialect), &ParseOptions::default()).unwrap_err();
        assert!(
            error.to_string().contains("more than one `flow-label`"),
            "{error}"
        );
    }
}

#[test]
fn without_extensions_it_is_refused_as_opensm_does() {
    let options = ParseOptions {
        extensions: false,
        ..ParseOptions::default()
    };
    for (text, dialect) in [
        (OPENSM, Dialect::OpenSm),
        (TEXT, Dialect::Rfc02Text),
        (XML, Dialect::Rfc01Xml),
    ] {
        assert!(
            parse_as(text, Some(dialect), &options).is_err(),
            "{dialect}"
        );
    }
}

/// A description may say anything, and names what stands in quotes or on their line.
#[test]
fn text_that_only_looks_like_it_stays_text() {
    let text = OPENSM.replace(
        "name: bulk\n",
        "name: \"flow-label: hash\"\n        use: flow-label: 3\n",
    );
    let text = text.replace("name: bulk", "name: \"flow-label: hash\"");
    let policy = read(&text, Dialect::OpenSm);
    let level = policy.level(LevelIx(1));
    assert_eq!(level.key.name(), Some("flow-label: hash"));
    assert_eq!(level.purpose.as_ref().unwrap().value, "flow-label: 3");
    assert_eq!(labels(&policy)[1], FlowLabels::Hash);
}

#[test]
fn conversions_keep_it_and_warn_of_opensm() {
    for (text, from) in [
        (OPENSM, Dialect::OpenSm),
        (TEXT, Dialect::Rfc02Text),
        (XML, Dialect::Rfc01Xml),
    ] {
        let policy = read(text, from);
        for to in Dialect::ALL {
            let converted = convert(&policy, to);
            let again = read(&converted.text, to);
            // RFC 0.1 has no QoS classes: those rules are gone.
            if again.rules.len() == policy.rules.len() {
                assert_eq!(labels(&again), labels(&policy), "{from} to {to}");
            }
            let warns = converted
                .losses
                .iter()
                .any(|loss| loss.what == Lost::FlowLabel);
            assert_eq!(warns, to == Dialect::OpenSm && from != to, "{from} to {to}");
        }
    }
}

/// A rule's own labels show although both policies give the same level.
#[test]
fn another_label_is_another_answer() {
    let (old, new) = (
        OPENSM.to_owned(),
        OPENSM.replace("flow-label: hash", "flow-label: spread 2"),
    );
    let [old, new] = [old, new].map(|text| read(&text, Dialect::OpenSm));
    let ports = ports();
    let found = answers(&old, &new, &ports, &partitions(&ports)).unwrap();
    assert_eq!(found.changed, 6);
    let transition = &found.transitions[0];
    assert_eq!(
        transition.labels,
        (FlowLabels::Hash, FlowLabels::spread(2).unwrap())
    );
    assert_eq!(transition.example.query.qos_class, Some(2));
    let same = answers(&old, &old, &ports, &partitions(&ports)).unwrap();
    assert_eq!(same.changed, 0);
    // A level that says what its rules said before changes nothing.
    let moved = "qos-match-rule\n        qos-class: 1\n        flow-label: spread 8\n";
    let by_rule = OPENSM.replace("        flow-label: spread 8\n", "");
    let by_rule = by_rule.replace("qos-match-rule\n        qos-class: 1\n", moved);
    let by_rule = read(&by_rule, Dialect::OpenSm);
    let none = answers(&old, &by_rule, &ports, &partitions(&ports)).unwrap();
    assert_eq!(none.changed, 0);
}
