//! What has to be sent so that the subnet holds what it should, and in which order.
//!
//! ```text
//!  of each node, one stage after the other           then, when all nodes that answer are through: links
//!  PortStateChange, LinearFDBTop down ─> tables ─> PortInfo of ports, LinearFDBTop up ─> PortInfo of port 0 ─┐
//!                                         │                                           each link:             │
//!  only where data passes already:        ├─> links between switches                  Armed at both ends ─> Active
//!                                         └─> changed forwarding tables, destination first ─> LinearFDBTop up ...
//! ```
//!
//! Only what differs from what the node last acknowledged is sent, so a second sweep over a subnet that did not change
//! sends nothing. Nodes go through their stages at their own pace; no packet of data can pass a link that is not up.
//! Links come up when every node holds all that it should. A node that is slow or mute is not waited for: its own links
//! stay down until it is through, so no packet reaches its tables, and all others come up. A node that did not take a
//! table that packets need (forwarding, SL to VL, P_Keys) keeps its links down too.
//!
//! A switch with a link that is Active passes data while its forwarding table changes. Its blocks wait until all nodes have their
//! other tables, and links between switches are up over which new routes may lead; then they go in an order in which no packet goes
//! in a circle (`routes`, `order`). A fresh subnet has no such switch, and is written without any of this.
//!
//! A Set that is refused is a [`Finding`], and is sent again less and less often while the value wanted stays the same
//! ([`Memory`]). A field that a device does not keep is not sent again.
//!
//! # Who does not answer
//!
//! | node | in a sweep | when tables alone are written |
//! |---|---|---|
//! | was mute when it was asked last | gets no Set, and keeps what it last acknowledged; links of it that are down stay down | is tried once |
//! | leaves a Set unanswered | is mute from then on; what that Set was to write is not known | the same |
//! | answers | what it told is what it holds | the same; whether it is mute, the next sweep says |
//!
//! Between two sweeps nobody looks who answers, so tables that follow clients are tried on all. What is not written is found by the
//! comparison with what is wanted, as ever: no list is kept of it.
//!
//! Not here: links that have to be bounced for another MTU.

mod cables;
mod difference;
mod due;
mod fresh;
mod gate;
mod links;
mod order;
mod rehearsal;
mod routes;
mod set;
mod stages;
mod turns;
mod wanted;
mod ways;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use sa_fabric::{NodeIx, PortRef};
use sa_wire::smp::attribute;

use self::gate::Gate;
use self::routes::Routes;
use self::set::Kind;
use self::turns::{Next, Progress};
use crate::executor::{Outcome, Request};
use crate::model::attributes::{Data, port_info, port_info_data, switch_info, switch_info_data};
use crate::model::{Finding, Node, Place, PortState, Subnet};

pub use self::rehearsal::Rehearsal;
pub use self::set::{Memory, Set};
pub use self::stages::{Drained, DrainedLid};
pub use self::wanted::{Stage, Transition, Wanted};

/// The writing of one sweep.
#[derive(Debug)]
pub struct Writing {
    /// Shape: as the nodes of the subnet.
    nodes: Vec<Progress>,
    wanted: Arc<Wanted>,
    queue: VecDeque<Next>,
    /// Sets in the queue that were not given out.
    waiting: usize,
    /// Nodes that do not hold all that they should yet.
    unfinished: BTreeSet<NodeIx>,
    /// Links that are not up, and wait for their nodes.
    links: Vec<(PortRef, PortRef)>,
    is_open: bool,
    /// Nodes that do not hold all but changed routes yet.
    preparing: BTreeSet<NodeIx>,
    /// Sets of link states without an outcome.
    link_sets: usize,
    routes: Routes,
    gate: Gate,
    memory: Memory,
    failed: u64,
}

impl Writing {
    /// All that differs. `memory` is that of the sweep before.
    pub fn new(
        subnet: &Subnet,
        wanted: Arc<Wanted>,
        transition: Transition,
        memory: Memory,
    ) -> Self {
        Self::begin(subnet, (wanted, transition), memory, true)
    }

