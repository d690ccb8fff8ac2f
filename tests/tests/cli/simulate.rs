//! `sapphire simulate` and `--fail`, as an operator uses them.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use sa_tests::cli::sapphire;
use sa_tests::golden::golden;
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

/// A tree with cables missing: only packets between switches themselves turn at its leaves.
const TREE: &str = "\
switchguid=0x200000\n\
Switch 8 \"L0\"\n\
[1] \"S0\"[1]\n\
[2] \"S2\"[1]\n\
[3] \"H0\"[1]\n\
\n\
switchguid=0x200001\n\
Switch 8 \"L1\"\n\
[1] \"S0\"[2]\n\
[2] \"S1\"[1]\n\
[3] \"S2\"[2]\n\
[4] \"H1\"[1]\n\
\n\
switchguid=0x200002\n\
Switch 8 \"L2\"\n\
[1] \"S0\"[3]\n\
[2] \"S1\"[2]\n\
[3] \"H2\"[1]\n\
\n\
switchguid=0x200003\n\
Switch 8 \"S0\"\n\
[1] \"L0\"[1]\n\
[2] \"L1\"[1]\n\
[3] \"L2\"[1]\n\
\n\
switchguid=0x200004\n\
Switch 8 \"S1\"\n\
[1] \"L1\"[2]\n\
[2] \"L2\"[2]\n\
\n\
switchguid=0x200005\n\
Switch 8 \"S2\"\n\
[1] \"L0\"[2]\n\
[2] \"L1\"[3]\n\
\n\
caguid=0x100010\n\
Hca 1 \"H0\"\n\
[1] \"L0\"[3]\n\
\n\
caguid=0x100020\n\
Hca 1 \"H1\"\n\
[1] \"L1\"[4]\n\
\n\
caguid=0x100030\n\
Hca 1 \"H2\"\n\
[1] \"L2\"[3]\n";

/// The tool and the daemon say the same of the same fabric: hosts decide, the rest is a warning.
#[test]
fn a_loop_that_only_switches_can_close_is_a_warning_everywhere() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).display().to_string();
    std::fs::write(at("net"), TREE).unwrap();
    let (net, dumps, snap) = (at("net"), at("dumps"), at("x.snap"));
    let told = |arguments: &[&str], status: i32| {
        let output = sapphire(arguments, "");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {said}");
        (String::from_utf8(output.stdout).unwrap(), said)
    };
    let words = "packets that a switch itself (port 0) sends or gets could close a credit loop";
    let route = ["route", "--fabric", &net, "--out", &dumps, "--json"];
    let (routed, said) = told(&route, 0);
    let routed: Value = serde_json::from_str(&routed).unwrap();
    assert_eq!(routed["credit_loop"], false);
    assert_eq!(routed["management_cycle"], true);
    assert!(said.contains(words), "{said}");
    told(&[&route[..], &["--strict"]].concat(), 3);

    let (compiled, said) = told(&["compile", "--fabric", &net, "-o", &snap, "--json"], 0);
    let compiled: Value = serde_json::from_str(&compiled).unwrap();
    assert_eq!(compiled["management_cycle"], true);
    assert!(said.contains(words), "{said}");
    told(&["compile", "--fabric", &dumps, "-o", &snap], 0);

    // psl names pairs of hosts alone; switches are then taken to send on the SLs of those.
    let (checked, _) = told(&["check", &dumps, "--json"], 0);
    let checked: Value = serde_json::from_str(&checked).unwrap();
    assert_eq!(checked["acyclic"], true);
    assert!(checked["management_cycle"].as_array().unwrap().len() >= 4);
    told(&["check", &dumps, "--strict"], 3);
    // Without it on any SL.
    std::fs::remove_file(at("dumps/psl")).unwrap();
    let (checked, _) = told(&["check", &dumps, "--json"], 0);
    let checked: Value = serde_json::from_str(&checked).unwrap();
    assert_eq!(checked["acyclic"], true);
    assert!(checked["management_cycle"].as_array().unwrap().len() >= 4);
    let (text, _) = told(&["check", &dumps], 0);
    assert!(text.contains("unicast    no credit loop"), "{text}");
    assert!(text.contains("management packets that port 0"), "{text}");
    let (_, said) = told(&["check", &dumps, "--strict"], 3);
    assert!(said.contains("packets that port 0 of a switch"), "{said}");

    for path in [&net, &dumps] {
        let config = format!(
            "[fabric]\nsource = \"files\"\npath = {path:?}\n[[port]]\ntransport = \"ring\"\n\
             path = {:?}\n",
            at("ring")
        );
        std::fs::write(at("sapphired.toml"), config).unwrap();
        let mut command = std::process::Command::new(sa_tests::cli::program("sapphired").unwrap());
        let output = command.args(["--check", "--config", &at("sapphired.toml")]);
        let output = output.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        assert!(said.contains(words), "{said}");
    }
}

/// The SL of a path across the datelines, by each way to give or not to give the configuration.
#[test]
fn the_torus_configuration_beside_a_fabric_is_taken_and_said() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).display().to_string();
    let made = ["fabric", "torus", "4", "4", "4", "--hosts", "1", "-o"];
    let made = sapphire(&[&made[..], &[&at("t")]].concat(), "");
    assert!(made.status.success(), "{made:?}");
    let (net, conf) = (at("t/net"), at("t/torus-2QoS.conf"));
    std::fs::create_dir(at("alone")).unwrap();
    std::fs::copy(&net, at("alone/net")).unwrap();
    let explained = |fabric: &str, more: &[&str]| {
        let pair = ["explain", "--fabric", fabric, "1", "64", "--json"];
        let output = sapphire(&[&pair[..], more].concat(), "");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        let value: Value = serde_json::from_slice(&output.stdout).unwrap();
        (
            value["engine"]["name"].clone(),
            value["record"]["sl"].clone(),
            said,
        )
    };
    let (engine, right, said) = explained(&net, &["--torus-conf", &conf]);
    assert_eq!(engine, "torus-2QoS");
    assert!(!said.contains("lies beside"), "{said}");
    for fabric in [&net, &at("t")] {
        let (engine, sl, said) = explained(fabric, &[]);
        assert_eq!(
            (engine, sl),
            ("torus-2QoS".into(), right.clone()),
            "{fabric}"
        );
        assert!(
            said.contains("torus-2QoS.conf lies beside the fabric"),
            "{said}"
        );
    }
    // An engine that is named is taken, without a word.
    let (engine, _, said) = explained(&net, &["--engine", "minhop"]);
    assert_eq!(engine, "minhop");
    assert!(!said.contains("torus configuration"), "{said}");
    // None given, none there: said by every verb.
    let alone = at("alone/net");
    let (engine, _, said) = explained(&alone, &[]);
    assert_eq!(engine, "minhop");
    let words = "the switches form a 4x4x4 torus, and no torus configuration is given";
    assert!(said.contains(words), "{said}");
    let text = sapphire(&["explain", "--fabric", &alone, "1", "64"], "");
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("engine      minhop"), "{text}");
    let snap = at("x.snap");
    for verb in [
        &["route", "--fabric", &alone][..],
        &[
            "compile",
            "--fabric",
            &alone,
            "--allow-problems",
            "-o",
            &snap,
        ],
        &["setup", "--fabric", &alone],
        &["answer", "--fabric", &alone],
    ] {
        let output = sapphire(verb, "");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(words), "{verb:?}: {said}");
    }
}
