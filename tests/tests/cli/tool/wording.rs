//! What is said only where it belongs, names as OpenSM writes them, and one thing that is no plural.

use std::fs;

use anyhow::{Result, ensure};
use serde_json::Value;

use super::run::{Ended, READ, run, words};
use super::verbs;
use sa_tests::cli::program;
use sa_tests::ring::{Bed, CONFIG};

fn sapphire(bed: &Bed, line: &str) -> Result<Ended> {
    run(&program("sapphire")?, bed.dir(), &words(line), READ)
}

const TORUS: &str = "--fabric net --torus-conf torus-2QoS.conf";

#[test]
fn vl_arbitration_is_spoken_of_where_tables_are_put_into_service() -> Result<()> {
    let bed = Bed::new(CONFIG)?;
    let policy = include_str!("../../../../docs/examples/qos-policy.conf");
    fs::write(bed.dir().join("policy.conf"), policy)?;
    for (line, speaks) in [
        ("route", false),
        ("explain H0_0_0_0 H1_1_1_0", false),
        ("explain H0_0_0_0 H1_1_1_0 --policy policy.conf", false),
        ("draw --text --path H0_0_0_0 H1_1_1_0", false),
        ("policy explain policy.conf H0_0_0_0 H1_1_1_0", false),
        ("policy partitions", false),
        ("setup", true),
        ("compile -o x.snap", true),
    ] {
        let ended = sapphire(&bed, &format!("{line} {TORUS}"))?;
        ensure!(ended.code == Some(0), "{ended:?}");
        let said = ended.err.contains("unfair");
        ensure!(said == speaks, "{line}: {}", ended.err);
    }
    let lint = sapphire(&bed, &format!("policy lint policy.conf {TORUS}"))?;
    ensure!(lint.out.contains("VL arbitration"), "{lint:?}");
    let config = words("--config sapphired.toml --check");
    let checked = run(&program("sapphired")?, bed.dir(), &config, READ)?;
    ensure!(checked.err.contains("VL arbitration"), "{checked:?}");
    Ok(())
}

#[test]
fn engines_may_be_spelt_as_opensm_spells_them() -> Result<()> {
    let bed = Bed::new(CONFIG)?;
    for name in ["torus-2QoS", "torus-2qos", "Torus-2QoS", "MinHop"] {
        let ended = sapphire(&bed, &format!("route {TORUS} --engine {name}"))?;
        ensure!(ended.code == Some(0), "{ended:?}");
        let engine = format!("engine = \"{name}\"\ntorus_conf");
        let config = CONFIG.replace("torus_conf", &engine);
        fs::write(bed.config(), config)?;
        let line = words("--config sapphired.toml --check");
        let checked = run(&program("sapphired")?, bed.dir(), &line, READ)?;
        // On a torus the tables of minhop have a credit loop.
        let is_fine = checked.code == Some(0) || name == "MinHop";
        let is_known = !checked.err.contains("unknown engine");
        ensure!(is_fine && is_known, "{checked:?}");
    }
    fs::write(
        bed.config(),
        CONFIG.replace("torus_conf", "engine = \"dor\"\ntorus_conf"),
    )?;
    let line = words("--config sapphired.toml --check");
    let checked = run(&program("sapphired")?, bed.dir(), &line, READ)?;
    ensure!(checked.code == Some(1), "{checked:?}");
    ensure!(
        checked.err.contains("unknown engine") && checked.err.contains("minhop"),
        "{checked:?}"
    );
    Ok(())
}

/// `1 warnings`, in everything that verbs print of a fabric with one of most things.
#[test]
fn one_thing_is_no_plural() -> Result<()> {
    let bed = verbs::site()?;
    // One switch, one cable, two hosts; and one host.
    let pair = "Switch 4 \"S\"\n[1] \"H\"\n\nHca 1 \"H\"\n[1] \"S\"[1]\n";
    fs::write(bed.dir().join("net"), pair)?;
    let rule = "qos-levels\n qos-level\n  name: DEFAULT\n  sl: 0\n end-qos-level\nend-qos-levels\n\
                qos-match-rules\n qos-match-rule\n  use: x\n  qos-level-name: DEFAULT\n \
                end-qos-match-rule\nend-qos-match-rules\n";
    fs::write(bed.dir().join("policy.conf"), rule)?;
    let mut judged = 0;
    for line in [
        "route --fabric net --out one --policy policy.conf",
        "compile --fabric net -o one.snap --policy policy.conf",
        "snapshot info one.snap",
        "check one",
        "setup --fabric net",
        "policy check policy.conf --fabric net",
        "policy lint policy.conf",
        "policy lint policy.conf --fabric net",
        "policy partitions --fabric net",
        "explain H H --fabric net --policy policy.conf",
        "simulate --fabric net --fail S:1",
        "fabric torus 2 1 1 --hosts 1 -o two",
        "doctor",
        "status --control control",
        "roce-entropy predict --qps 1 --trials 1",
    ] {
        let ended = sapphire(&bed, line)?;
        for text in [&ended.out, &ended.err] {
            judged += text.len();
            ensure!(
                plural(text).is_none(),
                "{line}: {:?} in {text}",
                plural(text)
            );
        }
    }
    ensure!(judged > 1000);
    Ok(())
}

/// A one before a plural.
fn plural(text: &str) -> Option<String> {
    const PLURALS: [&str; 24] = [
        "switches", "hosts", "links", "ports", "pairs", "rules", "warnings", "errors", "problems",
        "checks", "classes", "scopes", "remarks", "paths", "members", "LIDs", "MLIDs", "things",
        "replies", "answers", "flows", "packets", "levels", "groups",
    ];
    let is_plural = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_alphabetic());
        PLURALS.contains(&word)
    };
    let found = text.lines().find(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words
            .windows(2)
            .any(|two| two[0] == "1" && is_plural(two[1]))
    });
    found.map(str::to_owned)
}

#[test]
fn an_sa_that_refuses_is_exit_status_1() -> Result<()> {
    let bed = verbs::site()?;
    for (line, code) in [
        ("query pr --slid 1 --dlid 2", 0),
        ("query pr --slid 1 --dlid 4000", 1),
        ("query pr --slid 1 --dlid 4000 --table", 0),
        ("query mpr --sgid 0x100001 --dgid 0xdead", 1),
        ("query nr --lid 1", 0),
        ("query nr --lid 4000 --get", 1),
        // P_Key tables are for those who know the key.
        ("query pktr", 1),
    ] {
        let line = format!("{line} --via ring:ring");
        let text = sapphire(&bed, &line)?;
        ensure!(text.code == Some(code), "{line}: {text:?}");
        let json = sapphire(&bed, &format!("{line} --json"))?;
        ensure!(json.code == Some(code), "{line}: {json:?}");
        ensure!(json.out.lines().count() == 1, "{json:?}");
        let answer: Value = serde_json::from_str(&json.out)?;
        ensure!((answer["status"] != "0x0000") == (code == 1), "{answer}");
        ensure!(answer["records"].is_array(), "{answer}");
        if code == 1 {
            ensure!(answer["error"]["exit_code"] == 1, "{answer}");
            ensure!(
                text.err
                    .starts_with("sapphire: the SA refuses the request: status"),
                "{text:?}"
            );
        }
    }
    Ok(())
}
