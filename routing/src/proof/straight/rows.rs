//! Turns found by reading the forwarding tables once, row by row.
//!
//! The quick way, for LIDs that every switch sends to: a packet may then come to a switch by any cable that
//! leads there, so a turn is taken when an entry names the first cable and the next switch's entry for the
//! same LID names the second. That reads pairs of rows side by side and follows nothing.

use std::ops::Range;

use super::Turns;
use crate::parallel;
use crate::proof::channels::{Channels, Link};
use crate::tables::{Lft, NO_PATH, Routes};
use crate::topology::{SwitchIx, count32};
use crate::watch::Stretch;

/// Every switch's table beside those of its neighbours. Every switch sends to all the LIDs, and
/// none sends a LID of its own into a cable to a switch.
/// Borrowed for one pass.
pub(super) struct Rows<'a> {
    channels: &'a Channels,
    lft: &'a Lft,
    /// Which entries are looked at, in runs that do not go on over multiples of [`LIDS`].
    lids: &'a [Range<usize>],
    /// A table without entries.
    nothing: Vec<u8>,
    /// All switches, those with the same neighbours together, so that what is read of these is
    /// still in the cache.
    /// Changes speed and nothing else.
    order: Vec<SwitchIx>,
}

/// Switches whose tables are looked at by one thread before it takes others.
const SWITCHES: usize = 32;

/// LIDs that are looked at in all of them before the next: as much of some dozens of tables as a
/// second-level cache holds.
pub(super) const LIDS: usize = 1 << 13;

/// Ports that a forwarding entry can name.
const PORTS: usize = 256;

impl<'a> Rows<'a> {
    /// Orders the switches and reads nothing yet.
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
            order: by_neighbours(channels),
        }
    }

    /// The turns that packets to the LIDs take, in parts.
    pub(super) fn taken(&self, share: Stretch<'_>) -> Vec<Turns> {
        if self.lids.is_empty() {
            return Vec::new();
        }
        let pieces: Vec<_> = self.order.chunks(SWITCHES).collect();
        let done = share.count(pieces.len());
        parallel::over_queue(pieces.len(), self.lft.size(), |queue| {
            let mut taken = Turns::none(self.channels);
            let mut seen = Seen::new();
            for piece in queue.map(|nth| pieces[nth]) {
                for lids in self.lids.chunk_by(|a, b| a.start / LIDS == b.start / LIDS) {
                    for switch in piece {
                        self.read(*switch, lids, &mut seen, &mut taken);
                    }
                }
                done.add(1);
            }
            taken
        })
    }

    /// Reads entries of a switch, and of its neighbours what it sends to them.
    /// Cost: one step for each LID, two bytes read and one written.
    fn read(&self, switch: SwitchIx, lids: &[Range<usize>], seen: &mut Seen, taken: &mut Turns) {
        // Ports without a cable to a switch read "no path", which is no port of the next switch.
        let mut next = [self.nothing.as_slice(); PORTS];
        for link in self.links_from(switch) {
            next[usize::from(link.port)] = self.lft.table(link.to);
            seen.forget(link.port);
        }
        let table = self.lft.table(switch);
        for lids in lids {
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

    /// The cables of a switch to others.
    fn links_from(&self, switch: SwitchIx) -> impl Iterator<Item = &'a Link> {
        let links = self.channels.links_from(switch);
        self.channels.links[links.start as usize..links.end as usize].iter()
    }
}

/// All switches, in the order of their neighbours.
fn by_neighbours(channels: &Channels) -> Vec<SwitchIx> {
    let all = (0..count32(channels.switches())).map(SwitchIx);
    let mut order: Vec<_> = all.collect();
    order.sort_by(|a, b| channels.neighbours(*a).cmp(channels.neighbours(*b)));
    order
}

/// Pairs of a port and the next switch's port. A byte each, since writing one needs no reading.
/// 64 KiB, one per thread.
struct Seen(Vec<bool>);

impl Seen {
    /// No pair seen.
    fn new() -> Self {
        Self(vec![false; PORTS * PORTS])
    }

    /// Forgets what was seen behind a port.
    fn forget(&mut self, port: u8) {
        self.0[usize::from(port) * PORTS..][..PORTS].fill(false);
    }

    /// Notes that a LID goes out of `port` here and of `next` there.
    #[inline]
    fn note(&mut self, port: u8, next: u8) {
        self.0[usize::from(port) * PORTS + usize::from(next)] = true;
    }

    /// True when some LID goes out of these two ports.
    fn has(&self, port: u8, next: u8) -> bool {
        self.0[usize::from(port) * PORTS + usize::from(next)]
    }
}
