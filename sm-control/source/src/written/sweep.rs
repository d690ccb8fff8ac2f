//! What an SM hears when it sweeps a fabric and writes all of it: the words of given records.
//!
//! For tests and benchmarks, which have records and no SM. The order is that of a sweep: nodes, switches
//! and ports along routes from the SM's node, then what is written.
//! Transactions count up from word to word, as an SM's do: what was heard later outweighs what was heard before.

use std::collections::{BTreeMap, HashMap, VecDeque};

use sa_fabric::sa_records::Records;
use sa_wire::NodeType;
use sa_wire::mad::method;
use sa_wire::records::{LinearForwardingTableRecord, LinkRecord, NodeRecord};
use zerocopy::IntoBytes;

use super::word::{Word, attribute};

/// Makes words, each with the next transaction.
///
/// One for a run, so that no transaction comes twice.
#[derive(Debug, Default)]
pub struct Sweep {
    transaction: u32,
}

/// Where a LID's node is found: by this route, and through this port of it.
///
/// The first way that a sweep finds, which is a shortest one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Output ports from the SM's node on.
    pub route: Vec<u8>,
    /// The port by which the route enters.
    pub port: u8,
}

impl Sweep {
    /// The answer to an SMP by this route. `data` is cut off or filled up with zeros.
    ///
    /// Shape: a directed SMP of status 0, with its route as the initial path, from the second byte on.
    pub fn word(&mut self, route: &[u8], attribute: u16, modifier: u32, data: &[u8]) -> Word {
        self.transaction = self.transaction.wrapping_add(1);
        let mut head = [0; 24];
        head[..4].copy_from_slice(&[1, 0x81, 1, method::GET_RESP]);
        head[4] = 0x80;
        head[7] = u8::try_from(route.len()).unwrap_or(u8::MAX);
        head[12..16].copy_from_slice(&self.transaction.to_be_bytes());
        head[16..18].copy_from_slice(&attribute.to_be_bytes());
        head[20..].copy_from_slice(&modifier.to_be_bytes());
        let (mut told, mut path) = ([0; 64], [0; 64]);
        told.iter_mut().zip(data).for_each(|(to, from)| *to = *from);
        let places = path.iter_mut().skip(1);
        places.zip(route).for_each(|(to, from)| *to = *from);
        Word {
            status: 0,
            head,
            data: told,
            path,
        }
    }

    /// All words of a heavy sweep that writes everything. `sm`: the LID of the SM's port.
    ///
    /// As of an SM that trusts nothing: every table is written, whatever nodes hold.
    pub fn whole(&mut self, records: &Records, sm: u16) -> Vec<Word> {
        let (mut words, found) = self.discovery(records, sm);
        words.extend(self.tables(records, &found));
        words
    }

    /// Nodes, switches and ports as a heavy sweep asks for them, and how each LID was found first.
    ///
    /// Breadth first; each node is asked through every link that leads to it, as OpenSM does.
    pub fn discovery(&mut self, records: &Records, sm: u16) -> (Vec<Word>, HashMap<u16, Found>) {
        let net = Net::of(records);
        let (mut words, mut found) = (Vec::new(), HashMap::new());
        let mut next = VecDeque::from([(Vec::new(), sm, net.own_port(sm))]);
        while let Some((route, lid, port)) = next.pop_front() {
            let Some(node) = net.nodes.get(&lid) else {
                continue;
            };
            words.push(self.word(&route, attribute::NODE_INFO, 0, &info(node, port)));
            if found.contains_key(&lid) {
                continue;
            }
            words.extend(self.of_node(records, node, &route));
            for link in net.links.get(&lid).into_iter().flatten() {
                let mut further = route.clone();
                further.push(link.from_port);
                next.push_back((further, link.to_lid.get(), link.to_port));
            }
            found.insert(lid, Found { route, port });
        }
        (words, found)
    }

