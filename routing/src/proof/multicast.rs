//! Dependencies of multicast trees.
//!
//! Packets of a group are followed from every port where they may enter, as switches copy them: to all ports
//! of the group but the one they came by. Nothing assumes that the ports make a tree; a group whose ports
//! close a ring is followed round it.

mod changed;
mod tree;

pub use self::changed::ChangedTree;

use sa_wire::{Sl, SlToVl};

use super::channels::{Mapping, NO_LINK};
use super::graph::DependencyGraph;
use crate::bits::Bits;
use crate::tables::{MulticastRoute, PortSet};
use crate::topology::{EndPortIx, Peer, SwitchIx, Topology};

/// SL2VL of switches before a change, by input and output port.
pub type OldSl2Vl<'a> = &'a (dyn Fn(SwitchIx, u8, u8) -> SlToVl + Sync);

impl DependencyGraph {
    /// Adds the dependencies of multicast packets that enter anywhere a member is plugged in.
    pub fn add_multicast(&mut self, topology: &Topology, groups: &[MulticastRoute]) {
        self.add_trees(topology, groups, None);
    }

    /// The same where SL2VL may also be as it was before.
    pub(super) fn add_trees(
        &self,
        topology: &Topology,
        groups: &[MulticastRoute],
        old: Option<OldSl2Vl<'_>>,
    ) {
        if groups.is_empty() {
            return;
        }
        let mut flow = MulticastFlow::new(self, topology);
        flow.old = old;
        for group in groups {
            flow.add(group, &[]);
        }
    }

    /// Adds the dependencies of packets that old trees have brought to a switch, from where new ones lead on.
    pub(super) fn add_changed_trees(&self, topology: &Topology, trees: &[ChangedTree]) {
        let mut flow = MulticastFlow::new(self, topology);
        for tree in trees {
            flow.add_changed(tree);
        }
    }

    /// Adds the dependencies of one group's packets, which these ports may send too. Members that
    /// only send are in no table.
    pub fn add_multicast_from(
        &mut self,
        topology: &Topology,
        group: &MulticastRoute,
        senders: &[EndPortIx],
    ) {
        MulticastFlow::new(self, topology).add(group, senders);
    }
}

/// Follows one group after the other.
/// Reused from group to group; two arrays are cleared for each.
struct MulticastFlow<'a> {
    graph: &'a DependencyGraph,
    topology: &'a Topology,
    old: Option<OldSl2Vl<'a>>,
    /// By switch: ports of the group at hand.
    ports: Vec<PortSet>,
    /// The same before it changed; empty where it does not.
    old_ports: Vec<PortSet>,
    /// By link: VLs on which packets of the group were seen, a bit each; and those that an old port put there.
    seen: Vec<[u16; 2]>,
    /// What is to be followed.
    queue: Vec<Came>,
}

/// By which channel a packet came.
#[derive(Debug, Clone, Copy)]
struct Came {
    link: u32,
    vl: u8,
    /// By a port of the old tree: it may go on by either. Behind a new port all are new ones.
    is_old: bool,
}

impl<'a> MulticastFlow<'a> {
    /// No group at hand.
    fn new(graph: &'a DependencyGraph, topology: &'a Topology) -> Self {
        Self {
            graph,
            topology,
            old: None,
            ports: vec![PortSet::default(); topology.switches.len()],
            old_ports: Vec::new(),
            seen: vec![[0; 2]; graph.channels.links.len()],
            queue: Vec::new(),
        }
    }

    /// Follows the packets that members and these senders send.
    /// Cost: O(turns of the group), each channel followed once.
    fn add(&mut self, group: &MulticastRoute, senders: &[EndPortIx]) {
        self.ports.fill(PortSet::default());
        self.seen.fill([0; 2]);
        for (switch, ports) in &group.switches {
            self.ports[switch.index()] = *ports;
        }
        self.enter(group, false);
        let places = senders
            .iter()
            .map(|end| self.topology.end_port(*end).attached);
        for (switch, input) in places.flatten() {
            self.forward(switch, input, group.sl, None, false);
        }
        self.follow(group.sl);
    }

