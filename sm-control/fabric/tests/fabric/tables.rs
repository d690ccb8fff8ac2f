//! QoS tables from options, against what OpenSM programmed.

use sa_fabric::options::{PortClass, VlArbEntry, fit_sl2vl, fit_vl_arb};
use sa_fabric::{OpenSmOptions, PortRef, Subnet, SubnetOptions};
use sa_wire::SlToVl;

use crate::common::{file, golden, text};

/// As `smpquery sl2vl` prints a table.
fn sl2vl_text(input: u8, output: u8, table: SlToVl) -> String {
    let vls: String = table.0.iter().map(|vl| format!("{vl:2}|")).collect();
    format!("ports: in {input:2}, out {output:2}: |{vls}")
}

/// As `smpquery vlarb` prints a table, with line ends as in JSON.
fn vl_arb_text(table: &[VlArbEntry]) -> String {
    let cells = |value: fn(&VlArbEntry) -> u8| -> String {
        let cell = |entry| format!("{:<4}|", format!("0x{:X}", value(entry)));
        table.iter().map(cell).collect()
    };
    format!(
        "VL    : |{}\\nWEIGHT: |{}",
        cells(|entry| entry.vl),
        cells(|entry| entry.weight)
    )
}

fn options(scenario: &str) -> OpenSmOptions {
    let conf = file(&golden("policy/scenarios").join(scenario), "opensm.conf");
    let bytes = conf.map_or_else(Vec::new, |input| input.bytes);
    OpenSmOptions {
        qos: true,
        ..OpenSmOptions::parse(&bytes).unwrap()
    }
}

fn check(scenario: &str) {
    let options = options(scenario);
    let fabric = file(&golden("policy/fabrics"), "tree.net")
        .unwrap()
        .fabric()
        .unwrap();
    let sm_node = Some("H1");
    let subnet = Subnet::new(
        fabric,
        &SubnetOptions {
            sm_node,
            ..SubnetOptions::default()
        },
    )
    .unwrap();
    let topology = subnet.topology(&options);
    let recorded = text(&golden("policy/scenarios").join(scenario), "scenario.json");
    let h1 = subnet.end_ports()[subnet.find("H1").unwrap()].at;
    let sw1 = PortRef {
        node: subnet.find_switch("SW1").unwrap(),
        port: 7,
    };
    for (at, class) in [(h1, PortClass::Ca), (sw1, PortClass::SwitchExternal)] {
        let tables = options.qos_tables(class);
        let lanes = subnet.operational_vls(at, &options);
        let caps = subnet.fabric().vl_arb(at);
        let (low, high) = (&tables.vlarb_low, &tables.vlarb_high);
        assert!(recorded.contains(&vl_arb_text(&fit_vl_arb(low, caps.low, lanes))));
        assert!(recorded.contains(&vl_arb_text(&fit_vl_arb(high, caps.high, lanes))));
        let output = if class == PortClass::Ca { 0 } else { at.port };
        assert!(recorded.contains(&sl2vl_text(0, output, fit_sl2vl(tables.sl2vl, lanes))));
    }
    let host = &topology.end_ports[subnet.find("H1").unwrap()];
    assert!(recorded.contains(&sl2vl_text(0, 0, host.configured_sl2vl)));
    let external = topology.switches[0].ports[7].configured_sl2vl;
    assert!(recorded.contains(&sl2vl_text(8, 7, external)));
}

#[test]
fn default_tables_are_those_programmed() {
    check("tables-default");
}

#[test]
fn short_long_and_wild_tables_are_those_programmed() {
    check("tables-set");
}

/// Every opensm.conf of the corpora is read without complaint about its keys.
#[test]
fn recorded_options_are_read() {
    for corpus in ["policy/scenarios", "torus"] {
        for entry in std::fs::read_dir(golden(corpus)).unwrap() {
            let case = entry.unwrap().path();
            if let Some(input) = file(&case, "opensm.conf") {
                let options = OpenSmOptions::parse(&input.bytes).unwrap();
                assert!(
                    options.not_used.is_empty(),
                    "{}: {:?}",
                    case.display(),
                    options.not_used
                );
            }
        }
    }
}
