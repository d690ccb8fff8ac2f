//! Who does not answer.
//!
//! | | the node | costs |
//! |---|---|---|
//! | SwitchInfo stays out after all tries | is asked by another of its links, over a switch that answers | a time-out |
//! | it stays out by that way too | is mute: a finding, and a change | |
//! | a mute switch, in each light sweep | is asked once by each of two ways | two SMPs, and a time-out that delays only who is behind it |
//! | PortInfo of a mute CA or router, in each light sweep | is asked once | one SMP |
//! | it answers anything | is mute no more; of a switch all ports are read, as it has missed what was written | |
//! | its links go down | is gone, mute or not | |
//!
//! Mute is said of a node and by silence alone: a refusal is an answer. A Set that stayed out makes a node mute too (`writing`), and the next
//! sweep that asks it decides. Switches behind a mute one are asked around it where there is a way, else over it: whether it
//! hands SMPs on, nobody knows before.
//!
//! In a sweep after a trap a mute switch is asked only if it has told something, so it costs nobody anything.

use sa_fabric::{NodeIx, PortRef};

use super::super::{Discovery, Question};
use crate::model::Node;

// Nothing here reads or sends: an answer and a silence are both given in.
impl Discovery {
    /// A node has answered: it is not mute.
    pub(in crate::discovery) fn answers(&mut self, node: NodeIx) {
        let was_mute = self
            .subnet
            .node_mut(node)
            .is_some_and(|node| core::mem::take(&mut node.is_mute));
        if !was_mute {
            return;
        }
        self.changed(true);
        // Whatever it has missed: routes and links of the time when it was mute.
        let is_switch = self.subnet.node(node).is_some_and(Node::is_switch);
        if let Some(again) = self.again.as_mut().filter(|_| is_switch) {
            again.of_ports.insert(node);
        }
    }

    /// A node has not answered. True where it is asked again, by another way.
    ///
    /// Once for a node in a sweep, so that silence costs a bounded time.
    pub(in crate::discovery) fn has_other_way(&mut self, question: &Question) -> bool {
        let Question::Switch { node } = *question else {
            return false;
        };
        let Some(again) = &mut self.again else {
            return false;
        };
        if !again.tried.insert(node) {
            return false;
        }
        // Around the last link of the way that it has: what is before that one has answered.
        let Some(way) = self.subnet.other_way(node, &again.ways) else {
            return false;
        };
        if let Some(port) = self.subnet.port_mut(PortRef { node, port: 0 }) {
            port.route = Some(way);
        }
        self.ask(Question::Switch { node });
        true
    }

    /// It does not answer by any way.
    ///
    /// That it is mute is a state of the model: the next sweep, the writing and the audit all look at it.
    pub(in crate::discovery) fn is_silent(&mut self, node: NodeIx) {
        if self.again.is_none() {
            return;
        }
        if let Some(found) = self.subnet.node_mut(node) {
            let is_new = !core::mem::replace(&mut found.is_mute, true);
            self.changed(is_new);
        }
    }

    /// A device that has left its last request unanswered, now or in the sweep before: it gets one try.
    ///
    /// Told to the executor before the question goes out ([`crate::executor::Executor::expect_silence`]).
    pub(crate) fn is_doubtful(&self, question: &Question) -> bool {
        let node = question.asked_of().map(|at| at.node);
        node.is_some_and(|at| {
            let is_mute = self.subnet.node(at).is_some_and(|node| node.is_mute);
            is_mute || self.again.as_ref().is_some_and(|it| it.tried.contains(&at))
        })
    }
}