    /// Description, SwitchInfo and PortInfo of a node.
    fn of_node(&mut self, records: &Records, node: &NodeRecord, route: &[u8]) -> Vec<Word> {
        let lid = node.lid;
        let mut words = vec![self.word(route, attribute::NODE_DESCRIPTION, 0, &node.description)];
        for switch in records.switches.iter().filter(|it| it.lid == lid) {
            words.push(self.word(route, attribute::SWITCH_INFO, 0, &switch.as_bytes()[4..]));
        }
        let from = records.ports.partition_point(|it| it.lid.get() < lid.get());
        let own = records.ports.iter().skip(from);
        for port in own.take_while(|it| it.lid == lid) {
            let number = u32::from(port.port_num);
            words.push(self.word(route, attribute::PORT_INFO, number, &port.as_bytes()[4..68]));
        }
        words
    }

    /// P_Key tables, forwarding tables and SL2VL tables, by the routes that were found.
    ///
    /// A LID that was not found has no words: an SM cannot write what it does not reach.
    pub fn tables(&mut self, records: &Records, found: &HashMap<u16, Found>) -> Vec<Word> {
        let mut words = Vec::new();
        let route = |lid: u16| found.get(&lid).map(|found| found.route.as_slice());
        for table in records.pkeys.iter().flatten() {
            if let Some(route) = route(table.lid.get()) {
                let block = u32::from(table.block.get());
                let data = &table.as_bytes()[8..];
                words.push(self.word(route, attribute::PKEY_TABLE, block, data));
            }
        }
        for block in in_order(records) {
            if let Some(route) = route(block.lid.get()) {
                let number = u32::from(block.block.get());
                words.push(self.word(route, attribute::LINEAR_TABLE, number, &block.ports));
            }
        }
        for table in &records.sl2vl {
            if let Some(route) = route(table.lid.get()) {
                let modifier = u32::from(table.input) << 8 | u32::from(table.output);
                words.push(self.word(route, attribute::SL_TO_VL, modifier, &table.vls));
            }
        }
        words
    }
}

/// Blocks of forwarding tables as OpenSM writes them: the first block of all switches by GUID, then the
/// second of all. So no table is whole before the last round. A switch without a node record has GUID 0.
fn in_order(records: &Records) -> Vec<&LinearForwardingTableRecord> {
    let guids = records.nodes.iter();
    let guids: HashMap<u16, u64> = guids
        .map(|node| (node.lid.get(), node.node_guid.get()))
        .collect();
    let guid = |lid: u16| guids.get(&lid).copied().unwrap_or_default();
    let mut blocks: Vec<_> = records.lfts.values().flat_map(|it| it.iter()).collect();
    blocks.sort_by_cached_key(|it| (it.block.get(), guid(it.lid.get()), it.lid.get()));
    blocks
}

/// NodeInfo as a node tells it through one of its ports.
fn info(node: &NodeRecord, port: u8) -> [u8; 40] {
    let mut bytes = [0; 40];
    bytes.copy_from_slice(&node.as_bytes()[4..44]);
    bytes[36] = port;
    bytes
}

/// Nodes and cables by LID.
struct Net<'a> {
    /// By LID of an end port.
    nodes: BTreeMap<u16, &'a NodeRecord>,
    /// By the LID that they are told from.
    links: BTreeMap<u16, Vec<&'a LinkRecord>>,
}

// Shapes of maps are for lookups: nothing is read out in their order but nodes.
impl<'a> Net<'a> {
    fn of(records: &'a Records) -> Self {
        let nodes = records.nodes.iter().map(|node| (node.lid.get(), node));
        let mut links: BTreeMap<u16, Vec<&LinkRecord>> = BTreeMap::new();
        for link in &records.links {
            links.entry(link.from_lid.get()).or_default().push(link);
        }
        Self {
            nodes: nodes.collect(),
            links,
        }
    }

    /// The number of an end port; 0 of a switch.
    fn own_port(&self, lid: u16) -> u8 {
        let node = self.nodes.get(&lid);
        let is_end = |node: &&&NodeRecord| node.node_type != NodeType::Switch as u8;
        let number = node.filter(is_end).map(|node| node.port_and_vendor.get());
        number.map_or(0, |number| number.to_be_bytes()[0])
    }
}
