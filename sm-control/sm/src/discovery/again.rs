//! Reading again what may have changed of a subnet that is known.
//!
//! ```text
//!  Scope::Light   every switch: SwitchInfo ──(PortStateChange)──┐
//!  Scope::Told    SwitchInfo of those that told ────────────────┴──> PortInfo of all their ports
//!
//!  PortInfo says ──┬─ Down: the link is parted; the far end is looked at, by a way around
//!                  ├─ Init, or up where it was down: who is there? NodeInfo through it, then PortInfo of the far end
//!                  └─ Active, as before: nothing more
//! ```
//!
//! **Ways.** A switch is asked when those on the way to it are known to be as they were, and those that were not have been read: so a way over a
//! link that is down is replaced by one around it before anything is lost on it. A switch that told of a change is asked after
//! the near end of the last hop to it: that may be the very link.
//!
//! **Mute is not gone.** What does not answer is asked once more by another way, and keeps its place while links lead to it. It is
//! asked again by each light sweep, once, and what it told before counts.
//!
//! **What ends it.** A switch is looked at once as one that told and once as the far end of a link that changed; a link is asked through once
//! from each end, and once more where its far end claims to be elsewhere. No answer can make it more.
//!
//! When it is over ([`Again::end`]) nodes that no link leads to are left out, and tables of nodes that may have forgotten them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use sa_fabric::{NodeIx, PortRef};
use sa_wire::records::PortInfoRecord;
use sa_wire::smp::attribute;

use super::scope::{Heard, Scope, Told};
use super::{Discovery, Options, Question};
use crate::model::same::told;
use crate::model::{Finding, Node, Parents, PortState, Subnet};
use crate::reading;

/// How far it is.
#[derive(Debug)]
pub(super) struct Again {
    /// Switches that are to be asked.
    due: BTreeSet<NodeIx>,
    /// Of these, and of those that are being asked: those whose ports are to be read, whatever PortStateChange says.
    of_ports: BTreeSet<NodeIx>,
    /// Those of which the near end of the last hop was asked.
    is_approached: BTreeSet<NodeIx>,
    /// Switches that wait for one on the way to them.
    behind: BTreeMap<NodeIx, Vec<NodeIx>>,
    /// Those that no way leads to now.
    cut_off: Vec<NodeIx>,
    ready: VecDeque<NodeIx>,
    /// Questions about a node without an outcome.
    open: BTreeMap<NodeIx, usize>,
    ways: Parents,
    /// Links went or came.
    has_other_links: bool,
    /// PortInfo that was asked for.
    read: BTreeSet<PortRef>,
    /// Links that were down meanwhile, so that anybody may be at their far ends.
    doubted: BTreeSet<PortRef>,
    /// By a link of before: ports behind which its far end claims to be.
    claims: BTreeMap<PortRef, Vec<PortRef>>,
    judged: BTreeSet<PortRef>,
    /// Nodes of which all of PortInfo that matters is read anew.
    touched: BTreeSet<NodeIx>,
    /// Asked by another way.
    tried: BTreeSet<NodeIx>,
    /// Something is not as it was.
    has_changed: bool,
    /// A device says of itself what it cannot have become: the subnet has to be found anew.
    pub(super) is_in_doubt: bool,
    wrong_before: BTreeSet<Finding>,
}

impl Discovery {
    /// Begins with a subnet that is known. With none, and for [`Scope::Whole`], all is found anew.
    pub fn going_on(options: Options, mut subnet: Subnet, scope: &Scope) -> Self {
        let Some(sm) = subnet.sm().filter(|_| *scope != Scope::Whole) else {
            return Self::new(options);
        };
        subnet.begin();
        subnet.fix_key(options.keys.fixed());
        let again = Again {
            due: BTreeSet::new(),
            of_ports: BTreeSet::new(),
            is_approached: BTreeSet::new(),
            behind: BTreeMap::new(),
            cut_off: Vec::new(),
            ready: VecDeque::new(),
            open: BTreeMap::new(),
            ways: subnet.find_ways(),
            has_other_links: false,
            read: BTreeSet::new(),
            doubted: BTreeSet::new(),
            claims: BTreeMap::new(),
            judged: BTreeSet::new(),
            touched: BTreeSet::new(),
            tried: BTreeSet::new(),
            has_changed: false,
            is_in_doubt: false,
            wrong_before: subnet.found_wrong().clone(),
        };
        let mut discovery = Self {
            common_keys: options.keys.common(),
            lately: None,
            options,
            subnet,
            questions: VecDeque::new(),
            again: Some(Box::new(again)),
        };
        // Without its own port the SM reaches nobody; and who answers there says who this SM is.
        discovery.ask(Question::Node {
            from: None,
            route: crate::model::Route::default(),
        });
        discovery.look_at_port(sm);
        match scope {
            Scope::Told(told) => {
                if !discovery.begin_told(told) {
                    discovery.begin_light();
                }
            }
            Scope::Light(told) => {
                discovery.begin_told(told);
                discovery.begin_light();
            }
            Scope::Whole => {}
        }
        discovery
    }

