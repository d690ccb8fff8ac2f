//! Damaged files: never a panic, always a place, never half a fabric.

use std::collections::HashSet;

use proptest::prelude::*;
use sa_fabric::formats::{fdbs, lfts, mcfdbs, mcgroups, net, psl, sl2vl, slvl, subnet_lst, torus};
use sa_fabric::{Fabric, OpenSmOptions, ParseError, Subnet, SubnetOptions, intake};

use crate::common::{golden, text};

type Reader = fn(&[u8]) -> Result<(), ParseError>;

/// Everything that reads text, with a name and a sample that it accepts.
fn readers() -> Vec<(&'static str, Reader, String)> {
    let case = golden("torus/s10-6x5-swT");
    let fabrics = golden("policy/fabrics");
    let some_lines = |text: String| text.lines().take(60).collect::<Vec<_>>().join("\n");
    let conf = "qos TRUE\nlmc 1\nqos_ca_sl2vl 0,1,2\nrouting_engine minhop # x\n".to_owned();
    vec![
        (
            "net",
            |b| net::parse(b).map(|fabric| consistent(&fabric)),
            text(&fabrics, "tree.net"),
        ),
        (
            "subnet list",
            |b| subnet_lst::parse(b).map(|fabric| consistent(&fabric)),
            text(&fabrics, "tree-lmc1.subnet.lst"),
        ),
        ("options", |b| OpenSmOptions::parse(b).map(drop), conf),
        (
            "torus",
            |b| torus::read(b).map(drop),
            text(&case, "opensm-torus.dump"),
        ),
        (
            "lfts",
            |b| lfts::read(b).map(drop),
            some_lines(text(&case, "opensm-lfts.dump")),
        ),
        (
            "fdbs",
            |b| fdbs::read(b).map(drop),
            some_lines(text(&golden("fabric/fdbs/s14-6x5-ringcut2"), "opensm.fdbs")),
        ),
        ("sl2vl", |b| sl2vl::read(b).map(drop), sample_sl2vl()),
        (
            "slvl",
            |b| slvl::read(b).map(drop),
            format!("0x20 1 2{}\n", " 0x01".repeat(8)),
        ),
        (
            "psl",
            |b| psl::read(b).map(drop),
            some_lines(text(&case, "psl")),
        ),
        (
            "mcfdbs",
            |b| mcfdbs::read(b).map(drop),
            some_lines(text(&case, "opensm.mcfdbs")),
        ),
        (
            "mcgroups",
            |b| mcgroups::read(b).map(drop),
            some_lines(text(&case, "mcgroups.txt")),
        ),
    ]
}

fn sample_sl2vl() -> String {
    let row = "0   2   : 0  0  0  0  0  0  0  0  1  1  1  1  1  1  1  1 \n";
    format!("Switch 0x0000000000200000, base LID 2, \"S3\"\n#in\n#---\n{row}{row}#---\n\n")
}

/// Checks the invariants that a fabric promises, and that an SM can look at it.
fn consistent(fabric: &Fabric) {
    let mut guids = HashSet::new();
    for node in fabric.nodes() {
        assert!(guids.insert(node.guid), "node GUIDs are unique");
        assert!(node.ports[0].peer.is_none(), "port 0 has no cable");
    }
    let ports = fabric.nodes().iter().flat_map(|node| &node.ports);
    let port_guids: Vec<_> = ports.filter_map(|port| port.guid).collect();
    let distinct: HashSet<_> = port_guids.iter().collect();
    assert_eq!(distinct.len(), port_guids.len(), "port GUIDs are unique");
    for (here, there) in fabric.cabled() {
        assert_eq!(fabric.port(there).peer, Some(here), "cables are symmetric");
    }
    if let Ok(subnet) = Subnet::new(fabric.clone(), &SubnetOptions::default()) {
        let mut lids = HashSet::new();
        for port in subnet.end_ports() {
            assert!(port.lids().all(|lid| lids.insert(lid)), "LIDs are unique");
        }
        let topology = subnet.topology(&OpenSmOptions::default());
        assert_eq!(topology.end_ports.len(), subnet.port_facts().len());
    }
}

/// An error must name a line of the text, or the one after it.
fn placed(text: &[u8], result: Result<(), ParseError>) {
    if let Err(error) = result {
        let lines = text.iter().filter(|byte| **byte == b'\n').count() + 1;
        assert!(
            error.at.line >= 1 && error.at.line as usize <= lines,
            "{error}"
        );
        assert!(error.at.column >= 1, "{error}");
    }
}

#[test]
fn samples_are_accepted_and_every_truncation_is_handled() {
    for (name, read, sample) in readers() {
        // Only the samples cut to some lines may end too early.
        let whole = read(sample.as_bytes());
        assert!(whole.is_ok() || name == "lfts", "{name}: {whole:?}");
        let ends = sample.char_indices().map(|(end, _)| end);
        for end in ends.filter(|end| end % 7 == 0 || sample.as_bytes()[*end] == b'\n') {
            let cut = &sample.as_bytes()[..end];
            placed(cut, read(cut));
        }
    }
}

