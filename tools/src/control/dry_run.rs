//! What a reload would do, for people.
//!
//! ```text
//! dry run            a reload would be accepted; nothing was put into service
//! in service         epoch 3, xxh3:9f0c5d1e2a3b4c5d
//! sources            27 switches, 54 hosts, engine torus-2QoS, .., xxh3:..
//! rules              1 -> 2
//! level              bulk added: nothing -> SL 2
//! pairs              12 of 2862 get another answer
//! took               1.2 s: read 0.1, route 0.3, ..
//! ```
//!
//! What differs between the snapshots is told as `sapphire snapshot diff` tells it.

use std::fmt::Write;

use sa_compiler::snapshot_change::Comparison;
use serde_json::Value;

use super::show::text_of;
use crate::comparison;

/// Shape: an answer with `ok` true. What is not there makes no line.
pub(super) fn text(answer: &Value) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:<18} {value}");
    };
    let word = |name: &str| text_of(answer.get(name));
    line(
        "dry run",
        "a reload would be accepted; nothing was put into service",
    );
    match answer.get("epoch").and_then(Value::as_u64) {
        Some(epoch) => line(
            "in service",
            &format!("epoch {epoch}, xxh3:{}", word("digest_in_service")),
        ),
        None => line("in service", "nothing"),
    }
    line(
        "sources",
        &format!("{}, xxh3:{}", word("summary"), word("digest")),
    );
    if answer.get("same") == Some(&Value::Bool(true)) {
        line("same", "byte for byte, but for number and time");
    }
    for (heading, list) in [
        ("warning", "warnings"),
        ("change", "changes"),
        ("not compared", "not_compared"),
    ] {
        for said in strings(answer.get(list)) {
            line(heading, said);
        }
    }
    let policy = answer.get("policy").filter(|policy| policy.is_object());
    let found = answer.get("comparison").filter(|found| found.is_object());
    let compared = found.map(|found| serde_json::from_value::<Comparison>(found.clone()));
    let took = took(answer);
    if let Some(policy) = policy {
        text.push_str(&of_policy(policy));
    }
    match compared {
        Some(Ok(found)) => text.push_str(&comparison::text(&found, ", evenly spread")),
        Some(Err(error)) => {
            let _ = writeln!(
                text,
                "{:<18} of another version of sapphired: {error}; see --json",
                "comparison"
            );
        }
        None => {}
    }
    text + &took
}

/// What the policy changes, for requests of every kind.
fn of_policy(policy: &Value) -> String {
    let mut text = String::new();
    let rules = |name: &str| match policy.get(name).and_then(Value::as_u64) {
        Some(rules) => rules.to_string(),
        None => "no policy".to_owned(),
    };
    let _ = writeln!(
        text,
        "{:<18} {} -> {}",
        "rules",
        rules("rules_before"),
        rules("rules")
    );
    for said in strings(policy.get("changes")) {
        let _ = writeln!(text, "{:<18} {said}", "policy");
    }
    let Some(changed) = policy.get("pairs_changed").and_then(Value::as_u64) else {
        return text;
    };
    let least = match policy.get("complete") {
        Some(Value::Bool(true)) => "",
        _ => "at least ",
    };
    let _ = writeln!(
        text,
        "{:<18} {least}{changed} pairs of ports get another level for some request",
        ""
    );
    for it in policy
        .get("transitions")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .take(SHOWN)
    {
        let word = |name: &str| text_of(it.get(name));
        let _ = writeln!(
            text,
            "{:<18} {least}{}: {} -> {}\n{:<18} such as {} to {} with {}",
            "",
            word("pairs"),
            word("old"),
            word("new"),
            "",
            word("source"),
            word("destination"),
            word("asked")
        );
    }
    text
}

/// Changes of level that people are shown.
const SHOWN: usize = 20;

fn took(answer: &Value) -> String {
    let seconds = |value: Option<&Value>| {
        let ms = value.and_then(Value::as_u64).unwrap_or_default();
        format!("{}.{:03}", ms / 1000, ms % 1000)
    };
    let steps = answer.get("steps_ms").and_then(Value::as_object);
    let steps: Vec<String> = steps
        .into_iter()
        .flatten()
        .map(|(step, ms)| format!("{step} {}", seconds(Some(ms))))
        .collect();
    let all = seconds(answer.get("took_ms"));
    format!("{:<18} {all} s: {}\n", "took", steps.join(", "))
}

fn strings(list: Option<&Value>) -> impl Iterator<Item = &str> {
    let list = list.and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_an_older_or_newer_daemon_says_is_told_as_far_as_it_goes() {
        let told =
            text(&json!({"ok": true, "epoch": null, "summary": "2 switches", "digest": "0f"}));
        assert!(told.contains("in service         nothing\n"), "{told}");
        assert!(
            told.contains("2 switches, xxh3:0f\n") && told.contains("took "),
            "{told}"
        );
        let told = text(&json!({"ok": true, "epoch": 3, "comparison": {"other": 1}}));
        assert!(told.contains("of another version of sapphired"), "{told}");
    }
}
