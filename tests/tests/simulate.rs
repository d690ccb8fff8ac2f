//! `sapphire simulate` and `--fail`, as an operator uses them.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod golden_common;

use golden_common::{golden, sapphire};
use serde_json::Value;

/// Runs a verb on the recorded 5x5x5 torus: exit status, standard output, standard error.
fn run(verb: &str, more: &[&str]) -> (i32, String, String) {
    let case = golden("torus").join("s03-5x5x5");
    let path = |name: &str| case.join(name).display().to_string();
    let (net, conf) = (path("net.xz"), path("torus-2QoS.conf"));
    let mut arguments = vec![verb, "--fabric", &net, "--torus-conf", &conf];
    arguments.extend(more);
    let output = sapphire(&arguments, "");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

fn simulated(more: &[&str]) -> (i32, Value) {
    let (status, out, _) = run("simulate", &[more, &["--json"]].concat());
    (status, serde_json::from_str(&out).unwrap())
}

#[test]
fn a_link_is_routed_around() {
    let (status, found) = simulated(&["--fail", "1,2,3:1"]);
    assert_eq!(status, 0);
    assert_eq!(found["pairs_lost"], 0);
    assert_eq!(found["sl_changes"], 0);
    assert_eq!(found["credit_loop"], Value::Null);
    assert_eq!(found["hosts_cut_off"].as_array().unwrap().len(), 0);
    assert_eq!(found["changes"].as_array().unwrap().len(), 2);
    assert!(found["entries_changed"].as_u64().unwrap() > 0);
    assert!(found["reroute_ms"].as_f64().unwrap() > 0.0);
}

/// The flaw of torus-2QoS, and that torus-proved has none.
#[test]
fn a_switch_is_routed_around() {
    let (status, found) = simulated(&["--fail", "2,2,2"]);
    assert_eq!((status, &found["refused"]), (3, &Value::Bool(false)));
    assert_eq!(found["pairs_lost"], 0);
    assert_eq!(found["hosts_cut_off"].as_array().unwrap().len(), 1);
    assert!(found["multicast_cycle"].as_array().unwrap().len() > 2);
    let (status, found) = simulated(&["--engine", "torus-proved", "--fail", "2,2,2"]);
    assert_eq!(status, 0);
    assert_eq!(found["multicast_cycle"], Value::Null);
    assert_eq!(
        (&found["pairs_lost"], &found["sl_changes"]),
        (&0.into(), &0.into())
    );
}

#[test]
fn two_switches_are_refused_or_proved() {
    let two = ["--fail", "2,2,2", "1,3,1"];
    let (status, found) = simulated(&two);
    assert_eq!((status, &found["refused"]), (3, &Value::Bool(true)));
    assert_eq!(found["reasons"][0]["code"], "missing-switches");
    let lost = found["pairs_lost"].as_u64().unwrap();
    assert!(lost > 0 && lost < 2000, "{lost}");
    assert!(found["lost"][0]["from"].is_string());
    let (status, found) = simulated(&[&["--engine", "torus-proved"], &two[..]].concat());
    assert_eq!((status, &found["pairs_lost"]), (0, &0.into()));
}

#[test]
fn every_verb_with_a_fabric_takes_failures() {
    let (status, out, _) = run("route", &["--fail", "4,4,4"]);
    assert!(status == 0 && out.contains("switches         124"), "{out}");
    let pair = ["--fail", "2,2,1:2", "H0_0_0_0", "H2_2_2_0"];
    let (status, out, _) = run("explain", &pair);
    assert!(status == 0 && out.contains("hop"), "{out}");
    let (status, _, said) = run("route", &["--fail", "9,9,9"]);
    assert!(status == 1 && said.contains("5 x 5 x 5"), "{said}");
    let (status, _, said) = run("simulate", &[]);
    assert!(status == 2 && said.contains("--fail"), "{said}");
}

/// The files of torus-proved pass the check that knows nothing of how they were made, with groups
/// of everybody; those of torus-2QoS for the same fabric do not.
#[test]
fn proved_tables_pass_the_check() {
    let case = golden("torus").join("s03-5x5x5");
    let conf = case.join("torus-2QoS.conf").display().to_string();
    for (engine, status) in [("torus-proved", 0), ("torus-2qos", 3)] {
        let directory = tempfile::tempdir().unwrap();
        let out = directory.path().display().to_string();
        let written = run(
            "route",
            &["--engine", engine, "--fail", "2,2,2", "--out", &out],
        );
        assert_eq!(written.0, 0, "{}", written.2);
        let check = [
            "check",
            &out,
            "--torus-conf",
            &conf,
            "--members",
            "everywhere",
        ];
        let checked = sapphire(&check, "");
        assert_eq!(checked.status.code(), Some(status), "{engine}: {checked:?}");
    }
}
