//! The policies that the RFCs give as examples. The expected tables are written down from the
//! RFCs' text and comments, for a fabric that has what they speak of.

use std::collections::BTreeMap;

use sa_compiler::qos_setup::TableSource;

use super::site::{Applied, Site};
use sa_tests::golden::{golden, text};

/// Two storage targets, the first behind a cable that carries 2 VLs only; the virtual servers'
/// CAs; a router. All on S1 but the router and the second port of vs3's second CA.
const NET: &str = "\
switchguid=0x20\nSwitch 6 \"S1\"\n\
[1] \"ST1\"[1] v=2\n[2] \"ST2\"[1]\n[3] \"V1\"[1]\n[4] \"V3\"[1]\n[5] \"W3\"[1]\n[6] \"S2\"[1]\n\n\
switchguid=0x21\nSwitch 3 \"S2\"\n[1] \"S1\"[6]\n[2] \"R1\"[1]\n[3] \"W3\"[2]\n\n\
caguid=0x50\nHca 1 \"ST1\"\n[1] (1000000000000001) \"S1\"[1]\n\n\
caguid=0x52\nHca 1 \"ST2\"\n[1] (1000000000000002) \"S1\"[2]\n\n\
caguid=0x54\nHca 1 \"V1\" # \"vs1 HCA-1\"\n[1] (55) \"S1\"[3]\n\n\
caguid=0x56\nHca 1 \"V3\" # \"vs3 HCA-1\"\n[1] (57) \"S1\"[4]\n\n\
caguid=0x58\nHca 2 \"W3\" # \"vs3 HCA-2\"\n[1] (59) \"S1\"[5]\n[2] (5a) \"S2\"[3]\n\n\
rtguid=0x60\nRt 1 \"R1\"\n[1] (61) \"S2\"[2]\n\n";

/// Part1 holds the second storage target and vs1.
const PARTITIONS: &str = "\
Default=0x7fff : ALL=full ;\nPart1=0x1 : 0x1000000000000002=full, 0x55=full ;\n\
Storage1=0x2 : 0x1000000000000001=full ;\nStorage2=0x3 : 0x1000000000000002=full ;\n";

fn apply(file: &str, partitions_as_groups: bool) -> Applied {
    let policy = std::fs::read(golden("policy-rfc").join(file)).unwrap();
    let policy = sa_text::decode(&policy).into_owned();
    let mut site = Site {
        net: NET,
        policy: &policy,
        options: "qos_high_limit 3\nqos_vlarb_high 0:7\nqos_vlarb_low 1:9\n",
        partitions: Some(PARTITIONS),
        // 15 data VLs, which the examples' tables of VL arbitration speak of.
        vls: Some(5),
        ..Site::default()
    };
    site.reading.partitions_as_groups = partitions_as_groups;
    site.apply()
}

/// Tables by device (CA ports with their number), input and output port.
type Tables = BTreeMap<(String, u8, u8), [u8; 16]>;

fn sl2vl(applied: &Applied) -> Tables {
    let tables = applied.scoped().into_iter();
    let table = |(device, input, output): &(String, u8, u8)| {
        let (name, port) = device.split_once(':').unwrap_or((device, ""));
        let port = applied.port(name, port.parse().unwrap_or(*output));
        port.sl2vl[usize::from(*input)].table.0
    };
    tables.map(|place| (place.clone(), table(&place))).collect()
}

fn expected(places: &[(&str, std::ops::RangeInclusive<u8>, &[u8])], table: [u8; 16]) -> Tables {
    let mut all = Tables::new();
    for (device, inputs, outputs) in places {
        for input in inputs.clone() {
            all.extend(
                outputs
                    .iter()
                    .map(|out| (((*device).to_owned(), input, *out), table)),
            );
        }
    }
    all
}

/// High: eight entries, as many as the ports hold. Low: seven, and one left over.
fn assert_arbitration(applied: &Applied, places: &[(&str, u8)]) {
    let high = [
        (0, 255),
        (1, 127),
        (2, 63),
        (3, 31),
        (4, 15),
        (5, 7),
        (6, 3),
        (7, 1),
    ];
    let low = [
        (8, 255),
        (9, 127),
        (10, 63),
        (11, 31),
        (12, 15),
        (13, 7),
        (14, 3),
        (0, 0),
    ];
    for port in &applied.tables {
        let pairs = |table: &[sa_fabric::options::VlArbEntry]| -> Vec<(u8, u8)> {
            table.iter().map(|entry| (entry.vl, entry.weight)).collect()
        };
        let (found_high, found_low) = (pairs(&port.vlarb_high), pairs(&port.vlarb_low));
        let place = (applied.name(port), port.at.port);
        if places.contains(&place) {
            assert_eq!(
                (found_high, found_low),
                (high.to_vec(), low.to_vec()),
                "{place:?}"
            );
            assert_eq!(port.high_limit, 10);
        } else {
            assert_eq!((found_high[0], found_low[0]), ((0, 7), (1, 9)), "{place:?}");
            assert_eq!(port.high_limit, 3);
            assert_eq!(port.vlarb_source, TableSource::Options);
        }
    }
}

