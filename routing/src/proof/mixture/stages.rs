//! The search for stages in which a change of tables closes no loop, and for packets that have to be gone first.
//!
//! ```text
//!  LIDs that are left ──loop──> blocks of 64, each that adds no loop ──none──> single LIDs ──none──> some lead nowhere first
//!          │                         │                                           │
//!          └─ none: the last stage   └─ a stage; has new entries from then on ───┘
//! ```
//!
//! Blocks come first because they are what is written: a stage of whole blocks takes no Set more than all at once, one of single LIDs
//! writes a block for each stage that has some of it. It is a greedy search: where it finds nothing there may be stages all the same.
//!
//! # Packets of before
//!
//! When all of a stage is held, packets that came by its old entries may still be on cables. They go on by new entries, so what they
//! hold and wait for is part of the mixture of that stage. If that closes no loop with the next one either, the next one may begin at once;
//! else it begins when so many of them are gone that it does not (`rests`), which is counted in switches that the others have passed ([`Stage::passes`]).
//!
//! # LIDs that nobody reaches
//!
//! Where a cable or a switch has failed, packets by old entries of many LIDs end there. Such LIDs lead nowhere from the beginning where they cannot
//! change at once, which costs nobody a path: their packets are dropped one switch further and not where they were going, so they are gone
//! soon, and none of them turns back on its new way.
//!
//! ```text
//!  ring, the cable 7-0 fails: to the LIDs of 0 to 3 packets turned back at 7, to those of 4 to 7 at 0: both together close a loop
//!  at once: LIDs of 0 to 3        nowhere, then new: LIDs of 4 to 7
//! ```
//!
//! # LIDs that lead nowhere for a while
//!
//! Where no LID can change while the others are as they are, some of them are taken away from the switches that change them: packets
//! for them are dropped there, and those beyond arrive. Then nobody waits by their old entries, and they get the new ones.
//! Which: as few as a greedy search finds, or all that are left, whichever costs less ([`Stages::cost`]). Beginning with all that are left, each
//! that may change with the others gone is put back, in halves of halves.
//!
//! ```text
//!  X: lead nowhere    K: the others      X nowhere ─> packets are gone ─┬─ X new ─> K new    where K's old entries allow that
//!                                                                       └─ K new ─> X new    else; in the end all are new, which is proved
//! ```
//!
//! The same before SL2VL changes, where old forwarding tables would close a loop with the old and the new ones.

mod choice;
mod moment;
mod rests;

use std::sync::{Arc, OnceLock};

use super::super::graph::DependencyGraph;
use super::flow::{Flow, Past};
use super::found::{Stage, Stages};
use super::ways::Ways;
use super::{Change, Has};

/// Channels that are gone over to find stages: some seconds. As many again to find those that lead nowhere.
const MOST_WORK: usize = 1 << 30;

/// A search, and how far it is.
pub(super) struct Search<'a> {
    change: &'a Change<'a>,
    channels: DependencyGraph,
    /// By LID.
    has: Vec<Has>,
    /// LIDs that change, ascending.
    changing: Vec<u16>,
    /// Dependencies of what does not, by whether packets may meet old SL2VL tables; none before somebody asks.
    others: Arc<[OnceLock<DependencyGraph>; 2]>,
    /// LIDs with old entries.
    left: Vec<u16>,
    /// LIDs that lead nowhere now.
    dark: Vec<u16>,
    /// Packets that may be under way by entries of before.
    past: Vec<Past>,
    /// Packets may be under way that came by old SL2VL tables.
    has_old_sl2vl: bool,
    work: usize,
    found: Stages,
}

impl<'a> Search<'a> {
    /// `lids`: those that change.
    pub(super) fn new(change: &'a Change<'a>, lids: Vec<u16>) -> Self {
        let judge = &change.judge;
        // LIDs that do not change have both.
        let mut has = vec![Has::New; usize::from(judge.routes.lids().max_lid()) + 1];
        set(&mut has, &lids, Has::Old);
        Self {
            change,
            channels: DependencyGraph::new(judge.topology, judge.routes),
            has,
            changing: lids.clone(),
            others: Arc::default(),
            left: lids,
            dark: Vec::new(),
            past: Vec::new(),
            has_old_sl2vl: false,
            work: MOST_WORK,
            found: Stages::default(),
        }
    }

