//! QoS tables and warnings that OpenSM's torus-2QoS gave in `golden/torus-vlarb`, against ours.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should stop"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use sa_compiler::qos_setup::{Origin, Priority, TorusWarning, torus_warnings};
use sa_fabric::OpenSmOptions;
use sa_fabric::options::PortClass;
use sa_tests::cli::sapphire;
use sa_tests::golden::{entries, existing, golden, name};
use serde_json::{Value, json};

#[test]
fn tables_are_those_that_opensm_programs() {
    let mut compared = 0;
    for case in cases() {
        let ours = setup(&case);
        let recorded = fs::read_to_string(case.join("tables.txt")).unwrap();
        for section in recorded.split("== ").skip(1) {
            compared += compare(&case, section, &ours);
        }
    }
    println!("{compared} sections equal");
    assert_eq!(compared, 6 * 10 * 2);
}

#[test]
fn warnings_are_those_that_opensm_gives() {
    for case in cases() {
        let conf = existing(&case, "opensm.conf").map(|path| fs::read(path).unwrap());
        let options = OpenSmOptions::parse(&conf.unwrap_or_default()).unwrap();
        let found = torus_warnings(&options);
        let mut ours: Vec<String> = found.iter().flat_map(keys).collect();
        let recorded = fs::read_to_string(case.join("warnings.txt")).unwrap();
        let mut theirs: Vec<String> = recorded.lines().map(key).collect();
        ours.sort();
        theirs.sort();
        assert_eq!(ours, theirs, "{}", case.display());
    }
}

#[test]
fn route_and_setup_warn_the_same() {
    let case = golden("torus-vlarb/own");
    let said = |verb: &str| {
        let output = sapphire(&arguments(verb, &case), "");
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let (setup, route) = (said("setup"), said("route"));
    let conf = fs::read(case.join("opensm.conf")).unwrap();
    let found = torus_warnings(&OpenSmOptions::parse(&conf).unwrap());
    assert_eq!(found.len(), 7);
    for warning in found {
        let line = format!("warning: {warning}\n");
        assert!(
            setup.contains(&line) && route.contains(&line),
            "{line}{setup}{route}"
        );
    }
}

#[test]
fn people_see_equal_ports_once() {
    let output = sapphire(&arguments("setup", &golden("torus-vlarb/fair")), "");
    let printed = String::from_utf8(output.stdout).unwrap();
    let expected = "\
between switches  38     3      4:32,0:64,1:64,2:64,3:64,5:32,6:32,7:32  \
0:8,1:8,2:8,3:8,4:4,5:4,6:4,7:4  ";
    assert!(printed.contains(expected), "{printed}");
    let local = "switch to host    18     3      1:32,0:64 ";
    assert!(printed.contains(local), "{printed}");
    assert!(printed.lines().count() < 30, "{printed}");
}

#[test]
fn without_qos_nothing_is_programmed() {
    let net = golden("torus-vlarb/net");
    let output = sapphire(
        &[
            "setup",
            "--engine",
            "minhop",
            "--fabric",
            net.to_str().unwrap(),
            "--no-qos",
        ],
        "",
    );
    assert!(output.status.success() && output.stdout.is_empty());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("QoS is off: no port gets tables"), "{said}");
}

fn cases() -> Vec<PathBuf> {
    let all = entries(&golden("torus-vlarb"));
    let cases: Vec<_> = all.into_iter().filter(|path| path.is_dir()).collect();
    assert_eq!(cases.len(), 6);
    cases
}

fn arguments<'a>(verb: &'a str, case: &Path) -> Vec<&'a str> {
    let text = |path: PathBuf| -> &'static str { path.to_str().unwrap().to_owned().leak() };
    let above = case.parent().unwrap();
    let mut all = vec![
        verb,
        "--fabric",
        text(above.join("net")),
        "--torus-conf",
        text(above.join("torus-2QoS.conf")),
    ];
    if let Some(conf) = existing(case, "opensm.conf") {
        all.extend(["--opensm-conf", text(conf)]);
    }
    all
}

/// Lines of `sapphire setup --json` by node and port.
fn setup(case: &Path) -> BTreeMap<String, Value> {
    let mut arguments = arguments("setup", case);
    arguments.push("--json");
    let output = sapphire(&arguments, "");
    assert!(output.status.success());
    let printed = String::from_utf8(output.stdout).unwrap();
    let lines = printed.lines().map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        let place = format!("{} {}", line["node"].as_str().unwrap(), line["port"]);
        (place, line)
    });
    let by_place: BTreeMap<_, _> = lines.collect();
    // 38 ports between switches, 18 from and 18 to hosts and the router.
    assert_eq!(by_place.len(), 38 + 2 * 19, "{}", name(case));
    by_place
}

