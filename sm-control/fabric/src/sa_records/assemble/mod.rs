//! From records to a fabric, when they describe a whole one.
//!
//! An SA answers each query from its state of that moment, and shows each port only what shares a
//! partition with it. So records may belong to two states, or to a part. What makes a fabric whole
//! is checked here one by one, in this order, and the first thing that is missing is told in words:
//!
//! 1. each NodeRecord has a GUID, a LID of its own and a port that exists;
//! 2. each PortInfoRecord belongs to one of them, and every end port has one;
//! 3. no two ranges of LIDs overlap, LMC included;
//! 4. every switch has its SwitchInfoRecord;
//! 5. every LinkRecord has its counterpart, and no port two cables (`whole`);
//! 6. forwarding tables have all blocks up to LinearFDBTop (`whole`);
//! 7. one LMC, one SM, one GID prefix (`whole`).
//!
//! `fields` turns single fields into values. The result keeps what [`Fabric`] promises, by checks
//! of its own: `build` reports places in a text, and there is none.

mod described;
mod fields;
mod whole;

use std::collections::{BTreeSet, HashMap};

use sa_text::Remark;
use sa_wire::records::{NodeRecord, PortInfoRecord, SwitchInfoRecord};
use sa_wire::{DataVls, Guid, Lid, Lmc, Mtu, NodeType};

use self::described::Described;
use self::fields::{description, guid, link, rate_caps, state};
use super::Incomplete;
use super::records::Records;
use crate::display::first_few;
use crate::{Fabric, LinkState, Node, NodeIx, Port, PortRef, Source, VlArbCaps};

/// A fabric out of records.
#[derive(Debug, Clone)]
pub(super) struct Assembled {
    pub(super) fabric: Fabric,
    /// LMC of CA and router ports.
    pub(super) lmc: Lmc,
    /// Enhanced ports 0 have it too.
    pub(super) lmc_esp0: bool,
    /// What an operator should know.
    pub(super) notes: Vec<Remark>,
}

/// Puts records together. Errors: [`Incomplete`], when what they describe cannot be a
/// whole fabric: the fabric changed while it was read, or the SA shows this port only a part. `has_tables`: forwarding
/// tables must be there too.
///
/// Cost: hash look-ups for every record, the tables aside.
pub(super) fn assemble(records: &Records, has_tables: bool) -> Result<Assembled, Incomplete> {
    let mut builder = Builder::default();
    for node in &records.nodes {
        builder.node(node)?;
    }
    for port in &records.ports {
        builder.port(port)?;
    }
    // Only then LMCs are known, which the next check needs.
    builder.end_ports_are_described()?;
    builder.lids_are_unique()?;
    for switch in &records.switches {
        builder.switch(switch)?;
    }
    builder.switches_are_described()?;
    builder.cables(records)?;
    if has_tables {
        builder.tables_are_whole(records)?;
    }
    let (lmc, lmc_esp0) = builder.lmc()?;
    let sm = builder.sm(records)?;
    builder.one_prefix(records)?;
    let notes = builder.loose_ends();
    Ok(Assembled {
        fabric: Fabric::from_raw(builder.nodes, Some(sm), Source::Sa),
        lmc,
        lmc_esp0,
        notes,
    })
}

/// What the records so far came to.
#[derive(Default)]
struct Builder {
    /// In the order of NodeRecords, which is that of LIDs.
    nodes: Vec<Node>,
    /// By node GUID.
    by_guid: HashMap<Guid, NodeIx>,
    /// To find GUIDs that two ports claim.
    by_port_guid: HashMap<Guid, PortRef>,
    /// Base LIDs of end ports.
    by_lid: HashMap<u16, PortRef>,
    /// Ports that a PortInfoRecord describes.
    described: Described,
    /// Switches that a SwitchInfoRecord describes.
    switches: BTreeSet<NodeIx>,
}

impl Builder {
    /// One NodeRecord: a switch has one, a CA one for each port. Errors: it contradicts an earlier
    /// one of the node.
    fn node(&mut self, record: &NodeRecord) -> Result<(), Incomplete> {
        let guid = guid(record.node_guid.get(), || "a node".to_owned())?;
        let ix = match self.by_guid.get(&guid) {
            Some(ix) => *ix,
            None => self.add(guid, record)?,
        };
        // LocalPortNum in the upper byte, VendorID in the other three.
        let [number, ..] = record.port_and_vendor.get().to_be_bytes();
        let node = self.get(ix);
        let is_switch = node.kind == NodeType::Switch;
        // Descriptions may differ: they are set by hosts while the SM reads them.
        if node.kind as u8 != record.node_type || node.port_count() != record.num_ports {
            return Err(incomplete(format!(
                "{} has two NodeRecords that differ in type or number of ports",
                node.name()
            )));
        }
        let at = PortRef {
            node: ix,
            port: if is_switch { 0 } else { number },
        };
        self.end_port(at, record)
    }

