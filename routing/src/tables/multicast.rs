//! Multicast: where the packets of a group go, and the tree of which groups use parts.
//!
//! A switch holds a set of ports for each MLID and copies a packet to all of them but the one it
//! came in by. So a group's ports have to form a tree: with one port too many, copies run round for
//! ever. Engines of a torus make one spanning tree ([`MulticastTree`]); a group gets the part of it that its
//! members hang on ([`MulticastTable`]). With any other engine each group has a tree of its own, by shortest
//! paths ([`GroupTrees`]), or, where these close a credit loop with unicast, a part of one that does not ([`SpanningTree`]).
//!
//! Proofs ask for less than that: [`MulticastRoute`] is a group's ports and SL, as they may also
//! come from a dump of OpenSM's, where nothing says that they form a tree.

mod groups;
mod shortest;
pub(crate) mod spanning;
mod tree;

use sa_wire::{Mlid, Sl};

pub use self::groups::GroupTrees;
pub use self::spanning::SpanningTree;
pub use self::tree::{Branch, MulticastTree};
use crate::bits::Bits;
use crate::topology::{EndPortIx, SwitchIx};

/// A set of ports of one switch.
/// 32 bytes, copied, never on the heap: one a switch for each group under way (ADR 20 says why it
/// is no crate's bit set).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct PortSet([u64; 4]);

impl PortSet {
    /// Adds a port; nothing changes when it is in the set.
    // Word by the upper two bits of the port, bit by the lower six.
    pub const fn insert(&mut self, port: u8) {
        self.0[(port >> 6) as usize] |= 1 << (port & 63);
    }

    /// Takes a port away; nothing changes when it is not in the set.
    pub(crate) const fn remove(&mut self, port: u8) {
        self.0[(port >> 6) as usize] &= !(1 << (port & 63));
    }

    /// True when the port is in the set.
    pub const fn contains(&self, port: u8) -> bool {
        self.0[(port >> 6) as usize] >> (port & 63) & 1 == 1
    }

    /// True without any port.
    pub fn is_empty(&self) -> bool {
        self.0 == [0; 4]
    }

    /// Ports, ascending.
    /// As many steps as there are ports: a proof of many trees goes over them for each packet.
    pub fn iter(&self) -> impl Iterator<Item = u8> + use<> {
        let words = (0_u32..).step_by(64).zip(self.0);
        let ports = words.flat_map(|(first, word)| Bits(word).map(move |bit| first + bit));
        // Below 256 as there are four words.
        ports.map(|port| u8::try_from(port).unwrap_or(u8::MAX))
    }
}

impl FromIterator<u8> for PortSet {
    fn from_iter<I: IntoIterator<Item = u8>>(ports: I) -> Self {
        let mut set = Self::default();
        ports.into_iter().for_each(|port| set.insert(port));
        set
    }
}

/// Where the packets of one MLID go.
/// Groups that share an MLID share it, with the members of all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MulticastTable {
    /// The MLID that the packets are sent to.
    pub mlid: Mlid,
    /// Ports to which each switch forwards, all but the one a packet came in by. Switches without
    /// ports are left out. In the order of switch indices.
    pub switches: Vec<(SwitchIx, PortSet)>,
    /// Members that get nothing, since the tree does not reach them.
    /// In the order in which members were given.
    pub left_out: Vec<EndPortIx>,
}

/// Where the packets of one MLID go, and on which SL.
/// The proof needs the SL because it decides, with SL2VL, which channels the packets use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MulticastRoute {
    /// The SL that the group record gives its packets.
    /// On a torus 0 or 8 keeps groups off the VLs of paths that cross datelines.
    pub sl: Sl,
    /// Ports to which each switch forwards, all but the one a packet came in by.
    pub switches: Vec<(SwitchIx, PortSet)>,
}
