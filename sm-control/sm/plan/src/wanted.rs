//! Every attribute of every node, out of what the compiler made.
//!
//! | attribute | from |
//! |---|---|
//! | PortInfo: LID, LMC, MTU, VLs, timers, M_Key | LIDs, options, both ends of the link |
//! | PortInfo: MasterSMSL | the engine's SL from the port to the SM, else `sm_sl` |
//! | PortInfo: VLHighLimit | QoS tables of the port |
//! | SwitchInfo | the largest LID, `packet_life_time` |
//! | LinearForwardingTable | routes |
//! | SLtoVLMappingTable | set-up scope of the policy, engine, options: the first that has one |
//! | VLArbitrationTable | set-up scope of the policy, options |
//! | MulticastForwardingTable | members of groups, trees of the engine or of shortest paths |
//! | P_KeyTable of end ports | partitions, with keys at the indices that they had |
//! | P_KeyTable of switch ports before them | the same keys without holes |
//!
//! A node that the compiler left out (no cable leads to it) gets LIDs and PortInfo, and no tables.

use std::collections::BTreeMap;

use routing::EndPortIx;
use sa_compiler::qos_setup::{
    PortUse, ScopeFit, Scopes, SetupContext, SlToVlRow, port_tables_with,
};
use sa_compiler::state::FabricState;
use sa_fabric::options::Enforcement;
use sa_fabric::{NodeIx, PortRef};
use sa_sm::lids;
use sa_sm::model::attributes::Data;
use sa_sm::model::{Block, Node, Subnet};
use sa_sm::wanted::pkeys::{self, Places, Wish};
use sa_sm::wanted::port_info::{self, Common, Decided};
use sa_sm::wanted::qos::{arbitration, optimised_sl_to_vl, sl_to_vl, switch_sl_to_vl};
use sa_sm::wanted::{linear, switch_info};
use sa_sm::writing::Wanted;
use sa_wire::records::PortInfoRecord;
use sa_wire::{Guid, SlToVl};

use crate::PlanFinding;
use crate::clients::Clients;
use crate::places::Index;

/// A plan that is being made.
pub(crate) struct Plan<'a> {
    found: &'a Subnet,
    lids: &'a lids::Plan,
    common: Common<'a>,
    clients: &'a Clients,
    wanted: Wanted,
    findings: Vec<PlanFinding>,
}

impl<'a> Plan<'a> {
    /// What does not depend on routes: ports and switches with their LIDs.
    pub(crate) fn new(
        found: &'a Subnet,
        lids: &'a lids::Plan,
        common: Common<'a>,
        clients: &'a Clients,
    ) -> Self {
        let mut plan = Self {
            found,
            lids,
            common,
            clients,
            wanted: Wanted::default(),
            findings: Vec::new(),
        };
        let (top, life_time) = (lids.top(), common.options.packet_life_time);
        for (at, node) in found.places() {
            for (port, _) in node.ports() {
                plan.port(PortRef { node: at, port }, Decided::default());
            }
            let switch = node.switch_info;
            let switch = switch.map(|info| switch_info::wanted(&info, top, life_time));
            plan.wanted.switches.extend(switch.map(|info| (at, info)));
        }
        plan
    }

    /// What is wanted so far.
    pub(crate) const fn wanted(&self) -> &Wanted {
        &self.wanted
    }

    pub(crate) fn finish(self) -> (Wanted, Vec<PlanFinding>) {
        (self.wanted, self.findings)
    }

    /// PortInfo. `decided` lacks LIDs.
    fn port(&mut self, at: PortRef, decided: Decided) {
        let decided = Decided {
            lids: self.lids.ports.get(&at).copied(),
            registers_again: self.registers_again(at),
            ..decided
        };
        let info = port_info::wanted(self.found, at, &decided, self.common);
        self.wanted.ports.extend(info.map(|info| (at, info)));
    }

    fn registers_again(&self, at: PortRef) -> bool {
        let port = self.found.port(at);
        let is_asked = |port| self.clients.asks(port, self.common.sm_lid);
        !self.common.manager.no_clients_rereg && port.is_some_and(is_asked)
    }

    fn set(&mut self, node: NodeIx, blocks: impl IntoIterator<Item = (Block, Data)>) {
        self.wanted.tables.entry(node).or_default().extend(blocks);
    }

