//! An answer of the daemon, and the counters in it.
//!
//! Read by `Value` and not by types, as everywhere in the tool: it is the daemon's document, of an
//! older or a newer version too. What such a one does not tell is none here, and is not shown.

use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;

use crate::control::show::{number, object, text_of};

/// What the daemon has said at one moment.
#[derive(Debug, Clone)]
pub(super) struct Reading {
    /// When it came.
    pub(super) at: Instant,
    /// `sapphired.status/1`.
    pub(super) status: Value,
    /// `sapphired.health/1`; none where another SM has the subnet.
    pub(super) health: Option<Arc<Value>>,
}

/// The counters of a port, since the daemon's start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PortCounts {
    pub(super) received: u64,
    pub(super) answered: u64,
    /// Over all reasons, as the next two are.
    pub(super) refused: u64,
    pub(super) dropped: u64,
    pub(super) punted: u64,
    /// Turns that found requests, and those that found none; none of a daemon that does not tell.
    pub(super) turns: Option<(u64, u64)>,
}

impl Reading {
    /// Both documents as they came.
    pub(super) const fn new(at: Instant, status: Value, health: Option<Arc<Value>>) -> Self {
        Self { at, status, health }
    }

    /// Process id, by which one daemon is told from the next.
    pub(super) fn pid(&self) -> Option<u64> {
        number(&self.status, "pid")
    }

    /// Since the daemon's start. Units: seconds.
    pub(super) fn uptime(&self) -> u64 {
        number(&self.status, "uptime_s").unwrap_or(0)
    }

    /// A field of the status in words; a question mark where it is not told.
    pub(super) fn word(&self, name: &str) -> String {
        text_of(self.status.get(name))
    }

    /// The `[[port]]` sections, in their order.
    pub(super) fn ports(&self) -> &[Value] {
        list(&self.status, "ports")
    }

    /// An object of the status; none for null.
    pub(super) fn part(&self, name: &str) -> Option<&Value> {
        self.status.get(name).filter(|part| part.is_object())
    }

    /// Requests that the slow lane took, by attribute.
    pub(super) fn lane(&self) -> Vec<(String, u64)> {
        let lane = self.part("slow_lane");
        counts(lane.and_then(|lane| lane.get("requests"))).collect()
    }

    /// What became of requests, summed over ports. Shape: (what, reason), such as ("refused",
    /// "no_records"); "answered" and "unsent" have no reason.
    pub(super) fn answers(&self) -> Vec<((&'static str, String), u64)> {
        let mut all: Vec<((&'static str, String), u64)> = Vec::new();
        let mut add = |key: (&'static str, String), count: u64| match all
            .iter_mut()
            .find(|(known, _)| *known == key)
        {
            Some((_, sum)) => *sum += count,
            None => all.push((key, count)),
        };
        for port in self.ports() {
            add(
                ("answered", String::new()),
                number(port, "answered").unwrap_or(0),
            );
            for (field, what) in [
                ("refused", "refused"),
                ("dropped", "dropped"),
                ("punted", "slow"),
            ] {
                for (reason, count) in counts(port.get(field)) {
                    add((what, reason), count);
                }
            }
            // Usually 0, which is no news.
            if let Some(unsent) = number(port, "unsent").filter(|unsent| *unsent > 0) {
                add(("unsent", String::new()), unsent);
            }
        }
        all
    }
}

impl PortCounts {
    /// Of one element of `ports`.
    pub(super) fn of(port: &Value) -> Self {
        let one = |name: &str| number(port, name).unwrap_or(0);
        let sum = |name: &str| counts(port.get(name)).map(|(_, count)| count).sum();
        let turns = port.get("turns");
        let turn = |name: &str| turns.and_then(|turns| number(turns, name));
        Self {
            received: one("received"),
            answered: one("answered"),
            refused: sum("refused"),
            dropped: sum("dropped"),
            punted: sum("punted"),
            turns: turn("some").zip(turn("none")),
        }
    }
}

/// An object of counts by name.
fn counts(value: Option<&Value>) -> impl Iterator<Item = (String, u64)> {
    object(value).filter_map(|(name, count)| Some((name.clone(), count.as_u64()?)))
}

/// Empty where the document has no such list.
pub(super) fn list<'a>(document: &'a Value, name: &str) -> &'a [Value] {
    let list = document.get(name).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}
