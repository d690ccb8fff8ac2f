//! `sapphire fabric health`: how the links of the subnet are, as the Subnet Manager knows.
//!
//! ```text
//! links         2048 ports of 640 devices, 2048 read, the oldest 58 s ago
//! requests      10240, 0 unanswered, 0 refused
//!
//! FAULT  width            "L0" port 3 (0x..:3) to "H0" port 1 (0x..:1)
//!                         runs at 1x EDR, and both ends can and may 4x, for 2 h 5 min
//!                         cause: a lane did not train: ..
//!                         do: reseat the cable; ..
//! 1 fault, 0 hints
//! ```
//!
//! Exit status 3 stands for faults: hints alone are what a healthy subnet may have.
//!
//! | option | shows |
//! |---|---|
//! | none | the worst 20 faults, and how many findings are not shown |
//! | `--all` | faults and hints, as many as the daemon tells: 1,000 |
//! | `--node NAME` | before them each port of that node, with counters that are not 0 |
//! | `--json` | the daemon's answer as it is |
//!
//! As with `status`, the answer is read by `Value` and not by types: it is the daemon's document,
//! which may be of an older or a newer version.

use std::fmt::Write;

use clap::Args;
use sa_fabric::display;
use serde_json::{Map, Value};

use super::show::{age, number, object, text_of};
use super::{Control, conversation, failure_of};
use crate::failure::{Failure, Outcome};
use crate::json;

/// What is to be told of links.
#[derive(Debug, Args)]
pub(crate) struct Health {
    #[command(flatten)]
    control: Control,
    /// Print hints too, and all findings: without it the worst 20 faults
    #[arg(long)]
    all: bool,
    /// Print each port of this node with its counters: a NodeDescription, or a node GUID as 0x..
    #[arg(long, value_name = "NODE")]
    node: Option<String>,
}

/// Errors: nobody answers (exit 4); the daemon is no Subnet Manager (exit 1); there are faults
/// (exit 3).
pub(crate) fn run(verb: &Health) -> Outcome {
    let answer = conversation(&verb.control, "health", verb.node.as_deref())?;
    if answer.get("ok") != Some(&Value::Bool(true)) {
        return Err(failure_of(&verb.control, &answer)?);
    }
    if verb.control.json {
        json::print_value(&answer)?;
    } else {
        out!("{}", text(&answer, verb.all));
    }
    // After the findings: who mistyped a name gets those all the same.
    let unknown = verb.node.as_deref().filter(|_| {
        let ports = answer.get("node").and_then(Value::as_array);
        ports.is_none_or(Vec::is_empty)
    });
    if let Some(name) = unknown {
        return Err(Failure::failed(format!(
            "no device with a link is called {name:?}"
        )));
    }
    match number(&answer, "faults") {
        Some(0) | None => Ok(()),
        Some(faults) => Err(Failure::refused(format!(
            "{} found",
            count(faults, "fault")
        ))),
    }
}

/// Lines for people.
///
/// Parts in the order in which one looks: how much is known, the port that was asked about, then
/// findings.
fn text(answer: &Value, all: bool) -> String {
    let mut text = String::new();
    let word = |name: &str| text_of(answer.get(name));
    let oldest = answer.get("oldest_s").filter(|age| !age.is_null());
    let oldest = oldest.map_or_else(String::new, |it| {
        format!(", the oldest {} ago", age(Some(it)))
    });
    // Writing to a `String` cannot fail.
    let _ = writeln!(
        text,
        "{:<14}{} ports of {} devices, {} read{oldest}",
        "links",
        word("ports"),
        word("devices"),
        word("read")
    );
    let asked = match number(answer, "period_s") {
        Some(_) => format!(
            "{}, {} unanswered, {} refused",
            word("requests"),
            word("unanswered"),
            word("refused")
        ),
        None => "none: ports are not asked (period_s = 0)".to_owned(),
    };
    let _ = writeln!(text, "{:<14}{asked}", "requests");
    if let Some(why) = answer.get("problem").and_then(Value::as_str) {
        let _ = writeln!(text, "{:<14}COUNTERS ARE NOT READ: {why}", "problem");
    }
    for port in list(answer, "node") {
        of_port(&mut text, port);
    }
    findings(&mut text, answer, all);
    text
}

/// The worst first, as they come, and how many there are.
///
/// What is left out is counted, so that nobody takes the list for the whole.
fn findings(text: &mut String, answer: &Value, all: bool) {
    let is_fault = |finding: &&Value| finding.get("severity") == Some(&Value::from("fault"));
    // In the daemon's order, which is the worst first.
    let shown = list(answer, "findings").iter();
    let shown: Vec<&Value> = match all {
        true => shown.collect(),
        false => shown.filter(is_fault).take(MOST).collect(),
    };
    if !shown.is_empty() {
        text.push('\n');
    }
    for finding in &shown {
        of_finding(text, finding);
    }
    let [faults, hints] = ["faults", "hints"].map(|name| number(answer, name).unwrap_or(0));
    let left = (faults + hints).saturating_sub(shown.len() as u64);
    let more = match left {
        0 => String::new(),
        _ if all => format!("; {left} more, in the log"),
        _ => format!("; {left} not shown, with --all"),
    };
    let _ = writeln!(
        text,
        "{}, {}{more}",
        count(faults, "fault"),
        count(hints, "hint")
    );
}

