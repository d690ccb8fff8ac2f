//! Several LIDs of one port, which are to go by different switches.
//!
//! As OpenSM does: a further LID leaves towards a switch that none before has been sent to, over the cable with the fewest LIDs
//! among those; where all have had one, over the cable with the fewest LIDs, of equals towards the switch that has had fewest of
//! this port. Cables are looked at from the one after that of the LID before, around to it: the first of equals is so another one
//! each time.
//!
//! # An example
//!
//! A leaf with two cables to spine A and one to spine B, and a host behind both with LMC 2. Nothing else is on the cables yet:
//!
//! ```text
//! LID of the port   1st      2nd      3rd      4th
//! switches so far   none     A        A, B     A, B
//! cable             A's 1st  B's      A's 2nd  B's: all cables have one LID, and B has had fewer of this port
//! ```
//!
//! A host that has lost one spine so has LIDs by the other one, whichever of them a path record names.

use super::rounds::{MOST_CABLES, Round};
use crate::topology::SwitchIx;

/// Towards which switches the LIDs of each port went, in the table of one switch.
pub(super) struct Siblings {
    /// Shape: index = end port; switch, and LIDs.
    went: Vec<Vec<(SwitchIx, u32)>>,
    /// Shape: index = end port; the cable of the LID before, of those that have one.
    last: Vec<usize>,
}

impl Siblings {
    /// For so many end ports.
    pub(super) fn new(ends: usize) -> Self {
        Self {
            went: vec![Vec::new(); ends],
            last: vec![0; ends],
        }
    }

    /// For the next switch.
    pub(super) fn reset(&mut self) {
        self.went.iter_mut().for_each(Vec::clear);
    }

    /// Which cable of a round the next LID of a port takes. `far` are the switches at their other ends, `used` the LIDs on each.
    pub(super) fn next<const WORDS: usize>(
        &mut self,
        end: u32,
        round: &Round<WORDS>,
        far: &[SwitchIx],
        used: &[u32; MOST_CABLES],
    ) -> Option<usize> {
        // A port has 128 LIDs at most and mostly two or four: a list is looked through sooner than a map.
        let went = &mut self.went[end as usize];
        // The first LID has none before it, and begins with the first cable.
        let last = (!went.is_empty()).then_some(self.last[end as usize]);
        let is_behind = move |cable: &usize| last.is_none_or(|last| *cable > last);
        let behind = round.cables().filter(is_behind);
        let cables = behind.chain(round.cables().filter(move |cable| !is_behind(cable)));
        let mut fresh: Option<usize> = None;
        let mut any: Option<usize> = None;
        let mut fewest_of_port = u32::MAX;
        for cable in cables {
            let before = went.iter().find(|(switch, _)| *switch == far[cable]);
            let before = before.map(|(_, lids)| *lids);
            if before.is_none() && fresh.is_none_or(|best| used[cable] < used[best]) {
                fresh = Some(cable);
            }
            let is_better = match any {
                None => true,
                Some(best) if used[cable] == used[best] => {
                    before.is_some_and(|lids| lids < fewest_of_port)
                }
                Some(best) => used[cable] < used[best],
            };
            if is_better {
                any = Some(cable);
                fewest_of_port = fewest_of_port.min(before.unwrap_or(u32::MAX));
            }
        }
        // A switch that none has been sent to comes first, however many LIDs its cables have.
        let cable = fresh.or(any)?;
        self.last[end as usize] = cable;
        match went.iter_mut().find(|(switch, _)| *switch == far[cable]) {
            Some((_, lids)) => *lids += 1,
            None => went.push((far[cable], 1)),
        }
        Some(cable)
    }
}
