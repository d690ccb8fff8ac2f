//! Parts that routes are to leave while they are still there, so that they may be pulled.
//!
//! ```text
//!  S drained:   A ── S ── B        A ── S    B       one cable of S stays: S and its hosts are reached over it,
//!               └── T ───┘    ─>   └── T ────┘       and nothing passes through
//! ```
//!
//! Cables are taken away from what engines see, in such an order that each is kept that something cannot do without:
//!
//! | cable | kept where |
//! |---|---|
//! | of nothing drained | always |
//! | of a drained switch | without it something could not be reached; those beside it to the same switch as well |
//! | drained itself | without it something could not be reached |
//! | of a severed switch | never; its hosts go with it |
//!
//! This is the tree of Kruskal, with the rank for a weight: of all ways to keep what is joined together it uses the least of what is drained.
//! Engines see a topology with fewer cables and route it as after a failure, so whatever they promise for failures holds for drains.
//!
//! Engines that know a place for each switch (tori) have none for one with a single cable. What they promise is for switches that have failed,
//! SLs and all; so such a switch is *severed*, as if it had: by an order that says what that costs its hosts.
//!
//! But for these a drain never cuts a path, whatever fails while it stands: what only a drained part can carry goes over it. A switch with one
//! neighbour is on nobody's way, by whichever engine. How many pairs have no other way says [`Drained::cost`].
//!
//! Parts go by GUIDs, and may be away: a switch that comes back is drained still.

use core::fmt;
use std::collections::{BTreeMap, BTreeSet};

use routing::{Peer, SwitchIx, Topology};
use sa_wire::Guid;

/// Switches, and cables by one of their ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drained {
    /// Node GUIDs.
    pub switches: BTreeSet<Guid>,
    /// Those of them that are routed as if they had failed: nothing is reached through them or on them, their own hosts neither.
    pub severed: BTreeSet<Guid>,
    /// Node GUID of a switch, and its port.
    pub ports: BTreeSet<(Guid, u8)>,
}

/// What pulling all of it would cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// Hosts on drained switches, or behind drained cables.
    pub hosts: u64,
    /// Ordered pairs of hosts that nothing else joins: those of these hosts among them.
    pub pairs: u64,
}

/// A cable between two switches, by its ends.
type Cable = [(SwitchIx, u8); 2];

impl Drained {
    /// Nothing is.
    pub fn is_empty(&self) -> bool {
        self.switches.is_empty() && self.ports.is_empty()
    }

    /// Takes away what routes are to leave, and gives the ordered pairs of hosts that lose their path by it, which is those of severed
    /// switches. Shape: indices stay. Cost: once over all cables.
    pub fn take_from(&self, topology: &mut Topology) -> u64 {
        if self.is_empty() {
            return 0;
        }
        let mut order: Vec<(Rank, Cable)> = cables(topology)
            .map(|cable| (self.rank(topology, cable), cable))
            .collect();
        order.sort_unstable();
        // The first cables join what they can; a later one is needed only where they do not.
        let mut joined = Joined::new(topology.switches.len());
        // Pairs of switches that are joined by a cable that was needed.
        let mut beside = BTreeSet::new();
        let mut gone = Vec::new();
        for (rank, cable) in order {
            let [(one, _), (other, _)] = cable;
            let is_needed = joined.join(one, other);
            match rank {
                Rank::Free => {}
                Rank::OfOne | Rank::OfBoth if is_needed => {
                    beside.insert((one, other));
                }
                // All lanes of a trunk stay: engines spread over them.
                Rank::OfOne | Rank::OfBoth if beside.contains(&(one, other)) => {}
                Rank::Drained if is_needed => {}
                _ => gone.push(cable),
            }
        }
        for (switch, port) in gone.into_iter().flatten() {
            unplug(topology, switch, port);
        }
        self.sever(topology)
    }

    /// Takes the cables of severed switches, those to hosts among them. Gives the pairs as [`Self::take_from`].
    fn sever(&self, topology: &mut Topology) -> u64 {
        for switch in &mut topology.switches {
            if self.severed.contains(&switch.guid) {
                // Port 0 leads to nobody.
                let cables = switch.ports.iter_mut().skip(1);
                cables.for_each(|port| port.peer = Peer::Nothing);
            }
        }
        let Topology {
            switches,
            end_ports,
        } = topology;
        let (mut hosts, mut cut) = (0_u64, 0_u64);
        for end in end_ports {
            let had_switch = end.attached.is_some();
            // By what is left, so that both ends of a cable say the same.
            let is_cut = |(at, port): (SwitchIx, u8)| {
                let switch = switches.get(at.index());
                port != 0 && switch.is_some_and(|it| self.severed.contains(&it.guid))
            };
            end.attached = end.attached.filter(|at| !is_cut(*at));
            hosts += u64::from(end.port_number != 0);
            cut += u64::from(had_switch && end.attached.is_none());
        }
        let left = hosts.saturating_sub(cut);
        let pairs = |hosts: u64| hosts * hosts.saturating_sub(1);
        pairs(hosts).saturating_sub(pairs(left))
    }

