//! RFC 0.2, one fact at a time.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use policy::model::criterion::Field;
use policy::model::{LevelIx, LevelKey, NodeTypes, Origin, Selector, Skipped};
use policy::{Dialect, Echo, Error, ParseOptions, Policy, Problem, ScopePrecedence, parse_as};
use sa_text::Severity;
use sa_wire::NodeType;

fn read(text: &str) -> Result<Policy, Error> {
    parse_as(text, Some(Dialect::Rfc02Text), &ParseOptions::default())
}

const LEVELS: &str = "qos-levels\nqos-level\nsl: 1\nend-qos-level\nqos-level\nname: two\nsl: 2\n\
    end-qos-level\nend-qos-levels\n";

fn rule(entries: &str) -> Result<Policy, Error> {
    read(&format!(
        "{LEVELS}qos-match-rules\nqos-match-rule\n{entries}\nend-qos-match-rule\n\
         end-qos-match-rules\n"
    ))
}

fn level(entries: &str) -> Policy {
    read(&format!(
        "qos-levels\nqos-level\n{entries}\nend-qos-level\nend-qos-levels"
    ))
    .unwrap()
}

fn group(entries: &str) -> Result<Policy, Error> {
    read(&format!(
        "port-groups\nport-group\n{entries}\nend-port-group\nend-port-groups\n"
    ))
}

fn setup(tables: &str, scope: &str, entries: &str) -> Policy {
    read(&format!(
        "port-groups\nport-group\nname: g\npartition: Part1\nend-port-group\nend-port-groups\n\
         qos-setup\n{tables}\n{scope}\n{entries}\nend-{scope}\nend-{tables}\nend-qos-setup\n"
    ))
    .unwrap()
}

/// Words are leaked, so that tests can name them.
fn told(policy: &Policy) -> Vec<(Severity, u32, u32, &'static str)> {
    let told = policy.diagnostics().into_iter();
    told.map(|d| {
        (
            d.severity,
            d.place.unwrap().start.line,
            d.place.unwrap().start.column,
            &*d.message.leak(),
        )
    })
    .collect()
}

#[test]
fn an_empty_file_is_a_policy_with_a_built_in_default() {
    let policy = read("").unwrap();
    assert_eq!(policy.default_level, LevelIx(0));
    let level = &policy.levels[0];
    assert_eq!(
        (level.origin, level.sl, level.mtu_limit),
        (Origin::BuiltIn, None, None)
    );
    assert_eq!(level.title(), "built-in default");
    let named = level_named("Default");
    assert_eq!(named.level(named.default_level).origin, Origin::Written);
}

fn level_named(name: &str) -> Policy {
    level(&format!("name: {name}\nsl: 3"))
}

#[test]
fn levels_go_by_position_or_name() {
    for (reference, at) in [
        ("qos-level-sn: 1", 0),
        ("qos-level-sn: 2", 1),
        ("qos-level-name: TWO", 1),
        ("qos-level-name: \"two\"", 1),
    ] {
        let policy = rule(reference).unwrap();
        assert_eq!(policy.rules[0].level.value, LevelIx(at), "{reference}");
    }
    let policy = rule("qos-level-sn: 1").unwrap();
    assert_eq!(policy.levels[0].key.value, LevelKey::Position(1));
    assert_eq!(policy.levels[1].key.value, LevelKey::Name("two".into()));
    for dangling in ["qos-level-sn: 0", "qos-level-sn: 3"] {
        let error = rule(dangling).unwrap_err();
        assert!(matches!(
            error.problem,
            Problem::UnknownPosition { levels: 2, .. }
        ));
        assert_eq!((error.line(), error.column()), (12, 15));
    }
    assert!(matches!(
        rule("qos-level-name: three").unwrap_err().problem,
        Problem::UnknownLevel { .. }
    ));
}

