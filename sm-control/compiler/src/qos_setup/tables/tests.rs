use super::*;
use crate::pipeline::{Inputs, read, route};

/// A switch with an enhanced port 0 and one without, a host, a router.
const NET: &str = "\
switchguid=0x20\nSwitch 4 \"S1\" # \"s1\" enhanced port 0 lid 0 lmc 0\n\
[1] \"S2\"[1]\n[2] \"H1\"[1]\n\n\
switchguid=0x21\nSwitch 4 \"S2\"\n[1] \"S1\"[1]\n[3] \"R1\"[1]\n\n\
caguid=0x10\nHca 2 \"H1\"\n[1] \"S1\"[2]\n\n\
rtguid=0x30\nRt 1 \"R1\"\n[1] \"S2\"[3]\n\n";

const OPTIONS: &str = "\
qos_high_limit 1\nqos_swe_high_limit 2\nqos_sw0_high_limit 3\nqos_rtr_high_limit 4\n\
qos_vlarb_high 0:1\nqos_rtr_vlarb_high 1:1\nqos_sw0_vlarb_low 6:6\n\
qos_ca_sl2vl 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1\n\
qos_sw0_sl2vl 3,3,3,3,3,3,3,3,3,3,3,3,3,3,3,3\n\
qos_swe_sl2vl 2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2\n";

fn tables(options: &str, vl_cap: u8) -> Vec<PortTables> {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let inputs = Inputs {
        fabric: write("net", NET),
        opensm_conf: Some(write("opensm.conf", options)),
        is_q_given: true,
        vl_cap: DataVls::from_code(vl_cap).ok(),
        ..Inputs::default()
    };
    let parts = route(read(&inputs).unwrap()).unwrap();
    port_tables(&parts).collect()
}

fn find(all: &[PortTables], guid: u64, port: u8) -> &PortTables {
    all.iter()
        .find(|tables| tables.guid.get() == guid && tables.at.port == port)
        .unwrap()
}

#[test]
fn ports_follow_their_class() {
    let all = tables(OPTIONS, 4);
    let places: Vec<_> = all
        .iter()
        .map(|port| (port.guid.get(), port.at.port))
        .collect();
    let expected = [
        (0x11, 1),
        (0x20, 0),
        (0x20, 1),
        (0x20, 2),
        (0x21, 1),
        (0x21, 3),
        (0x31, 1),
    ];
    assert_eq!(
        places, expected,
        "not port 0 of S2, nothing without a cable"
    );
    let limits: Vec<_> = all.iter().map(|port| port.high_limit).collect();
    assert_eq!(limits, [1, 3, 2, 2, 2, 2, 4]);
    let uses: Vec<_> = all.iter().map(|port| port.place).collect();
    let expected = [
        PortUse::Ca,
        PortUse::Port0,
        PortUse::Switch,
        PortUse::Local,
        PortUse::Switch,
        PortUse::Local,
        PortUse::Router,
    ];
    assert_eq!(uses, expected);
    let entry = |vl, weight| VlArbEntry { vl, weight };
    assert_eq!(find(&all, 0x31, 1).vlarb_high[0], entry(1, 1));
    assert_eq!(find(&all, 0x20, 2).vlarb_high[0], entry(0, 1));
    assert_eq!(
        find(&all, 0x20, 0).vlarb_low[..2],
        [entry(6, 6), entry(0, 0)]
    );
    assert!(
        all.iter()
            .all(|port| port.vlarb_high.len() == 8 && port.vlarb_low.len() == 8)
    );
}

/// OpenSM goes over an enhanced port 0 twice: as an output of the switch, then as an end port.
#[test]
fn port_0_gets_tables_of_two_classes() {
    let all = tables(OPTIONS, 4);
    let rows = |guid, port| -> Vec<_> {
        let tables = find(&all, guid, port);
        let rows = tables.sl2vl.iter();
        rows.map(|row| (row.input, row.output, row.table.0[5]))
            .collect()
    };
    let expected = [(0, 0, 3), (1, 0, 2), (2, 0, 2), (3, 0, 2), (4, 0, 2)];
    assert_eq!(rows(0x20, 0), expected);
    assert_eq!(rows(0x20, 2)[..2], [(0, 2, 2), (1, 2, 2)]);
    assert_eq!(rows(0x11, 1), [(0, 0, 1)]);
    assert_eq!(rows(0x31, 1), [(0, 0, 5)]);
}

#[test]
fn one_vl_needs_no_arbitration() {
    let all = tables(OPTIONS, 1);
    assert_eq!(all.len(), 7);
    for port in all {
        assert!(port.vlarb_high.is_empty() && port.vlarb_low.is_empty());
        assert_eq!(port.high_limit, 0);
        assert!(port.sl2vl.iter().all(|row| row.table == SlToVl([0; 16])));
    }
}

#[test]
fn without_qos_no_port_gets_tables() {
    assert!(tables("qos FALSE\n", 4).is_empty());
}
