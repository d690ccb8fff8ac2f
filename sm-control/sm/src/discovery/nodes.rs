//! Answers to NodeInfo: new nodes, links, and what cannot be.
//!
//! | who answers through a port | then |
//! |---|---|
//! | a node that is not known yet | it is taken in, with a link from that port; its own attributes are asked for |
//! | a known switch, at a port without a peer | one more link |
//! | a known CA or router, at a port that nobody has entered yet | one more link, and an end port more |
//! | a known node, at a port that is joined to another one already | two nodes with one GUID: the first is kept |
//! | a known GUID with another type, port count or vendor | the same |
//! | the node from which it was asked | a cable from the node back to itself: the link is left out |
//! | no node type, GUID 0, a port that the node has not | an answer that cannot be: nobody is taken in |
//!
//! Where a subnet is read again that is known, a link that was down meanwhile may lead elsewhere, so there is more to decide (`again::links`):
//!
//! | who answers through such a port | then |
//! |---|---|
//! | the node that was there | the link is confirmed, and its far end looked at |
//! | a known node that is joined to another port | that port is looked at first; then one more link, or two nodes with one GUID |
//! | the same place, other NodeInfo | all is found anew |
//! | this SM's own port, another node | the same |
//!
//! SystemImageGUID is the one thing of NodeInfo that may change while a node runs: a trap says so, and it is asked for by itself.
//!
//! Nothing of a node is overwritten by a later answer: the first way that leads to it is the one by which it is asked and written
//! to, and that is a shortest one, as questions go out in the order of their hops as long as nobody is slow. Sweeps that read again
//! find ways by the links that are known, before they ask.

use sa_fabric::{NodeIx, PortRef};
use sa_wire::Guid;
use sa_wire::records::NodeRecord;
use sa_wire::smp::attribute;

use super::{Discovery, Question};
use crate::model::attributes::{self, Data};
use crate::model::{Finding, Node, Place, Route};

/// Who answered, at which of its ports, after which way.
///
/// Checked in itself; whether it fits what is known is what the cases decide.
struct Answer {
    /// With its NodeInfo alone.
    node: Node,
    /// Its port at the end of the way.
    entered: u8,
    /// The way.
    route: Route,
    /// What it answered to.
    m_key: u64,
}

impl Discovery {
    /// Errors are findings: an answer that cannot be ends here.
    pub(super) fn node_told(
        &mut self,
        from: Option<PortRef>,
        (route, m_key): (Route, u64),
        data: &Data,
    ) {
        let record = attributes::node_record(data);
        let [entered, ..] = record.port_and_vendor.get().to_be_bytes();
        let place = Place {
            route: route.clone(),
            node: Guid::new(record.node_guid.get()).ok(),
            port: Some(entered),
        };
        let node = match Node::new(record) {
            Ok(node) => node,
            Err(error) => {
                from.into_iter().for_each(|from| self.nobody_behind(from));
                return self.impossible(place, attribute::NODE_INFO, error.what());
            }
        };
        // An SM on a switch is behind its port 0; a link ends at none.
        let is_own_port0 = from.is_none() && node.is_switch() && entered == 0;
        if entered > node.port_count() || (entered == 0 && !is_own_port0) {
            return self.impossible(place, attribute::NODE_INFO, "it has no port of that number");
        }
        let answer = Answer {
            node,
            entered,
            route,
            m_key,
        };
        match self.subnet.by_guid(answer.node.guid()) {
            Some(known) => self.known_node(known, from, answer, place),
            None => self.new_node(from, answer, place),
        }
    }

    /// Takes a node in, and asks for what it has: of a switch all that leads on comes with the answer about its port 0.
    ///
    /// The order of the questions makes routes short: a switch's ports are asked through before those further away.
    fn new_node(&mut self, from: Option<PortRef>, answer: Answer, place: Place) {
        if self.subnet.nodes().len() >= self.options.most_nodes {
            return self.impossible(
                place,
                attribute::NODE_INFO,
                "there are more nodes than this SM may manage",
            );
        }
        let (is_switch, entered) = (answer.node.is_switch(), answer.entered);
        let node = self.subnet.add(answer.node);
        self.reached(node, entered, answer.route);
        let at = PortRef {
            node,
            port: entered,
        };
        let end = if is_switch { 0 } else { entered };
        self.contacted(PortRef { node, port: end }, from, answer.m_key);
        match from {
            Some(from) => {
                self.subnet.join(from, at);
                self.taken_in(from, node);
            }
            // This SM's own port is not where it was, so no way of those that are known begins there.
            None if self.again.is_some() => self.doubt(),
            None => self.subnet.set_sm(at),
        }
        if !self.describes(node) {
            self.ask(Question::Description { at });
        }
        if is_switch {
            self.ask(Question::Switch { node });
            self.ask_port(PortRef { node, port: 0 }, false);
        } else {
            self.ask_port(at, false);
        }
    }

