//! Which pairs of end ports the forwarding tables connect.

use crate::columns::{self, Columns};
use crate::parallel;
use crate::routes::{NO_PATH, Routes};
use crate::topology::{EndPortIx, Peer, SwitchIx, Topology, count32};

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
    let blocks = columns::blocks(routes.lfts());
    let effort = routes.lfts().bytes().len();
    let parts = parallel::over_range(blocks, effort, |blocks| {
        let mut found = Reachability::default();
        let mut columns = Columns::default();
        let mut state = Vec::new();
        for block in blocks {
            columns.load(routes.lfts(), block);
            for lid in columns.lids() {
                let Some(owner) = routes.lids().owner(lid) else {
                    continue;
                };
                resolve(topology, owner, columns.column(lid), &mut state);
                found.count(topology, owner, lid, &state, most);
            }
        }
        found
    });
    let mut whole = Reachability::default();
    for part in parts {
        whole.pairs += part.pairs;
        whole.lost += part.lost;
        whole.lost_between_hosts += part.lost_between_hosts;
        whole
            .listed
            .extend(part.listed.into_iter().take(most - whole.listed.len()));
    }
    whole
}

impl Reachability {
    fn count(
        &mut self,
        topology: &Topology,
        owner: EndPortIx,
        lid: u16,
        state: &[State],
        most: usize,
    ) {
        let to = topology.end_port(owner);
        let is_host = |port: u8| port != 0;
        let counts = is_host(to.port_number) && to.lid.get() == lid;
        self.pairs += topology.end_ports.len() as u64 - 1;
        if state.iter().all(|state| *state == State::Arrives)
            && topology.end_ports.iter().all(|end| end.attached.is_some())
        {
            return;
        }
        for source in topology.end_port_ixs().filter(|source| *source != owner) {
            let from = topology.end_port(source);
            let arrives = |(switch, _): (SwitchIx, u8)| state[switch.index()] == State::Arrives;
            if from.attached.is_some_and(arrives) {
                continue;
            }
            self.lost += 1;
            self.lost_between_hosts += u64::from(counts && is_host(from.port_number));
            if self.listed.len() < most {
                self.listed.push(LostPair { source, lid });
            }
        }
    }
}

/// What becomes of a packet at a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Unknown,
    Arrives,
    Lost,
}

/// Decides for every switch whether packets to an end port arrive from there.
fn resolve(topology: &Topology, owner: EndPortIx, column: &[u8], state: &mut Vec<State>) {
    state.clear();
    state.resize(column.len(), State::Unknown);
    let mut way = Vec::new();
    for from in 0..count32(column.len()) {
        let mut here = SwitchIx(from);
        let end = loop {
            match state[here.index()] {
                State::Unknown => {}
                known => break known,
            }
            // A circle comes back to this.
            state[here.index()] = State::Lost;
            way.push(here);
            match next(topology, owner, here, column[here.index()]) {
                Next::Switch(far) => here = far,
                Next::Arrived => break State::Arrives,
                Next::Lost => break State::Lost,
            }
        };
        way.drain(..).for_each(|switch| state[switch.index()] = end);
    }
}

enum Next {
    Switch(SwitchIx),
    Arrived,
    Lost,
}

fn next(topology: &Topology, owner: EndPortIx, here: SwitchIx, port: u8) -> Next {
    let delivers_to = match port {
        NO_PATH => return Next::Lost,
        0 => topology.switch(here).port0,
        port => match topology.peer(here, port) {
            Peer::Switch { switch, .. } => return Next::Switch(switch),
            Peer::EndPort(end) => end,
            Peer::Nothing => return Next::Lost,
        },
    };
    if delivers_to == owner {
        Next::Arrived
    } else {
        Next::Lost
    }
}
