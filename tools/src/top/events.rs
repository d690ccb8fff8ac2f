//! What has happened, from what two readings differ by, and before that from what the first one
//! says of the past.
//!
//! The status has no history but its last failure, the age of its snapshot and the end of its last
//! sweep. So what happens while somebody looks is written up here, the newest first; what came and
//! went between two readings is not seen, unless a counter tells of it.

use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use super::findings::{self, Finding};
use super::reading::{Reading, list};
use crate::control::show::{number, object, text_of};

/// Events that are kept.
const MOST: usize = 200;

/// Something that has happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    /// When it was seen here.
    seen: Instant,
    /// How long ago it was then.
    before: Duration,
    /// Somebody should know of it.
    pub(super) is_bad: bool,
    pub(super) text: String,
}

impl Event {
    /// How long ago it is.
    pub(super) fn age(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.seen) + self.before
    }
}

/// The newest first.
#[derive(Debug, Clone, Default)]
pub(super) struct Events(VecDeque<Event>);

impl Events {
    /// From the newest on.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Event> {
        self.0.iter()
    }

    /// Something that is seen as it happens.
    pub(super) fn add(&mut self, seen: Instant, is_bad: bool, text: String) {
        self.push(Event {
            seen,
            before: Duration::ZERO,
            is_bad,
            text,
        });
    }

    fn push(&mut self, event: Event) {
        self.0.push_front(event);
        self.0.truncate(MOST);
    }

    /// What the first reading says of the past.
    pub(super) fn begin(&mut self, first: &Reading) {
        let mut past: Vec<(u64, bool, String)> = Vec::new();
        if let Some(snapshot) = first.part("snapshot") {
            let text = format!("epoch {} was compiled", text_of(snapshot.get("epoch")));
            past.extend(number(snapshot, "age_s").map(|age| (age, false, text)));
        }
        if let Some(failure) = first.part("last_failure") {
            past.extend(number(failure, "age_s").map(|age| (age, true, failed_load(failure))));
        }
        if let Some(manager) = first.part("subnet_manager") {
            past.extend(since(number(manager, "up_unix")).map(|age| (age, false, swept(manager))));
        }
        // The oldest is put in first, so that it is below.
        past.sort_by_key(|(age, ..)| core::cmp::Reverse(*age));
        for (age, is_bad, text) in past {
            let (seen, before) = (first.at, Duration::from_secs(age));
            self.push(Event {
                seen,
                before,
                is_bad,
                text,
            });
        }
    }

    /// What has happened from one reading to the next of the same process.
    pub(super) fn compare(&mut self, before: &Reading, after: &Reading) {
        let mut told = Vec::new();
        loads(before, after, &mut told);
        standing(before, after, &mut told);
        ports(before, after, &mut told);
        sweeps(before, after, &mut told);
        of_findings(before, after, &mut told);
        for (is_bad, text) in told {
            self.add(after.at, is_bad, text);
        }
    }
}

/// True for what is bad, and words.
type Told = Vec<(bool, String)>;

/// What came of the sources.
fn loads(before: &Reading, after: &Reading, told: &mut Told) {
    let epoch = |reading: &Reading| {
        reading
            .part("snapshot")
            .and_then(|snapshot| number(snapshot, "epoch"))
    };
    match (epoch(before), epoch(after)) {
        (one, Some(other)) if one != Some(other) => {
            let from = one.map_or_else(|| "none".to_owned(), |epoch| epoch.to_string());
            told.push((false, format!("epoch {from} -> {other}")));
        }
        _ => {}
    }
    let has_grown = |name: &str| number(&after.status, name) > number(&before.status, name);
    if has_grown("failed_loads") {
        let failure = after.part("last_failure");
        told.push((
            true,
            failure.map_or_else(|| "a load failed".to_owned(), failed_load),
        ));
    }
    if has_grown("rollbacks") {
        told.push((false, "rolled back".to_owned()));
    }
}

/// Whether it answers, and how it stands to the SM.
fn standing(before: &Reading, after: &Reading, told: &mut Told) {
    let why = |reading: &Reading, name: &str| {
        reading
            .status
            .get(name)
            .and_then(Value::as_str)
            .map(first_line)
    };
    for (name, good, bad) in [
        ("not_ready", "ready", "not ready"),
        ("passive", "active", "passive"),
    ] {
        match (why(before, name), why(after, name)) {
            (None, Some(why)) => told.push((true, format!("{bad}: {why}"))),
            (Some(_), None) => told.push((false, good.to_owned())),
            _ => {}
        }
    }
    let facts = |reading: &Reading| -> Vec<(String, String)> {
        let facts = object(reading.status.get("standing"));
        facts
            .map(|(name, value)| (name.clone(), text_of(Some(value))))
            .collect()
    };
    let known = facts(before);
    for (name, value) in facts(after)
        .into_iter()
        .filter(|fact| !known.contains(fact))
    {
        told.push((false, format!("{name}: {value}")));
    }
}

/// Which ports are served and attached.
fn ports(before: &Reading, after: &Reading, told: &mut Told) {
    for (nth, (before, after)) in before.ports().iter().zip(after.ports()).enumerate() {
        let is = |port: &Value, name: &str| port.get(name) != Some(&Value::Bool(false));
        if is(before, "served") && !is(after, "served") {
            told.push((true, format!("port {nth} is not served any more")));
        }
        match (is(before, "attached"), is(after, "attached")) {
            (true, false) => told.push((
                true,
                format!("port {nth} is away: {}", text_of(after.get("away"))),
            )),
            (false, true) => told.push((false, format!("port {nth} is back"))),
            _ => {}
        }
    }
}

