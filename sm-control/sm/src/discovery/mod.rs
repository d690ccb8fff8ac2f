//! Which question comes next, and what an answer says of the fabric.
//!
//! ```text
//!  NodeInfo through a port ──> a switch that is new ──> NodeDescription, SwitchInfo, PortInfo 0 ──> PortInfo 1 to n
//!        ^                 ├─> a CA or router port that is new ──> (NodeDescription,) PortInfo
//!        │                 └─> a node that is known ──> a link
//!        └── each port with a link whose far end is not known <── PortInfo;  P_Key tables of ports with a link
//!                                                                       SMInfo of end ports with IsSM
//! ```
//!
//! All questions go out as soon as they are known ([`Discovery::next_question`]), and each answer may bring more
//! ([`Discovery::answered`]), so nothing waits for the slowest. A link is asked through from one end alone where the other
//! end's answer came first.
//!
//! What answers say is checked before it is used: a node type that there is, a GUID, port numbers that the node has. A
//! node GUID that answers from two places, a cable from a node back to itself, a device that is mute or refuses are
//! [`Finding`]s, with the place; the rest goes on. The number of questions is bounded by nodes and their ports, the
//! number of nodes by [`Options::most_nodes`], routes by 63 hops, P_Key tables by 64 blocks: no answer leads to
//! more, whatever it says.
//!
//! Two switches that share a GUID are told apart where both claim the same port, or tell different NodeInfo. Where
//! neither is so they look like one switch, here as for other SMs.
//!
//! Which M_Key a question carries is in `m_keys`.

mod again;
mod believed;
mod m_keys;
mod nodes;
mod ports;
mod question;
mod scope;

use std::collections::VecDeque;
use std::sync::Arc;

use sa_fabric::{NodeIx, PortRef};
use sa_wire::smp::attribute;

use crate::executor::{Ended, Outcome, Request};
use crate::keys::Keys;
use crate::model::attributes::{Data, STATE_CHANGE, switch_info};
use crate::model::{Block, Finding, Node, Place, Route, Subnet};
use crate::sm_info::SmInfo;

use self::again::Again;
use self::believed::Believed;

pub use self::question::Question;
pub(crate) use self::question::device;
pub use self::scope::{Heard, Scope, Told};

/// What an operator may set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// More nodes than this are left out.
    pub most_nodes: usize,
    /// M_Keys of nodes, as far as they are known.
    pub keys: Arc<Keys>,
}

impl Default for Options {
    /// As many nodes as there are unicast LIDs, and no M_Key.
    fn default() -> Self {
        Self {
            most_nodes: 0xbfff,
            keys: Arc::default(),
        }
    }
}

/// A subnet that is being found.
///
/// A state machine without wires: whoever runs it sends what it asks and gives back what came.
#[derive(Debug)]
pub struct Discovery {
    /// As they were when the sweep began; what is learnt about keys goes into the subnet.
    options: Options,
    /// Grows with each answer.
    subnet: Subnet,
    /// In the order in which they go out.
    questions: VecDeque<Question>,
    /// What is read again of a subnet that is known; none where all is found anew.
    again: Option<Box<Again>>,
    /// What need not be asked though all is found anew.
    believed: Believed,
    /// For nodes of which nothing is known.
    common_keys: Vec<u64>,
    /// What a node answered to that had left the first choice unanswered.
    lately: Option<u64>,
}

impl Discovery {
    /// Finds all anew, beginning with the node of this SM.
    pub fn new(options: Options) -> Self {
        let own = Question::Node {
            from: None,
            route: Route::default(),
        };
        let mut subnet = Subnet::default();
        subnet.fix_key(options.keys.fixed());
        Self {
            common_keys: options.keys.common(),
            options,
            subnet,
            questions: VecDeque::from([own]),
            again: None,
            believed: Believed::default(),
            lately: None,
        }
    }

    /// The same, but that some of what the sweep before has left is believed: see `believed`.
    pub(crate) fn anew(options: Options, before: &Subnet) -> Self {
        Self {
            believed: Believed::of(before),
            ..Self::new(options)
        }
    }

    /// The next question, for the executor. `None`: answers have to come first, or all is known. It is over when this
    /// is so and no question is without its outcome.
    ///
    /// A question whose answer is known by now is passed over here, when it would go out: answers come while it waits.
    pub fn next_question(&mut self) -> Option<(Request, Question)> {
        loop {
            self.release();
            let question = self.questions.pop_front()?;
            let request = || question.request(&self.subnet, self.keys_of(&question));
            match Some(())
                .filter(|()| !self.is_settled(&question))
                .and_then(|()| request())
            {
                Some(request) => return Some((request, question)),
                None => self.closed(&question),
            }
        }
    }

