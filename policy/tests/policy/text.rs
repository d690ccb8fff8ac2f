//! The dialect, one fact at a time. Where no scenario is named, the fact was checked by giving
//! the file to OpenSM 3.3.23.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use policy::lint::notes::{NoteKind, fabric_notes, notes};
use policy::model::criterion::Field;
use policy::model::{LevelIx, NodeTypes, RuleOrigin, Selector};
use policy::{Error, ParseOptions, Partitions, Policy, PortFacts, Problem, parse};
use sa_wire::{Guid, NodeType};

fn read(text: &str) -> Result<Policy, Error> {
    parse(text, &ParseOptions::default())
}

/// A policy with levels named default, L1 to L3, and these sections in front.
fn with_levels(sections: &str) -> Result<Policy, Error> {
    read(&format!("{sections}\n{LEVELS}"))
}

const LEVELS: &str = "qos-levels
qos-level\nname: default\nsl: 0\nend-qos-level
qos-level\nname: L1\nsl: 1\nend-qos-level
qos-level\nname: L2\nsl: 2\nend-qos-level
qos-level\nname: L3\nsl: 3\nend-qos-level
end-qos-levels\n";

fn rule(entries: &str) -> Result<Policy, Error> {
    with_levels(&format!(
        "qos-match-rules\nqos-match-rule\n{entries}\nend-qos-match-rule\nend-qos-match-rules"
    ))
}

fn level(entries: &str) -> Result<Policy, Error> {
    read(&format!(
        "qos-levels\nqos-level\n{entries}\nend-qos-level\nend-qos-levels\n"
    ))
}

fn group(entries: &str) -> Result<Policy, Error> {
    with_levels(&format!(
        "port-groups\nport-group\n{entries}\nend-port-group\nend-port-groups"
    ))
}

fn classes(entries: &str) -> Vec<(u64, u64)> {
    let policy = rule(&format!("{entries}\nqos-level-name: L1")).unwrap();
    policy.rules[0].fields[Field::QosClass]
        .as_ref()
        .unwrap()
        .pairs()
        .to_vec()
}

#[test]
fn numbers_may_be_decimal_octal_or_hexadecimal() {
    assert_eq!(classes("qos-class: 010"), [(8, 8)]);
    assert_eq!(classes("qos-class: 08"), [(0, 0)]);
    assert_eq!(classes("qos-class: 0X0A"), [(10, 10)]);
    assert_eq!(
        classes("qos-class: 99999999999999999999999"),
        [(u64::MAX, u64::MAX)]
    );
    assert!(rule("qos-class: -1\nqos-level-name: L1").is_err());
}

#[test]
fn ranges_are_swapped_and_merged_over_keywords() {
    assert_eq!(classes("qos-class: 2000-1990"), [(1990, 2000)]);
    assert_eq!(
        classes("qos-class: 5-7, 8, 1\nqos-class: 2"),
        [(1, 2), (5, 8)]
    );
}

#[test]
fn pkeys_lose_their_membership_before_ranges_are_ordered() {
    let policy = rule("pkey: 0x7000-0x8123, 0xffff\nqos-level-name: L1").unwrap();
    let pairs = policy.rules[0].fields[Field::Pkey]
        .as_ref()
        .unwrap()
        .pairs()
        .to_vec();
    assert_eq!(pairs, [(0x123, 0x7000), (0x7fff, 0x7fff)]);
}

#[test]
fn statements_are_a_stream() {
    assert!(level("name: default\nsl: 3 mtu-limit: 2").is_ok());
    assert!(
        level("name: default sl: 3").is_err(),
        "3 is still part of names on this line"
    );
    assert!(rule("qos-class: 1,\n 2\nqos-level-name: L1").is_ok());
    assert!(level("name: default\nsl 3").is_err());
    assert!(level("name: default\nsl \t:\t 3").is_ok());
    assert!(level("name: default\nSL: 3").is_err());
}

#[test]
fn continued_names_cannot_have_digits() {
    let groups = "port-groups\nport-group\nname: A\nend-port-group\nport-group\nname: 2b\n\
         end-port-group\nport-group\nname: b2\nend-port-group\nend-port-groups\n";
    let rule = |names| {
        format!(
            "{groups}qos-match-rules\nqos-match-rule\nsource: {names}\nqos-level-name: L1\n\
             end-qos-match-rule\nend-qos-match-rules"
        )
    };
    assert!(with_levels(&rule("A, 2b")).is_ok());
    assert!(with_levels(&rule("A,\na")).is_ok());
    assert!(with_levels(&rule("A,\nb2")).is_err());
    let error = with_levels(&rule("A,\n 2b")).unwrap_err();
    assert_eq!((error.line(), error.column()), (15, 2));
}

