//! The cables between switches in flat numbers: channels, and the turns from one channel into the next.
//!
//! A channel here is one direction of one cable; which VL it is used on is the layer's matter. Channels of a
//! switch lie side by side by ascending port, so that a switch and a *slot* name one. A turn is a channel and
//! a slot of the switch that it leads to; turns into the same slot's row lie side by side as well:
//!
//! ```text
//! first[s] + slot          the channel by which switch s leaves by its slot-th cable
//! turns[channel] + slot    the turn from a channel into the slot-th cable of the switch it leads to
//! ```
//!
//! Cables from a switch to itself are left out: no shortest way takes one.

use crate::topology::{SwitchIx, Topology, count32};

/// Number of a channel.
pub(super) type Channel = u32;

/// A slot that leads nowhere: of a switch without a way. A switch has fewer than 255 cables.
pub(super) const NO_SLOT: u8 = u8::MAX;

/// A switch that is not there.
pub(super) const NOWHERE: u32 = u32::MAX;

/// Switches, channels and turns of a fabric.
/// Some 20 bytes a channel; 175,616 channels in a fat tree of three levels of 56 ports.
pub(super) struct Graph {
    /// By switch: its first channel; one more entry at the end.
    first: Vec<Channel>,
    /// By channel: the switch that it leaves, and the one that it leads to.
    from: Vec<u32>,
    to: Vec<u32>,
    /// By channel: the other direction of the same cable.
    back: Vec<Channel>,
    /// By channel: its first turn; one more entry at the end.
    turns: Vec<u32>,
    /// By channel: the port by which it leaves its switch.
    ports: Vec<u8>,
    /// By switch: ports with a CA or router.
    hosts: Vec<u32>,
}

impl Graph {
    /// Cost: O(ports), and a search among the ports of the far switch for each cable.
    pub(super) fn new(topology: &Topology) -> Self {
        let mut graph = Self {
            first: vec![0],
            from: Vec::new(),
            to: Vec::new(),
            back: Vec::new(),
            turns: vec![0],
            ports: Vec::new(),
            hosts: Vec::new(),
        };
        let mut far_ports = Vec::new();
        for switch in topology.switch_ixs() {
            // A cable of a switch to itself would be a channel that leads to where it begins.
            let others = topology.cables(switch).filter(|(_, far, _)| *far != switch);
            for (port, far, far_port) in others {
                graph.from.push(switch.0);
                graph.to.push(far.0);
                graph.ports.push(port);
                far_ports.push(far_port);
            }
            graph.first.push(count32(graph.to.len()));
            graph.hosts.push(count32(topology.hosts(switch).count()));
        }
        graph.pair_up(&far_ports);
        graph
    }

    /// Finds the other direction of every cable, and numbers the turns.
    fn pair_up(&mut self, far_ports: &[u8]) {
        for (channel, far_port) in far_ports.iter().enumerate() {
            let far = self.to[channel];
            let ports = &self.ports[self.range(far)];
            // Ports ascend within a switch, so the far one is found by halving.
            let slot = ports.partition_point(|port| port < far_port);
            self.back.push(self.first[far as usize] + count32(slot));
            let turns = self.turns[channel] + count32(ports.len());
            self.turns.push(turns);
        }
    }

    /// How many switches there are.
    pub(super) fn switches(&self) -> usize {
        self.hosts.len()
    }

    /// All switches.
    pub(super) fn all_switches(&self) -> std::ops::Range<u32> {
        0..count32(self.switches())
    }

    /// How many channels there are.
    pub(super) fn channels(&self) -> usize {
        self.to.len()
    }

    /// How many turns there are.
    pub(super) fn turns(&self) -> usize {
        self.turns.last().map_or(0, |turns| *turns as usize)
    }

    /// The channels of a switch as places of arrays.
    fn range(&self, switch: u32) -> std::ops::Range<usize> {
        self.first[switch as usize] as usize..self.first[switch as usize + 1] as usize
    }

    /// The channels that leave a switch, by ascending port.
    #[inline]
    pub(super) fn leaving(&self, switch: u32) -> std::ops::Range<Channel> {
        self.first[switch as usize]..self.first[switch as usize + 1]
    }

    /// The channel by which a switch leaves by a slot.
    #[inline]
    pub(super) fn channel(&self, switch: u32, slot: u8) -> Channel {
        self.first[switch as usize] + u32::from(slot)
    }

    /// The slot of a channel.
    #[inline]
    pub(super) fn slot(&self, channel: Channel) -> u8 {
        let slot = channel - self.first[self.from[channel as usize] as usize];
        u8::try_from(slot).unwrap_or(NO_SLOT)
    }

    /// The port of a channel.
    pub(super) fn port(&self, channel: Channel) -> u8 {
        self.ports[channel as usize]
    }

    /// The switch that a channel leaves.
    #[inline]
    pub(super) fn from(&self, channel: Channel) -> u32 {
        self.from[channel as usize]
    }

    /// The switch that a channel leads to.
    #[inline]
    pub(super) fn to(&self, channel: Channel) -> u32 {
        self.to[channel as usize]
    }

    /// The other direction of the same cable.
    #[inline]
    pub(super) fn back(&self, channel: Channel) -> Channel {
        self.back[channel as usize]
    }

    /// The turn from a channel into one that leaves the switch it leads to.
    #[inline]
    pub(super) fn turn(&self, into: Channel, out: Channel) -> usize {
        let slot = out - self.first[self.to[into as usize] as usize];
        (self.turns[into as usize] + slot) as usize
    }

    /// Ports of a switch with a CA or router.
    #[inline]
    pub(super) fn hosts(&self, switch: u32) -> u32 {
        self.hosts[switch as usize]
    }

    /// Whether packets of hosts come from a switch or go to it.
    #[inline]
    pub(super) fn has_hosts(&self, switch: u32) -> bool {
        self.hosts(switch) > 0
    }

    /// The switch of an index.
    pub(super) const fn ix(switch: u32) -> SwitchIx {
        // One place for the conversion: inside all are plain numbers.
        SwitchIx(switch)
    }

    /// Hops from a switch, and the switches that are reached, nearest first.
    /// [`NOWHERE`] for a switch that is not. Cost: O(channels).
    pub(super) fn spread_from(&self, start: u32, hops: &mut [u32], reached: &mut Vec<u32>) {
        hops.fill(NOWHERE);
        hops[start as usize] = 0;
        reached.clear();
        reached.push(start);
        let mut next = 0;
        while let Some(here) = reached.get(next).copied() {
            next += 1;
            for channel in self.leaving(here) {
                let far = self.to(channel);
                if hops[far as usize] == NOWHERE {
                    hops[far as usize] = hops[here as usize] + 1;
                    reached.push(far);
                }
            }
        }
    }
}