    /// What there is no other way for, in a topology with all of its cables.
    pub fn cost(&self, topology: &Topology) -> Cost {
        let (mut all, mut rest) = (
            Joined::new(topology.switches.len()),
            Joined::new(topology.switches.len()),
        );
        for cable in cables(topology) {
            let [(one, _), (other, _)] = cable;
            all.join(one, other);
            // What is left when all that is drained is pulled.
            if self.rank(topology, cable) == Rank::Free {
                rest.join(one, other);
            }
        }
        let hosts = topology.switch_ixs().map(|switch| {
            let guid = topology.switch(switch).guid;
            let is_drained =
                |port| self.switches.contains(&guid) || self.ports.contains(&(guid, port));
            let ports = topology.hosts(switch).map(|(port, _)| port);
            let (gone, stay): (Vec<u8>, Vec<u8>) = ports.partition(|port| is_drained(*port));
            (switch, gone.len() as u64, stay.len() as u64)
        });
        let hosts: Vec<_> = hosts.collect();
        let with_all = pairs(
            hosts
                .iter()
                .map(|(at, gone, stay)| (all.root(*at), gone + stay)),
        );
        let with_rest = pairs(hosts.iter().map(|(at, _, stay)| (rest.root(*at), *stay)));
        Cost {
            hosts: hosts.iter().map(|(_, gone, _)| gone).sum(),
            pairs: with_all.saturating_sub(with_rest),
        }
    }

    /// A cable that is drained itself goes first, whatever its switches are.
    fn rank(&self, topology: &Topology, cable: Cable) -> Rank {
        let ends = cable.map(|(switch, port)| (topology.switch(switch).guid, port));
        if ends.iter().any(|(guid, _)| self.severed.contains(guid)) {
            return Rank::Severed;
        }
        if ends.iter().any(|end| self.ports.contains(end)) {
            return Rank::Drained;
        }
        let of = ends.iter().filter(|(guid, _)| self.switches.contains(guid));
        match of.count() {
            0 => Rank::Free,
            1 => Rank::OfOne,
            _ => Rank::OfBoth,
        }
    }
}

/// Which cables are kept before others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// Nothing of it is drained.
    Free,
    /// One end is a drained switch's.
    OfOne,
    /// Both ends are.
    OfBoth,
    /// It is drained itself.
    Drained,
    /// An end is a severed switch's.
    Severed,
}

/// Every cable between switches once.
fn cables(topology: &Topology) -> impl Iterator<Item = Cable> + '_ {
    topology.switch_ixs().flat_map(move |switch| {
        let ports = (0..=u8::MAX).zip(&topology.switch(switch).ports);
        ports.filter_map(move |(port, facts)| match facts.peer {
            Peer::Switch {
                switch: far,
                port: far_port,
            } if (switch, port) < (far, far_port) => Some([(switch, port), (far, far_port)]),
            _ => None,
        })
    })
}

/// Leaves a port without a far end; engines route around it like around a cable that is pulled.
fn unplug(topology: &mut Topology, switch: SwitchIx, port: u8) {
    let switch = topology.switches.get_mut(switch.index());
    if let Some(facts) = switch.and_then(|switch| switch.ports.get_mut(usize::from(port))) {
        facts.peer = Peer::Nothing;
    }
}

/// Ordered pairs within each part.
fn pairs(hosts: impl Iterator<Item = (u32, u64)>) -> u64 {
    let mut parts: BTreeMap<u32, u64> = BTreeMap::new();
    for (part, hosts) in hosts {
        *parts.entry(part).or_default() += hosts;
    }
    parts
        .values()
        .map(|hosts| hosts * hosts.saturating_sub(1))
        .sum()
}

/// Which switches are joined by the cables so far.
struct Joined(Vec<u32>);

impl Joined {
    /// Each switch is alone.
    fn new(switches: usize) -> Self {
        Self((0..).take(switches).collect())
    }

    /// False where they were already.
    fn join(&mut self, one: SwitchIx, other: SwitchIx) -> bool {
        let (one, other) = (self.root(one), self.root(other));
        if let Some(parent) = self.0.get_mut(other as usize) {
            *parent = one;
        }
        one != other
    }

    /// The same for all switches that are joined. Cost: next to nothing, as ways are halved.
    fn root(&mut self, switch: SwitchIx) -> u32 {
        let mut at = switch.0;
        while let Some(up) = self.0.get(at as usize).copied().filter(|up| *up != at) {
            // Halves the way for the next one who asks.
            let above = self.0.get(up as usize).copied().unwrap_or(up);
            if let Some(parent) = self.0.get_mut(at as usize) {
                *parent = above;
            }
            at = above;
        }
        at
    }
}

/// As the provenance of a snapshot has it: `0x0000000000200010 0x0000000000200000:3`, with `!` behind what is severed.
impl fmt::Display for Drained {
    /// Shape: node GUIDs, then node GUIDs with ports; a blank between two.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severed = |guid| if self.severed.contains(guid) { "!" } else { "" };
        let switches = self.switches.iter();
        let switches = switches.map(|guid| format!("{guid}{}", severed(guid)));
        let ports = self.ports.iter();
        let ports = ports.map(|(switch, port)| format!("{switch}:{port}"));
        let all: Vec<String> = switches.chain(ports).collect();
        f.write_str(&all.join(" "))
    }
}
