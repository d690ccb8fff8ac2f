//! What routing needs to know about a fabric.
//!
//! A [`Topology`] is a fabric reduced to what routes depend on: switches with their ports, ports
//! that have LIDs, and cables. Everything is addressed by small indices, so that an engine works on
//! flat arrays:
//!
//! ```text
//! switches[s].ports[p].peer ──┬─ Switch { switch, port }  a cable between switches
//!                             ├─ EndPort(e)               a CA or router port
//!                             └─ Nothing
//! switches[s].port0  ──> end_ports[e]   the switch itself, as something with LIDs
//! end_ports[e].attached ──> (s, p)      the way back; p is 0 for a switch
//! end_ports[e].peer ──> e               a CA or router port at the other end, and no switch between
//! ```
//!
//! Indices are of one topology only. A switch that comes back after a failure may have another
//! index, so whatever compares two fabrics goes by GUID. The order of both lists is that in which
//! OpenSM visits its maps ([`Guid::map_order`]), because the order shows in dumps and in which of
//! several equal findings is told first.
//!
//! Parsing and judging files is for sa-fabric. Nothing here is checked again: a topology that
//! breaks the promises of [`Topology`] makes routes that mean nothing.

use sa_snapshot::model::Capacity;
use sa_wire::{DataVls, Guid, Lid, Lmc, NodeType, SlToVl};

/// Index into [`Topology::switches`].
/// 32 bits and not 16, although a fabric has fewer switches than LIDs: products such as switch
/// times port are made of it without a cast.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SwitchIx(pub u32);

impl SwitchIx {
    /// As an index of slices.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Index into [`Topology::end_ports`].
/// Says nothing about LIDs: with LMC 2 an end port has one index and four LIDs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndPortIx(pub u32);

impl EndPortIx {
    /// As an index of slices.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A fabric as routing sees it: switches, end ports, cables. LIDs are assigned.
///
/// Made by the control plane, which guarantees: cables are symmetric (if port p of A names port q
/// of B, port q of B names port p of A), indices are in range, LID ranges do not overlap.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Topology {
    /// Switches, in the order of [`Guid::map_order`].
    pub switches: Vec<Switch>,
    /// CA ports, router ports and the port 0 of every switch, in the order of the port GUIDs'
    /// [`Guid::map_order`].
    pub end_ports: Vec<EndPort>,
}

/// A switch with its ports, as far as routes depend on it.
/// Made once per topology. LFT capacity, multicast capability and the like are left out: engines
/// assume that a switch holds what they make, and the records of the fabric come from elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switch {
    /// Node GUID.
    pub guid: Guid,
    /// NodeDescription.
    pub description: String,
    /// Its management port, which is an end port with LIDs of its own.
    pub port0: EndPortIx,
    /// Shape: index = port number, 0 to the number of ports; index 0 has no cable.
    /// At most 255 entries, since a port number of 255 means "no path" in a forwarding table.
    pub ports: Vec<SwitchPort>,
}

/// A port of a switch.
/// Ports that are down are there too, with [`Peer::Nothing`]: port numbers must stay what the
/// device says, and `port_order` of torus-2QoS counts them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchPort {
    /// What its cable leads to.
    pub peer: Peer,
    /// MTU capability and rate.
    /// The port's own; what a link can do is the lesser of both its ends, which paths work out.
    pub capacity: Capacity,
    /// Data VLs it can operate (from VLCap and the option max_op_vls).
    /// torus-2QoS asks the smallest of all for how many SL bits it may turn into VLs.
    pub data_vls: DataVls,
    /// Data VLs in operation: the lesser of the two ends of the cable.
    /// SL2VL tables are cut to it, as OpenSM cuts them before it sends them.
    pub operational_vls: DataVls,
    /// Table that the options ask for when the engine makes none; all input ports alike.
    pub configured_sl2vl: SlToVl,
}

/// The far end of a cable.
/// Both ends must name each other. A cable whose far end is no switch and no known end port counts
/// as none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// No cable.
    Nothing,
    /// Another switch (or the same one).
    /// Several ports of one switch may name the same far switch: parallel cables, a *bundle*.
    Switch {
        /// Index of that switch.
        switch: SwitchIx,
        /// Its port number.
        port: u8,
    },
    /// A CA or router port.
    EndPort(EndPortIx),
}

/// Something that has LIDs.
/// CA ports, router ports, and port 0 of every switch. Each port of a CA with several is one of its
/// own, with LIDs and attachment of its own; only `node_guid` tells that they belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// The first of its LIDs.
    /// A multiple of 2^lmc where a real SM assigned it; nothing here relies on that.
    pub lid: Lid,
    /// It owns 2^lmc LIDs.
    pub lmc: Lmc,
    /// The switch and port it is plugged into; for a switch: itself and port 0; none for a CA or
    /// router port whose cable does not lead to a switch.
    pub attached: Option<(SwitchIx, u8)>,
    /// The CA or router port at the other end of its cable; none where `attached` is some, and where the cable leads nowhere.
    /// Both name each other. An SM finds such a pair only where one of the two is its own port, and then nothing else.
    pub peer: Option<EndPortIx>,
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
    /// Never empty, as an LMC of 0 is one LID. Cannot run over 16 bits: unicast LIDs end at 0xbfff.
    pub fn lids(&self) -> impl Iterator<Item = Lid> + use<> {
        let first = self.lid.get();
        (first..first + self.lmc.lids()).filter_map(|lid| Lid::new(lid).ok())
    }
}

