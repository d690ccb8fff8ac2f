//! Where a LID goes once all switches hold what they should.
//!
//! To one LID each switch has one way, so ways are found by following entries until a switch of which it is known already. A way that comes
//! back to a switch is a circle: that switch is noted as one before it is followed, and corrected when its end is found.
//!
//! ```text
//!  entries   A ─> B ─> C* ─> D ─> port      C changes
//!  of(A)     Delivered, first behind it that changes: C
//!  of(C)     Delivered, none
//! ```
//!
//! Engines make no circles; tables of files may have them, and a switch that did not take its block may close one.

use super::cables::{Cables, Hop};
use super::order::Rows;
use crate::model::attributes::Data;

/// Where a path by the new entries leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// To the LID's port.
    Delivered,
    /// Into a port without a link, or to no port.
    Lost,
    /// In a circle, or to a switch of which nobody knows where it sends.
    Unsafe,
}

/// Paths to one LID after the other, by the entries that are wanted.
/// What was found out of a switch serves all whose way leads over it: each is looked at once for a LID.
pub(super) struct Ways<'a> {
    cables: &'a Cables,
    held: &'a Rows,
    place: usize,
    round: u32,
    /// By switch: the round in which it was followed, where its path leads, and the first switch on it, itself included, that
    /// changes.
    known: Vec<(u32, Way, Option<u32>)>,
    /// By switch: the round in which it is one that changes, and where it sends to then.
    changing: Vec<(u32, Hop)>,
}

impl<'a> Ways<'a> {
    /// By what switches hold now; [`Self::change`] says who is to hold something else.
    pub(super) fn new(cables: &'a Cables, held: &'a Rows) -> Self {
        let switches = cables.nodes().len();
        Self {
            cables,
            held,
            place: 0,
            round: 0,
            known: vec![(0, Way::Lost, None); switches],
            changing: vec![(0, Hop::Nothing); switches],
        }
    }

    /// From now on of this place in the block. Nobody changes.
    pub(super) fn begin(&mut self, place: usize) {
        self.place = place;
        self.round += 1;
    }

    /// This switch is to send by this block. Before the first [`Self::of`] of the LID.
    pub(super) fn change(&mut self, switch: u32, wanted: &Data) {
        let hop = self.cables.next(switch, wanted, self.place);
        if let Some(changing) = self.changing.get_mut(switch as usize) {
            *changing = (self.round, hop);
        }
    }

    /// Where a switch sends to, and whether it changes. None where nobody knows.
    fn hop(&self, switch: u32) -> (Option<Hop>, bool) {
        match self.changing.get(switch as usize) {
            Some((round, hop)) if *round == self.round => (Some(*hop), true),
            _ => {
                let row = self.held.get(switch as usize).and_then(Option::as_ref);
                let hop = row.map(|row| self.cables.next(switch, row, self.place));
                (hop, false)
            }
        }
    }

    /// Where the path of a switch leads, and the first switch behind it that changes.
    pub(super) fn of(&mut self, switch: u32) -> (Way, Option<u32>) {
        match self.hop(switch).0 {
            Some(Hop::End) => (Way::Delivered, None),
            Some(Hop::Nothing) => (Way::Lost, None),
            Some(Hop::Switch(next)) => self.from(next),
            None => (Way::Unsafe, None),
        }
    }

    /// The same from a switch on, itself included.
    fn from(&mut self, first: u32) -> (Way, Option<u32>) {
        let (mut trail, mut here) = (Vec::new(), first);
        let (way, mut changes) = loop {
            match self.known.get(here as usize) {
                Some((round, way, changes)) if *round == self.round => break (*way, *changes),
                None => break (Way::Lost, None),
                Some(_) => {}
            }
            // Until it is known better: whoever comes back here goes in a circle.
            self.note(here, Way::Unsafe, None);
            trail.push(here);
            match self.hop(here).0 {
                Some(Hop::End) => break (Way::Delivered, None),
                Some(Hop::Nothing) => break (Way::Lost, None),
                Some(Hop::Switch(next)) => here = next,
                None => break (Way::Unsafe, None),
            }
        };
        // From the end back, so that each knows the first behind it that changes.
        for switch in trail.into_iter().rev() {
            if self.hop(switch).1 {
                changes = Some(switch);
            }
            self.note(switch, way, changes);
        }
        (way, changes)
    }

    /// Keeps what came of a walk, so that no switch is walked from twice in a round.
    fn note(&mut self, switch: u32, way: Way, changes: Option<u32>) {
        if let Some(known) = self.known.get_mut(switch as usize) {
            *known = (self.round, way, changes);
        }
    }
}
