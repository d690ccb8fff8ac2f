//! Reading back what nodes were written, slowly and for ever.
//!
//! ```text
//!  every block and port that is known, by node GUID ──(so many a round)──> Get ──┬─ as known ──> nothing
//!       ^                                                                        └─ other ─────> the model has the node's word,
//!       └── after the last one: from the first again                                             and the next plan writes it
//! ```
//!
//! A sweep compares what is wanted with what nodes acknowledged, and believes that they still hold it. A switch that loses an entry,
//! or somebody who writes one past the Subnet Manager, is not seen by that. Here each node is asked in turn: forwarding, multicast, SL2VL, VL
//! arbitration and P_Key tables, GUIDs, and PortInfo of ports that have a link or a LID.
//!
//! Nothing is judged here, and nothing is written: what a node says replaces what was known of it.
//!
//! | outcome | then |
//! |---|---|
//! | as known | nothing |
//! | other | in the model, and in [`Round::differing`] |
//! | refused | as known: some attributes can be written and not read |
//! | none | the node is asked nothing more in this round; that it is mute is told by who finds it so |
//!
//! A round is taken from the model when it begins and does not grow: a subnet of any size costs a bounded number of SMPs per round
//! ([`share`]), and the cursor in [`Audit`] makes the rounds together cover all of it. The cursor is a GUID and an item, not an index, so
//! it survives nodes that come and go between two rounds.

mod items;

use std::collections::{BTreeSet, VecDeque};

use sa_fabric::{NodeIx, PortRef};
use sa_wire::Guid;
use sa_wire::records::PortInfoRecord;
use sa_wire::smp::attribute;

use crate::discovery::{Question, device};
use crate::executor::{Outcome, Request};
use crate::model::attributes::{Data, port_info};
use crate::model::{self, Block, Node, Subnet};

pub use self::items::share;
use self::items::{Item, items};

/// Where the reading is, from round to round.
#[derive(Debug, Clone, Default)]
pub struct Audit {
    /// The first that the next round asks for; none: the first there is.
    next: Option<(Guid, Item)>,
}

/// Something that a node holds and nobody here has written.
///
/// A lost entry, a table of another SM, and a person with `smpquery`-like tools look alike here: only the place is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Differing {
    /// Node GUID.
    pub node: Guid,
    /// [`sa_wire::smp::attribute`].
    pub attribute: u16,
    /// Its modifier; of PortInfo the port.
    pub modifier: u32,
}

/// One round, on its way.
#[derive(Debug, Default)]
pub struct Round {
    /// In the order in which they go out: all items of a node before those of the next.
    waiting: VecDeque<(NodeIx, Item)>,
    /// Those that left a question unanswered.
    /// Node and item travel with the request, as answers come back in any order.
    mute: BTreeSet<NodeIx>,
    /// Answers with data. Refusals do not count.
    read: u64,
    /// By node GUID, so that a report lists what is wrong switch by switch.
    differing: BTreeSet<Differing>,
}

/// A question of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asked {
    node: NodeIx,
    item: Item,
}

impl Audit {
    /// The next `most` of all that is known of a subnet, each at most once; the round after it goes on behind them.
    ///
    /// Shape: `most` is a number of SMPs, see [`share`]. Where `most` is at least all that is known, the round is the whole subnet and the
    /// next begins at the front again.
    pub fn round(&mut self, subnet: &Subnet, most: usize) -> Round {
        // Taken, so that a round which reaches the end leaves no cursor and the next one begins at the front.
        let begin = self.next.take();
        let mut nodes: Vec<(Guid, NodeIx)> = subnet
            .places()
            .map(|(at, node)| (node.guid(), at))
            .collect();
        // By GUID, as indices of the model change from sweep to sweep, and with them where a round would go on.
        nodes.sort_unstable();
        // A node that has gone in the meantime: the first behind it.
        let first = begin.map_or(0, |(guid, _)| nodes.partition_point(|(at, _)| *at < guid));
        let count = nodes.len();
        nodes.rotate_left(first.min(count));
        // Of the node in which the last round ended: first what is left, and when all others are through what was read.
        let is_left =
            |guid: Guid, item: Item| begin.is_none_or(|begin| guid != begin.0 || item >= begin.1);
        let again = nodes
            .first()
            .copied()
            .filter(|(guid, _)| begin.is_some_and(|begin| begin.0 == *guid));
        let mut round = Round::default();
        // The first item that finds no room is where the next round begins.
        for (guid, at) in &nodes {
            let items = subnet.node(*at).map(items).unwrap_or_default();
            let left = items.into_iter().filter(|item| is_left(*guid, *item));
            if let Some(item) = round.take(*at, left, most) {
                self.next = Some((*guid, item));
                return round;
            }
        }
        if let Some((guid, at)) = again {
            let items = subnet.node(at).map(items).unwrap_or_default();
            let read = items.into_iter().filter(|item| !is_left(guid, *item));
            self.next = round.take(at, read, most).map(|item| (guid, item));
        }
        round
    }
}

