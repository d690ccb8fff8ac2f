//! What routing needs to know about a fabric.

use sa_snapshot::model::Capacity;
use sa_wire::{DataVls, Guid, Lid, Lmc, NodeType, SlToVl};

/// Index into [`Topology::switches`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SwitchIx(pub u32);

/// Index into [`Topology::end_ports`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndPortIx(pub u32);

/// A fabric as routing sees it: switches, end ports, cables. LIDs are assigned.
///
/// Made by the control plane, which guarantees: cables are symmetric (if port p of A names port q
/// of B, port q of B names port p of A), indices are in range, LID ranges do not overlap.
#[derive(Debug, Clone, Default)]
pub struct Topology {
    /// Switches, in the order of [`Guid::map_order`].
    pub switches: Vec<Switch>,
    /// CA ports, router ports and the port 0 of every switch, in the order of the port GUIDs'
    /// [`Guid::map_order`].
    pub end_ports: Vec<EndPort>,
}

/// A switch.
#[derive(Debug, Clone)]
pub struct Switch {
    /// Node GUID.
    pub guid: Guid,
    /// NodeDescription.
    pub description: String,
    /// Its port 0.
    pub port0: EndPortIx,
    /// Shape: index = port number, 0 to the number of ports; index 0 has no cable.
    pub ports: Vec<SwitchPort>,
}

/// A port of a switch.
#[derive(Debug, Clone)]
pub struct SwitchPort {
    /// What its cable leads to.
    pub peer: Peer,
    /// MTU capability and rate.
    pub capacity: Capacity,
    /// Data VLs it can operate (from VLCap and the option max_op_vls).
    pub data_vls: DataVls,
    /// Data VLs in operation: the lesser of the two ends of the cable.
    pub operational_vls: DataVls,
    /// Table that the options ask for when the engine makes none; all input ports alike.
    pub configured_sl2vl: SlToVl,
}

/// The far end of a cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// No cable.
    Nothing,
    /// Another switch (or the same one).
    Switch {
        /// Which.
        switch: SwitchIx,
        /// Its port number.
        port: u8,
    },
    /// A CA or router port.
    EndPort(EndPortIx),
}

/// Something that has LIDs.
#[derive(Debug, Clone)]
pub struct EndPort {
    /// Port GUID; for a switch the node GUID.
    pub guid: Guid,
    /// Node GUID.
    pub node_guid: Guid,
    /// What the node is.
    pub node_type: NodeType,
    /// NodeDescription.
    pub description: String,
    /// Port number on its node; 0 for a switch.
    pub port_number: u8,
    /// First LID.
    pub lid: Lid,
    /// It owns 2^lmc LIDs.
    pub lmc: Lmc,
    /// The switch and port it is plugged into; for a switch: itself and port 0; none for a CA or
    /// router port whose cable does not lead to a switch.
    pub attached: Option<(SwitchIx, u8)>,
    /// MTU capability and rate of the port itself.
    pub capacity: Capacity,
    /// Data VLs it can operate.
    pub data_vls: DataVls,
    /// Data VLs in operation.
    pub operational_vls: DataVls,
    /// Table that the options ask for when the engine makes none.
    pub configured_sl2vl: SlToVl,
}

impl EndPort {
    /// Every LID it owns, ascending.
    pub fn lids(&self) -> impl Iterator<Item = u16> + use<> {
        let first = self.lid.get();
        first..first + self.lmc.lids()
    }
}

impl Topology {
    /// The largest LID in use; 0 in an empty fabric.
    pub fn max_lid(&self) -> u16 {
        self.end_ports
            .iter()
            .filter_map(|port| port.lids().last())
            .max()
            .unwrap_or(0)
    }

    /// The switch behind an index.
    #[expect(clippy::indexing_slicing, reason = "indices are the topology's own")]
    pub fn switch(&self, ix: SwitchIx) -> &Switch {
        &self.switches[ix.0 as usize]
    }

    /// The end port behind an index.
    #[expect(clippy::indexing_slicing, reason = "indices are the topology's own")]
    pub fn end_port(&self, ix: EndPortIx) -> &EndPort {
        &self.end_ports[ix.0 as usize]
    }
}
