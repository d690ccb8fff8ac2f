//! What one snapshot answers otherwise than another: hosts and switches that come or go, and pairs of hosts that get another record.
//!
//! ```text
//!  hosts of both ──> pairs, evenly spread ──> the same question to each ──> DLID, SL, P_Key, MTU, rate, packet life time: equal?
//! ```
//!
//! Ports are known by their GUIDs: LIDs may have changed. Both are asked through the function that answers requests, so what is told is
//! what clients see. Where there are more pairs than may be asked, some are, evenly spread, and it is said how many.

use std::collections::{BTreeMap, BTreeSet};

use routing::EndPort;
use sa_answer::whole;
use sa_snapshot::Snapshot;
use sa_wire::mad::method;
use sa_wire::path_record::{PathCompMask, PathRecord};
use sa_wire::{Gid, Guid, NodeType, request};

use crate::state::FabricState;

/// A snapshot, and what it was compiled from.
type Side<'a> = (&'a Snapshot, &'a FabricState);

/// Everything that was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SnapshotChange {
    /// Names of nodes that the second has alone.
    pub come: Vec<String>,
    /// Names of nodes that the first has alone.
    pub go: Vec<String>,
    /// Ordered pairs of hosts that both have.
    pub pairs: u64,
    /// Those that were asked of both.
    pub asked: u64,
    /// Those of them that are answered otherwise.
    pub different: u64,
    /// By what differs.
    pub fields: Vec<FieldChange>,
}

/// A field of records that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldChange {
    /// By the name that the specification gives it.
    pub field: &'static str,
    /// Pairs for which it does.
    pub pairs: u64,
    /// Source and destination of the first.
    pub example: (String, String),
    /// Of the first snapshot, and of the second.
    pub values: (String, String),
}

/// Compares the second with the first. `most`: pairs that are asked.
pub fn between(first: Side<'_>, second: Side<'_>, most: usize) -> SnapshotChange {
    let (nodes, others) = (nodes(first.1), nodes(second.1));
    let alone = |these: &BTreeMap<Guid, String>, those: &BTreeMap<Guid, String>| {
        let alone = these.iter().filter(|(guid, _)| !those.contains_key(*guid));
        alone.map(|(_, name)| name.clone()).collect()
    };
    let mut change = SnapshotChange {
        come: alone(&others, &nodes),
        go: alone(&nodes, &others),
        ..SnapshotChange::default()
    };
    let of_second: BTreeSet<Guid> = hosts(second.1).map(|(_, end)| end.guid).collect();
    let both = hosts(first.1).filter(|(_, end)| of_second.contains(&end.guid));
    let both: Vec<_> = both.map(|(ix, end)| (ix, end.guid)).collect();
    let lids = [first.1, second.1].map(|parts| {
        let lids = hosts(parts).map(|(_, end)| (end.guid, end.lid.get()));
        lids.collect::<BTreeMap<_, _>>()
    });
    change.pairs = (both.len() as u64) * (both.len() as u64).saturating_sub(1);
    let mut fields = BTreeMap::new();
    for (source, destination) in spread(both.len(), most) {
        let (Some(source), Some(destination)) = (both.get(source), both.get(destination)) else {
            continue;
        };
        let ask = |side: Side<'_>, lids: &BTreeMap<Guid, u16>| {
            record(side, lids.get(&source.1).copied()?, destination.1)
        };
        let answers = (ask(first, &lids[0]), ask(second, &lids[1]));
        change.asked += 1;
        let differing = differing(&answers.0, &answers.1);
        change.different += u64::from(!differing.is_empty());
        for (field, values) in differing {
            let known = fields.entry(field).or_insert_with(|| FieldChange {
                field,
                pairs: 0,
                example: (name(first.1, source.0), name(first.1, destination.0)),
                values,
            });
            known.pairs += 1;
        }
    }
    change.fields = fields.into_values().collect();
    change.fields.sort_by_key(|it| core::cmp::Reverse(it.pairs));
    change
}

/// Ordered pairs of different numbers below `count`, at most so many, evenly spread.
fn spread(count: usize, most: usize) -> impl Iterator<Item = (usize, usize)> {
    let others = count.saturating_sub(1);
    let all = count.saturating_mul(others);
    let step = all.div_ceil(most.max(1)).max(1);
    // A step that divides the row would ask of the same destinations alone.
    let step = if step > 1 && others.is_multiple_of(step) {
        step + 1
    } else {
        step
    };
    (0..all).step_by(step).map(move |nth| {
        let (source, other) = (nth / others, nth % others);
        (source, other + usize::from(other >= source))
    })
}

