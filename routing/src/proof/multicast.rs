//! Dependencies of multicast trees.
//!
//! Packets of a group are followed from every port where they may enter, as switches copy them: to all ports
//! of the group but the one they came by. Nothing assumes that the ports make a tree; a group whose ports
//! close a ring is followed round it.

mod tree;

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
    /// By link: VLs on which packets of the group were seen, a bit each.
    seen: Vec<u16>,
    /// Link and VL, to be followed.
    queue: Vec<(u32, u8)>,
}

impl<'a> MulticastFlow<'a> {
    /// No group at hand.
    fn new(graph: &'a DependencyGraph, topology: &'a Topology) -> Self {
        Self {
            graph,
            topology,
            old: None,
            ports: vec![PortSet::default(); topology.switches.len()],
            seen: vec![0; graph.channels.links.len()],
            queue: Vec::new(),
        }
    }

    /// Follows the packets that members and these senders send.
    /// Cost: O(turns of the group), each channel followed once.
    fn add(&mut self, group: &MulticastRoute, senders: &[EndPortIx]) {
        self.ports.fill(PortSet::default());
        self.seen.fill(0);
        for (switch, ports) in &group.switches {
            self.ports[switch.index()] = *ports;
        }
        for (switch, ports) in &group.switches {
            let members = ports.iter().filter(|port| self.is_local(*switch, *port));
            for input in members.collect::<Vec<_>>() {
                self.forward(*switch, input, group.sl, None);
            }
        }
        let places = senders
            .iter()
            .map(|end| self.topology.end_port(*end).attached);
        for (switch, input) in places.flatten() {
            self.forward(switch, input, group.sl, None);
        }
        while let Some((link, vl)) = self.queue.pop() {
            let cable = self.graph.channels.links[link as usize];
            let input = self.graph.channels.slots(cable.to)[usize::from(cable.input)];
            self.forward(cable.to, input, group.sl, Some((link, vl)));
        }
    }

    /// Sends on a packet that came in by a port, on the channel `from` if by a cable.
    fn forward(&mut self, switch: SwitchIx, input: u8, sl: Sl, from: Option<(u32, u8)>) {
        let channels = &self.graph.channels;
        let ports = self.ports[switch.index()];
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
                if let Some((link, vl_before)) = from {
                    let mut pairs = [0; 4];
                    pairs[usize::from(vl_before / 4)] = 1 << (u32::from(vl_before) % 4 * 16 + vl);
                    let turns = channels.links[link as usize].turns;
                    self.graph.edges.add(turns + u32::from(output), &pairs);
                }
                let seen = &mut self.seen[next as usize];
                // What follows from a channel follows once, by whatever cables it was reached.
                if *seen >> vl & 1 == 0 {
                    *seen |= 1 << vl;
                    self.queue.push((next, u8::try_from(vl).unwrap_or(0)));
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
