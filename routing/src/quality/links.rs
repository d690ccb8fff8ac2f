//! Cables between switches as flat numbers, one for each direction.
//!
//! The number of a link is that of the port which it leaves: ports of all switches one after the
//! other. Ports of hosts and empty ones have a number too, which nothing counts under.

use crate::topology::{SwitchIx, Topology, count32};

/// A cable between switches in one direction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Link {
    /// Below [`Links::numbers`].
    pub(crate) number: u32,
    /// The switch that it leads to.
    pub(crate) far: SwitchIx,
}

/// Where the ports of all switches lead.
/// 4 bytes for each port: 0.9 MB for 3,920 switches of 56 ports.
pub(crate) struct Links {
    /// By switch: the number of its port 0; one more entry at the end.
    first: Vec<u32>,
    /// By number: the far switch, or `NO_SWITCH`.
    far: Vec<u32>,
    /// Links between switches.
    count: usize,
}

/// An index that no switch has.
const NO_SWITCH: u32 = u32::MAX;

impl Links {
    pub(crate) fn new(topology: &Topology) -> Self {
        let (mut first, mut far) = (vec![0], Vec::new());
        let mut count = 0;
        for switch in topology.switch_ixs() {
            let port0 = far.len();
            far.resize(port0 + topology.switch(switch).ports.len(), NO_SWITCH);
            for (port, to, _) in topology.cables(switch) {
                far[port0 + usize::from(port)] = to.0;
                count += 1;
            }
            first.push(count32(far.len()));
        }
        Self { first, far, count }
    }

    /// How many numbers there are, those of ports without a link included.
    pub(crate) fn numbers(&self) -> usize {
        self.far.len()
    }

    /// How many links there are: two for each cable between switches.
    pub(crate) const fn count(&self) -> usize {
        self.count
    }

    /// The link by which an entry of a switch's table sends; none for hosts, port 0, and ports
    /// that do not exist.
    #[inline]
    pub(crate) fn behind(&self, switch: SwitchIx, entry: u8) -> Option<Link> {
        let number = self.first[switch.index()] + u32::from(entry);
        // An entry beyond the last port would be taken for a port of the next switch.
        if number >= self.first[switch.index() + 1] {
            return None;
        }
        let far = SwitchIx(self.far[number as usize]);
        (far.0 != NO_SWITCH).then_some(Link { number, far })
    }
}
