//! Changed forwarding tables of switches through which data passes.
//!
//! ```text
//!  stages, one after the other ──> blocks of 64 LIDs, each for itself ──> Order: which switch next
//! ```
//!
//! Blocks do not wait for each other, as a packet has one LID; so while one waits for an answer others go on. Few are
//! looked at at once, since each takes a copy of that block of all switches.
//! Where a switch did not take its block, what waits for it is ordered anew around it: with what it holds.
//!
//! # What ends
//!
//! | | when | then |
//! |---|---|---|
//! | a block | all switches took it, or none of the others can | the next block of its stage |
//! | a stage | all of its blocks, and its rest is over | the next stage; where a switch does not hold it, none any more |
//! | all | the last stage, which has what no stage named | [`Routes::is_over`], and links to hosts come up |
//!
//! No end waits for a switch that does not answer: a Set has its outcome after the last try, and a block that nobody can go on with is
//! left as it is. What is missing then is seen by the next sweep, which compares what is held with what is wanted as always.
//!
//! # Sizes
//!
//! What is to be written is kept once, 64 bytes a block. Of a block that is looked at there is a copy for every switch, as paths lead over
//! those that stay as they are: 250 KB at 3,920 switches, of [`MOST_ACTIVE`] at most.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use sa_fabric::{NodeIx, PortRef};
use sa_wire::smp::attribute;

use super::cables::Cables;
use super::order::{Change, Order, Rows, differing};
use super::set::{Kind, Set};
use super::stages::{Drained, DrainedLid, Next, Stages};
use super::wanted::{Stage, Transition};
use crate::model::attributes::Data;
use crate::model::{Block, Subnet};
use crate::wanted::linear::{self, NO_PATH};

/// Blocks that are ordered at a time.
/// More are of no use: each has switches that can be written at once, and the window of the wire is 256 SMPs.
const MOST_ACTIVE: usize = 16;

/// All changed blocks of a sweep, and how far they are.
#[derive(Debug, Default)]
pub(super) struct Routes {
    cables: Cables,
    /// By number of the block, then by switch: what it should hold.
    changes: BTreeMap<u32, BTreeMap<NodeIx, Data>>,
    /// Of which any are.
    nodes: BTreeSet<NodeIx>,
    /// Of these, switches through which no data passed at the beginning.
    fresh: BTreeSet<NodeIx>,
    /// LIDs that change together; all in one without any.
    stages: Stages,
    /// Of the stage at hand: blocks, with a bit for each LID.
    todo: VecDeque<(u32, u64)>,
    /// Those that are looked at, by number of the block.
    active: BTreeMap<u32, Order>,
    /// Cables are laid out, and whether before other tables: from then on links count as they were then.
    laid_early: Option<bool>,
}

impl Routes {
    /// Takes a block that differs of a switch through which data passes.
    pub(super) fn add(&mut self, node: NodeIx, block: Block, data: &Data) {
        let blocks = self.changes.entry(block.modifier).or_default();
        blocks.insert(node, *data);
        self.nodes.insert(node);
    }

    /// Takes a block of a switch through which no data passes, which waits with those of others.
    pub(super) fn add_fresh(&mut self, node: NodeIx, block: Block, data: &Data) {
        self.add(node, block, data);
        self.fresh.insert(node);
    }

    /// All changed blocks, by number, then by switch.
    pub(super) fn changes(&self) -> impl Iterator<Item = (u32, &BTreeMap<NodeIx, Data>)> {
        self.changes
            .iter()
            .map(|(number, changes)| (*number, changes))
    }

    /// Whether a block of a switch through which data passes goes this way: see [`Self::add`].
    pub(super) const fn takes(block: Block) -> bool {
        block.attribute == attribute::LINEAR_TABLE
    }

    /// LIDs that change together, one stage after the other; those that no stage has are the last.
    pub(super) fn set_transition(&mut self, transition: Transition) {
        // A stage names LIDs, and what nobody thought of must be written all the same.
        let all = self.changes.keys().map(|block| (*block, u64::MAX));
        self.stages = Stages::new(transition, all.collect());
        if self.is_over() {
            self.stages.stop();
        }
    }

    /// Other tables have to wait: the first stage comes before them, and is not over.
    pub(super) const fn is_before_tables(&self) -> bool {
        self.stages.is_before_tables()
    }

