//! The tables that OpenSM's torus-2QoS made in `golden/torus`, against ours, file by file; and
//! the proof over OpenSM's own.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should stop"
)]

use std::collections::BTreeSet;
use std::path::Path;

use sa_compiler::export::{self, Psl};
use sa_compiler::pipeline::{self, Inputs, Stamp};
use sa_tests::cli::sapphire;
use sa_tests::golden::{cases, copy_without, entries, existing, golden, name, text};
use serde_json::Value;

/// Files that must be the same to the byte.
const SAME_BYTES: [&str; 4] = [
    "opensm-torus.dump",
    "opensm-lfts.dump",
    "opensm-sl2vl.dump",
    "opensm-subnet.lst",
];

#[test]
fn tables_from_net_files_are_those_of_opensm() {
    let mut compared = 0;
    for case in cases("up") {
        let inputs = Inputs {
            fabric: case.join("net.xz"),
            lids: Some(case.join("opensm-subnet.lst.xz")),
            ..inputs(&case)
        };
        compared += compare(&case, &inputs);
    }
    println!("{compared} files equal");
    assert!(compared >= 27 * 5);
}

#[test]
fn tables_from_directories_are_those_of_opensm() {
    let mut compared = 0;
    for case in cases("up") {
        compared += compare(
            &case,
            &Inputs {
                fabric: case.clone(),
                ..inputs(&case)
            },
        );
    }
    println!("{compared} files equal");
    assert!(compared >= 27 * 5);
}

#[test]
fn what_opensm_refuses_is_refused() {
    let refused = cases("refused");
    for case in &refused {
        let out = tempfile::tempdir().unwrap();
        let output = sapphire(&route(case, out.path()), "");
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{}: {said}", case.display());
        assert!(said.contains("sapphire: "), "{said}");
        let written: Vec<_> = entries(out.path())
            .iter()
            .map(|path| name(path).to_owned())
            .collect();
        let placed = text(case, "opensm-torus.dump");
        let wanted: &[&str] = if placed.is_some() {
            &["opensm-torus.dump"]
        } else {
            &[]
        };
        assert_eq!(written, wanted, "{}", case.display());
        assert!(
            text(out.path(), "opensm-torus.dump") == placed,
            "{}",
            case.display()
        );
    }
    println!("{} refusals", refused.len());
    assert_eq!(refused.len(), 8);
}

#[test]
fn recorded_tables_are_free_of_loops() {
    let up = cases("up");
    for case in &up {
        let directory = case.to_str().unwrap();
        let verdict = check(&[directory]);
        verdict.expect_no_loop(case);
        assert_eq!(verdict.json["sls"], "psl");
    }
    println!("{} directories of dumps", up.len());
}

/// Without recorded SLs the rule of the engine counts, with both QoS levels.
#[test]
fn recorded_tables_are_free_of_loops_by_the_rule_of_the_engine() {
    for case in cases("up") {
        let copy = copy_without(&case, &["psl.xz"]);
        let conf = case.join("torus-2QoS.conf");
        let (directory, conf) = (copy.path().to_str().unwrap(), conf.to_str().unwrap());
        let verdict = check(&[directory, "--torus-conf", conf]);
        verdict.expect_no_loop(&case);
        assert_eq!(verdict.json["sls"], "torus-2QoS.conf");
    }
}

/// Rings are kept apart by VLs alone: with everything on VL 0 packets wait for each other.
#[test]
fn a_planted_loop_is_found_and_shown() {
    for case in ["s01-6x5", "s03-5x5x5", "s08-datelines-6x5x3"] {
        let case = golden("torus").join(case);
        let copy = copy_without(&case, &["opensm-sl2vl.dump.xz"]);
        let tables = text(&case, "opensm-sl2vl.dump").unwrap();
        let flat = tables.lines().map(all_on_vl_0).collect::<String>();
        std::fs::write(copy.path().join("opensm-sl2vl.dump"), flat).unwrap();
        let directory = copy.path().to_str().unwrap();
        let verdict = check(&[directory]);
        assert_eq!(verdict.code, 3, "{}", verdict.said);
        assert_eq!(verdict.json["acyclic"], false);
        let cycle = verdict.json["cycle"].as_array().unwrap();
        assert!(cycle.len() >= 3, "{cycle:?}");
        assert_eq!(
            verdict.said.trim_end(),
            "sapphire: the tables have a credit loop"
        );
        let shown = sapphire(&["check", directory], "");
        assert_eq!(shown.status.code(), Some(3));
        let shown = String::from_utf8(shown.stdout).unwrap();
        for step in cycle {
            assert!(shown.contains(step.as_str().unwrap()), "{shown}");
        }
        println!("{shown}");
    }
}

