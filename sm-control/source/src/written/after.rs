//! The records of now from those that were put together last: only nodes of which something else was heard
//! are put together anew.
//!
//! A sweep of 4,000 switches says a million things, nearly all of which were known. What changed with one cable
//! is two nodes, their links, and forwarding tables, which are shared in any case.
//!
//! ```text
//!  records before ── without rows of LIDs of those nodes ── with their rows of now ── sorted ──> records
//! ```
//!
//! Not where a node is new, has another LID or none, or is not to be reached any more: then all records are put
//! together ([`super::records`]).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use sa_fabric::sa_records::Records;

use super::kinds::{NodeGuid, Read};
use super::node::Node;
use super::records;

/// What was heard since records were put together.
///
/// Collected with each word; taken when records are put together.
#[derive(Debug, Default)]
pub(super) struct Others {
    /// Nodes of which anything but the forwarding table is other, and the ends of cables that are.
    pub(super) nodes: BTreeSet<NodeGuid>,
    /// Too much for a list of nodes.
    pub(super) is_all: bool,
}

/// With more nodes than one of so many all of them are as quick.
const ONE_OF: usize = 16;

/// The records of now, of which `before` are those that were put together before `others` changed. None where
/// all are to be put together.
///
/// Cost: a copy of the records before, and a sort; forwarding tables are shared.
pub(super) fn records_after(
    before: &Records,
    nodes: &BTreeMap<NodeGuid, Node>,
    others: &Others,
    sm: NodeGuid,
    read: Read,
) -> Option<Records> {
    let is_much = others.nodes.len() > nodes.len() / ONE_OF;
    if others.is_all || is_much || before.qos != read.qos || before.pkeys.is_some() != read.pkeys {
        return None;
    }
    let mut now = Records {
        lfts: BTreeMap::new(),
        ..before.clone()
    };
    if !others.nodes.is_empty() {
        let lids = Lids::of(before, others)?;
        lids.take_away(&mut now);
        for guid in &others.nodes {
            let node = nodes.get(guid)?;
            node.put_together(read, &mut now);
            now.links.extend(records::links_of(nodes, *guid));
        }
        // The other ends' too; each once, though both ends may be among the nodes.
        let backs = now
            .links
            .iter()
            .filter(|link| lids.has(link.from_lid.get()));
        let backs = backs.filter(|link| !lids.has(link.to_lid.get()));
        let backs: Vec<_> = backs.map(records::turned).collect();
        now.links.extend(backs);
        now.sort();
        if Lids::of(&now, others)? != lids || !reach_all(&now, sm) {
            return None;
        }
    }
    nodes.values().for_each(|node| node.put_lft(&mut now));
    Some(now)
}

/// The LIDs of nodes.
///
/// Shape: index = LID. A set would be smaller and slower: each row of each record is asked.
#[derive(PartialEq, Eq)]
struct Lids(Vec<bool>);

impl Lids {
    /// None where a node has no record, a LID is 0, or that of another node too.
    fn of(records: &Records, others: &Others) -> Option<Self> {
        let is_meant = |guid: NodeGuid| others.nodes.contains(&guid);
        let mut lids = Self(vec![false; usize::from(u16::MAX) + 1]);
        let mut found = BTreeSet::new();
        let mut last = 0;
        for record in &records.nodes {
            let lid = record.lid.get();
            // Ascending: equal ones are neighbours.
            if lid == last {
                return None;
            }
            last = lid;
            if is_meant(record.node_guid.get()) {
                found.insert(record.node_guid.get());
                *lids.0.get_mut(usize::from(lid))? = true;
            }
        }
        (found == others.nodes).then_some(lids)
    }

    /// False for LID 0, which nobody has.
    fn has(&self, lid: u16) -> bool {
        self.0.get(usize::from(lid)) == Some(&true)
    }

    /// Takes all rows of these LIDs away.
    ///
    /// Links go from either end: the far node's row is told anew too.
    fn take_away(&self, records: &mut Records) {
        records.nodes.retain(|it| !self.has(it.lid.get()));
        records.ports.retain(|it| !self.has(it.lid.get()));
        let is_other = |one: u16, far: u16| !self.has(one) && !self.has(far);
        let links = &mut records.links;
        links.retain(|it| is_other(it.from_lid.get(), it.to_lid.get()));
        records.switches.retain(|it| !self.has(it.lid.get()));
        records.sl2vl.retain(|it| !self.has(it.lid.get()));
        if let Some(pkeys) = &mut records.pkeys {
            pkeys.retain(|it| !self.has(it.lid.get()));
        }
        records.guids.retain(|it| !self.has(it.lid.get()));
    }
}

/// True when links lead to all nodes from that of the SM. Shape: sorted; LIDs are unique.
///
/// By LIDs and not by nodes: a node with several end ports has its LIDs in a ring.
fn reach_all(records: &Records, sm: NodeGuid) -> bool {
    let mut rings: HashMap<NodeGuid, u16> = HashMap::new();
    let mut ring: Vec<u16> = (0..=u16::MAX).collect();
    for record in &records.nodes {
        let lid = record.lid.get();
        let last = rings.insert(record.node_guid.get(), lid).unwrap_or(lid);
        ring.swap(usize::from(lid), usize::from(last));
    }
    let Some(first) = rings.get(&sm).copied() else {
        return false;
    };
    let mut begins = vec![0; usize::from(u16::MAX) + 2];
    for link in &records.links {
        begins[usize::from(link.from_lid.get()) + 1] += 1;
    }
    for lid in 1..begins.len() {
        begins[lid] += begins[lid - 1];
    }
    let mut is_reached = vec![false; usize::from(u16::MAX) + 1];
    let mut next = vec![first];
    while let Some(lid) = next.pop() {
        let lid = usize::from(lid);
        if std::mem::replace(&mut is_reached[lid], true) {
            continue;
        }
        next.push(ring[lid]);
        let links = &records.links[begins[lid]..begins[lid + 1]];
        next.extend(links.iter().map(|link| link.to_lid.get()));
    }
    let mut nodes = records.nodes.iter();
    nodes.all(|node| is_reached[usize::from(node.lid.get())])
}