#[test]
fn comments_may_follow_values_but_need_a_newline() {
    assert!(level("name: default # all\nuse: some # sl: 5\nsl: 3").is_ok());
    assert!(read(&format!("{LEVELS}# end")).is_err());
    assert!(read(LEVELS.trim_end()).is_ok());
    assert!(read("# nothing here").is_err());
}

#[test]
fn carriage_returns_and_marks_are_no_white_space() {
    let error = read(&LEVELS.replace('\n', "\r\n")).unwrap_err();
    assert_eq!((error.line(), error.column()), (1, 11));
    assert!(error.help().unwrap().contains("line ends"));
    assert!(
        read(&format!("\u{feff}{LEVELS}"))
            .unwrap_err()
            .help()
            .unwrap()
            .contains("mark")
    );
}

#[test]
fn names_drop_blanks_unless_quoted() {
    let policy = group("name: Virtual Servers").unwrap();
    assert_eq!(policy.groups[0].name.value, "VirtualServers");
    let policy = group("name: \"Virtual Servers\"").unwrap();
    assert_eq!(policy.groups[0].name.value, "Virtual Servers");
    let policy = group("name: \"  a \"b").unwrap();
    assert_eq!(policy.groups[0].name.value, "a b");
    assert_eq!(group("name: \"\"").unwrap().groups[0].name.value, "");
}

#[test]
fn keywords_inside_names_need_quotes() {
    assert!(group("name: qos-level-x").is_err());
    assert!(group("name: my-port-groups").is_err());
    assert!(group("name: \"my-port-groups\"").is_ok());
    assert!(group("name: Switch").is_ok() && group("name: any").is_ok());
    assert!(group("name: a\nuse: for sl: 5, qos-level x").is_ok());
    assert!(group("name: a\nuse:\nnode-type: CA").is_err());
}

#[test]
fn an_unclosed_quote_is_pointed_at() {
    let error = group("name: \"a\nuse: \"b\nnode-type: 5").unwrap_err();
    assert!(error.help().unwrap().contains("quote"), "{error:?}");
}

#[test]
fn names_compare_without_case_and_the_first_counts() {
    let policy = with_levels(
        "qos-levels\nqos-level\nname: l1\nsl: 9\nend-qos-level\nend-qos-levels
qos-match-rules\nqos-match-rule\nqos-level-name: L1\nend-qos-match-rule\nend-qos-match-rules",
    )
    .unwrap();
    assert_eq!(*policy.level(policy.rules[0].level.value).sl.unwrap(), 9);
    let unreachable = NoteKind::LevelUnreachable("L1".into());
    assert!(notes(&policy).iter().any(|note| note.kind == unreachable));
}

#[test]
fn blocks_hold_single_keywords_once() {
    for entries in ["name: a\nname: b", "name: a\nuse: a\nuse: b"] {
        assert!(matches!(
            group(entries).unwrap_err().problem,
            Problem::Repeated { .. }
        ));
    }
    for twice in [
        "sl: 1",
        "mtu-limit: 1",
        "rate-limit: 2",
        "packet-life: 1",
        "name: default",
    ] {
        let error = level(&format!("name: default\nsl: 0\n{twice}\n{twice}")).unwrap_err();
        assert!(matches!(error.problem, Problem::Repeated { .. }), "{twice}");
    }
}

#[test]
fn sections_may_be_empty_but_for_groups_and_ulps() {
    assert!(with_levels("qos-levels\nend-qos-levels").is_ok());
    assert!(with_levels("qos-match-rules\nend-qos-match-rules").is_ok());
    assert!(with_levels("qos-setup\nend-qos-setup").is_ok());
    assert!(with_levels("port-groups\nend-port-groups").is_err());
    assert!(with_levels("qos-ulps\nend-qos-ulps").is_err());
}

#[test]
fn level_values_keep_eight_bits() {
    let policy = level("name: default\nsl: 256\npacket-life: 320").unwrap();
    assert_eq!(
        (
            *policy.levels[0].sl.unwrap(),
            *policy.levels[0].packet_life.unwrap()
        ),
        (0, 64)
    );
    assert_eq!(
        *level("name: default\nsl: 16").unwrap().levels[0]
            .sl
            .unwrap(),
        16
    );
}

