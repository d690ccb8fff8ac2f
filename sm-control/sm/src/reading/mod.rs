//! What nodes hold of what is wanted, where that is not known: read, so that it is not written again.
//!
//! ```text
//!  Subnet, Wanted ──> of each node: blocks that are wanted and not known ──> Get, a block of each node in turn ──> Tables
//!                                └─ fresh from power-on: none, all of them are written
//! ```
//!
//! | table | what is read of a switch that is not fresh |
//! |---|---|
//! | LinearForwardingTable, SLtoVLMappingTable, VLArbitrationTable, GUIDInfo | blocks that are wanted: all LIDs up to the top that is wanted |
//! | MulticastForwardingTable | from the first MLID up, of all switches, to the first block that is empty in all of them and above all that are wanted: `multicast` |
//! | P_KeyTable | nothing here: discovery reads it |
//!
//! After a start, after a take-over from another SM, and of a node whose answer to a Set was lost this costs a Get where a
//! Set would have been. What was read or acknowledged is not read again while the node keeps a link that is up.
//!
//! What it costs: of a switch with 48,000 LIDs, 36 ports and 1,000 groups in the subnet 750 and 99 Gets, once. They are
//! read in parallel with those of all other switches, within the windows of the executor, and a block takes the memory that
//! it takes once it is known: requests are made as they go out. Empty multicast blocks, which most are, take none.
//!
//! A node that stops answering is not waited for longer than for one request, and what was not read of it counts as
//! unknown: it is written. A block that a node refuses to tell is written too. Tables with one Set for many ports
//! (`use_optimized_slvl`) are not read: they cannot be, in one piece.

mod fresh;
mod multicast;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use sa_fabric::{NodeIx, PortRef};
use sa_wire::smp::{ALL_INPUTS, ALL_OUTPUTS, attribute};

use crate::executor::{Outcome, Request};
use crate::model::{Block, Finding, Node, Place, Subnet};
use crate::writing::{Memory, Wanted};

pub(crate) use self::fresh::is_other_than;
pub(crate) use self::multicast::{blocks as multicast_blocks, readable};

/// The reading of one sweep. When [`Self::next_question`] has none left and each that it gave has an outcome, [`Self::goes_on`] says
/// what is known, and whether there is more to ask.
/// It does not keep the subnet, which is lent to each call.
#[derive(Debug)]
pub(crate) struct Reading {
    /// A block of each in turn: requests go to many nodes at a time.
    /// A node is behind the others again after each of its blocks, so no switch holds up those behind it.
    waiting: VecDeque<(NodeIx, VecDeque<Block>)>,
    /// Blocks in `waiting`.
    /// Counted along, as summing up tens of thousands of queues for each progress line would not do.
    left: usize,
    /// How many multicast blocks of 32 MLIDs are known when all answers are there.
    /// A switch is taken out as soon as one block of it is not known: then entries of old groups may be left in it.
    multicast: BTreeMap<NodeIx, u16>,
    /// They left a question unanswered: of their multicast tables no more is asked.
    silent: BTreeSet<NodeIx>,
}

/// A block that is asked for.
///
/// It comes back with the outcome, so that nothing has to be looked up by transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    node: NodeIx,
    block: Block,
}

impl Reading {
    /// All that is wanted and not known. Notes of fresh switches that their multicast tables are empty: an SM that writes
    /// an entry has cleared PortStateChange before, so one that was written to is not fresh.
    ///
    /// Cost: a queue for each node with unknown blocks; a sweep of a subnet that is known makes none.
    pub(crate) fn new(subnet: &mut Subnet, wanted: &Wanted, memory: &Memory) -> Self {
        let is_untouched = fresh::is_untouched(subnet);
        let mut reading = Self {
            waiting: VecDeque::new(),
            left: 0,
            multicast: BTreeMap::new(),
            silent: BTreeSet::new(),
        };
        let count = u32::try_from(subnet.nodes().len()).unwrap_or(u32::MAX);
        for at in (0..count).map(NodeIx) {
            let Some(node) = subnet.node_mut(at) else {
                continue;
            };
            // Who left a request of this sweep unanswered is not asked hundreds more: each would cost a timeout.
            if node.is_mute {
                continue;
            }
            // Before anything of it is read: what it tells of itself decides.
            let is_fresh = fresh::is_fresh(node);
            if is_fresh && node.is_switch() {
                node.tables.know_multicast(u16::MAX);
            }
            // Fresh CAs are believed only where every switch is fresh too: a CA that has kept its tables through an SM's death looks fresh.
            if !is_fresh || (!node.is_switch() && !is_untouched) {
                reading.of_node(at, node, wanted, memory);
            }
        }
        reading.of_multicast(subnet, wanted);
        reading
    }

