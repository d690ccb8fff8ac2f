use proptest::prelude::*;

use super::*;

fn options(text: &str) -> OpenSmOptions {
    OpenSmOptions::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

fn said(text: &str) -> Vec<String> {
    let found = torus_warnings(&options(text));
    found.iter().map(ToString::to_string).collect()
}

/// Tables that suit, all given by the classes themselves.
const FAIR: &str = "\
qos_swe_vlarb_high 0:64,1:64,2:64,3:64,4:32,5:32,6:32,7:32
qos_swe_vlarb_low 0:8,1:8,2:8,3:8,4:4,5:4,6:4,7:4
qos_ca_vlarb_high 0:64,1:64
qos_ca_vlarb_low 0:4,1:4
qos_sw0_vlarb_high 0:64,1:64
qos_sw0_vlarb_low 0:4,1:4
qos_rtr_vlarb_high 0:64,1:64
qos_rtr_vlarb_low 0:4,1:4
";

#[test]
fn fair_tables_raise_nothing() {
    assert!(said(FAIR).is_empty());
}

#[test]
fn defaults_raise_three() {
    let expected = [
        "the default vlarb_high of OpenSM is unfair between switches: VLs 0-3 weigh 4,0,0,0, \
         torus-2QoS needs them equal; set in opensm.conf: \
         qos_swe_vlarb_high 0:4,1:4,2:4,3:4,4:4,5:4,6:4,7:4",
        "the default vlarb_low of OpenSM is unfair between switches: VLs 0-3 weigh 0,4,4,4, \
         torus-2QoS needs them equal; set in opensm.conf: \
         qos_swe_vlarb_low 0:4,1:4,2:4,3:4,4:4,5:4,6:4,7:4",
        "the default vlarb_low of OpenSM gives weight to VLs that torus-2QoS does not use on CA \
         ports, on switch ports 0, on router ports: VLs 2-7 weigh 4,4,4,4,4,4; set in \
         opensm.conf: qos_ca_vlarb_low 0:4,1:4 (and the same for qos_sw0_vlarb_low, \
         qos_rtr_vlarb_low)",
    ];
    assert_eq!(said(""), expected);
}

#[test]
fn both_levels_are_looked_at_on_their_own() {
    let text = format!("{FAIR}qos_swe_vlarb_high 0:9,1:8,2:8,3:8,4:4,5:4,6:4\n");
    let expected = "qos_swe_vlarb_high is unfair between switches: VLs 0-3 weigh 9,8,8,8 and VLs \
                    4-7 weigh 4,4,4,0, torus-2QoS needs them equal; set in opensm.conf: \
                    qos_swe_vlarb_high 0:9,1:9,2:9,3:9,4:4,5:4,6:4,7:4";
    assert_eq!(said(&text), [expected]);
    let text = format!("{FAIR}qos_swe_vlarb_low 0:8,1:8,2:8,3:8,5:1\n");
    assert!(said(&text)[0].contains("switches: VLs 4-7 weigh 0,1,0,0,"));
    let text = format!("{FAIR}qos_swe_vlarb_low 0:8,1:8,2:8,3:8,9:1\n");
    assert!(said(&text).is_empty(), "VL 9 is not looked at");
}

#[test]
fn classes_without_their_own_share_a_finding() {
    let text = "qos_vlarb_high 0:8,1:8,2:8,3:8,4:2,5:2,6:2,7:2\nqos_vlarb_low 0:1,1:1\n\
                qos_rtr_vlarb_high 5:3\n";
    let expected = [
        "qos_vlarb_low is unfair between switches: VLs 0-3 weigh 1,1,0,0, torus-2QoS needs them \
         equal; set in opensm.conf: qos_swe_vlarb_low 0:1,1:1,2:1,3:1",
        "qos_rtr_vlarb_high gives weight to VLs that torus-2QoS does not use on router ports: VLs \
         2-7 weigh 0,0,0,3,0,0; set in opensm.conf: qos_rtr_vlarb_high 0:4,1:4",
        "qos_vlarb_high gives weight to VLs that torus-2QoS does not use on CA ports, on switch \
         ports 0: VLs 2-7 weigh 8,8,2,2,2,2; set in opensm.conf: qos_ca_vlarb_high 0:8,1:8 (and \
         the same for qos_sw0_vlarb_high)",
    ];
    assert_eq!(said(text), expected);
}

#[test]
fn few_vls_are_warned_of_where_they_count() {
    let with = |text: &str| said(&format!("{FAIR}{text}"));
    assert!(with("qos_max_vls 8\nqos_ca_max_vls 2\n").is_empty());
    assert!(with("qos_max_vls 0\n").is_empty(), "not given");
    assert_eq!(
        with("qos_max_vls 4\n"),
        [
            "qos_max_vls is 4, torus-2QoS has a use for 8 VLs between switches; remove it (it limits \
          nothing, max_op_vls does) or set in opensm.conf: qos_swe_max_vls 8"
        ]
    );
    assert_eq!(
        with("qos_max_vls 1\nqos_swe_max_vls 8\nqos_sw0_max_vls 2\n"),
        [
            "qos_max_vls is 1, torus-2QoS has a use for 2 VLs on CA ports, on router ports; remove \
          it (it limits nothing, max_op_vls does) or set in opensm.conf: qos_ca_max_vls 2 (and \
          the same for qos_rtr_max_vls)"
        ]
    );
    assert_eq!(with("qos_swe_max_vls 7\nqos_rtr_max_vls 1\n").len(), 2);
}

#[test]
fn configured_sl2vl_tables_have_no_effect() {
    let text = format!("{FAIR}qos_sl2vl 0,0\nqos_swe_sl2vl 0,1\nqos_ca_sl2vl 0\n");
    assert_eq!(
        said(&text),
        [
            "torus-2QoS makes the SL2VL tables of all ports itself, to be free of deadlock; remove \
          from opensm.conf what has no effect: qos_ca_sl2vl, qos_swe_sl2vl, qos_sl2vl"
        ]
    );
}

/// The lines that a warning tells to write.
fn advised(warning: &TorusWarning) -> String {
    let text = warning.to_string();
    let (_, advice) = text.split_once("set in opensm.conf: ").unwrap();
    let (line, others) = advice
        .split_once(" (and the same for ")
        .unwrap_or((advice, ""));
    let (_, value) = line.split_once(' ').unwrap();
    let others = others
        .trim_end_matches(')')
        .split(", ")
        .filter(|name| !name.is_empty());
    let others: String = others.map(|name| format!("{name} {value}\n")).collect();
    format!("{line}\n{others}")
}

fn table() -> impl Strategy<Value = String> {
    let entry = (0..17u8, 0..300u16).prop_map(|(vl, weight)| format!("{vl}:{weight}"));
    proptest::collection::vec(entry, 0..12).prop_map(|entries| format!("0:0,{}", entries.join(",")))
}

proptest! {
    #[test]
    fn what_is_advised_helps(
        tables in proptest::collection::vec(
            (proptest::sample::select(vec!["", "ca_", "sw0_", "swe_", "rtr_"]),
             proptest::sample::select(vec!["high", "low"]),
             table()),
            0..6,
        ),
        max_vls in 0..10u8,
    ) {
        let mut text = format!("qos_max_vls {max_vls}\n");
        for (class, priority, table) in tables {
            text.push_str(&format!("qos_{class}vlarb_{priority} {table}\n"));
        }
        for warning in torus_warnings(&options(&text)) {
            text.push_str(&advised(&warning));
        }
        prop_assert_eq!(said(&text), Vec::<String>::new(), "{}", text);
    }
}
