//! Whose Sets go out next.
//!
//! ```text
//!  a node's stage ──> the queue, as a whole ──> one Set at a time ──> all of them have an outcome ──> its next stage
//! ```
//!
//! A node waits for its own Sets alone. Those of a stage are made one by one when it is their turn ([`Due`]).

use sa_fabric::NodeIx;

use super::Writing;
use super::difference::Stages;
use super::due::Due;
use super::set::Set;
use crate::model::{Block, Node, Subnet};

/// Whose turn it is.
#[derive(Debug)]
pub(super) enum Next {
    /// All that is left of the stage that this node is in.
    Stage(NodeIx),
    /// A link.
    Link(Set),
}

/// How far a node is.
#[derive(Debug, Default)]
pub(super) struct Progress {
    stages: Stages,
    /// The one that is next, and what of the one before it was given out.
    stage: usize,
    given: usize,
    /// Sets under way.
    open: usize,
    /// A table that packets need is missing: its links stay down.
    pub(super) is_held: bool,
}

impl Writing {
    /// Puts the next Sets of a node in the queue, when all those before are answered.
    pub(super) fn go_on(&mut self, node: NodeIx) {
        let Some(progress) = self.nodes.get_mut(node.get()) else {
            return;
        };
        while progress.open == 0 {
            if progress.stage == LAST {
                self.preparing.remove(&node);
            }
            // SL2VL may change only when LIDs that would close a loop with it lead nowhere.
            if progress.stage == TABLES && self.routes.is_before_tables() {
                return;
            }
            // A larger LinearFDBTop shows entries, and a new M_Key voids what is under way.
            if progress.stage == LAST && self.routes.has(node) {
                return;
            }
            let Some(stage) = progress.stages.get(progress.stage) else {
                self.unfinished.remove(&node);
                return;
            };
            progress.stage += 1;
            (progress.open, progress.given) = (stage.len(), 0);
            self.waiting += stage.len();
            self.queue.push_back(Next::Stage(node));
        }
    }

    /// Sends this about a link, after what is in the queue.
    pub(super) fn put_link(&mut self, set: Set) {
        self.waiting += 1;
        self.queue.push_back(Next::Link(set));
    }

    /// The next Set of the queue.
    pub(super) fn next_queued(&mut self, subnet: &Subnet) -> Option<Set> {
        loop {
            let Next::Stage(node) = self.queue.front()? else {
                let Some(Next::Link(set)) = self.queue.pop_front() else {
                    continue;
                };
                self.waiting -= 1;
                return Some(set);
            };
            let node = *node;
            let Some(due) = self.nodes.get_mut(node.get()).and_then(Progress::next) else {
                self.queue.pop_front();
                continue;
            };
            self.waiting -= 1;
            // What had to be done before it was not: the next sweep judges anew.
            let is_kept = due.is_sl2vl() && self.routes.keeps_sl2vl() && passes_data(subnet, node);
            let set = due.set(node, subnet, &self.wanted);
            match set.filter(|_| !is_kept) {
                Some(set) => return Some(set),
                None => self.left_out(node, is_kept),
            }
        }
    }

    /// A Set that is not sent. A table that packets need is missing with `is_needed`.
    fn left_out(&mut self, node: NodeIx, is_needed: bool) {
        if let Some(progress) = self.nodes.get_mut(node.get()) {
            progress.is_held |= is_needed;
        }
        self.done(node);
    }

    /// One Set less of a node is under way.
    pub(super) fn done(&mut self, node: NodeIx) {
        if let Some(progress) = self.nodes.get_mut(node.get()) {
            progress.open = progress.open.saturating_sub(1);
        }
        self.go_on(node);
    }
}

impl Progress {
    /// Nothing has been given out.
    pub(super) fn new(stages: Stages, is_held: bool) -> Self {
        Self {
            stages,
            is_held,
            ..Self::default()
        }
    }

    /// SL2VL is due, and not all of it has an outcome. The proof of changed routes counts on it.
    pub(super) fn owes_sl2vl(&self) -> bool {
        let mut tables = self.stages.get(TABLES).into_iter().flatten();
        self.stage <= TABLES + 1 && tables.any(|due| due.is_sl2vl())
    }

    /// These LIDs of a block lead nowhere at first. False where the block is not to be written.
    pub(super) fn hold_back(&mut self, block: Block, lids: u64) -> bool {
        let mut all = self.stages.iter_mut().flatten();
        let due = all.find(|due| **due == Due::Table(block));
        let is_there = due.is_some();
        due.into_iter()
            .for_each(|due| *due = Due::Part(block, lids));
        is_there
    }

    /// What is to be given out next of the stage that the node is in.
    fn next(&mut self) -> Option<Due> {
        let stage = self.stages.get(self.stage.checked_sub(1)?)?;
        let due = stage.get(self.given).copied()?;
        self.given += 1;
        Some(due)
    }
}

/// Packets may be in this switch now.
pub(super) fn passes_data(subnet: &Subnet, node: NodeIx) -> bool {
    subnet.node(node).is_some_and(Node::passes_data)
}

/// The stage with other tables.
const TABLES: usize = 1;
/// The stage that waits for changed routes.
const LAST: usize = 3;
