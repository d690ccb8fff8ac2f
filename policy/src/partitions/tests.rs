//! Behaviour of OpenSM 3.3.23; these forms were compared with what it programmed on a simulated
//! fabric.

use sa_wire::{Guid, NodeType};

use super::*;
use crate::error::{Error, Problem};

/// SM's CA, a switch, a router, two more CAs.
fn ports() -> Vec<PortFacts> {
    let port = |(guid, node_type): (u64, NodeType)| PortFacts {
        guid: Guid::new(guid).unwrap(),
        node_guid: Guid::new(guid & !1).unwrap(),
        node_type,
        description: String::new(),
        port_number: u8::from(node_type != NodeType::Switch),
        node_ports: 8,
        is_sm: guid == 0x11,
    };
    let ca = NodeType::Ca;
    [
        (0x11, ca),
        (0x20, NodeType::Switch),
        (0x31, NodeType::Router),
        (0x41, ca),
        (0x51, ca),
    ]
    .map(port)
    .into()
}

fn apply(text: &str, qos: bool, allow_both_pkeys: bool) -> Partitions {
    let options = PartitionOptions {
        qos,
        allow_both_pkeys,
    };
    Partitions::new(&PartitionsConfig::parse(text).unwrap(), &ports(), options)
}

fn tables(text: &str, allow_both_pkeys: bool) -> Vec<Vec<u16>> {
    let partitions = apply(text, true, allow_both_pkeys);
    let raw = |port| {
        partitions
            .pkey_table(port)
            .iter()
            .map(|pkey| pkey.get())
            .collect()
    };
    (0..5).map(raw).collect()
}

fn refused(text: &str) -> Error {
    PartitionsConfig::parse(text).unwrap_err()
}

fn sls(text: &str, qos: bool) -> Vec<(u16, u8)> {
    let list = apply(text, qos, false);
    let mut sls: Vec<_> = list.list().iter().map(|p| (p.base, p.sl.get())).collect();
    sls.sort_unstable();
    sls
}

#[test]
fn without_a_statement_the_default_partition_has_limited_members() {
    let tables = tables("A=1 : 0x41=full, 0x51;", false);
    assert_eq!(
        tables,
        [
            &[0xffff][..],
            &[0x7fff],
            &[0x7fff],
            &[0x8001, 0x7fff],
            &[1, 0x7fff]
        ]
    );
}

#[test]
fn without_a_file_all_are_full_members() {
    let partitions = Partitions::without_file(&ports());
    assert!((0..5).all(|port| partitions.pkey_table(port) == [Pkey::DEFAULT_FULL]));
    assert_eq!(
        partitions.multicast_groups()[0].mgid.to_string(),
        "ff12:401b:ffff::ffff:ffff"
    );
    assert_eq!(partitions.list()[0].full_members, 5);
}

#[test]
fn the_last_statement_about_a_port_counts() {
    let text = "A=1 : ALL=full, 0x41=limited;\nB=0x8001 : 0x41=both;\nA=1 : 0x51=limited;";
    assert_eq!(tables(text, false)[3..], [[0x8001, 0x7fff], [1, 0x7fff]]);
    assert_eq!(
        tables(text, true)[3..],
        [&[1, 0x8001, 0x7fff][..], &[1, 0x7fff]]
    );
}

#[test]
fn words_choose_ports_and_may_be_cut_short() {
    let text = "A=1 : ALL_CAS=f;B=2:ALL_S=full;C=3:ALL_ROUTERS=;D=4:S;E=5:NONE, N, ;F=6:A=zork;";
    let held: Vec<Vec<u16>> = tables(text, false);
    assert_eq!(held[0], [0x8001, 4, 6, 0xffff]);
    assert_eq!(held[1], [0x8002, 6, 0x7fff]);
    assert_eq!(held[2], [0x8003, 6, 0x7fff]);
    assert_eq!(sls(text, true).len(), 6, "no partition without members");
}

#[test]
fn members_without_a_word_follow_defmember() {
    let tables = tables(
        "A=1, defmember=full : 0x41, 0x51=limited\n0x11 ;\nA=1: 0x20;",
        false,
    );
    let first: Vec<u16> = tables.iter().map(|table| table[0]).collect();
    assert_eq!(first, [0x8001, 1, 0x7fff, 0x8001, 1]);
}

#[test]
fn lines_separate_members_as_commas_do() {
    let text = "A=1 :\n  0x41=full # first\n 0x51 =\tfull,\n\n  0x11\n, 0x20;";
    let first: Vec<u16> = tables(text, false).iter().map(|table| table[0]).collect();
    assert_eq!(first, [1, 1, 0x7fff, 0x8001, 0x8001]);
}

#[test]
fn pkeys_are_generated_and_names_found() {
    let text = "A : 0x41;\nB : 0x51;\nA : 0x51;\nC=2 : 0x11;\n : 0x20;\n=0x8000 : 0x31;\nDefault: 0x31=full;";
    let all = tables(text, false);
    assert_eq!(all[3], [1, 0x7fff]);
    assert_eq!(all[4], [1, 2, 0x7fff]);
    assert_eq!(
        (&all[0][..], &all[1][..]),
        (&[2, 0xffff][..], &[3, 0x7fff][..])
    );
    assert_eq!(all[2], [4, 0xffff]);
    let partitions = apply(text, true, false);
    let names: Vec<&str> = partitions.list().iter().map(|p| &p.name[..]).collect();
    assert_eq!(names, ["A", "B", "0003", "0004", "Default"]);
    assert_eq!(
        apply("16: ALL;", true, false).list()[0].name,
        "0010",
        "a key without a name"
    );
}

