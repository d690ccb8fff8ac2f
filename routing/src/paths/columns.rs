//! Forwarding tables seen by destination: one column per LID.
//!
//! Tables lie switch after switch, but following paths to one LID needs the entries of all switches
//! for it. Columns are cut out in blocks of neighbouring LIDs.
//!
//! ```text
//! tables    s0: | l0 l1 l2 ... |        block of 128 LIDs      columns  l0: | s0 s1 s2 ... |
//!           s1: | l0 l1 l2 ... |   ──── turned by tiles ───>            l1: | s0 s1 s2 ... |
//! ```
//!
//! Turning is done 64 switches by 8 LIDs at a time in registers. Reading one LID from each table
//! instead would load a cache line for every byte.

mod follow;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use xxhash_rust::xxh3::Xxh3;

pub(crate) use self::follow::{Followed, Reached, follow_all};
use crate::tables::Lft;
use crate::topology::{SwitchIx, count32};

/// LIDs per block. Tables do not begin at cache lines: the wider, the fewer lines are read twice.
/// 128 columns of 4,096 switches are half a megabyte, within a second-level cache.
pub(crate) const BLOCK: usize = 128;

/// How many blocks the tables have.
/// What threads share out among themselves.
pub(crate) fn blocks(lft: &Lft) -> usize {
    lft.stride().div_ceil(BLOCK)
}

/// LIDs of a block.
/// The last block is shorter as a rule.
pub(crate) fn lids(lft: &Lft, block: usize) -> Range<u16> {
    let number = |lid: usize| u16::try_from(lid).unwrap_or(u16::MAX);
    let first = block * BLOCK;
    number(first)..number(lft.stride().min(first + BLOCK))
}

/// Entries of all switches for the LIDs of one block.
/// One per thread, loaded again and again.
#[derive(Default)]
pub(crate) struct Columns {
    /// First LID.
    first: usize,
    lids: usize,
    switches: usize,
    /// Bytes per column.
    stride: usize,
    /// Shape: by LID of the block, then by switch index.
    bytes: Vec<u8>,
}

impl Columns {
    /// Loads a block.
    /// Cost: one read of the block's part of every table.
    pub(crate) fn load(&mut self, lft: &Lft, block: usize) {
        let stride = lft.stride();
        self.first = block * BLOCK;
        self.lids = BLOCK.min(stride - self.first);
        self.switches = lft.switches();
        self.stride = spread_out(self.switches);
        self.bytes.resize(BLOCK * self.stride, 0);
        let mut tile = [[0; BLOCK]; TILE];
        let mut start = 0;
        let mut filled = 0;
        for table in lft.tables() {
            let wanted = &table[self.first..][..self.lids];
            tile[filled][..self.lids].copy_from_slice(wanted);
            filled += 1;
            if filled == TILE {
                self.turn(&tile, start);
                (start, filled) = (start + TILE, 0);
            }
        }
        // The rest of the last tile is left over from earlier and falls beyond the switches.
        if filled > 0 {
            self.turn(&tile, start);
        }
    }

    /// Puts the entries of some switches, from `start` on, into the columns.
    /// In words of eight entries, each square by its own.
    fn turn(&mut self, tile: &[[u8; BLOCK]; TILE], start: usize) {
        for (group, columns) in self.bytes.chunks_exact_mut(8 * self.stride).enumerate() {
            for (square, entries) in tile.as_chunks::<8>().0.iter().enumerate() {
                let words = entries.map(|entries| {
                    let eight = entries.as_chunks().0[group];
                    u64::from_le_bytes(eight)
                });
                let place = start + 8 * square;
                for (nth, word) in turned(words).into_iter().enumerate() {
                    columns[nth * self.stride + place..][..8].copy_from_slice(&word.to_le_bytes());
                }
            }
        }
    }

    /// LIDs of the block.
    pub(crate) fn lids(&self) -> Range<u16> {
        let number = |lid: usize| u16::try_from(lid).unwrap_or(u16::MAX);
        number(self.first)..number(self.first + self.lids)
    }

    /// Output port of every switch for a LID of the block.
    /// The LID must be of the block.
    pub(crate) fn column(&self, lid: u16) -> &[u8] {
        let place = usize::from(lid) - self.first;
        &self.bytes[place * self.stride..][..self.switches]
    }
}

/// Switches whose entries are turned at once: a cache line of every column.
/// Less would write the same cache line several times.
const TILE: usize = 64;

/// Room for whole tiles, an odd number of cache lines long: columns would otherwise compete for
/// the same places of a cache.
/// `| 1` makes an even number of tiles odd.
const fn spread_out(switches: usize) -> usize {
    (switches.div_ceil(TILE) | 1) * TILE
}