    /// With `leaves_mute` nothing goes to nodes that did not answer when they were asked last.
    fn begin(
        subnet: &Subnet,
        (wanted, transition): (Arc<Wanted>, Transition),
        mut memory: Memory,
        leaves_mute: bool,
    ) -> Self {
        memory.next_sweep(subnet);
        let mut routes = Routes::default();
        let progress = |(node, it): (NodeIx, &Node)| {
            // It keeps what it last acknowledged, and nobody waits for it. Links of it that are down stay down.
            if it.is_mute && leaves_mute {
                return Progress::new(difference::Stages::default(), true);
            }
            let (stages, is_held) =
                difference::of_node(subnet, node, &wanted, &memory, &mut routes);
            Progress::new(stages, is_held)
        };
        let mut nodes: Vec<Progress> = subnet.places().map(progress).collect();
        let holds_back = transition.holds_back_fresh;
        hold_back(subnet, &wanted, (&mut nodes, &mut routes), holds_back);
        let all: BTreeSet<NodeIx> = subnet.places().map(|(node, _)| node).collect();
        routes.set_transition(transition);
        let gate = match routes.is_before_tables() {
            true => Gate::Before,
            false => Gate::Tables,
        };
        let mut writing = Self {
            nodes,
            wanted,
            queue: VecDeque::new(),
            waiting: 0,
            unfinished: all.clone(),
            links: links::to_bring_up(subnet),
            is_open: false,
            preparing: all,
            link_sets: 0,
            routes,
            gate,
            memory,
            failed: 0,
        };
        // Switches first: what they tell of it is how a later process knows that nodes were written to.
        let is_switch = |node: &Node| node.is_switch();
        for switches in [true, false] {
            let nodes = subnet.places();
            for (node, _) in nodes.filter(|(_, node)| is_switch(node) == switches) {
                writing.go_on(node);
            }
        }
        writing
    }

    /// The same, with all links as they are, and also to nodes that are mute: whoever asks for that comes again, and no sweep looks before.
    pub fn without_links(subnet: &Subnet, wanted: Arc<Wanted>, memory: Memory) -> Self {
        Self {
            links: Vec::new(),
            ..Self::begin(subnet, (wanted, Transition::default()), memory, false)
        }
    }

    /// The next Set, for the executor. `is_slow` says which nodes leave requests unanswered now. `None`: answers have to
    /// come first, or all is done, if no Set is without its outcome.
    pub fn next_set(
        &mut self,
        subnet: &Subnet,
        now: Duration,
        is_slow: impl Fn(NodeIx) -> bool,
    ) -> Option<(Request, Set)> {
        loop {
            self.open(subnet, &is_slow);
            let set = self.next_queued(subnet);
            let Some(set) = set.or_else(|| self.next_route(subnet, now)) else {
                if self.end_routes(subnet) {
                    continue;
                }
                return None;
            };
            if let Some(request) = set.request(subnet) {
                return Some((request, set));
            }
            // No way to it: it was never found, so it is not counted as under way for longer.
            self.ended(&set, subnet);
        }
    }

    /// What came of a Set. The model then has what the node holds.
    pub fn answered(&mut self, set: &Set, outcome: Outcome, subnet: &mut Subnet) {
        match outcome {
            Outcome::Answered(data) => self.holds(set, &data, subnet),
            Outcome::Refused(status) => {
                if let Kind::State(state) = set.kind {
                    self.put_link(Set {
                        kind: Kind::Look(state),
                        ..set.clone()
                    });
                    return;
                }
                self.missed(set, subnet, true);
                let (attribute, modifier) = set.attribute(subnet);
                subnet.note(Finding::Refused {
                    place: place(subnet, set.at),
                    attribute,
                    modifier,
                    status: status.get(),
                });
            }
            Outcome::Mute => {
                self.missed(set, subnet, false);
                let (attribute, modifier) = set.attribute(subnet);
                let place = place(subnet, set.at);
                subnet.note(match subnet.hides_m_key(set.at) {
                    true => Finding::Locked { place },
                    false => Finding::Mute {
                        place,
                        attribute,
                        modifier,
                    },
                });
                if set.new_key(subnet).is_some() {
                    subnet.doubt_m_key(set.at);
                }
            }
        }
        self.ended(set, subnet);
    }

    /// Sets that were not given out yet.
    pub fn waiting(&self) -> usize {
        self.waiting + self.routes.waiting()
    }

