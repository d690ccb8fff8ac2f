//! Cables between switches in flat arrays: parallel ones together, both directions known.
//!
//! A *bundle* is all cables from one switch to another, in one direction. A cable of a bundle has a
//! number by which its LIDs are counted: its place in the list of all ports.
//!
//! ```text
//! switch 0:  bundle 0 to switch 4, ports 5 6     numbers 0 1
//!            bundle 1 to switch 5, ports 7 8     numbers 2 3
//! switch 4:  bundle 9 to switch 0, ports 1 2     numbers ..       bundle 9 is the back of bundle 0
//! ```

use std::ops::Range;

use crate::topology::{SwitchIx, Topology, count32};

/// All bundles of a fabric. 16 bytes each, 3.5 MB for the 3,920 switches of a tree of 43,904 hosts.
pub(super) struct Cabling {
    /// By switch: its first bundle; one more entry at the end.
    first: Vec<u32>,
    /// By switch, then by far switch.
    bundles: Vec<Bundle>,
    /// By number of the cable: the port that it leaves.
    ports: Vec<u8>,
    /// By switch: CA and router ports plugged into it.
    hosts: Vec<u32>,
}

/// All cables from one switch to another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bundle {
    /// Where it leads.
    pub(super) far: u32,
    /// The number of its first cable.
    pub(super) cable: u32,
    /// How many cables it has.
    pub(super) width: u32,
    /// The bundle that leads back.
    pub(super) back: u32,
}

// Flat arrays and no map: a bundle is looked at once for every destination.
impl Cabling {
    /// Cables of a switch to itself are left out: no path uses one.
    pub(super) fn new(topology: &Topology) -> Self {
        let mut all = Self {
            first: vec![0],
            bundles: Vec::new(),
            ports: Vec::new(),
            hosts: Vec::new(),
        };
        for switch in topology.switch_ixs() {
            all.add(topology, switch);
        }
        all.pair();
        all
    }

    /// Adds the bundles of the next switch.
    fn add(&mut self, topology: &Topology, switch: SwitchIx) {
        let cables = topology.cables(switch).filter(|cable| cable.1 != switch);
        // By far switch, so that parallel cables lie together and become one bundle.
        let mut cables: Vec<_> = cables.map(|(port, far, _)| (far.0, port)).collect();
        cables.sort_unstable();
        let begin = self.bundles.len();
        for (far, port) in cables {
            match self.bundles.get_mut(begin..).and_then(<[_]>::last_mut) {
                Some(last) if last.far == far => last.width += 1,
                _ => self.bundles.push(Bundle {
                    far,
                    cable: count32(self.ports.len()),
                    width: 1,
                    // Not known before the far switch has been added: `pair` fills it in.
                    back: 0,
                }),
            }
            self.ports.push(port);
        }
        self.first.push(count32(self.bundles.len()));
        self.hosts.push(count32(topology.hosts(switch).count()));
    }

    /// Finds the way back of every bundle. There is one, as cables name each other.
    fn pair(&mut self) {
        for switch in 0..count32(self.switches()) {
            for bundle in self.of(switch) {
                let far = self.bundles[bundle].far;
                let theirs = &self.bundles[self.of(far)];
                // Sorted by far switch: the one that leads here is found by halving.
                let back = theirs.partition_point(|back| back.far < switch);
                self.bundles[bundle].back = self.first[far as usize] + count32(back);
            }
        }
    }

    /// How many switches there are.
    pub(super) const fn switches(&self) -> usize {
        self.hosts.len()
    }

    /// How many numbers of cables there are.
    pub(super) const fn cables(&self) -> usize {
        self.ports.len()
    }

    /// Numbers of the bundles that leave a switch, by far switch.
    pub(super) fn of(&self, switch: u32) -> Range<usize> {
        let switch = switch as usize;
        self.first[switch] as usize..self.first[switch + 1] as usize
    }

    /// The bundles that leave a switch.
    pub(super) fn leaving(&self, switch: u32) -> &[Bundle] {
        &self.bundles[self.of(switch)]
    }

    /// A bundle by its number.
    pub(super) fn bundle(&self, number: u32) -> Bundle {
        self.bundles[number as usize]
    }

    /// The port that a cable leaves.
    pub(super) fn port(&self, cable: u32) -> u8 {
        self.ports[cable as usize]
    }

    /// CA and router ports on a switch.
    pub(super) fn hosts(&self, switch: u32) -> u32 {
        self.hosts[switch as usize]
    }
}