    /// Switches, other SMs, and what has not answered so far.
    fn begin_light(&mut self) {
        let known: BTreeSet<_> = self.subnet.nodes().iter().map(Node::guid).collect();
        // Those of links that lead to nobody known come again where they stand.
        self.subnet.keep_findings(|finding| {
            let asked = finding.asked();
            asked.is_some_and(|(place, asked)| {
                let is_known = place.node.is_some_and(|node| known.contains(&node));
                is_known && asked != attribute::NODE_INFO
            })
        });
        let nodes: Vec<NodeIx> = self.subnet.places().map(|(at, _)| at).collect();
        for at in nodes {
            self.look_lightly(at);
        }
        let managers: Vec<PortRef> = self.subnet.managers().map(|(at, _)| at).collect();
        for at in managers {
            self.ask(Question::Manager { at });
        }
    }

    fn look_lightly(&mut self, node: NodeIx) {
        let Some(found) = self.subnet.node(node) else {
            return;
        };
        let ports = found.ports().map(|(port, it)| (PortRef { node, port }, it));
        let is_open =
            |port: &crate::model::Port| port.peer.is_none() && port.state() > Some(PortState::Down);
        let open = ports.filter(|(at, it)| at.port != 0 && is_open(it));
        let open: Vec<PortRef> = open.map(|(at, _)| at).collect();
        let first = found
            .end_ports()
            .next()
            .map(|(port, _)| PortRef { node, port });
        let (is_switch, is_mute) = (found.is_switch(), found.is_mute);
        let is_unsettled = found.is_unsettled;
        let is_nameless = found.record.description == [0; 64];
        if is_switch {
            open.into_iter().for_each(|at| self.follow(at));
            self.look_at(node, is_unsettled);
        }
        let Some(first) = first else {
            return;
        };
        if is_mute && !is_switch {
            self.look_at_port(first);
        } else if is_nameless && !is_mute {
            self.ask(Question::Description { at: first });
        }
    }

    /// What those told who have these LIDs. False where nobody has one of them: its device may have lost it, which a light sweep finds.
    fn begin_told(&mut self, told: &Told) -> bool {
        let mut by_lid: BTreeMap<u16, PortRef> = BTreeMap::new();
        for (at, port) in self.subnet.end_ports() {
            let Some(info) = port.info else { continue };
            let base = info.base_lid.get();
            let last = base.saturating_add((1 << (info.m_key_protect_and_lmc & 7)) - 1);
            let mut lids = (base..=last).filter(|lid| *lid != 0);
            if let Some(lid) = lids.next() {
                by_lid.insert(lid, at);
            }
            by_lid.extend(lids.map(|lid| (lid, at)));
        }
        let mut are_known = true;
        for (lid, heard) in told.iter() {
            match by_lid.get(&lid) {
                Some(at) => self.heard(*at, heard),
                None => are_known = false,
            }
        }
        are_known
    }

    fn heard(&mut self, at: PortRef, heard: Heard) {
        let is_switch = self.subnet.node(at.node).is_some_and(Node::is_switch);
        if heard.description {
            self.ask(Question::Description { at });
        }
        if heard.node
            && let Some(route) = self.subnet.route(at).cloned()
        {
            self.ask(Question::Node { from: None, route });
        }
        match (heard.ports, is_switch) {
            (false, _) => {}
            (true, true) => self.look_at(at.node, true),
            (true, false) => self.look_at_port(at),
        }
    }

