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

/// A LID that led nowhere while routes changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrainedLid {
    /// The LID.
    pub lid: u16,
    /// From the first Set of the stage that took its path away to the last answer of the one that gave it back, as far as it is.
    pub took: Duration,
    /// It has a path again.
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

/// LIDs that lead nowhere, and those that did.
#[derive(Debug, Default)]
struct Dark {
    /// By LID: since when it does.
    now: BTreeMap<u16, Duration>,
    /// Those that have a path again.
    over: Vec<DrainedLid>,
    since: Duration,
    until: Duration,
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
        let lids = self.dark.now.len() + self.dark.over.len();
        (lids > 0).then_some(Drained {
            lids,
            took: self.dark.until.saturating_sub(self.dark.since),
            is_over: self.dark.now.is_empty(),
        })
    }

    /// The same LID by LID, ascending.
    pub(super) fn drained_lids(&self) -> Vec<DrainedLid> {
        let now = self.dark.now.iter().map(|(lid, since)| DrainedLid {
            lid: *lid,
            took: self.dark.until.saturating_sub(*since),
            is_over: false,
        });
        let mut lids: Vec<DrainedLid> = now.chain(self.dark.over.iter().copied()).collect();
        lids.sort_unstable_by_key(|it| it.lid);
        lids
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
        if self.now.is_empty() && self.over.is_empty() {
            self.since = now;
        }
        self.now.extend(lids(&stage.lids).map(|lid| (lid, now)));
        self.until = now;
    }

    /// A stage has its answers.
    fn change(&mut self, stage: &Stage, now: Duration, is_held: bool) {
        if self.now.is_empty() {
            return;
        }
        self.until = now;
        if stage.leads_nowhere || !is_held {
            return;
        }
        for lid in lids(&stage.lids) {
            let since = self.now.remove(&lid);
            self.over.extend(since.map(|since| DrainedLid {
                lid,
                took: now.saturating_sub(since),
                is_over: true,
            }));
        }
    }
}

/// Those whose bits are set.
fn lids(blocks: &Lids) -> impl Iterator<Item = u16> {
    blocks.iter().flat_map(|(block, bits)| {
        let is_set = move |place: &u32| bits >> place & 1 == 1;
        let lids = (0..64).filter(is_set).map(move |place| block * 64 + place);
        lids.filter_map(|lid| u16::try_from(lid).ok())
    })
}
