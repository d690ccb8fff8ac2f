//! For every check without a fabric: a policy that it fires on, and one close by that it does not.

use policy::lint::{LintId, id_of_error, lint};
use policy::{Dialect, ParseOptions, parse_as};
use sa_text::Severity;

use super::support::ids;

/// A policy that is wrong in one way, and what mends it.
struct Case {
    id: &'static str,
    dialect: Dialect,
    text: &'static str,
    /// This part of the text is wrong; that is right.
    mend: [&'static str; 2],
}

const fn opensm(id: &'static str, text: &'static str, mend: [&'static str; 2]) -> Case {
    Case {
        id,
        dialect: Dialect::OpenSm,
        text,
        mend,
    }
}

const fn rfc(id: &'static str, text: &'static str, mend: [&'static str; 2]) -> Case {
    Case {
        id,
        dialect: Dialect::Rfc02Text,
        text,
        mend,
    }
}

const LEVELS: &str = "qos-levels\nqos-level\nname: default\nsl: 0\nend-qos-level\n\
                      qos-level\nname: a\nsl: 1\nend-qos-level\nend-qos-levels\n";
const LAST_RULE: &str = "qos-match-rules\nqos-match-rule\nqos-class: 99\nqos-level-name: a\n\
                         end-qos-match-rule\nend-qos-match-rules\n";

/// `LEVELS` stands before each text, `LAST_RULE` behind it; in RFC 0.2 neither.
const CASES: &[Case] = &[
    opensm(
        "L02",
        "qos-levels\nqos-level\nname: x\nsl: 16\nend-qos-level\nend-qos-levels\n",
        ["sl: 16", "sl: 15"],
    ),
    opensm(
        "L02",
        "qos-levels\nqos-level\nname: x\nsl: 256\nend-qos-level\nend-qos-levels\n",
        ["sl: 256", "sl: 0"],
    ),
    opensm(
        "L02",
        "qos-levels\nqos-level\nname: x\nsl: 1\npacket-life: 64\nend-qos-level\nend-qos-levels\n",
        ["life: 64", "life: 63"],
    ),
    opensm(
        "L02",
        "qos-levels\nqos-level\nname: x\nsl: 1\npacket-life: 300\nend-qos-level\nend-qos-levels\n",
        ["life: 300", "life: 44"],
    ),
    opensm(
        "L02",
        "qos-match-rules\nqos-match-rule\nqos-class: 7,5000\nqos-level-name: a\n\
         end-qos-match-rule\nend-qos-match-rules\n",
        ["7,5000", "7,4095"],
    ),
    opensm(
        "L02",
        "qos-match-rules\nqos-match-rule\npkey: 0x7000-0x8123\nqos-level-name: a\n\
         end-qos-match-rule\nend-qos-match-rules\n",
        ["0x7000-0x8123", "0x9000-0x9123"],
    ),
    opensm(
        "L02",
        "qos-setup\nvlarb-tables\nvlarb-scope\ngroup: G\nvlarb-high: 15:1\nend-vlarb-scope\n\
         end-vlarb-tables\nend-qos-setup\n\
         port-groups\nport-group\nname: G\nport-guid: 1\nend-port-group\nend-port-groups\n",
        ["15:1", "14:1"],
    ),
    opensm(
        "L10",
        "qos-match-rules\nqos-match-rule\nservice-id: 1-9\nqos-level-name: a\nend-qos-match-rule\n\
         qos-match-rule\nservice-id: 5\nqos-class: 1\nqos-level-name: default\n\
         end-qos-match-rule\nend-qos-match-rules\n",
        ["service-id: 5", "service-id: 10"],
    ),
    opensm(
        "L10",
        "qos-match-rules\nqos-match-rule\nqos-class: 0-7\nqos-level-name: a\nend-qos-match-rule\n\
         qos-match-rule\nqos-class: 8-15\nqos-level-name: default\nend-qos-match-rule\n\
         qos-match-rule\nqos-class: 4-12\nqos-level-name: a\nend-qos-match-rule\n\
         end-qos-match-rules\n",
        ["4-12", "4-16"],
    ),
    opensm(
        "L10",
        "qos-ulps\nsdp : 3\nany, service-id 0x10007 : 4\nend-qos-ulps\n",
        ["0x10007", "0x20007,0x10007"],
    ),
    opensm(
        "L11",
        "qos-levels\nqos-level\nname: x\nsl: 1\nend-qos-level\nend-qos-levels\n\
         qos-match-rules\nqos-match-rule\nqos-class: 1\nqos-level-name: a\nend-qos-match-rule\n\
         end-qos-match-rules\n",
        ["class: 1\nqos-level-name: a", "class: 1\nqos-level-name: x"],
    ),
    opensm(
        "L11",
        "qos-levels\nqos-level\nname: A\nsl: 1\nend-qos-level\nend-qos-levels\n\
         qos-match-rules\nqos-match-rule\nqos-class: 1\nqos-level-name: b\nend-qos-match-rule\n\
         end-qos-match-rules\nqos-levels\nqos-level\nname: b\nsl: 1\nend-qos-level\n\
         end-qos-levels\n",
        [
            "qos-levels\nqos-level\nname: A\nsl: 1\nend-qos-level\nend-qos-levels\n",
            "",
        ],
    ),
    opensm(
        "L12",
        "qos-match-rules\nqos-match-rule\nqos-class: 4096-5000\nqos-level-name: a\n\
         end-qos-match-rule\nend-qos-match-rules\n",
        ["4096", "4095"],
    ),
    opensm(
        "L12",
        "port-groups\nport-group\nname: G\nend-port-group\nend-port-groups\n\
         qos-match-rules\nqos-match-rule\nsource: G\nqos-level-name: a\nend-qos-match-rule\n\
         end-qos-match-rules\n",
        ["name: G\n", "name: G\nport-guid: 1\n"],
    ),
    opensm(
        "L13",
        "qos-match-rules\nqos-match-rule\nservice-id: 0x10648ca\npkey: 1\nqos-level-name: a\n\
         end-qos-match-rule\nend-qos-match-rules\n",
        ["pkey: 1\n", ""],
    ),
    opensm(
        "L13",
        "qos-match-rules\nqos-match-rule\nservice-id: 0x20000-0x2ffff\nqos-level-name: a\n\
         end-qos-match-rule\nend-qos-match-rules\n",
        ["0x2ffff", "0x30000"],
    ),
    opensm(
        "L14",
        "qos-match-rules\nqos-match-rule\nservice-id: 4420\nqos-level-name: a\n\
         end-qos-match-rule\nend-qos-match-rules\n",
        ["4420", "0x1061144"],
    ),
    opensm(
        "L20",
        "port-groups\nport-group\nname: G\nend-port-group\nend-port-groups\n",
        ["name: G\n", "name: G\nnode-type: CA\n"],
    ),
    opensm(
        "L20",
        "port-groups\nport-group\nname: G\nport-guid: 1\nend-port-group\n\
         port-group\nname: g\nport-guid: 2\nend-port-group\nend-port-groups\n",
        ["name: g\n", "name: h\n"],
    ),
    opensm(
        "L20",
        "port-groups\nport-group\nname: G\nport-name: vs1 HCA-1/P1\nend-port-group\n\
         end-port-groups\n",
        ["vs1 HCA-1/P1", "\"vs1 HCA-1/P1\""],
    ),
    opensm(
        "L33",
        "port-groups\nport-group\nname: G\nport-guid: 1\nend-port-group\nend-port-groups\n\
         qos-setup\nvlarb-tables\nvlarb-scope\ngroup: G\nvlarb-high: 0:8\nvlarb-low: 1:0\n\
         end-vlarb-scope\nend-vlarb-tables\nend-qos-setup\n",
        ["1:0", "1:1"],
    ),
    opensm(
        "L33",
        "port-groups\nport-group\nname: G\nport-guid: 1\nend-port-group\nend-port-groups\n\
         qos-setup\nvlarb-tables\nvlarb-scope\ngroup: G\nvlarb-high: 0:8\nvlarb-low: 1:8\n\
         vl-high-limit: 255\nend-vlarb-scope\nend-vlarb-tables\nend-qos-setup\n",
        ["limit: 255", "limit: 254"],
    ),
    opensm(
        "L33",
        "port-groups\nport-group\nname: G\nport-guid: 1\nend-port-group\nend-port-groups\n\
         qos-setup\nvlarb-tables\nvlarb-scope\ngroup: G\nvlarb-high: 0:255\nvlarb-low: 1:8\n\
         vl-high-limit: 10\nend-vlarb-scope\nend-vlarb-tables\nend-qos-setup\n",
        ["1:8", "1:64"],
    ),
    opensm(
        "L41",
        "qos-levels\nqos-level\nname: default\nsl: 1\npath-bits: 128\nend-qos-level\n\
         end-qos-levels\n",
        ["128", "127"],
    ),
    opensm(
        "L60",
        "qos-levels\nqos-level\nname: default\nsl: 1\npath-bits: 1\nend-qos-level\n\
         end-qos-levels\n",
        ["path-bits: 1\n", ""],
    ),
    opensm(
        "L60",
        "qos-setup\nend-qos-setup\n",
        ["qos-setup\nend-qos-setup\n", ""],
    ),
    opensm(
        "L60",
        "qos-levels\nqos-level\nname: default\nsl: 1\nrate-limit: 23\nend-qos-level\n\
         end-qos-levels\n",
        ["limit: 23", "limit: 22"],
    ),
    opensm(
        "L61",
        "port-groups\nport-group\nname: G\nport-guid: 0-0x100000\nend-port-group\n\
         end-port-groups\n",
        ["0-0x100000", "1-0x100000"],
    ),
    opensm(
        "L62",
        "qos-match-rules\nqos-match-rule\nuse: 010\nservice-id: 0x0,\n  010 # 012\n\
         qos-level-name: a\nend-qos-match-rule\nend-qos-match-rules\n\
         port-groups\nport-group\nname: 007\nport-name: n01/P01\nport-guid: 1\n\
         end-port-group\nend-port-groups\n",
        ["  010", "  10"],
    ),
    opensm(
        "L62",
        "qos-ulps\nany, service-id 0x10-0020 : 3\nend-qos-ulps\n",
        ["-0020", "-20"],
    ),
    opensm(
        "L15",
        "qos-ulps\nany, service-id 0x1071144 : 3\nend-qos-ulps\n",
        ["0x1071144", "0x1061144"],
    ),
    opensm(
        "L36",
        "qos-levels\nreserved-sl: 1-3 mpi\nend-qos-levels\n",
        ["1-3", "2-3"],
    ),
    opensm(
        "L60",
        "qos-ulps\nany, service-id nfs : 3\nend-qos-ulps\n",
        ["id nfs", "id 0x1064e51"],
    ),
    rfc(
        "L01",
        "qos-setup\nvlarb-tables\nvlarb-scope\ngroup: G\nvlarb-high: 0:1\nend-vlarb-scope\n\
         end-vlarb-tables\nend-qos-setup\nport-groups\nport-group\nname: H\nport-guid: 1\n\
         end-port-group\nend-port-groups\n",
        ["name: H", "name: G"],
    ),
    rfc(
        "L02",
        "qos-levels\nqos-level\nsl: 16\nend-qos-level\nend-qos-levels\n",
        ["sl: 16", "sl: 15"],
    ),
    rfc(
        "L02",
        "qos-levels\nqos-level\nsl: 1\nrate-limit: 1\nend-qos-level\nend-qos-levels\n",
        ["limit: 1", "limit: 2"],
    ),
    rfc(
        "L60",
        "qos-levels\nqos-level\nname: default\nsl: 0\npath-bits: 1\nend-qos-level\n\
         end-qos-levels\n",
        ["no such part", ""],
    ),
    rfc(
        "L62",
        "qos-levels\nqos-level\nsl: 07\nend-qos-level\nend-qos-levels\n",
        ["sl: 07", "sl: 7"],
    ),
    rfc(
        "L41",
        "qos-levels\nqos-level\nname: default\nsl: 0\npath-bits: 1-128\nend-qos-level\n\
         end-qos-levels\n",
        ["1-128", "1-127"],
    ),
    rfc(
        "L00",
        "qos-levels\nqos-level\nsl: 7 # high\nend-qos-level\nend-qos-levels\n",
        [" # high", ""],
    ),
];

impl Case {
    fn findings(&self, text: &str) -> Vec<policy::lint::Finding> {
        let whole = match self.dialect {
            Dialect::OpenSm => format!("{LEVELS}{text}{LAST_RULE}"),
            _ => text.to_owned(),
        };
        let whole = whole.as_str();
        let options = ParseOptions {
            max_rate_code: 24,
            ..ParseOptions::default()
        };
        let policy = parse_as(whole, Some(self.dialect), &options)
            .unwrap_or_else(|error| panic!("{error}\n{whole}"));
        lint(&policy, None, Some(whole))
    }
}

#[test]
fn every_check_fires_where_it_should_and_not_close_by() {
    for case in CASES {
        let wrong = ids(&case.findings(case.text));
        let at = |ids: &[String]| ids.iter().filter(|id| *id == case.id).count();
        assert!(at(&wrong) > 0, "{}: {wrong:?}\n{}", case.id, case.text);
        let [from, to] = case.mend;
        if !case.text.contains(from) {
            // RFC dialects as such are worth a remark.
            continue;
        }
        let mended = case.text.replacen(from, to, 1);
        let right = ids(&case.findings(&mended));
        assert!(at(&right) < at(&wrong), "{}: {right:?}\n{mended}", case.id);
        let is_noted =
            case.dialect != Dialect::OpenSm || case.id == "L60" || mended.contains("qos-setup");
        assert!(
            is_noted || at(&right) == 0,
            "{}: {right:?}\n{mended}",
            case.id
        );
    }
}

#[test]
fn a_clean_policy_has_no_findings() {
    let text = format!("{LEVELS}{LAST_RULE}");
    let policy = parse_as(&text, None, &ParseOptions::default()).unwrap();
    assert_eq!(ids(&lint(&policy, None, Some(&text))), [""; 0]);
}

/// What leaves no policy at all has its number too.
#[test]
fn refused_files_have_numbers() {
    let level = "qos-levels\nqos-level\nname: a\nsl: 1\nend-qos-level\nend-qos-levels\n";
    let rule = |entry: &str| {
        format!(
            "{LEVELS}qos-match-rules\nqos-match-rule\n{entry}\nend-qos-match-rule\n\
             end-qos-match-rules\n"
        )
    };
    for (text, id) in [
        (level.to_owned(), Some(LintId::REFERENCE)),
        (rule("qos-level-name: b"), Some(LintId::REFERENCE)),
        (
            rule("source: G\nqos-level-name: a"),
            Some(LintId::REFERENCE),
        ),
        (
            level.replace("sl: 1", "sl: 1\nmtu-limit: 9"),
            Some(LintId::RANGE),
        ),
        ("qos-ulps\n".to_owned(), None),
    ] {
        let error = parse_as(&text, Some(Dialect::OpenSm), &ParseOptions::default()).unwrap_err();
        assert_eq!(id_of_error(&error), id, "{text}");
    }
}

#[test]
fn places_and_words_are_right() {
    let text = format!(
        "{LEVELS}qos-match-rules\nqos-match-rule\n  pkey: 0x0123, 010\nqos-level-name: a\n\
         end-qos-match-rule\nend-qos-match-rules\n{LAST_RULE}"
    );
    let policy = parse_as(&text, None, &ParseOptions::default()).unwrap();
    let found = lint(&policy, None, Some(&text));
    let [octal] = found.as_slice() else {
        panic!("{found:?}")
    };
    let span = octal.span.unwrap();
    assert_eq!(
        (span.start.line, span.start.column, span.length),
        (13, 17, 3)
    );
    assert_eq!(
        octal.sentence,
        "010 begins with a zero and is read as octal: it means 8"
    );
    assert_eq!(
        (octal.id, octal.severity),
        (LintId::OCTAL, Severity::Warning)
    );
}

#[test]
fn remarks_that_are_only_good_to_know_are_counted_not_listed() {
    let mut text = String::from(LEVELS) + "qos-match-rules\n";
    for port in 1..=50 {
        text +=
            &format!("qos-match-rule\nservice-id: {port}\nqos-level-name: a\nend-qos-match-rule\n");
    }
    text += "end-qos-match-rules\n";
    let policy = parse_as(&text, None, &ParseOptions::default()).unwrap();
    let found = lint(&policy, None, Some(&text));
    assert_eq!(found.len(), 21);
    assert_eq!(
        found[20].sentence,
        "there are 30 more findings of this kind"
    );
}
