//! Nodes that a sweep has not heard, and that are there all the same.
//!
//! | a node known before | now | then |
//! |---|---|---|
//! | answers | | what it did not tell this time counts as before |
//! | does not answer | the link of a neighbour towards it is up | it keeps its place: mute |
//! | does not answer | is behind one that is mute, by a link that was up | the same |
//! | does not answer | no link towards it is up | it is gone |
//!
//! This is for sweeps that find all anew. Those that go on from what is known never take a node out for its silence, so they need no memory of it.
//!
//! # When a link says enough
//!
//! A neighbour's port that is Active was not down since an SM made it so, and then the same node is behind it. One in Init or Armed may have got
//! another cable meanwhile; it counts only where it was in that very state before. So of a subnet that is being brought up, and
//! loses an SMP meanwhile, nothing is forgotten, and a host that was replaced by one that says nothing is not taken for the old one.
//!
//! # What was told in part
//!
//! A node whose NodeInfo is there and whose SwitchInfo or PortInfo is not counts as it was before in what it did not tell. A switch of
//! which that is so is mute: nothing is written to what may be other than it is believed to be.
//!
//! A device whose management agent hangs forwards packets on. Taken for dead it would take with it what works.

use std::collections::VecDeque;

use sa_fabric::{NodeIx, PortRef};

use super::{PortState, Subnet};

impl Subnet {
    /// Takes nodes of `before` back that are mute, with all that they told then. Gives how many.
    pub(crate) fn recall(&mut self, before: &Self) -> usize {
        let links: Vec<(PortRef, PortRef)> = self.unanswered(before).collect();
        let (mut front, mut count) = (VecDeque::from(links), 0);
        while let Some((near, far)) = front.pop_front() {
            // Places of before are no places of now: GUIDs are what both know.
            let Some(old) = before.node(far.node) else {
                continue;
            };
            let known = self.by_guid(old.guid());
            let node = match known {
                Some(node) => node,
                None => {
                    let mut node = old.clone();
                    (node.is_mute, count) = (true, count + 1);
                    let ports = 0..=node.port_count();
                    // Places of before; links are joined one by one, as they are found to be up.
                    for number in ports.clone() {
                        if let Some(port) = node.port_mut(number) {
                            port.peer = None;
                        }
                    }
                    let at = self.add(node);
                    let behind = ports.filter_map(|port| {
                        let peer = before.peer(PortRef { port, ..far })?;
                        Some((PortRef { node: at, port }, peer))
                    });
                    front.extend(behind);
                    at
                }
            };
            let end = PortRef { node, ..far };
            let is_free = |at: PortRef| {
                let port = self.port(at);
                port.is_some_and(|port| port.peer.is_none() && port.state() > Some(PortState::Down))
            };
            // Another node may have answered behind either of them.
            if is_free(near) && is_free(end) {
                self.join(near, end);
            }
        }
        if count > 0 {
            self.find_ways();
        }
        count
    }

    /// Links that are up and lead to nobody now, with their far ends of before.
    fn unanswered<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = (PortRef, PortRef)> + 'a {
        self.places().flat_map(move |(at, node)| {
            let old = before.by_guid(node.guid());
            node.ports().filter_map(move |(port, it)| {
                let was = before.node(old?)?.port(port)?;
                // A link that was down meanwhile may lead to another node.
                let is_up = it.state() == Some(PortState::Active) || it.state() == was.state();
                let is_open = it.peer.is_none() && it.state() > Some(PortState::Down);
                let far = was.peer.filter(|_| is_open && is_up)?;
                Some((PortRef { node: at, port }, far))
            })
        })
    }

    /// What a node has not told this time, as it was before. True where it left any of it unanswered.
    pub(crate) fn fill_in(&mut self, at: NodeIx, before: &Self) -> bool {
        let Some(node) = self.node_mut(at) else {
            return false;
        };
        let old = before.by_guid(node.guid()).and_then(|at| before.node(at));
        let Some(old) = old.filter(|old| old.port_count() == node.port_count()) else {
            return false;
        };
        let is_switch = node.is_switch();
        let mut lacks = is_switch && node.switch_info.is_none();
        node.switch_info = node.switch_info.or(old.switch_info);
        for number in u8::from(!is_switch)..=node.port_count() {
            let info = old.port(number).and_then(|port| port.info);
            if let Some(port) = node.port_mut(number)
                && (is_switch || port.route.is_some())
                && port.info.is_none()
            {
                (port.info, lacks) = (info, lacks | info.is_some());
            }
        }
        lacks
    }
}