/// Ports of CAs and routers, each with its place.
fn hosts(parts: &FabricState) -> impl Iterator<Item = (usize, &EndPort)> {
    let ends = parts.topology.end_ports.iter().enumerate();
    ends.filter(|(ix, _)| {
        let facts = parts.facts.get(*ix);
        facts.is_some_and(|facts| facts.node_type != NodeType::Switch)
    })
}

/// Of all nodes with an end port.
fn nodes(parts: &FabricState) -> BTreeMap<Guid, String> {
    let facts = parts.facts.iter();
    facts
        .map(|it| (it.node_guid, it.description.to_string()))
        .collect()
}

fn name(parts: &FabricState, end: usize) -> String {
    let port = parts.subnet.end_ports().get(end);
    port.map_or_else(String::new, |port| parts.subnet.fabric().port_name(port.at))
}

/// The first record of a reply to the common question; none where there is no path.
fn record((snapshot, parts): Side<'_>, slid: u16, destination: Guid) -> Option<PathRecord> {
    let asked = PathRecord {
        slid: slid.into(),
        dgid: Gid::unicast(parts.options.subnet_prefix, destination).0,
        ..PathRecord::default()
    };
    let mask = PathCompMask::SLID | PathCompMask::DGID;
    let request = request::path_request(slid, method::GET, mask, &asked);
    let reply = whole::respond(snapshot, &request)?;
    let (_, records) = request::parse(&reply).ok()?;
    records.first().copied()
}

/// Fields that differ, with both values.
fn differing(
    one: &Option<PathRecord>,
    other: &Option<PathRecord>,
) -> Vec<(&'static str, (String, String))> {
    let (one, other) = match (one, other) {
        (None, None) => return Vec::new(),
        (Some(_), None) => return vec![("Path", ("a record".to_owned(), "none".to_owned()))],
        (None, Some(_)) => return vec![("Path", ("none".to_owned(), "a record".to_owned()))],
        (Some(one), Some(other)) => (fields(one), fields(other)),
    };
    let both = one.into_iter().zip(other);
    both.filter(|(one, other)| one.1 != other.1)
        .map(|((field, one), (_, other))| (field, (one, other)))
        .collect()
}

/// What clients use of a record, in words.
fn fields(record: &PathRecord) -> [(&'static str, String); 9] {
    let code = |value: u8, words: Option<String>| words.unwrap_or_else(|| format!("code {value}"));
    let mtu = sa_wire::Mtu::from_code(record.mtu.value()).ok();
    let rate = sa_wire::Rate::from_code(record.rate.value()).ok();
    [
        ("SLID", record.slid.get().to_string()),
        ("DLID", record.dlid.get().to_string()),
        ("SL", record.qos_class_sl.sl().get().to_string()),
        ("P_Key", format!("0x{:04x}", record.pkey.get())),
        (
            "MTU",
            code(record.mtu.value(), mtu.map(|mtu| mtu.bytes().to_string())),
        ),
        (
            "Rate",
            code(record.rate.value(), rate.map(|rate| rate.to_string())),
        ),
        ("Packet life time", record.packet_life.value().to_string()),
        ("Traffic class", record.tclass.to_string()),
        ("Flow label", format!("0x{:05x}", record.flow.flow_label())),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_all_or_evenly_spread() {
        let all: BTreeSet<_> = spread(5, 100).collect();
        assert_eq!(all.len(), 20);
        assert!(
            all.iter()
                .all(|(one, other)| one != other && *one < 5 && *other < 5)
        );
        let some: Vec<_> = spread(1001, 2000).collect();
        assert!(some.len() <= 2000 && some.len() > 1500, "{}", some.len());
        let sources: BTreeSet<_> = some.iter().map(|pair| pair.0).collect();
        let destinations: BTreeSet<_> = some.iter().map(|pair| pair.1).collect();
        assert!(
            sources.len() > 900 && destinations.len() > 400,
            "{}",
            destinations.len()
        );
        assert_eq!(spread(1, 10).count() + spread(0, 10).count(), 0);
    }

    #[test]
    fn records_are_compared_by_what_clients_use() {
        let one = PathRecord::default();
        let other = PathRecord {
            dlid: 7.into(),
            ..one
        };
        let found = differing(&Some(one), &Some(other));
        assert_eq!(found, [("DLID", ("0".to_owned(), "7".to_owned()))]);
        assert_eq!(differing(&Some(one), &None)[0].0, "Path");
        assert_eq!(differing(&Some(one), &Some(one)), []);
    }
}
