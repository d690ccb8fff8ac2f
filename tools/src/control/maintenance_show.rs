//! Answers about maintenance for people: what must not be overlooked is in capitals. As in
//! [`super::show`], what is not in an answer makes no line.

use std::fmt::Write;

use serde_json::Value;

use super::show::{age, number, object, text_of};

/// Two columns.
fn lines(all: &[(&str, String)]) -> String {
    let mut text = String::new();
    for (name, value) in all {
        // Writing to a `String` cannot fail.
        let _ = writeln!(text, "{name:<20}{value}");
    }
    text
}

/// Nothing where the answer has no such list: an older daemon may not know it.
fn list<'a>(answer: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    answer
        .get(name)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

/// A line for each part: what it is, its GUID, and whether it may be pulled.
pub(super) fn drained(answer: &Value) -> String {
    let parts = list(answer, "drained").map(|part| {
        let word = |name: &str| text_of(part.get(name));
        let is = |name: &str| part.get(name) == Some(&Value::Bool(true));
        let severed = if is("severed") {
            ", its hosts cut off"
        } else {
            ""
        };
        let state = match (is("present"), is("acknowledged")) {
            // It may be gone already, which is as good.
            (false, _) => "away",
            (true, true) => "may be pulled",
            (true, false) => "ROUTES HAVE NOT ALL LEFT IT",
        };
        format!("{:<24}{:<22}{state}{severed}\n", word("part"), word("guid"))
    });
    let text: String = parts.collect();
    if text.is_empty() {
        return "nothing is drained\n".to_owned();
    }
    text
}

/// First whether it may be pulled, which is what it was drained for.
pub(super) fn drain(answer: &Value) -> String {
    let part = text_of(answer.get("part"));
    let first = match is_acknowledged(answer) {
        true => format!("{part} may be pulled"),
        false => format!("{part} MUST NOT BE PULLED YET"),
    };
    let mut all = vec![("drained", first)];
    all.extend(of_done(answer));
    all.push(("entries changed", text_of(answer.get("entries_changed"))));
    all.extend(of_pairs(answer));
    if answer.get("severed") == Some(&Value::Bool(true)) {
        let routes = "as if it had failed: its hosts have no path".to_owned();
        all.push(("routes", routes));
    }
    if answer.get("kept") == Some(&Value::Bool(false)) {
        all.push((
            "restart",
            "forgets it, without a [state] directory".to_owned(),
        ));
    }
    lines(&all)
}

/// What is in use again.
pub(super) fn undrain(answer: &Value) -> String {
    let mut all = vec![("drained no more", text_of(answer.get("part")))];
    all.extend(of_done(answer));
    lines(&all)
}

/// What would be sent, whom it concerns, what may go wrong, and how to have it done.
pub(super) fn plan(answer: &Value) -> String {
    let word = |name: &str| text_of(answer.get(name));
    let mut all = vec![("plan", word("plan"))];
    all.extend(list(answer, "change").map(|change| ("change", text_of(Some(change)))));
    let (before, now) = (word("engine_before"), word("engine"));
    all.push((
        "engine",
        match before == now {
            true => now,
            false => format!("{now} instead of {before}"),
        },
    ));
    all.push(("Sets", word("sets")));
    let kinds = object(answer.get("sets_by_attribute"));
    all.extend(kinds.map(|(kind, sets)| ("", format!("{:>8} {kind}", text_of(Some(sets))))));
    let (entries, switches) = (word("entries_changed"), word("switches_changed"));
    all.push((
        "entries changed",
        format!("{entries} on {switches} switches"),
    ));
    all.push(("LIDs changed", word("lids_changed")));
    all.extend(of_pairs(answer));
    let stages = number(answer, "stages").unwrap_or_default();
    all.push((
        "transition",
        match stages {
            0 => word("transition"),
            stages => format!("{}: {stages}", word("transition")),
        },
    ));
    all.extend(list(answer, "findings").map(|finding| ("finding", text_of(Some(finding)))));
    all.push(("next", format!("sapphire apply {}", word("plan"))));
    lines(&all)
}

/// What was done, and what the operator still has to write down.
pub(super) fn apply(answer: &Value) -> String {
    let mut all = vec![("applied", text_of(answer.get("plan")))];
    all.extend(of_done(answer));
    if let Some(what) = answer.get("to_keep").and_then(Value::as_str) {
        all.push(("to keep it", what.to_owned()));
    }
    lines(&all)
}

/// All ports with LIDs, a line each.
pub(super) fn lids(answer: &Value) -> String {
    of_lids(answer, "ports", |_| true)
}

/// Of them those that are away.
pub(super) fn lids_away(answer: &Value) -> String {
    of_lids(answer, "ports", |port| {
        port.get("present") != Some(&Value::Bool(true))
    })
}

/// What is free now, and how many ports are left.
pub(super) fn forgotten(answer: &Value) -> String {
    let count = list(answer, "forgotten").count();
    let left = text_of(answer.get("left"));
    let rows = of_lids(answer, "forgotten", |_| true);
    format!("{rows}{count} forgotten, {left} left\n")
}

/// GUID, LIDs, and when it was last there.
fn of_lids(answer: &Value, name: &str, is_shown: impl Fn(&Value) -> bool) -> String {
    let rows = list(answer, name)
        .filter(|port| is_shown(port))
        .map(|port| {
            let word = |name: &str| text_of(port.get(name));
            let lids = match word("first") == word("last") {
                true => word("first"),
                false => format!("{}-{}", word("first"), word("last")),
            };
            let ever = port
                .get("last_seen_unix")
                .is_some_and(|seen| !seen.is_null());
            let state = match (port.get("present") == Some(&Value::Bool(true)), ever) {
                (true, _) => "there".to_owned(),
                (false, true) => format!("last seen {} ago", age(port.get("absent_s"))),
                (false, false) => format!("not seen for {}, nor ever", age(port.get("absent_s"))),
            };
            format!("{:<22}{lids:<14}{state}\n", word("guid"))
        });
    rows.collect()
}

/// False too where the answer does not say it.
fn is_acknowledged(answer: &Value) -> bool {
    answer.get("acknowledged") == Some(&Value::Bool(true))
}

/// What a sweep has sent, and what is not acknowledged.
fn of_done(answer: &Value) -> Vec<(&'static str, String)> {
    let word = |name: &str| text_of(answer.get(name));
    let mut all = vec![("Sets", word("sets")), ("epoch", word("epoch"))];
    all.extend(list(answer, "lacking").map(|what| ("NOT ACKNOWLEDGED", text_of(Some(what)))));
    all
}

/// Who notices it.
fn of_pairs(answer: &Value) -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    if let Some(pairs @ Value::Object(_)) = answer.get("pairs") {
        let word = |name: &str| text_of(pairs.get(name));
        let mut said = format!("{}, {} on other paths", word("all"), word("path_changed"));
        for (name, words) in [("lost", "LOSE THEIR PATH"), ("gained", "get a path")] {
            if number(pairs, name).is_some_and(|some| some > 0) {
                let _ = write!(said, ", {} {words}", word(name));
            }
        }
        all.push(("pairs of hosts", said));
        let (changed, compared) = (word("sl_changed"), word("sl_compared"));
        all.push(("other SLs", format!("{changed} of {compared} pairs")));
    }
    let without = number(answer, "pairs_without_another_way").unwrap_or_default();
    if without > 0 {
        let hosts = text_of(answer.get("hosts_without_another_way"));
        all.push((
            "no other way",
            format!("{without} pairs, {hosts} hosts; routes leave it but for these"),
        ));
    }
    all
}
