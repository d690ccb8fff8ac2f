//! RFC 0.1, one fact and one sloppy spot at a time.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use policy::model::criterion::Field;
use policy::model::{LevelIx, LevelKey, Origin, Selector};
use policy::{
    Dialect, Error, ParseOptions, Policy, Problem, Query, ServiceIdEncoding, compile, explain,
    interpret, parse_as,
};
use sa_text::Severity;

fn read(text: &str) -> Result<Policy, Error> {
    parse_as(text, None, &ParseOptions::default())
}

fn sections(sections: &str) -> Result<Policy, Error> {
    read(&format!("<qos-policy>{sections}</qos-policy>"))
}

fn level(entries: &str) -> Result<Policy, Error> {
    sections(&format!(
        "<qos-levels><qos-level>{entries}</qos-level></qos-levels>"
    ))
}

fn rules(rules: &str) -> Result<Policy, Error> {
    sections(&format!(
        "<qos-levels><qos-level><sn>5</sn><sl>5</sl></qos-level><qos-level><sn>2</sn></qos-level>\
         </qos-levels><qos-match-rules>{rules}</qos-match-rules>"
    ))
}

fn group(entries: &str) -> Result<Policy, Error> {
    sections(&format!(
        "<port-groups><port-group>{entries}</port-group></port-groups>"
    ))
}

fn setup(tables: &str) -> Result<Policy, Error> {
    sections(&format!(
        "<port-groups><port-group><name>g</name></port-group></port-groups>\
         <qos-setup>{tables}</qos-setup>"
    ))
}

/// Words are leaked, so that tests can name them.
fn told(policy: &Policy) -> Vec<(Severity, &'static str)> {
    let told = policy.diagnostics().into_iter();
    told.map(|d| (d.severity, &*d.message.leak())).collect()
}

fn warns(policy: &Policy, words: &str) {
    let told = told(policy);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0].0, Severity::Warning);
    assert!(told[0].1.contains(words), "{told:?}");
}

#[test]
fn underscores_and_hyphens_are_equal() {
    let policy = sections(
        "<qos_levels><qos-level><sn>1</sn></qos_level></qos-levels><qos_match-rules>\
         </qos-match_rules>",
    );
    warns(&policy.unwrap(), "'_'");
}

#[test]
fn a_wrong_closing_name_closes_an_entry() {
    let policy = level("<sn>1</sn><mtu_limit>1</mtl_limit><sl>2</sl>").unwrap();
    assert_eq!(policy.levels[0].mtu_limit.unwrap().code(), 1);
    assert_eq!(policy.levels[0].sl.unwrap().value, 2);
    let warning = &policy.diagnostics()[1];
    assert_eq!(warning.message, "</mtl_limit> is taken for </mtu-limit>");
    let start = warning.place.unwrap().start;
    assert_eq!((start.line, start.column), (1, 58));
    let error = level("<sn>1</sn><sl>2").unwrap_err();
    assert_eq!(error.message(), "<sl> is not closed");
    assert_eq!((error.line(), error.column()), (1, 46));
}

#[test]
fn an_opening_tag_may_close_its_own_block() {
    let scope = "<sl2vl-scope><group>g</group><sl2vl-table>0</sl2vl-table></sl2vl-scope>";
    let policy = setup(&format!(
        "<sl2vl-tables>{scope}<sl2vl-tables><!-- x --><vlarb-tables></vlarb-tables>"
    ))
    .unwrap();
    assert_eq!(policy.setup.sl2vl.len(), 1);
    assert!(
        told(&policy)
            .iter()
            .any(|told| told.1.contains("taken for </sl2vl-tables>"))
    );
    let error = setup(&format!("<sl2vl-tables>{scope}<sl2vl-tables>{scope}")).unwrap_err();
    assert_eq!(error.message(), "unexpected <sl2vl-tables>");
}

#[test]
fn comments_may_open_with_typographic_dashes() {
    for dash in ["\u{2014}-", "-\u{2013}", "\u{2014}\u{2014}", "\u{97}-"] {
        let policy = sections(&format!("<!{dash} <a> -- \u{201c}b\u{201d} -->")).unwrap();
        warns(&policy, "typographic dash");
    }
    let latin = b"<qos-policy><!\x97- a --><!-- \xe9 --></qos-policy>";
    warns(&read(&sa_text::decode(latin)).unwrap(), "typographic dash");
    assert!(
        sections("<!-- plain --><!---->")
            .unwrap()
            .remarks
            .is_empty()
    );
    let error = sections("\n <!-- open").unwrap_err();
    assert_eq!(
        (error.message().as_str(), error.line(), error.column()),
        ("the comment is not closed", 2, 2)
    );
}

