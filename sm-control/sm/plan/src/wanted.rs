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
//!
//! Ports are asked for twice: with what does not depend on routes, which the compiler needs to see the subnet as it will be, and again
//! with the SL and VLHighLimit that come out of the compilation. Later words on a port or block replace earlier ones.

mod keys;

use std::collections::BTreeMap;

use sa_compiler::qos_setup::{
    PortUse, ScopeFit, Scopes, SetupContext, SlToVlRow, port_tables_with,
};
use sa_compiler::state::FabricState;
use sa_fabric::{NodeIx, PortRef};
use sa_sm::lids;
use sa_sm::model::attributes::Data;
use sa_sm::model::{Block, Node, Subnet};
use sa_sm::wanted::port_info::{self, Common, Decided};
use sa_sm::wanted::qos::{arbitration, optimised_sl_to_vl, sl_to_vl, switch_sl_to_vl};
use sa_sm::wanted::{linear, switch_info};
use sa_sm::writing::Wanted;
use sa_wire::SlToVl;
use sa_wire::records::PortInfoRecord;

use crate::PlanFinding;
use crate::clients::Clients;
use crate::places::Index;
use crate::sight::Sight;

/// A plan that is being made.
pub(crate) struct Plan<'a> {
    /// The subnet of this sweep; every value begins with what its device holds.
    found: &'a Subnet,
    /// Who gets which LIDs; a port that is missing gets none.
    lids: &'a lids::Plan,
    common: Common<'a>,
    /// Who is to register again.
    clients: &'a Clients,
    /// What another SA may have shown of them.
    sight: Sight,
    /// Grows from step to step; complete at [`Self::finish`].
    wanted: Wanted,
    /// Blocks in the order in which they were found, the last word on each counts. Maps are made of them at once: a subnet has hundreds of
    /// thousands.
    tables: BTreeMap<NodeIx, Vec<(Block, Data)>>,
    /// What could not be put into tables as it was asked for.
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
            sight: Sight::of(found, common.options.allow_both_pkeys),
            wanted: Wanted::default(),
            tables: BTreeMap::new(),
            findings: Vec::new(),
        };
        // One top for all switches, as LIDs are dealt out over the whole subnet.
        let (top, life_time) = (lids.top(), common.options.packet_life_time);
        // In the order of the model, so that what is wanted does not depend on hashing.
        for (at, node) in found.places() {
            for (port, _) in node.ports() {
                plan.port(PortRef { node: at, port }, Decided::default());
            }
            let switch = node.switch_info;
            let switch = switch.map(|info| switch_info::wanted(&info, top, life_time));
            // A switch whose SwitchInfo was not read has none wanted: there is nothing to begin with.
            plan.wanted.switches.extend(switch.map(|info| (at, info)));
        }
        plan
    }

    /// Ports and switches that are wanted so far.
    pub(crate) const fn wanted(&self) -> &Wanted {
        &self.wanted
    }

    /// What is wanted, and what a person should know of it.
    pub(crate) fn finish(mut self) -> (Wanted, Vec<PlanFinding>) {
        let tables = self.tables.into_iter();
        let tables = tables.map(|(node, blocks)| (node, blocks.into_iter().collect()));
        self.wanted.tables = tables.collect();
        (self.wanted, self.findings)
    }

    /// PortInfo. `decided` lacks LIDs.
    fn port(&mut self, at: PortRef, decided: Decided) {
        let decided = Decided {
            lids: self.lids.ports.get(&at).copied(),
            // Here and not by the callers: both rounds have to ask alike, or the second would take the order back.
            registers_again: self.registers_again(at),
            ..decided
        };
        let info = port_info::wanted(self.found, at, &decided, self.common);
        // None where the port's own PortInfo was not read, or it has no link.
        self.wanted.ports.extend(info.map(|info| (at, info)));
    }

    /// `no_clients_rereg` outweighs all: an operator who sets it knows hosts that take the order badly.
    fn registers_again(&self, at: PortRef) -> bool {
        let port = self.found.port(at);
        let is_seen = || self.sight.sees(self.found, at);
        let is_asked = |port| self.clients.asks(port, self.common.sm_lid, is_seen);
        !self.common.manager.no_clients_rereg && port.is_some_and(is_asked)
    }

    /// Adds blocks to those of a node; one that is there already is replaced.
    fn set(&mut self, node: NodeIx, blocks: impl IntoIterator<Item = (Block, Data)>) {
        self.tables.entry(node).or_default().extend(blocks);
    }

    /// Nobody knows who is in which group: multicast tables stay.
    /// Until the SA's journal is read, an empty set of groups would clear what clients rely on.
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
        // Model and compiler number nodes each in their own way; GUIDs join them.
        let index = Index::new(self.found, parts);
        let found = self.found;
        for (at, node) in found.places() {
            // A switch that no cable leads to has no routes, and its table stays: nothing reaches it anyway.
            if let Some(switch) = index.switch(node.guid()) {
                self.set(at, linear::blocks(parts.routes.lft(switch)));
            }
        }
        // First, as VLHighLimit goes into the PortInfo that is made next.
        let limits = self.qos(parts, &index);
        for (at, _) in found.end_ports() {
            let lid = self.lids.ports.get(&at).map(|it| it.lid);
            // What a path would have without an engine's word: engines may take it as a wish.
            let hint = self.common.options.sm_sl;
            // From the port to the SM, as the port sends to it: the way back is the SM's to choose.
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
        // Scopes are matched once for all ports: they are made of the policy and of what the fabric is.
        let scopes = parts
            .policy
            .as_ref()
            .map(|policy| Scopes::new(policy, SetupContext::from_state(parts), ScopeFit::Rfc));
        let mut limits = BTreeMap::new();
        let mut switches: BTreeMap<NodeIx, BTreeMap<u8, Vec<SlToVlRow>>> = BTreeMap::new();
        for tables in port_tables_with(parts, scopes.as_ref()) {
            // The compiler knows no port that the model lacks; a `None` here would be a node with a GUID of its own twice.
            let Some(at) = index.found(parts, tables.at) else {
                continue;
            };
            limits.insert(at, tables.high_limit);
            let is_switch = !matches!(tables.place, PortUse::Ca | PortUse::Router);
            // The attribute of a switch's port is written through port 0 and names the port in its modifier.
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
                // Kept until all outputs are there: whether one table does for many is seen only then.
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
            // Last, so that a switch gets its SL2VL blocks all of one kind.
            self.set(at, blocks);
        }
        limits
    }

    /// IsSLMappingSupported, which a switch has in the CapabilityMask of its port 0.
    fn takes_sl_to_vl(&self, at: PortRef) -> bool {
        // A switch tells it once, for all of its ports.
        let node = self.found.node(at.node);
        let of = node.map(|node| if node.is_switch() { 0 } else { at.port });
        let port = node.zip(of).and_then(|(node, of)| node.port(of));
        let mask = port
            .and_then(|port| port.info)
            .map(|it| it.capability_mask.get());
        // A mask that was not read counts as no: a refused Set is repeated in each sweep, a missing table is the hardware's default.
        mask.is_some_and(|mask| mask & PortInfoRecord::SL_MAPPING != 0)
    }

    /// The switch takes one table for many ports, and the operator wants it.
    fn is_optimised(&self, at: NodeIx) -> bool {
        // Both have to agree: a switch that can is still written one by one where OpenSM would do so.
        let info = self.found.node(at).and_then(|node| node.switch_info);
        let can = info.is_some_and(|info| switch_info::takes_one_sl2vl_for_many(&info));
        can && self.common.manager.use_optimized_slvl
    }
}

/// A row of a table that depends on its input port, as the block that says so.
fn one_by_one(row: &SlToVlRow) -> (Block, Data) {
    switch_sl_to_vl(row.input, row.output, row.table)
}

/// The one table of each output port; `None` where some depends on the input port.
fn alike(outputs: &BTreeMap<u8, Vec<SlToVlRow>>) -> Option<BTreeMap<u8, SlToVl>> {
    let one = |(port, rows): (&u8, &Vec<SlToVlRow>)| {
        // An output without rows has no table to be like.
        let first = rows.first()?.table;
        let is_alike = rows.iter().all(|row| row.table == first);
        is_alike.then_some((*port, first))
    };
    outputs.iter().map(one).collect()
}
