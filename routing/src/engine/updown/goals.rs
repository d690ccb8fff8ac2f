//! The LIDs of a fabric in the order in which they are dealt.
//!
//! Switches with hosts come first, down the tree, depth first, so that neighbours in the tree come
//! one after the other and share the links above them evenly. A switch's *turn* is its place in
//! that order. LIDs of hosts are numbered through, those of a switch side by side:
//!
//! ```text
//! turn       0          1         2      3 ..        switches without hosts last
//! hosts      0 1 2 3    4 5 6 7   8 ..               of hosts with several LIDs the first ones first
//! words      0          1         2                  64 hosts have a word of bits, each switch begins one
//! ```

use super::cabling::Cabling;
use super::order::Order;
use crate::topology::{Topology, count32};

/// A LID that is dealt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Goal {
    /// Which of the LIDs of its port it is, from 0.
    pub(super) offset: u16,
    /// The port of the switch behind which it is.
    pub(super) port: u8,
    pub(super) lid: u16,
}

/// All LIDs that are routed.
pub(super) struct Goals {
    /// By turn.
    switches: Vec<u32>,
    /// Turns of switches with hosts: the first ones.
    with_hosts: usize,
    hosts: Vec<Goal>,
    /// By turn: its first host; one more entry at the end.
    first_host: Vec<u32>,
    /// LIDs of switches.
    own: Vec<u16>,
    /// By turn: its first LID; one more entry at the end.
    first_own: Vec<u32>,
    /// LIDs that a port has at most.
    offsets: usize,
}

impl Goals {
    pub(super) fn new(topology: &Topology, cabling: &Cabling, order: &Order) -> Self {
        let (mut hosts, own) = lids(topology);
        let sequence = sequence(cabling, order);
        let has_hosts = |switch: &u32| !hosts[*switch as usize].is_empty();
        let (mut switches, others): (Vec<_>, Vec<_>) = sequence.into_iter().partition(has_hosts);
        let with_hosts = switches.len();
        switches.extend(others);
        let mut goals = Self {
            with_hosts,
            hosts: Vec::new(),
            first_host: vec![0],
            own: Vec::new(),
            first_own: vec![0],
            offsets: 0,
            switches,
        };
        for switch in &goals.switches {
            let mine = &mut hosts[*switch as usize];
            mine.sort_unstable();
            let most = mine.last().map_or(0, |last| usize::from(last.offset) + 1);
            goals.offsets = goals.offsets.max(most);
            goals.hosts.append(mine);
            goals.first_host.push(count32(goals.hosts.len()));
            goals.own.extend(&own[*switch as usize]);
            goals.first_own.push(count32(goals.own.len()));
        }
        goals
    }

    /// By turn.
    pub(super) fn switches(&self) -> &[u32] {
        &self.switches
    }

    /// Turns of switches with hosts: the first ones.
    pub(super) const fn with_hosts(&self) -> usize {
        self.with_hosts
    }

    /// The number of the first LID of hosts whose turn it is.
    pub(super) fn first_host(&self, turn: usize) -> u32 {
        self.first_host[turn]
    }

    /// LIDs of hosts whose turn it is, in their order.
    pub(super) fn hosts(&self, turn: usize) -> &[Goal] {
        &self.hosts[self.first_host[turn] as usize..self.first_host[turn + 1] as usize]
    }

    /// LIDs of the switch whose turn it is.
    pub(super) fn own(&self, turn: usize) -> &[u16] {
        &self.own[self.first_own[turn] as usize..self.first_own[turn + 1] as usize]
    }

    /// All LIDs whose turn it is.
    pub(super) fn lids(&self, turn: usize) -> impl Iterator<Item = u16> {
        let hosts = self.hosts(turn).iter().map(|goal| goal.lid);
        hosts.chain(self.own(turn).iter().copied())
    }

    /// Fills in the entries of the switch whose turn it is for its own LIDs and those of its hosts.
    pub(super) fn fill_own(&self, turn: usize, row: &mut [u8]) {
        for goal in self.hosts(turn) {
            row[usize::from(goal.lid)] = goal.port;
        }
        for lid in self.own(turn) {
            row[usize::from(*lid)] = 0;
        }
    }

    /// LIDs that a port has at most.
    pub(super) const fn offsets(&self) -> usize {
        self.offsets
    }
}

/// By switch: LIDs of its hosts, and its own.
fn lids(topology: &Topology) -> (Vec<Vec<Goal>>, Vec<Vec<u16>>) {
    let count = topology.switches.len();
    let (mut hosts, mut own) = (vec![Vec::new(); count], vec![Vec::new(); count]);
    for end in &topology.end_ports {
        match end.attached {
            None => {}
            Some((switch, 0)) => own[switch.index()].extend(end.lids().map(|lid| lid.get())),
            Some((switch, port)) => {
                hosts[switch.index()].extend((0..).zip(end.lids()).map(|(offset, lid)| Goal {
                    offset,
                    port,
                    lid: lid.get(),
                }));
            }
        }
    }
    (hosts, own)
}

/// All switches, depth first from the topmost.
fn sequence(cabling: &Cabling, order: &Order) -> Vec<u32> {
    let mut seen = vec![false; cabling.switches()];
    let mut sequence = Vec::with_capacity(cabling.switches());
    let mut stack = Vec::new();
    for top in order.switches() {
        stack.push(*top);
        while let Some(switch) = stack.pop() {
            if std::mem::replace(&mut seen[switch as usize], true) {
                continue;
            }
            sequence.push(switch);
            // Taken from the end, so the first comes last.
            let below = cabling
                .leaving(switch)
                .iter()
                .rev()
                .map(|bundle| bundle.far);
            stack.extend(below.filter(|far| !seen[*far as usize] && order.is_above(switch, *far)));
        }
    }
    sequence
}
