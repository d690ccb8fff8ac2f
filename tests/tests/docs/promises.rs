//! `docs/promises.md` leads to tests that are there, and leaves no row of `docs/deviations.md` out.
//!
//! Tests are looked for in the sources, so that none is missing here because a program is not built.
//! What a test does is for who reads it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::repository;

/// Folders whose crates have tests of their own.
const FOLDERS: [&str; 6] = [
    "bench",
    "policy",
    "routing",
    "sa-fastpath",
    "sm-control",
    "tools",
];

/// Where the page names a test, and how.
#[derive(Debug)]
struct Named<'a> {
    line: usize,
    /// A program of this crate, or a folder.
    place: &'a str,
    test: &'a str,
}

/// The tests that the tables of a page name: code of two words in the second column.
fn named(page: &str) -> Vec<Named<'_>> {
    let mut all = Vec::new();
    for (line, text) in (1..).zip(page.lines()) {
        let cells = text
            .strip_prefix("| ")
            .and_then(|rest| rest.rsplit_once(" | "));
        let code = cells
            .map_or("", |(_, tests)| tests)
            .split('`')
            .skip(1)
            .step_by(2);
        for (place, test) in code.filter_map(|code| code.split_once(' ')) {
            all.push(Named { line, place, test });
        }
    }
    all
}

/// Source files below a folder.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sources(&path, found)?;
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
    Ok(())
}

/// Names of the functions that are tests: `fn name` with `#[test]` among the lines of attributes and
/// comments before it.
fn tests_in(source: &str) -> impl Iterator<Item = &str> {
    let mut is_test = false;
    source.lines().filter_map(move |line| {
        let line = line.trim_start();
        if line == "#[test]" {
            is_test = true;
        } else if is_test && !line.starts_with("#[") && !line.starts_with("//") {
            is_test = false;
            let name = line.trim_start_matches("pub ").strip_prefix("fn ")?;
            return name
                .split(|c: char| !c.is_alphanumeric() && c != '_')
                .next();
        }
        None
    })
}

/// The tests of a program of this crate as `cargo test` calls them: file, then function.
fn of_program(program: &str) -> Result<BTreeSet<String>> {
    let folder = repository().join("tests/tests").join(program);
    let mut files = Vec::new();
    sources(&folder, &mut files)?;
    let mut all = BTreeSet::new();
    for file in files {
        let text = fs::read_to_string(&file)?;
        let modules = file.strip_prefix(&folder)?.with_extension("");
        let modules: Vec<_> = modules.iter().filter_map(|part| part.to_str()).collect();
        let modules = modules.join("::");
        let modules = modules.trim_end_matches("mod").trim_end_matches("::");
        all.extend(tests_in(&text).map(|test| format!("{modules}::{test}")));
    }
    if program == "vm" {
        // Without a harness: its tests are a table.
        let text = fs::read_to_string(folder.join("host/mod.rs"))?;
        all.extend(text.split('"').skip(1).step_by(2).map(str::to_owned));
    }
    Ok(all)
}

/// The tests of the crates in a folder: functions alone, as crates inside it may trade files.
fn of_folder(folder: &str) -> Result<BTreeSet<String>> {
    let mut files = Vec::new();
    sources(&repository().join(folder), &mut files)?;
    let mut all = BTreeSet::new();
    for file in files {
        all.extend(tests_in(&fs::read_to_string(file)?).map(str::to_owned));
    }
    Ok(all)
}

fn tests_of(place: &str) -> Result<BTreeSet<String>> {
    match FOLDERS.contains(&place) {
        true => of_folder(place),
        false => of_program(place),
    }
    .with_context(|| format!("{place} is neither a program of tests/tests nor a folder of crates"))
}

#[test]
fn every_test_that_the_page_names_is_there() -> Result<()> {
    let page = fs::read_to_string(repository().join("docs/promises.md"))?;
    let named = named(&page);
    ensure!(named.len() > 150, "{} tests named", named.len());
    let mut known: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let mut missing = Vec::new();
    for Named { line, place, test } in named {
        if !known.contains_key(place) {
            known.insert(place, tests_of(place)?);
        }
        if !known[place].contains(test) {
            missing.push(format!(
                "docs/promises.md:{line}: {place} has no test {test}"
            ));
        }
    }
    ensure!(missing.is_empty(), "{}", missing.join("\n"));
    Ok(())
}

#[test]
fn every_deviation_has_its_line() -> Result<()> {
    let read = |name: &str| fs::read_to_string(repository().join("docs").join(name));
    let (deviations, promises) = (read("deviations.md")?, read("promises.md")?);
    let numbers = |page: &str| -> BTreeSet<u32> {
        let cells = page
            .lines()
            .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
        cells.filter_map(|cell| cell.parse().ok()).collect()
    };
    let (rows, lines) = (numbers(&deviations), numbers(&promises));
    ensure!(rows.len() > 50, "{rows:?}");
    ensure!(
        rows == lines,
        "rows without a line: {:?}; lines without a row: {:?}",
        &rows - &lines,
        &lines - &rows
    );
    Ok(())
}

/// A row that no test keeps is said to be one at the end of the page, and no other.
#[test]
fn what_no_test_keeps_is_said_at_the_end() -> Result<()> {
    let page = fs::read_to_string(repository().join("docs/promises.md"))?;
    let (before, end) = page.split_once("## Without a test").context("its end")?;
    let none = before
        .lines()
        .filter_map(|line| line.strip_suffix(" | none |"));
    let none: BTreeSet<&str> = none.filter_map(|line| line.strip_prefix("| ")).collect();
    let (_, rows) = end.split_once("* ").context("one thing")?;
    let rows = rows.split("\n* ").next().unwrap_or_default();
    // In parentheses: what a row is about, with figures of its own.
    let outside = rows.split(['(', ')']).step_by(2).collect::<String>();
    let words = outside.split(|c: char| !c.is_ascii_digit());
    let said: BTreeSet<&str> = words.filter(|word| !word.is_empty()).collect();
    ensure!(
        none == said,
        "none in a table: {none:?}; at the end: {said:?}"
    );
    Ok(())
}
