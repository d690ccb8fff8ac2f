//! Recorded messages of the kernel's local service through the agent and the emulated kernel.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should stop"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use sa_tests::cli::sapphire;
use sa_tests::golden::golden;
use serde_json::{Value, json};

fn read(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Exit status, lines by id, standard error.
fn replay(path: &Path) -> (Option<i32>, BTreeMap<String, Value>, String) {
    let output = sapphire(&["netlink", "replay", path.to_str().unwrap()], "");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        (line["id"].as_str().unwrap().to_owned(), line)
    });
    let errors = String::from_utf8(output.stderr).unwrap();
    (output.status.code(), lines.collect(), errors)
}

#[test]
fn every_message_does_what_was_recorded() {
    for (file, least) in [("netlink/vectors.json", 35), ("netlink/own.json", 45)] {
        let path = golden(file);
        let (code, lines, errors) = replay(&path);
        assert_eq!(code, Some(0), "{errors}");
        let corpus = read(&path);
        let vectors = corpus["vectors"].as_array().unwrap();
        assert!(
            vectors.len() >= least && lines.len() == vectors.len(),
            "{file}"
        );
        for vector in vectors {
            let line = &lines[vector["id"].as_str().unwrap()];
            assert_eq!(line["outcome"], vector["expect"], "{vector}");
            assert_eq!(line["parsed"], vector["parsed"], "{vector}");
        }
    }
}

#[test]
fn what_differs_is_named() {
    let mut corpus = read(&golden("netlink/vectors.json"));
    corpus["vectors"][0]["expect"] = json!("ignore");
    corpus["vectors"][1]["parsed"]["port"] = json!(2);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("vectors.json");
    fs::write(&path, corpus.to_string()).unwrap();
    let (code, lines, errors) = replay(&path);
    assert_eq!(code, Some(3));
    assert_eq!(lines["nl-001"]["outcome"], "resolve");
    assert!(
        errors.contains("nl-001: expected ignore, got resolve"),
        "{errors}"
    );
    assert!(errors.contains("nl-002: expected {"), "{errors}");
}

#[test]
fn other_kernels_judge_otherwise() {
    let path = golden("netlink/vectors.json");
    let outcome = |kernel: &str| {
        let arguments = [
            "netlink",
            "replay",
            path.to_str().unwrap(),
            "--kernel",
            kernel,
        ];
        let text = String::from_utf8(sapphire(&arguments, "").stdout).unwrap();
        let lines = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines
            .into_iter()
            .find(|line| line["id"] == "nl-029")
            .unwrap()["outcome"]
            .clone()
    };
    // PRIMARY alone, for a reversible query.
    assert_eq!(outcome("4.3"), "failed-eio");
    assert_eq!(outcome("6.1"), "accepted");
    assert_eq!(outcome("6.3"), "failed-route");
}

#[test]
fn a_broken_file_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("vectors.json");
    let vector = json!({"id": "x", "direction": "kernel-to-agent", "hex": "1", "expect": "ignore"});
    for text in ["{".to_owned(), json!({"vectors": [vector]}).to_string()] {
        fs::write(&path, text).unwrap();
        let (code, _, errors) = replay(&path);
        assert_eq!(code, Some(1), "{errors}");
        assert!(
            errors.contains("vectors.json") || errors.contains("x: \"hex\""),
            "{errors}"
        );
    }
}