#[test]
fn text_may_hold_what_is_no_tag() {
    let policy = group("<name>a</name><use>7-9 or 11></use>").unwrap();
    assert_eq!(
        policy.groups[0].purpose.as_ref().unwrap().value,
        "7-9 or 11>"
    );
    assert!(policy.remarks.is_empty());
    let policy = group("<name>R & D</name>").unwrap();
    assert_eq!(policy.groups[0].name.value, "R & D");
    warns(&policy, "'&'");
    let policy = group("<name>\u{201c}x\u{201d}</name>").unwrap();
    assert_eq!(policy.groups[0].name.value, "\u{201c}x\u{201d}");
    warns(&policy, "curly quotes");
    let policy = group("<name>a<!-- not b --> b</name>").unwrap();
    assert_eq!(policy.groups[0].name.value, "a b");
    assert!(
        group("<name>a < b</name>")
            .unwrap_err()
            .help()
            .unwrap()
            .contains("&lt;")
    );
}

#[test]
fn blanks_inside_names_are_kept_and_lines_joined() {
    let policy = group("<name>\n  Virtual  Servers\r\n of\n\n mine </name>").unwrap();
    let name = &policy.groups[0].name;
    assert_eq!(name.value, "Virtual  Servers of mine");
    assert_eq!((name.span.start.line, name.span.start.column), (2, 3));
    let policy = group("<name>Virtual\u{a0}Servers</name>").unwrap();
    assert_eq!(policy.groups[0].name.value, "Virtual Servers");
    warns(&policy, "no-break");
}

#[test]
fn entities_are_xmls_own_and_numbers() {
    let policy = group("<name>&lt;a&gt; &amp;amp; &#66;&#x43;&quot;&apos;</name>").unwrap();
    let name = &policy.groups[0].name;
    assert_eq!(name.value, "<a> &amp; BC\"'");
    assert_eq!(
        usize::try_from(name.span.length).unwrap(),
        "&lt;a&gt; &amp;amp; &#66;&#x43;&quot;&apos;".len()
    );
    for bad in ["&nbsp;", "&xxe;", "&#0;", "&#x110000;", "&#;"] {
        let error = group(&format!("<name>a{bad}</name>")).unwrap_err();
        assert!(matches!(error.problem, Problem::Entity { .. }), "{bad}");
        assert_eq!(error.column(), 45, "{bad}");
    }
}

#[test]
fn declarations_are_refused() {
    for (text, column) in [
        ("<!DOCTYPE a [<!ENTITY b \"c\">]><qos-policy/>", 1),
        ("<?xml version='1.0'?> <!doctype a><qos-policy/>", 23),
        (
            "<qos-policy><!ENTITY b SYSTEM 'file:///etc/passwd'></qos-policy>",
            13,
        ),
        ("<qos-policy><![CDATA[x]]></qos-policy>", 13),
        ("<qos-policy><?php x ?></qos-policy>", 13),
        (
            "<qos-policy><qos-levels><qos-level><sn>1<![CDATA[2]]></sn>",
            41,
        ),
    ] {
        let error = read(text).unwrap_err();
        assert!(
            matches!(error.problem, Problem::RefusedMarkup { .. }),
            "{text} {error}"
        );
        assert_eq!((error.line(), error.column()), (1, column), "{text}");
        assert!(error.help().is_some());
    }
}

#[test]
fn short_tables_are_padded() {
    let fifteen = "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14";
    let table = |values: &str| {
        setup(&format!(
            "<sl2vl-tables><sl2vl-scope><group>g</group><to>1</to><sl2vl-table>{values}\
             </sl2vl-table></sl2vl-scope></sl2vl-tables>"
        ))
        .unwrap()
    };
    let policy = table(fifteen);
    assert_eq!(policy.setup.sl2vl[0].table[13..], [13, 14, 0]);
    warns(&policy, "RFC 0.1 leaves open");
    assert!(table(&format!("{fifteen},15")).remarks.is_empty());
    let policy = table(&format!("{fifteen},15,0"));
    assert!(policy.setup.sl2vl.is_empty());
    assert_eq!(told(&policy)[0].0, Severity::Error);
}

#[test]
fn odd_numbers_concern_their_level() {
    let policy = level("<sn>1</sn><sl>16</sl><rate-limit>1</rate-limit><tclass>256</tclass>");
    let policy = policy.unwrap();
    let level = &policy.levels[0];
    assert_eq!(level.sl.unwrap().value, 16);
    assert_eq!((level.rate_limit, level.tclass), (None, None));
    let severities: Vec<Severity> = told(&policy).iter().map(|told| told.0).collect();
    assert_eq!(
        severities,
        [Severity::Error, Severity::Warning, Severity::Error]
    );
}

