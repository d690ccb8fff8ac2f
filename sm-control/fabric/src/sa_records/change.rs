//! What changed between two readings, in words.
//!
//! ```text
//!  2 switches gone: S7, S8
//!  3 links new: S1 port 4 to S2 port 4, ...
//!  1 forwarding tables changed: S2 (64 LIDs)
//! ```
//!
//! Both readings are compared by GUIDs, since indices follow from the order of LIDs and move with
//! any change. Each sentence is about one kind of change, names a few and counts all; the daemon
//! logs them with the snapshot that follows, so that an operator sees cause and effect beside each
//! other.
//!
//! What no answer depends on (a state counter, a description) is told in one sentence, as the
//! records are not equal and a new snapshot is made.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;

use sa_wire::records::LinearForwardingTableRecord;
use sa_wire::{Guid, NodeType};

use crate::display::first_few;
use crate::sa_records::SaFabric;
use crate::{Fabric, Node, NodeIx, PortRef};

/// One sentence for each kind of change; none where nothing changed.
///
/// The order goes from cause to effect: a switch that is gone takes links and LIDs along, and
/// tables follow.
pub(super) fn in_words(before: &SaFabric, after: &SaFabric) -> Vec<String> {
    if before == after {
        return Vec::new();
    }
    let (was, is) = (before.fabric(), after.fabric());
    let (to_old, to_new) = (Matched::new(is, was), Matched::new(was, is));
    let mut words = Vec::new();
    nodes(&to_old, &to_new, &mut words);
    say(&mut words, "links gone", &cables_lacking(&to_new));
    say(&mut words, "links new", &cables_lacking(&to_old));
    lids(&to_old, &mut words);
    if sm(was) != sm(is) {
        let name = is.sm().map_or_else(String::new, |at| is.port_name(at));
        words.push(format!("the SM runs on {name} now"));
    }
    ports(&to_old, &mut words);
    tables(before, after, &mut words);
    if before.records().pkeys != after.records().pkeys {
        words.push("P_Key tables changed".to_owned());
    }
    if before.aliases() != after.aliases() {
        words.push("alias GUIDs changed".to_owned());
    }
    if before.qos() != after.qos() {
        let state = if after.qos() { "on" } else { "off" };
        words.push(format!("QoS is {state} now"));
    }
    // Something must be said: the records differ.
    if words.is_empty() {
        words.push("records changed that no answer depends on".to_owned());
    }
    words
}

/// The nodes of one fabric, and which of another they are, by GUID.
struct Matched<'a> {
    /// Whose indices are the keys.
    own: &'a Fabric,
    /// Whose indices are the values.
    other: &'a Fabric,
    /// By own node. Mostly the same index: nodes stand in the order of their LIDs.
    nodes: Vec<Option<NodeIx>>,
}

impl<'a> Matched<'a> {
    fn new(own: &'a Fabric, other: &'a Fabric) -> Self {
        let by_guid = OnceCell::new();
        let found = |guid: Guid| {
            let all = (0..).map(NodeIx).zip(other.nodes());
            let index = || all.map(|(ix, node)| (node.guid, ix)).collect();
            let by_guid: &HashMap<Guid, NodeIx> = by_guid.get_or_init(index);
            by_guid.get(&guid).copied()
        };
        let nodes = (0..).map(NodeIx).zip(own.nodes()).map(|(ix, node)| {
            let same = other.nodes().get(ix.get());
            match same.is_some_and(|other| other.guid == node.guid) {
                true => Some(ix),
                false => found(node.guid),
            }
        });
        Self {
            nodes: nodes.collect(),
            own,
            other,
        }
    }

    /// The same node of the other fabric.
    ///
    /// None where it has gone, or is new.
    fn node(&self, own: NodeIx) -> Option<NodeIx> {
        self.nodes.get(own.get()).copied().flatten()
    }

    /// The same port of the other fabric.
    ///
    /// None also where the node has fewer ports now: then it is another device.
    fn port(&self, own: PortRef) -> Option<PortRef> {
        let node = self.node(own.node)?;
        let is_there = own.port <= self.other.node(node).port_count();
        is_there.then_some(PortRef { node, ..own })
    }
}

/// Nodes that came and went, by type.
fn nodes(to_old: &Matched<'_>, to_new: &Matched<'_>, words: &mut Vec<String>) {
    let kinds = [
        ("switches", NodeType::Switch),
        ("hosts", NodeType::Ca),
        ("routers", NodeType::Router),
    ];
    // In the order of GUIDs, which no change moves.
    let lacking = |matched: &Matched<'_>, wanted: NodeType| {
        let all = (0..).map(NodeIx).zip(matched.own.nodes());
        let of_kind = all.filter(|(_, node)| node.kind == wanted);
        let missing = of_kind.filter(|(ix, _)| matched.node(*ix).is_none());
        let mut missing: Vec<&Node> = missing.map(|(_, node)| node).collect();
        missing.sort_by_key(|node| node.guid);
        let names = missing.into_iter().map(|node| node.name().to_owned());
        names.collect::<Vec<_>>()
    };
    for (kind, wanted) in kinds {
        say(words, &format!("{kind} gone"), &lacking(to_new, wanted));
        say(words, &format!("{kind} new"), &lacking(to_old, wanted));
    }
}

