//! Groups whose tree changes.
//!
//! ```text
//!  old tree   A ── B            new tree   A    B            switches lose old ports first, then they get their new ones
//!                  │                       └─ C ┘
//!                  D
//!  a packet that the old tree has brought to A waits for C once A has that port: a turn that neither tree has
//! ```

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::tables::{MulticastRoute, PortSet};
use crate::topology::{SwitchIx, Topology};

/// A tree of before, and the one that takes its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedTree {
    /// With the SL that its packets have.
    pub old: MulticastRoute,
    /// By switch, as in a [`MulticastRoute`].
    pub new: Vec<(SwitchIx, PortSet)>,
}

impl ChangedTree {
    /// Some switch loses a port, and some gets one: else one tree is part of the other, and has no turn that the other has not.
    pub fn is_mixed(&self) -> bool {
        let is_part = |one: &[(SwitchIx, PortSet)], other: &[(SwitchIx, PortSet)]| {
            let other: BTreeMap<SwitchIx, PortSet> = other.iter().copied().collect();
            one.iter().all(|(switch, ports)| {
                let far = other.get(switch).copied().unwrap_or_default();
                ports.iter().all(|port| far.contains(port))
            })
        };
        !is_part(&self.old.switches, &self.new) && !is_part(&self.new, &self.old.switches)
    }

    /// How many switches a packet of the old tree passes at most. More than that where its ports make no tree.
    pub fn passes(&self, topology: &Topology) -> usize {
        let ports: BTreeMap<SwitchIx, PortSet> = self.old.switches.iter().copied().collect();
        if !self.old.follow(topology, &[], 0).cycle.is_empty() {
            return ports.len();
        }
        let mut open: BTreeSet<SwitchIx> = ports.keys().copied().collect();
        let mut most = 0;
        while let Some(first) = open.first().copied() {
            let (end, _) = farthest(topology, &ports, first, &mut open);
            // In a tree the longest way begins at who is farthest from anybody.
            let (_, passed) = farthest(topology, &ports, end, &mut BTreeSet::new());
            most = most.max(passed);
        }
        most
    }
}

/// The switch that is farthest by the tree, and how many are passed on the way, both ends among them. Takes those that are reached out of `open`.
fn farthest(
    topology: &Topology,
    ports: &BTreeMap<SwitchIx, PortSet>,
    from: SwitchIx,
    open: &mut BTreeSet<SwitchIx>,
) -> (SwitchIx, usize) {
    let mut passed = BTreeMap::from([(from, 1)]);
    let mut queue = VecDeque::from([from]);
    let mut last = (from, 1);
    while let Some(switch) = queue.pop_front() {
        open.remove(&switch);
        let here = passed.get(&switch).copied().unwrap_or(1);
        last = (switch, here);
        let set = ports.get(&switch).copied().unwrap_or_default();
        for (_, far, _) in topology
            .cables(switch)
            .filter(|(port, ..)| set.contains(*port))
        {
            if ports.contains_key(&far) && !passed.contains_key(&far) {
                passed.insert(far, here + 1);
                queue.push_back(far);
            }
        }
    }
    last
}
