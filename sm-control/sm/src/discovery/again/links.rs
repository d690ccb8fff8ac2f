//! What SwitchInfo and PortInfo say of links, and what is asked because of it.
//!
//! | PortState of a switch port, before and now | the link | then |
//! |---|---|---|
//! | any, Down | is parted | the switch at the other end is due; a CA or router loses the port, and is asked when a way leads there again |
//! | Down, any other | is new | NodeInfo through it |
//! | any, Init | was down meanwhile | NodeInfo through it; the far end's PortInfo, and P_Key tables of both, as a port that was off has forgotten them |
//! | Active, Active | is as it was | nothing; NodeInfo through it where the far end has never answered |
//!
//! Only an SM takes a link from Init on, so one that is Active without this SM's doing was not down. PortInfo that was read in this sweep is not read
//! again, from whichever end the word came.
//!
//! # Who is there
//!
//! | NodeInfo through a link that was down says | then |
//! |---|---|
//! | the node of before, at the port of before | the link is as it was |
//! | another node, that is known and free at that port | it has moved, and is joined here |
//! | another node, that is known and joined elsewhere | that other link is read first: down, it has moved; up, there are two nodes with one GUID |
//! | a node that is not known | it is taken in, as in a whole sweep |
//! | the node of before with another revision or port count | a device was replaced, or its firmware: the subnet is found anew |
//! | nothing, or what cannot be | the link leads to nobody, until a light sweep gets an answer |
//!
//! # What is kept
//!
//! Tables of a node all of whose links are in Init are forgotten when the sweep has looked: it may have been off. So are those of a node
//! with another LID or LinearFDBTop than it acknowledged: it was off in the middle of a sweep, or somebody else has written to it. All
//! others count as they were acknowledged, and that they are so is seen by the audit, in its turn.
//!
//! PortStateChange that was set is noted for the next light sweep, which reads that switch's ports once more: what changes between this
//! reading and the Set that clears the bit would be seen by nobody.

use sa_fabric::{NodeIx, PortRef};
use sa_wire::records::PortInfoRecord;

use super::super::Discovery;
use crate::model::same::told;
use crate::model::{Node, PortState};

impl Discovery {
    /// A switch that was asked anew: which of its ports are to be read.
    ///
    /// `says_change`: PortStateChange was set; `has_changed`: SwitchInfo is other than it was.
    pub(in crate::discovery) fn switch_looked_at(
        &mut self,
        node: NodeIx,
        has_changed: bool,
        says_change: bool,
    ) {
        if let Some(node) = self.subnet.node_mut(node) {
            // What changes between this and the Set that clears it is in no PortStateChange.
            node.is_unsettled = says_change;
        }
        let Some(again) = &mut self.again else { return };
        again.has_changed |= has_changed;
        let is_told = again.of_ports.remove(&node);
        // Twice in a sweep would be once too often: what changes meanwhile sets PortStateChange again.
        if !(says_change || is_told) || !again.touched.insert(node) {
            return;
        }
        let ports = self.subnet.node(node).map_or(0, Node::port_count);
        for port in 0..=ports {
            self.look_at_port(PortRef { node, port });
        }
    }

    /// What follows from PortInfo of a port that was known. `old` is what it told before.
    ///
    /// PortInfo of a switch port says most: what was down meanwhile shows by its state.
    pub(in crate::discovery) fn port_looked_at(&mut self, at: PortRef, old: &PortInfoRecord) {
        let Some(info) = self.subnet.port(at).and_then(|port| port.info) else {
            return;
        };
        let is_switch = self.subnet.node(at.node).is_some_and(Node::is_switch);
        let Some(again) = &mut self.again else { return };
        // Counters of violations and the port that was asked by are no change.
        again.has_changed |= told(info) != told(*old);
        again.touched.extend((!is_switch).then_some(at.node));
        let is_end = at.port == 0 || !is_switch;
        self.other_than(at.node, is_end && info.base_lid != old.base_lid);
        let (was, is) = (PortState::of(old), PortState::of(&info));
        if is_end && info.capability_mask.get() & PortInfoRecord::IS_SM == 0 {
            let is_gone = self.subnet.forget_manager(at).is_some();
            self.changed(is_gone);
        }
        if is_switch && at.port == 0 {
            // It was off, and its keys are gone.
            let is_other = info.base_lid != old.base_lid;
            let ports = self.subnet.node(at.node).map_or(0, Node::port_count);
            for port in (0..=ports).filter(|_| is_other) {
                self.ask_keys(PortRef { port, ..at });
            }
            return;
        }
        if self.subnet.sm() == Some(at) && is == Some(PortState::Init) && was > is {
            // Every way leads over this link, and the port may be plugged in elsewhere: who is on a way of before is not known.
            self.doubt();
        }
        if is_switch && was != is {
            // Whoever told of it, the switch has more to tell.
            self.look_at(at.node, true);
        }
        if is == Some(PortState::Down) {
            self.parted(at);
        } else if is == Some(PortState::Init) || was <= Some(PortState::Down) {
            self.came_up(at);
        } else if is_switch || self.subnet.sm() == Some(at) {
            self.follow(at);
        }
        self.judge(at);
    }

