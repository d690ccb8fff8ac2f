//! Turns found by following paths.
//!
//! The sure way, for LIDs that some switches do not send to: only what lies on a path from a source counts,
//! since an entry that no packet meets takes no turn. Paths to one LID join and never part, so each ends
//! where another has been.

use super::Turns;
use crate::parallel;
use crate::paths::columns::{self, Columns};
use crate::proof::channels::{Channels, NO_LINK};
use crate::proof::unicast::Paths;
use crate::tables::Routes;
use crate::topology::{SwitchIx, Topology};
use crate::watch::Stretch;

/// Follows the paths from all sources to one LID after the other, over each switch once.
pub(super) struct Trails<'a> {
    routes: &'a Routes,
    channels: &'a Channels,
    /// Switches where packets enter the fabric.
    /// In the order of indices; a switch with nobody on it is none, unless its port 0 sends.
    sources: Vec<SwitchIx>,
}

impl<'a> Trails<'a> {
    /// Finds the switches where packets enter.
    pub(super) fn new(
        channels: &'a Channels,
        topology: &Topology,
        routes: &'a Routes,
        paths: Paths<'_>,
    ) -> Self {
        let sends = |switch: &SwitchIx| {
            paths.port0_sends(topology, *switch) || topology.hosts(*switch).next().is_some()
        };
        Self {
            routes,
            channels,
            sources: topology.switch_ixs().filter(sends).collect(),
        }
    }

    /// The turns that packets to some LIDs take, in parts. Shape: by LID, the switch it is on; none
    /// for those that are left out.
    pub(super) fn taken(&self, lids: &[Option<SwitchIx>], share: Stretch<'_>) -> Vec<Turns> {
        let lft = self.routes.lfts();
        // Blocks without such a LID are never loaded: mostly that is all of them.
        let wanted = |block: &usize| {
            let lids = lids.iter().skip(block * columns::BLOCK);
            lids.take(columns::BLOCK).any(Option::is_some)
        };
        let blocks: Vec<usize> = (0..columns::blocks(lft)).filter(wanted).collect();
        if blocks.is_empty() {
            return Vec::new();
        }
        let nexts = Nexts::new(self.channels);
        let done = share.count(blocks.len());
        let effort = blocks.len() * columns::BLOCK * self.channels.switches();
        parallel::over_queue(blocks.len(), effort, |queue| {
            let mut trail = Trail {
                nexts: &nexts,
                is_passed: vec![false; self.channels.switches()],
                taken: Turns::none(self.channels),
            };
            let mut columns = Columns::default();
            for block in queue.map(|nth| blocks[nth]) {
                columns.load(lft, block);
                for lid in columns.lids() {
                    if let Some(to) = lids[usize::from(lid)] {
                        trail.follow(&self.sources, to, columns.column(lid));
                    }
                }
                done.add(1);
            }
            trail.taken
        })
    }
}

/// What one thread has followed.
struct Trail<'a> {
    nexts: &'a Nexts,
    /// By switch, for the LID at hand.
    is_passed: Vec<bool>,
    taken: Turns,
}

impl Trail<'_> {
    /// Follows a column to a switch. Whatever that does with the LID, paths end there.
    /// Cost: O(switches), as no switch is passed twice.
    fn follow(&mut self, sources: &[SwitchIx], to: SwitchIx, column: &[u8]) {
        self.is_passed.fill(false);
        self.is_passed[to.index()] = true;
        for source in sources {
            let mut here = source.index();
            let mut from = self.nexts.next(here, column);
            while !std::mem::replace(&mut self.is_passed[here], true) {
                let Some(cable) = from else {
                    break;
                };
                here = cable.to as usize;
                // The last turn is the one into the destination's switch, which needs no further
                // cable.
                if here == to.index() {
                    break;
                }
                from = self.nexts.next(here, column);
                if let Some(next) = from {
                    self.taken.take(cable.turns + next.slot);
                }
            }
        }
    }
}

/// A cable to a switch.
#[derive(Clone, Copy)]
struct Next {
    /// The far switch; [`NO_LINK`] where there is no such cable.
    to: u32,
    /// The turn from here to its slot 0.
    turns: u32,
    slot: u32,
}

/// All cables, by what forwarding entries say.
struct Nexts {
    switches: usize,
    /// Shape: by port number, then by switch, so that what one column needs lies together.
    nexts: Vec<Next>,
}

impl Nexts {
    /// Lays the cables out for columns.
    fn new(channels: &Channels) -> Self {
        let switches = channels.switches();
        let ports = channels.links.iter().map(|link| usize::from(link.port) + 1);
        let nowhere = Next {
            to: NO_LINK,
            turns: 0,
            slot: 0,
        };
        let mut nexts = vec![nowhere; ports.max().unwrap_or(0) * switches];
        for link in &channels.links {
            nexts[usize::from(link.port) * switches + link.from.index()] = Next {
                to: link.to.0,
                turns: link.turns,
                slot: u32::from(link.slot),
            };
        }
        Self { switches, nexts }
    }

    /// The cable that a switch sends on, by its entry in a column.
    #[inline]
    fn next(&self, switch: usize, column: &[u8]) -> Option<Next> {
        let next = self
            .nexts
            .get(usize::from(column[switch]) * self.switches + switch);
        next.filter(|next| next.to != NO_LINK).copied()
    }
}