#[test]
fn of_equal_names_the_first_counts() {
    let level = "qos-level\nname: a\nend-qos-level\n";
    let policy = read(&format!(
        "qos-levels\n{level}{level}end-qos-levels\nqos-match-rules\nqos-match-rule\n\
         qos-level-name: A\nend-qos-match-rule\nqos-match-rule\nqos-level-sn: 2\n\
         end-qos-match-rule\nend-qos-match-rules\n"
    ))
    .unwrap();
    let levels = policy.rules.iter().map(|rule| rule.level.0);
    assert!(levels.eq([0, 1]));
    assert_eq!(
        (told(&policy)[0].0, told(&policy)[0].1),
        (Severity::Warning, 6)
    );
    assert!(policy::lint::notes::notes(&policy).is_empty());
}

#[test]
fn rules_have_one_level() {
    assert!(matches!(
        rule("qos-class: 1").unwrap_err().problem,
        Problem::Missing {
            what: "qos-level-sn",
            ..
        }
    ));
    assert!(matches!(
        rule("qos-level-sn: 1\nqos-level-name: two")
            .unwrap_err()
            .problem,
        Problem::Repeated { .. }
    ));
    assert!(matches!(
        rule("qos-level-sn: 1\nqos-level-sn: 1")
            .unwrap_err()
            .problem,
        Problem::Repeated {
            keyword: "qos-level-sn",
            ..
        }
    ));
}

#[test]
fn sections_may_come_in_any_order_and_repeat() {
    let policy = read(&format!(
        "{LEVELS}port-groups\nend-port-groups\n{LEVELS}qos-match-rules\nqos-match-rule\n\
         qos-level-sn: 4\nend-qos-match-rule\nend-qos-match-rules\n"
    ))
    .unwrap();
    assert_eq!(policy.rules[0].level.value, LevelIx(3));
    assert_eq!(policy.levels[2].key.value, LevelKey::Position(3));
}

#[test]
fn comments_stand_on_their_own_lines() {
    let policy = level("# comment\n  # another\nuse: a # b\nsl: 3 # c");
    assert_eq!(policy.levels[0].purpose.as_ref().unwrap().value, "a # b");
    assert_eq!(policy.levels[0].sl.unwrap().value, 3);
    assert_eq!(told(&policy).len(), 1);
    assert_eq!((told(&policy)[0].1, told(&policy)[0].2), (6, 7));
    let policy = group("name: a#b # c").unwrap();
    assert_eq!(policy.groups[0].name.value, "a#b");
    let policy = group("name: \"a #b\"").unwrap();
    assert_eq!(policy.groups[0].name.value, "a #b");
    assert!(read("# no newline at the end").is_ok());
}

#[test]
fn line_ends_and_marks_do_not_matter() {
    let policy = read(&format!("\u{feff}{}", LEVELS.replace('\n', "\r\n"))).unwrap();
    assert_eq!(policy.levels.len(), 3);
    assert!(policy.remarks.is_empty());
}

#[test]
fn blanks_inside_names_are_kept() {
    let policy = group("  name :  Virtual  Servers\t").unwrap();
    assert_eq!(policy.groups[0].name.value, "Virtual  Servers");
    let span = policy.groups[0].name.span;
    assert_eq!(
        (span.start.line, span.start.column, span.length),
        (3, 11, 16)
    );
    let policy = group("name: Virtual\u{a0}Servers").unwrap();
    assert_eq!(policy.groups[0].name.value, "Virtual Servers");
    assert!(told(&policy)[0].3.contains("no-break"));
}

