//! Answers of a daemon for people.
//!
//! A word in front, padded to 14 columns, then what it is. Lines are for people and may change;
//! programs read `--json`. What is not in the answer makes no line: an older daemon has fewer
//! fields, and a role that has no local service says nothing of it.
//!
//! ```text
//! daemon        0.9.0, process 812, up 3 d 4 h
//! ready         yes
//! epoch         41, compiled 2 h 5 min ago
//! port 0        umad mlx5_0:1, epoch 41, received 9120, answered 9120
//! ```
//!
//! Everything goes by `serde_json::Value` and not by types: the daemon's document belongs to
//! `sm-control`, and the tool must also read that of an older or a newer one.
//!
//! Counts are not rounded and have no thousands marks, so that a line can be searched for what a
//! metric says. Capitals stand for what needs somebody to act, and for nothing else.

use std::fmt::Write;

use sa_fabric::display;
use serde_json::{Map, Value};

/// Name and value a line, then a line per port.
/// Shape: an answer with `ok` true. Order is by what is asked first when something is wrong: does
/// it live, is it ready, with what, since when; ports last, as there may be many.
pub(super) fn status(answer: &Value) -> String {
    let mut text = String::new();
    // Writing to a `String` cannot fail.
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<13} {value}");
    };
    let word = |name: &str| text_of(answer.get(name));
    // The first line only: a failure may have a line for each error of a file.
    let ready = match answer.get("not_ready").and_then(Value::as_str) {
        // All of it is in the last failure.
        Some(why) => format!("no: {}", why.lines().next().unwrap_or_default()),
        None => "yes".to_owned(),
    };
    line(
        "daemon",
        format!(
            "{}, process {}, up {}",
            word("version"),
            word("pid"),
            age(answer.get("uptime_s"))
        ),
    );
    line("role", word("role"));
    line("ready", ready);
    if let Some(why) = answer.get("passive").and_then(Value::as_str) {
        line("active", format!("no: {why}"));
    }
    // What stands beside the role is the daemon's to say: names and words are taken as they come.
    for (name, value) in object(answer.get("standing")) {
        line(name, text_of(Some(value)));
    }
    // Only where the daemon compares its answers with another SA's.
    if let Some(shadow @ Value::Object(_)) = answer.get("shadow") {
        let count = |name: &str| text_of(shadow.get(name));
        let (asked, answered) = (count("asked"), count("answered"));
        let different = count("different");
        line(
            "compared",
            format!("{asked} asked, {answered} answered, {different} different"),
        );
    }
    line("source", word("source"));
    match answer.get("snapshot") {
        // Without a snapshot the port drops requests, so this line is what an operator must not
        // miss.
        Some(snapshot @ Value::Object(_)) => {
            for (name, value) in of_snapshot(snapshot) {
                line(name, value);
            }
        }
        _ => line("snapshot", "none, requests are dropped".to_owned()),
    }
    if let Some(previous) = number(answer, "previous_epoch") {
        line("rollback to", format!("epoch {previous}"));
    }
    // After a rollback a new reload would undo it; the operator is told how to end that.
    if let Some(held) = number(answer, "held_epoch") {
        line(
            "held",
            format!("rolled back as epoch {held}; automatic reloads wait until `sapphire reload`"),
        );
    }
    let under_way = number(answer, "loading_s").map_or_else(String::new, |seconds| {
        format!(", one under way for {seconds} s")
    });
    line(
        "loads",
        format!(
            "{}, failed {}, rollbacks {}{under_way}",
            word("loads"),
            word("failed_loads"),
            word("rollbacks")
        ),
    );
    if let Some(failure @ Value::Object(_)) = answer.get("last_failure") {
        let ago = age(failure.get("age_s"));
        let (what, cause) = (text_of(failure.get("what")), text_of(failure.get("cause")));
        line("last failure", format!("{ago} ago ({cause}): {what}"));
    }
    if let Some(what) = answer.get("configuration").and_then(Value::as_str) {
        line("configuration", what.to_owned());
    }
    if let Some(state) = answer.get("state").and_then(of_state) {
        line("state", state);
    }
    if let Some(manager @ Value::Object(_)) = answer.get("subnet_manager") {
        for (name, value) in of_manager(manager) {
            line(name, value);
        }
    }
    if let Some(local @ Value::Object(_)) = answer.get("local_service") {
        line("local service", of_local(local));
    }
    let ports = answer.get("ports").and_then(Value::as_array);
    // Numbered from 0, in the order of the answer.
    for (nth, port) in ports.into_iter().flatten().enumerate() {
        line(&format!("port {nth}"), of_port(port));
    }
    text
}