    /// Follows the packets that members have sent by the old tree, at each switch also by the new one.
    fn add_changed(&mut self, tree: &ChangedTree) {
        self.ports.fill(PortSet::default());
        self.seen.fill([0; 2]);
        self.old_ports = self.ports.clone();
        for (switch, ports) in &tree.new {
            self.ports[switch.index()] = *ports;
        }
        for (switch, ports) in &tree.old.switches {
            self.old_ports[switch.index()] = *ports;
        }
        self.enter(&tree.old, true);
        self.follow(tree.old.sl);
    }

    /// What members send.
    fn enter(&mut self, group: &MulticastRoute, is_old: bool) {
        for (switch, ports) in &group.switches {
            let members = ports.iter().filter(|port| self.is_local(*switch, *port));
            for input in members.collect::<Vec<_>>() {
                self.forward(*switch, input, group.sl, None, is_old);
            }
        }
    }

    /// What is in the queue, to its end.
    fn follow(&mut self, sl: Sl) {
        while let Some(came) = self.queue.pop() {
            let cable = self.graph.channels.links[came.link as usize];
            let input = self.graph.channels.slots(cable.to)[usize::from(cable.input)];
            if came.is_old {
                self.forward(cable.to, input, sl, Some(came), true);
            }
            self.forward(cable.to, input, sl, Some(came), false);
        }
    }

    /// Sends on a packet that came in by a port, on a channel if by a cable. `is_old`: by the old tree.
    fn forward(&mut self, switch: SwitchIx, input: u8, sl: Sl, from: Option<Came>, is_old: bool) {
        let trees = if is_old { &self.old_ports } else { &self.ports };
        let ports = trees[switch.index()];
        let channels = &self.graph.channels;
        for output in ports.iter().filter(|output| *output != input) {
            // Masks of dumps may name ports that are not there.
            if usize::from(output) >= self.topology.switch(switch).ports.len() {
                continue;
            }
            let next = channels.link(switch, output);
            if next == NO_LINK {
                continue;
            }
            let vls = self.vls(switch, input, output, sl);
            let output = channels.slot(switch, output);
            for vl in Bits(vls.into()) {
                if let Some(came) = from {
                    let mut pairs = [0; 4];
                    pairs[usize::from(came.vl / 4)] = 1 << (u32::from(came.vl) % 4 * 16 + vl);
                    let turns = channels.links[came.link as usize].turns;
                    self.graph.edges.add(turns + u32::from(output), &pairs);
                }
                let seen = &mut self.seen[next as usize][usize::from(is_old)];
                // What follows from a channel follows once, by whatever cables it was reached.
                if *seen >> vl & 1 == 0 {
                    *seen |= 1 << vl;
                    self.queue.push(Came {
                        link: next,
                        vl: u8::try_from(vl).unwrap_or(0),
                        is_old,
                    });
                }
            }
        }
    }

    /// VLs on which packets of an SL may leave, a bit each.
    fn vls(&self, switch: SwitchIx, input: u8, output: u8, sl: Sl) -> u16 {
        let channels = &self.graph.channels;
        let slots = [input, output].map(|port| channels.slot(switch, port));
        let set = |mapping: &Mapping| {
            let vls = mapping.spread(1 << sl.get());
            vls.fold(0, |set, (vl, _)| set | 1 << vl)
        };
        let new = set(channels.mapping(channels.table(switch, slots[0], slots[1])));
        // Seldom: only while SL2VL itself changes.
        let old = self
            .old
            .map_or(0, |old| set(&Mapping::new(old(switch, input, output))));
        new | old
    }

    /// True for port 0 and ports with a host.
    fn is_local(&self, switch: SwitchIx, port: u8) -> bool {
        port == 0 || matches!(self.topology.peer(switch, port), Peer::EndPort(_))
    }
}
