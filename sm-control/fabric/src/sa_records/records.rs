//! What an SA says of its fabric, as it says it.
//!
//! The value is made by whoever asks an SA, and by tests from a compiled fabric. It holds records
//! and no judgement: whether they fit together is `assemble`'s matter.
//!
//! Sizes, at 4,000 switches of 36 ports and 44,000 hosts, QoS on: nodes 5 MB, ports 14 MB, links
//! 1.5 MB, forwarding tables 216 MB, SL2VL tables 88 MB, P_Key tables 3 MB and more.

use std::collections::BTreeMap;
use std::sync::Arc;

use sa_wire::Lid;
use sa_wire::records::{
    GuidInfoRecord, LinearForwardingTableRecord, LinkRecord, NodeRecord, PKeyTableRecord,
    PortInfoRecord, SlToVlRecord, SwitchInfoRecord,
};
use xxhash_rust::xxh3::Xxh3;
use zerocopy::IntoBytes;

/// The records of a fabric. Shape: each kind in the order of LIDs and ports, whatever the order
/// they came in; what counters and keys hold is left out, so that equal records mean an unchanged
/// fabric.
#[derive(Debug, Clone, Default)]
pub struct Records {
    /// The SM uses QoS: ClassPortInfo, CapabilityMask2.
    pub qos: bool,
    /// One for each switch, CA port and router port.
    pub nodes: Vec<NodeRecord>,
    /// One for each port, those of switches and port 0 included; M_Key and counters are 0.
    pub ports: Vec<PortInfoRecord>,
    /// Each cable from both ends.
    pub links: Vec<LinkRecord>,
    /// One for each switch.
    pub switches: Vec<SwitchInfoRecord>,
    /// Forwarding tables by LID of the switch. Shape: blocks of 64 LIDs, ascending. Shared, since most of
    /// them stay from one change to the next.
    pub lfts: BTreeMap<u16, Arc<Vec<LinearForwardingTableRecord>>>,
    /// With QoS: of switches for each pair of input and output port, of other end ports one. Empty
    /// without.
    pub sl2vl: Vec<SlToVlRecord>,
    /// Of end ports; none where the SA does not show them.
    pub pkeys: Option<Vec<PKeyTableRecord>>,
    /// Blocks of eight GUIDs; those without an alias are left out.
    pub guids: Vec<GuidInfoRecord>,
}

impl Records {
    /// Puts each kind into its order.
    ///
    /// Forwarding tables are in their order already: each came by itself.
    pub fn sort(&mut self) {
        self.nodes
            .sort_by_key(|node| (node.lid.get(), node.port_guid.get()));
        self.ports
            .sort_by_key(|port| (port.lid.get(), port.port_num));
        self.links.sort_by_key(|link| {
            // The far end too: contradictory links must have one order as well.
            let to = (link.to_lid.get(), link.to_port);
            (link.from_lid.get(), link.from_port, to)
        });
        self.switches.sort_by_key(|switch| switch.lid.get());
        self.sl2vl
            .sort_by_key(|table| (table.lid.get(), table.input, table.output));
        if let Some(pkeys) = &mut self.pkeys {
            pkeys.sort_by_key(|table| (table.lid.get(), table.port, table.block.get()));
        }
        self.guids
            .sort_by_key(|table| (table.lid.get(), table.block));
    }

    /// NodeInfo and NodeDescription of a node. Shape: the LID of one of its ports, the first of an LMC range, as in all look-ups.
    /// Cost of all look-ups: binary search; so the records have to be sorted.
    pub fn node(&self, lid: Lid) -> Option<&NodeRecord> {
        let place = self
            .nodes
            .binary_search_by_key(&lid.get(), |it| it.lid.get());
        self.nodes.get(place.ok()?)
    }

    /// PortInfo; of a port of a switch by the LID of its port 0.
    pub fn port_info(&self, lid: Lid, port: u8) -> Option<&PortInfoRecord> {
        let key = |it: &PortInfoRecord| (it.lid.get(), it.port_num);
        let place = self.ports.binary_search_by_key(&(lid.get(), port), key);
        self.ports.get(place.ok()?)
    }

    /// SwitchInfo of a switch.
    pub fn switch_info(&self, lid: Lid) -> Option<&SwitchInfoRecord> {
        let switches = &self.switches;
        let place = switches.binary_search_by_key(&lid.get(), |it| it.lid.get());
        switches.get(place.ok()?)
    }

    /// The P_Key table of an end port, each key in its place. None where nobody has read it.
    ///
    /// Holes are 0, which is no P_Key: the index of a key in the table is what packets are checked
    /// by.
    pub fn pkey_table(&self, lid: Lid, port: u8) -> Option<Vec<u16>> {
        let blocks = self.pkeys.as_deref()?;
        let wanted = (lid.get(), port);
        let key = |block: &PKeyTableRecord| (block.lid.get(), block.port);
        let first = blocks.partition_point(|block| key(block) < wanted);
        let own = blocks.iter().skip(first);
        let mut table = Vec::new();
        for block in own.take_while(|block| key(block) == wanted) {
            let first = usize::from(block.block.get()) * block.pkeys.len();
            // Blocks ascend, but one may be missing.
            table.resize(first.max(table.len()), 0);
            table.extend(block.pkeys.iter().map(|key| key.get()));
        }
        (!table.is_empty()).then_some(table)
    }

    /// A number that tells states of a fabric apart.
    ///
    /// Lengths go in with the bytes, so that no record can count for the next kind.
    pub fn digest(&self) -> u64 {
        let mut digest = Xxh3::new();
        digest.update(&[u8::from(self.qos), u8::from(self.pkeys.is_some())]);
        let mut add = |bytes: &[u8]| {
            digest.update(&bytes.len().to_le_bytes());
            digest.update(bytes);
        };
        add(self.nodes.as_bytes());
        add(self.ports.as_bytes());
        add(self.links.as_bytes());
        add(self.switches.as_bytes());
        self.lfts.values().for_each(|table| add(table.as_bytes()));
        add(self.sl2vl.as_bytes());
        add(self.pkeys.as_deref().unwrap_or_default().as_bytes());
        add(self.guids.as_bytes());
        digest.digest()
    }
}

impl PartialEq for Records {
    /// Byte for byte. Tables that are shared are not looked at.
    fn eq(&self, other: &Self) -> bool {
        let pkeys = (self.pkeys.as_deref(), other.pkeys.as_deref());
        let are_same_pkeys = match pkeys {
            (Some(own), Some(other)) => own.as_bytes() == other.as_bytes(),
            (own, other) => own.is_none() && other.is_none(),
        };
        self.qos == other.qos
            && self.nodes.as_bytes() == other.nodes.as_bytes()
            && self.ports.as_bytes() == other.ports.as_bytes()
            && self.links.as_bytes() == other.links.as_bytes()
            && self.switches.as_bytes() == other.switches.as_bytes()
            && self.sl2vl.as_bytes() == other.sl2vl.as_bytes()
            && are_same_pkeys
            && self.guids.as_bytes() == other.guids.as_bytes()
            && self.lfts == other.lfts
    }
}

impl Eq for Records {}