/// Which snapshot serves now.
pub(super) fn reload(answer: &Value) -> String {
    let epoch = text_of(answer.get("epoch"));
    format!("reloaded, epoch {epoch}\n")
}

/// Epochs only grow, so what comes back has a new number. The daemon also says whether automatic
/// reloads wait, and what a restart would serve.
pub(super) fn rollback(answer: &Value) -> String {
    let word = |name: &str| text_of(answer.get(name));
    format!(
        "rolled back to what epoch {} was, as epoch {}; {}; {}\n",
        word("content_of_epoch"),
        word("epoch"),
        word("held"),
        word("restart")
    )
}

/// None without a directory.
/// Where the daemon keeps its snapshot for a warm start. Capitals, because a restart would then
/// serve something old.
fn of_state(state: &Value) -> Option<String> {
    let directory = state.get("directory").and_then(Value::as_str)?;
    let stored = match number(state, "stored_epoch") {
        Some(epoch) => format!("epoch {epoch} stored in {directory}"),
        None => format!("nothing stored in {directory}"),
    };
    let problem = state.get("problem").and_then(Value::as_str);
    Some(match problem {
        Some(why) => format!("{stored}; NOT UP TO DATE: {why}"),
        None => stored,
    })
}

/// The service that answers this host's kernel: paths resolved, and refusals by reason.
/// What the Subnet Manager is at, and what it found: a line each.
fn of_manager(manager: &Value) -> Vec<(&'static str, String)> {
    let word = |name: &str| text_of(manager.get(name));
    let mut said = format!(
        "{} nodes, {}; {} sweeps, {} failed; {} SMPs, {} Sets; the last took {} ms",
        word("nodes"),
        word("phase"),
        word("sweeps"),
        word("failed_sweeps"),
        word("smps"),
        word("sets"),
        word("last_ms")
    );
    if number(manager, "open").is_some_and(|open| open > 0) {
        let (open, rate) = (word("open"), word("smps_per_second"));
        let _ = write!(said, "; now {open} requests open, {rate} SMPs/s");
    }
    let drained = manager.get("drained").and_then(Value::as_array);
    let drained: Vec<String> = drained
        .into_iter()
        .flatten()
        .map(|part| text_of(part.get("part")))
        .collect();
    let drained = (!drained.is_empty()).then(|| ("drained", drained.join(", ")));
    let waited = number(manager, "waited_count").filter(|lids| *lids > 0);
    let waited = waited.map(|lids| {
        let last = "in the last change of routes that took paths away, hosts had none to them for a while: --json says which";
        (
            "waited",
            format!("{}; {last}", display::count(lids, "LID", "LIDs")),
        )
    });
    let findings = manager.get("findings").and_then(Value::as_array);
    let findings: Vec<&str> = findings
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let shown = findings.len() as u64;
    let more = number(manager, "findings_count")
        .and_then(|all| all.checked_sub(shown))
        .filter(|more| *more > 0);
    let more = more.map(|more| ("finding", format!("and {more} more, in the log")));
    let findings = findings
        .into_iter()
        .map(|finding| ("finding", finding.to_owned()));
    let first = ("subnet manager", said);
    core::iter::once(first)
        .chain(drained)
        .chain(waited)
        .chain(findings)
        .chain(more)
        .collect()
}

/// What the local service has answered.
pub(crate) fn of_local(local: &Value) -> String {
    let word = |name: &str| text_of(local.get(name));
    let refused = object(local.get("refused"));
    let refused: Vec<String> = refused
        .map(|(reason, count)| format!("{reason} {count}"))
        .collect();
    // A word even for none: an empty list after a colon looks cut off.
    let refused = match refused.is_empty() {
        true => "none".to_owned(),
        false => refused.join(", "),
    };
    let mut said = format!(
        "{} answered; refused: {refused}",
        display::count(word("resolved"), "path", "paths")
    );
    // Zero is the usual case and would only be noise; so with the next.
    if number(local, "kept").is_some_and(|kept| kept > 0) {
        let _ = write!(said, "; {} kept", word("kept"));
    }
    if number(local, "others").is_some_and(|others| others > 0) {
        said += "; ANOTHER PROGRAM ANSWERS THE KERNEL TOO, see the log";
    }
    if local.get("served") != Some(&Value::Bool(true)) {
        said += "; NOT SERVED ANY MORE, see the log";
    }
    said
}