    /// None where nothing helps, or it is too much to look at.
    pub(super) fn run(mut self) -> Option<Stages> {
        // Where packets keep the SLs of before, the new tables alone may close a loop, which no order ends.
        if self.state(&self.all_new(), false)?.has_loop() {
            return None;
        }
        if self.change.old_sl2vl.is_some() {
            self.pass_sl2vl()?;
        }
        while !self.left.is_empty() {
            let graph = self.state(&self.has, false)?;
            let lost = self.lost();
            let stage = self.stage(graph, &lost);
            match stage.is_empty() {
                true => self.drain()?,
                false => self.go_on(stage, lost)?,
            }
        }
        let dark = core::mem::take(&mut self.dark);
        if !dark.is_empty() {
            self.push(dark, true)?;
        }
        Some(self.found)
    }

    /// Of what is left, LIDs that nobody reaches over switches that change them, ascending.
    fn lost(&self) -> Vec<u16> {
        let ways = self.ways();
        let is_lost = |lid: &u16| !ways.is_waited_for(*lid);
        self.left.iter().copied().filter(is_lost).collect()
    }

    /// These get their new entries. Lost ones that are not among them lead nowhere meanwhile, which costs nobody a path, and get theirs as
    /// soon as their own packets of before are gone.
    fn go_on(&mut self, stage: Vec<u16>, mut lost: Vec<u16>) -> Option<()> {
        lost.retain(|lid| stage.binary_search(lid).is_err());
        if lost.is_empty() {
            return self.push(stage, false);
        }
        self.left.retain(|lid| lost.binary_search(lid).is_err());
        self.found.stages.push(Stage {
            lids: lost.clone(),
            leads_nowhere: true,
            passes: 0,
        });
        // The proof of the stage counts with their old entries, as their packets are under way.
        self.push(stage, false)?;
        set(&mut self.has, &lost, Has::Nowhere);
        self.dark.extend(&lost);
        match self.has_old_sl2vl {
            true => self.wait(self.passes(&self.dark)),
            false => self.past.extend(lost.into_iter().map(Past::of_dark)),
        }
        self.lighten().map(|_| ())
    }

    /// The state at the end of it all. Shape: by LID.
    fn all_new(&self) -> Vec<Has> {
        vec![Has::New; self.has.len()]
    }

    /// SL2VL changes before all but LIDs that have to lead nowhere for that.
    fn pass_sl2vl(&mut self) -> Option<()> {
        let has_loop = self.state(&self.has, true)?.has_loop();
        if has_loop {
            // None also where LIDs that do not change close the loop.
            let kept = self.kept(Has::Old, true)?;
            self.darken(&kept);
            self.rest();
            self.found.is_before_sl2vl = true;
            // What has to wait for packets by old SL2VL tables waits after these.
            self.found.stages.push(Stage {
                lids: Vec::new(),
                leads_nowhere: false,
                passes: 0,
            });
        }
        self.has_old_sl2vl = true;
        if has_loop {
            self.lighten()?;
        }
        Some(())
    }

    /// No LID can change while the others are as they are, so some lead nowhere for a while: as few as need to, or all that are left, where
    /// that costs less as their packets are waited for at the same time.
    fn drain(&mut self) -> Option<()> {
        self.work = MOST_WORK;
        let kept = self.kept(Has::Either, false)?;
        let few = self.drained(&kept)?;
        match kept.is_empty() || few.found.cost() == 0 {
            true => *self = few,
            false => {
                let all = self.drained(&[])?;
                *self = core::cmp::min_by_key(few, all, |it| it.found.cost());
            }
        }
        Some(())
    }

    /// A search in which all that are left but for these lead nowhere, and then have their new entries.
    fn drained(&self, kept: &[u16]) -> Option<Self> {
        let mut search = self.copy();
        search.darken(kept);
        if !search.lighten()? {
            let kept = core::mem::take(&mut search.left);
            search.push(kept, false)?;
            let dark = core::mem::take(&mut search.dark);
            search.push(dark, true)?;
        }
        Some(search)
    }

    /// The same search.
    fn copy(&self) -> Self {
        Self {
            channels: self.channels.wide(),
            has: self.has.clone(),
            changing: self.changing.clone(),
            others: Arc::clone(&self.others),
            left: self.left.clone(),
            dark: self.dark.clone(),
            past: self.past.clone(),
            found: self.found.clone(),
            ..*self
        }
    }