    /// Nobody knows who is in which group: multicast tables stay.
    pub(crate) const fn leave_multicast(&mut self) {
        self.wanted.leaves_multicast = true;
    }

    /// Tables that are made elsewhere: multicast, GUIDs.
    pub(crate) fn tables(&mut self, tables: BTreeMap<NodeIx, BTreeMap<Block, Data>>) {
        for (node, blocks) in tables {
            self.set(node, blocks);
        }
    }

    /// Forwarding tables, SLs to the SM, SL2VL and VL arbitration.
    pub(crate) fn route(&mut self, parts: &FabricState) {
        let index = Index::new(self.found, parts);
        let found = self.found;
        for (at, node) in found.places() {
            if let Some(switch) = index.switch(node.guid()) {
                self.set(at, linear::blocks(parts.routes.lft(switch)));
            }
        }
        let limits = self.qos(parts, &index);
        for (at, _) in found.end_ports() {
            let lid = self.lids.ports.get(&at).map(|it| it.lid);
            let hint = self.common.options.sm_sl;
            let sm_sl = lid.and_then(|lid| parts.routes.path_sl(hint, lid, self.common.sm_lid));
            let decided = Decided {
                sm_sl,
                high_limit: limits.get(&at).copied(),
                ..Decided::default()
            };
            self.port(at, decided);
        }
        // Ports of switches that are no end ports: nothing of theirs is the engine's but this.
        for (at, limit) in limits.iter().filter(|(at, _)| at.port != 0) {
            if found.node(at.node).is_some_and(Node::is_switch) {
                let decided = Decided {
                    high_limit: Some(*limit),
                    ..Decided::default()
                };
                self.port(*at, decided);
            }
        }
    }

    /// SL2VL and VL arbitration: of the set-up scopes of the policy, else of the engine or the options. Returns VLHighLimit of the ports that get such tables: none with QoS off.
    fn qos(&mut self, parts: &FabricState, index: &Index) -> BTreeMap<PortRef, u8> {
        let scopes = parts
            .policy
            .as_ref()
            .map(|policy| Scopes::new(policy, SetupContext::from_state(parts), ScopeFit::Rfc));
        let mut limits = BTreeMap::new();
        let mut switches: BTreeMap<NodeIx, BTreeMap<u8, Vec<SlToVlRow>>> = BTreeMap::new();
        for tables in port_tables_with(parts, scopes.as_ref()) {
            let Some(at) = index.found(parts, tables.at) else {
                continue;
            };
            limits.insert(at, tables.high_limit);
            let is_switch = !matches!(tables.place, PortUse::Ca | PortUse::Router);
            let (end_port, port) = if is_switch {
                (0, at.port)
            } else {
                (at.port, 0)
            };
            let (high, low) = (&tables.vlarb_high, &tables.vlarb_low);
            self.set(at.node, arbitration(high, low, end_port, port));
            if !self.takes_sl_to_vl(at) {
                // A table that it refuses would be a finding for ever.
            } else if is_switch {
                let outputs = switches.entry(at.node).or_default();
                outputs.insert(at.port, tables.sl2vl);
            } else {
                let rows = tables.sl2vl.iter();
                self.set(at.node, rows.map(|row| sl_to_vl(at.port, row.table)));
            }
        }
        for (at, outputs) in switches {
            let is_optimised = self.is_optimised(at);
            // What depends on the input port cannot be said of all inputs at once: torus-2QoS's tables do.
            let blocks = match alike(&outputs).filter(|_| is_optimised) {
                Some(alike) => optimised_sl_to_vl(&alike),
                None => outputs.values().flatten().map(one_by_one).collect(),
            };
            self.set(at, blocks);
        }
        limits
    }

    /// IsSLMappingSupported, which a switch has in the CapabilityMask of its port 0.
    fn takes_sl_to_vl(&self, at: PortRef) -> bool {
        let node = self.found.node(at.node);
        let of = node.map(|node| if node.is_switch() { 0 } else { at.port });
        let port = node.zip(of).and_then(|(node, of)| node.port(of));
        let mask = port
            .and_then(|port| port.info)
            .map(|it| it.capability_mask.get());
        mask.is_some_and(|mask| mask & PortInfoRecord::SL_MAPPING != 0)
    }