/// Three lines; `rules` is missing where no policy is in force, which is not the same as none.
fn of_snapshot(snapshot: &Value) -> [(&'static str, String); 3] {
    let word = |name: &str| text_of(snapshot.get(name));
    let policy = match number(snapshot, "rules") {
        Some(rules) => display::count(rules, "policy rule", "policy rules"),
        None => "no policy".to_owned(),
    };
    let age = age(snapshot.get("age_s"));
    [
        ("epoch", format!("{}, compiled {age} ago", word("epoch"))),
        (
            "fabric",
            format!(
                "{}, {}, engine {}, {policy}",
                display::count(word("switches"), "switch", "switches"),
                display::count(word("hosts"), "host", "hosts"),
                word("engine")
            ),
        ),
        (
            "snapshot",
            format!("{} bytes, digest {}", word("bytes"), word("digest")),
        ),
    ]
}

/// One line, however long: it is made for `grep`. Reasons that have not come up are not listed.
fn of_port(port: &Value) -> String {
    let word = |name: &str| text_of(port.get(name));
    let mut text = format!(
        "{} {}, epoch {}, received {}, answered {}",
        word("transport"),
        word("place"),
        word("epoch"),
        word("received"),
        word("answered")
    );
    // Answered with a status, not answered at all, handed to the slow lane.
    for name in ["refused", "dropped", "punted"] {
        let reasons = object(port.get(name)).map(|(reason, count)| format!("{reason} {count}"));
        let reasons: Vec<String> = reasons.collect();
        if !reasons.is_empty() {
            let _ = write!(text, ", {name} ({})", reasons.join(", "));
        }
    }
    if number(port, "unsent").is_some_and(|unsent| unsent > 0) {
        let _ = write!(text, ", unsent {}", word("unsent"));
    }
    if port.get("served") == Some(&Value::Bool(false)) {
        text.push_str(", NOT SERVED any more");
    }
    text
}

/// Empty for what is missing or no object, in the order of the document.
pub(crate) fn object(value: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    value
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(Map::iter)
}

/// None also for what is there and no whole number.
pub(crate) fn number(value: &Value, name: &str) -> Option<u64> {
    value.get(name).and_then(Value::as_u64)
}

/// A question mark for what an older daemon does not say.
pub(crate) fn text_of(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => "?".to_owned(),
        Some(other) => other.to_string(),
    }
}

/// Seconds for people.
/// The two largest units: of a daemon that is up for days nobody wants seconds.
pub(super) fn age(value: Option<&Value>) -> String {
    let seconds = value.and_then(Value::as_u64);
    seconds.map_or_else(|| "?".to_owned(), age_of)
}

/// The same of a number that is known. Units: seconds.
pub(crate) fn age_of(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, _, _) => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_there_is_not_said() {
        let text = status(&json!({
            "ok": true, "version": "1", "pid": 7, "uptime_s": 61, "role": "reader",
            "not_ready": "no snapshot yet", "source": "files net", "loads": 0, "failed_loads": 1,
            "rollbacks": 0, "ports": [{
                "transport": "ring", "place": "/r", "served": true, "epoch": 0, "received": 2,
                "answered": 0, "refused": {}, "dropped": {"not_ready": 2}, "punted": {}, "unsent": 0
            }],
        }));
        assert!(text.contains("up 1 min 1 s\n"), "{text}");
        assert!(
            text.contains("ready         no: no snapshot yet\n"),
            "{text}"
        );
        assert!(
            text.contains(
                "port 0        ring /r, epoch 0, received 2, answered 0, dropped (not_ready 2)\n"
            ),
            "{text}"
        );
        assert!(
            !text.contains("held") && !text.contains("refused") && !text.contains("rollback to")
        );
    }

    #[test]
    fn ages_have_two_units() {
        let of = |seconds: u64| age(Some(&json!(seconds)));
        assert_eq!(
            [of(5), of(3600), of(90_000)],
            ["5 s", "1 h 0 min", "1 d 1 h"]
        );
    }
}
