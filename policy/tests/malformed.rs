//! No input makes the readers panic, and every error has a place inside the text.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod common;

use std::fs;
use std::sync::LazyLock;

use policy::{
    Error, ParseOptions, PartitionOptions, Partitions, PartitionsConfig, compile, decode, parse,
};
use proptest::prelude::*;

static POLICIES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let files = common::scenarios()
        .into_iter()
        .flat_map(|scenario| scenario.steps());
    files.map(|(_, file, _)| fs::read(file).unwrap()).collect()
});

const PARTITIONS: &str = "Default=0x7fff, ipoib, sl=0 : ALL=full, SELF=full;
Part1=0x0123, sl=2 : 0x100011=full, 0x100021=limited,
  mgid=ff12:401b::16,sl=1,Q_Key=0xDEADBEEF,rate=3,mtu=2
  ALL_SWITCHES=both, 0x100051 ; # comment
Gen, defmember=full, scope=2, scope=5, FlowLabel=7 : ALL_CAS;
";

fn read_both(bytes: &[u8]) {
    let text = decode(bytes);
    match parse(&text, &ParseOptions::default()) {
        Ok(policy) => {
            let partitions = Partitions::without_file(&[]);
            let _ = compile(&policy, &[], &partitions).map_err(|error| check_place(&text, &error));
        }
        Err(error) => check_place(&text, &error),
    }
    match PartitionsConfig::parse(&text) {
        Ok(config) => drop(Partitions::new(&config, &[], PartitionOptions::default())),
        Err(error) => check_place(&text, &error),
    }
}

fn check_place(text: &str, error: &Error) {
    assert!(error.line() >= 1 && error.column() >= 1, "{error:?}");
    let [from, length] =
        [error.span.offset, error.span.length].map(|n| usize::try_from(n).unwrap());
    assert!(text.get(from..from + length).is_some(), "{error:?}");
    assert!(!error.message().is_empty());
}

/// What to do to a file: where, how many bytes to take out, what to put in.
fn edits() -> impl Strategy<Value = Vec<(prop::sample::Index, usize, Vec<u8>)>> {
    let words = prop::sample::select(&WORDS[..]).prop_map(|word| word.as_bytes().to_vec());
    let insert = prop_oneof![words, prop::collection::vec(any::<u8>(), 0..4)];
    prop::collection::vec((any::<prop::sample::Index>(), 0..12usize, insert), 1..6)
}

const WORDS: [&str; 24] = [
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
    fn edited_partitions_are_survived(edits in edits()) {
        read_both(&edited(PARTITIONS.as_bytes(), &edits));
    }
}