#[test]
fn groups_take_what_all_dialects_have() {
    let policy = group(
        "name: g\nuse: it\nport-guid: 0x1, 5-7\nport-name: vs1/HCA-1/P1\nport-name: \"a, b/p2\"\n\
         partition: Part 1\nnode-type: HCA, router\nnode-type: SELF",
    )
    .unwrap();
    let selectors: Vec<&Selector> = policy.groups[0]
        .selectors
        .iter()
        .map(|s| &s.value)
        .collect();
    assert!(matches!(selectors[0], Selector::Guids(g) if g.pairs() == [(1, 1), (5, 7)]));
    assert!(matches!(selectors[1], Selector::PortName(n) if n.words() == Some(("vs1", "HCA-1"))));
    assert!(matches!(selectors[2], Selector::PortName(n) if n.words().is_none() && n.port == 2));
    assert!(matches!(selectors[3], Selector::Partition(p) if p == "Part 1"));
    let ca = NodeTypes::only(NodeType::Ca);
    assert_eq!(selectors[4], &Selector::NodeTypes(ca));
    assert_eq!(selectors[6], &Selector::SelfPort);
    assert!(matches!(
        group("use: x").unwrap_err().problem,
        Problem::Missing { .. }
    ));
    for bad in ["h1", "h1/1", "h1/P", "h1/P1x", "h1/P-1"] {
        let error = group(&format!("name: g\nport-name: {bad}")).unwrap_err();
        assert!(
            matches!(error.problem, Problem::PortNameForm { .. }),
            "{bad}"
        );
    }
    for bad in ["h1/P0", "h1/P99999999999"] {
        let error = group(&format!("name: g\nport-name: {bad}")).unwrap_err();
        assert!(
            matches!(error.problem, Problem::PortNameNumber { .. }),
            "{bad}"
        );
    }
}

#[test]
fn numbers_outside_their_range_concern_their_level() {
    let policy =
        level("sl: 16\nmtu-limit: 6\nrate-limit: 99\npacket-life: 64\npath-bits: 4,130\nuse: odd");
    let level = &policy.levels[0];
    assert_eq!(level.sl.unwrap().value, 16);
    assert_eq!(
        (level.mtu_limit, level.rate_limit, level.packet_life),
        (None, None, None)
    );
    assert_eq!(
        level.path_bits.as_ref().unwrap().pairs(),
        [(4, 4), (130, 130)]
    );
    let errors = told(&policy);
    assert_eq!(errors.len(), 5);
    assert!(
        errors
            .iter()
            .all(|(severity, ..)| *severity == Severity::Error)
    );
    assert_eq!((errors[0].1, errors[0].2), (3, 5));
    assert_eq!(level_sl("sl: 256"), Some(255), "never wraps around");
    let policy = self::level("rate-limit: 1");
    assert_eq!(
        told(&policy)[0].0,
        Severity::Warning,
        "the RFC's own example"
    );
    let newer = ParseOptions {
        max_rate_code: 24,
        ..ParseOptions::default()
    };
    let text = "qos-levels\nqos-level\nrate-limit: 24\nend-qos-level\nend-qos-levels";
    let policy = parse_as(text, None, &newer).unwrap();
    assert_eq!(
        (policy.dialect, policy.remarks.len()),
        (Dialect::Rfc02Text, 0)
    );
}

fn level_sl(entries: &str) -> Option<u8> {
    level(entries).levels[0].sl.map(|sl| sl.value)
}

#[test]
fn numbers_are_not_octal() {
    let policy = rule("qos-class: 010, 30-20\nservice-id: 0X1F\nqos-level-sn: 01").unwrap();
    let rule = &policy.rules[0];
    assert_eq!(
        rule.fields[Field::QosClass].as_ref().unwrap().pairs(),
        [(10, 10), (20, 30)]
    );
    assert_eq!(
        rule.fields[Field::ServiceId].as_ref().unwrap().pairs(),
        [(31, 31)]
    );
    let warnings: Vec<_> = told(&policy).iter().map(|told| (told.1, told.2)).collect();
    assert_eq!(warnings, [(12, 12), (12, 17), (14, 15)]);
}

#[test]
fn classes_that_no_request_names_are_errors() {
    let policy = rule("qos-class: 7, 4096\nqos-level-sn: 1").unwrap();
    assert_eq!(told(&policy)[0].0, Severity::Error);
    let over = rule("service-id: 99999999999999999999\nqos-level-sn: 1").unwrap();
    let ids = over.rules[0].fields[Field::ServiceId].as_ref().unwrap();
    assert_eq!(ids.pairs(), [(u64::MAX, u64::MAX)]);
    assert_eq!(told(&over)[0].0, Severity::Error);
}

