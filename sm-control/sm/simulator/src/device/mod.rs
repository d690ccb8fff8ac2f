//! A node: what it tells of itself, and what an SM has written into it.

pub(crate) mod cables;
mod port;
mod switch;

use sa_fabric::{Fabric, Node, NodeIx, PortRef};
use sa_wire::records::{NodeRecord, PortInfoRecord, SwitchInfoRecord};
use sa_wire::{Guid, NodeType};

pub(crate) use self::port::{LINK_UP, Port, PortState};
pub(crate) use self::switch::Switch;

/// A CA, router or switch.
#[derive(Debug, Clone)]
pub(crate) struct Device {
    /// NodeGUID.
    pub(crate) guid: Guid,
    /// NodeType.
    pub(crate) kind: NodeType,
    /// NodeInfo as every port tells it; port GUID and number are the port's.
    pub(crate) node_info: NodeRecord,
    /// Shape: index = port number. Of CAs and routers 0 is not used.
    pub(crate) ports: Vec<Port>,
    /// What only switches have.
    pub(crate) switch: Option<Switch>,
    /// As at power-on, ports and switch. Cables are not of it.
    power_on: (Vec<Port>, Option<Switch>),
}

impl Device {
    /// The nodes of a fabric, in its order.
    pub(crate) fn all(fabric: &Fabric) -> Vec<Self> {
        let nodes = (0..).map(NodeIx).zip(fabric.nodes());
        nodes
            .map(|(ix, node)| Self::new(fabric, ix, node))
            .collect()
    }

    /// At power-on, with the cables of the fabric.
    fn new(fabric: &Fabric, ix: NodeIx, node: &Node) -> Self {
        let port_at = |port| Port::new(fabric, node, PortRef { node: ix, port });
        let ports: Vec<Port> = (0..=node.port_count()).map(port_at).collect();
        let switch = (node.kind == NodeType::Switch).then(|| Switch::new(node));
        Self {
            guid: node.guid,
            kind: node.kind,
            node_info: node_info(node),
            power_on: (ports.clone(), switch.clone()),
            ports,
            switch,
        }
    }

    /// None for a number that the node does not have.
    pub(crate) fn port(&self, number: u8) -> Option<&Port> {
        self.ports.get(usize::from(number))
    }

    /// Like [`Self::port`].
    pub(crate) fn port_mut(&mut self, number: u8) -> Option<&mut Port> {
        self.ports.get_mut(usize::from(number))
    }

    /// Which port holds key and LID where an SMP came in at this one: of a switch port 0.
    pub(crate) fn end_port(&self, entered: u8) -> u8 {
        if self.switch.is_some() { 0 } else { entered }
    }

    /// Entries of the P_Key table of a port.
    pub(crate) fn partition_cap(&self, port: u8) -> u16 {
        match &self.switch {
            Some(switch) if port != 0 => switch.info.enforcement_cap.get(),
            _ => self.node_info.partition_cap.get(),
        }
    }

    /// This port tells something else from the beginning on.
    pub(crate) fn make_port(&mut self, number: u8, make: &dyn Fn(&mut PortInfoRecord)) {
        let place = usize::from(number);
        let (ports, _) = &mut self.power_on;
        for port in [self.ports.get_mut(place), ports.get_mut(place)] {
            port.into_iter().for_each(|port| make(&mut port.info));
        }
    }

    /// The same of a switch.
    pub(crate) fn make_switch(&mut self, make: &dyn Fn(&mut SwitchInfoRecord)) {
        let (_, switch) = &mut self.power_on;
        for switch in [self.switch.as_mut(), switch.as_mut()] {
            switch.into_iter().for_each(|switch| make(&mut switch.info));
        }
    }

    /// It tells this node GUID from now on, and as that of its ports.
    pub(crate) fn set_guid(&mut self, guid: Guid) {
        self.guid = guid;
        self.node_info.node_guid = guid.get().into();
        self.node_info.port_guid = guid.get().into();
    }

    /// What an SM wrote is gone; cables stay.
    pub(crate) fn reset(&mut self) {
        let peers: Vec<_> = self.ports.iter().map(|port| port.peer).collect();
        (self.ports, self.switch) = self.power_on.clone();
        for (number, (port, peer)) in self.ports.iter_mut().zip(peers).enumerate() {
            // Who pulled a cable before the node went off has pulled it still.
            port.peer = peer;
            if number != 0 && peer.is_none() {
                port.take_down();
            }
        }
    }
}

/// NodeInfo and NodeDescription of a node in a file of a fabric.
fn node_info(node: &Node) -> NodeRecord {
    let mut description = [0; 64];
    for (to, from) in description.iter_mut().zip(node.description.as_bytes()) {
        *to = *from;
    }
    let is_switch = node.kind == NodeType::Switch;
    NodeRecord {
        lid: 0.into(),
        reserved: 0.into(),
        base_version: 1,
        class_version: 1,
        node_type: node.kind as u8,
        num_ports: node.port_count(),
        system_image_guid: node.system_guid.get().into(),
        node_guid: node.guid.get().into(),
        port_guid: node.guid.get().into(),
        // ibsim's, like the revision of devices that tell none.
        partition_cap: if is_switch { 8 } else { 64 }.into(),
        device_id: node.device_id.into(),
        revision: if node.revision == 0 {
            0xa1
        } else {
            node.revision
        }
        .into(),
        port_and_vendor: (node.vendor_id & 0x00ff_ffff).into(),
        description,
        padding: 0.into(),
    }
}