    /// The link of a port is down: its far end is looked at, if a way leads there.
    ///
    /// The one who told may be at either end: whoever is first parts the link, and the other finds it parted.
    pub(super) fn parted(&mut self, at: PortRef) {
        let Some(far) = self.subnet.part(at) else {
            return;
        };
        // Links changed, so ways have to be found anew before anything else goes out.
        if let Some(again) = &mut self.again {
            (again.has_changed, again.has_other_links) = (true, true);
            again.doubted.remove(&at);
            again.doubted.remove(&far);
        }
        if self.subnet.node(far.node).is_some_and(Node::is_switch) {
            return self.look_at(far.node, true);
        }
        // No way leads there now. It is asked as a new port when one does.
        if let Some(port) = self.subnet.port_mut(far) {
            port.info = None;
        }
        if let Some(again) = &mut self.again {
            again.read.remove(&far);
        }
    }

    /// A link was down meanwhile, or is new.
    ///
    /// Its keys are gone in any case: a port that was off has none.
    pub(super) fn came_up(&mut self, at: PortRef) {
        self.ask_keys(at);
        let is_way_on =
            self.subnet.node(at.node).is_some_and(Node::is_switch) || self.subnet.sm() == Some(at);
        let peer = self.subnet.peer(at);
        let Some(again) = &mut self.again else { return };
        if is_way_on {
            // From one end is enough, where the other one tells the same.
            let is_asked = peer.is_some_and(|far| again.judged.contains(&far));
            if again.judged.insert(at) && !is_asked {
                again.doubted.insert(at);
                self.follow(at);
            }
        } else if let Some(near) = peer {
            // A CA is asked through from its switch.
            self.look_at_far_end(near);
        }
    }

    /// A switch is asked whole, as it may have more to tell; of a CA the one port says all.
    pub(in crate::discovery) fn look_at_far_end(&mut self, far: PortRef) {
        let is_switch = self.subnet.node(far.node).is_some_and(Node::is_switch);
        match is_switch {
            true => self.look_at(far.node, true),
            false => self.look_at_port(far),
        }
    }

    /// A node is new behind a port.
    ///
    /// It is read as a new one, so it is not looked at again in this sweep.
    pub(in crate::discovery) fn taken_in(&mut self, from: PortRef, node: NodeIx) {
        if let Some(again) = &mut self.again {
            (again.has_changed, again.has_other_links) = (true, true);
            again.doubted.remove(&from);
            again.touched.insert(node);
        }
    }

    /// Two ports are joined, as one of them has told. True where that was known.
    ///
    /// The far end is read once more where the link was in doubt: its own state belongs to the same event.
    pub(in crate::discovery) fn confirmed(&mut self, from: PortRef, at: PortRef) -> bool {
        let was_known = self.subnet.peer(from) == Some(at) && self.subnet.peer(at) == Some(from);
        let Some(again) = &mut self.again else {
            return was_known;
        };
        let is_new = again.doubted.remove(&from) | again.doubted.remove(&at);
        if !was_known {
            (again.has_changed, again.has_other_links) = (true, true);
        }
        if is_new || !was_known {
            self.look_at_far_end(at);
        }
        was_known
    }

    /// A known node answers behind `from`, and its port `at` is joined to another one. True where that link is looked at first:
    /// whether it is down decides between a node that was moved and two nodes.
    ///
    /// Cost: one PortInfo, once for each link of before.
    pub(in crate::discovery) fn is_to_be_judged(&mut self, from: PortRef, at: PortRef) -> bool {
        let Some(old) = self.subnet.peer(at) else {
            return false;
        };
        let is_switch = self.subnet.node(old.node).is_some_and(Node::is_switch);
        let Some(again) = &mut self.again else {
            return false;
        };
        // Asked for in this sweep: what it says is known, or will be.
        let is_read = again.read.contains(&old) && !again.open.contains_key(&old.node);
        if !is_switch || is_read || again.claims.values().flatten().any(|port| *port == from) {
            return false;
        }
        again.claims.entry(old).or_default().push(from);
        self.look_at_port(old);
        true
    }

    /// A link of before was looked at: those who claim its far end are asked again.
    ///
    /// They asked while it was not known; now the answer decides as for any other port.
    pub(super) fn judge(&mut self, at: PortRef) {
        let claims = self
            .again
            .as_mut()
            .and_then(|again| again.claims.get(&at).cloned());
        for from in claims.into_iter().flatten() {
            self.follow(from);
        }
    }

    /// Nobody answers through a port whose link was down meanwhile.
    ///
    /// The link of before is parted; who was there is found by the other links that lead to it, or is gone.
    pub(in crate::discovery) fn nobody_behind(&mut self, from: PortRef) {
        let is_doubted = self
            .again
            .as_mut()
            .is_some_and(|again| again.doubted.remove(&from));
        if is_doubted && self.subnet.part(from).is_some() {
            self.changed(true);
            if let Some(again) = &mut self.again {
                again.has_other_links = true;
            }
        }
    }
}
