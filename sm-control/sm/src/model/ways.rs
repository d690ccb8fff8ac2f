//! Ways over the links that are known, and what no way leads to.
//!
//! ```text
//!  the SM's port ──> switches that answer, nearest first ──> switches that are mute, and what is behind them alone
//! ```
//!
//! | | way |
//! |---|---|
//! | the SM's own node | the empty one |
//! | a switch | to its port 0: the shortest, by the port that was looked at first |
//! | a CA or router | one to each port that a link leads to: it hands nothing on from one to the other |
//! | behind a mute switch alone | over that one |
//! | behind more than 63 hops | none |
//!
//! Ways that sweeps have found are as good as these, but were found in the order of answers. From the first sweep on that reads again they
//! are the ones of here, so that what was asked by which way does not depend on who was slow.
//!
//! # Cost
//!
//! One look at each port, and a route for each end port: below a millisecond at 1,000 nodes. It is done when links came or went, and not
//! for each of them (`discovery::again::turns`).
//!
//! A directed route is answered by every switch on it, so a way around a mute one is taken where there is any, however long. The order of
//! nodes and ports decides between ways of one length: the same subnet has the same ways.

use std::collections::VecDeque;

use sa_fabric::{NodeIx, PortRef};

use super::{Node, Route, Subnet};

/// By node: the port by which the last hop to it leaves the node before. `None` for the SM's own node, and for nodes that no way leads to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Parents(Vec<Option<PortRef>>);

impl Parents {
    /// The near end of the last hop to a node.
    pub(crate) fn of(&self, node: NodeIx) -> Option<PortRef> {
        *self.0.get(node.get())?
    }
}

impl Subnet {
    /// Gives every end port the shortest way to it; of a node that is reached, ports without a way lose theirs. What is not reached keeps
    /// the ways that it had.
    pub(crate) fn find_ways(&mut self) -> Parents {
        let mut parents = Parents(vec![None; self.nodes.len()]);
        let Some(sm) = self.sm else {
            return parents;
        };
        let mut ways: Vec<(PortRef, Route)> = vec![(sm, Route::default())];
        let mut is_reached = vec![false; self.nodes.len()];
        let (mut front, mut mute) = (
            VecDeque::from([(sm.node, Route::default())]),
            VecDeque::new(),
        );
        if let Some(reached) = is_reached.get_mut(sm.node.get()) {
            *reached = true;
        }
        // Mute ones last: what can be reached otherwise is, before these are gone on from.
        while let Some((at, route)) = front.pop_front().or_else(|| mute.pop_front()) {
            for (near, far) in self.ways_on(at) {
                let Some(route) = route.then(near.port) else {
                    continue;
                };
                let (Some(node), Some(reached)) =
                    (self.node(far.node), is_reached.get_mut(far.node.get()))
                else {
                    continue;
                };
                let is_first = !core::mem::replace(reached, true);
                if is_first && let Some(parent) = parents.0.get_mut(far.node.get()) {
                    *parent = Some(near);
                }
                let end = PortRef {
                    port: node.end_port(far.port),
                    ..far
                };
                // A switch has one end port, a CA one for each link. The SM's own is not asked by way of its switch.
                if is_first || (!node.is_switch() && end != sm) {
                    ways.push((end, route.clone()));
                }
                match (is_first && node.is_switch(), node.is_mute) {
                    (false, _) => {}
                    (true, false) => front.push_back((far.node, route)),
                    (true, true) => mute.push_back((far.node, route)),
                }
            }
        }
        self.set_ways(ways, &is_reached);
        parents
    }

    /// Links by which packets go on from a node: from a CA only those of the SM's own port.
    fn ways_on(&self, at: NodeIx) -> Vec<(PortRef, PortRef)> {
        let node = self.node(at);
        let is_switch = node.is_some_and(Node::is_switch);
        let ports = node.into_iter().flat_map(Node::ports);
        let ends = ports.map(|(port, it)| (PortRef { node: at, port }, it.peer));
        let ends = ends.filter(|(near, _)| is_switch || self.sm == Some(*near));
        ends.filter_map(|(near, far)| Some((near, far?))).collect()
    }

