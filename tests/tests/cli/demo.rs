//! `sapphire demo` from the outside: what fails while the load runs costs no reply and no SL, and a subnet of our own Subnet
//! Manager is as it was planned after each event.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use sa_tests::cli::sapphire;
use serde_json::Value;

/// A short run. Returns its text and the value on its last line.
fn demo(options: &[&str]) -> (String, Value) {
    let output = sapphire(
        &[&["demo", "--json", "--seconds", "0.2"][..], options].concat(),
        "",
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}{errors}");
    let value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    (text, value)
}

fn number(value: &Value, field: &str) -> f64 {
    let number = value[field].as_f64();
    number.unwrap_or_else(|| panic!("{field} is no number in {value}"))
}

/// 0 replies lost or wrong, and every figure there.
fn is_sound(found: &Value) {
    for field in ["lost", "wrong"] {
        assert_eq!(found[field], 0, "{found}");
    }
    for field in ["build_ms", "swap_us", "route_ms", "check_ms"] {
        assert!(number(found, field) > 0.0, "{field} in {found}");
    }
    assert!(number(found, "snapshot_bytes") > 0.0, "{found}");
    let workloads = found["workloads"].as_array().unwrap();
    let names: Vec<_> = workloads.iter().map(|load| &load["name"]).collect();
    assert_eq!(names, ["GID-GID", "LID-LID", "MultiPath"]);
    for load in workloads {
        for field in ["mqps", "p50_ns", "p99_ns", "p999_ns"] {
            assert!(number(load, field) > 0.0, "{field} in {load}");
        }
    }
}

/// A cable, then a switch with its two hosts: only what those hosts take part in has no path.
fn failures_are_survived(found: &Value, [cable, switch]: [&str; 2]) {
    let failures = found["failures"].as_array().unwrap();
    let whats: Vec<_> = failures.iter().map(|failed| &failed["what"]).collect();
    assert_eq!(whats, [cable, switch]);
    for failed in failures {
        for field in ["pairs_lost", "sl_changes", "lost", "wrong"] {
            assert_eq!(failed[field], 0, "{failed}");
        }
        for field in ["reroute_ms", "check_ms", "build_ms", "swap_us"] {
            assert!(number(failed, field) > 0.0, "{field} in {failed}");
        }
    }
    let hosts = found["hosts"].as_u64().unwrap();
    let pairs = |hosts: u64| hosts * (hosts - 1);
    assert_eq!(failures[0]["pairs_cut_off"], 0);
    assert_eq!(
        failures[1]["pairs_cut_off"],
        pairs(hosts) - pairs(hosts - 2)
    );
    assert_eq!(
        failures[1]["hosts_cut_off"],
        serde_json::json!(["H1_1_1_0", "H1_1_1_1"])
    );
}

#[test]
fn failures_under_load_cost_no_reply_and_no_sl() {
    let _turn = sa_tests::turn::heavy();
    let (text, found) = demo(&[]);
    is_sound(&found);
    assert_eq!(
        (&found["switches"], &found["hosts"]),
        (&512.into(), &1024.into())
    );
    failures_are_survived(&found, ["cable S2_2_2 to S3_2_2", "switch S1_1_1"]);
    for line in [
        "routed ", "proved ", "stored ", "policy ", "failed ", "hop 1 ",
    ] {
        assert!(text.contains(&format!("\n{line}")), "no {line}in\n{text}");
    }
}

/// Rings of three and four are the corner cases of torus-2QoS.
#[test]
fn small_tori_survive_the_same() {
    let _turn = sa_tests::turn::heavy();
    let (_, found) = demo(&["--radix", "3"]);
    is_sound(&found);
    failures_are_survived(&found, ["cable S2_2_2 to S0_2_2", "switch S1_1_1"]);
    let (_, found) = demo(&["--radix", "4"]);
    is_sound(&found);
    failures_are_survived(&found, ["cable S2_2_2 to S3_2_2", "switch S1_1_1"]);
}

/// Every event's sweep and look, as numbers. The demo judges itself; what is counted here is what it cannot know to be missing.
#[test]
fn a_subnet_comes_up_and_stays_whole() {
    let output = sapphire(&["demo", "--sm", "--radix", "4", "--json"], "");
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}{errors}");
    let found: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let steps = found["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 7, "{found}");
    for step in steps {
        assert_eq!(step["pairs"], 64 * 63, "{step}");
        assert_eq!(step["lost"], 0, "{step}");
        assert_eq!(step["credit_loop"], false, "{step}");
    }
    let [up, nothing, pulled, .., mute, heard] = steps.as_slice() else {
        panic!("{found}")
    };
    // 64 switches by 64 hosts take thousands of Sets to come up, none to stay, and few for a cable.
    assert!(up["sets"].as_u64().unwrap() > 10_000, "{up}");
    assert_eq!(nothing["sets"], 0, "{nothing}");
    assert!(
        (1..100).contains(&pulled["sets"].as_u64().unwrap()),
        "{pulled}"
    );
    // A switch that takes no table is noticed, and what it cannot carry is not answered.
    for field in ["not_held", "unanswered"] {
        assert!(mute[field].as_u64().unwrap() > 0, "{field} in {mute}");
        assert_eq!(heard[field], 0, "{field} in {heard}");
    }
}

#[test]
fn without_rings_nothing_may_fail() {
    let output = sapphire(&["demo", "--radix", "2"], "");
    assert_eq!(output.status.code(), Some(2));
}
