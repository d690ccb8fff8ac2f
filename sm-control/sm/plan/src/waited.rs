//! Which pairs were without a path while routes changed, and for how long.
//!
//! ```text
//!  the proof of the change: who sends to a LID over a switch that changes ──┐
//!                                                                           ├──> LID 12 (H3:1): 2 hosts of S1, 1070 ms
//!  the writing: from when until when the LID led nowhere ───────────────────┘
//! ```
//!
//! A line for each LID, not for each pair: all hosts of a switch take the same way, so switches say which pairs it were.

use core::fmt;
use std::collections::HashMap;
use std::time::Duration;

use routing::proof::mixture::Waiting;
use sa_compiler::state::FabricState;
use sa_sm::writing::DrainedLid;
use sa_wire::{Guid, Lid};

/// Hosts that had no path to a LID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waited {
    /// The LID.
    pub lid: u16,
    /// Whose it is: NODE:PORT, by names.
    pub port: String,
    /// Names of the switches on which the hosts are, ascending by their place in the compilation.
    pub from: Vec<String>,
    /// How many these hosts are.
    pub hosts: usize,
    /// For how long, as far as it is.
    pub took: Duration,
    /// They have a path again.
    pub is_over: bool,
}

/// Joins what was foreseen with what came of it; a LID that no host waited for is left out.
pub(crate) fn of(parts: &FabricState, waiting: &[Waiting], drained: &[DrainedLid]) -> Vec<Waited> {
    let waiting: HashMap<u16, &Waiting> = waiting.iter().map(|it| (it.lid, it)).collect();
    let waited = drained.iter().filter_map(|it| {
        let waiting = waiting.get(&it.lid).filter(|waiting| waiting.hosts > 0)?;
        let from = waiting.from.iter().map(|at| {
            let switch = parts.topology.switch(*at);
            name(&switch.description, switch.guid)
        });
        Some(Waited {
            lid: it.lid,
            port: port_of(parts, it.lid),
            from: from.collect(),
            hosts: waiting.hosts,
            took: it.took,
            is_over: it.is_over,
        })
    });
    waited.collect()
}

/// NODE:PORT.
fn port_of(parts: &FabricState, lid: u16) -> String {
    let end = Lid::new(lid)
        .ok()
        .and_then(|lid| parts.routes.lids().owner(lid));
    let Some(end) = end else {
        return "nobody".to_owned();
    };
    let port = parts.topology.end_port(end);
    let node = name(&port.description, port.node_guid);
    format!("{node}:{}", port.port_number)
}

/// What a node calls itself; its GUID where that is nothing.
fn name(description: &str, guid: Guid) -> String {
    match description {
        "" => guid.to_string(),
        description => description.to_owned(),
    }
}

/// A line of a log.
impl fmt::Display for Waited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            lid, port, hosts, ..
        } = self;
        let (first, ms) = (self.from.iter().take(MOST_NAMES), self.took.as_millis());
        write!(f, "{hosts} hosts of ")?;
        for (place, switch) in first.enumerate() {
            write!(f, "{}{switch}", if place > 0 { ", " } else { "" })?;
        }
        if self.from.len() > MOST_NAMES {
            write!(f, " and {} switches more", self.from.len() - MOST_NAMES)?;
        }
        let so_far = if self.is_over { "" } else { " so far" };
        write!(f, " had no path to LID {lid} ({port}) for {ms} ms{so_far}")
    }
}

/// Switches that a line names.
const MOST_NAMES: usize = 16;