    fn set_ways(&mut self, ways: Vec<(PortRef, Route)>, is_reached: &[bool]) {
        // Of a port whose link is gone nothing can be asked any more, though its node is there.
        for (node, _) in self.nodes.iter_mut().zip(is_reached).filter(|(_, is)| **is) {
            for number in 0..=node.port_count() {
                if let Some(port) = node.port_mut(number) {
                    port.route = None;
                }
            }
        }
        for (end, route) in ways {
            if let Some(port) = self.port_mut(end) {
                port.route = Some(route);
            }
        }
    }

    /// Another way to a switch than the one it has: by another of its links, over a switch that answers. `None` where there is none.
    pub(crate) fn other_way(&self, to: NodeIx, parents: &Parents) -> Option<Route> {
        let used = parents.of(to);
        let links = self.node(to)?.ports();
        let mut ways: Vec<Route> = links
            .filter_map(|(_, port)| port.peer)
            .filter(|near| Some(*near) != used && !self.leads_over(near.node, to, parents))
            .filter_map(|near| {
                let node = self.node(near.node)?;
                let answers = node.is_switch() && !node.is_mute;
                self.route(near).filter(|_| answers)?.then(near.port)
            })
            .collect();
        // Stable: of ways of one length the lowest port's.
        ways.sort_by_key(|way| way.ports().len());
        ways.into_iter().next()
    }

    /// Whether the way to a node leads over another one.
    fn leads_over(&self, node: NodeIx, over: NodeIx, parents: &Parents) -> bool {
        let mut here = node;
        // No way has more hops than there are nodes.
        for _ in 0..self.nodes.len() {
            if here == over {
                return true;
            }
            match parents.of(here) {
                Some(near) => here = near.node,
                None => return false,
            }
        }
        true
    }

    /// A link is down: both ends are without a peer. Gives the far end.
    pub(crate) fn part(&mut self, at: PortRef) -> Option<PortRef> {
        let far = self.port_mut(at)?.peer.take()?;
        if let Some(port) = self.port_mut(far).filter(|port| port.peer == Some(at)) {
            port.peer = None;
        }
        Some(far)
    }

    /// Leaves out all nodes that no link leads to. Those that stay get new places; gives how many are gone.
    pub(crate) fn drop_unreached(&mut self, parents: &Parents) -> usize {
        let own = self.sm.map(|sm| sm.node);
        let stays = |at: NodeIx| Some(at) == own || parents.of(at).is_some();
        let mut places = Vec::with_capacity(self.nodes.len());
        let mut next = 0;
        for (at, _) in self.places() {
            places.push(stays(at).then(|| NodeIx::nth(next)));
            next += usize::from(stays(at));
        }
        let gone = self.nodes.len().saturating_sub(next);
        if gone > 0 {
            self.move_to(&places);
        }
        gone
    }

    /// Shape: `places` as the nodes; ascending where there is one.
    // In place would be less memory and more cases: this happens when a node is gone, and not else.
    fn move_to(&mut self, places: &[Option<NodeIx>]) {
        let moved = |at: PortRef| {
            let node = (*places.get(at.node.get())?)?;
            Some(PortRef { node, ..at })
        };
        let nodes = core::mem::take(&mut self.nodes);
        let kept = nodes.into_iter().zip(places);
        self.nodes = kept
            .filter(|(_, to)| to.is_some())
            .map(|(node, _)| node)
            .collect();
        for node in &mut self.nodes {
            for number in 0..=node.port_count() {
                if let Some(port) = node.port_mut(number) {
                    port.peer = port.peer.and_then(moved);
                }
            }
        }
        self.by_guid = self.places().map(|(at, node)| (node.guid(), at)).collect();
        self.sm = self.sm.and_then(moved);
        let managers = core::mem::take(&mut self.managers).into_iter();
        self.managers = managers
            .filter_map(|(at, info)| Some((moved(at)?, info)))
            .collect();
    }
}