impl Round {
    /// Takes items of a node in while there is room. The first without room.
    ///
    /// The one that is handed back is the next round's first, so none is skipped and none is read twice.
    fn take(
        &mut self,
        node: NodeIx,
        items: impl Iterator<Item = Item>,
        most: usize,
    ) -> Option<Item> {
        for item in items {
            if self.waiting.len() >= most {
                return Some(item);
            }
            self.waiting.push_back((node, item));
        }
        None
    }
}

impl Round {
    /// The next question, for the executor. `None`: all were given out.
    ///
    /// A node that went mute is passed over here and not when it did, so that what is queued need not be searched.
    pub(crate) fn next_question(&mut self, subnet: &Subnet) -> Option<(Request, Asked)> {
        while let Some((node, item)) = self.waiting.pop_front() {
            let asked = Asked { node, item };
            let request = asked.request(subnet).filter(|_| !self.mute.contains(&node));
            if let Some(request) = request {
                return Some((request, asked));
            }
        }
        None
    }

    /// What came of a question: the model then has what the node says.
    ///
    /// A refusal is no difference: a node that answers with a status has not said what it holds.
    pub(crate) fn answered(&mut self, asked: Asked, outcome: Outcome, subnet: &mut Subnet) {
        let data = match outcome {
            Outcome::Answered(data) => data,
            // Some attributes can be written and not read; a device that refuses is not asked less for it.
            Outcome::Refused(_) => return,
            Outcome::Mute => {
                self.mute.insert(asked.node);
                return;
            }
        };
        self.read += 1;
        let Some(node) = subnet.node_mut(asked.node) else {
            return;
        };
        // Before the borrow ends: the port's case needs the whole subnet.
        let guid = node.guid();
        let (is_other, attribute, modifier) = match asked.item {
            Item::Table(block) => (
                table_told(node, block, data),
                block.attribute,
                block.modifier,
            ),
            Item::Port(port) => (
                port_told(
                    subnet,
                    PortRef {
                        node: asked.node,
                        port,
                    },
                    &data,
                ),
                attribute::PORT_INFO,
                port.into(),
            ),
        };
        if is_other {
            self.differing.insert(Differing {
                node: guid,
                attribute,
                modifier,
            });
        }
    }

    /// Questions that were not given out yet.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Answers so far.
    pub const fn read(&self) -> u64 {
        self.read
    }

    /// What nodes hold otherwise than was known. The model has it as they said.
    pub const fn differing(&self) -> &BTreeSet<Differing> {
        &self.differing
    }
}

/// True where the node holds something else than was known, or an entry of a group where nobody has looked.
///
/// What was known stays as it is where both agree, and where nothing was known: this reads back, it does not discover. Multicast blocks
/// are the exception, as a sweep reads those alone that may be used.
fn table_told(node: &mut Node, block: Block, data: Data) -> bool {
    // Where none of its blocks is known a Set had no answer: what is written next is there.
    let is_unread =
        block.attribute == attribute::MULTICAST_TABLE && node.tables.multicast_known() > 0;
    let is_other = match node.tables.get(block) {
        Some(known) => *known != data,
        // Not known: a Set of it has had no answer since the round began.
        None => is_unread && data != [0; 64],
    };
    if is_other {
        node.tables.set(block, data);
    }
    is_other
}

/// Likewise. Counters, and the port by which it was asked, are no difference.
///
/// Compared is what [`model::told`] leaves of both, as a port's word about counters changes with each error that it counts.
fn port_told(subnet: &mut Subnet, at: PortRef, data: &Data) -> bool {
    let told = port_info(data);
    let known = subnet.port(at).and_then(|port| port.info);
    // Its M_Key may be another one too.
    subnet.told(at, told);
    // An order to register again is in the answer to the Set alone.
    let compared = |info: PortInfoRecord| {
        let mut info = model::told(info);
        info.subnet_timeout &= 0x7f;
        info
    };
    known.is_some_and(|known| compared(known) != compared(told))
}

impl Asked {
    /// `None` where no way is known.
    ///
    /// It carries the key that the port is known to hold, and no others: a port counts each wrong one as a violation, and may send a trap.
    fn request(self, subnet: &Subnet) -> Option<Request> {
        let node = subnet.node(self.node)?;
        let end = |port| node.port(node.end_port(port));
        match self.item {
            Item::Table(block) => Some(Request {
                device: device(self.node),
                route: end(block.end_port)?.route.clone()?,
                set: None,
                attribute: block.attribute,
                modifier: block.modifier,
                m_key: subnet.m_key(PortRef {
                    node: self.node,
                    port: block.end_port,
                }),
                other_keys: Vec::new(),
                takes_long: false,
            }),
            Item::Port(port) => {
                let at = PortRef {
                    node: self.node,
                    port,
                };
                let extended = has_extended_speeds(node);
                let keys = vec![subnet.m_key(at)];
                Question::Port { at, extended }.request(subnet, keys)
            }
        }
    }
}

/// As discovery asks for it: of a switch port 0 tells.
///
/// External ports of a switch have no CapabilityMask of their own.
fn has_extended_speeds(node: &Node) -> bool {
    let info = node
        .port(0)
        .filter(|_| node.is_switch())
        .and_then(|port| port.info);
    info.is_some_and(|info| info.capability_mask.get() & PortInfoRecord::EXTENDED_SPEEDS != 0)
}
