//! No input makes the readers panic, and every error has a place inside the text.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use crate::common;
use crate::written;

use std::fs;
use std::sync::LazyLock;

use policy::{
    Dialect, Error, ParseOptions, PartitionOptions, Partitions, PartitionsConfig, Policy, compile,
    convert, parse, parse_as,
};
use proptest::prelude::*;
use sa_text::{Span, decode};

static POLICIES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let files = common::scenarios()
        .into_iter()
        .flat_map(|scenario| scenario.steps());
    files.map(|(_, file, _)| fs::read(file).unwrap()).collect()
});

const EXAMPLES: [&[u8]; 2] = [
    include_bytes!("../../../tests/golden/policy-rfc/rfc-0.1-example.xml"),
    include_bytes!("../../../tests/golden/policy-rfc/rfc-0.2-example.conf"),
];

const PARTITIONS: &str = "Default=0x7fff, ipoib, sl=0 : ALL=full, SELF=full;
Part1=0x0123, sl=2 : 0x100011=full, 0x100021=limited,
  mgid=ff12:401b::16,sl=1,Q_Key=0xDEADBEEF,rate=3,mtu=2
  ALL_SWITCHES=both, 0x100051 ; # comment
Gen, defmember=full, scope=2, scope=5, FlowLabel=7 : ALL_CAS;
";

fn read_both(bytes: &[u8]) {
    let text = decode(bytes);
    match parse(&text, &ParseOptions::default()) {
        Ok(policy) => check_policy(&text, &policy),
        Err(error) => check_place(&text, &error),
    }
    match PartitionsConfig::parse(&text) {
        Ok(config) => drop(Partitions::new(&config, &[], PartitionOptions::default())),
        Err(error) => check_place(&text, &error),
    }
}

fn read_as(bytes: &[u8], dialect: Option<Dialect>) {
    let text = decode(bytes);
    match parse_as(&text, dialect, &ParseOptions::default()) {
        Ok(policy) => check_policy(&text, &policy),
        Err(error) => check_place(&text, &error),
    }
}

/// It compiles, or says why not; what it is converted to is read again.
fn check_policy(text: &str, policy: &Policy) {
    let partitions = Partitions::without_file(&[]);
    let _ = compile(policy, &[], &partitions).map_err(|error| check_place(text, &error));
    for diagnostic in policy.diagnostics() {
        check_span(text, diagnostic.place.unwrap());
        assert!(!diagnostic.message.is_empty());
    }
    for dialect in Dialect::ALL {
        let converted = convert(policy, dialect);
        let again = parse_as(&converted.text, Some(dialect), &ParseOptions::default());
        let again = again.unwrap_or_else(|error| panic!("{error}\n{text}\n{}", converted.text));
        assert_eq!(convert(&again, dialect).text, converted.text, "{text}");
    }
}

fn check_place(text: &str, error: &Error) {
    assert!(error.line() >= 1 && error.column() >= 1, "{error:?}");
    check_span(text, error.span);
    assert!(!error.message().is_empty());
}

fn check_span(text: &str, span: Span) {
    assert!(span.start.line >= 1 && span.start.column >= 1, "{span:?}");
    let [from, length] = [span.offset, span.length].map(|n| usize::try_from(n).unwrap());
    assert!(text.get(from..from + length).is_some(), "{span:?} {text}");
    let before = &text[..from];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap().chars().count() + 1;
    let place = [span.start.line, span.start.column].map(|n| usize::try_from(n).unwrap());
    assert_eq!(place, [line, column], "{text}");
}

/// What to do to a file: where, how many bytes to take out, what to put in.
fn edits() -> impl Strategy<Value = Vec<(prop::sample::Index, usize, Vec<u8>)>> {
    let words = prop::sample::select(&WORDS[..]).prop_map(|word| word.as_bytes().to_vec());
    let insert = prop_oneof![words, prop::collection::vec(any::<u8>(), 0..4)];
    prop::collection::vec((any::<prop::sample::Index>(), 0..12usize, insert), 1..6)
}

const WORDS: [&str; 42] = [
    "\"",
    "#",
    "\n",
    "\r\n",
    ",",
    ":",
    "-",
    "*",
    ";",
    "=",
    "0x",
    "08",
    "name:",
    "use:",
    "sl:",
    "qos-level",
    "end-qos-level",
    "node-type:",
    "all",
    "default:",
    "any, pkey",
    "mgid=",
    "\u{e9}",
    "99999999999999999999",
    "<",
    ">",
    "</",
    "/>",
    "<!-",
    "-->",
    "&",
    "&lt;",
    "&#10;",
    "&#xe9;",
    "<sl>",
    "<sn>0</sn>",
    "<sl2vl-tables>",
    "qos-level-sn: 1",
    "end-",
    "_",
    "\u{a0}",
    "\u{2014}",
];

fn edited(file: &[u8], edits: &[(prop::sample::Index, usize, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = file.to_vec();
    for (at, gone, insert) in edits {
        let at = at.index(bytes.len() + 1);
        let end = (at + gone).min(bytes.len());
        bytes.splice(at..end, insert.iter().copied());
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..Default::default() })]

    #[test]
    fn random_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        read_both(&bytes);
    }

    #[test]
    fn edited_policies_are_survived(file in any::<prop::sample::Index>(), edits in edits()) {
        read_both(&edited(&POLICIES[file.index(POLICIES.len())], &edits));
    }

    #[test]
    fn edited_rfc_policies_are_survived(
        rolls in prop::collection::vec(any::<u32>(), 300..600),
        edits in edits(),
        latin in any::<bool>(),
    ) {
        for dialect in [Dialect::Rfc02Text, Dialect::Rfc01Xml] {
            let file = written::policy(dialect, &mut written::Dice::new(&rolls));
            let mut bytes = edited(file.as_bytes(), &edits);
            if latin {
                bytes.push(0xe9);
            }
            read_as(&bytes, Some(dialect));
            read_as(&bytes, None);
        }
    }

    #[test]
    fn random_bytes_are_survived_in_every_dialect(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        words in prop::collection::vec(prop::sample::select(&WORDS[..]), 0..60),
    ) {
        for dialect in Dialect::ALL {
            read_as(&bytes, Some(dialect));
            let text = format!("<qos-policy><qos-levels><qos-level>{}", words.concat());
            read_as(text.as_bytes(), Some(dialect));
            let text = format!("qos-levels\nqos-level\nsl: {}", words.concat());
            read_as(text.as_bytes(), Some(dialect));
        }
    }

    #[test]
    fn edited_examples_are_survived(edits in edits()) {
        for example in EXAMPLES {
            read_as(&edited(example, &edits), None);
        }
    }

    #[test]
    fn edited_partitions_are_survived(edits in edits()) {
        read_both(&edited(PARTITIONS.as_bytes(), &edits));
    }
}
