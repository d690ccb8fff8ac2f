//! What routing and policy get to see.
//!
//! Both know no files and no cables of theirs: routing takes a [`Topology`] of switches and end
//! ports by index, policy takes [`PortFacts`]. Indices are those of the subnet, so that what they
//! compute can be brought back to ports and names without a table.
//!
//! Also here is what follows from options and both ends of a cable together: the VLs that a port
//! operates, and the SL2VL tables that OpenSM programs before an engine changes them.

use std::collections::HashMap;

use policy::PortFacts;
use routing::{EndPortIx, Peer, SwitchIx, Topology};
use sa_wire::{DataVls, NodeType, SlToVl};

use super::{EndPort, Subnet};
use crate::model::{NodeIx, PortRef};
use crate::options::{OpenSmOptions, PortClass, fit_sl2vl};

impl Subnet {
    /// The subnet as routing sees it. Shape: switches and end ports in this subnet's own order.
    ///
    /// `configured_sl2vl` is what OpenSM programs from the options, fitted to the operational VLs;
    /// with QoS off, and on the port 0 of a switch that is not enhanced, it is the table that
    /// ibsim's ports wake up with.
    ///
    /// Cost: once over all ports; descriptions are copied.
    pub fn topology(&self, options: &OpenSmOptions) -> Topology {
        View::new(self, options).topology()
    }

    /// The end ports as policy sees them. Shape: as [`Self::end_ports`].
    ///
    /// In place of a `Node`, so that policy need not know fabrics.
    pub fn port_facts(&self) -> Vec<PortFacts> {
        let facts = |(index, port): (usize, &EndPort)| {
            let node = self.fabric.node(port.at.node);
            PortFacts {
                guid: port.guid,
                node_guid: node.guid,
                node_type: node.kind,
                description: node.description.clone(),
                port_number: port.at.port,
                node_ports: node.port_count(),
                is_sm: index == self.sm,
            }
        };
        self.end_ports.iter().enumerate().map(facts).collect()
    }

    /// The VLs that a port operates: the lesser of both ends of its cable, no more than
    /// `max_op_vls` allows. A switch's port 0 keeps its own, unless it is enhanced.
    /// Source: OpenSM `osm_port.c`, `osm_physp_calc_link_op_vls`.
    ///
    /// A port without a cable keeps its own, within the limit: no far end lowers it.
    pub fn operational_vls(&self, at: PortRef, options: &OpenSmOptions) -> DataVls {
        // Base port 0 has no link to negotiate on.
        let own = self.fabric.vl_cap(at);
        if self.fabric.is_port0(at) && !self.fabric.node(at.node).enhanced_port0 {
            return own;
        }
        let peer = self
            .fabric
            .port(at)
            .peer
            .map_or(own, |peer| self.fabric.vl_cap(peer));
        own.min(peer).min(most_vls(options))
    }

    /// Which set of QoS options a port follows.
    pub fn port_class(&self, at: PortRef) -> PortClass {
        match self.fabric.node(at.node).kind {
            NodeType::Ca => PortClass::Ca,
            NodeType::Router => PortClass::Router,
            NodeType::Switch if at.port == 0 => PortClass::SwitchPort0,
            NodeType::Switch => PortClass::SwitchExternal,
        }
    }
}

/// The table of ibsim's ports before anyone programs them; that of most devices too.
const AT_POWER_UP: SlToVl = SlToVl([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 7]);

/// The limit of `max_op_vls`; codes above 5 limit nothing.
/// `fit` functions and topologies alike go by this.
fn most_vls(options: &OpenSmOptions) -> DataVls {
    DataVls::from_code(options.max_op_vls.min(5)).unwrap_or(DataVls::EIGHT)
}

/// Everything that is the same for all ports of one topology.
///
/// Borrowed for one topology; nothing of it is kept.
struct View<'a> {
    subnet: &'a Subnet,
    options: &'a OpenSmOptions,
    /// The limit of `max_op_vls`.
    most_vls: DataVls,
    /// Places of switches, asked for at every cable.
    switch_ix: HashMap<NodeIx, SwitchIx>,
    /// By [`PortClass`], in the order of its variants.
    sl2vl: [SlToVl; 4],
}

// Tables of options are parsed once here, not for each port.
impl<'a> View<'a> {
    fn new(subnet: &'a Subnet, options: &'a OpenSmOptions) -> Self {
        let sl2vl = |class| options.qos_tables(class).sl2vl;
        Self {
            subnet,
            options,
            most_vls: most_vls(options),
            switch_ix: subnet
                .switches
                .iter()
                .copied()
                .zip((0..).map(SwitchIx))
                .collect(),
            sl2vl: [
                sl2vl(PortClass::Ca),
                sl2vl(PortClass::SwitchPort0),
                sl2vl(PortClass::SwitchExternal),
                sl2vl(PortClass::Router),
            ],
        }
    }