#[test]
fn codes_outside_their_range_are_refused() {
    let code = |text: &str| level(&format!("name: default\nsl: 0\n{text}"));
    for good in [
        "mtu-limit: 1",
        "mtu-limit: 5",
        "rate-limit: 2",
        "rate-limit: 22",
    ] {
        assert!(code(good).is_ok(), "{good}");
    }
    for bad in [
        "mtu-limit: 0",
        "mtu-limit: 6",
        "rate-limit: 1",
        "rate-limit: 23",
    ] {
        let error = code(bad).unwrap_err();
        assert!(matches!(error.problem, Problem::OutOfRange { .. }), "{bad}");
        assert_eq!(error.line(), 5);
    }
    let newer = ParseOptions {
        max_rate_code: 24,
        ..ParseOptions::default()
    };
    let text = "qos-levels qos-level\nname: default\nsl: 0 rate-limit: 24\nend-qos-level \
         end-qos-levels\n";
    assert!(parse(text, &newer).is_ok());
}

#[test]
fn blocks_want_their_names() {
    let error = level("name: default").unwrap_err();
    assert_eq!(error.message(), "qos-level has no sl");
    assert!(
        level("sl: 1")
            .unwrap_err()
            .help()
            .unwrap()
            .contains("RFC 0.2")
    );
    assert!(rule("qos-class: 1").is_err());
    assert!(group("use: x").is_err());
}

#[test]
fn the_named_default_wins() {
    assert_eq!(read("").unwrap_err().problem, Problem::NoDefaultLevel);
    let from_ulps = read("qos-ulps\ndefault : 1\nDEFAULT: 0x2\nend-qos-ulps\n").unwrap();
    assert_eq!(
        *from_ulps.level(from_ulps.default_level).sl.unwrap(),
        2,
        "the last line counts"
    );
    let named = with_levels("qos-ulps\ndefault : 7\nend-qos-ulps").unwrap();
    assert_eq!(named.default_level, LevelIx(0));
    let unnamed = "qos-ulps\ndefault : 7\nend-qos-ulps\nqos-match-rules\nqos-match-rule\n\
         qos-level-name: default\nend-qos-match-rule\nend-qos-match-rules\n";
    let problem = read(unnamed).unwrap_err().problem;
    assert_eq!(
        problem,
        Problem::UnknownLevel {
            name: "default".into()
        }
    );
}

#[test]
fn references_have_to_exist() {
    let error = rule("qos-class: 1\nqos-level-name: Nope").unwrap_err();
    assert_eq!(
        error.problem,
        Problem::UnknownLevel {
            name: "Nope".into()
        }
    );
    assert_eq!((error.line(), error.column()), (4, 17));
    let error = rule("destination: Nope\nqos-level-name: L1").unwrap_err();
    assert_eq!(
        error.problem,
        Problem::UnknownGroup {
            name: "Nope".into()
        }
    );
}

#[test]
fn ulps_expand_behind_all_rules() {
    let policy = with_levels(
        "qos-ulps
 sdp : 1
 sdp, port-num 30000, 1-2 : 2
 RDS : 3
 rds, port-num 25000 : 4
 iser : 5
 ISER , port-num 900 : 6
 ipoib : 7
 ipoib, pkey 0x8001 : 8
 any, service-id 0x6234 : 9
 any, pkey 0x0ABC : 10
 any, target-port-guid 0x10-0x20 : 11
 any, source-port-guid 0x1234 : 12
 any, source-target-port-guid 0x5678 : 13
 srp, target-port-guid 0x1234 : 14
end-qos-ulps
qos-match-rules\nqos-match-rule\nqos-level-name: L1\nend-qos-match-rule\nend-qos-match-rules",
    )
    .unwrap();
    assert_eq!(policy.rules[0].origin, RuleOrigin::Written);
    let ulps = &policy.rules[1..];
    let sls = ulps
        .iter()
        .map(|rule| *policy.level(rule.level.value).sl.unwrap());
    assert!(sls.eq(1..=14));
    let ids = |at: usize| {
        ulps[at].fields[Field::ServiceId]
            .as_ref()
            .unwrap()
            .pairs()
            .to_vec()
    };
    assert_eq!(ids(0), [(0x10000, 0x1ffff)]);
    assert_eq!(
        ids(1),
        [(0x10001, 0x10002), (0x10000 + 30000, 0x10000 + 30000)]
    );
    assert_eq!(ids(2), [(0x106_48ca, 0x106_48ca)]);
    assert_eq!(ids(3), [(0x106_0000 + 25000, 0x106_0000 + 25000)]);
    assert_eq!(ids(4), [(0x106_0cbc, 0x106_0cbc)]);
    assert_eq!(ids(5), [(0x106_0000 + 900, 0x106_0000 + 900)]);
    let bases = |at: usize| {
        ulps[at].fields[Field::Pkey]
            .as_ref()
            .unwrap()
            .pairs()
            .to_vec()
    };
    assert_eq!((bases(6), bases(7)), (vec![(0x7fff, 0x7fff)], vec![(1, 1)]));
    assert_eq!(ulps[7].origin, RuleOrigin::Ulp { ipoib: true });
    assert_eq!(bases(9), [(0xabc, 0xabc)]);
    let ends = ulps
        .iter()
        .map(|rule| (rule.source.len(), rule.destination.len()));
    assert_eq!(
        ends.skip(10).collect::<Vec<_>>(),
        [(0, 1), (1, 0), (1, 1), (0, 1)]
    );
}