impl Topology {
    /// The largest LID in use, 0 in an empty fabric: raw, as the last place of tables by LID.
    /// Decides how long every forwarding table is, hence one stray high LID makes all of them
    /// longer. Cost: O(end ports).
    pub fn max_lid(&self) -> u16 {
        let last = self.end_ports.iter().filter_map(|port| port.lids().last());
        Lid::raw(last.max())
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

    /// Indices of all switches.
    pub fn switch_ixs(&self) -> impl Iterator<Item = SwitchIx> + use<> {
        (0..count32(self.switches.len())).map(SwitchIx)
    }

    /// Indices of all end ports.
    pub fn end_port_ixs(&self) -> impl Iterator<Item = EndPortIx> + use<> {
        (0..count32(self.end_ports.len())).map(EndPortIx)
    }

    /// What the cable in a port of a switch leads to; nothing for a port that does not exist.
    /// Tables from elsewhere name ports that are not there, and whoever follows one must not fall
    /// over that.
    pub fn peer(&self, switch: SwitchIx, port: u8) -> Peer {
        let port = self.switch(switch).ports.get(usize::from(port));
        port.map_or(Peer::Nothing, |port| port.peer)
    }

    /// The cables between switches that leave a switch, by ascending port: port, far switch and
    /// its port. A cable that comes back to the same port is left out.
    /// What discovery, engines and proofs iterate over, so its order is part of results: which of
    /// two equally good cables is taken follows it. A cable from one port of a switch to another
    /// port of the same switch is told twice, once from each end.
    pub fn cables(&self, switch: SwitchIx) -> impl Iterator<Item = (u8, SwitchIx, u8)> + '_ {
        let ports = (0..=u8::MAX).zip(&self.switch(switch).ports);
        ports.filter_map(move |(number, port)| match port.peer {
            Peer::Switch { switch: far, port } if (far, port) != (switch, number) => {
                Some((number, far, port))
            }
            _ => None,
        })
    }

    /// True where a cable joins the two, and no switch lies between.
    pub(crate) fn are_cabled(&self, one: EndPortIx, other: EndPortIx) -> bool {
        self.end_port(one).peer == Some(other)
    }

    /// CA and router ports plugged into a switch, by ascending port of the switch.
    /// Not port 0, which is local to the switch but plugged into nothing.
    pub fn hosts(&self, switch: SwitchIx) -> impl Iterator<Item = (u8, EndPortIx)> + '_ {
        let ports = (0..=u8::MAX).zip(&self.switch(switch).ports);
        ports.filter_map(|(number, port)| match port.peer {
            Peer::EndPort(end) => Some((number, end)),
            _ => None,
        })
    }
}

/// Who owns which LID.
/// One lookup instead of a search through all end ports; 4 bytes per LID, so 32 KiB for a fabric of
/// 16x16x16. LIDs of an LMC range lead to the same end port.
#[derive(Debug, Clone)]
pub struct LidMap {
    /// By LID: index of the end port, or `NOBODY`.
    /// Shape: 0 to the largest LID in use.
    owners: Vec<u32>,
}

/// An index that no end port has: there are fewer than 65,536.
const NOBODY: u32 = u32::MAX;

impl LidMap {
    /// Of all end ports.
    pub fn new(topology: &Topology) -> Self {
        let mut owners = vec![NOBODY; usize::from(topology.max_lid()) + 1];
        for ix in topology.end_port_ixs() {
            for lid in topology.end_port(ix).lids() {
                if let Some(owner) = owners.get_mut(lid.index()) {
                    *owner = ix.0;
                }
            }
        }
        Self { owners }
    }

    /// The end port that owns a LID.
    /// None for LIDs between those in use, and beyond the largest.
    pub fn owner(&self, lid: Lid) -> Option<EndPortIx> {
        self.at(lid.get())
    }

    /// The same by a place in a table, whether or not that is a LID.
    pub(crate) fn at(&self, place: u16) -> Option<EndPortIx> {
        let owner = self
            .owners
            .get(usize::from(place))
            .filter(|owner| **owner != NOBODY);
        owner.map(|owner| EndPortIx(*owner))
    }

    /// The largest LID in use, 0 in an empty fabric: raw, as the last place of tables by LID.
    pub fn max_lid(&self) -> u16 {
        u16::try_from(self.owners.len().saturating_sub(1)).unwrap_or(u16::MAX)
    }
}

/// Numbers all ports of all switches, port 0 included, switch after switch.
/// So that what is kept per port lies in one array: a switch of 36 ports takes 37 numbers.
#[derive(Debug, Clone)]
pub(crate) struct PortNumbers {
    /// By switch: the number of its port 0; one more entry at the end.
    first: Vec<u32>,
}

impl PortNumbers {
    pub(crate) fn new(topology: &Topology) -> Self {
        let mut next = 0;
        let mut first = vec![0];
        for switch in &topology.switches {
            next += count32(switch.ports.len());
            first.push(next);
        }
        Self { first }
    }

    /// How many ports there are.
    pub(crate) fn total(&self) -> usize {
        self.first.last().map_or(0, |total| *total as usize)
    }

    /// The number of a port that exists.
    /// A port beyond the switch's last would get the number of another switch's port, so callers
    /// take ports from the topology and not from tables.
    pub(crate) fn number(&self, switch: SwitchIx, port: u8) -> usize {
        self.first[switch.0 as usize] as usize + usize::from(port)
    }
}

/// A count that an index type holds; fabrics are far smaller.
/// Saturates instead of failing: a fabric of 2^32 switches cannot be, and a wrong index is caught
/// where it is used.
pub(crate) fn count32(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