    /// What came of a question.
    ///
    /// Gives no result: what it means is in the subnet, and what follows from it among the questions.
    pub fn answered(&mut self, ended: Ended<Question>) {
        let asked = ended.token.clone();
        self.ended(ended);
        self.closed(&asked);
    }

    /// Without closing the question: what it brings up is asked first, so that its node never looks done in between.
    fn ended(&mut self, ended: Ended<Question>) {
        let Ended {
            token: question,
            outcome,
            m_key,
        } = ended;
        let status = match outcome {
            Outcome::Answered(data) => {
                self.answered_by(&question, m_key);
                self.no_more(&question);
                return self.told(question, &data, m_key);
            }
            Outcome::Refused(status) => Some(status),
            Outcome::Mute if self.has_other_way(&question) => return,
            Outcome::Mute => None,
        };
        let place = self.place(&question);
        let is_switch = self.is_of_switch(&question);
        let (attribute, modifier) = question.attribute(is_switch);
        match status {
            Some(status) => {
                self.subnet.note(Finding::Refused {
                    place,
                    attribute,
                    modifier,
                    status: status.get(),
                });
                self.refused(&question);
            }
            None => {
                self.over(&question);
                self.subnet.note(Finding::Mute {
                    place,
                    attribute,
                    modifier,
                });
                self.unanswered(&question);
            }
        }
    }

    /// What follows from silence.
    ///
    /// Of attributes that are not listed nothing follows but the finding.
    fn unanswered(&mut self, question: &Question) {
        match *question {
            Question::Switch { node } => self.is_silent(node),
            Question::Port { at, .. } => {
                let is_switch = self.subnet.node(at.node).is_some_and(Node::is_switch);
                if !is_switch {
                    self.is_silent(at.node);
                }
            }
            Question::Node {
                from: Some(from), ..
            } => self.nobody_behind(from),
            Question::Manager { at } => {
                let is_gone = self.subnet.forget_manager(at).is_some();
                self.changed(is_gone);
            }
            _ => {}
        }
    }

    /// A question has an answer: what stood for want of one stands no more.
    fn no_more(&mut self, question: &Question) {
        let Some(at) = question.asked_of().filter(|_| self.again.is_some()) else {
            return;
        };
        self.answers(at.node);
        self.over(question);
    }

    /// What stood for an earlier question like this one stands no more.
    ///
    /// Findings of earlier sweeps stand until the same question is answered otherwise, so this is where they go.
    fn over(&mut self, question: &Question) {
        let Some(at) = question.asked_of().filter(|_| self.again.is_some()) else {
            return;
        };
        let Some(node) = self.subnet.node(at.node) else {
            return;
        };
        let (guid, is_switch) = (node.guid(), node.is_switch());
        let (attribute, _) = question.attribute(is_switch);
        self.subnet.keep_findings(|finding| {
            let asked = finding.asked();
            asked.is_none_or(|(place, asked)| {
                asked != attribute || place.node != Some(guid) || place.port != Some(at.port)
            })
        });
    }

    /// Questions that were not given out yet.
    pub fn waiting(&self) -> usize {
        self.questions.len()
    }

    /// What is known so far.
    pub const fn subnet(&self) -> &Subnet {
        &self.subnet
    }

    /// The subnet, when all is known.
    pub fn into_subnet(self) -> Subnet {
        match self.again {
            Some(again) => again.end(self.subnet),
            None => self.subnet,
        }
    }

