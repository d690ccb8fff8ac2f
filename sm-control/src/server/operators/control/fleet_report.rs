//! A host's part in its fleet, as an object for programs: of `status`, and of `fleet-status` with
//! who follows.

use core::sync::atomic::Ordering;

use fleet_node::said::Said;
use fleet_transfer::clocks;
use fleet_transfer::serve::children::Child;
use serde::Serialize;

use super::status_report::Pairs;
use crate::server::fleet::FleetView;

/// Hosts that are listed; a leader of more counts them all.
const LISTED: usize = 2000;

/// See the module.
#[derive(Debug, Serialize)]
pub(in crate::server) struct FleetReport {
    /// `leader`, `relay` or `follower`.
    role: &'static str,
    subnet: String,
    /// A word: `fresh`, `leads`, or why it is silent or does not lead.
    state: &'static str,
    /// Whether this host's own answers are not held back by the fleet.
    answers: bool,
    /// For how long that is so without another word. Units: ms.
    fresh_ms: Option<u64>,
    /// The newest announcement that was seen or made: `ERA.TERM.SEQ.BEAT`.
    announced: String,
    /// Of a leader, while it leads.
    term: Option<u64>,
    root_version: u32,
    /// What is answered from, or was published; 64 hex digits.
    snapshot: Option<String>,
    /// Why announcements were refused, with counts.
    refused: Pairs<&'static str, u64>,
    /// What a person was told last.
    alert: Option<AlertReport>,
    /// Of a leader or relay.
    children: Option<Children>,
}

#[derive(Debug, Serialize)]
struct AlertReport {
    what: String,
    age_s: u64,
}

/// Who asks here.
#[derive(Debug, Serialize)]
struct Children {
    /// Hosts that asked within the last minute.
    count: usize,
    /// Those of them that answer from what is announced here.
    fresh: usize,
    connections: usize,
    /// Bytes of snapshots and patches since the start.
    sent_bytes: u64,
    /// By name; none in a status. Of a fleet of more than 2,000 hosts only the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    hosts: Option<Vec<ChildReport>>,
}

#[derive(Debug, Serialize)]
struct ChildReport {
    node: String,
    state: String,
    /// It answers from what is announced here.
    fresh: bool,
    /// Since it asked last. Units: ms.
    age_ms: u64,
    /// Of a relay: hosts that ask there, and those of them that are fresh.
    below: Option<(u64, u64)>,
}

impl FleetReport {
    /// `lists`: with who follows, by name.
    pub(super) fn of(fleet: &FleetView, lists: bool) -> Self {
        let said = fleet.said();
        let refused = said.refused.iter().map(|(why, count)| (why.name(), *count));
        Self {
            role: fleet.role.name(),
            subnet: fleet.prefix.to_string(),
            state: fleet.state(&said),
            answers: fleet.silent().is_none(),
            fresh_ms: fleet.fresh_ms(&said),
            announced: said.position.to_string(),
            term: said.term,
            root_version: said.root_version,
            snapshot: said.blob.map(|blob| blob.to_string()),
            refused: Pairs(refused.collect()),
            alert: said.alert.as_ref().map(|(at, what)| AlertReport {
                what: what.clone(),
                age_s: clocks::now().since(*at).as_secs(),
            }),
            children: children(fleet, &said, lists),
        }
    }
}

fn children(fleet: &FleetView, said: &Said, lists: bool) -> Option<Children> {
    let desk = fleet.desk.as_ref()?;
    let all = fleet.children();
    let is_fresh = |child: &Child| FleetView::is_fresh(said, child);
    let hosts = all.iter().take(LISTED).map(|(node, child)| ChildReport {
        node: node.clone(),
        state: child.state.clone(),
        fresh: is_fresh(child),
        age_ms: u64::try_from(clocks::now().since(child.at).as_millis()).unwrap_or(u64::MAX),
        below: child.below,
    });
    Some(Children {
        count: all.len(),
        fresh: all.iter().filter(|(_, child)| is_fresh(child)).count(),
        connections: desk.counts.connections.load(Ordering::Relaxed),
        sent_bytes: desk.counts.bytes.load(Ordering::Relaxed),
        hosts: lists.then(|| hosts.collect()),
    })
}
