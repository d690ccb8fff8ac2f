//! Whether the tables of a group are a tree, and which members it connects.
//!
//! A switch copies a packet to every port of its mask but the one it came in by. So what matters is not only
//! which switches the masks connect: one port too many and copies run round for ever, or some switch gets
//! two. All of it is answered from the masks alone, for every member as the sender.
//!
//! In a tree, and in any mask set where each cable is used both ways, who is reached also reaches back: areas
//! are shared then, and one search does for all members in it. Elsewhere every switch with a member is
//! searched from.

use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;

use crate::tables::{MulticastRoute, PortSet};
use crate::topology::{EndPortIx, PortNumbers, SwitchIx, Topology};

/// What becomes of a group's packets, wherever a member sends them.
/// Made for `sapphire check`, where tables come from a dump.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Followed {
    /// Switches and output ports around which a packet runs without end. Empty in a tree.
    pub cycle: Vec<(SwitchIx, u8)>,
    /// Switches that get one packet by two ways. Not looked for where there is a cycle.
    pub twice: BTreeSet<SwitchIx>,
    /// Ordered pairs of different members.
    pub pairs: u64,
    /// Pairs of which the second gets nothing that the first sends.
    /// Zero in a tree that holds all members.
    pub unreached: u64,
    /// Such pairs, no more than asked for.
    pub listed: Vec<(EndPortIx, EndPortIx)>,
}

impl MulticastRoute {
    /// Follows the group's packets from every member. Lists up to `most` pairs that are not
    /// connected.
    /// Cost: O(cables) for each area, of which a tree has one.
    pub fn follow(&self, topology: &Topology, members: &[EndPortIx], most: usize) -> Followed {
        let mut members = members.to_vec();
        members.sort_unstable();
        members.dedup();
        let map = Map::new(self, topology);
        let others = (members.len() as u64).saturating_sub(1);
        let mut followed = Followed {
            cycle: map.cycle(),
            pairs: members.len() as u64 * others,
            ..Followed::default()
        };
        let mut areas = Areas::new(&map, &members);
        for member in &members {
            let area = areas.area_of(*member);
            let itself = u64::from(map.delivers(*member));
            let reached = area.as_ref().map_or(0, |area| area.receivers - itself);
            let unreached = others - reached;
            followed.unreached += unreached;
            if unreached > 0 {
                let room = most - followed.listed.len();
                let is_lost = |to: &&EndPortIx| **to != *member && !map.reaches(&area, **to);
                let lost = members.iter().filter(is_lost).take(room);
                followed.listed.extend(lost.map(|to| (*member, *to)));
            }
        }
        // In a cycle every switch gets a packet again and again: that says nothing more.
        if followed.cycle.is_empty() {
            followed.twice = areas.twice;
        }
        followed
    }
}

/// The tables of a group, by switch.
struct Map<'a> {
    topology: &'a Topology,
    numbers: PortNumbers,
    ports: Vec<PortSet>,
}

impl<'a> Map<'a> {
    /// The group's masks, by switch; empty where a switch has none.
    fn new(group: &MulticastRoute, topology: &'a Topology) -> Self {
        let mut ports = vec![PortSet::default(); topology.switches.len()];
        for (switch, set) in &group.switches {
            ports[switch.index()] = *set;
        }
        Self {
            topology,
            numbers: PortNumbers::new(topology),
            ports,
        }
    }

    /// True when a switch sends the group out of a port.
    fn sends(&self, switch: SwitchIx, port: u8) -> bool {
        self.ports[switch.index()].contains(port)
    }