    /// The subnet is to be found anew, as what is known of it cannot be.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.again.as_ref().is_some_and(|again| again.is_in_doubt)
    }

    /// It began with a subnet that was known.
    pub(crate) const fn goes_on(&self) -> bool {
        self.again.is_some()
    }

    /// All questions come in here, so that none is without its count.
    fn ask(&mut self, question: Question) {
        self.opened(&question);
        self.questions.push_back(question);
    }

    /// What an answer with data says, by what was asked.
    fn told(&mut self, question: Question, data: &Data, m_key: u64) {
        match question {
            Question::Node { from, route } => self.node_told(from, (route, m_key), data),
            Question::Description { at } => {
                let node = self.subnet.node_mut(at.node);
                let was = node.map(|node| core::mem::replace(&mut node.record.description, *data));
                self.changed(was != Some(*data));
            }
            Question::Switch { node } => self.switch_told(node, data),
            Question::Port { at, .. } => self.port_told(at, data),
            Question::Key { at, left } => self.key_told(at, left, data),
            Question::Manager { at } => self.manager_told(at, data),
            Question::Keys { at, block } => self.keys_told(at, block, data),
        }
    }

    /// A switch that does not tell of its port 0 may tell of the others.
    fn refused(&mut self, question: &Question) {
        if let Question::Port { at, .. } = *question
            && at.port == 0
            && self.again.is_none()
        {
            self.ask_external_ports(at.node, false);
        }
    }

    /// Nothing is to be learned by asking any more: the far end has told of this link already.
    fn is_settled(&self, question: &Question) -> bool {
        matches!(question, Question::Node { from: Some(from), .. } if self.subnet.peer(*from).is_some() && !self.is_doubted(*from))
    }

    /// False for a node that is not known, which has no attribute with a port in its modifier.
    fn is_of_switch(&self, question: &Question) -> bool {
        let node = question.asked_of().and_then(|at| self.subnet.node(at.node));
        node.is_some_and(Node::is_switch)
    }

    /// Where it was asked, for a finding: by the way that the question has now.
    fn place(&self, question: &Question) -> Place {
        let at = question.asked_of();
        let node = at.and_then(|at| self.subnet.node(at.node));
        Place {
            route: question.route(&self.subnet).unwrap_or_default(),
            node: node.map(Node::guid),
            port: at.map(|at| at.port),
        }
    }

    /// A port of a node that is there.
    fn place_of(&self, at: PortRef) -> Place {
        Place {
            route: self.subnet.route(at).cloned().unwrap_or_default(),
            node: self.subnet.node(at.node).map(Node::guid),
            port: Some(at.port),
        }
    }

    /// P_Keys are read by discovery, as a sweep plans with them; other tables when it is known which are wanted.
    fn keys_told(&mut self, at: PortRef, block: u16, data: &Data) {
        let Some(node) = self.subnet.node_mut(at.node) else {
            return;
        };
        let (_, modifier) = Question::Keys { at, block }.attribute(node.is_switch());
        let block = Block {
            attribute: attribute::PKEY_TABLE,
            end_port: node.end_port(at.port),
            modifier,
        };
        let has_changed = node.tables.get(block) != Some(data);
        node.tables.set(block, *data);
        self.changed(has_changed);
    }

    /// ActCount is no change: it counts on while nothing happens.
    fn manager_told(&mut self, at: PortRef, data: &Data) {
        match SmInfo::parse(data) {
            Some(info) => {
                let was = self.subnet.managers().find(|(port, _)| *port == at);
                let has_changed = was.is_none_or(|(_, was)| {
                    (was.guid, was.sm_key, was.priority, was.state)
                        != (info.guid, info.sm_key, info.priority, info.state)
                });
                self.subnet.note_manager(at, info);
                self.changed(has_changed);
            }
            None => {
                let place = self.place_of(at);
                let what = "it has no state that an SM can have";
                self.impossible(place, attribute::SM_INFO, what);
            }
        }
    }

    /// A finding for an answer that no device may give. What it says is not used.
    fn impossible(&mut self, place: Place, attribute: u16, what: &'static str) {
        self.subnet.note(Finding::Impossible {
            place,
            attribute,
            what,
        });
    }

    /// SwitchInfo may come before or after PortInfo of its ports: both ask for what needs both.
    fn switch_told(&mut self, node: NodeIx, data: &Data) {
        let info = switch_info(data);
        let old = self
            .subnet
            .node_mut(node)
            .and_then(|it| it.switch_info.replace(info));
        if self.again.is_some() && old.is_some() {
            let says_change = info.life_time_and_change & STATE_CHANGE != 0;
            self.other_than(
                node,
                old.is_some_and(|old| old.linear_top != info.linear_top),
            );
            return self.switch_looked_at(node, old != Some(info), says_change);
        }
        self.believes(node);
        // Ports whose PortInfo came before it.
        let ports = self.subnet.node(node).into_iter().flat_map(Node::ports);
        let told: Vec<u8> = ports
            .filter(|(number, port)| *number != 0 && port.info.is_some())
            .map(|(number, _)| number)
            .collect();
        for port in told {
            self.ask_keys(PortRef { node, port });
        }
    }
}