    /// A node that was not met before, with bare ports. Errors: its type is none; 255 ports, the
    /// number that says "no path" in forwarding tables.
    fn add(&mut self, guid: Guid, record: &NodeRecord) -> Result<NodeIx, Incomplete> {
        let kind = [NodeType::Ca, NodeType::Switch, NodeType::Router]
            .into_iter()
            .find(|kind| *kind as u8 == record.node_type)
            .ok_or_else(|| {
                let code = record.node_type;
                incomplete(format!("node {guid} is of type {code}, which nothing is"))
            })?;
        if record.num_ports == u8::MAX {
            return Err(incomplete(format!(
                "node {guid} has 255 ports; a node has 1 to 254"
            )));
        }
        // Devices without chassis tell 0.
        let system = Guid::new(record.system_image_guid.get()).unwrap_or(guid);
        let ix = NodeIx::nth(self.nodes.len());
        self.nodes.push(Node {
            kind,
            guid,
            system_guid: system,
            description: description(&record.description),
            id: None,
            vendor_id: record.port_and_vendor.get() & 0x00ff_ffff,
            device_id: record.device_id.get(),
            revision: record.revision.get(),
            enhanced_port0: false,
            ports: vec![Port::default(); usize::from(record.num_ports) + 1],
        });
        self.by_guid.insert(guid, ix);
        Ok(ix)
    }

    /// GUID and LID of an end port. Errors: no LID, or a GUID or LID that another port has.
    fn end_port(&mut self, at: PortRef, record: &NodeRecord) -> Result<(), Incomplete> {
        let guid = guid(record.port_guid.get(), || self.name(at))?;
        if at.port > self.get(at.node).port_count() {
            let name = self.name(at);
            return Err(incomplete(format!("{name}: the node has no such port")));
        }
        // A second record of the same port ends here as well.
        if let Some(other) = self.by_port_guid.insert(guid, at) {
            let (other, name) = (self.name(other), self.name(at));
            return Err(incomplete(format!(
                "port GUID {guid} is that of {other} and of {name}"
            )));
        }
        let raw = record.lid.get();
        let lid = Lid::new(raw).map_err(|_| match (raw, self.name(at)) {
            (0, name) => incomplete(format!("{name} has no LID yet")),
            (_, name) => incomplete(format!("{name} has LID {raw}; unicast LIDs end at 49151")),
        })?;
        if let Some(other) = self.by_lid.insert(raw, at) {
            return Err(self.both_have(raw, other, at));
        }
        let port = self.port_mut(at);
        port.guid = Some(guid);
        port.lid = Some(lid);
        Ok(())
    }

    /// One PortInfoRecord. Its LID is that of the node's port 0 on switches, whatever the port.
    /// Errors: nobody's LID, a port that the node lacks, a second record.
    fn port(&mut self, record: &PortInfoRecord) -> Result<(), Incomplete> {
        let (lid, number) = (record.lid.get(), record.port_num);
        let Some(end) = self.by_lid.get(&lid).copied() else {
            return Err(incomplete(format!(
                "LID {lid} has a PortInfoRecord but no NodeRecord"
            )));
        };
        let node = self.get(end.node);
        let is_switch = node.kind == NodeType::Switch;
        let exists = match is_switch {
            true => number <= node.port_count(),
            false => number == end.port,
        };
        if !exists {
            return Err(incomplete(format!(
                "LID {lid} is {}, which has no port {number}",
                self.name(end)
            )));
        }
        let at = PortRef {
            port: number,
            ..end
        };
        if !self.described.insert(at) {
            let name = self.name(at);
            return Err(incomplete(format!("{name} has two PortInfoRecords")));
        }
        self.take_port_info(at, at == end, record)
    }

    /// What a PortInfo says of capacity and state. `is_end`: it is a port with LIDs, so that the
    /// LID in it must be the NodeRecord's.
    fn take_port_info(
        &mut self,
        at: PortRef,
        is_end: bool,
        record: &PortInfoRecord,
    ) -> Result<(), Incomplete> {
        let lmc = Lmc::new(record.m_key_protect_and_lmc & 7).unwrap_or_default();
        let state = state(record);
        let base = record.base_lid.get();
        let lid = self.port_ref(at).lid.map_or(0, Lid::get);
        if is_end && lid != base {
            let name = self.name(at);
            return Err(incomplete(format!(
                "{name} has LID {lid} by its NodeRecord and {base} by its PortInfoRecord"
            )));
        }
        let port = self.port_mut(at);
        if is_end {
            port.lmc = Some(lmc);
            port.rate_caps = Some(rate_caps(record));
        }
        port.state = state;
        // Of a port without a link an SA has nothing else to say.
        if is_end || state != LinkState::Down {
            port.link = Some(link(record));
            port.mtu_cap = Mtu::from_code(record.init_type_reply_and_mtu_cap & 0xf).ok();
            port.vl_cap = DataVls::from_code(record.vl_cap_and_init_type >> 4).ok();
            port.vl_arb = Some(VlArbCaps {
                low: record.vl_arb_low_cap,
                high: record.vl_arb_high_cap,
            });
        }
        Ok(())
    }