/// Everything but the fabric.
fn inputs(case: &Path) -> Inputs {
    Inputs {
        torus_conf: Some(case.join("torus-2QoS.conf")),
        opensm_conf: existing(case, "opensm.conf"),
        is_q_given: true,
        partitions: existing(case, "partitions.conf"),
        ..Inputs::default()
    }
}

fn route<'a>(case: &'a Path, out: &'a Path) -> Vec<&'a str> {
    let file = |file: &str| case.join(file).to_str().unwrap().to_owned().leak() as &str;
    let mut arguments = vec!["route", "--fabric", file("net.xz")];
    arguments.extend([
        "--torus-conf",
        file("torus-2QoS.conf"),
        "--out",
        out.to_str().unwrap(),
    ]);
    if existing(case, "opensm.conf").is_some() {
        arguments.extend(["--opensm-conf", file("opensm.conf")]);
    }
    arguments
}

/// Routes and exports, then compares every file that was recorded. Gives how many these are.
fn compare(case: &Path, inputs: &Inputs) -> usize {
    let compiled = pipeline::compile(inputs, Stamp::default())
        .unwrap_or_else(|error| panic!("{}: {error}", case.display()));
    let out = tempfile::tempdir().unwrap();
    export::all(out.path(), &compiled.parts, &compiled.snapshot, Psl::Always).unwrap();
    let mut compared = 0;
    for file in SAME_BYTES {
        compared += usize::from(same(case, file, out.path(), |text| text.to_owned()));
    }
    compared += usize::from(same(case, "psl", out.path(), sorted));
    let fdbs = golden("fabric/fdbs").join(name(case));
    compared += usize::from(same(&fdbs, "opensm.fdbs", out.path(), ports_only));
    compared
}

/// True when the file was recorded and ours is the same; false when it was not recorded.
fn same<T: PartialEq>(case: &Path, file: &str, out: &Path, view: impl Fn(&str) -> T) -> bool {
    let Some(wanted) = text(case, file) else {
        return false;
    };
    let got = text(out, file).unwrap_or_else(|| panic!("{}: no {file}", case.display()));
    if view(&wanted) == view(&got) {
        return true;
    }
    let differing = wanted
        .lines()
        .zip(got.lines())
        .find(|(one, other)| one != other);
    panic!(
        "{}: {file} differs, first in {differing:#?}",
        case.display()
    );
}

fn sorted(text: &str) -> BTreeSet<String> {
    text.lines().map(str::to_owned).collect()
}

/// LID and port; hop counts are not ours to know.
fn ports_only(text: &str) -> Vec<String> {
    let columns = |line: &str| line.split(" : ").take(2).collect::<Vec<_>>().join(" : ");
    text.lines()
        .map(|line| columns(line).trim_end().to_owned())
        .collect()
}

/// What `sapphire check --json` says.
struct Verdict {
    code: i32,
    json: Value,
    said: String,
}

impl Verdict {
    /// Pairs are lost where OpenSM had no record for them, and nowhere else. Multicast is looked at
    /// elsewhere.
    fn expect_no_loop(&self, case: &Path) {
        let Self { code, json, said } = self;
        assert_eq!(json["acyclic"], true, "{}: {said}", case.display());
        let psl = text(case, "psl").unwrap();
        let lost = psl.lines().filter(|line| line.ends_with(" E300")).count();
        assert_eq!(json["pairs_lost"], lost, "{}", case.display());
        let is_fine = lost == 0 && json["multicast"]["acyclic"] == true;
        assert_eq!(
            *code,
            if is_fine { 0 } else { 3 },
            "{}: {said}",
            case.display()
        );
    }
}

fn check(arguments: &[&str]) -> Verdict {
    let output = sapphire(&[&["check", "--json"], arguments].concat(), "");
    let said = String::from_utf8(output.stderr).unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let json = serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {said}"));
    Verdict {
        code: output.status.code().unwrap(),
        json,
        said,
    }
}

/// The same line of an SL2VL dump with VL 0 for every SL.
fn all_on_vl_0(line: &str) -> String {
    match line.split_once(':') {
        Some((ports, vls)) if !line.starts_with('#') => {
            let vls = vls.split_whitespace().map(|_| "0  ").collect::<String>();
            format!("{ports}: {vls}\n")
        }
        _ => format!("{line}\n"),
    }
}
