//! Services by name in all dialects, and SLs that are reserved.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use policy::lint::{FabricView, LintId, lint};
use policy::model::criterion::Field;
use policy::{
    Dialect, Error, ParseOptions, PartitionOptions, Partitions, PartitionsConfig, Policy, Problem,
    UlpNames, convert, parse_as,
};
use sa_text::Severity;

const LEVELS: &str = "qos-levels
qos-level\nname: default\nsl: 0\nend-qos-level
qos-level\nname: L1\nsl: 1\nend-qos-level
end-qos-levels\n";

/// A rule with these entries.
fn text_of(dialect: Dialect, entries: &str) -> String {
    match dialect {
        Dialect::OpenSm => format!(
            "{LEVELS}qos-match-rules\nqos-match-rule\n{entries}\nqos-level-name: L1\n\
             end-qos-match-rule\nend-qos-match-rules\n"
        ),
        Dialect::Rfc02Text => format!(
            "{LEVELS}qos-match-rules\nqos-match-rule\n{entries}\nqos-level-sn: 2\n\
             end-qos-match-rule\nend-qos-match-rules\n"
        ),
        _ => format!(
            "<qos-policy><qos-levels><qos-level><sn>0</sn><sl>0</sl></qos-level></qos-levels>\n\
             <qos-match-rules><qos-match-rule>\n{entries}\n<match-level>0</match-level>\
             </qos-match-rule></qos-match-rules></qos-policy>\n"
        ),
    }
}

fn entry(dialect: Dialect, keyword: &str, value: &str) -> String {
    match dialect {
        Dialect::Rfc01Xml => format!("<{keyword}>{value}</{keyword}>"),
        _ => format!("  {keyword}: {value}"),
    }
}

fn read_with(dialect: Dialect, text: &str, options: &ParseOptions) -> Result<Policy, Error> {
    parse_as(text, Some(dialect), options)
}

fn rule(dialect: Dialect, keyword: &str, value: &str) -> Result<Policy, Error> {
    let text = text_of(dialect, &entry(dialect, keyword, value));
    read_with(dialect, &text, &ParseOptions::default())
}

fn ids(policy: &Policy) -> Vec<(u64, u64)> {
    let ids = policy.rules[0].fields[Field::ServiceId].as_ref().unwrap();
    ids.pairs().to_vec()
}

fn single(ids: &[u64]) -> Vec<(u64, u64)> {
    ids.iter().map(|id| (*id, *id)).collect()
}

#[test]
fn names_stand_where_service_ids_do_in_every_dialect() {
    for dialect in Dialect::ALL {
        let keyword = match dialect {
            Dialect::Rfc01Xml => "service",
            _ => "service-id",
        };
        let of = |value: &str| ids(&rule(dialect, keyword, value).unwrap());
        assert_eq!(of("nfs"), single(&[0x106_4e51]));
        assert_eq!(
            of("NFS, 0x16-0x17 ,tcp:4420"),
            [(22, 23), (0x106_1144, 0x106_1144), (0x106_4e51, 0x106_4e51)]
        );
        assert_eq!(
            of("tcp:4420-4421,iser"),
            [(0x106_0cbc, 0x106_0cbc), (0x106_1144, 0x106_1145)]
        );
        assert_eq!(of("sdp"), [(0x1_0000, 0x1_ffff)]);
        assert_eq!(of("sdp:7"), single(&[0x1_0007]));
        let policy = rule(dialect, keyword, "nfs,nvmeof").unwrap();
        let told: Vec<_> = policy
            .extensions
            .iter()
            .map(|extension| extension.value)
            .collect();
        assert_eq!(told, ["service-id"; 2]);
        assert!(rule(dialect, keyword, "22").unwrap().extensions.is_empty());
    }
}

#[test]
fn ulp_expands_in_every_dialect() {
    for dialect in Dialect::ALL {
        let of = |value: &str| ids(&rule(dialect, "ulp", value).unwrap());
        assert_eq!(of("tcp port 4420,20049"), single(&[0x106_1144, 0x106_4e51]));
        for (name, id) in [
            ("nvmeof", 0x106_1144),
            ("nfs", 0x106_4e51),
            ("lustre", 0x106_03db),
            ("smbd", 0x106_01bd),
            ("iser", 0x106_0cbc),
        ] {
            assert_eq!(of(name), single(&[id]));
        }
        assert_eq!(of("rds"), single(&[0x106_4001, 0x106_48ca]));
        for (name, first) in [
            ("sdp", 0x1_0000),
            ("tcp", 0x106_0000),
            ("udp", 0x111_0000),
            ("ib", 0x13f_0000),
        ] {
            assert_eq!(of(name), [(first, first + 0xffff)]);
        }
        let ipoib = rule(dialect, "ulp", "ipoib pkey 0x8123").unwrap();
        assert_eq!(
            ipoib.rules[0].fields[Field::Pkey].as_ref().unwrap().pairs(),
            [(0x123, 0x123)]
        );
        assert!(ipoib.rules[0].fields[Field::ServiceId].is_none());
        assert_eq!(ipoib.extensions[0].value, "ulp");
    }
}

