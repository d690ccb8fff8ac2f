//! A tree for each group, for engines that make no tree of their own.
//!
//! The root is the switch from which the farthest member is nearest, the first one where several are. From there the
//! members are shared out: at each switch, a member goes to the lowest port that is on a shortest way to it.
//!
//! ```text
//!        S0          members on L0, L1, L3      S0: 1, 2, 4
//!     1/ 2| 3\ 4\                               L0, L1, L3: the port to S0, and that of the member
//!    L0  L1  L2  L3
//! ```
//!
//! Why that is a tree: where ways from the root to two members meet again after they parted, both ports at which they
//! parted are on shortest ways to the place where they meet, so on shortest ways to both members, and one of them is the lower.
//! Parallel cables are not shared out: two ports to one switch would be a circle.
//!
//! # What counts as far
//!
//! | member | hops from the root |
//! |---|---|
//! | port 0 of the root | 0 |
//! | a host of the root | 1 |
//! | port 0 of a switch n cables away | n |
//! | a host of that switch | n + 1 |
//! | one that no cable leads to, or on an island without the root | it is left out |
//!
//! # Cost
//!
//! Hops between all pairs of switches are counted once for all groups, 64 switches at a time. A group then costs a look at
//! each pair of a switch and a switch with members, and a walk from the root to each of the latter. With 3,920 switches, of which
//! 1,568 have members, that is 6 million looks.
//!
//! # What it does not do
//!
//! It proves nothing. Packets of a group on these trees may wait for one another, and for unicast, in a circle that no routing
//! engine looked for: `crate::proof` judges them. All groups with one root take part of one tree, so there are no more trees
//! to be judged than switches, whoever joins. It does not spread groups over
//! roots or cables either: two groups with the same members have the same tree.
//!
//! Source: OpenSM `osm_mcast_mgr.c`, whose trees these are wherever its hops are those of shortest paths.

use std::collections::BTreeMap;

use sa_wire::Mlid;

use super::{MulticastTable, PortSet};
use crate::shortest::distances::{Distances, UNREACHABLE};
use crate::topology::{EndPortIx, SwitchIx, Topology};

/// Trees by shortest paths. Made once for all groups that are asked about at the same time.
pub(super) struct ShortestTrees<'a> {
    topology: &'a Topology,
    distances: Distances,
}

/// A switch with members, how far these are from it, and their ports of it.
struct Site {
    switch: SwitchIx,
    /// 0 with port 0 alone, else 1: a host is one hop behind its switch.
    behind: u8,
    ports: PortSet,
}

impl<'a> ShortestTrees<'a> {
    /// Cost: hops between all pairs of switches.
    pub(super) fn new(topology: &'a Topology) -> Self {
        Self {
            topology,
            distances: Distances::measure(topology),
        }
    }

    /// The table of a group. Cost: O(switches x switches with members).
    pub(super) fn table(&self, mlid: Mlid, members: &[EndPortIx]) -> MulticastTable {
        let (sites, mut left_out) = self.sites(members);
        let mut ports = vec![PortSet::default(); self.topology.switches.len()];
        if let Some(root) = self.root(&sites) {
            // Islands: a fabric that is not whole still has groups.
            let is_far = |site: &Site| self.hops(root, site.switch) == UNREACHABLE;
            for site in &sites {
                if let Some(own) = ports.get_mut(site.switch.index()) {
                    *own = site.ports;
                }
            }
            // Afterwards: a way may lead through switches with members.
            for site in &sites {
                self.reach(root, site.switch, &mut ports);
            }
            let far = |member: &EndPortIx| {
                let at = self.topology.end_port(*member).attached;
                sites
                    .iter()
                    .any(|it| is_far(it) && Some(it.switch) == at.map(|at| at.0))
            };
            left_out.extend(members.iter().copied().filter(far));
        }
        let switches = self.topology.switch_ixs().zip(ports);
        MulticastTable {
            mlid,
            switches: switches.filter(|(_, ports)| !ports.is_empty()).collect(),
            left_out,
        }
    }

    /// Members by switch, in the order of switches, and those without one. A switch is looked at once, however many
    /// of its hosts are members.
    fn sites(&self, members: &[EndPortIx]) -> (Vec<Site>, Vec<EndPortIx>) {
        let mut by_switch = BTreeMap::new();
        let mut left_out = Vec::new();
        for member in members {
            let Some((switch, port)) = self.topology.end_port(*member).attached else {
                left_out.push(*member);
                continue;
            };
            let site = by_switch.entry(switch).or_insert_with(|| Site {
                switch,
                behind: 0,
                ports: PortSet::default(),
            });
            site.ports.insert(port);
            // One host is enough: it is farther than the switch itself.
            site.behind |= u8::from(port != 0);
        }
        (by_switch.into_values().collect(), left_out)
    }

    /// From which the farthest member is nearest. None without members. Switches that reach only some members lose to those that
    /// reach all; where none reaches all, members elsewhere are left out.
    fn root(&self, sites: &[Site]) -> Option<SwitchIx> {
        // A member that cannot be reached is farther than any other.
        let farthest = |switch: SwitchIx| {
            let hops = sites.iter().map(|site| {
                let hops = self.hops(switch, site.switch);
                hops.saturating_add(site.behind)
            });
            hops.max()
        };
        let all = self.topology.switch_ixs();
        // The first of several: switches are in the order in which OpenSM goes over them.
        let nearest = all.filter_map(|switch| Some((farthest(switch)?, switch)));
        nearest.min().map(|(_, switch)| switch)
    }

    /// Adds the way from the root to a switch. Nothing where there is none.
    fn reach(&self, root: SwitchIx, to: SwitchIx, all: &mut [PortSet]) {
        ways(self.topology, &self.distances, root, to, |near, far| {
            // Both ends: packets go either way.
            for (switch, port) in [near, far] {
                if let Some(ports) = all.get_mut(switch.index()) {
                    ports.insert(port);
                }
            }
        });
    }

    fn hops(&self, from: SwitchIx, to: SwitchIx) -> u8 {
        hops(&self.distances, from, to)
    }
}

/// [`UNREACHABLE`] for what is not.
fn hops(distances: &Distances, from: SwitchIx, to: SwitchIx) -> u8 {
    let row = distances.from(from);
    row.get(to.index()).copied().unwrap_or(UNREACHABLE)
}

/// Tells the cables from a switch to another, by the lowest port of a shortest way at each step: both ends, the nearer one first.
/// Nothing where there is no way.
///
/// Ways from one switch to many are a tree, for the reason that the module gives.
pub(super) fn ways(
    topology: &Topology,
    distances: &Distances,
    from: SwitchIx,
    to: SwitchIx,
    mut tell: impl FnMut((SwitchIx, u8), (SwitchIx, u8)),
) {
    let mut here = from;
    while here != to {
        let left = hops(distances, here, to);
        if left == UNREACHABLE {
            return;
        }
        let mut cables = topology.cables(here);
        let is_nearer = |far: SwitchIx| hops(distances, far, to).checked_add(1) == Some(left);
        let Some((port, far, back)) = cables.find(|(_, far, _)| is_nearer(*far)) else {
            return;
        };
        tell((here, port), (far, back));
        here = far;
    }
}
