//! What verbs print with `--json` is what `docs/schemas` says.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use sa_tests::cli::{sapphire, sapphire_in};
use sa_tests::schema;
use serde_json::Value;

use super::tool::verbs::{self, Verb};

/// Verbs that fail in the directory of [`verbs::site`], because they need a fabric. What they print is
/// judged where there is one: in `opensm live_sa` and in `services`.
const ELSEWHERE: [&str; 2] = ["fabric read", "query srp-targets"];

/// Judges every document on standard output; lines that are none are for people. Returns the names.
fn judged(text: &str) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for line in text.lines().filter(|line| line.starts_with(['{', '['])) {
        let value: Value = serde_json::from_str(line).with_context(|| line.to_owned())?;
        match &value {
            Value::Array(all) => {
                for one in all {
                    names.insert(schema::judge(one)?);
                }
            }
            one => {
                names.insert(schema::judge(one)?);
            }
        }
    }
    Ok(names)
}

/// Runs a line in a directory. Returns the names of what it prints.
fn printed(directory: &Path, line: &[&str]) -> Result<BTreeSet<String>> {
    let output = sapphire_in(directory, line)?;
    let text = String::from_utf8(output.stdout.clone())?;
    judged(&text).with_context(|| format!("{line:?}: {output:?}"))
}

/// What a verb's documents are called, but for a version.
fn own_name(verb: &Verb) -> String {
    let name = verb.name().replace(' ', "-");
    match name.as_str() {
        "status" | "reload" | "rollback" => format!("sapphired.{name}"),
        "fabric-health" => "sapphired.health".to_owned(),
        "drain" | "undrain" | "plan" | "apply" | "lid-list" | "lid-forget" | "fleet-status"
        | "fleet-promote" | "fleet-withdraw" => format!("sapphired.{name}"),
        "snapshot-info" | "snapshot-verify" => "sapphire.snapshot".to_owned(),
        "policy-explain" => "sapphire.explain".to_owned(),
        "query-pr" | "query-mpr" => "sapphire.query-path".to_owned(),
        "query-services" | "query-srp-targets" => format!("sapphire.{name}"),
        record if record.starts_with("query-") => "sapphire.query-record".to_owned(),
        _ => format!("sapphire.{name}"),
    }
}

#[test]
fn every_verb_with_json_prints_what_its_schema_says() -> Result<()> {
    let site = verbs::site()?;
    for verb in verbs::for_programs()? {
        let name = verb.name();
        let own = format!("{}/1", own_name(&verb));
        ensure!(schema::file(&own)?.is_file(), "{name} has no schema {own}");
        // What it answers comes from standard input, or from a fabric.
        if name == "answer" || ELSEWHERE.contains(&name.as_str()) {
            continue;
        }
        let line = [verb.line(), vec!["--json".to_owned()]].concat();
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        let names = printed(site.dir(), &line)?;
        let is_there = match name.as_str() {
            // A policy without faults has no findings.
            "policy lint" => names.is_empty() || names.contains(&own),
            // There is nothing to go back to; one that is done is judged in `daemon operate`.
            // The daemon here is no Subnet Manager; one that is answers in `daemon health`.
            "fabric health" => names.contains("sapphire.refused/1"),
            "rollback" => names.contains("sapphire.refused/1"),
            // No Subnet Manager is there; what one answers is judged in `daemon maintenance`.
            // Nor is it of a fleet.
            "drain" | "undrain" | "plan" | "apply" | "lid list" | "lid forget" | "fleet status"
            | "fleet promote" | "fleet withdraw" => names.contains("sapphire.refused/1"),
            _ => names.contains(&own),
        };
        ensure!(is_there, "{name}: {names:?}");
    }
    Ok(())
}

/// Documents that verbs print under other options, or when something is wrong.
#[test]
fn documents_of_other_cases_are_what_their_schemas_say() -> Result<()> {
    let site = verbs::site()?;
    let fabric = "--fabric net --torus-conf torus-2QoS.conf";
    fs::write(
        site.dir().join("odd.conf"),
        "qos-levels\n qos-level\n  name: DEFAULT\n  sl: 0\n end-qos-level\n \
        qos-level\n  name: OTHER\n  sl: 8\n end-qos-level\nend-qos-levels\nqos-match-rules\n qos-match-rule\n  \
        service-id: 0x1234\n  qos-level-name: OTHER\n end-qos-match-rule\nend-qos-match-rules\n",
    )?;
    for (line, name) in [
        (
            format!("policy check odd.conf --diff policy.conf {fabric}"),
            "sapphire.policy-check/1",
        ),
        ("policy lint odd.conf".to_owned(), "sapphire.policy-lint/1"),
        ("demo --sm --radix 3".to_owned(), "sapphire.demo-sm/1"),
        (
            format!("explain H0_0_0_0 H1_1_1_0 --service nvme {fabric} --policy odd.conf"),
            "sapphire.explain/1",
        ),
        (
            format!("explain H0_0_0_0 H1_1_1_0 --service mpi {fabric}"),
            "sapphire.explain/1",
        ),
        (
            format!("explain H0_0_0_0 H1_1_1_0 --pkey 0x1234 {fabric}"),
            "sapphire.explain/1",
        ),
        (
            "check dumps --members everywhere --torus-conf torus-2QoS.conf".to_owned(),
            "sapphire.check/1",
        ),
        (
            format!("compare {fabric} --policy odd.conf --sa ring:ring --pairs 40"),
            "sapphire.compare-difference/1",
        ),
        (
            format!("bench {fabric} --layer ring --workload job-start --nodes 4 --repeat 1"),
            "sapphire.bench-job-start/1",
        ),
        (
            format!("bench {fabric} --layer ring --seconds 0.02 --repeat 1 --requests 64"),
            "sapphire.bench/1",
        ),
        (
            "query pr --slid 1 --dlid 999 --via ring:ring".to_owned(),
            "sapphire.query-path/1",
        ),
        (
            "query nr --lid 999 --get --via ring:ring".to_owned(),
            "sapphire.query-record/1",
        ),
        ("query services".to_owned(), "sapphire.query-services/1"),
        (
            "query services 0x5 mpi ipoib".to_owned(),
            "sapphire.query-services/1",
        ),
        (
            "roce-entropy suggest --for ah".to_owned(),
            "sapphire.roce-entropy-suggest/1",
        ),
        (
            "roce-entropy decode --label 5 --qpn 1,2 --cm 1,2".to_owned(),
            "sapphire.roce-entropy-decode/1",
        ),
        (
            "roce-entropy check ports.csv --ways 4".to_owned(),
            "sapphire.roce-entropy-check/1",
        ),
        ("route --fabric none --out x".to_owned(), "sapphire.error/1"),
        (
            format!("setup {fabric} --policy odd.conf"),
            "sapphire.setup/1",
        ),
    ] {
        let mut words: Vec<&str> = line.split_whitespace().collect();
        words.push("--json");
        let names = printed(site.dir(), &words)?;
        ensure!(names.contains(name), "{line}: {names:?}");
    }
    Ok(())
}