    /// In the subnet's own order, so that indices agree.
    fn topology(&self) -> Topology {
        Topology {
            switches: self
                .subnet
                .switches
                .iter()
                .map(|node| self.switch(*node))
                .collect(),
            end_ports: self
                .subnet
                .end_ports
                .iter()
                .map(|port| self.end_port(port))
                .collect(),
        }
    }

    /// A switch with all its ports, uncabled ones included: their numbers are indices.
    fn switch(&self, node: NodeIx) -> routing::Switch {
        let facts = self.subnet.fabric.node(node);
        let port = |port| self.switch_port(PortRef { node, port });
        routing::Switch {
            guid: facts.guid,
            description: facts.description.clone(),
            port0: self
                .end_port_ix(PortRef { node, port: 0 })
                // Every reached switch has its port 0 among the end ports.
                .unwrap_or(EndPortIx(0)),
            ports: (0..=facts.port_count()).map(port).collect(),
        }
    }

    /// A port of a switch, cabled or not.
    fn switch_port(&self, at: PortRef) -> routing::SwitchPort {
        let operational_vls = self.subnet.operational_vls(at, self.options);
        routing::SwitchPort {
            peer: self.peer(at),
            capacity: self.subnet.fabric.capacity(at),
            data_vls: self.subnet.fabric.vl_cap(at).min(self.most_vls),
            operational_vls,
            configured_sl2vl: self.configured_sl2vl(at, operational_vls),
        }
    }

    /// What the cable of a switch port leads to. A port that the SM does not reach is nothing, as
    /// for OpenSM.
    fn peer(&self, at: PortRef) -> Peer {
        let Some(peer) = self.subnet.fabric.port(at).peer else {
            return Peer::Nothing;
        };
        match self.switch_ix.get(&peer.node) {
            Some(switch) => Peer::Switch {
                switch: *switch,
                port: peer.port,
            },
            None => self.end_port_ix(peer).map_or(Peer::Nothing, Peer::EndPort),
        }
    }

    /// An end port, with the switch port that it hangs on.
    fn end_port(&self, port: &EndPort) -> routing::EndPort {
        let fabric = &self.subnet.fabric;
        let node = fabric.node(port.at.node);
        let operational_vls = self.subnet.operational_vls(port.at, self.options);
        routing::EndPort {
            guid: port.guid,
            node_guid: node.guid,
            node_type: node.kind,
            description: node.description.clone(),
            port_number: port.at.port,
            lid: port.lid,
            lmc: port.lmc,
            attached: self.attached(port.at),
            peer: self.end_port_peer(port.at),
            capacity: fabric.capacity(port.at),
            data_vls: fabric.vl_cap(port.at).min(self.most_vls),
            operational_vls,
            configured_sl2vl: self.configured_sl2vl(port.at, operational_vls),
        }
    }

    /// The switch port that an end port is plugged into; a switch's port 0: itself.
    fn attached(&self, at: PortRef) -> Option<(SwitchIx, u8)> {
        let place = if self.subnet.fabric.is_port0(at) {
            at
        } else {
            self.subnet.fabric.port(at).peer?
        };
        self.switch_ix
            .get(&place.node)
            .map(|switch| (*switch, place.port))
    }

    /// The CA or router port that the cable of another one leads to. A port with a loopback plug has none.
    fn end_port_peer(&self, at: PortRef) -> Option<EndPortIx> {
        let peer = self.subnet.fabric.port(at).peer?;
        let is_switch = |at: PortRef| self.switch_ix.contains_key(&at.node);
        self.end_port_ix(peer)
            .filter(|_| at != peer && !is_switch(at) && !is_switch(peer))
    }

    /// What OpenSM programs from the options; torus-2QoS makes tables of its own afterwards.
    fn configured_sl2vl(&self, at: PortRef, operational: DataVls) -> SlToVl {
        let is_base_port0 =
            self.subnet.fabric.is_port0(at) && !self.subnet.fabric.node(at.node).enhanced_port0;
        // With QoS off OpenSM touches no SL2VL table.
        if !self.options.qos || is_base_port0 {
            return AT_POWER_UP;
        }
        let [ca, port0, external, router] = self.sl2vl;
        let table = match self.subnet.port_class(at) {
            PortClass::Ca => ca,
            PortClass::SwitchPort0 => port0,
            PortClass::SwitchExternal => external,
            PortClass::Router => router,
        };
        fit_sl2vl(table, operational)
    }

    /// None for ports that the SM does not reach.
    fn end_port_ix(&self, at: PortRef) -> Option<EndPortIx> {
        let index = self.subnet.by_port.get(&at)?;
        u32::try_from(*index).ok().map(EndPortIx)
    }
}