    /// The next Get, for the executor. `None`: all were given out.
    ///
    /// Round robin over nodes: a window of many requests then spreads over as many devices.
    pub(crate) fn next_question(&mut self, subnet: &Subnet) -> Option<(Request, Asked)> {
        while let Some((node, mut blocks)) = self.waiting.pop_front() {
            let Some(block) = blocks.pop_front() else {
                continue;
            };
            self.left = self.left.saturating_sub(1);
            // Back at the end, so that the next one is of another node.
            self.waiting.push_back((node, blocks));
            let asked = Asked { node, block };
            match asked.request(subnet) {
                Some(request) => return Some((request, asked)),
                // No way to it.
                None => self.give_up(node),
            }
        }
        None
    }

    /// What came of a Get. `is_slow`: the node left its last request unanswered, so the rest is not asked for.
    ///
    /// A refused or lost block is noted as a finding and stays unknown, so the writing sets it.
    pub(crate) fn answered(
        &mut self,
        asked: &Asked,
        outcome: Outcome,
        is_slow: bool,
        subnet: &mut Subnet,
    ) {
        let Asked { node, block } = *asked;
        let place = asked.place(subnet);
        let finding = match outcome {
            Outcome::Answered(data) => {
                // Not kept: that all others of its kind are empty is said once, by their number.
                // What is empty is most of the table: 512 blocks of a switch would take 32 KiB for nothing.
                let is_empty = block.attribute == attribute::MULTICAST_TABLE && data == [0; 64];
                if let Some(node) = subnet.node_mut(node).filter(|_| !is_empty) {
                    node.tables.set(block, data);
                }
                return;
            }
            Outcome::Refused(status) => Finding::Refused {
                place,
                attribute: block.attribute,
                modifier: block.modifier,
                status: status.get(),
            },
            Outcome::Mute => {
                // One block that is not known is enough: an entry of it may be in use.
                self.multicast.remove(&node);
                self.silent.insert(node);
                // `is_slow` only: a node that answers most requests is asked on, as one SMP may always be lost.
                if is_slow {
                    self.give_up(node);
                }
                Finding::Mute {
                    place,
                    attribute: block.attribute,
                    modifier: block.modifier,
                }
            }
        };
        subnet.note(finding);
    }

    /// All answers are there. True where what they say asks for more.
    ///
    /// Only now: a count that is set before the last answer would take blocks that are still under way for empty ones.
    pub(crate) fn goes_on(&mut self, subnet: &mut Subnet, wanted: &Wanted) -> bool {
        loop {
            for (node, blocks) in core::mem::take(&mut self.multicast) {
                if let Some(node) = subnet.node_mut(node) {
                    node.tables.know_multicast(blocks);
                }
            }
            self.of_multicast(subnet, wanted);
            // Of some all blocks were known one by one: nothing is asked, and their number counts now.
            if self.left > 0 || self.multicast.is_empty() {
                return self.left > 0;
            }
        }
    }

    /// Gets that were not given out yet.
    ///
    /// Requests, for progress; those under way are the executor's to count.
    pub(crate) const fn waiting(&self) -> usize {
        self.left
    }

