//! `--json` where there is no answer.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::run::{Ended, READ, run, words};
use super::verbs;
use sa_tests::cli::program;

/// Verbs that need nothing of the directory they run in.
const CONTENT: [&str; 9] = [
    "bench",
    "demo",
    "doctor",
    "fabric torus",
    "query services",
    "roce-entropy decode",
    "roce-entropy predict",
    "roce-entropy suggest",
    "answer",
];

/// The object that stands for an answer. Errors: it is not there, or not whole.
fn error_of(ended: &Ended) -> Result<Value> {
    let last = ended.out.lines().last().context("nothing was printed")?;
    let line: Value = serde_json::from_str(last)?;
    let fields = line.as_object().context("an object")?;
    ensure!(
        fields.keys().eq(["schema", "error"]) && line["schema"] == "sapphire.error/1",
        "{line}"
    );
    let error = &line["error"];
    let names = ["message", "exit_code", "file", "line", "column"];
    let keys = error.as_object().context("an object")?.keys();
    ensure!(keys.eq(names), "{error}");
    ensure!(
        error["exit_code"].as_i64() == ended.code.map(i64::from),
        "{error}"
    );
    let message = error["message"].as_str().context("a text")?;
    ensure!(
        ended.err.contains(message),
        "{message:?} is not in {:?}",
        ended.err
    );
    Ok(error.clone())
}

#[test]
fn every_verb_that_fails_with_json_prints_an_error_object() -> Result<()> {
    let empty = tempfile::tempdir()?;
    let program = program("sapphire")?;
    for verb in verbs::for_programs()? {
        let name = verb.name();
        let usage = [verb.line(), words("--json --no-such-option")].concat();
        let ended = run(&program, empty.path(), &usage, READ)?;
        ensure!(ended.code == Some(2), "{name}: {ended:?}");
        error_of(&ended).with_context(|| format!("{name}: {ended:?}"))?;
        // Nothing of what it needs is there.
        if CONTENT.contains(&name.as_str()) && name != "answer" {
            continue;
        }
        let line = [verb.line(), words("--json")].concat();
        let ended = run(&program, empty.path(), &line, READ)?;
        ensure!(matches!(ended.code, Some(1..=4)), "{name}: {ended:?}");
        error_of(&ended).with_context(|| format!("{name}: {ended:?}"))?;
    }
    Ok(())
}

#[test]
fn the_error_object_has_the_place() -> Result<()> {
    let directory = tempfile::tempdir()?;
    fs::write(
        directory.path().join("bad.conf"),
        "qos-levels\n  nonsense\n",
    )?;
    fs::write(
        directory.path().join("bad.net"),
        "Switch 4 \"S\"\nnonsense\n",
    )?;
    let program = program("sapphire")?;
    for (line, file, place) in [
        ("policy check bad.conf --json", "bad.conf", Some(2)),
        ("route --fabric bad.net --json", "bad.net", Some(2)),
        ("route --fabric none.net --json", "none.net", None),
        ("snapshot info none.snap --json", "none.snap", None),
    ] {
        let ended = run(&program, directory.path(), &words(line), READ)?;
        let error = error_of(&ended).with_context(|| format!("{line}: {ended:?}"))?;
        ensure!(error["file"] == file, "{line}: {error}");
        ensure!(error["line"].as_u64() == place, "{line}: {error}");
        ensure!(
            error["column"].is_u64() == place.is_some(),
            "{line}: {error}"
        );
    }
    Ok(())
}