#[test]
fn ulps_check_service_level_and_port() {
    let ulp = |line| with_levels(&format!("qos-ulps\n{line}\nend-qos-ulps"));
    assert!(ulp("sdp : 16").is_err() && ulp("default: 16").is_err());
    assert!(ulp("sdp, port-num 65535 : 1").is_ok() && ulp("sdp, port-num 65536 : 1").is_err());
    assert!(ulp("any, pkey : 1").is_err() && ulp("sdp, pkey 1 : 1").is_err());
    assert!(ulp("srp : 1").is_err());
}

#[test]
fn generated_groups_have_no_names_for_rules() {
    let ulps = "qos-ulps\nany, target-port-guid 5 : 1\nend-qos-ulps\n";
    let rules = "qos-match-rules\nqos-match-rule\nsource: _ULP_Targets_\nqos-level-name: L1\n\
         end-qos-match-rule\nend-qos-match-rules";
    assert!(with_levels(&format!("{ulps}{rules}")).is_err());
}

#[test]
fn group_selectors_are_kept_in_order() {
    let policy = group(
        "name: g\nport-guid: 0x20-0x10, 5\nport-name: \"h1 HCA-1/P1\", store/p010\n\
         pkey: 0x8001\npartition: A, \"B c\"\nnode-type: ca,Switch , SELF",
    )
    .unwrap();
    let selectors: Vec<&Selector> = policy.groups[0]
        .selectors
        .iter()
        .map(|s| &s.value)
        .collect();
    assert!(matches!(selectors[0], Selector::Guids(g) if g.pairs() == [(5, 5), (0x10, 0x20)]));
    assert!(matches!(selectors[1], Selector::PortName(n) if n.node == "h1 HCA-1" && n.port == 1));
    assert!(matches!(selectors[2], Selector::PortName(n) if n.node == "store" && n.port == 8));
    assert!(matches!(selectors[3], Selector::Pkeys(p) if p.pairs() == [(1, 1)]));
    assert!(matches!(selectors[5], Selector::Partition(n) if n == "B c"));
    let switches = NodeTypes::only(NodeType::Switch);
    assert!(matches!(selectors[7], Selector::NodeTypes(types) if *types == switches));
    assert_eq!(selectors[8], &Selector::SelfPort);
}

#[test]
fn port_names_need_a_slash_and_a_port() {
    for bad in ["h1", "h1/1", "h1/P", "h1/P0", "h1/P08", "h1/X1"] {
        assert!(
            group(&format!("name: g\nport-name: {bad}")).is_err(),
            "{bad}"
        );
    }
    for good in ["h1/P1", "a/b/p2", "/P1", "h1/P1xyz", "h1/P0x2"] {
        assert!(
            group(&format!("name: g\nport-name: {good}")).is_ok(),
            "{good}"
        );
    }
}

#[test]
fn ports_without_group_and_guids_without_port_are_noted() {
    let port = |at: u64, node_type, port_number| PortFacts {
        guid: Guid::new(at).unwrap(),
        node_guid: Guid::new(at).unwrap(),
        node_type,
        description: format!("n{at}"),
        port_number,
        node_ports: 1,
        is_sm: false,
    };
    let ports = [
        port(1, NodeType::Ca, 1),
        port(2, NodeType::Ca, 1),
        port(3, NodeType::Switch, 0),
    ];
    let partitions = Partitions::without_file(&ports);
    let said = |guids: &str| {
        let groups = format!("port-groups\nport-group\nname: g\nport-guid: {guids}\n");
        let policy = with_levels(&format!("{groups}end-port-group\nend-port-groups")).unwrap();
        let notes = fabric_notes(&policy, &ports, &partitions);
        let kinds = notes.iter().map(|note| note.kind.to_string());
        kinds.collect::<Vec<_>>()
    };
    assert_eq!(said("1-3"), [""; 0]);
    assert_eq!(
        said("1, 7-9, 0x99"),
        [
            "no port has the GUID 0x0000000000000099",
            "2 of 3 end ports are in no group: n2/P1, n3"
        ],
        "a range is good for one port"
    );
    let policy = with_levels("").unwrap();
    let notes = fabric_notes(&policy, &ports, &partitions);
    assert!(notes.is_empty(), "nobody asked for groups: {notes:?}");
}

