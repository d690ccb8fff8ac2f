//! Which pairs of end ports the forwarding tables connect.

use crate::columns::{self, Columns, Key, Seen};
use crate::parallel;
use crate::routes::{NO_PATH, Routes};
use crate::topology::{EndPortIx, Peer, PortNumbers, SwitchIx, Topology, count32};

/// How many pairs there are and which are lost.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reachability {
    /// Pairs of an end port and a LID of another one.
    pub pairs: u64,
    /// Those without a path.
    pub lost: u64,
    /// Those without a path between CA and router ports, base LIDs only.
    pub lost_between_hosts: u64,
    /// Lost pairs, by LID, then by source; no more than asked for.
    pub listed: Vec<LostPair>,
}

/// A pair without a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LostPair {
    /// From here
    pub source: EndPortIx,
    /// to this LID.
    pub lid: u16,
}

/// Follows the tables from every end port to every LID. Lists up to `most` lost pairs.
pub fn reachability(topology: &Topology, routes: &Routes, most: usize) -> Reachability {
    let map = Map::new(topology);
    let blocks = columns::blocks(routes.lfts());
    let effort = routes.lfts().bytes().len();
    let parts = parallel::over_range(blocks, effort, |blocks| {
        let mut search = Search::new(topology, &map, most);
        let mut columns = Columns::default();
        for block in blocks {
            columns.load(routes.lfts(), block);
            for lid in columns.lids() {
                if let Some(owner) = routes.lids().owner(lid) {
                    search.add(owner, lid, columns.column(lid));
                }
            }
        }
        search.found
    });
    let mut whole = Reachability::default();
    for part in parts {
        whole.pairs += part.pairs;
        whole.lost += part.lost;
        whole.lost_between_hosts += part.lost_between_hosts;
        let room = most - whole.listed.len();
        whole.listed.extend(part.listed.into_iter().take(room));
    }
    whole
}

/// Where cables between switches lead.
struct Map {
    numbers: PortNumbers,
    /// By port number: the far switch, or `NOWHERE`.
    far: Vec<u32>,
    /// Every end port is on a switch.
    is_complete: bool,
}

/// No switch.
const NOWHERE: u32 = u32::MAX;

impl Map {
    fn new(topology: &Topology) -> Self {
        let ports = topology.switches.iter().flat_map(|switch| &switch.ports);
        let far = ports.map(|port| match port.peer {
            Peer::Switch { switch, .. } => switch.0,
            _ => NOWHERE,
        });
        Self {
            numbers: PortNumbers::new(topology),
            far: far.collect(),
            is_complete: topology.end_ports.iter().all(|end| end.attached.is_some()),
        }
    }

    /// The switch to which another one forwards; none for hosts, itself, and nothing.
    fn next(&self, here: u32, port: u8) -> Option<u32> {
        let far = (port != NO_PATH).then(|| self.far[self.numbers.of(SwitchIx(here), port)]);
        far.filter(|far| *far != NOWHERE)
    }
}

struct Search<'a> {
    topology: &'a Topology,
    map: &'a Map,
    most: usize,
    found: Reachability,
    seen: Seen,
    /// By number of the column: switches from which packets arrive; none when all do.
    arriving: Vec<Option<Vec<bool>>>,
}

/// What becomes of a packet at a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Unknown,
    Arrives,
    Lost,
}

impl<'a> Search<'a> {
    fn new(topology: &'a Topology, map: &'a Map, most: usize) -> Self {
        Self {
            topology,
            map,
            most,
            found: Reachability::default(),
            seen: Seen::default(),
            arriving: Vec::new(),
        }
    }

    /// Counts the pairs of one LID.
    fn add(&mut self, owner: EndPortIx, lid: u16, column: &[u8]) {
        let sources = self.topology.end_ports.len() as u64 - 1;
        self.found.pairs += sources;
        let Some((switch, port)) = self.topology.end_port(owner).attached else {
            self.lose(owner, lid, |_| false);
            return;
        };
        let delivers = column[switch.index()] == port;
        let (number, is_new) = self
            .seen
            .number(Key::new(column, switch, u16::from(delivers)));
        if is_new {
            let states = self.follow(column, switch, delivers);
            let is_everywhere = states.iter().all(|state| *state == State::Arrives);
            let arriving = || {
                states
                    .iter()
                    .map(|state| *state == State::Arrives)
                    .collect()
            };
            self.arriving.push((!is_everywhere).then(arriving));
        }
        match self.arriving[number].clone() {
            None if self.map.is_complete => {}
            None => self.lose(owner, lid, |_| true),
            Some(arriving) => self.lose(owner, lid, |switch| arriving[switch.index()]),
        }
    }

    /// Decides for every switch whether packets arrive from there.
    fn follow(&self, column: &[u8], to: SwitchIx, delivers: bool) -> Vec<State> {
        let mut states = vec![State::Unknown; column.len()];
        states[to.index()] = if delivers {
            State::Arrives
        } else {
            State::Lost
        };
        let mut way = Vec::new();
        for from in 0..count32(column.len()) {
            let mut here = from;
            while states[here as usize] == State::Unknown {
                // A circle comes back to this; and this is where a way without a cable ends.
                states[here as usize] = State::Lost;
                way.push(here);
                here = self.map.next(here, column[here as usize]).unwrap_or(here);
            }
            let end = states[here as usize];
            way.drain(..)
                .for_each(|switch| states[switch as usize] = end);
        }
        states
    }

    /// Counts the sources from which a LID is not reached.
    fn lose(&mut self, owner: EndPortIx, lid: u16, arrives: impl Fn(SwitchIx) -> bool) {
        let to = self.topology.end_port(owner);
        let is_base_of_host = to.port_number != 0 && to.lid.get() == lid;
        for source in self
            .topology
            .end_port_ixs()
            .filter(|source| *source != owner)
        {
            let from = self.topology.end_port(source);
            if from.attached.is_some_and(|(switch, _)| arrives(switch)) {
                continue;
            }
            self.found.lost += 1;
            let is_between_hosts = is_base_of_host && from.port_number != 0;
            self.found.lost_between_hosts += u64::from(is_between_hosts);
            if self.found.listed.len() < self.most {
                self.found.listed.push(LostPair { source, lid });
            }
        }
    }
}