#[test]
fn wrong_names_have_their_place_and_a_suggestion() {
    for (dialect, line, column) in [
        (Dialect::OpenSm, 13, 13),
        (Dialect::Rfc02Text, 13, 13),
        (Dialect::Rfc01Xml, 3, 11),
    ] {
        let error = rule(dialect, "ulp", "nfs, nvmof").unwrap_err();
        assert_eq!(error.message(), "no service is called 'nvmof'");
        assert_eq!(error.help().as_deref(), Some("did you mean 'nvmeof'?"));
        assert_eq!((error.line(), error.column()), (line, column), "{dialect}");
        assert_eq!(error.span.length, 5);
        assert_eq!(policy::lint::id_of_error(&error), Some(LintId::REFERENCE));
        let error = rule(dialect, "ulp", "srp").unwrap_err();
        assert!(error.help().unwrap().contains("srp-targets"));
        assert!(rule(dialect, "ulp", "mpi").is_err());
        assert!(rule(dialect, "ulp", "nfs, ipoib").is_err());
        assert!(rule(dialect, "ulp", "").is_err());
    }
    let error = rule(Dialect::OpenSm, "service-id", "22, nsf").unwrap_err();
    assert_eq!((error.line(), error.column()), (13, 19));
    assert!(matches!(error.problem, Problem::Service(_)));
}

#[test]
fn lines_of_qos_ulps_take_names() {
    let text = "qos-ulps\ndefault: 0\nnvmeof : 3\ntcp, port-num 5000-5001,6000 : 4 # x\n\
                any, service-id nfs, 0x16 : 5\nUDP:6\nsdp : 1\nlustre, port-num 988:2\nend-qos-ulps\n";
    let policy = read_with(Dialect::OpenSm, text, &ParseOptions::default()).unwrap();
    let rules: Vec<_> = policy
        .rules
        .iter()
        .map(|rule| {
            let level = policy.level(rule.level.value);
            (
                rule.fields[Field::ServiceId]
                    .as_ref()
                    .unwrap()
                    .pairs()
                    .to_vec(),
                level.sl.unwrap().value,
            )
        })
        .collect();
    assert_eq!(
        rules,
        [
            (single(&[0x106_1144]), 3),
            (vec![(0x106_1388, 0x106_1389), (0x106_1770, 0x106_1770)], 4),
            (vec![(0x16, 0x16), (0x106_4e51, 0x106_4e51)], 5),
            (vec![(0x111_0000, 0x111_ffff)], 6),
            (vec![(0x1_0000, 0x1_ffff)], 1),
            (single(&[0x106_03dc]), 2),
        ]
    );
    for wrong in [
        "nosuch : 3",
        "nvmeof",
        "nvmeof : 16",
        "mpi : 2",
        "tcp, port-num x : 3",
    ] {
        let text = format!("qos-ulps\ndefault: 0\n{wrong}\nend-qos-ulps\n");
        let error = read_with(Dialect::OpenSm, &text, &ParseOptions::default()).unwrap_err();
        assert!([3, 4].contains(&error.line()), "{wrong}: {error}");
    }
}

#[test]
fn extensions_can_be_refused() {
    let options = ParseOptions {
        extensions: false,
        ..ParseOptions::default()
    };
    for dialect in Dialect::ALL {
        for (keyword, value) in [("ulp", "nfs"), ("service-id", "nfs")] {
            let text = text_of(dialect, &entry(dialect, keyword, value));
            let error = read_with(dialect, &text, &options).unwrap_err();
            assert!(
                matches!(error.problem, Problem::Unexpected { .. }),
                "{error}"
            );
        }
    }
    let reserved = LEVELS.replace("end-qos-levels", "reserved-sl: 3 mpi\nend-qos-levels");
    assert!(read_with(Dialect::OpenSm, &reserved, &options).is_err());
    assert!(read_with(Dialect::OpenSm, &reserved, &ParseOptions::default()).is_ok());
}

#[test]
fn a_file_of_names_extends_the_table() {
    let options = ParseOptions {
        ulp_names: UlpNames::default()
            .extend("beegfs = tcp 8003\nsrp = id 0x2c90200402bd4\n")
            .unwrap(),
        ..ParseOptions::default()
    };
    let text = text_of(Dialect::OpenSm, "ulp: beegfs, srp");
    let policy = read_with(Dialect::OpenSm, &text, &options).unwrap();
    assert_eq!(ids(&policy), single(&[0x106_1f43, 0x2_c902_0040_2bd4]));
}

#[test]
fn converted_policies_have_numbers_only() {
    for from in Dialect::ALL {
        let policy = rule(from, "ulp", "nfs, tcp port 5000-5001").unwrap();
        for to in Dialect::ALL {
            let text = convert(&policy, to).text;
            let options = ParseOptions {
                extensions: false,
                ..ParseOptions::default()
            };
            let again = read_with(to, &text, &options).unwrap();
            assert_eq!(ids(&again), ids(&policy));
        }
    }
}

