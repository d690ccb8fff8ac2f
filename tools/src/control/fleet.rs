//! `sapphire fleet status`, `promote`, `withdraw`: what is asked of a daemon that is one of a
//! fleet.
//!
//! ```text
//! -> {"verb":"fleet-status"}
//! -> {"verb":"fleet-promote"}     or  {"verb":"fleet-promote","above":7}
//! -> {"verb":"fleet-withdraw"}
//! ```
//!
//! What it answers is shown as it comes: names of fields are headings, lists of objects are tables.

use std::fmt::Write;

use clap::Args;
use sa_fabric::display;
use serde_json::{Value, json};

use super::show::object;
use super::{Control, ask, bare, order, said};
use crate::failure::Outcome;

/// Has a daemon lead.
///
/// The one to ask is a leader that waits, or any leader of an engine that knows who led last.
/// Without --above its term is the next one of the engine's memory.
#[derive(Debug, Args)]
pub(crate) struct Promote {
    /// Lead with a term that is greater than this one: after the memory of terms went back, as from
    /// a backup
    #[arg(long, value_name = "N")]
    above: Option<u64>,
    #[command(flatten)]
    control: Control,
}

/// Answered at once. Errors: nobody answers; the daemon is of no fleet.
pub(crate) fn status(verb: &Control) -> Outcome {
    let patience = verb.patience_of_a_question();
    said(
        verb,
        ask(&verb.control, bare("fleet-status"), patience)?,
        text,
    )
}

/// Errors: nobody answers; the daemon is of no fleet, or leads nobody.
pub(crate) fn promote(verb: &Promote) -> Outcome {
    let request = match verb.above {
        Some(above) => json!({ "verb": "fleet-promote", "above": above }),
        None => bare("fleet-promote"),
    };
    said(&verb.control, order(&verb.control, request)?, text)
}

/// As [`promote`].
pub(crate) fn withdraw(verb: &Control) -> Outcome {
    said(verb, order(verb, bare("fleet-withdraw"))?, text)
}

/// A line for each value, then a table for each list.
fn text(answer: &Value) -> String {
    let mut text = String::new();
    let mut tables = String::new();
    for (name, value) in object(Some(answer)) {
        // That is what it is called, and that it was done.
        if !["ok", "schema"].contains(&name.as_str()) {
            put(&words(name), value, &mut text, &mut tables);
        }
    }
    text + &tables
}

fn put(name: &str, value: &Value, text: &mut String, tables: &mut String) {
    match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                put(&format!("{name} {}", words(field)), value, text, tables);
            }
        }
        Value::Array(rows) if rows.iter().any(Value::is_object) => table(name, rows, tables),
        Value::Array(all) => {
            let all: Vec<String> = all.iter().map(cell).collect();
            line(name, &display::first_few(&all), text);
        }
        value => line(name, &cell(value), text),
    }
}

fn line(name: &str, value: &str, text: &mut String) {
    let value = if value.is_empty() { "none" } else { value };
    // Writing to a `String` cannot fail.
    let _ = writeln!(text, "{name:<20} {value}");
}

/// Columns in the order in which they come first, as wide as they have to be. As many rows as
/// people read.
fn table(name: &str, rows: &[Value], text: &mut String) {
    let mut columns: Vec<&String> = Vec::new();
    for (column, _) in rows.iter().flat_map(|row| object(Some(row))) {
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    let headings = columns.iter().map(|column| words(column)).collect();
    let cells = rows.iter().take(display::SHOWN).map(|row| {
        let of = |column: &&String| row.get(column.as_str()).map_or_else(String::new, cell);
        columns.iter().map(of).collect()
    });
    let lines: Vec<Vec<String>> = [headings].into_iter().chain(cells).collect();
    let width = |nth: usize| {
        let column = lines.iter().filter_map(|line| line.get(nth));
        column.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    let _ = writeln!(text, "\n{name}: {}", rows.len());
    for cells in &lines {
        let mut line = String::new();
        for (cell, width) in cells.iter().zip(&widths) {
            let _ = write!(line, "  {cell:<width$}");
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    if let Some(more @ 1..) = rows.len().checked_sub(display::SHOWN) {
        let _ = writeln!(text, "  and {more} more; --json has all");
    }
}

/// As people read a name.
fn words(name: &str) -> String {
    shown(name).replace('_', " ")
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::Bool(is) => if *is { "yes" } else { "no" }.to_owned(),
        Value::String(text) => shown(text),
        other => shown(&other.to_string()),
    }
}

/// Hosts say what they are called: nothing of it must reach the terminal as an order.
fn shown(text: &str) -> String {
    text.replace(|letter: char| letter.is_control(), "?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_is_shown_under_its_names() {
        let answer = json!({
            "ok": true, "schema": "sapphired.fleet-status/1", "role": "leader", "term": 3, "key": null,
            "root": {"version": 2, "era": 1}, "upstreams": [], "warnings": ["a", "b"],
            "followers": [{"node": "n1", "fresh": true}, {"node": "n\u{1b}2", "last_seen_s": 5}],
        });
        let expected = concat!(
            "role                 leader\n",
            "term                 3\n",
            "key                  -\n",
            "root version         2\n",
            "root era             1\n",
            "upstreams            none\n",
            "warnings             a, b\n",
            "\nfollowers: 2\n",
            "  node  fresh  last seen s\n",
            "  n1    yes\n",
            "  n?2          5\n",
        );
        assert_eq!(text(&answer), expected);
    }

    #[test]
    fn a_list_of_a_whole_fleet_is_short() {
        let rows: Vec<Value> = (0..5000).map(|nth| json!({ "node": nth })).collect();
        let text = text(&json!({ "followers": rows }));
        assert!(text.lines().count() < 30, "{text}");
        assert!(text.ends_with("and 4980 more; --json has all\n"), "{text}");
        assert_eq!(super::text(&json!([1])), "");
    }
}
