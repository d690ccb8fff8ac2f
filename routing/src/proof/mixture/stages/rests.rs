//! How long a stage waits for packets of before: until those that are left close no loop with it.
//!
//! ```text
//!  t0   a stage is held: its packets of before may be on any cable of their old ways
//!  +1   each has passed one switch more, or is gone; what comes to a switch from now on finds what it has now
//!  +2   ..                     the first moment of which the next stage closes no loop with what is left
//! ```
//!
//! A packet is given up by a switch in which it was for too long (LifeTimeValue), so time is counted in switches. Most loops need packets at the beginning of
//! their ways, and these are the first to be gone: to wait for the last one would take several times as long.

use super::super::Has;
use super::super::flow::{Flow, Past};
use super::{Search, set};
use crate::proof::graph::DependencyGraph;

impl Past {
    /// Packets to a LID that leads nowhere from now on.
    pub(super) const fn of_dark(lid: u16) -> Self {
        Self {
            lid,
            was_dark: true,
            dropped: 0,
            passed: 0,
        }
    }

    /// Packets that may have come by old entries and new ones.
    pub(super) const fn of_mixture(lid: u16) -> Self {
        Self {
            was_dark: false,
            ..Self::of_dark(lid)
        }
    }

    /// When they have passed so many switches more.
    const fn after(self, passes: usize, is_dark: bool) -> Self {
        match is_dark {
            true => Self {
                dropped: self.dropped.saturating_add(passes),
                ..self
            },
            false => Self {
                passed: self.passed.saturating_add(passes),
                ..self
            },
        }
    }
}

impl Search<'_> {
    /// How many switches packets of before have to pass, so that a stage in which these LIDs change may begin. None where no waiting helps, or it is
    /// too much to look at.
    pub(super) fn least_rest(&self, lids: &[u16], are_dark: bool) -> Option<usize> {
        if self.past.is_empty() {
            return Some(0);
        }
        let mut has = self.has.clone();
        set(
            &mut has,
            lids,
            if are_dark { Has::New } else { Has::Either },
        );
        let graph = self.state(&has, false)?;
        let closes = |passes: usize| self.closes_with_past(&graph, &has, passes);
        // Longer than any way: all are gone.
        let most = self.change.judge.topology.switches.len();
        let (mut closed, mut open) = (0, 1);
        if !closes(0) {
            return Some(0);
        }
        while closes(open) {
            if open > most {
                return None;
            }
            (closed, open) = (open, open * 2);
        }
        while open - closed > 1 {
            let middle = closed.midpoint(open);
            match closes(middle) {
                true => closed = middle,
                false => open = middle,
            }
        }
        Some(open)
    }

    /// Whether packets of before close a loop with what the graph has, when they have passed so many switches more. `has`: of the stage that comes.
    fn closes_with_past(&self, graph: &DependencyGraph, has: &[Has], passes: usize) -> bool {
        let with = graph.copy();
        let mut flow = Flow::new(self.change, &with, Some(&self.change.judge.hosts));
        for past in &self.past {
            let past = past.after(passes, self.is_dark(past.lid));
            let nowhere = has.get(usize::from(past.lid)) == Some(&Has::Nowhere);
            flow.add_past(&past, nowhere);
        }
        with.has_loop()
    }

    /// The next stage begins when packets have passed so many switches more. Those that are gone by then are forgotten.
    pub(super) fn rest_for(&mut self, passes: usize) {
        if passes == 0 {
            return;
        }
        self.wait(passes);
        let past = self.past.iter();
        let past = past.map(|past| past.after(passes, self.is_dark(past.lid)));
        let mut flow = Flow::new(self.change, &self.channels, Some(&self.change.judge.hosts));
        let past = past.filter(|past| flow.is_past(past)).collect();
        self.past = past;
    }

    fn is_dark(&self, lid: u16) -> bool {
        self.has.get(usize::from(lid)) == Some(&Has::Nowhere)
    }
}
