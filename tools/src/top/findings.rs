//! What somebody has to know or to mend: of the daemon itself, then of the fabric, each with its
//! remedy where there is one.
//!
//! | from | what |
//! |---|---|
//! | status | not ready, a port that is away, a load that failed, a state directory that is behind, a rollback that holds, a changed configuration |
//! | health | links: place, cause, remedy, as `sapphire fabric health` has them; the worst first |
//! | status of a Subnet Manager | what its sweeps have found, in sentences |
//!
//! Faults of links are in both documents; they are taken from the second, which has them in parts.

use serde_json::Value;

use super::reading::{Reading, list};
use crate::control::health;
use crate::control::show::{number, text_of};

/// Something that stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    /// A hint otherwise, which a healthy subnet may have.
    pub(super) is_fault: bool,
    /// What and where; one line.
    pub(super) title: String,
    /// What was seen and why, and then what to do. Shape: sentences, each a paragraph.
    pub(super) more: Vec<String>,
    /// Since when. Units: seconds at the time of the reading; none where it is not told.
    pub(super) age_s: Option<u64>,
}

impl Finding {
    fn new(is_fault: bool, title: impl Into<String>) -> Self {
        Self {
            is_fault,
            title: title.into(),
            more: Vec::new(),
            age_s: None,
        }
    }

    fn remedy(mut self, words: &str) -> Self {
        self.more.push(format!("do: {words}"));
        self
    }
}

/// All of them, the daemon's own first.
pub(super) fn all(reading: &Reading) -> Vec<Finding> {
    let mut all = of_service(reading);
    all.extend(of_state(reading));
    all.extend(of_fabric(reading));
    all
}

/// Who gets no answer.
fn of_service(reading: &Reading) -> Vec<Finding> {
    let mut all = Vec::new();
    let why = |name: &str| reading.status.get(name).and_then(Value::as_str);
    if let Some(why) = why("not_ready") {
        let line = why.lines().next().unwrap_or_default();
        all.push(Finding::new(true, format!("not ready: {line}")));
    }
    for (nth, port) in reading.ports().iter().enumerate() {
        if port.get("served") == Some(&Value::Bool(false)) {
            let title = format!("port {nth} is not served any more");
            all.push(
                Finding::new(true, title).remedy("look into the log, then restart the daemon"),
            );
        }
    }
    if let Some(local) = reading.part("local_service") {
        if local.get("served") == Some(&Value::Bool(false)) {
            let finding = Finding::new(true, "this host's kernel is not answered any more");
            all.push(finding.remedy("look into the log, then restart the daemon"));
        }
        if number(local, "others").is_some_and(|others| others > 0) {
            let finding = Finding::new(true, "another program answers this host's kernel too");
            all.push(finding.remedy("end it: there should be one; the log has more"));
        }
    }
    all
}

/// What a restart, a reload or a look at the files would find.
fn of_state(reading: &Reading) -> Vec<Finding> {
    let mut all = Vec::new();
    if let Some(failure) = reading.part("last_failure") {
        let title = format!("the last load failed ({})", text_of(failure.get("cause")));
        let mut finding = Finding::new(true, title);
        finding.age_s = number(failure, "age_s");
        finding.more.push(text_of(failure.get("what")));
        all.push(finding.remedy("mend it, `sapphired --check`, then `sapphire reload`; the snapshot before serves meanwhile"));
    }
    let problem = reading
        .part("state")
        .and_then(|state| state.get("problem"))
        .and_then(Value::as_str);
    if let Some(why) = problem {
        let finding = Finding::new(
            true,
            format!("the state directory is not up to date: {why}"),
        );
        all.push(
            finding.remedy("make room or mend its rights; a restart would serve an older snapshot"),
        );
    }
    if let Some(epoch) = number(&reading.status, "held_epoch") {
        let finding = Finding::new(
            false,
            format!("rolled back as epoch {epoch}: automatic reloads wait"),
        );
        all.push(finding.remedy("`sapphire reload` when the files are mended"));
    }
    if let Some(what) = reading.status.get("configuration").and_then(Value::as_str) {
        all.push(Finding::new(false, format!("configuration: {what}")));
    }
    all
}