    /// The switch takes one table for many ports, and the operator wants it.
    fn is_optimised(&self, at: NodeIx) -> bool {
        let info = self.found.node(at).and_then(|node| node.switch_info);
        let can = info.is_some_and(|info| switch_info::takes_one_sl2vl_for_many(&info));
        can && self.common.manager.use_optimized_slvl
    }

    /// P_Key tables of end ports, and of the switch ports before them.
    pub(crate) fn keys(&mut self, parts: &FabricState, places: &mut BTreeMap<Guid, Places>) {
        let index = Index::new(self.found, parts);
        let found = self.found;
        for (at, end) in found.end_ports() {
            let Some((guid, ix)) = end.guid.and_then(|guid| Some((guid, index.end(guid)?))) else {
                continue;
            };
            let Some(keys) = self.end_port_keys(parts, at, ix, places.entry(guid).or_default())
            else {
                continue;
            };
            if let Some(far) = end.peer {
                self.switch_port_keys(&keys, far, guid);
            }
        }
    }

    /// `None` where its table was not read.
    fn end_port_keys(
        &mut self,
        parts: &FabricState,
        at: PortRef,
        ix: EndPortIx,
        places: &mut Places,
    ) -> Option<Vec<u16>> {
        let node = self.found.node(at.node)?;
        let room = node.record.partition_cap.get();
        // Of a switch it is port 0. A table that was not read may hold keys in use, so it stays.
        let held = pkeys::known(&node.tables, room, at.port, 0)?;
        let wish = Wish {
            keys: parts.partitions.pkey_table(ix.index()),
            first: parts.partitions.first_pkey(ix.index()),
        };
        let both = self.common.options.allow_both_pkeys;
        // Without the option keys take the places that are next, as on a port that has none.
        let kept: &[u16] = match self.common.manager.keep_pkey_indexes {
            true => &held,
            false => {
                *places = Places::default();
                &[]
            }
        };
        let table = pkeys::end_port(kept, room, &wish, both, places);
        let blocks = pkeys::blocks(&table.keys, held.len(), at.port, 0);
        self.set(at.node, blocks);
        if !table.left_out.is_empty() {
            self.findings.push(PlanFinding::KeysLeftOut {
                port: parts.topology.end_port(ix).guid,
                keys: table.left_out,
            });
        }
        Some(table.keys)
    }

    /// Of the switch port that checks for an end port with these keys.
    fn switch_port_keys(&mut self, keys: &[u16], at: PortRef, end: Guid) {
        let node = self.found.node(at.node).filter(|node| node.is_switch());
        let Some((node, info)) = node.and_then(|node| Some((node, node.switch_info?))) else {
            return;
        };
        let room = info.enforcement_cap.get();
        // Where nothing is checked tables stay as they are, as with OpenSM.
        let checks = !self.common.options.no_partition_enforcement
            && self.common.manager.part_enforce != Enforcement::Off;
        if room == 0 || !checks {
            return;
        }
        let Some(held) = pkeys::known(&node.tables, room, 0, at.port) else {
            return;
        };
        match pkeys::switch_port(keys, room) {
            Some(keys) => self.set(at.node, pkeys::blocks(&keys, held.len(), 0, at.port)),
            None => {
                self.do_not_check(at);
                self.findings.push(PlanFinding::NotEnforced { port: end });
            }
        }
    }

    /// With a table that lacks keys the port would drop packets that may pass.
    fn do_not_check(&mut self, at: PortRef) {
        if let Some(info) = self.wanted.ports.get_mut(&at) {
            info.operational_vls_and_enforcement &= !ENFORCEMENT;
        }
    }
}

/// PartitionEnforcementInbound and Outbound.
const ENFORCEMENT: u8 = 3 << 2;

fn one_by_one(row: &SlToVlRow) -> (Block, Data) {
    switch_sl_to_vl(row.input, row.output, row.table)
}

/// The one table of each output port; `None` where some depends on the input port.
fn alike(outputs: &BTreeMap<u8, Vec<SlToVlRow>>) -> Option<BTreeMap<u8, SlToVl>> {
    let one = |(port, rows): (&u8, &Vec<SlToVlRow>)| {
        let first = rows.first()?.table;
        let is_alike = rows.iter().all(|row| row.table == first);
        is_alike.then_some((*port, first))
    };
    outputs.iter().map(one).collect()
}