/// Sweeps of the Subnet Manager, and what is drained.
fn sweeps(before: &Reading, after: &Reading, told: &mut Told) {
    let (Some(before), Some(after)) = (before.part("subnet_manager"), after.part("subnet_manager"))
    else {
        return;
    };
    if number(after, "sweeps") > number(before, "sweeps") {
        told.push((false, swept(after)));
    }
    if number(after, "failed_sweeps") > number(before, "failed_sweeps") {
        told.push((true, "a sweep failed".to_owned()));
    }
    let parts = |manager: &Value| -> BTreeSet<String> {
        list(manager, "drained")
            .iter()
            .map(|part| text_of(part.get("part")))
            .collect()
    };
    let (one, other) = (parts(before), parts(after));
    told.extend(
        other
            .difference(&one)
            .map(|part| (false, format!("{part} is drained"))),
    );
    told.extend(
        one.difference(&other)
            .map(|part| (false, format!("{part} is drained no more"))),
    );
}

/// What has begun and what is over. The daemon's own standing is told above.
fn of_findings(before: &Reading, after: &Reading, told: &mut Told) {
    let names = |reading: &Reading| -> BTreeSet<(bool, String)> {
        let all = findings::of_fabric(reading).into_iter();
        all.map(
            |Finding {
                 is_fault, title, ..
             }| (is_fault, title),
        )
        .collect()
    };
    let (one, other) = (names(before), names(after));
    told.extend(
        other
            .difference(&one)
            .map(|(is_fault, title)| (*is_fault, format!("found: {title}"))),
    );
    told.extend(
        one.difference(&other)
            .map(|(_, title)| (false, format!("no more: {title}"))),
    );
}

/// A sweep that came to its end.
fn swept(manager: &Value) -> String {
    let word = |name: &str| text_of(manager.get(name));
    format!(
        "sweep {} ended: nodes {}, {} ms",
        word("sweeps"),
        word("nodes"),
        word("last_ms")
    )
}

/// The first line of why, and what had asked for the load.
fn failed_load(failure: &Value) -> String {
    let what = text_of(failure.get("what"));
    format!(
        "a load failed ({}): {}",
        text_of(failure.get("cause")),
        first_line(&what)
    )
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// Seconds since a Unix time; none for one that is not told or not yet.
pub(super) fn since(unix: Option<u64>) -> Option<u64> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    now.as_secs().checked_sub(unix?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn texts(events: &Events) -> Vec<&str> {
        events.iter().map(|event| event.text.as_str()).collect()
    }

    #[test]
    fn what_has_changed_is_told_and_what_stayed_is_not() {
        let at = Instant::now();
        let before = json!({
            "snapshot": {"epoch": 4, "age_s": 10}, "failed_loads": 0, "rollbacks": 0, "not_ready": null, "passive": null,
            "standing": {"opensm": "away"},
            "ports": [{"served": true, "attached": true, "away": null}],
        });
        let mut after = before.clone();
        let (before, same) = (
            Reading::new(at, before.clone(), None),
            Reading::new(at, before, None),
        );
        let mut events = Events::default();
        events.compare(&before, &same);
        assert_eq!(texts(&events), [""; 0]);
        after["snapshot"]["epoch"] = json!(5);
        after["failed_loads"] = json!(1);
        after["last_failure"] = json!({"what": "net:3: no\nmore", "cause": "SIGHUP", "age_s": 0});
        after["not_ready"] = json!("port 0 is not attached: gone");
        after["standing"]["opensm"] = json!("process 9");
        after["ports"][0] = json!({"served": true, "attached": false, "away": "gone"});
        events.compare(&before, &Reading::new(at, after, None));
        assert_eq!(
            texts(&events),
            [
                "port 0 is away: gone",
                "opensm: process 9",
                "not ready: port 0 is not attached: gone",
                "a load failed (SIGHUP): net:3: no",
                "epoch 4 -> 5",
            ]
        );
    }

    #[test]
    fn a_first_reading_tells_of_the_past_with_its_age() {
        let at = Instant::now();
        let status = json!({
            "snapshot": {"epoch": 4, "age_s": 3600},
            "last_failure": {"what": "no", "cause": "SIGHUP", "age_s": 60},
        });
        let mut events = Events::default();
        events.begin(&Reading::new(at, status, None));
        assert_eq!(
            texts(&events),
            ["a load failed (SIGHUP): no", "epoch 4 was compiled"]
        );
        let ages: Vec<u64> = events
            .iter()
            .map(|event| event.age(at + Duration::from_secs(5)).as_secs())
            .collect();
        assert_eq!(ages, [65, 3605]);
    }

    #[test]
    fn a_sweep_a_drain_and_a_finding_are_seen() {
        let at = Instant::now();
        let manager = |sweeps: u64, findings: Value, drained: Value| {
            let manager = json!({"sweeps": sweeps, "failed_sweeps": 0, "nodes": 8, "last_ms": 12, "findings": findings, "drained": drained});
            Reading::new(at, json!({"subnet_manager": manager}), None)
        };
        let before = manager(3, json!(["L0 is odd"]), json!([]));
        let after = manager(4, json!(["L1 is odd"]), json!([{"part": "S1:2"}]));
        let mut events = Events::default();
        events.compare(&before, &after);
        assert_eq!(
            texts(&events),
            [
                "no more: L0 is odd",
                "found: L1 is odd",
                "S1:2 is drained",
                "sweep 4 ended: nodes 8, 12 ms"
            ]
        );
    }

    #[test]
    fn events_are_bounded() {
        let mut events = Events::default();
        for nth in 0..1000 {
            events.add(Instant::now(), false, nth.to_string());
        }
        assert_eq!(events.iter().count(), MOST);
        assert_eq!(texts(&events).first(), Some(&"999"));
    }
}
