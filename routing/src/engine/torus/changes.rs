//! What changed between two placements of a torus, for the operator.
//! Source: OpenSM `osm_torus.c` (`report_torus_changes`).
//!
//! Places are compared, not switches: who pulls a switch and plugs another in is told that it was replaced,
//! and which cables now lead elsewhere. OpenSM writes the same to its log, so what is listed and where it
//! stops follow OpenSM.
//!
//! ```text
//! lost from the torus: switch "S3_1_0" (0x0000000000200009 at 3,1,0)
//! switch "S2_1_0" (...) port 3 led to switch 0x0000000000200009 port 4, leads to nothing now
//! ```
//!
//! One failed switch is seven such lines on a torus of three dimensions, one for the switch and one
//! at each neighbour. The limit (`max_changes`, 32) keeps a power cut from filling a log.

use std::fmt;

use sa_wire::Guid;

use crate::error::SwitchName;
use crate::placement::Torus;
use crate::placement::{Axis, Coordinate};
use crate::topology::{Peer, SwitchIx, Topology};

/// How a torus differs from the same torus before.
/// Texts are for people; programs match on the variants.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// The configuration says another radix.
    /// Coordinates of all switches may be others then, and so may SLs.
    Radix {
        /// Axis whose rings are longer or shorter.
        axis: Axis,
        /// Switches around each ring before.
        was: u8,
        /// Switches around each ring now.
        is: u8,
    },
    /// A switch in an empty place.
    Appeared(SwitchName),
    /// A place that had this switch is empty.
    Lost(SwitchName),
    /// Another switch in a place.
    /// By GUID: the same switch with a new description is none of these.
    Replaced {
        /// The switch that was in the place.
        was: SwitchName,
        /// The switch that is in the place.
        is: SwitchName,
    },
    /// Another number of ports.
    Ports {
        /// The switch with more or fewer ports.
        switch: SwitchName,
        /// Ports that it had.
        was: usize,
        /// Ports that it has.
        is: usize,
    },
    /// A cable that leads elsewhere.
    Cable {
        /// The switch that the cable leaves.
        switch: SwitchName,
        /// The port of the switch that the cable is plugged into.
        port: u8,
        /// What the cable led to.
        was: FarEnd,
        /// What the cable leads to.
        is: FarEnd,
    },
}

/// What a cable leads to.
/// By GUID, since indices of the two fabrics do not compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FarEnd {
    /// No cable, or no such port.
    Missing,
    /// A switch by node GUID, and its port.
    Switch(Guid, u8),
    /// A CA or router by node GUID, and its port.
    Node(Guid, u8),
}

/// Differences in the order of places, z outermost.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changes {
    /// Those up to the limit, in the order in which they were found.
    pub listed: Vec<Change>,
    /// There may be more: the rest was not looked at.
    /// OpenSM stops at a switch, not at a line: all of that switch's changes are listed.
    pub is_cut: bool,
}

/// Compares two placements, up to the first switch with which there are more than `most`
/// differences (`max_changes` of torus-2QoS.conf).
/// Places that only one of the two shapes has are passed over. Cost: O(ports of all switches).
pub fn changes(before: (&Topology, &Torus), after: (&Topology, &Torus), most: u32) -> Changes {
    let mut found = Changes::default();
    let (was, is) = (before.1.shape(), after.1.shape());
    for axis in Axis::ALL {
        let (was, is) = (was.radix_of(axis), is.radix_of(axis));
        if was != is {
            found.listed.push(Change::Radix { axis, was, is });
        }
    }
    let is_common = |at: &Coordinate| {
        Axis::ALL
            .iter()
            .all(|axis| at.on(*axis) < was.radix_of(*axis))
    };
    for at in is.coordinates().filter(is_common) {
        compare(before, after, at, &mut found.listed);
        // Looked at behind each place, so a list may be longer than the limit by one switch's
        // changes.
        if found.listed.len() as u64 > u64::from(most) {
            found.is_cut = true;
            return found;
        }
    }
    found
}

/// What differs at one place.
/// A replaced switch has its cables compared as well: they may have been plugged in otherwise.
fn compare(
    before: (&Topology, &Torus),
    after: (&Topology, &Torus),
    at: Coordinate,
    found: &mut Vec<Change>,
) {
    let switch = |(_, torus): (&Topology, &Torus)| torus.at(at).map(|placed| placed.switch);
    let name = |(topology, _): (&Topology, &Torus), ix| SwitchName::new(topology, ix, Some(at));
    match (switch(before), switch(after)) {
        (None, None) => {}
        (None, Some(is)) => found.push(Change::Appeared(name(after, is))),
        (Some(was), None) => found.push(Change::Lost(name(before, was))),
        (Some(was), Some(is)) => {
            let (old, new) = (name(before, was), name(after, is));
            if old.guid != new.guid {
                let (was, is) = (old, new.clone());
                found.push(Change::Replaced { was, is });
            }
            compare_ports((before.0, was), (after.0, is), &new, found);
        }
    }
}

/// Cables that lead elsewhere. Both switches may differ: OpenSM compares places, not switches.
fn compare_ports(
    before: (&Topology, SwitchIx),
    after: (&Topology, SwitchIx),
    name: &SwitchName,
    found: &mut Vec<Change>,
) {
    // Without port 0, as the label on the device counts.
    let count = |(topology, ix): (&Topology, SwitchIx)| topology.switch(ix).ports.len() - 1;
    let (was, is) = (count(before), count(after));
    let switch = || name.clone();
    if was != is {
        found.push(Change::Ports {
            switch: switch(),
            was,
            is,
        });
    }
    // Ports that only one of them has are told by the count above.
    for port in (1..=u8::MAX).take(was.min(is)) {
        let (was, is) = (far_end(before, port), far_end(after, port));
        // A cable to another port of the same node is not told.
        if was.node() != is.node() {
            found.push(Change::Cable {
                switch: switch(),
                port,
                was,
                is,
            });
        }
    }
}

/// What a cable leads to, by GUIDs, which mean the same in both fabrics.
fn far_end((topology, ix): (&Topology, SwitchIx), port: u8) -> FarEnd {
    match topology.peer(ix, port) {
        Peer::Nothing => FarEnd::Missing,
        Peer::Switch { switch, port } => FarEnd::Switch(topology.switch(switch).guid, port),
        Peer::EndPort(end) => {
            let end = topology.end_port(end);
            FarEnd::Node(end.node_guid, end.port_number)
        }
    }
}

impl FarEnd {
    /// The node at the far end, whichever its port.
    const fn node(self) -> Option<Guid> {
        match self {
            Self::Missing => None,
            Self::Switch(guid, _) | Self::Node(guid, _) => Some(guid),
        }
    }
}

impl fmt::Display for FarEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("nothing"),
            Self::Switch(guid, port) => write!(f, "switch {guid} port {port}"),
            Self::Node(guid, port) => write!(f, "node {guid} port {port}"),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Radix { axis, was, is } => write!(f, "the {axis} radix was {was}, is {is} now"),
            Self::Appeared(switch) => write!(f, "new in the torus: {switch}"),
            Self::Lost(switch) => write!(f, "lost from the torus: {switch}"),
            Self::Replaced { was, is } => write!(f, "{was} was replaced by {is}"),
            Self::Ports { switch, was, is } => {
                write!(f, "{switch} had {was} ports, has {is} now")
            }
            Self::Cable {
                switch,
                port,
                was,
                is,
            } => write!(f, "{switch} port {port} led to {was}, leads to {is} now"),
        }
    }
}