    /// When [`Self::next_set`] may have something without an answer: packets of before are gone then.
    pub fn wakes_at(&self) -> Option<Duration> {
        self.routes.wakes_at()
    }

    /// What was without a path so far for the sake of changed routes; none where nothing was.
    pub fn drained(&self) -> Option<Drained> {
        self.routes.drained()
    }

    /// The same LID by LID, ascending.
    pub fn drained_lids(&self) -> Vec<DrainedLid> {
        self.routes.drained_lids()
    }

    /// Sets that were refused or not answered so far.
    pub const fn failed(&self) -> u64 {
        self.failed
    }

    /// What later sweeps need.
    pub fn into_memory(self) -> Memory {
        self.memory
    }

    /// A Set is over, with whatever outcome: who waited for it goes on.
    fn ended(&mut self, set: &Set, subnet: &Subnet) {
        if matches!(set.kind, Kind::State(_) | Kind::Look(_)) {
            self.link_sets = self.link_sets.saturating_sub(1);
            return;
        }
        // These are of no stage of the node.
        if self.routes.answered(set, subnet) {
            return;
        }
        self.done(set.at.node);
        // A slow node is through after all.
        if self.is_open && !self.unfinished.contains(&set.at.node) {
            self.release_links(subnet);
        }
    }

    /// A node whose links may come up.
    fn is_ready(&self, at: PortRef) -> bool {
        let progress = self.nodes.get(at.node.get());
        progress.is_some_and(|it| !it.is_held) && !self.unfinished.contains(&at.node)
    }

    /// A node that holds all but changed routes.
    fn is_prepared(&self, at: PortRef) -> bool {
        let progress = self.nodes.get(at.node.get());
        progress.is_some_and(|it| !it.is_held) && !self.preparing.contains(&at.node)
    }

    /// A Set was not done. What the node holds is known still where it said that it refuses.
    fn missed(&mut self, set: &Set, subnet: &mut Subnet, is_refused: bool) {
        self.failed += 1;
        let needed = match set.kind {
            Kind::Switch | Kind::State(_) | Kind::Look(_) => false,
            Kind::Port => !is_refused,
            Kind::Table(block) => difference::NEEDED.contains(&block.attribute),
        };
        if let Some(progress) = self.nodes.get_mut(set.at.node.get()) {
            progress.is_held |= needed;
        }
        // Who refuses SL2VL will not have it in a later sweep either, so waiting is of no use.
        let is_sl2vl = matches!(set.kind, Kind::Table(it) if it.attribute == attribute::SL_TO_VL);
        if is_sl2vl && !is_refused && turns::passes_data(subnet, set.at.node) {
            self.routes.give_up();
            // Who waited for these has nothing to wait for any more.
            if self.routes.is_over() {
                subnet.places().for_each(|(node, _)| self.go_on(node));
            }
        }
        if is_refused && let Some(key) = key(set, subnet) {
            self.memory.note(key, set.data, None);
        }
        if let Some(node) = subnet.node_mut(set.at.node).filter(|_| !is_refused) {
            // One lost Set is not yet silence, but to wait for is nothing by then.
            // It is asked by the next sweep, and written to when it answers.
            node.is_mute = true;
            if let Kind::Table(block) = set.kind {
                node.tables.forget(block, &set.data);
            }
        }
    }

    /// It answered a Set with something else. Fields that a port does not have are no harm; tables are.
    fn not_kept(&mut self, set: &Set, subnet: &mut Subnet) {
        let Kind::Table(block) = set.kind else {
            return;
        };
        if let Some(progress) = self.nodes.get_mut(set.at.node.get()) {
            progress.is_held |= difference::NEEDED.contains(&block.attribute);
        }
        let place = place(subnet, set.at);
        subnet.note(Finding::Impossible {
            place,
            attribute: block.attribute,
            what: "it does not keep what is written there",
        });
    }

    /// A Set that is given up without an outcome: what the node holds is not known. PortInfo and SwitchInfo need no such
    /// word, as every sweep reads them.
    pub(crate) fn given_up(set: &Set, subnet: &mut Subnet) {
        if let (Kind::Table(block), Some(node)) = (set.kind, subnet.node_mut(set.at.node)) {
            node.tables.forget(block, &set.data);
        }
        if set.new_key(subnet).is_some() {
            subnet.doubt_m_key(set.at);
        }
    }