    /// SL2VL of switches that pass data stays, as the stage before it failed.
    pub(super) const fn keeps_sl2vl(&self) -> bool {
        self.stages.keeps_sl2vl()
    }

    /// When the rest after a stage is over.
    pub(super) const fn wakes_at(&self) -> Option<Duration> {
        self.stages.wakes_at()
    }

    /// What was without a path.
    pub(super) fn drained(&self) -> Option<Drained> {
        self.stages.drained()
    }

    /// The same LID by LID.
    pub(super) fn drained_lids(&self) -> Vec<DrainedLid> {
        self.stages.drained_lids()
    }

    /// No more blocks: a table that the proof counts on is not there. What is under way goes on, and the next sweep judges anew.
    pub(super) fn give_up(&mut self) {
        // What is under way cannot be taken back; what it leads to is proved without the rest.
        self.todo.clear();
        self.stages.stop();
        if self.active.is_empty() {
            self.changes.clear();
            self.nodes.clear();
        }
    }

    /// Nothing is to be written, or all was.
    pub(super) fn is_over(&self) -> bool {
        self.changes.is_empty()
    }

    /// Whether blocks of this node wait.
    pub(super) fn has(&self, node: NodeIx) -> bool {
        self.nodes.contains(&node)
    }

    /// Blocks that are not through, as far as they are looked at; 0 only where [`Self::is_over`].
    pub(super) fn waiting(&self) -> usize {
        match self.is_over() {
            true => 0,
            false => (self.todo.len() + self.active.len()).max(1),
        }
    }

    /// The next Set. `None`: answers have to come first, or all is over, which [`Self::is_over`] then says.
    pub(super) fn next(&mut self, subnet: &Subnet, now: Duration) -> Option<Set> {
        // Not before: links that come up first are to count. What comes before other tables needs no order.
        let is_early = self.is_before_tables();
        if self.laid_early != Some(is_early) {
            self.laid_early = Some(is_early);
            self.cables = Cables::new(subnet);
        }
        loop {
            let next = self.active.iter_mut().find_map(|(number, order)| {
                let (switch, data) = order.next()?;
                Some((*number, switch, data))
            });
            if let Some((number, switch, data)) = next {
                return self.set(number, switch, &data);
            }
            // A second order may have something to send at once.
            let goes_on = self.end_orders(subnet);
            if !goes_on && !self.begin_next(subnet, now) {
                return None;
            }
        }
    }

    /// A block for the switch of that number. None where there is no such switch any more.
    fn set(&self, number: u32, switch: u32, data: &Data) -> Option<Set> {
        let node = self.cables.node(switch)?;
        Some(Set {
            at: PortRef { node, port: 0 },
            kind: Kind::Table(linear::block(number)),
            data: *data,
        })
    }

    /// A Set of these has its outcome, which the model shows. False where it is none of these.
    pub(super) fn answered(&mut self, set: &Set, subnet: &Subnet) -> bool {
        let Kind::Table(block) = set.kind else {
            return false;
        };
        let switch = self.cables.number(set.at.node);
        let order = self.active.get_mut(&block.modifier);
        let (Some(switch), Some(order)) = (
            switch,
            order.filter(|_| block.attribute == attribute::LINEAR_TABLE),
        ) else {
            return false;
        };
        if !order.has(switch) {
            return false;
        }
        let node = subnet.node(set.at.node);
        let held = node.and_then(|node| node.tables.get(block));
        order.answered(switch, held);
        true
    }

    /// Puts away blocks that are through, and orders those anew that wait for a switch which did not take its own. True
    /// where there are such.
    fn end_orders(&mut self, subnet: &Subnet) -> bool {
        let over = self.active.iter().filter(|(_, order)| order.is_over());
        let over: Vec<u32> = over.map(|(number, _)| *number).collect();
        let mut goes_on = false;
        for number in over {
            let stuck = self.active.remove(&number).map(|order| order.stuck());
            let stuck = stuck.unwrap_or_default();
            if !stuck.is_empty() {
                let order = self.again(subnet, number, &stuck);
                // What nothing can be done for waits for the next sweep.
                if !order.is_over() {
                    self.active.insert(number, order);
                    goes_on = true;
                }
            }
        }
        goes_on
    }