    /// Errors: end ports without a PortInfoRecord; a partition that the asking port is not in hides
    /// them.
    fn end_ports_are_described(&self) -> Result<(), Incomplete> {
        let missing = self.by_lid.values();
        let missing = missing.filter(|at| !self.described.contains(**at));
        none_of(missing.map(|at| self.name(*at)), |names| {
            format!("there is no PortInfoRecord for {names}")
        })
    }

    /// Also of the LIDs that a LMC adds.
    fn lids_are_unique(&self) -> Result<(), Incomplete> {
        let mut ends: Vec<(u16, PortRef)> =
            self.by_lid.iter().map(|(lid, at)| (*lid, *at)).collect();
        ends.sort_unstable();
        let clash = ends.windows(2).find_map(|pair| {
            let [(first, at), (next, other)] = pair else {
                return None;
            };
            let lids = self.port_ref(*at).lmc.unwrap_or_default().lids();
            (next - first < lids).then_some((*next, *at, *other))
        });
        match clash {
            Some((lid, at, other)) => Err(self.both_have(lid, at, other)),
            None => Ok(()),
        }
    }

    /// Whether port 0 is enhanced; the rest of a SwitchInfo stays in its record. Errors: the LID is
    /// no switch's.
    fn switch(&mut self, record: &SwitchInfoRecord) -> Result<(), Incomplete> {
        let lid = record.lid.get();
        let at = self.by_lid.get(&lid).copied();
        let is_switch = |at: &PortRef| self.get(at.node).kind == NodeType::Switch;
        let Some(at) = at.filter(is_switch) else {
            return Err(incomplete(format!(
                "LID {lid} has a SwitchInfoRecord, but is no switch by the NodeRecords"
            )));
        };
        self.switches.insert(at.node);
        if let Some(node) = self.nodes.get_mut(at.node.get()) {
            node.enhanced_port0 = record.flags & ENHANCED_PORT0 != 0;
        }
        Ok(())
    }

    /// Errors: switches without a SwitchInfoRecord, by name.
    fn switches_are_described(&self) -> Result<(), Incomplete> {
        let all = (0..).map(NodeIx).zip(&self.nodes);
        let missing =
            all.filter(|(ix, node)| node.kind == NodeType::Switch && !self.switches.contains(ix));
        none_of(missing.map(|(_, node)| node.name().to_owned()), |names| {
            format!("there is no SwitchInfoRecord for {names}")
        })
    }

    /// The error that a LID is claimed twice.
    fn both_have(&self, lid: u16, one: PortRef, other: PortRef) -> Incomplete {
        let (one, other) = (self.name(one), self.name(other));
        incomplete(format!("LID {lid} belongs to {one} and to {other}"))
    }

    fn name(&self, at: PortRef) -> String {
        format!("{} port {}", self.get(at.node).name(), at.port)
    }

    #[expect(clippy::indexing_slicing, reason = "indices are the builder's own")]
    fn get(&self, ix: NodeIx) -> &Node {
        &self.nodes[ix.get()]
    }

    #[expect(clippy::indexing_slicing, reason = "references are the builder's own")]
    fn port_ref(&self, at: PortRef) -> &Port {
        &self.nodes[at.node.get()].ports[usize::from(at.port)]
    }

    #[expect(clippy::indexing_slicing, reason = "references are the builder's own")]
    fn port_mut(&mut self, at: PortRef) -> &mut Port {
        &mut self.nodes[at.node.get()].ports[usize::from(at.port)]
    }
}

fn incomplete(what: String) -> Incomplete {
    Incomplete(what)
}

/// Errors: there are some.
///
/// Sorted, so that the same records give the same sentence.
fn none_of(
    names: impl Iterator<Item = String>,
    say: impl FnOnce(&str) -> String,
) -> Result<(), Incomplete> {
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    match names.is_empty() {
        true => Ok(()),
        false => Err(incomplete(say(&first_few(&names)))),
    }
}

/// SwitchInfo: EnhancedPort0.
const ENHANCED_PORT0: u8 = 0x08;