    /// The node says what it holds now.
    fn holds(&mut self, set: &Set, data: &Data, subnet: &mut Subnet) {
        if let Some(key) = key(set, subnet) {
            let (sent, held) = comparable(set, data);
            match sent == held {
                true => self.memory.forget(&key),
                false => {
                    self.memory.note(key, set.data, Some(held));
                    self.not_kept(set, subnet);
                }
            }
        }
        match set.kind {
            Kind::Switch => {
                if let Some(node) = subnet.node_mut(set.at.node) {
                    node.switch_info = Some(switch_info(data));
                }
            }
            Kind::Table(block) => {
                if let Some(node) = subnet.node_mut(set.at.node) {
                    node.tables.set(block, *data);
                }
            }
            Kind::Port | Kind::State(_) | Kind::Look(_) => {
                let new_key = set.new_key(subnet);
                subnet.told(set.at, port_info(data));
                if let Some(key) = new_key {
                    subnet.took_m_key(set.at, key);
                }
            }
        }
        match set.kind {
            Kind::State(PortState::Armed) => self.armed(subnet, set.at),
            Kind::Look(state) => self.looked(set.at, state, subnet),
            _ => {}
        }
    }

    /// After a refused state: is it so already?
    fn looked(&mut self, at: PortRef, wanted: PortState, subnet: &mut Subnet) {
        let state = subnet.port(at).and_then(|port| port.state());
        if state < Some(wanted) {
            let place = place(subnet, at);
            return subnet.note(Finding::Impossible {
                place,
                attribute: attribute::PORT_INFO,
                what: "it refuses the next state of its link",
            });
        }
        if wanted == PortState::Armed {
            self.armed(subnet, at);
        }
    }
}

/// LIDs of fresh switches that change together with those of others: see `fresh`.
fn hold_back(
    subnet: &Subnet,
    wanted: &Wanted,
    (nodes, routes): (&mut [Progress], &mut Routes),
    is_all: bool,
) {
    let held_back = match is_all {
        true => fresh::all_held_back(subnet, wanted),
        false => fresh::held_back(subnet, wanted, routes),
    };
    for ((node, block), lids) in held_back {
        let data = wanted.tables.get(&node).and_then(|it| it.get(&block));
        let progress = nodes.get_mut(node.get());
        if let (Some(data), Some(progress)) = (data, progress)
            && progress.hold_back(block, lids)
        {
            routes.add_fresh(node, block, data);
        }
    }
}

/// What was sent and what is held, without what a Set does not write.
fn comparable(set: &Set, data: &Data) -> (Data, Data) {
    match set.kind {
        Kind::Port => {
            // ClientReregister is an order, not a field that is kept.
            let kept = |data: &Data| {
                let mut info = wanted::settable(&port_info(data));
                info.subnet_timeout &= 0x7f;
                port_info_data(&info)
            };
            (kept(&set.data), kept(data))
        }
        Kind::Switch => {
            let kept = |data: &Data| switch_info_data(&wanted::without_change(&switch_info(data)));
            (kept(&set.data), kept(data))
        }
        _ => (set.data, *data),
    }
}

/// `None` for what is not remembered: states of links.
fn key(set: &Set, subnet: &Subnet) -> Option<set::Key> {
    let node = subnet.node(set.at.node)?;
    match set.kind {
        Kind::State(_) | Kind::Look(_) => None,
        Kind::Switch => Some(difference::key(node, 0, attribute::SWITCH_INFO, 0)),
        Kind::Port => Some(difference::key(
            node,
            set.at.port,
            attribute::PORT_INFO,
            u32::from(set.at.port),
        )),
        Kind::Table(block) => Some(difference::key(
            node,
            block.end_port,
            block.attribute,
            block.modifier,
        )),
    }
}

/// Where a port is, for words to a person.
fn place(subnet: &Subnet, at: PortRef) -> Place {
    Place {
        route: subnet.route(at).cloned().unwrap_or_default(),
        node: subnet.node(at.node).map(Node::guid),
        port: Some(at.port),
    }
}
