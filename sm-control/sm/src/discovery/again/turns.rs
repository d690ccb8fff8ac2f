//! In which order switches are asked, so that no question goes where it must get lost.
//!
//! ```text
//!  due ──> ready ──┬─ a switch on the way to it is due or being asked ──> behind that one ──(it is done)──> ready
//!                  ├─ no way leads there now ──> cut off ──(links came or went)──> ready
//!                  ├─ it told of a change, and the near end of its last hop was not read ──> behind that end
//!                  ├─ another way leads there than before ──> NodeInfo by that way, then SwitchInfo
//!                  └─ else ──> SwitchInfo
//! ```
//!
//! An example. A cable between A and B fails; the SM's way to B led over it, and B's trap is the first to arrive:
//!
//! ```text
//!  B is ready: its last hop begins at port 3 of A, which is asked first             Get(PortInfo 3) of A
//!  A tells that port 3 is Down: the link is parted, A and B are due                  ways are found anew: B is behind C
//!  A is ready: nobody is before it that is due                                        Get(SwitchInfo) of A, then its ports
//!  B is ready: C, before it, is as it was                                              Get(NodeInfo) by way of C, Get(SwitchInfo), then its ports
//! ```
//!
//! Asked by the old way B would have cost four time-outs of 200 ms, and then have been taken for mute.
//!
//! In a light sweep all switches are due, so they are asked in waves, hop by hop. A wave is not a barrier: who is behind a slow switch waits for
//! it, others do not.
//!
//! # What it costs
//!
//! Ways are found anew when links came or went and another question is to go out, so once for a burst of answers: one look at each port of the
//! subnet. A switch is put behind another one at most as often as its way has hops, plus once for each time that ways are found anew.
//!
//! # What is under way
//!
//! A question for a node counts as open from when it is thought of until what follows from its answer is thought of, so "done" means
//! that nothing more of the node is to come. Questions about whoever is behind a port are nobody's, as nobody knows who that is.

use sa_fabric::{NodeIx, PortRef};
use sa_wire::records::PortInfoRecord;

use super::super::{Discovery, Question};
use super::Again;
use crate::model::{Node, Subnet};

impl Discovery {
    /// SwitchInfo of a switch, and then PortInfo of its ports, with `of_ports` in any case.
    ///
    /// Once in a sweep: a switch that was read is not read again for another trap.
    pub(in crate::discovery) fn look_at(&mut self, node: NodeIx, of_ports: bool) {
        let Some(again) = &mut self.again else { return };
        if again.touched.contains(&node) {
            return;
        }
        let is_more = of_ports && again.of_ports.insert(node);
        let is_new = again.due.insert(node);
        if is_more || is_new {
            again.due.insert(node);
            again.ready.push_back(node);
        }
    }

    /// PortInfo, once.
    ///
    /// Whoever asked first decides; what it says counts for all.
    pub(in crate::discovery) fn look_at_port(&mut self, at: PortRef) {
        let Some(again) = &mut self.again else { return };
        if !again.read.insert(at) {
            return;
        }
        let extended = self.has_extended_speeds(at.node) && at.port != 0;
        self.ask_port(at, extended);
    }

    /// As its port 0 says, which tells for all of its ports.
    pub(super) fn has_extended_speeds(&self, node: NodeIx) -> bool {
        let node = self.subnet.node(node).filter(|node| node.is_switch());
        let info = node.and_then(|node| node.port(0)?.info);
        let mask = info.map_or(0, |info| info.capability_mask.get());
        mask & PortInfoRecord::EXTENDED_SPEEDS != 0
    }

    /// Lets those go on whose way is known to be whole. To be called before a question is given out.
    ///
    /// Ends: each turn takes one out of `ready`, and what is put back waits for an answer or for other links.
    pub(in crate::discovery) fn release(&mut self) {
        loop {
            let Some(again) = &mut self.again else { return };
            if core::mem::take(&mut again.has_other_links) {
                again.find_ways(&mut self.subnet);
                let behind = core::mem::take(&mut again.behind);
                again.ready.extend(behind.into_values().flatten());
                again
                    .ready
                    .append(&mut core::mem::take(&mut again.cut_off).into());
            }
            let Some(node) = again.ready.pop_front() else {
                return;
            };
            if again.due.contains(&node) {
                self.approach(node);
            }
        }
    }

    /// Asks a switch, or has it wait for what is before it.
    ///
    /// Walks up its way to the SM: the nearest that is not settled is what it waits for.
    pub(super) fn approach(&mut self, node: NodeIx) {
        let own = self.subnet.sm().map(|sm| sm.node);
        let Some(again) = &mut self.again else { return };
        let mut here = node;
        while let Some(near) = again.ways.of(here) {
            here = near.node;
            let is_open = again.due.contains(&here) || again.open.contains_key(&here);
            if is_open && Some(here) != own {
                again.behind.entry(here).or_default().push(node);
                return;
            }
        }
        // The way ends at the SM, or nowhere.
        if Some(here) != own {
            again.cut_off.push(node);
            return;
        }
        // From here on everything on the way has told that it is as it was, or what it is now.
        let near = again.ways.of(node);
        let is_switch = |at: PortRef| self.subnet.node(at.node).is_some_and(Node::is_switch);
        if again.of_ports.contains(&node)
            && again.is_approached.insert(node)
            && let Some(near) = near.filter(|near| is_switch(*near))
            && !again.read.contains(&near)
        {
            again.behind.entry(near.node).or_default().push(node);
            self.look_at_port(near);
            return;
        }
        again.due.remove(&node);
        let is_rerouted = again.rerouted.remove(&node);
        let way = self.subnet.route(PortRef { node, port: 0 });
        if let Some(route) = way.filter(|_| is_rerouted).cloned() {
            // Only this SM thinks that this way leads there. NodeInfo, which no M_Key hides, says so before anything is written.
            self.ask(Question::Node { from: None, route });
        }
        self.ask(Question::Switch { node });
    }

    /// A question about a node is without an outcome from now on.
    ///
    /// Counted from being thought of: whoever waits for this node must not be let go before the last of them.
    pub(in crate::discovery) fn opened(&mut self, question: &Question) {
        if let (Some(again), Some(at)) = (&mut self.again, question.asked_of()) {
            *again.open.entry(at.node).or_default() += 1;
        }
    }

    /// A question about a node has its outcome, and what follows from that is asked.
    pub(in crate::discovery) fn closed(&mut self, question: &Question) {
        let (Some(again), Some(at)) = (&mut self.again, question.asked_of()) else {
            return;
        };
        let Some(open) = again.open.get_mut(&at.node) else {
            return;
        };
        *open = open.saturating_sub(1);
        if *open == 0 {
            again.open.remove(&at.node);
            // Ready, not asked: the links of this one may have gone, and with them the way.
            let behind = again.behind.remove(&at.node).unwrap_or_default();
            again.ready.extend(behind);
        }
    }
}

impl Again {
    /// The shortest ways over the links of now; those that are due and have another one than before are noted.
    fn find_ways(&mut self, subnet: &mut Subnet) {
        let way = |subnet: &Subnet, node| subnet.route(PortRef { node, port: 0 }).cloned();
        let before: Vec<_> = self.due.iter().map(|at| (*at, way(subnet, *at))).collect();
        self.ways = subnet.find_ways();
        let others = before
            .into_iter()
            .filter(|(at, old)| way(subnet, *at) != *old);
        self.rerouted.extend(others.map(|(at, _)| at));
    }
}
