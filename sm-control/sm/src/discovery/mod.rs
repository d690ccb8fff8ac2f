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
//! Not here: M_Keys that differ from node to node.

mod nodes;
mod ports;
mod question;

use std::collections::VecDeque;

use sa_fabric::{NodeIx, PortRef};
use sa_wire::smp::attribute;

use crate::executor::{Outcome, Request};
use crate::model::attributes::{Data, switch_info};
use crate::model::{Block, Finding, Node, Place, Route, Subnet};
use crate::sm_info::SmInfo;

pub use self::question::Question;
pub(crate) use self::question::device;

/// What an operator may set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// More nodes than this are left out.
    pub most_nodes: usize,
    /// M_Key of all requests; 0 for none.
    pub m_key: u64,
}

impl Default for Options {
    /// As many nodes as there are unicast LIDs, and no M_Key.
    fn default() -> Self {
        Self {
            most_nodes: 0xbfff,
            m_key: 0,
        }
    }
}

/// A subnet that is being found.
#[derive(Debug)]
pub struct Discovery {
    options: Options,
    subnet: Subnet,
    questions: VecDeque<Question>,
}

impl Discovery {
    /// Begins with the node of this SM.
    pub fn new(options: Options) -> Self {
        let own = Question::Node {
            from: None,
            route: Route::default(),
        };
        Self {
            options,
            subnet: Subnet::default(),
            questions: VecDeque::from([own]),
        }
    }

    /// The next question, for the executor. `None`: answers have to come first, or all is known. It is over when this
    /// is so and no question is without its outcome.
    pub fn next_question(&mut self) -> Option<(Request, Question)> {
        while let Some(question) = self.questions.pop_front() {
            if self.is_settled(&question) {
                continue;
            }
            if let Some(request) = question.request(&self.subnet, self.options.m_key) {
                return Some((request, question));
            }
        }
        None
    }

    /// What came of a question.
    pub fn answered(&mut self, question: Question, outcome: Outcome) {
        let status = match outcome {
            Outcome::Answered(data) => return self.told(question, &data),
            Outcome::Refused(status) => Some(status),
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
            None => self.subnet.note(Finding::Mute {
                place,
                attribute,
                modifier,
            }),
        }
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
        self.subnet
    }

    fn ask(&mut self, question: Question) {
        self.questions.push_back(question);
    }

    fn told(&mut self, question: Question, data: &Data) {
        match question {
            Question::Node { from, route } => self.node_told(from, route, data),
            Question::Description { at } => {
                if let Some(node) = self.subnet.node_mut(at.node) {
                    node.record.description = *data;
                }
            }
            Question::Switch { node } => self.switch_told(node, data),
            Question::Port { at, .. } => self.port_told(at, data),
            Question::Manager { at } => self.manager_told(at, data),
            Question::Keys { at, block } => self.keys_told(at, block, data),
        }
    }

    /// A switch that does not tell of its port 0 may tell of the others.
    fn refused(&mut self, question: &Question) {
        if let Question::Port { at, .. } = *question
            && at.port == 0
        {
            self.ask_external_ports(at.node, false);
        }
    }

    /// Nothing is to be learned by asking any more: the far end has told of this link already.
    fn is_settled(&self, question: &Question) -> bool {
        matches!(question, Question::Node { from: Some(from), .. } if self.subnet.peer(*from).is_some())
    }

    fn is_of_switch(&self, question: &Question) -> bool {
        let node = question.asked_of().and_then(|at| self.subnet.node(at.node));
        node.is_some_and(Node::is_switch)
    }

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
        node.tables.set(block, *data);
    }

    fn manager_told(&mut self, at: PortRef, data: &Data) {
        match SmInfo::parse(data) {
            Some(info) => self.subnet.note_manager(at, info),
            None => {
                let place = self.place_of(at);
                let what = "it has no state that an SM can have";
                self.impossible(place, attribute::SM_INFO, what);
            }
        }
    }

    fn impossible(&mut self, place: Place, attribute: u16, what: &'static str) {
        self.subnet.note(Finding::Impossible {
            place,
            attribute,
            what,
        });
    }

    fn switch_told(&mut self, node: NodeIx, data: &Data) {
        if let Some(found) = self.subnet.node_mut(node) {
            found.switch_info = Some(switch_info(data));
        }
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
