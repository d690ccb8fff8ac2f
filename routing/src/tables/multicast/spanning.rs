//! One tree for all groups of a subnet whose engine makes none.
//!
//! Every group takes the part of it between its members, so what is proved of the whole holds for whoever joins. Unlike an
//! engine's tree ([`super::MulticastTree`]) a group's part does not go up further than it has to: a group of one switch stays there.
//!
//! ```text
//!        root              members on B and C: ports of A, B and C alone
//!       /    \             members on B and D: the root, too
//!      A      D
//!    /   \
//!   B     C
//! ```
//!
//! It reaches the switches that it was made for: those with hosts, and those that are members themselves. On a subnet of several
//! parts there is a tree for each.

use sa_wire::{Mlid, Sl, SlVlMask};

use super::shortest::ways;
use super::{MulticastRoute, MulticastTable, PortSet};
use crate::bits::Bits;
use crate::shortest::distances::Distances;
use crate::topology::{EndPortIx, SwitchIx, Topology};

/// A tree over switches, and one more for each part of the fabric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanningTree {
    /// By switch.
    places: Vec<Place>,
}

/// Where a switch is in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Outside,
    Root,
    /// By this port to the switch above, which leads here by `back`.
    Below {
        port: u8,
        above: SwitchIx,
        back: u8,
    },
}

impl SpanningTree {
    /// Without any switch.
    pub(crate) fn empty(topology: &Topology) -> Self {
        Self {
            places: vec![Place::Outside; topology.switches.len()],
        }
    }

    /// Adds a root.
    pub(crate) fn plant(&mut self, root: SwitchIx) {
        self.put(root, Place::Root);
    }

    /// Adds a switch below one that is in the tree, by a cable from `port` of the latter to `far_port`.
    pub(crate) fn hang(
        &mut self,
        (above, port): (SwitchIx, u8),
        (below, far_port): (SwitchIx, u8),
    ) {
        let place = Place::Below {
            port: far_port,
            above,
            back: port,
        };
        self.put(below, place);
    }

    /// Adds the ways from a root to some switches by which a group of everybody on them would go, were that its root.
    pub(crate) fn spread(
        &mut self,
        topology: &Topology,
        distances: &Distances,
        root: SwitchIx,
        to: &[SwitchIx],
    ) {
        self.plant(root);
        for switch in to {
            ways(topology, distances, root, *switch, |near, far| {
                self.hang(near, far);
            });
        }
    }

    /// The tree has a place for the switch.
    pub fn reaches(&self, switch: SwitchIx) -> bool {
        self.place(switch) != Place::Outside
    }

    /// Switches without one above them, ascending.
    pub fn roots(&self) -> impl Iterator<Item = SwitchIx> + '_ {
        let all = (0..).map(SwitchIx).zip(&self.places);
        all.filter(|(_, place)| **place == Place::Root)
            .map(|(switch, _)| switch)
    }

    /// The part of the tree between the members of a group, or of all groups that share an MLID.
    /// Cost: O(switches + members).
    pub fn table(&self, topology: &Topology, mlid: Mlid, members: &[EndPortIx]) -> MulticastTable {
        let mut ports = vec![PortSet::default(); self.places.len()];
        let mut left_out = Vec::new();
        for member in members {
            let attached = topology.end_port(*member).attached;
            match attached.filter(|(switch, _)| self.reaches(*switch)) {
                Some((switch, port)) => {
                    add(&mut ports, switch, port);
                    self.climb(switch, &mut ports);
                }
                None => left_out.push(*member),
            }
        }
        for root in self.roots() {
            lower(topology, root, &mut ports);
        }
        let switches = topology.switch_ixs().zip(ports);
        MulticastTable {
            mlid,
            switches: switches.filter(|(_, ports)| !ports.is_empty()).collect(),
            left_out,
        }
    }

    /// Groups of all these members, one for each SL: any other group is a part of theirs.
    pub(crate) fn whole(
        &self,
        topology: &Topology,
        members: &[EndPortIx],
        sls: SlVlMask,
    ) -> impl Iterator<Item = MulticastRoute> + use<> {
        let switches = self.table(topology, Mlid::MIN, members).switches;
        sls_of(sls).map(move |sl| MulticastRoute {
            sl,
            switches: switches.clone(),
        })
    }

    /// Adds the cables from a switch up to what has them already.
    fn climb(&self, from: SwitchIx, ports: &mut [PortSet]) {
        let mut here = from;
        while let Place::Below { port, above, back } = self.place(here) {
            let is_known = ports.get(above.index()).is_none_or(|it| it.contains(back));
            if is_known {
                return;
            }
            add(ports, here, port);
            add(ports, above, back);
            here = above;
        }
    }

    fn place(&self, switch: SwitchIx) -> Place {
        let place = self.places.get(switch.index());
        place.copied().unwrap_or(Place::Outside)
    }

    fn put(&mut self, switch: SwitchIx, place: Place) {
        if let Some(it) = self.places.get_mut(switch.index()) {
            *it = place;
        }
    }
}

/// SLs of a set, ascending.
pub(crate) fn sls_of(sls: SlVlMask) -> impl Iterator<Item = Sl> {
    Bits(sls.0.into()).filter_map(|sl| Sl::new(u8::try_from(sl).ok()?).ok())
}

fn add(ports: &mut [PortSet], switch: SwitchIx, port: u8) {
    if let Some(ports) = ports.get_mut(switch.index()) {
        ports.insert(port);
    }
}

/// Takes away what leads up to a root with nobody beside: packets would go there for nothing.
fn lower(topology: &Topology, root: SwitchIx, ports: &mut [PortSet]) {
    let mut here = root;
    loop {
        let own = ports.get(here.index()).copied().unwrap_or_default();
        let mut all = own.iter();
        let (Some(port), None) = (all.next(), all.next()) else {
            return;
        };
        let mut cables = topology.cables(here);
        let Some((_, far, far_port)) = cables.find(|(number, ..)| *number == port) else {
            return;
        };
        if let Some(it) = ports.get_mut(here.index()) {
            *it = PortSet::default();
        }
        if let Some(it) = ports.get_mut(far.index()) {
            it.remove(far_port);
        }
        here = far;
    }
}
