//! From records to a fabric, when they describe a whole one.

use std::collections::{BTreeSet, HashMap};

use super::Incomplete;
use super::records::Records;
use sa_snapshot::model::RateCaps;
use sa_text::Remark;
use sa_wire::records::{NodeRecord, PortInfoRecord, SwitchInfoRecord};
use sa_wire::{DataVls, Guid, Lid, Lmc, Mtu, NodeType};

use crate::display::first_few;
use crate::{
    Fabric, Link, LinkSpeed, LinkState, LinkWidth, Node, NodeIx, Port, PortRef, Source, VlArbCaps,
};

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
/// whole fabric: the fabric changed while it was read, or the SA shows this port only a part.
pub(super) fn assemble(records: &Records) -> Result<Assembled, Incomplete> {
    let mut builder = Builder::default();
    for node in &records.nodes {
        builder.node(node)?;
    }
    for port in &records.ports {
        builder.port(port)?;
    }
    builder.end_ports_are_described()?;
    builder.lids_are_unique()?;
    for switch in &records.switches {
        builder.switch(switch)?;
    }
    builder.switches_are_described()?;
    builder.cables(records)?;
    builder.tables_are_whole(records)?;
    let (lmc, lmc_esp0) = builder.lmc()?;
    let sm = builder.sm(records)?;
    let notes = builder.loose_ends();
    Ok(Assembled {
        fabric: Fabric::from_raw(builder.nodes, Some(sm), Source::Sa),
        lmc,
        lmc_esp0,
        notes,
    })
}

#[derive(Default)]
struct Builder {
    nodes: Vec<Node>,
    by_guid: HashMap<Guid, NodeIx>,
    by_port_guid: HashMap<Guid, PortRef>,
    /// Base LIDs of end ports.
    by_lid: HashMap<u16, PortRef>,
    /// End ports that a PortInfoRecord describes.
    described: BTreeSet<PortRef>,
    /// Switches that a SwitchInfoRecord describes.
    switches: BTreeSet<NodeIx>,
}

