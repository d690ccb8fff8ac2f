//! Damage to files, and a small world to damage; requests, and what their replies are judged by.
//! The fuzzers in `fuzz` have the latter modules too.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::cast_possible_truncation,
    reason = "helpers of tests fail the test; the numbers are small"
)]

use std::path::Path;
use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::Index;
use sa_compiler::export::{self, Psl};
use sa_compiler::pipeline::{Compiled, Inputs, OnPolicyError};
use sa_tests::site::Site;

/// What to do to a file: where, how many bytes to take out, what to put in.
pub(crate) type Edit = (Index, usize, Vec<u8>);

/// Up to four edits.
pub(crate) fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let words = prop::sample::select(&WORDS[..]).prop_map(|word| word.as_bytes().to_vec());
    let insert = prop_oneof![3 => words, 1 => prop::collection::vec(any::<u8>(), 0..4)];
    let gone = prop_oneof![4 => 0..12usize, 1 => 0..400usize];
    prop::collection::vec((any::<Index>(), gone, insert), 0..4)
}

pub(crate) fn edited(file: &[u8], edits: &[Edit]) -> Vec<u8> {
    let mut bytes = file.to_vec();
    for (at, gone, insert) in edits {
        let at = at.index(bytes.len() + 1);
        let end = (at + gone).min(bytes.len());
        bytes.splice(at..end, insert.iter().copied());
    }
    bytes
}

/// What stands in one file or another, and what belongs in none.
const WORDS: [&str; 48] = [
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
    "0",
    "1",
    "2",
    "9",
    "15",
    "255",
    "256",
    "65535",
    "-1",
    "99999999999999999999",
    "0xffffffffffffffff",
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    "lid 1 ",
    " lmc 7",
    " 4xQDR",
    " v=1",
    "Switch 36 \"S\"\n",
    "Hca 1 \"H\"\n",
    "[1] \"S\"[1]\n",
    "ALL=both;",
    "Default",
    "sl=",
    "torus 3t 3t 1\n",
    "next_seed\n",
    "x_dateline -1\n",
    "end-qos-level\n",
    "pkey: 1-5\n",
    "sl: 16\n",
    "lmc 2\n",
    "max_op_vls 1\n",
    "\u{e9}",
    "\0",
];

/// File and option of each input of [`world`].
pub(crate) const FILES: [&str; 6] = [
    "net",
    "opensm-subnet.lst",
    "torus-2QoS.conf",
    "policy.conf",
    "partitions.conf",
    "opensm.conf",
];

/// The dumps that a directory may hold.
pub(crate) const DUMPS: [&str; 4] = [
    "opensm-subnet.lst",
    "opensm-lfts.dump",
    "opensm-sl2vl.dump",
    "psl",
];

const POLICY: &str = include_str!("../../../docs/examples/qos-policy.conf");
const PARTITIONS: &str = "Default=0x7fff : ALL=full;\n\
    p1=0x1, sl=3 : 0x100001=full, 0x100011;\np2=0x2, defmember=both : ALL_CAS, SELF=full;\n";
const OPENSM_CONF: &str =
    "qos TRUE\nsubnet_timeout 17\nqos_sl2vl 0,1,2,3,4,5,6,7\nallow_both_pkeys TRUE\n";

/// Contents by name; of a 3x3x2 torus, which has loops for no engine but torus-2QoS.
pub(crate) struct World {
    pub(crate) files: Vec<(&'static str, Vec<u8>)>,
    pub(crate) compiled: Compiled,
}

pub(crate) static WORLD: LazyLock<World> = LazyLock::new(|| {
    let mut site = Site::torus([3, 3, 2], 1)
        .policy(POLICY)
        .partitions(PARTITIONS)
        .opensm_conf(OPENSM_CONF);
    site.inputs = Inputs {
        lids: None,
        ..inputs(site.path())
    };
    let compiled = site.compile();
    export::all(
        site.path(),
        &compiled.parts,
        &compiled.snapshot,
        Psl::Always,
    )
    .unwrap();
    let read = |name| (name, std::fs::read(site.path().join(name)).unwrap());
    let names = FILES.iter().chain(&DUMPS[1..]);
    World {
        files: names.map(|name| read(*name)).collect(),
        compiled,
    }
});

impl World {
    pub(crate) fn file(&self, name: &str) -> &[u8] {
        &self
            .files
            .iter()
            .find(|(known, _)| *known == name)
            .unwrap()
            .1
    }
}

/// The inputs that lie in a directory.
pub(crate) fn inputs(directory: &Path) -> Inputs {
    Inputs {
        fabric: directory.join("net"),
        lids: Some(directory.join("opensm-subnet.lst")),
        torus_conf: Some(directory.join("torus-2QoS.conf")),
        policy: Some(directory.join("policy.conf")),
        partitions: Some(directory.join("partitions.conf")),
        opensm_conf: Some(directory.join("opensm.conf")),
        on_policy_error: OnPolicyError::Fail,
        allow_lost_pairs: true,
        ..Inputs::default()
    }
}

/// How many cases: this many, or as many times more as the environment asks for.
pub(crate) fn cases(usual: u32) -> ProptestConfig {
    let scale = std::env::var("SAPPHIRE_FUZZ_SCALE")
        .ok()
        .and_then(|text| text.parse().ok());
    ProptestConfig {
        cases: usual * scale.unwrap_or(1),
        failure_persistence: None,
        ..Default::default()
    }
}