fn findings(text: &str, id: LintId) -> Vec<(Severity, String)> {
    let policy = parse_as(text, None, &ParseOptions::default()).unwrap();
    let found = lint(&policy, None, Some(text));
    let found = found.into_iter().filter(|finding| finding.id == id);
    found
        .map(|finding| (finding.severity, finding.sentence))
        .collect()
}

#[test]
fn reserved_sls_must_not_be_given() {
    for (dialect, statement) in [
        (Dialect::OpenSm, "reserved-sl: 1,3-4 MPI # fixed"),
        (Dialect::Rfc02Text, "reserved-sl: 1,3-4 MPI"),
    ] {
        let text = text_of(dialect, "qos-class: 1")
            .replace("end-qos-levels", &format!("{statement}\nend-qos-levels"));
        let policy = read_with(dialect, &text, &ParseOptions::default()).unwrap();
        assert_eq!(policy.reserved_sls[0].name, "mpi");
        assert_eq!(policy.reserved_sls[0].sls.pairs(), [(1, 1), (3, 4)]);
        let found = findings(&text, LintId::RESERVED_SL);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, Severity::Error);
        assert!(
            found[0]
                .1
                .ends_with("gives SL 1, which is reserved for mpi"),
            "{found:?}"
        );
        let kept = text.replace("1,3-4", "3-4");
        assert!(findings(&kept, LintId::RESERVED_SL).is_empty());
    }
    let xml = text_of(Dialect::Rfc01Xml, "").replace(
        "</qos-levels>",
        "<reserved-sl>0 mpi</reserved-sl></qos-levels>",
    );
    assert_eq!(findings(&xml, LintId::RESERVED_SL).len(), 1);
    for wrong in ["16 mpi", "mpi", "3", "3 mpi rest", ""] {
        let text = LEVELS.replace(
            "end-qos-levels",
            &format!("reserved-sl: {wrong}\nend-qos-levels"),
        );
        let error = read_with(Dialect::OpenSm, &text, &ParseOptions::default()).unwrap_err();
        assert_eq!(error.line(), 10, "{wrong}");
    }
}

#[test]
fn no_sl_is_kept_on_a_torus() {
    let text = LEVELS.replace("end-qos-levels", "reserved-sl: 3 mpi\nend-qos-levels");
    let policy = parse_as(&text, None, &ParseOptions::default()).unwrap();
    let config = PartitionsConfig::default();
    let partitions = Partitions::new(&config, &[], PartitionOptions::default());
    let count = |sl_bits| {
        let view = FabricView {
            ports: &[],
            partitions: &partitions,
            sl_bits,
        };
        let found = lint(&policy, Some(&view), None);
        let told =
            |it: &&policy::lint::Finding| it.id == LintId::TORUS && it.sentence.contains("mpi");
        found.iter().filter(told).count()
    };
    assert_eq!(count(FabricView::TORUS_BITS), 1);
    assert_eq!(count(FabricView::ALL_BITS), 0);
}

#[test]
fn wild_ids_and_extensions_are_told() {
    let of = |entries: &str, id| findings(&text_of(Dialect::OpenSm, entries), id);
    for wild in [
        "0x1071144",
        "0x7000000000000001",
        "0x3000000000000000-0x3000000000000010",
    ] {
        let found = of(&format!("service-id: {wild}"), LintId::WILD_ID);
        assert_eq!(found.len(), 1, "{wild}");
        assert_eq!(found[0].0, Severity::Info);
    }
    for known in [
        "nfs",
        "22",
        "0x1061144",
        "0x2c90200402bd4",
        "0-0xffffffffffffffff",
        "tcp",
    ] {
        assert!(
            of(&format!("service-id: {known}"), LintId::WILD_ID).is_empty(),
            "{known}"
        );
    }
    let told = of("ulp: nfs\nulp: iser\nservice-id: sdp", LintId::OPENSM);
    let told: Vec<_> = told.iter().map(|(_, sentence)| sentence.as_str()).collect();
    assert_eq!(
        told,
        [
            "ulp is an extension, used 2 times; OpenSM refuses this file",
            "a service by name is an extension; OpenSM refuses this file",
        ]
    );
}

#[test]
fn what_opensm_reads_means_the_same() {
    // Words of ours inside names and descriptions are just that.
    let text = text_of(Dialect::OpenSm, "use: ulp: nfs\nservice-id: 22")
        .replace("name: L1", "name: ulp")
        .replace("qos-level-name: L1", "qos-level-name: ulp");
    let policy = read_with(Dialect::OpenSm, &text, &ParseOptions::default()).unwrap();
    assert_eq!(policy.rules[0].purpose.as_ref().unwrap().value, "ulp: nfs");
    assert!(policy.extensions.is_empty());
}