/// Compares a section of a record; how many there were to compare.
fn compare(case: &Path, section: &str, ours: &BTreeMap<String, Value>) -> usize {
    let (title, lines) = section.split_once('\n').unwrap();
    let (command, place) = title.split_once(' ').unwrap();
    let Some(port) = ours.get(place) else {
        assert_eq!(place, "S1_0_0 0", "only base ports 0 get nothing");
        return 0;
    };
    match command {
        "vlarb" => {
            let cells: Vec<Vec<u64>> = lines.lines().map(hexadecimal).collect();
            let table = |vls: usize| -> Value {
                let pairs = cells[vls].iter().zip(&cells[vls + 1]);
                pairs.map(|(vl, weight)| json!([vl, weight])).collect()
            };
            assert_eq!(port["vlarb_low"], table(0), "{}: {title}", name(case));
            assert_eq!(port["vlarb_high"], table(2), "{}: {title}", name(case));
        }
        "sl2vl" => {
            let rows: Value = lines.lines().map(mapping).collect();
            assert_eq!(port["sl2vl"], rows, "{}: {title}", name(case));
        }
        _ => return 0,
    }
    1
}

/// The cells of `VL    : |0x0 |0x1 |`.
fn hexadecimal(line: &str) -> Vec<u64> {
    let cells = line.split('|').skip(1).filter(|cell| !cell.is_empty());
    cells
        .map(|cell| u64::from_str_radix(cell.trim().trim_start_matches("0x"), 16).unwrap())
        .collect()
}

/// `ports: in  0, out  5: | 0| 0|..` as we print it.
fn mapping(line: &str) -> Value {
    let digits = line.split(|c: char| !c.is_ascii_digit());
    let numbers = digits.filter(|word| !word.is_empty());
    let numbers: Vec<u64> = numbers.map(|word| word.parse().unwrap()).collect();
    json!({"in": numbers[0], "out": numbers[1], "vl": numbers[2..]})
}

/// What a recorded line is about.
fn key(line: &str) -> String {
    let (function, text) = line.split_once(": ").unwrap();
    let word = |text: &'static str| line.contains(text);
    let options: Vec<_> = text
        .split(' ')
        .filter(|word| word.starts_with("qos"))
        .collect();
    let origin = |own: bool| match (word("default"), own) {
        (true, _) => "default",
        (_, true) => "own",
        (_, false) => "common",
    };
    match (function, options.as_slice()) {
        ("check_vlarb_config", [option]) => {
            let own = origin(option.starts_with("qos_swe"));
            let (_, priority) = option.rsplit_once('_').unwrap();
            format!("unequal {own} {priority}")
        }
        ("check_ep_vlarb_config", [option]) => format!("unused own {option}"),
        ("check_ep_vlarb_config", [_, option]) => format!("unused {} {option}", origin(false)),
        (_, [option]) if word("max_vls") => {
            let between = function == "check_qos_swe_config";
            format!("few {} {option}", if between { 8 } else { 2 })
        }
        (_, [option]) if word("override") => format!("sl2vl {option}"),
        _ => panic!("{line}"),
    }
}

/// The lines that OpenSM has for a warning of ours.
fn keys(warning: &TorusWarning) -> Vec<String> {
    let field = |priority: &Priority| match priority {
        Priority::High => "high",
        Priority::Low => "low",
    };
    let word = |origin: &Origin| match origin {
        Origin::Own => "own",
        Origin::Common => "common",
        Origin::Default => "default",
    };
    match warning {
        TorusWarning::FewVls {
            classes,
            origin,
            needed,
            ..
        } => classes
            .iter()
            .map(|class| match origin {
                Origin::Own => format!("few {needed} {}_max_vls", prefix(*class)),
                _ => format!("few {needed} qos_max_vls"),
            })
            .collect(),
        TorusWarning::UnequalWeights {
            priority, origin, ..
        } => {
            vec![format!("unequal {} {}", word(origin), field(priority))]
        }
        TorusWarning::UnusedVlWeights {
            priority,
            classes,
            origin,
            ..
        } => classes
            .iter()
            .map(|class| {
                let (origin, class) = (word(origin), prefix(*class));
                format!("unused {origin} {class}_vlarb_{}", field(priority))
            })
            .collect(),
        TorusWarning::SlToVlIgnored { options } => options
            .iter()
            .filter(|option| *option != "qos_sl2vl")
            .map(|option| format!("sl2vl {option}"))
            .collect(),
        _ => panic!("{warning}"),
    }
}

const fn prefix(class: PortClass) -> &'static str {
    match class {
        PortClass::Ca => "qos_ca",
        PortClass::SwitchPort0 => "qos_sw0",
        PortClass::SwitchExternal => "qos_swe",
        PortClass::Router => "qos_rtr",
    }
}
