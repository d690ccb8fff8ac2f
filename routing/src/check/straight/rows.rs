//! Turns found by reading the forwarding tables once, row by row.

use std::ops::Range;

use super::Turns;
use crate::check::channels::{Channels, Link};
use crate::parallel;
use crate::routes::{Lft, NO_PATH, Routes};
use crate::topology::{SwitchIx, count32};

/// Every switch's table beside those of its neighbours. Every switch sends to all the LIDs, and
/// none sends a LID of its own into a cable to a switch.
pub(super) struct Rows<'a> {
    channels: &'a Channels,
    lft: &'a Lft,
    /// Which entries are looked at.
    lids: &'a [Range<usize>],
    /// A table without entries.
    nothing: Vec<u8>,
}

/// Switches whose tables are looked at by one thread before it takes others.
const SWITCHES: usize = 16;

/// Ports that a forwarding entry can name.
const PORTS: usize = 256;

impl<'a> Rows<'a> {
    pub(super) fn new(
        channels: &'a Channels,
        routes: &'a Routes,
        lids: &'a [Range<usize>],
    ) -> Self {
        let lft = routes.lfts();
        Self {
            channels,
            lft,
            lids,
            nothing: vec![NO_PATH; lft.stride()],
        }
    }

    /// The turns that packets to the LIDs take, in parts.
    pub(super) fn taken(&self) -> Vec<Turns> {
        if self.lids.is_empty() {
            return Vec::new();
        }
        let switches = self.channels.switches();
        let pieces = switches.div_ceil(SWITCHES);
        parallel::over_queue(pieces, self.lft.bytes().len(), |pieces| {
            let mut taken = Turns::none(self.channels);
            let mut seen = Seen::new();
            for first in pieces.map(|piece| piece * SWITCHES) {
                for switch in first..switches.min(first + SWITCHES) {
                    self.read(SwitchIx(count32(switch)), &mut seen, &mut taken);
                }
            }
            taken
        })
    }

    /// Reads the table of a switch, and of its neighbours what it sends to them.
    fn read(&self, switch: SwitchIx, seen: &mut Seen, taken: &mut Turns) {
        let mut next = [self.nothing.as_slice(); PORTS];
        for link in self.links_from(switch) {
            next[usize::from(link.port)] = self.lft.table(link.to);
            seen.forget(link.port);
        }
        let table = self.lft.table(switch);
        for lids in self.lids {
            for (lid, entry) in lids.clone().zip(&table[lids.clone()]) {
                seen.note(*entry, next[usize::from(*entry)][lid]);
            }
        }
        for link in self.links_from(switch) {
            let turns = (link.turns..).zip(self.channels.cabled(link.to));
            let turns = turns.filter(|(_, port)| seen.has(link.port, **port));
            turns.for_each(|(turn, _)| taken.take(turn));
        }
    }

    fn links_from(&self, switch: SwitchIx) -> impl Iterator<Item = &'a Link> {
        let links = self.channels.links_from(switch);
        self.channels.links[links.start as usize..links.end as usize].iter()
    }
}

/// Pairs of a port and the next switch's port. A byte each, since writing one needs no reading.
struct Seen(Vec<bool>);

impl Seen {
    fn new() -> Self {
        Self(vec![false; PORTS * PORTS])
    }

    fn forget(&mut self, port: u8) {
        self.0[usize::from(port) * PORTS..][..PORTS].fill(false);
    }

    #[inline]
    fn note(&mut self, port: u8, next: u8) {
        self.0[usize::from(port) * PORTS + usize::from(next)] = true;
    }

    fn has(&self, port: u8, next: u8) -> bool {
        self.0[usize::from(port) * PORTS + usize::from(next)]
    }
}