#[test]
fn setup_is_checked_kept_and_noted() {
    let table = "sl2vl-table: 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15";
    let scope = |entries: &str| {
        with_levels(&format!(
            "qos-setup sl2vl-tables sl2vl-scope\n{entries}\nend-sl2vl-scope end-sl2vl-tables \
             end-qos-setup"
        ))
    };
    let policy = scope(&format!("group: nobody\nfrom: *\nto: 1,3-5\n{table}")).unwrap();
    assert_eq!(policy.setup.sl2vl[0].from.pairs(), [(0, 127)]);
    assert_eq!(policy.setup.sl2vl[0].to.pairs(), [(1, 1), (3, 5)]);
    assert!(
        notes(&policy)
            .iter()
            .any(|note| note.kind == NoteKind::SetupWithoutEffect)
    );
    for bad in [
        table.to_owned(),
        "group: x".to_owned(),
        format!("group: x\nfrom: 128\n{table}"),
        format!("group: x\n{table}\n{table}"),
        "group: x\nsl2vl-table: 1,2".to_owned(),
        format!("group: x\n{}", table.replace("15", "16")),
    ] {
        assert!(scope(&bad).is_err(), "{bad}");
    }
    let vlarb = |entries: &str| {
        with_levels(&format!(
            "qos-setup vlarb-tables vlarb-scope\n{entries}\nend-vlarb-scope end-vlarb-tables \
             end-qos-setup"
        ))
    };
    let policy = vlarb("across: x\nvlarb-high: 0:300, 99:7\nvl-high-limit: 1 vl-high-limit: 2");
    let policy = policy.unwrap();
    assert_eq!(policy.setup.vlarb[0].high, [(0, 300), (99, 7)]);
    assert_eq!(policy.setup.vlarb[0].high_limit, Some(2));
    assert!(vlarb("vlarb-high: 0:1").is_err() && vlarb("group: x\nvlarb-high: 5").is_err());
}

#[test]
fn other_dialects_are_named() {
    let xml = read(" \n<qos-policy>\n").unwrap_err();
    assert_eq!(
        xml.problem,
        Problem::UnsupportedDialect {
            dialect: "RFC 0.1 (XML)"
        }
    );
    assert_eq!((xml.line(), xml.column()), (2, 1));
    let text = rule("qos-class: 1\n  qos-level-sn: 3").unwrap_err();
    assert_eq!(
        text.problem,
        Problem::UnsupportedDialect {
            dialect: "RFC 0.2 (text)"
        }
    );
    assert_eq!((text.line(), text.column()), (4, 3));
    assert!(level("name: default\nsl: 1\nuse: see\n# \nuse: qos-level-sn").is_err());
    assert!(level("name: default\nsl: 1\nuse: qos-level-sn").is_ok());
}

#[test]
fn limits_give_errors() {
    let long = "x".repeat(256);
    let error = group(&format!("name: {long}")).unwrap_err();
    assert!(matches!(
        error.problem,
        Problem::TooLong {
            length: 256,
            limit: 255,
            ..
        }
    ));
    assert!(group(&format!("name: {}", &long[1..])).is_ok());
    let rules = "sdp : 1\n".repeat(16_385);
    let error = with_levels(&format!("qos-ulps\n{rules}end-qos-ulps")).unwrap_err();
    assert!(matches!(
        error.problem,
        Problem::TooMany { limit: 16_384, .. }
    ));
    assert_eq!(error.line(), 16_386);
    let huge = format!("#{}\n", " ".repeat(16 << 20));
    assert!(matches!(
        read(&huge).unwrap_err().problem,
        Problem::TooMany { .. }
    ));
    assert_eq!(read("a\nb\0").unwrap_err().line(), 2);
}

#[test]
fn bytes_that_are_no_utf8_stay_apart() {
    assert_eq!(sa_text::decode(b"a\xe9\xe8"), "a\u{e9}\u{e8}");
    assert_eq!(sa_text::decode("a\u{e9}".as_bytes()), "a\u{e9}");
}