/// Rows to columns in a square of 8 by 8 bytes.
/// Three rounds of eight exchanges: Hacker's Delight has it for bits.
fn turned(mut rows: [u64; 8]) -> [u64; 8] {
    // Squares of 4, 2 and 1 change places across the diagonal.
    for (distance, mask) in [
        (4, 0x0000_0000_ffff_ffff),
        (2, 0x0000_ffff_0000_ffff),
        (1, 0x00ff_00ff_00ff_00ff),
    ] {
        let shift = 8 * distance;
        for row in (0..8).filter(|row| row & distance == 0) {
            let (upper, lower) = (rows[row], rows[row + distance]);
            let moved = (upper >> shift ^ lower) & mask;
            rows[row] = upper ^ moved << shift;
            rows[row + distance] = lower ^ moved;
        }
    }
    rows
}

/// Columns that were seen already, so that equal ones are followed once.
///
/// LIDs on one switch mostly have equal columns but for the entry of that switch itself.
/// For 4,096 switches columns are 4 KiB, so what is kept of them is a hash.
#[derive(Default)]
pub(crate) struct Seen {
    /// To the number that the column got.
    numbers: HashMap<Key, u32>,
}

/// What tells columns apart.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Key {
    /// Of the few thousand columns of a fabric no two have the same by chance.
    /// Columns come of a fabric's SM, which has no interest in making two agree.
    hash: u128,
    to: SwitchIx,
    /// Whether it is delivered, and by which port where SLs are dropped.
    distinction: u16,
    /// Column of the table of SLs, where there is one.
    sls: u32,
}

impl Key {
    /// Of a column to a switch. The entry of that switch does not count; `distinction` stands for
    /// what matters of it.
    pub(crate) fn new(column: &[u8], to: SwitchIx, distinction: u16) -> Self {
        // The destination's own entry is its port, which differs from LID to LID.
        let (before, after) = column.split_at(to.index());
        let mut hasher = Xxh3::new();
        hasher.update(before);
        hasher.update(after.get(1..).unwrap_or_default());
        Self {
            hash: hasher.digest128(),
            to,
            distinction,
            sls: 0,
        }
    }

    /// The same where paths have SLs by a table, of which this is the column.
    pub(crate) const fn with_sls(self, sls: u32) -> Self {
        Self { sls, ..self }
    }
}

impl Seen {
    /// The number of a column, from 0, and whether it is new.
    pub(crate) fn number(&mut self, key: Key) -> (u32, bool) {
        let next = count32(self.numbers.len());
        let number = *self.numbers.entry(key).or_insert(next);
        (number, number == next)
    }
}

/// [`Seen`] by several threads. Numbers depend on who comes first.
/// Numbers never show in a result: they only tell who shares with whom.
#[derive(Default)]
pub(crate) struct SharedSeen(Mutex<Seen>);

impl SharedSeen {
    /// As [`Seen::number`].
    pub(crate) fn number(&self, key: Key) -> (u32, bool) {
        // Numbers are whole at all times, whoever panicked.
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.number(key)
    }
}

#[cfg(test)]
mod tests {
    use sa_wire::Guid;

    use super::*;
    use crate::topology::{EndPortIx, Switch, Topology};

    #[test]
    fn columns_hold_the_entries_of_all_switches() {
        for (switches, max_lid) in [(1, 0), (7, 100), (64, 127), (65, 128), (200, 300)] {
            let switch = || Switch {
                guid: Guid::new(1).unwrap(),
                description: String::new(),
                port0: EndPortIx(0),
                ports: Vec::new(),
            };
            let topology = Topology {
                switches: std::iter::repeat_with(switch).take(switches).collect(),
                end_ports: Vec::new(),
            };
            let stride = usize::from(max_lid) + 1;
            let entry = |switch: usize, lid: usize| (31 * switch + 7 * lid).to_le_bytes()[0];
            let (lft, _) = Lft::filled(&topology, max_lid, |first, rows| {
                for (place, byte) in rows.iter_mut().enumerate() {
                    *byte = entry(first + place / stride, place % stride);
                }
            });
            let mut columns = Columns::default();
            let mut next = 0;
            // Backwards, so that what a wider block left behind would show.
            for block in (0..blocks(&lft)).rev() {
                columns.load(&lft, block);
                for lid in columns.lids() {
                    let expected: Vec<u8> = (0..switches)
                        .map(|switch| entry(switch, usize::from(lid)))
                        .collect();
                    assert_eq!(columns.column(lid), expected);
                    next += 1;
                }
            }
            assert_eq!(next, stride);
        }
    }

    #[test]
    fn squares_are_turned() {
        let rows = [0_u8, 1, 2, 3, 4, 5, 6, 7].map(|row| {
            u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|column: u8| 8 * row + column))
        });
        let columns = [0_u8, 1, 2, 3, 4, 5, 6, 7].map(|column| {
            u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|row: u8| 8 * row + column))
        });
        assert_eq!(turned(rows), columns);
    }
}
