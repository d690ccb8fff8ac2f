//! What saquery prints of OpenSM, and of the daemon in its place.

use anyhow::{Result, bail, ensure};

use super::vm::Left;

/// Of saquery.sh.
pub(super) fn prints_the_same(left: &Left) -> Result<String> {
    let queries = same(left)?;
    ensure!(queries >= QUERIES, "{queries} queries");
    Ok(format!("     {queries} queries printed the same\n"))
}

/// How many queries `opensm.txt` and `sapphire.txt` have. Errors: they were answered differently.
pub(super) fn same(left: &Left) -> Result<usize> {
    let (theirs, ours) = (left.file("opensm.txt")?, left.file("sapphire.txt")?);
    let (theirs, ours) = (answers(&theirs), answers(&ours));
    ensure!(theirs.len() == ours.len());
    let mut different = Vec::new();
    for ((query, one), (_, other)) in theirs.iter().zip(&ours) {
        let (one, other) = (expected(query, one), expected(query, other));
        if one != other {
            let same = one.iter().zip(&other).take_while(|(a, b)| a == b).count();
            let from = |lines: &[&str]| {
                lines
                    .iter()
                    .skip(same)
                    .take(8)
                    .copied()
                    .collect::<Vec<_>>()
                    .join("\n")
            };
            different.push(format!(
                "saquery {query}: {} lines by OpenSM, {} by Sapphire; from line {same}:\n{}\n--\n{}",
                one.len(), other.len(), from(&one), from(&other)
            ));
        }
    }
    if !different.is_empty() {
        bail!("{}", different.join("\n"));
    }
    Ok(theirs.len())
}

/// Queries, and the lines that each printed.
fn answers(text: &str) -> Vec<(&str, Vec<&str>)> {
    let mut all: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("## "), all.last_mut()) {
            (Some(query), _) if !query.starts_with("status ") => all.push((query, Vec::new())),
            (_, Some((_, lines))) => lines.push(line),
            _ => {}
        }
    }
    all
}

/// The lines without what is to be different.
fn expected<'a>(query: &str, lines: &[&'a str]) -> Vec<&'a str> {
    let hidden = |line: &str| {
        let mut some = DEVIATIONS
            .iter()
            .filter(|(known, ..)| query.contains(known));
        some.any(|(_, field, _)| line.trim_start().starts_with(field))
    };
    lines.iter().filter(|line| !hidden(line)).copied().collect()
}

/// Words of the query, beginning of a line, number in docs/deviations.md.
const DEVIATIONS: [(&str, &str, u8); 2] = [("SMIR", "ActCount", 30), ("PKTR", "Block..", 29)];
/// Those of sa.md, 11.1, some in several forms.
const QUERIES: usize = 60;