/// Of links and of what sweeps have found.
pub(super) fn of_fabric(reading: &Reading) -> Vec<Finding> {
    let health = reading.health.as_deref();
    let mut all: Vec<Finding> = Vec::new();
    if let Some(why) = health
        .and_then(|health| health.get("problem"))
        .and_then(Value::as_str)
    {
        all.push(Finding::new(
            true,
            format!("counters of links are not read: {why}"),
        ));
    }
    let links = health.map_or(&[][..], |health| list(health, "findings"));
    all.extend(links.iter().map(of_link));
    let manager = reading.part("subnet_manager");
    let told = manager.map_or(&[][..], |manager| list(manager, "findings"));
    let told = told.iter().filter_map(Value::as_str);
    // A sentence of a link's fault has its cause and its remedy in it.
    all.extend(
        told.filter(|text| health.is_none() || !text.contains(REMEDY))
            .map(sentence),
    );
    let shown = manager.map_or(0, |manager| list(manager, "findings").len() as u64);
    let count = manager
        .and_then(|manager| number(manager, "findings_count"))
        .unwrap_or(shown);
    if let Some(more) = count.checked_sub(shown).filter(|more| *more > 0) {
        all.push(Finding::new(
            false,
            format!("and {more} more of the last sweep, in the log"),
        ));
    }
    all
}

/// One of a link, as `sapphire fabric health` has it.
fn of_link(finding: &Value) -> Finding {
    let word = |name: &str| text_of(finding.get(name));
    let is_fault = finding.get("severity").and_then(Value::as_str) == Some("fault");
    let peer = finding.get("peer").filter(|peer| !peer.is_null());
    let peer = peer.map_or_else(String::new, |peer| {
        format!(" to {}", health::place(Some(peer)))
    });
    let title = format!(
        "{} {}{peer}",
        word("kind"),
        health::place(finding.get("at"))
    );
    let mut found = Finding::new(is_fault, title);
    found.age_s = number(finding, "age_s");
    found.more = vec![word("what"), format!("cause: {}", word("cause"))];
    found.remedy(&word("remedy"))
}

/// One that is told in a sentence.
fn sentence(text: &str) -> Finding {
    match text.split_once(REMEDY) {
        // Only faults of links have one, where an older daemon tells no more of them.
        Some((text, remedy)) => Finding::new(true, text).remedy(remedy),
        None => Finding::new(false, text),
    }
}

/// What stands before the remedy in a sentence of the daemon.
const REMEDY: &str = ". Remedy: ";

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Instant;

    use serde_json::json;

    use super::*;

    #[test]
    fn faults_of_links_are_told_once_with_their_remedy() {
        let status = json!({"subnet_manager": {"findings_count": 3, "findings": [
            "S1 is mute", "\"L0\" port 3: runs at 1x. Cause: a lane. Remedy: reseat",
        ]}});
        let health = json!({"problem": null, "findings": [{
            "kind": "width", "severity": "fault", "at": {"guid": "02", "port": 3, "name": "L0"}, "peer": null,
            "what": "runs at 1x", "cause": "a lane", "remedy": "reseat", "age_s": 61,
        }]});
        let of = |health| all(&Reading::new(Instant::now(), status.clone(), health));
        let found = of(Some(Arc::new(health)));
        let titles: Vec<&str> = found.iter().map(|it| it.title.as_str()).collect();
        assert_eq!(
            titles,
            [
                "width \"L0\" port 3 (0x02:3)",
                "S1 is mute",
                "and 1 more of the last sweep, in the log"
            ]
        );
        assert_eq!(found[0].more, ["runs at 1x", "cause: a lane", "do: reseat"]);
        // An older daemon has the sentence alone.
        let found = of(None);
        assert!(
            found
                .iter()
                .any(|it| it.is_fault && it.more == ["do: reseat"]),
            "{found:?}"
        );
    }

    #[test]
    fn what_is_wrong_with_the_daemon_comes_first() {
        let status = json!({
            "not_ready": "no snapshot yet\nnet:1: bad", "held_epoch": 4, "configuration": "x differs",
            "state": {"problem": "disk full"}, "last_failure": {"what": "net:1: bad", "cause": "start", "age_s": 5},
            "ports": [{"served": false}],
        });
        let found = all(&Reading::new(Instant::now(), status, None));
        let titles: Vec<&str> = found.iter().map(|it| it.title.as_str()).collect();
        assert_eq!(
            titles,
            [
                "not ready: no snapshot yet",
                "port 0 is not served any more",
                "the last load failed (start)",
                "the state directory is not up to date: disk full",
                "rolled back as epoch 4: automatic reloads wait",
                "configuration: x differs",
            ]
        );
        assert!(all(&Reading::new(Instant::now(), json!({}), None)).is_empty());
    }
}