    /// What is to be asked of a node. Blocks of one table are asked in the order of their modifiers.
    ///
    /// P_Key tables are left out as discovery has read them; tables for many ports cannot be read in one piece. Multicast tables
    /// are asked for by blocks of MLIDs, those that are wanted among them.
    fn of_node(&mut self, at: NodeIx, node: &Node, wanted: &Wanted, memory: &Memory) {
        let blocks = wanted.tables.get(&at);
        let differing = blocks.map(|blocks| node.tables.differing(blocks));
        let unknown = differing
            .into_iter()
            .flatten()
            .filter(|(block, data, holds)| {
                let is_readable = !OTHERWISE.contains(&block.attribute) && !is_for_many(block);
                // One that it refuses stays as it is.
                // Asking for such a block would be refused, and noted as a finding of every sweep.
                holds.is_none() && is_readable && !memory.is_refused(node, **block, data)
            });
        self.queue(at, unknown.map(|(block, ..)| *block).collect());
    }

    /// Blocks of multicast tables that are not known and have to be, of switches that answer.
    fn of_multicast(&mut self, subnet: &Subnet, wanted: &Wanted) {
        let count = multicast::needed(subnet, wanted);
        for (at, node) in subnet.places() {
            if node.is_mute || self.silent.contains(&at) {
                continue;
            }
            let count = readable(node, wanted.switches.get(&at)).min(count);
            if count > node.tables.multicast_known() {
                self.queue(at, multicast::unknown(node, count).collect());
                self.multicast.insert(at, count);
            }
        }
    }

    /// Behind those of others.
    fn queue(&mut self, at: NodeIx, blocks: VecDeque<Block>) {
        if !blocks.is_empty() {
            self.left += blocks.len();
            self.waiting.push_back((at, blocks));
        }
    }

    /// Nothing more is asked of a node. What is under way to it still counts when it is answered.
    ///
    /// All of them at once: a switch with 48,000 LIDs would cost 750 timeouts otherwise.
    fn give_up(&mut self, node: NodeIx) {
        self.multicast.remove(&node);
        self.silent.insert(node);
        self.waiting.retain(|(other, _)| *other != node);
        self.left = self.waiting.iter().map(|(_, blocks)| blocks.len()).sum();
    }
}

impl Asked {
    /// Who is asked, for the caller who knows which nodes are slow.
    pub(crate) const fn node(&self) -> NodeIx {
        self.node
    }

    /// The port whose table it is: of a switch port 0, as for a Set.
    ///
    /// The M_Key is that of the end port: a switch checks it at port 0 whichever table is meant.
    fn at(&self) -> PortRef {
        PortRef {
            node: self.node,
            port: self.block.end_port,
        }
    }

    /// `None` where no way is known.
    ///
    /// By the route that discovery found, not by LID: LIDs may be about to change.
    fn request(&self, subnet: &Subnet) -> Option<Request> {
        let node = subnet.node(self.node)?;
        let end = node.port(node.end_port(self.block.end_port))?;
        Some(Request {
            device: crate::discovery::device(self.node),
            route: end.route.clone()?,
            set: None,
            attribute: self.block.attribute,
            modifier: self.block.modifier,
            m_key: subnet.m_key(self.at()),
            other_keys: Vec::new(),
            takes_long: false,
        })
    }

    /// Where it is, for a finding.
    fn place(&self, subnet: &Subnet) -> Place {
        let at = self.at();
        Place {
            route: subnet.route(at).cloned().unwrap_or_default(),
            node: subnet.node(self.node).map(Node::guid),
            port: Some(at.port),
        }
    }
}

/// An SL2VL table for many ports of a switch, which can be written and not read.
///
/// IBA vol. 1, 14.2.5.8: the bits of the modifier are for optimised programming, which knows Set alone.
const fn is_for_many(block: &Block) -> bool {
    block.attribute == attribute::SL_TO_VL && block.modifier & (ALL_INPUTS | ALL_OUTPUTS) != 0
}

/// Tables that are read by discovery, or in an order of their own.
const OTHERWISE: [u16; 2] = [attribute::PKEY_TABLE, attribute::MULTICAST_TABLE];