impl Builder {
    fn node(&mut self, record: &NodeRecord) -> Result<(), Incomplete> {
        let guid = guid(record.node_guid.get(), "a node")?;
        let ix = match self.by_guid.get(&guid) {
            Some(ix) => *ix,
            None => self.add(guid, record)?,
        };
        let [number, ..] = record.port_and_vendor.get().to_be_bytes();
        let node = self.get(ix);
        let is_switch = node.kind == NodeType::Switch;
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

    fn add(&mut self, guid: Guid, record: &NodeRecord) -> Result<NodeIx, Incomplete> {
        let kind = [NodeType::Ca, NodeType::Switch, NodeType::Router]
            .into_iter()
            .find(|kind| *kind as u8 == record.node_type)
            .ok_or_else(|| {
                let code = record.node_type;
                incomplete(format!("node {guid} is of type {code}, which nothing is"))
            })?;
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

    fn end_port(&mut self, at: PortRef, record: &NodeRecord) -> Result<(), Incomplete> {
        let name = self.name(at);
        let guid = guid(record.port_guid.get(), &name)?;
        if at.port > self.get(at.node).port_count() {
            return Err(incomplete(format!("{name}: the node has no such port")));
        }
        if let Some(other) = self.by_port_guid.insert(guid, at) {
            let other = self.name(other);
            return Err(incomplete(format!(
                "port GUID {guid} is that of {other} and of {name}"
            )));
        }
        let raw = record.lid.get();
        let lid = Lid::new(raw).map_err(|_| incomplete(format!("{name} has no LID yet")))?;
        if let Some(other) = self.by_lid.insert(raw, at) {
            return Err(self.both_have(raw, other, at));
        }
        let port = self.port_mut(at);
        port.guid = Some(guid);
        port.lid = Some(lid);
        Ok(())
    }

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

    fn take_port_info(
        &mut self,
        at: PortRef,
        is_end: bool,
        record: &PortInfoRecord,
    ) -> Result<(), Incomplete> {
        let lmc = Lmc::new(record.m_key_protect_and_lmc & 7).unwrap_or_default();
        let state = state(record);
        let base = record.base_lid.get();
        let name = self.name(at);
        let port = self.port_mut(at);
        if is_end {
            if port.lid.map(Lid::get) != Some(base) {
                let lid = port.lid.map_or(0, Lid::get);
                return Err(incomplete(format!(
                    "{name} has LID {lid} by its NodeRecord and {base} by its PortInfoRecord"
                )));
            }
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

    fn end_ports_are_described(&self) -> Result<(), Incomplete> {
        let missing = self.by_lid.values();
        let missing = missing.filter(|at| !self.described.contains(at));
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

    fn switches_are_described(&self) -> Result<(), Incomplete> {
        let all = (0..).map(NodeIx).zip(&self.nodes);
        let missing =
            all.filter(|(ix, node)| node.kind == NodeType::Switch && !self.switches.contains(ix));
        none_of(missing.map(|(_, node)| node.name().to_owned()), |names| {
            format!("there is no SwitchInfoRecord for {names}")
        })
    }

    fn cables(&mut self, records: &Records) -> Result<(), Incomplete> {
        let mut cables: HashMap<PortRef, PortRef> = HashMap::new();
        for record in &records.links {
            let from = self.link_end(record.from_lid.get(), record.from_port)?;
            let to = self.link_end(record.to_lid.get(), record.to_port)?;
            if let Some(other) = cables.insert(from, to).filter(|other| *other != to) {
                let (from, to, other) = (self.name(from), self.name(to), self.name(other));
                return Err(incomplete(format!(
                    "{from} is linked to {to} and to {other}; a port has one cable"
                )));
            }
        }
        let one_way = cables
            .iter()
            .filter(|(from, to)| cables.get(to) != Some(from));
        let mut one_way: Vec<String> = one_way
            .map(|(from, to)| format!("{} to {}", self.name(*from), self.name(*to)))
            .collect();
        one_way.sort_unstable();
        none_of(one_way.into_iter(), |names| {
            format!("there are LinkRecords one way only: {names}")
        })?;
        for (from, to) in cables {
            self.port_mut(from).peer = Some(to);
        }
        Ok(())
    }

    fn link_end(&self, lid: u16, port: u8) -> Result<PortRef, Incomplete> {
        let Some(end) = self.by_lid.get(&lid).copied() else {
            return Err(incomplete(format!(
                "LID {lid} has a LinkRecord but no NodeRecord"
            )));
        };
        let node = self.get(end.node);
        let fits = match node.kind {
            NodeType::Switch => (1..=node.port_count()).contains(&port),
            NodeType::Ca | NodeType::Router => port == end.port,
        };
        match fits {
            true => Ok(PortRef { port, ..end }),
            false => Err(incomplete(format!(
                "a LinkRecord names port {port} of LID {lid}, which is {}",
                self.name(end)
            ))),
        }
    }

    /// Every switch has the blocks up to its LinearFDBTop, each once.
    fn tables_are_whole(&self, records: &Records) -> Result<(), Incomplete> {
        let cut = records.switches.iter().filter(|switch| {
            let blocks = records.lfts.get(&switch.lid.get());
            let numbers = blocks.into_iter().flatten().map(|block| block.block.get());
            !numbers.eq(0..=switch.linear_top.get() / LIDS_PER_BLOCK)
        });
        let name = |switch: &SwitchInfoRecord| {
            let at = self.by_lid.get(&switch.lid.get());
            at.map_or_else(String::new, |at| self.get(at.node).name().to_owned())
        };
        none_of(cut.map(name), |names| {
            format!("forwarding tables are not whole: {names}")
        })
    }

    /// The LMC that all CA and router ports have, and whether enhanced ports 0 have it.
    fn lmc(&self) -> Result<(Lmc, bool), Incomplete> {
        let (mut hosts, mut ports0) = (BTreeSet::new(), BTreeSet::new());
        for at in self.by_lid.values() {
            let node = self.get(at.node);
            let lmc = self.port_ref(*at).lmc.unwrap_or_default().get();
            match node.kind {
                NodeType::Switch if node.enhanced_port0 => ports0.insert(lmc),
                NodeType::Switch => false,
                NodeType::Ca | NodeType::Router => hosts.insert(lmc),
            };
        }
        let many = ports0.last().copied().unwrap_or(0);
        let most = hosts.last().copied().unwrap_or(many);
        let alike = hosts.len() <= 1 && ports0.len() <= 1 && (many == 0 || many == most);
        if !alike {
            return Err(incomplete(format!(
                "ports have different LMCs (CAs and routers: {hosts:?}, enhanced ports 0: \
                 {ports0:?}); the SM gives all the same once it has set them up"
            )));
        }
        Ok((Lmc::new(most).unwrap_or_default(), many > 0))
    }

    /// The port that the end ports take for the SM's.
    fn sm(&self, records: &Records) -> Result<PortRef, Incomplete> {
        let is_end = |port: &&PortInfoRecord| port.base_lid.get() != 0 && port.sm_lid.get() != 0;
        let named: BTreeSet<u16> = records
            .ports
            .iter()
            .filter(is_end)
            .map(|port| port.sm_lid.get())
            .collect();
        let lids: Vec<u16> = named.into_iter().collect();
        match lids.as_slice() {
            [lid] => {
                self.by_lid.get(lid).copied().ok_or_else(|| {
                    incomplete(format!("LID {lid} is the SM's and has no NodeRecord"))
                })
            }
            [] => Err(incomplete("no port knows an SM".to_owned())),
            _ => Err(incomplete(format!(
                "ports name different SMs, at LIDs {lids:?}; one takes over from the other"
            ))),
        }
    }

    /// Ports that are up and lead nowhere.
    fn loose_ends(&self) -> Vec<Remark> {
        let all = (0..).map(NodeIx).zip(&self.nodes);
        let ports = all.flat_map(|(node, facts)| {
            (1..=facts.port_count()).map(move |port| PortRef { node, port })
        });
        let is_loose = |at: &PortRef| {
            let port = self.port_ref(*at);
            port.state != LinkState::Down && port.peer.is_none()
        };
        let names: Vec<String> = ports.filter(is_loose).map(|at| self.name(at)).collect();
        let note = || {
            let text = format!(
                "up, but the SA shows no LinkRecord for it: {}; either the far end does not answer \
                 the SM, or this port shares no partition with it",
                first_few(&names)
            );
            Remark::warning("link-not-shown", text)
        };
        (!names.is_empty()).then(note).into_iter().collect()
    }

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

fn guid(raw: u64, whose: &str) -> Result<Guid, Incomplete> {
    Guid::new(raw).map_err(|_| incomplete(format!("{whose} has GUID zero")))
}

/// Up to the first NUL.
fn description(bytes: &[u8; 64]) -> String {
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

const fn state(record: &PortInfoRecord) -> LinkState {
    match record.speed_supported_and_state & 0xf {
        2 => LinkState::Init,
        3 => LinkState::Armed,
        4 => LinkState::Active,
        _ => LinkState::Down,
    }
}

const fn link(record: &PortInfoRecord) -> Link {
    let width = match record.link_width_active {
        1 => LinkWidth::X1,
        2 => LinkWidth::X4,
        4 => LinkWidth::X8,
        8 => LinkWidth::X12,
        16 => LinkWidth::X2,
        _ => LinkWidth::Unknown,
    };
    let speed = match (
        record.ext_speed_active_and_supported >> 4,
        record.speed_active_and_enabled >> 4,
    ) {
        (1, _) => LinkSpeed::Fdr,
        (2, _) => LinkSpeed::Edr,
        (4, _) => LinkSpeed::Hdr,
        (8, _) => LinkSpeed::Ndr,
        (_, 1) => LinkSpeed::Sdr,
        (_, 2) => LinkSpeed::Ddr,
        (_, 4) => LinkSpeed::Qdr,
        _ => LinkSpeed::Unknown,
    };
    Link { width, speed }
}

/// Source: PortInfo CapabilityMask bit 14, CapabilityMask2 bits 4, 5 and 10.
const fn rate_caps(record: &PortInfoRecord) -> RateCaps {
    let mask2 = record.capability_mask2.get();
    RateCaps {
        extended_speeds: record.capability_mask.get() & PortInfoRecord::EXTENDED_SPEEDS != 0,
        width_2x: mask2 & 1 << 4 != 0,
        hdr: mask2 & 1 << 5 != 0,
        ndr: mask2 & 1 << 10 != 0,
    }
}

/// SwitchInfo: EnhancedPort0.
const ENHANCED_PORT0: u8 = 0x08;
const LIDS_PER_BLOCK: u16 = 64;