    /// SwitchInfo of a switch, and then PortInfo of its ports, with `of_ports` in any case.
    pub(super) fn look_at(&mut self, node: NodeIx, of_ports: bool) {
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
    pub(super) fn look_at_port(&mut self, at: PortRef) {
        let Some(again) = &mut self.again else { return };
        if !again.read.insert(at) {
            return;
        }
        let extended = self.has_extended_speeds(at.node) && at.port != 0;
        self.ask_port(at, extended);
    }

    fn has_extended_speeds(&self, node: NodeIx) -> bool {
        let node = self.subnet.node(node).filter(|node| node.is_switch());
        let info = node.and_then(|node| node.port(0)?.info);
        let mask = info.map_or(0, |info| info.capability_mask.get());
        mask & PortInfoRecord::EXTENDED_SPEEDS != 0
    }

    /// Lets those go on whose way is known to be whole. To be called before a question is given out.
    pub(super) fn release(&mut self) {
        loop {
            let Some(again) = &mut self.again else { return };
            if core::mem::take(&mut again.has_other_links) {
                again.ways = self.subnet.find_ways();
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
    fn approach(&mut self, node: NodeIx) {
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
        self.ask(Question::Switch { node });
    }

    /// A question about a node is without an outcome from now on.
    pub(super) fn opened(&mut self, question: &Question) {
        if let (Some(again), Some(at)) = (&mut self.again, question.asked_of()) {
            *again.open.entry(at.node).or_default() += 1;
        }
    }

    /// A question about a node has its outcome, and what follows from that is asked.
    pub(super) fn closed(&mut self, question: &Question) {
        let (Some(again), Some(at)) = (&mut self.again, question.asked_of()) else {
            return;
        };
        let Some(open) = again.open.get_mut(&at.node) else {
            return;
        };
        *open = open.saturating_sub(1);
        if *open == 0 {
            again.open.remove(&at.node);
            let behind = again.behind.remove(&at.node).unwrap_or_default();
            again.ready.extend(behind);
        }
    }

    /// A switch that was asked anew: which of its ports are to be read.
    pub(super) fn switch_looked_at(&mut self, node: NodeIx, has_changed: bool, says_change: bool) {
        if let Some(node) = self.subnet.node_mut(node) {
            // What changes between this and the Set that clears it is in no PortStateChange.
            node.is_unsettled = says_change;
        }
        let Some(again) = &mut self.again else { return };
        again.has_changed |= has_changed;
        let is_told = again.of_ports.remove(&node);
        if !(says_change || is_told) || !again.touched.insert(node) {
            return;
        }
        let ports = self.subnet.node(node).map_or(0, Node::port_count);
        for port in 0..=ports {
            self.look_at_port(PortRef { node, port });
        }
    }

    /// What follows from PortInfo of a port that was known. `old` is what it told before.
    pub(super) fn port_looked_at(&mut self, at: PortRef, old: &PortInfoRecord) {
        let Some(info) = self.subnet.port(at).and_then(|port| port.info) else {
            return;
        };
        let is_switch = self.subnet.node(at.node).is_some_and(Node::is_switch);
        let Some(again) = &mut self.again else { return };
        again.has_changed |= told(info) != told(*old);
        again.touched.extend((!is_switch).then_some(at.node));
        let (was, is) = (PortState::of(old), PortState::of(&info));
        let is_end = at.port == 0 || !is_switch;
        if is_end && info.capability_mask.get() & PortInfoRecord::IS_SM == 0 {
            let is_gone = self.subnet.forget_manager(at).is_some();
            self.changed(is_gone);
        }
        if is_switch && at.port == 0 {
            // It was off, and its keys are gone.
            if info.base_lid != old.base_lid {
                self.ask_keys(at);
            }
            return;
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
    fn parted(&mut self, at: PortRef) {
        let Some(far) = self.subnet.part(at) else {
            return;
        };
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
    fn came_up(&mut self, at: PortRef) {
        self.ask_keys(at);
        let is_way_on =
            self.subnet.node(at.node).is_some_and(Node::is_switch) || self.subnet.sm() == Some(at);
        let peer = self.subnet.peer(at);
        let Some(again) = &mut self.again else { return };
        if is_way_on {
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

    pub(super) fn look_at_far_end(&mut self, far: PortRef) {
        let is_switch = self.subnet.node(far.node).is_some_and(Node::is_switch);
        match is_switch {
            true => self.look_at(far.node, true),
            false => self.look_at_port(far),
        }
    }

    /// A link that may lead elsewhere now.
    pub(super) fn is_doubted(&self, at: PortRef) -> bool {
        self.again
            .as_ref()
            .is_some_and(|it| it.doubted.contains(&at))
    }

    /// A node is new behind a port.
    pub(super) fn taken_in(&mut self, from: PortRef, node: NodeIx) {
        if let Some(again) = &mut self.again {
            (again.has_changed, again.has_other_links) = (true, true);
            again.doubted.remove(&from);
            again.touched.insert(node);
        }
    }

    /// Two ports are joined, as one of them has told. True where that was known.
    pub(super) fn confirmed(&mut self, from: PortRef, at: PortRef) -> bool {
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
    pub(super) fn is_to_be_judged(&mut self, from: PortRef, at: PortRef) -> bool {
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
    fn judge(&mut self, at: PortRef) {
        let claims = self
            .again
            .as_mut()
            .and_then(|again| again.claims.get(&at).cloned());
        for from in claims.into_iter().flatten() {
            self.follow(from);
        }
    }

    /// A device at a place that was known says something of itself that does not change while it runs.
    pub(super) fn doubt(&mut self) {
        if let Some(again) = &mut self.again {
            again.is_in_doubt = true;
        }
    }

    pub(super) fn changed(&mut self, has_changed: bool) {
        if let Some(again) = &mut self.again {
            again.has_changed |= has_changed;
        }
    }

    /// A node has answered: it is not mute.
    pub(super) fn answers(&mut self, node: NodeIx) {
        let was_mute = self
            .subnet
            .node_mut(node)
            .is_some_and(|node| core::mem::take(&mut node.is_mute));
        if !was_mute {
            return;
        }
        self.changed(true);
        // Whatever it has missed.
        let is_switch = self.subnet.node(node).is_some_and(Node::is_switch);
        if let Some(again) = self.again.as_mut().filter(|_| is_switch) {
            again.of_ports.insert(node);
        }
    }

    /// A node has not answered. True where it is asked again, by another way.
    pub(super) fn has_other_way(&mut self, question: &Question) -> bool {
        let Question::Switch { node } = *question else {
            return false;
        };
        let Some(again) = &mut self.again else {
            return false;
        };
        if !again.tried.insert(node) {
            return false;
        }
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
    pub(super) fn is_silent(&mut self, node: NodeIx) {
        if self.again.is_none() {
            return;
        }
        if let Some(found) = self.subnet.node_mut(node) {
            let is_new = !core::mem::replace(&mut found.is_mute, true);
            self.changed(is_new);
        }
    }

    /// Nobody answers through a port whose link was down meanwhile.
    pub(super) fn nobody_behind(&mut self, from: PortRef) {
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

    /// A device that has left its last request unanswered, now or in the sweep before: it gets one try.
    pub(crate) fn is_doubtful(&self, question: &Question) -> bool {
        let node = question.asked_of().map(|at| at.node);
        node.is_some_and(|at| {
            let is_mute = self.subnet.node(at).is_some_and(|node| node.is_mute);
            is_mute || self.again.as_ref().is_some_and(|it| it.tried.contains(&at))
        })
    }
}

impl Again {
    /// The subnet as it is now.
    pub(super) fn end(mut self, mut subnet: Subnet) -> Subnet {
        if self.has_other_links {
            self.ways = subnet.find_ways();
        }
        for at in &self.touched {
            if let Some(node) = subnet
                .node_mut(*at)
                .filter(|it| reading::may_have_forgotten(it))
            {
                // Keys of ports that came up were read just now, those of others are asked for when these come up.
                node.tables.keep_keys();
            }
        }
        self.has_changed |= subnet.drop_unreached(&self.ways) > 0;
        self.has_changed |= *subnet.found_wrong() != self.wrong_before;
        let keeps = !subnet.nodes().iter().any(reading::may_have_forgotten);
        subnet.set_as_left(keeps && !self.has_changed);
        subnet
    }
}