#[test]
fn service_and_service_id_are_the_same() {
    let policy = rules(
        "<qos-match-rule><service>22,4719</service><service-id>5-6</service-id>\
         <match-level>2</match-level></qos-match-rule>",
    )
    .unwrap();
    let ids = policy.rules[0].fields[Field::ServiceId].as_ref().unwrap();
    assert_eq!(ids.pairs(), [(5, 6), (22, 22), (4719, 4719)]);
    let policy = rules(
        "<qos-match-rule><qos-tclass>1</qos-tclass><tclass>3-2</tclass>\
         <match-level>2</match-level></qos-match-rule>",
    )
    .unwrap();
    assert_eq!(
        policy.rules[0].fields[Field::TClass]
            .as_ref()
            .unwrap()
            .pairs(),
        [(1, 3)]
    );
}

#[test]
fn match_level_is_the_sn_of_a_level() {
    let rule = |sn: &str| {
        rules(&format!(
            "<qos-match-rule><match-level>{sn}</match-level></qos-match-rule>"
        ))
    };
    assert_eq!(rule("5").unwrap().rules[0].level.value, LevelIx(0));
    assert_eq!(rule("2").unwrap().rules[0].level.value, LevelIx(1));
    let error = rule("1").unwrap_err();
    assert_eq!(error.problem, Problem::UnknownSn { sn: 1 });
    let policy = sections(
        "<qos-levels><qos-level><sn>1</sn></qos-level><qos-level><sn>1</sn></qos-level>\
         </qos-levels>",
    )
    .unwrap();
    assert_eq!(told(&policy)[0].0, Severity::Error, "equal numbers");
    assert!(matches!(
        level("<sl>1</sl>").unwrap_err().problem,
        Problem::Missing { what: "sn", .. }
    ));
}

#[test]
fn the_default_level_has_sn_0_or_its_name() {
    let default = |entries: &str| {
        let policy = level(entries).unwrap();
        let level = policy.level(policy.default_level).clone();
        (policy.default_level.0, level.origin)
    };
    assert_eq!(default("<sn>0</sn>"), (0, Origin::Written));
    assert_eq!(
        default("<sn>4</sn><name>Default</name>"),
        (0, Origin::Written)
    );
    assert_eq!(default("<name>default</name>"), (0, Origin::Written));
    assert_eq!(default("<sn>4</sn><name>low</name>"), (1, Origin::BuiltIn));
    let policy = sections(
        "<qos-levels><qos-level><sn>3</sn><name>default</name></qos-level><qos-level><sn>0</sn>\
         </qos-level></qos-levels>",
    )
    .unwrap();
    assert_eq!(policy.default_level, LevelIx(1));
    warns(&policy, "sn 0");
    assert_eq!(
        policy.levels[0].key.value,
        LevelKey::Sn {
            sn: 3,
            name: Some("default".into())
        }
    );
}

#[test]
fn rules_go_by_their_order_in_the_file() {
    let rule = |sn: u32| {
        format!("<qos-match-rule><sn>{sn}</sn><match-level>2</match-level></qos-match-rule>")
    };
    assert!(rules(&(rule(1) + &rule(2))).unwrap().remarks.is_empty());
    warns(&rules(&(rule(2) + &rule(1))).unwrap(), "order in the file");
    warns(&rules(&(rule(2) + &rule(2))).unwrap(), "order in the file");
}

#[test]
fn attributes_and_empty_elements_are_passed_over() {
    let policy = group("<name lang=\"a>b\">g</name><use/><port-guid>1</port-guid >").unwrap();
    assert_eq!(
        (
            policy.groups[0].name.value.as_str(),
            &policy.groups[0].purpose
        ),
        ("g", &None)
    );
    warns(&policy, "attributes");
    let empty = read("<qos-policy/>").unwrap();
    assert_eq!(empty.levels[0].origin, Origin::BuiltIn);
    assert!(sections("<port-groups/><qos-levels></qos-levels>").is_ok());
}

#[test]
fn port_names_may_hold_commas() {
    let policy = group("<name>g</name><port-name>a, b/P1</port-name>").unwrap();
    let selector = &policy.groups[0].selectors[0].value;
    assert!(matches!(selector, Selector::PortName(name) if name.node == "a, b"));
}