    /// All that are left lead nowhere, but for these.
    fn darken(&mut self, kept: &[u16]) {
        let left = core::mem::take(&mut self.left);
        let (kept, dark): (Vec<u16>, Vec<u16>) = left
            .into_iter()
            .partition(|lid| kept.binary_search(lid).is_ok());
        self.left = kept;
        if dark.is_empty() {
            return;
        }
        let waiting = dark.iter().map(|lid| self.ways().waiting(*lid));
        self.found.waiting.extend(waiting.collect::<Vec<_>>());
        set(&mut self.has, &dark, Has::Nowhere);
        self.found.stages.push(Stage {
            lids: dark.clone(),
            leads_nowhere: true,
            passes: 0,
        });
        self.past.extend(dark.iter().copied().map(Past::of_dark));
        self.dark.extend(dark);
        if self.has_old_sl2vl {
            self.rest();
        }
    }

    /// LIDs that lead nowhere get their new entries, if those that are left allow it. False where they do not.
    fn lighten(&mut self) -> Option<bool> {
        let mut has = self.has.clone();
        set(&mut has, &self.dark, Has::New);
        if self.state(&has, false)?.has_loop() {
            return Some(false);
        }
        let dark = core::mem::take(&mut self.dark);
        self.push(dark, true)?;
        Some(true)
    }

    /// A stage in which these get their new entries. It closes no loop by itself. `are_dark`: they lead nowhere before it.
    fn push(&mut self, lids: Vec<u16>, are_dark: bool) -> Option<()> {
        match self.has_old_sl2vl {
            true if self.meets(&lids, are_dark)? => self.rest(),
            true => {}
            false => {
                let passes = self.least_rest(&lids, are_dark)?;
                self.rest_for(passes);
            }
        }
        set(&mut self.has, &lids, Has::New);
        self.left
            .retain(|lid| self.has.get(usize::from(*lid)) == Some(&Has::Old));
        // Of LIDs that led nowhere none came by a mixture.
        if !are_dark {
            self.past.extend(lids.iter().copied().map(Past::of_mixture));
        }
        self.found.stages.push(Stage {
            lids,
            leads_nowhere: false,
            passes: 0,
        });
        Some(())
    }

    /// Whether packets of before and those of a stage that begins now could close a loop together, while some may meet old SL2VL tables.
    fn meets(&self, lids: &[u16], are_dark: bool) -> Option<bool> {
        let mut has = self.has.clone();
        let past: Vec<u16> = self.past.iter().map(|past| past.lid).collect();
        set(&mut has, &past, Has::Either);
        if !are_dark {
            set(&mut has, lids, Has::Either);
        }
        let graph = self.state(&has, self.has_old_sl2vl)?;
        // No packet for them is under way, and those that come meet new SL2VL tables alone.
        if are_dark {
            let hosts = &self.change.judge.hosts;
            let mut flow = Flow::new(self.change, &graph, Some(hosts));
            lids.iter().for_each(|lid| flow.add(*lid, Has::New, false));
        }
        Some(graph.has_loop())
    }

    /// All packets of before are gone when the next stage begins.
    fn rest(&mut self) {
        let past: Vec<u16> = self.past.iter().map(|past| past.lid).collect();
        let lids = [past.as_slice(), &self.dark].concat();
        self.wait(self.passes(&lids));
        self.past.clear();
        self.has_old_sl2vl = false;
    }

    /// The next stage begins when packets could pass so many switches.
    fn wait(&mut self, passes: usize) {
        match self.found.stages.last_mut() {
            Some(stage) => stage.passes = stage.passes.max(passes),
            None => self.found.stages.push(Stage {
                lids: Vec::new(),
                leads_nowhere: false,
                passes,
            }),
        }
    }

    /// How many switches packets of before to these LIDs may have to pass yet. Of all packets where SL2VL was another.
    fn passes(&self, lids: &[u16]) -> usize {
        let all = (0..self.has.len()).filter_map(|lid| u16::try_from(lid).ok());
        let lids = all.filter(|lid| self.has_old_sl2vl || lids.contains(lid));
        let ways = self.ways();
        lids.map(|lid| ways.passes_to(lid, self.has_old_sl2vl))
            .max()
            .unwrap_or(0)
    }

    /// Those of the state at hand.
    fn ways(&self) -> Ways<'_> {
        Ways {
            change: self.change,
            has: &self.has,
        }
    }
}

/// These LIDs have that now. A LID beyond the largest is none.
fn set(has: &mut [Has], lids: &[u16], it: Has) {
    for lid in lids {
        if let Some(has) = has.get_mut(usize::from(*lid)) {
            *has = it;
        }
    }
}
