//! From what an SA told to nodes, and from nodes to what an SA would tell.
//!
//! Both directions are exact: records that were read, taken apart and put together again are equal, which is what a comparison with the
//! SA rests on.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use sa_fabric::sa_records::Records;
use sa_wire::NodeType;
use sa_wire::records::LinkRecord;

use super::kinds::{NodeGuid, Read};
use super::node::Node;

/// The nodes of records, and the one that the SM is on, as the ports say.
///
/// Rows whose LID no node record has are dropped: nobody could be asked about them.
pub(super) fn nodes_of(records: &Records) -> (BTreeMap<NodeGuid, Node>, Option<NodeGuid>) {
    let mut nodes: BTreeMap<NodeGuid, Node> = BTreeMap::new();
    // By LID: the node, and its end port.
    let mut ends: HashMap<u16, (NodeGuid, u8)> = HashMap::new();
    for record in &records.nodes {
        let [local_port, ..] = record.port_and_vendor.get().to_be_bytes();
        let is_switch = record.node_type == NodeType::Switch as u8;
        let port = if is_switch { 0 } else { local_port };
        let guid = record.node_guid.get();
        ends.insert(record.lid.get(), (guid, port));
        nodes.entry(guid).or_default().read_end(port, *record);
    }
    fill(&mut nodes, &ends, records);
    for link in &records.links {
        let to = ends.get(&link.to_lid.get()).copied();
        let from = ends.get(&link.from_lid.get()).copied();
        if let (Some((from, _)), Some((to, _))) = (from, to)
            && let Some(node) = nodes.get_mut(&from)
        {
            node.peers.insert(link.from_port, (to, link.to_port));
        }
    }
    let named = records.ports.iter().map(|port| port.sm_lid.get());
    let sm = named.filter_map(|lid| ends.get(&lid)).next();
    let sm = sm.map(|(guid, _)| *guid);
    (nodes, sm)
}

/// What nodes hold, each found by its LID.
fn fill(
    nodes: &mut BTreeMap<NodeGuid, Node>,
    ends: &HashMap<u16, (NodeGuid, u8)>,
    records: &Records,
) {
    let mut with = |lid: u16, take: &mut dyn FnMut(&mut Node, u8)| {
        if let Some((guid, port)) = ends.get(&lid)
            && let Some(node) = nodes.get_mut(guid)
        {
            take(node, *port);
        }
    };
    // Ports first: LIDs of end ports are read off them.
    for record in &records.ports {
        with(record.lid.get(), &mut |node, _| node.read_port(*record));
    }
    for record in &records.switches {
        with(record.lid.get(), &mut |node, _| node.read_switch(*record));
    }
    for (lid, blocks) in &records.lfts {
        with(*lid, &mut |node, _| node.share_lft(blocks));
    }
    for record in &records.sl2vl {
        with(record.lid.get(), &mut |node, _| node.fill_sl2vl(record));
    }
    for record in records.pkeys.iter().flatten() {
        with(record.lid.get(), &mut |node, _| node.fill_pkeys(record));
    }
    for record in &records.guids {
        with(record.lid.get(), &mut |node, port| {
            node.read_guids(port, *record)
        });
    }
}

/// Drops nodes that no cable leads to from `sm`. A port of which nothing was heard yet may be up: the SM is
/// still finding out, and says next what is behind it.
pub(super) fn forget_unreachable(nodes: &mut BTreeMap<NodeGuid, Node>, sm: NodeGuid) {
    let mut reached = BTreeSet::from([sm]);
    let mut next = vec![sm];
    while let Some(guid) = next.pop() {
        for (_, (peer, _)) in cables(nodes, guid, |node, port| !node.is_down(port)) {
            if reached.insert(peer) {
                next.push(peer);
            }
        }
    }
    if reached.len() < nodes.len() {
        nodes.retain(|guid, _| reached.contains(guid));
    }
}

/// Cables of a node, by its ports: those of which both ends say so, and are such ports.
///
/// `counts`: which ports are looked at, up ones or all but those that are down.
fn cables(
    nodes: &BTreeMap<NodeGuid, Node>,
    guid: NodeGuid,
    counts: fn(&Node, u8) -> bool,
) -> Vec<(u8, (NodeGuid, u8))> {
    let Some(node) = nodes.get(&guid) else {
        return Vec::new();
    };
    let is_whole = |(port, (peer, peer_port)): &(u8, (NodeGuid, u8))| {
        let far = nodes.get(peer);
        let both = counts(node, *port) && far.is_some_and(|far| counts(far, *peer_port));
        both && far.and_then(|far| far.peers.get(peer_port)) == Some(&(guid, *port))
    };
    let own = node.peers.iter().map(|(port, peer)| (*port, *peer));
    own.filter(is_whole).collect()
}

/// All records, in their order.
///
/// In the order of [`Records`], so that they can be compared with what an SA told.
pub(super) fn records_of(nodes: &BTreeMap<NodeGuid, Node>, read: Read) -> Records {
    let mut records = Records {
        qos: read.qos,
        pkeys: read.pkeys.then(Vec::new),
        ..Records::default()
    };
    for (guid, node) in nodes {
        node.put_together(read, &mut records);
        node.put_lft(&mut records);
        records.links.extend(links_of(nodes, *guid));
    }
    records.sort();
    records
}

/// The links of a node, each as it is told from there.
pub(super) fn links_of(
    nodes: &BTreeMap<NodeGuid, Node>,
    guid: NodeGuid,
) -> impl Iterator<Item = LinkRecord> {
    let lid = move |guid: NodeGuid, port: u8| {
        let node = nodes.get(&guid);
        let own = node.and_then(|node| node.lid(if node.is_switch() { 0 } else { port }));
        own.unwrap_or(0)
    };
    let links = cables(nodes, guid, Node::is_up).into_iter();
    links.map(move |(port, (peer, peer_port))| LinkRecord {
        from_lid: lid(guid, port).into(),
        from_port: port,
        to_port: peer_port,
        to_lid: lid(peer, peer_port).into(),
        padding: 0.into(),
    })
}

/// A link as it is told from the other end.
pub(super) const fn turned(link: &LinkRecord) -> LinkRecord {
    LinkRecord {
        from_lid: link.to_lid,
        from_port: link.to_port,
        to_port: link.from_port,
        to_lid: link.from_lid,
        padding: link.padding,
    }
}