    /// One more way to a node: a link, another port of a CA, a cable back to where it comes from, or another node with
    /// the same GUID.
    fn known_node(&mut self, node: NodeIx, from: Option<PortRef>, answer: Answer, place: Place) {
        let at = PortRef {
            node,
            port: answer.entered,
        };
        let Some(known) = self.subnet.node(node) else {
            return;
        };
        let is_same = is_same(&known.record, &answer.node.record);
        let Some(from) = from else {
            // Another one is at the end of a way that is in use. One that was replaced since it was asked by is nobody's.
            let meant = self.end_of(&answer.route);
            if meant.is_some_and(|meant| meant.node != node) {
                self.doubt();
            }
            return self.told_anew(node, &answer.node.record);
        };
        if !is_same {
            return match self.is_doubted(from) && self.subnet.peer(from) == Some(at) {
                // Another device, or new firmware, in the place of the one that was there.
                true => self.doubt(),
                false => {
                    self.nobody_behind(from);
                    self.duplicate(at, place);
                }
            };
        }
        if from.node == node {
            let (one, other) = (self.place_of(from.min(at)), self.place_of(from.max(at)));
            return self.subnet.note(Finding::CableLoop { one, other });
        }
        // A node that moved is known to have left its old place only when that was looked at.
        let is_elsewhere = self.subnet.peer(at).is_some_and(|peer| peer != from);
        if is_elsewhere && self.is_to_be_judged(from, at) {
            return;
        }
        if is_elsewhere {
            self.nobody_behind(from);
            return self.duplicate(at, place);
        }
        let known = self.subnet.node(node).filter(|known| !known.is_switch());
        let port = known.and_then(|known| known.port(at.port));
        let is_new_port = port.is_some_and(|port| port.route.is_none());
        let old = self.subnet.peer(from).filter(|peer| *peer != at);
        if is_new_port {
            self.reached(node, at.port, answer.route);
            self.contacted(at, Some(from), answer.m_key);
            if let Some(port) = self.subnet.port_mut(at) {
                port.guid = Guid::new(answer.node.record.port_guid.get()).ok();
            }
        }
        self.confirmed(from, at);
        self.subnet.join(from, at);
        if is_new_port && self.again.is_none() {
            self.ask_port(at, false);
        }
        if let Some(old) = old {
            self.look_at_far_end(old);
        }
    }

    /// NodeInfo of a node that is known, by a way that was known: SystemImageGUID may be another.
    ///
    /// What else differs makes it another device: then nothing that is known of it counts.
    fn told_anew(&mut self, node: NodeIx, record: &NodeRecord) {
        let Some(known) = self.subnet.node_mut(node).filter(|_| self.again.is_some()) else {
            return;
        };
        let old = core::mem::replace(
            &mut known.record.system_image_guid,
            record.system_image_guid,
        );
        let is_same = is_same(&known.record, record);
        self.changed(old != record.system_image_guid);
        if !is_same {
            self.doubt();
        }
    }

    /// Two places claim one GUID. The node that came first is managed, as a choice that changed would move its LIDs.
    fn duplicate(&mut self, kept: PortRef, left_out: Place) {
        let Some(guid) = self.subnet.node(kept.node).map(Node::guid) else {
            return;
        };
        let kept = self.place_of(kept);
        self.subnet.note(Finding::DuplicateGuid {
            guid,
            kept,
            left_out,
        });
    }

    /// The way to a node: of a switch to port 0, else to the port that was entered.
    fn reached(&mut self, node: NodeIx, entered: u8, route: Route) {
        let Some(found) = self.subnet.node_mut(node) else {
            return;
        };
        let guid = Guid::new(found.record.port_guid.get()).ok();
        let end = found.end_port(entered);
        if let Some(port) = found.port_mut(end) {
            port.route = Some(route);
            port.guid = guid;
        }
    }
}

/// Two answers of one node differ in nothing but the port that was asked.
///
/// SystemImageGUID is compared too; `told_anew` takes a new one over before.
pub(super) fn is_same(one: &NodeRecord, other: &NodeRecord) -> bool {
    let of_node = |it: &NodeRecord| {
        let vendor = it.port_and_vendor.get() & 0x00ff_ffff;
        let device = (it.device_id, it.revision, it.partition_cap);
        (
            it.node_type,
            it.num_ports,
            it.system_image_guid,
            device,
            vendor,
        )
    };
    of_node(one) == of_node(other)
}
