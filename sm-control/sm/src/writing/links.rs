//! Links: Armed at both ends, then Active at both, each link for itself.

use sa_fabric::PortRef;

use super::Writing;
use super::set::{Kind, Set};
use crate::model::attributes::{Data, port_info_data};
use crate::model::{PortState, Subnet};

impl Writing {
    /// Brings up the links between nodes that hold all that they should; others wait.
    pub(super) fn release_links(&mut self, subnet: &Subnet) {
        self.release(subnet, |writing, at| writing.is_ready(at));
    }

    /// Brings up links between switches that hold all but changed routes: these may lead over them.
    /// Old routes do not, but for those that were never changed since the link went down: where they meet those of a fresh switch, `fresh`
    /// sees to it.
    pub(super) fn release_links_of_switches(&mut self, subnet: &Subnet) {
        let is_switch = |at: PortRef| {
            subnet
                .node(at.node)
                .is_some_and(crate::model::Node::is_switch)
        };
        self.release(subnet, |writing, at| {
            is_switch(at) && writing.is_prepared(at)
        });
    }

    /// Brings up those links whose both ends are ready; the others go on waiting.
    fn release(&mut self, subnet: &Subnet, is_ready: impl Fn(&Self, PortRef) -> bool) {
        let links = core::mem::take(&mut self.links);
        for (one, other) in links {
            if is_ready(self, one) && is_ready(self, other) {
                self.bring_up(subnet, one, other);
            } else {
                self.links.push((one, other));
            }
        }
    }

    /// What comes next for a link by the states of its ends. A link that is down at one end waits for a later sweep.
    fn bring_up(&mut self, subnet: &Subnet, one: PortRef, other: PortRef) {
        let states = [one, other].map(|at| (at, state(subnet, at)));
        let least = states.iter().filter_map(|(_, state)| *state).min();
        if states.iter().any(|(_, state)| state.is_none()) {
            return;
        }
        let next = match least {
            Some(PortState::Init) => PortState::Armed,
            Some(PortState::Armed) => PortState::Active,
            _ => return,
        };
        for (at, state) in states {
            if state < Some(next) {
                self.ask_state(subnet, at, next);
            }
        }
    }

    /// A Set of the state at one end. It waits behind what is in the queue, and counts as one of links until its outcome.
    fn ask_state(&mut self, subnet: &Subnet, at: PortRef, state: PortState) {
        if let Some(data) = with_state(subnet, at, state) {
            self.link_sets += 1;
            self.put_link(Set {
                at,
                kind: Kind::State(state),
                data,
            });
        }
    }

    /// One end is Armed: when the other one is too, both become Active.
    pub(super) fn armed(&mut self, subnet: &Subnet, at: PortRef) {
        let Some(peer) = subnet.peer(at) else {
            return;
        };
        let both = [at, peer];
        if both
            .iter()
            .all(|at| state(subnet, *at) >= Some(PortState::Armed))
        {
            self.bring_up(subnet, at, peer);
        }
    }
}

/// Every cable once, but those with an end that is Active at both already.
pub(super) fn to_bring_up(subnet: &Subnet) -> Vec<(PortRef, PortRef)> {
    let ends = subnet.places().flat_map(|(node, it)| {
        let ports = it.ports();
        ports.filter_map(move |(port, found)| Some((PortRef { node, port }, found.peer?)))
    });
    let is_up = |at: PortRef| state(subnet, at) == Some(PortState::Active);
    let links = ends.filter(|(one, other)| one < other);
    links
        .filter(|(one, other)| !(is_up(*one) && is_up(*other)))
        .collect()
}

/// The state that a port was last told to have, or has told.
fn state(subnet: &Subnet, at: PortRef) -> Option<PortState> {
    let state = subnet.port(at)?.state();
    state.filter(|state| *state > PortState::Down)
}

/// PortInfo as the port holds it, with no change but the state.
fn with_state(subnet: &Subnet, at: PortRef, state: PortState) -> Option<Data> {
    let info = subnet.port(at)?.info?;
    let mut info = super::wanted::settable(&info);
    info.speed_supported_and_state |= state as u8;
    // A second ClientReregister would make the host register twice.
    info.subnet_timeout &= 0x7f;
    Some(port_info_data(&info))
}
