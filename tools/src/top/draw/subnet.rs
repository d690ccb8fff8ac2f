//! The pane of the subnet: what the fleet says, what the Subnet Manager of the daemon is at, or how
//! the daemon stands to another one.

use ratatui::text::Line;
use serde_json::Value;

use super::Shown;
use super::fleet::fleet;
use super::look::Tone;
use crate::control::show::{age_of, number, object, of_local, text_of};
use crate::top::events::since;
use crate::top::reading::{Reading, list};

/// The Subnet Manager of the daemon, or how it stands to another one.
pub(super) fn subnet(shown: &Shown<'_>, width: usize) -> Vec<Line<'static>> {
    let Some(reading) = &shown.model.reading else {
        return Vec::new();
    };
    let mut texts = match reading.part("subnet_manager") {
        Some(manager) => of_manager(manager),
        None => vec![format!(
            "no Subnet Manager here; source {}",
            reading.word("source")
        )],
    };
    texts.extend(reading.health.as_deref().map(of_links));
    let standing = object(reading.status.get("standing"));
    texts.extend(standing.map(|(name, value)| format!("{name}: {}", text_of(Some(value)))));
    texts.extend(of_others(reading));
    let lines = texts
        .into_iter()
        .map(|text| shown.look.line(shown.tone(Tone::Plain), text));
    let mut lines: Vec<Line<'static>> = fleet(shown, reading, width)
        .into_iter()
        .chain(lines)
        .collect();
    if let Some(why) = reading.status.get("passive").and_then(Value::as_str) {
        lines.insert(
            0,
            shown
                .look
                .line(Tone::Warn, format!("nobody is answered: {why}")),
        );
    }
    lines
}

/// What it is at, what its sweeps came to, what it has written, and what routes are to leave.
fn of_manager(manager: &Value) -> Vec<String> {
    let word = |name: &str| text_of(manager.get(name));
    let (phase, nodes, sweeps, failed) = (
        word("phase"),
        word("nodes"),
        word("sweeps"),
        word("failed_sweeps"),
    );
    let (smps, sets, repeated) = (word("smps"), word("sets"), word("repeated"));
    let (open, rate) = (word("open"), word("smps_per_second"));
    let (reads, differing) = (word("audit_reads"), word("audit_differing"));
    let mut texts = vec![
        format!(
            "{phase}: nodes {nodes}, sweeps {sweeps}, failed {failed}; {}",
            last_sweep(manager)
        ),
        format!(
            "{smps} SMPs, {sets} Sets, {repeated} sent again; {open} open, {rate} SMPs/s in a sweep"
        ),
        format!("audit: {reads} read back, {differing} differing"),
    ];
    texts.extend(list(manager, "drained").iter().map(of_drained));
    if let Some(waited) = number(manager, "waited_count").filter(|count| *count > 0) {
        texts.push(format!(
            "LIDs without a path for a while, in the last change of routes: {waited}"
        ));
    }
    texts
}

/// How long it took, and when it ended.
fn last_sweep(manager: &Value) -> String {
    let took = text_of(manager.get("last_ms"));
    match since(number(manager, "up_unix")) {
        Some(ago) => format!("the last took {took} ms and ended {} ago", age_of(ago)),
        None => "none has ended yet".to_owned(),
    }
}

/// Whether it may be pulled.
fn of_drained(part: &Value) -> String {
    let is_left = part.get("acknowledged") == Some(&Value::Bool(true));
    let state = if is_left {
        "may be pulled"
    } else {
        "routes have not left it yet"
    };
    format!("drained: {}, {state}", text_of(part.get("part")))
}

/// How much of the links is known.
fn of_links(health: &Value) -> String {
    let word = |name: &str| text_of(health.get(name));
    format!(
        "links: {} ports, {} read; faults {}, hints {}; {} unanswered, {} refused",
        word("ports"),
        word("read"),
        word("faults"),
        word("hints"),
        word("unanswered"),
        word("refused")
    )
}

/// What else the daemon does: comparing, and answering this host's kernel.
fn of_others(reading: &Reading) -> Vec<String> {
    let mut texts = Vec::new();
    if let Some(shadow) = reading.part("shadow") {
        let word = |name: &str| text_of(shadow.get(name));
        texts.push(format!(
            "compared: {} asked, {} answered, {} different",
            word("asked"),
            word("answered"),
            word("different")
        ));
    }
    texts.extend(
        reading
            .part("local_service")
            .map(|local| format!("local service: {}", of_local(local))),
    );
    texts
}