#[test]
fn keys_keep_fifteen_bits_and_sort_by_their_low_byte() {
    let tables = tables("A=0x18100 : 0x41;B=-1 : 0x41=full;C=010 : 0x41;", false);
    assert_eq!(tables[3], [0x100, 8, 0xffff]);
}

#[test]
fn long_names_are_cut() {
    let long = "long_name_of_more_than_thirty_one_characters";
    let text = format!("{long} : 0x41;\n{long} : 0x41;");
    assert_eq!(
        tables(&text, false)[3],
        [1, 2, 0x7fff],
        "the cut name is not found again"
    );
    assert_eq!(apply(&text, true, false).list()[0].name, long[..31]);
}

#[test]
fn a_later_statement_resets_the_service_level() {
    let text = "A=1, sl=3 : 0x41;\nB=2, sl=4 : 0x41;\nA=1 : 0x51;";
    assert_eq!(sls(text, true), [(1, 0), (2, 4), (0x7fff, 0)]);
    assert_eq!(sls(text, false), [(1, 0), (2, 0), (0x7fff, 0)]);
    assert_eq!(sls("A=1, sl=16 : 0x41;", true)[0], (1, 0));
}

#[test]
fn errors_have_their_place() {
    let cases = [
        ("", Problem::NoStatement, 1, 1),
        ("# only a comment\n", Problem::NoStatement, 1, 1),
        ("A=1: ALL;;", Problem::EmptyStatement, 1, 10),
        ("A=1: ALL\n;", Problem::EmptyStatement, 2, 1),
        ("\n  A=1\n : ALL;", Problem::NoDefinition, 2, 3),
        (
            "A=1x: ALL;",
            Problem::PartitionKey { text: "1x".into() },
            1,
            3,
        ),
        (
            "A=1: ALL, zork ;",
            Problem::Member {
                text: "zork".into(),
            },
            1,
            11,
        ),
        ("A=1: ALL=full", Problem::NoDefinition, 0, 0),
        ("A=1: 0", Problem::Member { text: "0".into() }, 1, 6),
        (
            "A=1:\nmgid=zork,sl=1;",
            Problem::MulticastGid {
                text: "zork".into(),
            },
            2,
            1,
        ),
    ];
    for (text, problem, line, column) in cases {
        if line == 0 {
            assert!(
                PartitionsConfig::parse(text).is_ok(),
                "the last semicolon may be missing"
            );
            continue;
        }
        let error = refused(text);
        assert_eq!(
            (error.problem.clone(), error.line(), error.column()),
            (problem, line, column)
        );
    }
    assert!(
        refused("A=1: ALL;\r\n")
            .help()
            .unwrap()
            .contains("line ends")
    );
    let long = format!("A=1: {}ALL;", " ".repeat(4100));
    assert!(matches!(refused(&long).problem, Problem::TooLong { .. }));
}

#[test]
fn what_is_passed_over_is_noticed() {
    let text = "A=1, zork, sl=16 : 0x41=zork\nmgid=fe80::1\nALL;";
    let config = PartitionsConfig::parse(text).unwrap();
    let kinds: Vec<&NoticeKind> = config.notices.iter().map(|notice| &notice.kind).collect();
    assert_eq!(
        kinds,
        [
            &NoticeKind::UnknownFlag("zork".into()),
            &NoticeKind::FlagValue("sl".into()),
            &NoticeKind::Membership("zork".into()),
            &NoticeKind::MulticastGid("fe80::1".into()),
        ]
    );
}

#[test]
fn multicast_groups_inherit_and_take_scopes() {
    let text = "A=1, ipoib, sl=2, mtu=5, rate=7 : ALL
        mgid=ff12:401b::16,sl=1
        mgid=ff12:601b:8001::2,mtu=4
        mgid=ff1e::1,scope=2,scope=5,Q_Key=7
        mgid=ff12::1,mtu=9
        ALL;";
    let partitions = apply(text, true, false);
    let groups: Vec<_> = partitions
        .multicast_groups()
        .iter()
        .map(|g| {
            (
                g.mgid.to_string(),
                g.sl.get(),
                g.mtu.code(),
                g.rate.code(),
                g.q_key,
                g.hop_limit,
            )
        })
        .collect();
    let group = |mgid: &str, sl, q_key, hops| (mgid.to_owned(), sl, 5, 7, q_key, hops);
    assert_eq!(
        groups,
        [
            group("ff12:401b:8001::ffff:ffff", 2, 0xb1b, 0),
            group("ff12:401b:8001::16", 1, 0xb1b, 0),
            group("ff12::1", 2, 7, 0),
            group("ff15::1", 2, 7, 255),
        ]
    );
    let off = apply(text, false, false);
    let sls = off.multicast_groups().iter().map(|group| group.sl.get());
    assert!(
        sls.eq([0, 1, 0, 0]),
        "an SL of the group's own stays when QoS is off"
    );
}