    /// Cables by which a switch sends the group on: port, far switch and its port.
    fn exits(&self, switch: SwitchIx) -> impl Iterator<Item = (u8, SwitchIx, u8)> + '_ {
        let is_empty = self.ports[switch.index()].is_empty();
        let cables = (!is_empty).then(|| self.topology.cables(switch));
        cables
            .into_iter()
            .flatten()
            .filter(move |(port, ..)| self.sends(switch, *port))
    }

    /// True when the switch of a member delivers to it.
    fn delivers(&self, member: EndPortIx) -> bool {
        let attached = self.topology.end_port(member).attached;
        attached.is_some_and(|(switch, port)| self.sends(switch, port))
    }

    /// True when what enters an area is delivered to a member.
    fn reaches(&self, area: &Option<Rc<Area>>, member: EndPortIx) -> bool {
        let attached = self.topology.end_port(member).attached;
        let is_in =
            |area: &Rc<Area>| attached.is_some_and(|(switch, _)| area.switches.contains(&switch));
        self.delivers(member) && area.as_ref().is_some_and(is_in)
    }

    /// True when every cable is used in both directions, as in a tree.
    /// Decides whether one search serves a whole area.
    fn is_mutual(&self) -> bool {
        let mut switches = self.topology.switch_ixs();
        switches.all(|switch| {
            self.exits(switch)
                .all(|(_, far, port)| self.sends(far, port))
        })
    }

    /// A cycle of cables: all that lead nowhere are peeled off, and what is left goes round.
    /// The same peeling as for channels, on cables of the group.
    fn cycle(&self) -> Vec<(SwitchIx, u8)> {
        let (mut onward, mut ended) = (vec![0_u32; self.numbers.total()], Vec::new());
        for switch in self.topology.switch_ixs() {
            for (port, far, input) in self.exits(switch) {
                let next = self.exits(far).filter(|(output, ..)| *output != input);
                let count = crate::topology::count32(next.count());
                onward[self.numbers.number(switch, port)] = count;
                if count == 0 {
                    ended.push((switch, port));
                }
            }
        }
        while let Some((switch, port)) = ended.pop() {
            for (input, from, output) in self.topology.cables(switch) {
                if input != port && self.sends(from, output) {
                    let onward = &mut onward[self.numbers.number(from, output)];
                    *onward -= 1;
                    if *onward == 0 {
                        ended.push((from, output));
                    }
                }
            }
        }
        self.round(|switch, port| onward[self.numbers.number(switch, port)] > 0)
    }

    /// Walks cables that all lead to another such cable until it meets its own way.
    fn round(&self, goes_on: impl Fn(SwitchIx, u8) -> bool) -> Vec<(SwitchIx, u8)> {
        let from = |switch: SwitchIx, input: Option<u8>| {
            let mut exits = self.exits(switch);
            exits.find(|(port, ..)| Some(*port) != input && goes_on(switch, *port))
        };
        let mut way: Vec<(SwitchIx, u8)> = Vec::new();
        let start = self
            .topology
            .switch_ixs()
            .find(|it| from(*it, None).is_some());
        let mut here = start.map(|switch| (switch, None));
        while let Some((switch, input)) = here {
            let Some((port, far, far_port)) = from(switch, input) else {
                break;
            };
            if let Some(first) = way.iter().position(|step| *step == (switch, port)) {
                return way.split_off(first);
            }
            way.push((switch, port));
            here = Some((far, Some(far_port)));
        }
        Vec::new()
    }
}

/// Where the packets that enter at one switch get to.
struct Area {
    switches: BTreeSet<SwitchIx>,
    /// Members that these switches deliver to.
    receivers: u64,
}

/// Areas by the switch where packets enter.
struct Areas<'a> {
    map: &'a Map<'a>,
    /// Whoever is reached also reaches back: all switches of an area share it.
    is_mutual: bool,
    /// By switch: members that it delivers to.
    receivers: Vec<u64>,
    known: Vec<Option<Rc<Area>>>,
    /// By number of the output port: a packet left by it. Cleared by search.
    seen: Vec<u32>,
    search: u32,
    twice: BTreeSet<SwitchIx>,
}

impl<'a> Areas<'a> {
    /// No areas yet, members counted by switch.
    fn new(map: &'a Map<'a>, members: &[EndPortIx]) -> Self {
        let mut receivers = vec![0; map.ports.len()];
        for member in members.iter().filter(|member| map.delivers(**member)) {
            if let Some((switch, _)) = map.topology.end_port(*member).attached {
                receivers[switch.index()] += 1;
            }
        }
        Self {
            map,
            is_mutual: map.is_mutual(),
            receivers,
            known: vec![None; map.ports.len()],
            seen: vec![0; map.numbers.total()],
            search: 0,
            twice: BTreeSet::new(),
        }
    }

    /// Where a member's packets get to; none when its cable leads to no switch.
    fn area_of(&mut self, member: EndPortIx) -> Option<Rc<Area>> {
        let (switch, _) = self.map.topology.end_port(member).attached?;
        if let Some(area) = &self.known[switch.index()] {
            return Some(Rc::clone(area));
        }
        let area = Rc::new(self.search(switch));
        if self.is_mutual {
            for other in &area.switches {
                self.known[other.index()] = Some(Rc::clone(&area));
            }
        }
        self.known[switch.index()] = Some(Rc::clone(&area));
        Some(area)
    }

    /// Breadth first, each cable once in each direction.
    fn search(&mut self, start: SwitchIx) -> Area {
        self.search += 1;
        let mut switches = BTreeSet::from([start]);
        let mut queue = VecDeque::from([(start, None)]);
        while let Some((switch, input)) = queue.pop_front() {
            for (port, far, far_port) in self.map.exits(switch) {
                let seen = &mut self.seen[self.map.numbers.number(switch, port)];
                if Some(port) == input || *seen == self.search {
                    continue;
                }
                *seen = self.search;
                if !switches.insert(far) {
                    self.twice.insert(far);
                }
                queue.push_back((far, Some(far_port)));
            }
        }
        let receivers = switches.iter().map(|switch| self.receivers[switch.index()]);
        let receivers = receivers.sum();
        Area {
            switches,
            receivers,
        }
    }
}

#[cfg(test)]
mod tests;
