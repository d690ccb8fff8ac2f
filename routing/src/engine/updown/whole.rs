//! The fabric as it was when nothing was missing, and what of its tables still holds.
//!
//! Dealing looks at all LIDs, so that one cable that fails would change entries everywhere. Instead
//! the tables of the whole fabric are kept for as long as parts of it are missing. Each entry that
//! still is on a shortest way stays; the others are dealt round among the ways that are left. What
//! comes out depends on the whole fabric and on what is missing, not on the order in which it
//! failed; when all is back, the tables are those of before.
//!
//! ```text
//! whole ──> tables W (dealt)       kept: the fabric, W
//! a cable fails   ──> W, but for entries that lost their way
//! another fails   ──> W, but for entries that lost their way, the first one's as above
//! both are back   ──> W
//! a new host      ──> dealt anew: this is the whole fabric now
//! ```
//!
//! The order of the switches stays as well, as long as it has one topmost switch: so no way turns
//! from up to down.

use std::collections::HashMap;
use std::sync::Arc;

use sa_wire::Guid;

use crate::engine::Before;
use crate::kind::EngineKind;
use crate::tables::Origin;
use crate::topology::{EndPort, Peer, Switch, SwitchIx, Topology};

/// A whole fabric of which another one is a part.
pub(super) struct Part {
    pub(super) whole: Arc<Origin>,
    /// By switch of the part: its index in the whole.
    pub(super) old: Vec<u32>,
    /// Nothing is missing.
    pub(super) is_all: bool,
}

impl Part {
    /// The whole fabric that `before` knows, if this fabric has nothing that is not there.
    /// Only of the same engine: another one's tables are none of ours.
    pub(super) fn new(topology: &Topology, before: Before<'_>, engine: EngineKind) -> Option<Self> {
        // Their order of switches is another one, and so are the ways that they may take.
        if before.routes.engine() != engine {
            return None;
        }
        let kept = before.routes.origin.clone();
        let is_part = |whole: &Topology| old_switches(topology, whole);
        // What is whole was decided when the first part went missing: parts of a part are parts of it.
        if let Some(whole) = kept {
            let old = is_part(&whole.topology)?;
            return Some(Self::of(topology, whole, old));
        }
        // The fabric before was whole: it becomes the origin, with a copy that outlives it.
        let old = is_part(before.topology)?;
        let whole = Origin {
            topology: before.topology.clone(),
            routes: before.routes.clone(),
        };
        Some(Self::of(topology, Arc::new(whole), old))
    }

    fn of(topology: &Topology, whole: Arc<Origin>, old: Vec<u32>) -> Self {
        let is_all = parts(topology) == parts(&whole.topology);
        Self { whole, old, is_all }
    }
}

/// How many switches, end ports and plugged ports there are.
///
/// As a part has nothing that the whole lacks, equal numbers mean that it is the whole.
fn parts(topology: &Topology) -> [usize; 3] {
    let ports = topology.switches.iter().flat_map(|switch| &switch.ports);
    let plugged = ports.filter(|port| port.peer != Peer::Nothing).count();
    [topology.switches.len(), topology.end_ports.len(), plugged]
}

/// By switch: its index in the whole fabric. None if anything is not there, or is elsewhere.
fn old_switches(topology: &Topology, whole: &Topology) -> Option<Vec<u32>> {
    let by_guid: HashMap<Guid, u32> = (0..)
        .zip(&whole.switches)
        .map(|(ix, switch)| (switch.guid, ix))
        .collect();
    let ends: HashMap<Guid, &EndPort> = whole.end_ports.iter().map(|end| (end.guid, end)).collect();
    // Another LID or LMC of a port makes it a port that the tables do not know.
    let same_end = |end: &EndPort| {
        let old = ends.get(&end.guid);
        old.is_some_and(|old| (old.lid, old.lmc) == (end.lid, end.lmc))
    };
    if !topology.end_ports.iter().all(same_end) {
        return None;
    }
    let old = topology.switches.iter().map(|switch| {
        let old = *by_guid.get(&switch.guid)?;
        same_ports(topology, switch, whole, whole.switch(SwitchIx(old))).then_some(old)
    });
    old.collect()
}

/// True where every plugged port leads where it leads in the whole fabric.
fn same_ports(topology: &Topology, switch: &Switch, whole: &Topology, old: &Switch) -> bool {
    // Port by port: a cable that was plugged elsewhere is no part of what was.
    let ports = switch.ports.iter().zip(&old.ports);
    switch.ports.len() == old.ports.len()
        && ports
            .into_iter()
            .all(|(port, old)| match (port.peer, old.peer) {
                // What is not there now may be anything: it is missing.
                (Peer::Nothing, _) => true,
                (Peer::Switch { switch: a, port: p }, Peer::Switch { switch: b, port: q }) => {
                    p == q && topology.switch(a).guid == whole.switch(b).guid
                }
                (Peer::EndPort(a), Peer::EndPort(b)) => {
                    topology.end_port(a).guid == whole.end_port(b).guid
                }
                _ => false,
            })
}