/// Line, column, and a word of the advice or expectation.
#[test]
fn errors_point_and_advise() {
    for (text, place, words) in [
        ("<qos-policy>", (1, 1), "</qos-policy>"),
        ("<?xml version='1.0'", (1, 1), "?>"),
        ("<policy></policy>", (1, 1), "<qos-policy>"),
        (
            "<qos-policy>\n text</qos-policy>",
            (2, 2),
            "elements of their own",
        ),
        (
            "<qos-policy><qos-levels>\n</qos-policy>",
            (2, 1),
            "</qos-levels>",
        ),
        (
            "<qos-policy></qos-policy>\n<a>",
            (2, 1),
            "the end of the file",
        ),
        ("<qos-policy><QOS-LEVELS>", (1, 13), "lower case"),
        ("<qos-policy><sl>3</sl>", (1, 13), "does not belong"),
        (
            "<qos-policy><qos-levels><qos-level><packet-life>3<",
            (1, 36),
            "RFC 0.2",
        ),
        (
            "<qos-policy><qos-levels><qos-level><pkey>3<",
            (1, 36),
            "OpenSM",
        ),
        (
            "<qos-policy><qos-levels><qos-level><foo>3<",
            (1, 36),
            "no such element",
        ),
        (
            "<qos-policy><qos-levels><qos-level><sl>x</sl></qos-level>",
            (1, 40),
            "",
        ),
        (
            "<qos-policy><qos-levels><qos-level><sl 3</sl>",
            (1, 36),
            "'>'",
        ),
        ("<qos-policy><>", (1, 13), "name of an element"),
        (
            "<qos-policy><qos-levels><qos-level><sl>3<sn>",
            (1, 36),
            "</sl>",
        ),
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
    let text = "<qos-policy><qos-levels><qos-level>\n<sn>1</sn><sl>a &amp; b</sl></qos-level>\
        </qos-levels></qos-policy>";
    let error = read(text).unwrap_err();
    assert_eq!(
        (error.line(), error.column(), error.span.length),
        (2, 15, 9)
    );
}

#[test]
fn requests_have_to_name_ends_where_the_rfc_is_taken_at_its_word() {
    let options = ParseOptions {
        endpoint_mask_required: Some(true),
        ..ParseOptions::default()
    };
    let text = "<qos-policy><port-groups><port-group><name>g</name><node-type>ALL</node-type>\
        </port-group></port-groups><qos-levels><qos-level><sn>1</sn></qos-level></qos-levels>\
        <qos-match-rules><qos-match-rule><destination>g</destination><match-level>1</match-level>\
        </qos-match-rule></qos-match-rules></qos-policy>";
    let strict = parse_as(text, None, &options).unwrap();
    let as_opensm = read(text).unwrap();
    let ports = [policy::PortFacts {
        guid: sa_wire::Guid::new(1).unwrap(),
        node_guid: sa_wire::Guid::new(1).unwrap(),
        node_type: sa_wire::NodeType::Ca,
        description: "a".into(),
        port_number: 1,
        node_ports: 1,
        is_sm: true,
    }];
    let partitions = policy::Partitions::without_file(&ports);
    for (policy, named, holds) in [
        (&strict, false, false),
        (&strict, true, true),
        (&as_opensm, false, true),
    ] {
        let query = Query {
            destination_named: named,
            ..Query::default()
        };
        let chosen = interpret(policy, &ports, &partitions, &query);
        assert_eq!(chosen.rule.is_some(), holds);
        let why = explain(policy, &ports, &partitions, &query);
        assert_eq!(why.chosen, chosen);
        if !holds {
            assert_eq!(
                why.missed[0].to_string(),
                "the request names no destination"
            );
        }
    }
}

#[test]
fn service_ids_may_be_looked_for_in_two_other_ways() {
    let partitions = policy::Partitions::without_file(&[]);
    let semantics = |encoding| {
        let options = ParseOptions {
            service_id_encoding: Some(encoding),
            ..ParseOptions::default()
        };
        let policy = parse_as("<qos-policy/>", Some(Dialect::Rfc01Xml), &options).unwrap();
        let semantics = compile(&policy, &[], &partitions).unwrap().semantics;
        (semantics.service_id_in_key, semantics.legacy_service_id)
    };
    assert_eq!(semantics(ServiceIdEncoding::Standard), (false, false));
    assert_eq!(semantics(ServiceIdEncoding::LegacyA), (true, false));
    assert_eq!(semantics(ServiceIdEncoding::LegacyB), (false, true));
}

#[test]
fn elements_are_limited() {
    let many = "<qos-levels/>".repeat((1 << 20) + 1);
    let text = format!("<qos-policy>{many}");
    assert!(matches!(
        read(&text).unwrap_err().problem,
        Problem::TooMany {
            what: "elements",
            ..
        }
    ));
    let deep = "<port-groups>".repeat(1000);
    assert!(read(&format!("<qos-policy>{deep}")).is_err());
}