/// A finding with both of its ends, and what to do about it.
///
/// Three lines behind it: what was seen, why that is likely, what to do.
fn of_finding(text: &mut String, finding: &Value) {
    let word = |name: &str| text_of(finding.get(name));
    let severity = match finding.get("severity").and_then(Value::as_str) {
        Some("fault") => "FAULT",
        _ => "hint",
    };
    let peer = finding.get("peer").filter(|peer| !peer.is_null());
    let peer = peer.map_or_else(String::new, |peer| format!(" to {}", place(Some(peer))));
    let _ = writeln!(
        text,
        "{severity:<7}{:<25}{}{peer}",
        word("kind"),
        place(finding.get("at"))
    );
    let since = age(finding.get("age_s"));
    for line in [
        format!("{}; found {since} ago", word("what")),
        format!("cause: {}", word("cause")),
        format!("do: {}", word("remedy")),
    ] {
        let _ = writeln!(text, "{:<32}{line}", "");
    }
}

/// A port, and the counters that are not 0.
///
/// A counter that is 0 says nothing that the others do not.
fn of_port(text: &mut String, port: &Value) {
    let word = |name: &str| text_of(port.get(name));
    let peer = port.get("peer").filter(|peer| !peer.is_null());
    let peer = peer.map_or_else(String::new, |peer| format!(" to {}", place(Some(peer))));
    let _ = writeln!(
        text,
        "\n{}{peer}\n  {} {}, can {} {}; {}",
        place(port.get("at")),
        word("width"),
        word("speed"),
        word("can_width"),
        word("can_speed"),
        match number(port, "read_s") {
            Some(_) => format!("read {} ago", age(port.get("read_s"))),
            None => "not read yet".to_owned(),
        }
    );
    let hour = port.get("hour").and_then(Value::as_object);
    for (name, value) in object(port.get("counters")) {
        // Most are, and the others are what is looked for.
        if value == &Value::from(0) {
            continue;
        }
        let lately = hour.and_then(|hour: &Map<String, Value>| hour.get(name));
        let lately = lately.map_or_else(String::new, |sum| {
            format!(", {sum} of them in the last hour")
        });
        let _ = writeln!(text, "  {name:<26}{value}{lately}");
    }
}

/// As the log has it.
///
/// Name, port number and node GUID, so that both a person and a search find it.
pub(crate) fn place(at: Option<&Value>) -> String {
    let word = |name: &str| text_of(at.and_then(|at| at.get(name)));
    match at.and_then(|at| number(at, "port")) {
        Some(port) => format!(
            "\"{}\" port {port} (0x{}:{port})",
            word("name"),
            word("guid")
        ),
        None => format!("\"{}\" (0x{})", word("name"), word("guid")),
    }
}

/// Nothing where the answer has no such list.
///
/// An older daemon may not know it.
fn list<'a>(answer: &'a Value, name: &str) -> &'a [Value] {
    let list = answer.get(name).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}

/// With an s where it is not one.
fn count(number: u64, one: &str) -> String {
    let number = usize::try_from(number).unwrap_or(usize::MAX);
    display::count(number, one, &format!("{one}s"))
}

/// Faults that are shown without `--all`.
const MOST: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn answer() -> Value {
        serde_json::json!({
            "ok": true, "period_s": 60, "problem": null, "devices": 2, "ports": 2, "read": 2, "oldest_s": 58,
            "requests": 6, "unanswered": 0, "refused": 0, "faults": 1, "hints": 1, "node": null,
            "findings": [
                {"kind": "width", "severity": "fault", "at": {"guid": "0000000000200000", "port": 3, "name": "L0"},
                 "peer": {"guid": "0000000000100000", "port": 1, "name": "H0"}, "what": "runs at 1x",
                 "cause": "a lane", "remedy": "reseat", "age_s": 61},
                {"kind": "mute", "severity": "hint", "at": {"guid": "0000000000100000", "port": null, "name": "H0"},
                 "peer": null, "what": "3 visits", "cause": "no agent", "remedy": "look", "age_s": 5},
            ],
        })
    }

    #[test]
    fn faults_are_shown_and_hints_with_all() {
        let short = text(&answer(), false);
        assert!(short.contains("FAULT  width                    \"L0\" port 3 (0x0000000000200000:3) to \"H0\" port 1"), "{short}");
        assert!(
            short.contains("do: reseat\n") && !short.contains("mute"),
            "{short}"
        );
        assert!(
            short.ends_with("1 fault, 1 hint; 1 not shown, with --all\n"),
            "{short}"
        );
        let long = text(&answer(), true);
        assert!(
            long.contains("hint   mute                     \"H0\" (0x0000000000100000)\n"),
            "{long}"
        );
        assert!(long.ends_with("1 fault, 1 hint\n"), "{long}");
    }

    #[test]
    fn what_is_not_read_is_said() {
        let mut answer = answer();
        answer["problem"] = Value::from("no device");
        answer["period_s"] = Value::Null;
        let told = text(&answer, false);
        assert!(told.contains("COUNTERS ARE NOT READ: no device"), "{told}");
        assert!(told.contains("ports are not asked"), "{told}");
    }
}