/// Cables that the other fabric lacks, each once; one that was moved is such a cable of both.
fn cables_lacking(matched: &Matched<'_>) -> Vec<String> {
    let (own, other) = (matched.own, matched.other);
    let key = |at: PortRef| (own.node(at.node).guid, at.port);
    let is_there = |one: PortRef, far: PortRef| {
        let (one, far) = (matched.port(one), matched.port(far));
        one.is_some_and(|one| far.is_some() && other.port(one).peer == far)
    };
    let lacking = own.cabled().filter(|(one, far)| !is_there(*one, *far));
    let mut lacking: Vec<_> = lacking
        .filter(|(one, far)| key(*one) <= key(*far))
        .collect();
    lacking.sort_by_key(|(one, far)| (key(*one), key(*far)));
    let names = lacking
        .into_iter()
        .map(|(one, far)| format!("{} to {}", own.port_name(one), own.port_name(far)));
    names.collect()
}

/// Ports that both readings have, with another LID.
///
/// Told by GUID, as the port may be on another node.
fn lids(to_old: &Matched<'_>, words: &mut Vec<String>) {
    let (is, was) = (to_old.own, to_old.other);
    let facts = |fabric: &Fabric, at: PortRef| {
        let port = fabric.port(at);
        Some((port.guid?, port.lid?.get()))
    };
    let stays = |at: PortRef| {
        let before = to_old.port(at).and_then(|before| facts(was, before));
        before == facts(is, at)
    };
    let others = all_ports(is).filter(|at| !stays(*at));
    let others = others.filter_map(|at| Some((facts(is, at)?, at)));
    let mut others: Vec<((Guid, u16), PortRef)> = others.collect();
    if others.is_empty() {
        return;
    }
    others.sort_unstable();
    // A port may be on another node now.
    let old: HashMap<Guid, u16> = all_ports(was).filter_map(|at| facts(was, at)).collect();
    let moved = others.into_iter().filter_map(|((guid, now), at)| {
        let before = old.get(&guid).copied()?;
        let name = is.port_name(at);
        (before != now).then(|| format!("{name} has LID {now}, had {before}"))
    });
    say(words, "LIDs moved", &moved.collect::<Vec<_>>());
}

/// Every port of every node, port 0 included.
fn all_ports(fabric: &Fabric) -> impl Iterator<Item = PortRef> {
    let nodes = (0..).map(NodeIx).zip(fabric.nodes());
    nodes.flat_map(|(node, facts)| (0..=facts.port_count()).map(move |port| PortRef { node, port }))
}

/// The GUID of the SM's port.
fn sm(fabric: &Fabric) -> Option<Guid> {
    fabric.port(fabric.sm()?).guid
}

/// Ports that were there before, run differently, and are linked as before.
fn ports(to_old: &Matched<'_>, words: &mut Vec<String>) {
    let (is, was) = (to_old.own, to_old.other);
    let runs_otherwise = |at: &PortRef| {
        let before = to_old.port(*at).map(|at| was.port(at));
        let now = is.port(*at);
        before.is_some_and(|before| {
            let stays = before.peer.is_some() == now.peer.is_some();
            let facts =
                |port: &crate::Port| (port.link, port.state, port.mtu_cap, port.vl_cap, port.lmc);
            // A port that lost its cable is told with the links.
            stays && facts(before) != facts(now)
        })
    };
    let names: Vec<String> = all_ports(is)
        .filter(runs_otherwise)
        .map(|at| is.port_name(at))
        .collect();
    say(
        words,
        "ports with another speed, width, MTU, VLs, LMC or state",
        &names,
    );
}

/// Switches that both readings have under one LID, by the number of entries that differ.
fn tables(before: &SaFabric, after: &SaFabric, words: &mut Vec<String>) {
    let (old, new) = (&before.records().lfts, &after.records().lfts);
    let is = after.fabric();
    let names: OnceCell<HashMap<u16, &str>> = OnceCell::new();
    let name_of = |at: PortRef| Some((is.port(at).lid?.get(), is.node(at.node).name()));
    let named = || all_ports(is).filter_map(name_of).collect();
    let changed: Vec<String> = new
        .iter()
        .filter_map(|(lid, table)| {
            let was = old.get(lid)?;
            // Most are shared with the reading before.
            let is_shared = Arc::ptr_eq(was, table);
            let entries = (!is_shared).then(|| different_entries(was, table))?;
            let name = names.get_or_init(named).get(lid).copied();
            (entries > 0).then(|| format!("{} ({entries} LIDs)", name.unwrap_or_default()))
        })
        .collect();
    say(words, "forwarding tables changed", &changed);
    if before.records().sl2vl != after.records().sl2vl {
        words.push("SL2VL tables changed".to_owned());
    }
}

/// LIDs whose entry is another one; beyond the end of a table nothing leads anywhere.
fn different_entries(
    was: &[LinearForwardingTableRecord],
    is: &[LinearForwardingTableRecord],
) -> usize {
    let block = |table: &[LinearForwardingTableRecord], nth: usize| {
        let block = table.get(nth);
        block.map_or([u8::MAX; 64], |block| block.ports)
    };
    let blocks = 0..was.len().max(is.len());
    let pairs = blocks.map(|nth| (block(was, nth), block(is, nth)));
    let others = pairs.filter(|(was, is)| was != is);
    let entries =
        |(was, is): ([u8; 64], [u8; 64])| was.iter().zip(is).filter(|(a, b)| *a != b).count();
    others.map(entries).sum()
}

/// One sentence, where there is something to name.
///
/// `first_few` says how many more there are.
fn say(words: &mut Vec<String>, what: &str, names: &[String]) {
    if !names.is_empty() {
        words.push(format!("{} {what}: {}", names.len(), first_few(names)));
    }
}