#[test]
fn answers_are_what_their_schema_says() -> Result<()> {
    let site = verbs::site()?;
    let snapshot = site.dir().join("good.snap");
    let snapshot = snapshot.to_str().context("a path")?;
    let mad = "00".repeat(256);
    let query = r#"{"attr":"pr","method":"get","comp_mask":0}"#;
    let input = format!(
        "{{\"id\":1,\"from\":1,\"query\":{query},\"request_hex\":\"00\"}}\n\
         {{\"id\":2,\"slid\":1,\"mad_hex\":\"{mad}\"}}\nnonsense\n"
    );
    let output = sapphire(&["answer", "--json", "--snapshot", snapshot], &input);
    let text = String::from_utf8(output.stdout)?;
    let names = judged(&text)?;
    ensure!(
        names.iter().eq(["sapphire.answer/1", "sapphire.error/1"]),
        "{text}"
    );
    ensure!(text.lines().count() == 3, "{text}");
    Ok(())
}

/// A schema for each name in the source, and a name for each schema.
#[test]
fn names_in_the_source_and_files_are_the_same() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut named = BTreeSet::new();
    for folder in [
        "tools/src",
        "bench/src",
        "bench/fleet/src",
        "sm-control/src/server/operators",
    ] {
        collect(&root.join(folder), &mut named)?;
    }
    let mut kept = BTreeSet::new();
    for entry in fs::read_dir(schema::directory())? {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == "json") {
            let text = fs::read_to_string(&path)?;
            let schema: Value = serde_json::from_str(&text)?;
            let name = schema["title"].as_str().context("a title")?.to_owned();
            ensure!(
                schema::file(&name)?.file_name() == path.file_name(),
                "{name}"
            );
            ensure!(schema["properties"]["schema"]["const"] == *name, "{name}");
            kept.insert(name);
        }
    }
    ensure!(named == kept, "{:#?}", named.symmetric_difference(&kept));
    Ok(())
}

/// Names such as `sapphire.check/1` between quotes, in all files below. What comes out is text between
/// any two neighbouring quotes, of which only names look like names.
fn collect(folder: &Path, into: &mut BTreeSet<String>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, into)?;
            continue;
        }
        let text = fs::read_to_string(&path)?;
        // The tests of a file have names of their own.
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        // Comments give examples of names.
        let lines = code
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        let names = lines.flat_map(|line| line.split('"'));
        into.extend(names.filter(is_name).map(str::to_owned));
    }
    Ok(())
}

fn is_name(text: &&str) -> bool {
    let begins = ["sapphire.", "sapphired.", "bench."];
    let word = text.strip_suffix("/1").unwrap_or_default();
    let rest = begins.into_iter().find_map(|it| word.strip_prefix(it));
    rest.is_some_and(|rest| rest.chars().all(|it| it.is_ascii_lowercase() || it == '-'))
}

/// The programs of the bench, on what takes little time.
#[test]
fn what_the_bench_prints_is_what_its_schemas_say() -> Result<()> {
    let once = ["--rounds", "1"];
    for (program, line, name) in [
        (
            "change",
            [&["torus:3x3x3x1"][..], &once].concat(),
            "bench.change/1",
        ),
        (
            "change",
            [&["--overheard", "fat-tree:4"][..], &once].concat(),
            "bench.change-overheard/1",
        ),
        (
            "sweep",
            vec!["--service", "50", "fat-tree:4", "torus:3x3x3x1"],
            "bench.sweep/1",
        ),
    ] {
        let mut command = Command::new(super::versus::built(program)?.join(program));
        command.args(line);
        let output = command.stdin(Stdio::null()).output()?;
        let names = judged(str::from_utf8(&output.stdout)?)?;
        ensure!(names.iter().eq([name]), "{output:?}");
    }
    Ok(())
}
