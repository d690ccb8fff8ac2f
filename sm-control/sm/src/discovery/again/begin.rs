//! Where a sweep begins that reads again: who is asked first, and what stands meanwhile.
//!
//! | scope | asked first | what is asked because of the answers |
//! |---|---|---|
//! | any | NodeInfo and PortInfo of the SM's own port | without it nobody is reached, and NodeInfo says who this SM is |
//! | light | SwitchInfo of each switch | PortInfo of all ports where PortStateChange is set, or was set in the sweep before |
//! | light | NodeInfo through links that are up and lead to nobody known | a node is taken in, or the finding stands |
//! | light | SMInfo of other SMs; NodeDescription of nodes that have not told one | |
//! | light | PortInfo of CAs and routers that are mute | all of it, when they answer |
//! | told | SwitchInfo of switches that sent trap 128 or 144, then PortInfo of all their ports | the far ends of what has changed |
//! | told | PortInfo of CA and router ports that sent trap 144 | SMInfo, where there is an SM now |
//!
//! # Findings
//!
//! What stands of a link that leads to nobody known (two nodes with one GUID, a cable from a node to itself, an answer that cannot be) is put away
//! when a light sweep begins, since that very link is asked through again: it comes back in the same words, or is over. All others stand until the same
//! question has another outcome, or the node is gone.
//!
//! # Traps of nobody
//!
//! A trap names its sender by LID. Where no port has that LID its device may have lost it, or got it from another SM: then all switches are
//! asked, which is as much as a light sweep and no more, however many such traps there are.

use std::collections::{BTreeMap, BTreeSet};

use sa_fabric::{NodeIx, PortRef};
use sa_wire::smp::attribute;

use super::super::scope::{Heard, Told};
use super::super::{Discovery, Question};
use crate::model::{Node, Port, PortState};

impl Discovery {
    /// Switches, other SMs, and what has not answered so far.
    /// Why now and not as a trap says it: a light sweep trusts PortStateChange alone, and what has none is asked by name.
    pub(super) fn begin_light(&mut self) {
        let known: BTreeSet<_> = self.subnet.nodes().iter().map(Node::guid).collect();
        // Those of links that lead to nobody known come again where they stand.
        self.subnet.keep_findings(|finding| {
            let asked = finding.asked();
            asked.is_some_and(|(place, asked)| {
                let is_known = place.node.is_some_and(|node| known.contains(&node));
                is_known && asked != attribute::NODE_INFO
            })
        });
        let nodes: Vec<NodeIx> = self.subnet.places().map(|(at, _)| at).collect();
        for at in nodes {
            self.look_lightly(at);
        }
        let managers: Vec<PortRef> = self.subnet.managers().map(|(at, _)| at).collect();
        for at in managers {
            self.ask(Question::Manager { at });
        }
    }

    /// What a light sweep wants of one node: of a switch its SwitchInfo, of a mute CA its PortInfo, of a nameless node its NodeDescription.
    pub(super) fn look_lightly(&mut self, node: NodeIx) {
        let Some(found) = self.subnet.node(node) else {
            return;
        };
        let ports = found.ports().map(|(port, it)| (PortRef { node, port }, it));
        let is_open = |port: &Port| port.peer.is_none() && port.state() > Some(PortState::Down);
        let open = ports.filter(|(at, it)| at.port != 0 && is_open(it));
        let open: Vec<PortRef> = open.map(|(at, _)| at).collect();
        let first = found
            .end_ports()
            .next()
            .map(|(port, _)| PortRef { node, port });
        let (is_switch, is_mute) = (found.is_switch(), found.is_mute);
        let is_unsettled = found.is_unsettled;
        let is_nameless = found.record.description == [0; 64];
        if is_switch {
            open.into_iter().for_each(|at| self.follow(at));
            self.look_at(node, is_unsettled);
        }
        let Some(first) = first else {
            return;
        };
        // A switch is asked anyway.
        if is_mute && !is_switch {
            self.look_at_port(first);
        } else if is_nameless && !is_mute {
            self.ask(Question::Description { at: first });
        }
    }

    /// What those told who have these LIDs. False where nobody has one of them: its device may have lost it, which a light sweep finds.
    ///
    /// A LID that two ports have is that of one of them: the other is found by its switch.
    pub(super) fn begin_told(&mut self, told: &Told) -> bool {
        // By all LIDs of a port: which one a trap has is its sender's choice.
        let mut by_lid: BTreeMap<u16, PortRef> = BTreeMap::new();
        for (at, port) in self.subnet.end_ports() {
            let Some(info) = port.info else { continue };
            let base = info.base_lid.get();
            let last = base.saturating_add((1 << (info.m_key_protect_and_lmc & 7)) - 1);
            let mut lids = (base..=last).filter(|lid| *lid != 0);
            if let Some(lid) = lids.next() {
                by_lid.insert(lid, at);
            }
            by_lid.extend(lids.map(|lid| (lid, at)));
        }
        let mut are_known = true;
        for (lid, heard) in told.iter() {
            match by_lid.get(&lid) {
                Some(at) => self.heard(*at, heard),
                None => are_known = false,
            }
        }
        are_known
    }

    /// What one device told: NodeDescription, NodeInfo, ports, each as its trap says.
    pub(super) fn heard(&mut self, at: PortRef, heard: Heard) {
        let is_switch = self.subnet.node(at.node).is_some_and(Node::is_switch);
        if heard.description {
            self.ask(Question::Description { at });
        }
        if heard.node
            && let Some(route) = self.subnet.route(at).cloned()
        {
            // By its own way and not through a port: who is behind it is known.
            self.ask(Question::Node { from: None, route });
        }
        match (heard.ports, is_switch) {
            (false, _) => {}
            (true, true) => self.look_at(at.node, true),
            (true, false) => self.look_at_port(at),
        }
    }
}
