//! docs/policy.md says what is so: its examples are read in the dialect they claim, and are clean;
//! its list of checks is the catalogue; the options it names exist.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::process::Command;

use policy::lint::{CATALOGUE, Needs, lint};
use policy::{Dialect, ParseOptions, PartitionsConfig, parse_as};
use sa_tests::cli::program;
use sa_text::Severity;

const DOCUMENT: &str = include_str!("../../../docs/policy.md");

/// Language and text of each block of code.
fn blocks() -> Vec<(&'static str, String)> {
    let mut blocks = Vec::new();
    let mut parts = DOCUMENT.split("\n```");
    parts.next();
    while let (Some(block), _) = (parts.next(), parts.next()) {
        let (language, text) = block.split_once('\n').unwrap();
        blocks.push((language, format!("{text}\n")));
    }
    blocks
}

#[test]
fn examples_are_read_as_what_they_are() {
    let mut read = 0;
    for (language, text) in blocks() {
        let Some(word) = language.strip_prefix("policy ") else {
            continue;
        };
        let dialect: Dialect = word.parse().unwrap();
        assert_eq!(Dialect::detect(&text), dialect, "{text}");
        let policy = parse_as(&text, None, &ParseOptions::default()).unwrap();
        assert!(policy.remarks.is_empty(), "{:?}", policy.remarks);
        let errors: Vec<_> = lint(&policy, None, Some(&text))
            .into_iter()
            .filter(|finding| finding.severity != Severity::Info)
            .collect();
        assert!(errors.is_empty(), "{errors:#?}\n{text}");
        read += 1;
    }
    assert_eq!(read, 6);
}

#[test]
fn partitions_are_read() {
    let (_, text) = blocks()
        .into_iter()
        .find(|(language, _)| *language == "partitions")
        .unwrap();
    let config = PartitionsConfig::parse(&text).unwrap();
    assert!(config.notices.is_empty(), "{:?}", config.notices);
    assert_eq!(config.partitions.len(), 2);
}

#[test]
fn the_list_of_checks_is_the_catalogue() {
    let rows: Vec<&str> = DOCUMENT
        .lines()
        .filter(|line| line.starts_with("| L"))
        .collect();
    let expected: Vec<String> = CATALOGUE
        .iter()
        .map(|check| {
            let fabric = match check.needs {
                Needs::Policy => "",
                Needs::Fabric => "yes",
            };
            let (id, severity, meaning) = (check.id, check.severity, check.meaning);
            format!("| {id} | {severity} | {fabric} | {meaning} |")
        })
        .collect();
    assert_eq!(rows, expected, "write:\n{}", expected.join("\n"));
}

#[test]
fn the_options_that_it_names_exist() {
    let help = |verb: &[&str]| {
        let output = Command::new(program("sapphire").unwrap())
            .args(verb)
            .arg("--help")
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let all: String = [
        &["policy", "check"][..],
        &["policy", "lint"],
        &["policy", "convert"],
        &["policy", "explain"],
        &["policy", "partitions"],
        &["setup"],
    ]
    .map(help)
    .concat();
    let words = DOCUMENT.split(|c: char| !(c.is_ascii_lowercase() || c == '-'));
    for option in words.filter(|word| word.starts_with("--") && word.len() > 3) {
        assert!(all.contains(option), "{option} is in no help");
    }
}
