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

use std::collections::{BTreeMap, BTreeSet};

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
    let mut words = Vec::new();
    nodes(was, is, &mut words);
    links(was, is, &mut words);
    lids(was, is, &mut words);
    if sm(was) != sm(is) {
        let name = is.sm().map_or_else(String::new, |at| is.port_name(at));
        words.push(format!("the SM runs on {name} now"));
    }
    ports(was, is, &mut words);
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

/// Nodes that came and went, by type.
fn nodes(was: &Fabric, is: &Fabric, words: &mut Vec<String>) {
    let (old, new) = (by_guid(was), by_guid(is));
    let kinds = [
        ("switches", NodeType::Switch),
        ("hosts", NodeType::Ca),
        ("routers", NodeType::Router),
    ];
    for (kind, wanted) in kinds {
        let lacking = |from: &BTreeMap<Guid, &Node>, other: &BTreeMap<Guid, &Node>| {
            let of_kind = from.iter().filter(|(_, node)| node.kind == wanted);
            let missing = of_kind.filter(|(guid, _)| !other.contains_key(guid));
            missing
                .map(|(_, node)| node.name().to_owned())
                .collect::<Vec<_>>()
        };
        say(words, &format!("{kind} gone"), &lacking(&old, &new));
        say(words, &format!("{kind} new"), &lacking(&new, &old));
    }
}

/// Nodes by a name that both readings have.
fn by_guid(fabric: &Fabric) -> BTreeMap<Guid, &Node> {
    let nodes = fabric.nodes().iter();
    nodes.map(|node| (node.guid, node)).collect()
}

/// A port that stays the same while indices change.
type PortKey = (Guid, u8);

/// Cables that came and went; a cable that was moved is both.
fn links(was: &Fabric, is: &Fabric, words: &mut Vec<String>) {
    let (old, new) = (cables(was), cables(is));
    let names = |fabric: &Fabric, cables: Vec<&(PortKey, PortKey)>| -> Vec<String> {
        let nodes = by_guid(fabric);
        let name = |(guid, port): &PortKey| {
            let node = nodes.get(guid).map_or("", |node| node.name());
            format!("{node} port {port}")
        };
        let cables = cables.into_iter();
        cables
            .map(|(one, other)| format!("{} to {}", name(one), name(other)))
            .collect()
    };
    let gone = names(was, old.difference(&new).collect());
    let fresh = names(is, new.difference(&old).collect());
    say(words, "links gone", &gone);
    say(words, "links new", &fresh);
}

/// Each cable once.
fn cables(fabric: &Fabric) -> BTreeSet<(PortKey, PortKey)> {
    let key = |at: PortRef| (fabric.node(at.node).guid, at.port);
    let both = fabric.cabled().map(|(one, other)| (key(one), key(other)));
    both.filter(|(one, other)| one <= other).collect()
}

/// Ports that both readings have, with another LID.
fn lids(was: &Fabric, is: &Fabric, words: &mut Vec<String>) {
    let old = end_ports(was);
    let moved: Vec<String> = end_ports(is)
        .into_iter()
        .filter_map(|(guid, (at, now))| {
            let (_, before) = old.get(&guid).copied()?;
            let name = is.port_name(at);
            (before != now).then(|| format!("{name} has LID {now}, had {before}"))
        })
        .collect();
    say(words, "LIDs moved", &moved);
}

/// Ports with GUID and LID, by GUID.
fn end_ports(fabric: &Fabric) -> BTreeMap<Guid, (PortRef, u16)> {
    let all = all_ports(fabric);
    let ends = all.filter_map(|at| {
        let port = fabric.port(at);
        Some((port.guid?, (at, port.lid?.get())))
    });
    ends.collect()
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
fn ports(was: &Fabric, is: &Fabric, words: &mut Vec<String>) {
    let key = |fabric: &Fabric, at: PortRef| (fabric.node(at.node).guid, at.port);
    let old: BTreeMap<PortKey, PortRef> = all_ports(was).map(|at| (key(was, at), at)).collect();
    let runs_otherwise = |at: &PortRef| {
        let before = old.get(&key(is, *at)).map(|at| was.port(*at));
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
    let owners = end_ports(after.fabric());
    let names: BTreeMap<u16, String> = owners
        .into_values()
        .map(|(at, lid)| (lid, after.fabric().node(at.node).name().to_owned()))
        .collect();
    let changed: Vec<String> = new
        .iter()
        .filter_map(|(lid, table)| {
            let entries = different_entries(old.get(lid)?, table);
            let name = names.get(lid).map_or("", String::as_str);
            (entries > 0).then(|| format!("{name} ({entries} LIDs)"))
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
    let ports = |table: &[LinearForwardingTableRecord]| -> Vec<u8> {
        table.iter().flat_map(|block| block.ports).collect()
    };
    let (was, is) = (ports(was), ports(is));
    let longer = was.len().max(is.len());
    let entry = |table: &[u8], lid: usize| table.get(lid).copied().unwrap_or(u8::MAX);
    (0..longer)
        .filter(|lid| entry(&was, *lid) != entry(&is, *lid))
        .count()
}

/// One sentence, where there is something to name.
fn say(words: &mut Vec<String>, what: &str, names: &[String]) {
    if !names.is_empty() {
        words.push(format!("{} {what}: {}", names.len(), first_few(names)));
    }
}