    /// An order of what is left.
    fn again(&self, subnet: &Subnet, number: u32, stuck: &BTreeMap<u32, u64>) -> Order {
        let rows = self.rows(subnet, number);
        let mut changes = self.changes_of(subnet, number);
        // Those that took it, and those that did not, are as they are now.
        changes.retain(|switch, _| stuck.contains_key(switch));
        for (switch, change) in &mut changes {
            let left = stuck.get(switch).copied().unwrap_or_default();
            change.keep_others(left);
        }
        Order::new(&self.cables, &rows, &changes, u64::MAX, true)
    }

    /// Looks at one block more. False where there is none, or too many are looked at.
    fn begin_next(&mut self, subnet: &Subnet, now: Duration) -> bool {
        while self.todo.is_empty() && self.active.is_empty() {
            // Blocks of the next stage wait until all of this one are acknowledged.
            let was_before = self.is_before_tables();
            let ended = self.stages.ended();
            let is_held = ended.is_none_or(|stage| self.is_held(subnet, stage));
            let next = self.stages.next(now, is_held);
            match next {
                Next::Begin(lids) => self.todo = lids.into_iter().collect(),
                Next::Rest => return false,
                Next::Over => {
                    self.changes.clear();
                    self.nodes.clear();
                    return false;
                }
            }
            // Other tables and links come first.
            if was_before && !self.is_before_tables() {
                return false;
            }
        }
        if self.active.len() >= MOST_ACTIVE {
            return false;
        }
        let Some((number, mask)) = self.todo.pop_front() else {
            return false;
        };
        let rows = self.rows(subnet, number);
        let changes = self.changes_of(subnet, number);
        let order = Order::new(&self.cables, &rows, &changes, mask, false);
        self.active.insert(number, order);
        true
    }

    /// What all switches hold of a block.
    fn rows(&self, subnet: &Subnet, number: u32) -> Rows {
        let row = |node: &NodeIx| {
            let tables = subnet.node(*node).map(|node| &node.tables);
            let data = tables.and_then(|tables| tables.get(linear::block(number)));
            data.copied()
        };
        self.cables.nodes().iter().map(row).collect()
    }

    /// What each switch that changes a block holds of it, and what it should hold when the stage at hand is over.
    /// One of which nobody knows what it holds takes no part in a stage that leads nowhere: there is nothing to take away from.
    fn changes_of(&self, subnet: &Subnet, number: u32) -> BTreeMap<u32, Change> {
        let nodes = self.changes.get(&number).into_iter().flatten();
        let changes = nodes.filter_map(|(node, wanted)| {
            let switch = self.cables.number(*node)?;
            let tables = subnet.node(*node).map(|node| &node.tables)?;
            let held = tables.get(linear::block(number)).copied();
            let wanted = goal(self.stages.leads_nowhere(), held.as_ref(), wanted)?;
            Some((switch, Change { held, wanted }))
        });
        changes.collect()
    }

    /// Whether all switches have the entries of a stage.
    fn is_held(&self, subnet: &Subnet, stage: &Stage) -> bool {
        stage.lids.iter().all(|(number, mask)| {
            let mut nodes = self.changes.get(number).into_iter().flatten();
            nodes.all(|(node, wanted)| {
                let tables = subnet.node(*node).map(|node| &node.tables);
                let held = tables.and_then(|tables| tables.get(linear::block(*number)));
                match goal(stage.leads_nowhere, held, wanted) {
                    Some(goal) => held.is_some_and(|held| differing(held, &goal) & mask == 0),
                    // There is nothing to take away from a switch that has no packets yet, and none come while it is not written. Of
                    // another one nobody knows.
                    None => self.fresh.contains(node),
                }
            })
        })
    }
}

/// What a switch should hold when a stage is over. None in a stage that leads nowhere, of a switch of which nobody knows what it holds.
fn goal(leads_nowhere: bool, held: Option<&Data>, wanted: &Data) -> Option<Data> {
    match leads_nowhere {
        true => held.map(|held| nowhere(held, wanted)),
        false => Some(*wanted),
    }
}

/// What is held, without a path where something else is wanted.
fn nowhere(held: &Data, wanted: &Data) -> Data {
    let mut data = *held;
    for (held, wanted) in data.iter_mut().zip(wanted) {
        if *held != *wanted {
            *held = NO_PATH;
        }
    }
    data
}