#[test]
fn tables_are_padded_and_scopes_skipped() {
    let table = |entries: &str| setup("sl2vl-tables", "sl2vl-scope", entries);
    let policy = table("group: G\nfrom: 1-3\nsl2vl-table: 1,2,3");
    let scope = &policy.setup.sl2vl[0];
    assert_eq!(
        (scope.table[2], scope.table[3], scope.skipped),
        (3, 0, None)
    );
    assert_eq!(told(&policy)[0].0, Severity::Warning);
    let every = "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15";
    for (entries, kept) in [
        (format!("group: g\nsl2vl-table: {every},1"), None),
        (
            format!("group: g\nsl2vl-table: {}", every.replace("15", "16")),
            None,
        ),
        (format!("sl2vl-table: {every}"), None),
        ("group: g".to_owned(), None),
        (
            format!("group: g\nfrom: 255\nsl2vl-table: {every}"),
            Some(Skipped::OutOfRange),
        ),
        (
            format!("across-to: x\nsl2vl-table: {every}"),
            Some(Skipped::UnknownGroup),
        ),
    ] {
        let policy = table(&entries);
        let scope = policy.setup.sl2vl.first();
        assert_eq!(
            scope.map(|scope| scope.skipped),
            kept.map(Some),
            "{entries}"
        );
        assert_eq!(told(&policy)[0].0, Severity::Error, "{entries}");
    }
    let policy = table(&format!("group: Part1\nsl2vl-table: {every}"));
    let hint = policy.remarks[0].value.remedy().unwrap();
    assert!(hint.contains("'g'"), "{hint}");
    let vlarb = |entries: &str| setup("vlarb-tables", "vlarb-scope", entries);
    let policy = vlarb("group: g\nacross: g\nvlarb-high: 0:1, 1:2\nvlarb-low: 14:255");
    assert_eq!(policy.setup.vlarb[0].high, [(0, 1), (1, 2)]);
    assert!(policy.remarks.is_empty());
    for bad in ["vlarb-high: 15:1", "vlarb-low: 0:256", "vl-high-limit: 256"] {
        let policy = vlarb(&format!("group: g\n{bad}"));
        assert_eq!(
            policy.setup.vlarb[0].skipped,
            Some(Skipped::OutOfRange),
            "{bad}"
        );
    }
}

#[test]
fn partitions_may_stand_for_groups() {
    let text = "qos-levels\nqos-level\nend-qos-level\nend-qos-levels\nqos-match-rules\n\
        qos-match-rule\nsource: Part1\nqos-level-sn: 1\nend-qos-match-rule\nend-qos-match-rules\n\
        qos-setup\nvlarb-tables\nvlarb-scope\ngroup: Part2\nend-vlarb-scope\nend-vlarb-tables\n\
        end-qos-setup\n";
    assert!(matches!(
        read(text).unwrap_err().problem,
        Problem::UnknownGroup { .. }
    ));
    let options = ParseOptions {
        partitions_as_groups: true,
        ..ParseOptions::default()
    };
    let policy = parse_as(text, None, &options).unwrap();
    let names: Vec<&str> = policy
        .groups
        .iter()
        .map(|g| g.name.value.as_str())
        .collect();
    assert_eq!(names, ["Part1", "Part2"]);
    assert!(
        policy
            .groups
            .iter()
            .all(|group| group.origin == Origin::BuiltIn)
    );
    assert_eq!(policy.setup.vlarb[0].skipped, None);
}

#[test]
fn options_change_what_is_meant() {
    let options = ParseOptions {
        endpoint_mask_required: Some(true),
        scope_precedence: Some(ScopePrecedence::Last),
        echo: Some(Echo::None),
        ..ParseOptions::default()
    };
    let policy = parse_as(LEVELS, Some(Dialect::Rfc02Text), &options).unwrap();
    assert!(policy.semantics.endpoint_mask_required);
    assert_eq!(policy.semantics.scope_precedence, ScopePrecedence::Last);
    assert_eq!(policy.semantics.echo, Echo::None);
}

