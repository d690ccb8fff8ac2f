//! One switch of an order: what it holds, and which of its LIDs wait for what.

use super::{Change, LIDS};
use crate::model::attributes::Data;
use crate::wanted::linear::NO_PATH;

/// A switch that changes the block.
/// Bits of its words are places of LIDs in the block, the lowest for the first.
#[derive(Debug)]
pub(super) struct Member {
    /// What it holds, as far as it said so.
    pub(super) held: Data,
    /// Else nobody knows what it holds: all of it goes at once, as there are no old entries to put between new ones.
    pub(super) is_known: bool,
    /// What it should hold in the end.
    pub(super) wanted: Data,
    /// A bit for each LID that is to change yet.
    pub(super) left: u64,
    /// Of these, those that wait for other switches.
    pub(super) waiting: u64,
    /// Those that come after all others.
    pub(super) late: u64,
    /// Of these, those that come after another late one: its entry is on their new way, which leads nowhere.
    pub(super) chained: u64,
    /// Under way.
    pub(super) sent: u64,
    /// Switches, with places of LIDs, that wait for this one.
    pub(super) behind: Vec<(u32, u8)>,
}

impl Member {
    /// `left`: a bit for each LID that it is to change. Nothing waits yet and nothing is under way.
    pub(super) fn new(change: &Change, left: u64) -> Self {
        Self {
            held: change.held.unwrap_or([NO_PATH; LIDS]),
            is_known: change.held.is_some(),
            wanted: change.wanted,
            left,
            waiting: 0,
            late: 0,
            chained: 0,
            sent: 0,
            behind: Vec::new(),
        }
    }

    /// What it holds, with all new entries that nothing stands against.
    pub(super) fn send(&mut self) -> Option<Data> {
        let lids = self.left & !self.waiting;
        if lids == 0 || self.sent != 0 {
            return None;
        }
        self.sent = lids;
        let mut data = self.held;
        for (place, (to, from)) in data.iter_mut().zip(&self.wanted).enumerate() {
            if lids >> place & 1 == 1 {
                *to = *from;
            }
        }
        Some(data)
    }
}
