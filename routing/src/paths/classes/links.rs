//! Cables between switches, SLs dropped within switches and SLs that an engine gives to pairs, ready
//! to be looked up fast.
//!
//! Asked for every switch of every different column, hence flat and small: a cable is a dozen
//! bytes, a capacity one.

use std::sync::Arc;

use sa_snapshot::model::Capacity;
use sa_wire::SlVlMask;

use super::edges::{inputs, let_out};
use crate::tables::{PathSlTable, Qos, Routes};
use crate::topology::{Peer, PortNumbers, SwitchIx, Topology};

/// MTU and rate in one byte, such that the lesser of each is quickly found.
/// Three bits of MTU code above five of rate rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Packed(u8);

impl Packed {
    pub(super) const UNLIMITED: Self = Self::from_capacity(Capacity::UNLIMITED);

    pub(super) const fn from_capacity(capacity: Capacity) -> Self {
        Self(capacity.mtu.code() << 5 | capacity.rate.get())
    }

    // Each part for itself: the lesser byte could have the greater rate.
    pub(super) fn min(self, other: Self) -> Self {
        let (a, b) = (self.0, other.0);
        Self((a & 0xe0).min(b & 0xe0) | (a & 0x1f).min(b & 0x1f))
    }

    pub(super) fn unpacked(self) -> Capacity {
        let unlimited = Capacity::UNLIMITED;
        Capacity {
            mtu: sa_wire::Mtu::from_code(self.0 >> 5).unwrap_or(unlimited.mtu),
            rate: sa_wire::RateRank::from_raw(self.0 & 0x1f).unwrap_or(unlimited.rate),
        }
    }
}

/// Where a cable between switches leads.
/// Kept by the port that sends, so a cable between switches is here twice.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    /// Index of the far switch.
    pub(super) to: u32,
    /// Its port.
    pub(super) input: u8,
    /// Least of both ends.
    pub(super) capacity: Packed,
    /// Of the far end alone.
    /// For a switch as the source, whose own end does not count.
    pub(super) far_capacity: Packed,
}

/// All cables between switches.
pub(super) struct Links {
    numbers: PortNumbers,
    /// By port number; none where the cable does not lead to a switch.
    links: Vec<Option<Link>>,
    /// None when nothing is ever dropped.
    /// The usual case, which saves a lookup for each hop.
    masks: Option<Masks>,
    /// SLs by pair of ends; none where a rule or the policy has them.
    sls: Option<Arc<PathSlTable>>,
}

/// SLs carried within switches.
/// Two bytes for each pair of ports of a switch.
struct Masks {
    /// By switch: where its square begins.
    first: Vec<usize>,
    /// By switch: how many ports, port 0 included.
    ports: Vec<usize>,
    /// Shape: squares of input by output. An entry for a host port is ALL where the input drops
    /// nothing beyond what the host's own edge says.
    carried: Vec<u16>,
}

impl Links {
    pub(super) fn new(topology: &Topology, routes: &Routes, qos: Qos) -> Self {
        let ports = topology.switches.iter().flat_map(|switch| &switch.ports);
        let links = ports.map(|port| match port.peer {
            Peer::Switch {
                switch,
                port: input,
            } => {
                let far = topology.switch(switch).ports[usize::from(input)].capacity;
                Some(Link {
                    to: switch.0,
                    input,
                    capacity: Packed::from_capacity(port.capacity.min(far)),
                    far_capacity: Packed::from_capacity(far),
                })
            }
            _ => None,
        });
        let masks =
            (qos == Qos::On && !routes.sl2vl.drops_nothing()).then(|| Masks::new(topology, routes));
        Self {
            numbers: PortNumbers::new(topology),
            links: links.collect(),
            masks,
            sls: routes.facts().sl_table().cloned(),
        }
    }

    /// The cable in a port of a switch; none when it leads to no switch.
    #[inline]
    pub(super) fn link(&self, switch: u32, port: u8) -> Option<Link> {
        self.links[self.numbers.number(SwitchIx(switch), port)]
    }

    /// The SLs that an engine gives to pairs of ends, whether or not QoS is on: OpenSM asks its
    /// engine in any case.
    pub(super) fn sls(&self) -> Option<&PathSlTable> {
        self.sls.as_deref()
    }

    /// True when some switch drops some SL.
    pub(super) const fn drops_sls(&self) -> bool {
        self.masks.is_some()
    }

    /// SLs that a switch carries from an input to an output, without those that the edge of a host
    /// at the output excludes anyway.
    #[inline]
    pub(super) fn carried(&self, switch: u32, input: u8, output: u8) -> u16 {
        match &self.masks {
            None => SlVlMask::ALL.0,
            Some(masks) => masks.get(switch as usize, input, output),
        }
    }

    /// The capacity that all cables between switches have; unlimited when there is none.
    /// None as soon as one end differs.
    pub(super) fn common_capacity(&self) -> Option<Capacity> {
        let mut all = self.links.iter().flatten();
        let first = all.next().map_or(Packed::UNLIMITED, |link| link.capacity);
        let is_same = |link: &Link| link.capacity == first && link.far_capacity == first;
        self.links
            .iter()
            .flatten()
            .all(is_same)
            .then(|| first.unpacked())
    }

    /// True when the near end never limits a cable of this switch more than the far end does.
    /// Then a switch as a source has the classes of a host on it.
    pub(super) fn near_ends_are_free(&self, switch: SwitchIx) -> bool {
        let ports = self.numbers.number(switch, 0)..self.numbers.number(SwitchIx(switch.0 + 1), 0);
        self.links[ports]
            .iter()
            .flatten()
            .all(|link| link.capacity == link.far_capacity)
    }
}

impl Masks {
    fn new(topology: &Topology, routes: &Routes) -> Self {
        let ports: Vec<_> = topology
            .switches
            .iter()
            .map(|switch| switch.ports.len())
            .collect();
        let mut first = Vec::with_capacity(ports.len());
        let mut total = 0;
        for count in &ports {
            first.push(total);
            total += count * count;
        }
        let mut masks = Self {
            first,
            ports,
            carried: vec![SlVlMask::ALL.0; total],
        };
        for switch in topology.switch_ixs() {
            for output in inputs(topology, switch) {
                masks.fill(topology, routes, switch, output);
            }
        }
        masks
    }

    fn fill(&mut self, topology: &Topology, routes: &Routes, switch: SwitchIx, output: u8) {
        let is_host = matches!(topology.peer(switch, output), Peer::EndPort(_));
        let edge = is_host.then(|| let_out(topology, routes, switch, output));
        for input in inputs(topology, switch) {
            let carried = routes.sl2vl(switch, input, output).carried();
            // What the edge says already is left at ALL, so that hosts of one switch share a row.
            if edge != Some(carried) {
                let place = self.place(switch.index(), input, output);
                self.carried[place] = carried.0;
            }
        }
    }

    fn get(&self, switch: usize, input: u8, output: u8) -> u16 {
        self.carried[self.place(switch, input, output)]
    }

    fn place(&self, switch: usize, input: u8, output: u8) -> usize {
        self.first[switch] + usize::from(input) * self.ports[switch] + usize::from(output)
    }
}
