//! What only all records together tell: cables, whole tables, the LMC, the SM.
//!
//! Each check is on the records as a whole, so none can be made while they are read. What fails is an error with names: a fabric that
//! is put together from two states would answer wrongly.

use std::collections::{BTreeMap, BTreeSet};

use sa_text::Remark;
use sa_wire::records::{PortInfoRecord, SwitchInfoRecord};
use sa_wire::{Lmc, NodeType};

use super::{Builder, incomplete, none_of};
use crate::display::first_few;
use crate::sa_records::{Incomplete, Records};
use crate::{LinkState, NodeIx, PortRef};

impl Builder {
    /// Each record tells one end of a cable; the other end's must say the same.
    ///
    /// Errors: a port with two cables; a cable told from one end.
    pub(super) fn cables(&mut self, records: &Records) -> Result<(), Incomplete> {
        let mut cables = Vec::with_capacity(records.links.len());
        for record in &records.links {
            let from = self.link_end(record.from_lid.get(), record.from_port)?;
            let to = self.link_end(record.to_lid.get(), record.to_port)?;
            let peer = self.port_mut(from).peer.replace(to);
            if let Some(other) = peer.filter(|other| *other != to) {
                let (from, to, other) = (self.name(from), self.name(to), self.name(other));
                return Err(incomplete(format!(
                    "{from} is linked to {to} and to {other}; a port has one cable"
                )));
            }
            cables.push((from, to));
        }
        let one_way = cables
            .iter()
            .filter(|(from, to)| self.port_ref(*to).peer != Some(*from));
        let mut one_way: Vec<String> = one_way
            .map(|(from, to)| format!("{} to {}", self.name(*from), self.name(*to)))
            .collect();
        one_way.sort_unstable();
        one_way.dedup();
        none_of(one_way.into_iter(), |names| {
            format!("there are LinkRecords one way only: {names}")
        })
    }

    /// The port that a LinkRecord names by LID and number. Errors: nobody's LID; a port that the
    /// node does not have there.
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
    ///
    /// Errors: names of the switches whose tables are cut, or have a gap.
    pub(super) fn tables_are_whole(&self, records: &Records) -> Result<(), Incomplete> {
        let cut = records.switches.iter().filter(|switch| {
            let blocks = records.lfts.get(&switch.lid.get());
            let blocks = blocks.into_iter().flat_map(|blocks| blocks.iter());
            let numbers = blocks.map(|block| block.block.get());
            // Block 0 is always there.
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
    ///
    /// An SM that sets one up gives the same LMC to all; different ones are a fabric between two
    /// settings.
    pub(super) fn lmc(&self) -> Result<(Lmc, bool), Incomplete> {
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
        // A fabric of switches alone has the LMC of its ports 0.
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
    ///
    /// By MasterSMLID of all end ports. Ports that name different ones are a handover under way:
    /// some have heard of the new SM already.
    pub(super) fn sm(&self, records: &Records) -> Result<PortRef, Incomplete> {
        let named: BTreeSet<u16> = in_use(records).map(|port| port.sm_lid.get()).collect();
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

    /// One GID prefix: a path record names both ends by it, and a snapshot holds one.
    ///
    /// Ports that the SM has not set up yet have none. Errors: ports of several subnets, or of one
    /// whose prefix is being changed.
    pub(super) fn one_prefix(&self, records: &Records) -> Result<(), Incomplete> {
        let mut first: BTreeMap<u64, &PortInfoRecord> = BTreeMap::new();
        for port in in_use(records).filter(|port| port.gid_prefix.get() != 0) {
            first.entry(port.gid_prefix.get()).or_insert(port);
        }
        if first.len() < 2 {
            return Ok(());
        }
        let name = |(prefix, port): (&u64, &&PortInfoRecord)| {
            let at = self.by_lid.get(&port.lid.get());
            let name = at.map_or_else(String::new, |at| self.name(*at));
            format!("{name}: 0x{prefix:016x}")
        };
        let names: Vec<String> = first.iter().map(name).collect();
        Err(incomplete(format!(
            "ports have different GID prefixes ({}); a subnet has one, and its SM gives it to all",
            first_few(&names)
        )))
    }

    /// Ports that are up and lead nowhere.
    ///
    /// No error: a host that is just booting has a link and answers no SMP.
    pub(super) fn loose_ends(&self) -> Vec<Remark> {
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
}

/// End ports that an SM has set up. External ports of switches have neither LID nor SM.
fn in_use(records: &Records) -> impl Iterator<Item = &PortInfoRecord> {
    let is_end = |port: &&PortInfoRecord| port.base_lid.get() != 0 && port.sm_lid.get() != 0;
    records.ports.iter().filter(is_end)
}

/// Of a LinearForwardingTableRecord.
const LIDS_PER_BLOCK: u16 = 64;