const XML: &str = "rfc-0.1-example.xml";
const TEXT: &str = "rfc-0.2-example.conf";

/// Scope 1: group Part1, all its tables. Scope 2: the ports connected to Storage, output port 1
/// only. Both tables lack SL 15, which gets VL 0.
#[test]
fn rfc_0_1() {
    let applied = apply(XML, true);
    let identity = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0];
    let mut tables = expected(&[("ST2:1", 0..=0, &[0]), ("V1:1", 0..=0, &[0])], identity);
    let two_vls = [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0];
    tables.extend(expected(&[("S1", 0..=6, &[1])], two_vls));
    assert_eq!(sl2vl(&applied), tables);
    assert_arbitration(&applied, &[("ST1", 1), ("ST2", 1)]);
    // The first storage target operates 2 VLs of those that its tables speak of.
    let expected = [
        "warning: 44:4: vlarb-high names VL 2,3,4,5,6,7 on ports that operate VLs 0 to 1 only: ST1 \
         port 1 (choose VLs from 0 to 1)",
        "warning: 44:4: vlarb-low names VL 8,9,10,11,12,13,14 on ports that operate VLs 0 to 1 \
         only: ST1 port 1 (choose VLs from 0 to 1)",
    ];
    assert_eq!(applied.problems(), expected);
}

/// The example names a group that it does not have: that scope alone has no effect.
#[test]
fn rfc_0_1_as_it_stands() {
    let applied = apply(XML, false);
    let two_vls = [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0];
    assert_eq!(sl2vl(&applied), expected(&[("S1", 0..=6, &[1])], two_vls));
    assert_arbitration(&applied, &[("ST1", 1), ("ST2", 1)]);
    let said = applied.problems();
    let refused = "there is no port-group 'Part1'; the scope is skipped";
    assert!(
        said[0].starts_with("error: 31:") && said[0].contains(refused),
        "{said:?}"
    );
    assert_eq!(said.len(), 3, "{said:?}");
}

/// Scope 1: group Part1. Scope 2: towards Storage2, which is ST2, and from Storage1, which is ST1.
/// VL arbitration: Storage, and the ports connected to it.
#[test]
fn rfc_0_2() {
    let applied = apply(TEXT, true);
    let identity = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 7];
    let mut tables = expected(&[("ST2:1", 0..=0, &[0]), ("V1:1", 0..=0, &[0])], identity);
    let two_vls = [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0];
    let across: &[(&str, _, &[u8])] = &[("S1", 0..=6, &[2]), ("S1", 1..=1, &[1, 2, 3, 4, 5, 6])];
    tables.extend(expected(across, two_vls));
    assert_eq!(sl2vl(&applied), tables);
    assert_arbitration(&applied, &[("ST1", 1), ("ST2", 1), ("S1", 1), ("S1", 2)]);
    let said = applied.problems();
    assert_eq!(said.len(), 2, "{said:?}");
    let places = "on ports that operate VLs 0 to 1 only: ST1 port 1, S1 port 1 (";
    assert!(
        said.iter()
            .all(|said| said.starts_with("warning: 46:") && said.contains(places)),
        "{said:?}"
    );
}

#[test]
fn rfc_0_2_as_it_stands() {
    let applied = apply(TEXT, false);
    assert!(applied.scoped().is_empty());
    assert_arbitration(&applied, &[("ST1", 1), ("ST2", 1), ("S1", 1), ("S1", 2)]);
    let errors = applied
        .findings
        .iter()
        .filter(|said| said.starts_with("error"));
    let errors: Vec<_> = errors.collect();
    assert_eq!(errors.len(), 3, "{errors:?}");
    for (error, name) in errors.iter().zip(["Part1", "Storage2", "Storage1"]) {
        assert!(
            error.contains(&format!("no port-group '{name}'")),
            "{error}"
        );
    }
    assert!(text(&golden("policy-rfc"), TEXT).is_some());
}