#[test]
fn a_fabric_file_cut_at_a_line_has_no_half_cable() {
    let net_text = text(&golden("policy/fabrics"), "tree.net");
    let list = text(&golden("policy/fabrics"), "tree.subnet.lst");
    for (line, _) in net_text
        .match_indices('\n')
        .filter(|(end, _)| *end + 2 < net_text.len())
    {
        // One switch without cables is a fabric, but none for an SM.
        let fabric = net::parse(&net_text.as_bytes()[..line]);
        assert!(
            fabric.is_err() || Subnet::new(fabric.unwrap(), &SubnetOptions::default()).is_err()
        );
    }
    for (line, _) in list.match_indices('\n') {
        // Whole cables that are listed from both ends are a fabric.
        let fabric = subnet_lst::parse(&list.as_bytes()[..line]);
        fabric.iter().for_each(consistent);
        let cables = list[..line].lines().count();
        assert!(fabric.is_err() || cables.is_multiple_of(2));
    }
}

#[derive(Debug, Clone)]
enum Edit {
    Replace(usize, u8),
    Remove(usize, usize),
    Insert(usize, Vec<u8>),
    RepeatLine(usize),
    SwapLines(usize, usize),
}

fn edit() -> impl Strategy<Value = Edit> {
    let token = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..6),
        prop_oneof![
            Just("[1] \"H1\"[1]\n"),
            Just("0x"),
            Just("\n\n"),
            Just("\""),
            Just("lid 65535 lmc 7 "),
            Just("w=31 "),
            Just("99999999999999999999"),
            Just("switchguid=0xffffffffffffffff\n"),
        ]
        .prop_map(|text| text.as_bytes().to_vec()),
    ];
    prop_oneof![
        (any::<usize>(), any::<u8>()).prop_map(|(at, byte)| Edit::Replace(at, byte)),
        (any::<usize>(), 1usize..40).prop_map(|(at, count)| Edit::Remove(at, count)),
        (any::<usize>(), token).prop_map(|(at, bytes)| Edit::Insert(at, bytes)),
        any::<usize>().prop_map(Edit::RepeatLine),
        (any::<usize>(), any::<usize>()).prop_map(|(a, b)| Edit::SwapLines(a, b)),
    ]
}

fn apply(text: &mut Vec<u8>, edit: &Edit) {
    let place = |at: usize| at % text.len().max(1);
    match edit {
        Edit::Replace(at, byte) => {
            let at = place(*at);
            if let Some(slot) = text.get_mut(at) {
                *slot = *byte;
            }
        }
        Edit::Remove(at, count) => {
            let at = place(*at).min(text.len());
            let end = (at + count).min(text.len());
            text.drain(at..end);
        }
        Edit::Insert(at, bytes) => {
            let at = place(*at).min(text.len());
            text.splice(at..at, bytes.iter().copied());
        }
        Edit::RepeatLine(line) => {
            let mut lines: Vec<Vec<u8>> = text.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
            let line = line % lines.len();
            lines.insert(line, lines[line].clone());
            *text = lines.join(&b'\n');
        }
        Edit::SwapLines(a, b) => {
            let mut lines: Vec<Vec<u8>> = text.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
            let count = lines.len();
            lines.swap(a % count, b % count);
            *text = lines.join(&b'\n');
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_refused_with_a_place(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        for (_, read, _) in readers() {
            placed(&bytes, read(&bytes));
        }
    }

    #[test]
    fn edited_files_are_refused_with_a_place_or_consistent(
        edits in proptest::collection::vec(edit(), 1..5),
    ) {
        for (_, read, sample) in readers() {
            let mut text = sample.into_bytes();
            for edit in &edits {
                apply(&mut text, edit);
            }
            placed(&text, read(&text));
        }
    }

    #[test]
    fn damaged_xz_is_an_error_or_the_content(edits in proptest::collection::vec(edit(), 1..4)) {
        let directory = tempfile::tempdir().unwrap();
        let mut bytes = std::fs::read(golden("torus/s10-6x5-swT/net.xz")).unwrap();
        let whole = text(&golden("torus/s10-6x5-swT"), "net").into_bytes();
        let untouched = bytes.clone();
        for edit in &edits {
            apply(&mut bytes, edit);
        }
        let path = directory.path().join("net.xz");
        std::fs::write(&path, &bytes).unwrap();
        match intake::read(intake::Kind::Dump, &path) {
            Ok(content) => prop_assert!(content == whole || content == bytes),
            Err(_) => prop_assert!(bytes != untouched),
        }
    }
}
