//! Answers to PortInfo: further ports, links to follow, P_Key tables to read.
//!
//! | PortInfo of | is followed by |
//! |---|---|
//! | port 0 of a switch | PortInfo of ports 1 to n, with the bit for extended speeds where port 0 has them; its P_Key table |
//! | an external port with a link | its P_Key table, where the switch enforces any; NodeInfo through it, where the far end is not known |
//! | an external port without a link | nothing |
//! | the SM's own port | its P_Key table; NodeInfo through it |
//! | another port of a CA or router | its P_Key table: no packet passes through such a node |
//! | an end port with IsSM, but the SM's own | SMInfo |
//!
//! SwitchInfo and PortInfo of a switch are asked for side by side and may come in any order. Capacities of P_Key tables are in
//! the one, links in the other, so whichever comes last asks for the tables.

use sa_fabric::{NodeIx, PortRef};
use sa_wire::records::PortInfoRecord;
use sa_wire::smp::attribute;

use super::{Discovery, Question};
use crate::model::attributes::{self, Data};
use crate::model::{Finding, PortState};

impl Discovery {
    /// Counted like every question; `extended` is for external ports of switches that know it.
    pub(super) fn ask_port(&mut self, at: PortRef, extended: bool) {
        self.ask(Question::Port { at, extended });
    }

    /// All ports of a switch but port 0.
    pub(super) fn ask_external_ports(&mut self, node: NodeIx, extended: bool) {
        let ports = match self.subnet.node(node) {
            Some(found) if found.is_switch() => found.port_count(),
            _ => 0,
        };
        for port in 1..=ports {
            self.ask_port(PortRef { node, port }, extended);
        }
    }

    /// A PortInfo that was known goes to `again::links`; here is what a port that is new leads to.
    pub(super) fn port_told(&mut self, at: PortRef, data: &Data) {
        let info = attributes::port_info(data);
        let Some(is_switch) = self.subnet.node(at.node).map(|node| node.is_switch()) else {
            return;
        };
        let is_port0 = is_switch && at.port == 0;
        let old = self.subnet.port(at).and_then(|port| port.info);
        let state = PortState::of(&info);
        // With a state that cannot be, what it told before is more than nothing.
        if state.is_some() || self.again.is_none() {
            self.subnet.told(at, info);
        }
        let Some(state) = state else {
            let place = self.place_of(at);
            return self.impossible(
                place,
                attribute::PORT_INFO,
                "it has no state that a port can have",
            );
        };
        // IsSM of external ports means nothing: an SM is behind an end port.
        let is_end_port = is_port0 || !is_switch;
        if is_end_port {
            self.ask_key(at);
            self.believes(at.node);
        }
        let has_manager = info.capability_mask.get() & PortInfoRecord::IS_SM != 0;
        if is_end_port && has_manager && self.subnet.sm() != Some(at) {
            self.ask(Question::Manager { at });
        }
        if let Some(old) = old.filter(|_| self.again.is_some()) {
            return self.port_looked_at(at, &old);
        }
        if is_port0 {
            let mask = info.capability_mask.get();
            let extended = mask & PortInfoRecord::EXTENDED_SPEEDS != 0;
            self.ask_external_ports(at.node, extended);
        }
        self.ask_keys(at);
        // Packets pass a CA at no port but the SM's own.
        let is_way_on = is_switch || self.subnet.sm() == Some(at);
        if !is_port0 && is_way_on && state > PortState::Down {
            self.follow(at);
        }
    }

    /// Who is at the far end?
    ///
    /// Nothing is asked beyond 63 hops, which is as long as a directed route may be: that is a finding.
    pub(super) fn follow(&mut self, at: PortRef) {
        if self.subnet.peer(at).is_some() && !self.is_doubted(at) {
            return;
        }
        let Some(route) = self.subnet.route(at) else {
            return;
        };
        match route.then(at.port) {
            Some(route) => self.ask(Question::Node {
                from: Some(at),
                route,
            }),
            None => {
                let place = self.place_of(at);
                self.subnet.note(Finding::TooFar { place });
            }
        }
    }

    /// The P_Key table of a port with a link, or of port 0, as far as its capacity is known. A table is asked for once.
    ///
    /// Of a port without a link nothing is read: it passes nothing, and is read when it comes up.
    pub(super) fn ask_keys(&mut self, at: PortRef) {
        let Some(node) = self.subnet.node(at.node) else {
            return;
        };
        let is_external = node.is_switch() && at.port != 0;
        let capacity = match (is_external, node.switch_info) {
            (false, _) => node.record.partition_cap.get(),
            (true, Some(info)) => info.enforcement_cap.get(),
            (true, None) => 0,
        };
        let state = node.port(at.port).and_then(|port| port.state());
        if is_external && state.is_none_or(|state| state == PortState::Down) {
            return;
        }
        if self.spares_keys(at) {
            return;
        }
        let blocks = capacity.div_ceil(KEYS).min(MOST_BLOCKS);
        for block in 0..blocks {
            self.ask(Question::Keys { at, block });
        }
    }
}

/// P_Keys in a block.
const KEYS: u16 = 32;
/// Blocks that are read of one table: devices have 4 at most, and what says more is not believed.
const MOST_BLOCKS: u16 = 64;
