//! Fat trees: the top for each LID dealt so that shifts of all hosts meet on no link.
//!
//! Tables as OpenSM's engine of this name makes them in spirit: in a whole tree each top-level link
//! down has as many LIDs as any other, and a LID comes down the same way from everywhere. Trees may
//! be pruned, oversubscribed, have parallel cables, and lack cables or switches. What is no tree is
//! refused, with the switches and cables that break its levels. How LIDs are dealt is in
//! `updown`, which this engine shares with [`super::updn`]; what it adds is the judgement:
//! whoever asks for a fat tree is told when the fabric is none.
//!
//! # Levels
//!
//! ```text
//! roots, named or found     0      0     cables lead from each level to the next one only;
//! middle                   1 1    1 1    hosts are on switches of one level only
//! leaves, with hosts       2 2    2 2
//! ```
//!
//! Roots are found as `updn` finds them. Without any, levels are counted from the switches with
//! hosts. A host on another level (say, a file server on a root) is refused only where no roots are
//! named: with named roots levels do not depend on it, and OpenSM takes such hosts for what it
//! calls IO nodes.
//!
//! Source: OpenSM `osm_ucast_ftree.c` for what is accepted; Zahavi, Johnson, Kerbyson and Lang,
//! Optimized InfiniBand fat-tree routing for shift all-to-all communication patterns, 2010.
//!
//! # What it does not do
//!
//! It uses no SLs and makes no multicast tree. Compute and IO nodes are not told apart
//! (`cn_guid_file`, `io_guid_file`), and no path turns the wrong way round (`max_reverse_hops`):
//! all pairs have a path without.

use std::collections::BTreeMap;

use sa_wire::Guid;

use super::updown::{self, roots};
use super::{Before, Engine, Needs, Request};
use crate::error::{Reason, Refusal, SwitchName};
use crate::kind::EngineKind;
use crate::tables::Routes;
use crate::topology::{SwitchIx, Topology};
use crate::watch::Stretch;

/// Fat trees; see the module.
pub(super) struct FatTree;

impl Engine for FatTree {
    fn needs(&self) -> Needs {
        Needs::Roots
    }

    fn route(&self, request: &Request<'_>) -> Result<Routes, Refusal> {
        let roots = roots::of_request(request, EngineKind::FatTree)?;
        let (topology, before) = (request.topology, request.before);
        let route = |share: Stretch<'_>| route_watched(topology, roots, before, share);
        request.watch.share(route)
    }

    fn is_incremental(&self) -> bool {
        true
    }
}

/// Routes a fat tree; every pair that is wired together gets a path. Without roots they are found.
/// Errors: every reason why the fabric is none; no root that is named is a switch.
pub fn route(
    topology: &Topology,
    roots: &[Guid],
    before: Option<Before<'_>>,
) -> Result<Routes, Refusal> {
    route_watched(topology, roots, before, Stretch::nobody())
}

/// [`route`], which says how much of it is done.
fn route_watched(
    topology: &Topology,
    roots: &[Guid],
    before: Option<Before<'_>>,
    share: Stretch<'_>,
) -> Result<Routes, Refusal> {
    let warnings = roots::missing(topology, roots, EngineKind::FatTree)?;
    let heights = |topology: &Topology| {
        updown::levels::heights_of_tree(topology, &roots::switches(topology, roots))
    };
    let reasons = reasons(topology, &heights(topology), !roots.is_empty());
    if !reasons.is_empty() {
        return Err(Refusal::new(EngineKind::FatTree, reasons));
    }
    let mut routes = updown::route(topology, EngineKind::FatTree, &heights, before, share);
    routes.warnings.extend(warnings);
    Ok(routes)
}

/// What breaks the levels of a tree: nothing in a fat tree.
fn reasons(topology: &Topology, heights: &[u32], are_named: bool) -> Vec<Reason> {
    let mut reasons = broken_levels(topology, heights);
    if !are_named {
        reasons.extend(hosts_elsewhere(topology, heights));
    }
    reasons
}

/// Cables that do not lead from one level to the next, each pair of switches once.
fn broken_levels(topology: &Topology, heights: &[u32]) -> Vec<Reason> {
    let height = |switch: SwitchIx| heights[switch.index()];
    let cables = topology.switch_ixs().flat_map(|from| {
        let cables = topology.cables(from);
        cables.map(move |(port, far, _)| ((from, far), port))
    });
    let odd =
        cables.filter(|((from, far), _)| from < far && height(*from).abs_diff(height(*far)) != 1);
    // Of parallel cables one tells all.
    let odd: BTreeMap<_, _> = odd.collect();
    let name = |switch| SwitchName::new(topology, switch, None);
    let words = odd.into_iter().map(|((from, far), port)| {
        let (low, high) = (height(from).min(height(far)), height(from).max(height(far)));
        let levels = match high - low {
            0 => format!("both on level {low} from below"),
            _ => format!("on levels {low} and {high} from below"),
        };
        let text = format!(
            "{} port {port} leads to {}, {levels}: in a fat tree cables lead from a level to the \
             next; take the cable out, name the roots (root_guid_file), or use engine updn",
            name(from),
            name(far)
        );
        Reason::new("level-broken", text)
    });
    words.collect()
}

/// Switches with hosts that are on another level than most hosts.
fn hosts_elsewhere(topology: &Topology, heights: &[u32]) -> Vec<Reason> {
    let hosts = |switch: &SwitchIx| topology.hosts(*switch).count();
    let mut by_level: BTreeMap<u32, usize> = BTreeMap::new();
    for switch in topology.switch_ixs() {
        *by_level.entry(heights[switch.index()]).or_default() += hosts(&switch);
    }
    // Of levels with equally many hosts the lowest.
    let most = by_level
        .iter()
        .max_by_key(|(level, hosts)| (**hosts, u32::MAX - **level));
    let Some((leaves, _)) = most else {
        return Vec::new();
    };
    let elsewhere = topology
        .switch_ixs()
        .filter(|switch| heights[switch.index()] != *leaves && hosts(switch) > 0);
    let words = elsewhere.map(|switch| {
        let text = format!(
            "{} has {} hosts on level {} from below, most hosts are on level {leaves}: plug them \
             into leaves, name the roots (root_guid_file), or use engine updn",
            SwitchName::new(topology, switch, None),
            hosts(&switch),
            heights[switch.index()]
        );
        Reason::new("hosts-on-levels", text)
    });
    words.collect()
}
