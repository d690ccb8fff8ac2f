//! Which stage of changed routes comes next, and when.
//!
//! ```text
//!  a stage ──(all acknowledged)──> held? ──┬─ yes ──> its rest ──> the next one
//!                                          └─ no ───> no other one: their proof counts on it; the next sweep judges anew
//! ```
//!
//! A rest is as long as packets of before may live: nothing says earlier that they are gone. It is counted from the first look after the last
//! answer, so it is never shorter.
//!
//! | stage | writes | while it rests |
//! |---|---|---|
//! | leads nowhere | no path, at the switches that change these LIDs | packets for them are dropped there, and those beyond arrive |
//! | others | what is wanted | packets that came by old entries arrive |
//! | the first, where SL2VL waits for it | as its kind says | no other table is written |
//! | the last, which has what no stage named | what is wanted | nothing waits for it |
//!
//! Who asks gets no Set while a stage rests, and is told when to ask again. Links of hosts, and larger LinearFDBTop, wait for the last stage too.
//! Where a stage is not held the sweep ends as if there were no other: what is left differs from what is wanted, and the next sweep
//! finds that as it finds everything else.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::wanted::{Stage, Transition};

/// LIDs by block, a bit each.
type Lids = BTreeMap<u32, u64>;

/// What led nowhere while routes changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drained {
    /// LIDs.
    pub lids: usize,
    /// From the first Set that took a path away to the answer to the last one that gave one back, as far as it is.
    pub took: Duration,
    /// All of them have paths again. Else a switch did not take its block, and the next sweep goes on.
    pub is_over: bool,
}

/// All stages of a sweep, and which is at hand.
#[derive(Debug, Default)]
pub(super) struct Stages {
    next: VecDeque<Stage>,
    /// The one at hand.
    now: Option<Stage>,
    /// LIDs of no stage. Shape: every block that changes.
    others: Option<Lids>,
    is_before_tables: bool,
    keeps_sl2vl: bool,
    /// The rest of the one at hand ends then.
    until: Option<Duration>,
    dark: Dark,
}

/// LIDs that lead nowhere.
#[derive(Debug, Default)]
struct Dark {
    lids: Lids,
    all: usize,
    since: Duration,
    took: Duration,
}

/// What is to be done.
pub(super) enum Next {
    /// Blocks with a bit for each LID.
    Begin(Lids),
    /// Nothing yet.
    Rest,
    /// Nothing any more.
    Over,
}

impl Stages {
    /// `all`: every block that changes.
    pub(super) fn new(transition: Transition, all: Lids) -> Self {
        Self {
            is_before_tables: transition.is_before_tables && !transition.stages.is_empty(),
            next: transition.stages.into(),
            others: Some(all),
            ..Self::default()
        }
    }

    /// Nothing of it is to be done.
    pub(super) fn stop(&mut self) {
        self.next.clear();
        (self.now, self.others, self.until) = (None, None, None);
        self.is_before_tables = false;
    }

    /// Other tables wait: the first stage, or its rest, is not over.
    pub(super) const fn is_before_tables(&self) -> bool {
        self.is_before_tables
    }

    /// The stage that had to come before SL2VL was not held, so SL2VL stays as it is in this sweep.
    pub(super) const fn keeps_sl2vl(&self) -> bool {
        self.keeps_sl2vl
    }

    /// Of the stage at hand.
    pub(super) fn leads_nowhere(&self) -> bool {
        self.now.as_ref().is_some_and(|stage| stage.leads_nowhere)
    }

    /// When the rest after the stage at hand is over; none where nobody rests.
    pub(super) const fn wakes_at(&self) -> Option<Duration> {
        self.until
    }

    /// What led nowhere so far; none where nothing did.
    pub(super) fn drained(&self) -> Option<Drained> {
        (self.dark.all > 0).then_some(Drained {
            lids: self.dark.all,
            took: self.dark.took,
            is_over: self.dark.lids.is_empty(),
        })
    }

    /// The stage at hand, where nobody has said yet whether it is held.
    pub(super) fn ended(&self) -> Option<&Stage> {
        self.now.as_ref().filter(|_| self.until.is_none())
    }

    /// To be called when nothing of the stage at hand is under way. `is_held`: [`Self::ended`] is, if it is one.
    pub(super) fn next(&mut self, now: Duration, is_held: bool) -> Next {
        // What is at hand comes to its end first: held, then the time that packets of before need.
        if let Some(stage) = &self.now {
            if self.until.is_none() {
                self.dark.change(stage, now, is_held);
                if !is_held {
                    self.keeps_sl2vl = self.is_before_tables;
                    self.stop();
                    return Next::Over;
                }
                self.until = Some(now.saturating_add(stage.rest));
            }
            if self.until.is_some_and(|until| now < until) {
                return Next::Rest;
            }
            (self.now, self.until) = (None, None);
            // Only the first one is.
            if core::mem::take(&mut self.is_before_tables) {
                return Next::Begin(Lids::new());
            }
        }
        let Some(stage) = self.next.pop_front() else {
            return self.others.take().map_or(Next::Over, Next::Begin);
        };
        self.dark.begin(&stage, now);
        let lids = stage.lids.clone();
        self.now = Some(stage);
        Next::Begin(lids)
    }
}

impl Dark {
    /// The first Set of a stage is about to go out. Time counts from the first stage that takes paths away.
    fn begin(&mut self, stage: &Stage, now: Duration) {
        if !stage.leads_nowhere {
            return;
        }
        if self.lids.is_empty() {
            self.since = now;
        }
        for (block, lids) in &stage.lids {
            *self.lids.entry(*block).or_default() |= lids;
            self.all += lids.count_ones() as usize;
        }
    }

    /// A stage has its answers.
    fn change(&mut self, stage: &Stage, now: Duration, is_held: bool) {
        if self.lids.is_empty() {
            return;
        }
        self.took = now.saturating_sub(self.since);
        if stage.leads_nowhere || !is_held {
            return;
        }
        for (block, lids) in &stage.lids {
            if let Some(left) = self.lids.get_mut(block) {
                *left &= !lids;
            }
        }
        self.lids.retain(|_, left| *left != 0);
    }
}
