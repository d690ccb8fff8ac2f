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
//! | MulticastForwardingTable | every block, as entries of groups that are gone have to be found: up to MulticastFDBTop where the switch has it, else up to MulticastFDBCap |
//! | P_KeyTable | nothing here: discovery reads it |
//!
//! After a start, after a take-over from another SM, and of a node whose answer to a Set was lost this costs a Get where a
//! Set would have been. What was read or acknowledged is not read again while the node keeps a link that is up.
//!
//! What it costs: of a switch with 48,000 LIDs, 36 ports and a multicast table of 4,096 MLIDs 750 and 384 Gets, once. They are
//! read in parallel with those of all other switches, within the windows of the executor, and a block takes the memory that
//! it takes once it is known: requests are made as they go out. Empty multicast blocks, which most are, take none.
//!
//! A node that stops answering is not waited for longer than for one request, and what was not read of it counts as
//! unknown: it is written. A block that a node refuses to tell is written too. Tables with one Set for many ports
//! (`use_optimized_slvl`) are not read: they cannot be, in one piece.

mod fresh;

use std::collections::{BTreeMap, VecDeque};

use sa_fabric::{NodeIx, PortRef};
use sa_wire::records::PortInfoRecord;
use sa_wire::smp::{ALL_INPUTS, ALL_OUTPUTS, attribute};

use crate::executor::{Outcome, Request};
use crate::model::{Block, Finding, Node, Place, Subnet};
use crate::writing::{Memory, Wanted};

pub(crate) use self::fresh::is_other_than;

/// The reading of one sweep. It ends when [`Self::next_question`] has none left and each that it gave has an outcome;
/// then [`Self::finish`] says what is known.
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

    /// All answers are there.
    ///
    /// Only now: a count that is set before the last answer would take blocks that are still under way for empty ones.
    pub(crate) fn finish(self, subnet: &mut Subnet) {
        for (node, blocks) in self.multicast {
            if let Some(node) = subnet.node_mut(node) {
                node.tables.know_multicast(blocks);
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
    /// P_Key tables are left out as discovery has read them; tables for many ports cannot be read in one piece.
    fn of_node(&mut self, at: NodeIx, node: &Node, wanted: &Wanted, memory: &Memory) {
        let tables = wanted.tables.get(&at).into_iter().flatten();
        let unknown = tables.filter(|(block, data)| {
            let is_readable = block.attribute != attribute::PKEY_TABLE && !is_for_many(block);
            // One that it refuses stays as it is.
            // Asking for such a block would be refused, and noted as a finding of every sweep.
            is_readable
                && node.tables.get(**block).is_none()
                && !memory.is_refused(node, **block, data)
        });
        let mut blocks: VecDeque<Block> = unknown.map(|(block, _)| *block).collect();
        if let Some(count) = multicast_to_read(at, node, wanted) {
            // All of them, so none of those is asked for twice.
            blocks.retain(|block| block.attribute != attribute::MULTICAST_TABLE);
            blocks.extend(multicast(node, count));
            self.multicast.insert(at, count);
        }
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

/// How many blocks of 32 MLIDs have to be known; `None` where they are.
///
/// Up to the larger of what the switch looks at now and what it is to look at.
fn multicast_to_read(at: NodeIx, node: &Node, wanted: &Wanted) -> Option<u16> {
    let info = node.switch_info?;
    let port0 = node.port(0).and_then(|port| port.info)?;
    // Without the capability a switch looks at all of its table, so all of it has to be known.
    let has_top = port0.capability_mask.get() & PortInfoRecord::MULTICAST_FDB_TOP != 0;
    let all = info.multicast_cap.get().div_ceil(MLIDS).min(MOST_BLOCKS);
    let wanted = wanted.switches.get(&at).unwrap_or(&info);
    // Entries above the top forward nothing, and count again when it is raised.
    let top = info.multicast_top.get().max(wanted.multicast_top.get());
    // MulticastFDBTop is the last MLID itself; 0xbfff, one below the first, stands for none.
    let count = match top.checked_sub(NO_MLID) {
        Some(mlids) if has_top => mlids.div_ceil(MLIDS).min(all),
        _ => all,
    };
    (count > node.tables.multicast_known()).then_some(count)
}

/// The multicast blocks of all ports that are not known, but for those that are known already.
///
/// Some may have been acknowledged by an earlier Set: those hold what was written.
fn multicast(node: &Node, count: u16) -> impl Iterator<Item = Block> {
    let first = u32::from(node.tables.multicast_known());
    let positions = 0..=u32::from(node.port_count() / PORTS);
    let all = positions.flat_map(move |position| {
        let numbers = first..u32::from(count);
        numbers.map(move |number| Block {
            attribute: attribute::MULTICAST_TABLE,
            end_port: 0,
            modifier: (position << 28) | number,
        })
    });
    all.filter(|block| node.tables.get(*block).is_none())
}

/// MulticastFDBTop of a switch without any entry.
const NO_MLID: u16 = 0xbfff;
/// MLIDs of a block.
const MLIDS: u16 = 32;
/// Blocks that a modifier can name.
const MOST_BLOCKS: u16 = 0x200;
/// Ports of a mask.
const PORTS: u8 = 16;