/// Line, column, and a word of the advice or expectation.
#[test]
fn errors_point_and_advise() {
    for (text, place, words) in [
        ("qos-level\n", (1, 1), "a section"),
        ("port-groups\n  port-group\n", (2, 3), "end-port-group"),
        ("qos-levels\nqos-level\nsl 3\n", (3, 1), "colon"),
        ("qos-levels\nqos-level\nSL: 3\n", (3, 1), "lower case"),
        ("qos-levels\nqos-level:\n", (2, 1), "without colon"),
        ("qos-levels\nqos-level\nsl: \n", (3, 4), "a number"),
        ("qos-levels\nqos-level\nsl: x1\n", (3, 5), "a number"),
        ("qos-levels\nqos-level\nsl: 1 2\n", (3, 5), "a number"),
        ("qos-levels\nqos-level\nsl: -1\n", (3, 5), "a number"),
        ("qos-levels\nqos-level\npath-bits: 1,\n", (3, 14), "range"),
        (
            "qos-levels\nqos-level\npath-bits: 1-2-3\n",
            (3, 12),
            "range",
        ),
        ("qos-levels\nqos-level\npkey: 1\n", (3, 1), "OpenSM"),
        ("qos-levels\nqos-level\nsn: 1\n", (3, 1), "by their order"),
        ("qos-levels\nqos-level\ntclass: 1\n", (3, 1), "qos-class"),
        (
            "qos-levels\nend-qos-level\n",
            (2, 1),
            "end 'qos-levels' first",
        ),
        ("qos-ulps\n", (1, 1), "OpenSM"),
        ("port-groups\nport-group\nname:\n", (3, 6), "a name"),
        ("port-groups\nport-group\nname: a\nname: b\n", (4, 1), ""),
        (
            "port-groups\nport-group\nnode-type: HUB\n",
            (3, 12),
            "ROUTER",
        ),
        (
            "port-groups\nport-group\npartition: a, ,b\n",
            (3, 15),
            "names with commas",
        ),
        (
            "port-groups\nport-group\npartition: \"a\n",
            (3, 12),
            "quote",
        ),
        (
            "port-groups\nport-group\npartition: \"a\" b\n",
            (3, 16),
            "behind the quote",
        ),
        (
            "qos-setup\nvlarb-tables\nvlarb-scope\nvlarb-low: 1\n",
            (4, 12),
            "VL:weight",
        ),
        (
            "qos-setup\nvlarb-tables\nvlarb-scope\nto: 1\n",
            (4, 1),
            "vl-high-limit",
        ),
        ("<qos-policy>", (1, 1), "a section"),
    ] {
        let error = read(text).unwrap_err();
        assert_eq!((error.line(), error.column()), place, "{text:?} {error}");
        let said = format!(
            "{} {} {}",
            error.message(),
            error.expected().unwrap_or_default(),
            error.help().unwrap_or_default()
        );
        assert!(said.contains(words), "{text:?}: {said}");
    }
}

#[test]
fn limits_give_errors() {
    let long = "x".repeat(256);
    assert!(matches!(
        group(&format!("name: {long}")).unwrap_err().problem,
        Problem::TooLong { length: 256, .. }
    ));
    assert!(matches!(
        group(&format!("name: g\nuse: {}", long.repeat(40)))
            .unwrap_err()
            .problem,
        Problem::TooLong { .. }
    ));
    let rules = "qos-match-rule\nqos-level-sn: 1\nend-qos-match-rule\n".repeat(16_385);
    let text = format!("{LEVELS}qos-match-rules\n{rules}end-qos-match-rules\n");
    assert!(matches!(
        read(&text).unwrap_err().problem,
        Problem::TooMany { what: "rules", .. }
    ));
    assert_eq!(read("a\nb\0").unwrap_err().line(), 2);
    let open = "port-guid: 1\n".repeat(1 << 20);
    let text = format!("port-groups\nport-group\n{open}");
    assert!(matches!(
        read(&text).unwrap_err().problem,
        Problem::TooMany {
            what: "statements",
            ..
        }
    ));
}
