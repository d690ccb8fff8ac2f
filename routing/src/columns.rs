//! Forwarding tables seen by destination: one column per LID.
//!
//! Tables lie switch after switch, but following paths to one LID needs the entries of all switches
//! for it. Columns are cut out in blocks of as many LIDs as a cache line has bytes.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use crate::routes::Lft;
use crate::topology::SwitchIx;

/// LIDs per block.
pub(crate) const BLOCK: usize = 64;

/// How many blocks the tables have.
pub(crate) fn blocks(lft: &Lft) -> usize {
    lft.stride().div_ceil(BLOCK)
}

/// Entries of all switches for the LIDs of one block.
#[derive(Default)]
pub(crate) struct Columns {
    /// First LID.
    first: usize,
    switches: usize,
    /// Shape: by LID of the block, then by switch index.
    bytes: Vec<u8>,
}

impl Columns {
    /// Loads a block.
    pub(crate) fn load(&mut self, lft: &Lft, block: usize) {
        let stride = lft.stride();
        self.first = block * BLOCK;
        self.switches = lft.bytes().len().checked_div(stride).unwrap_or(0);
        let lids = BLOCK.min(stride - self.first);
        self.bytes.resize(lids * self.switches, 0);
        // In squares, so that neither reads nor writes jump about.
        let tables: Vec<_> = lft.bytes().chunks(stride).collect();
        for (start, tables) in (0..).step_by(BLOCK).zip(tables.chunks(BLOCK)) {
            for place in 0..lids {
                let row = &mut self.bytes[place * self.switches + start..][..tables.len()];
                for (entry, table) in row.iter_mut().zip(tables) {
                    *entry = table[self.first + place];
                }
            }
        }
    }

    /// LIDs of the block.
    pub(crate) fn lids(&self) -> Range<u16> {
        let lids = self.bytes.len().checked_div(self.switches).unwrap_or(0);
        let number = |lid: usize| u16::try_from(lid).unwrap_or(u16::MAX);
        number(self.first)..number(self.first + lids)
    }

    /// Output port of every switch for a LID of the block.
    pub(crate) fn column(&self, lid: u16) -> &[u8] {
        let place = usize::from(lid) - self.first;
        &self.bytes[place * self.switches..][..self.switches]
    }
}

/// Columns that were seen already, so that equal ones are followed once.
///
/// LIDs on one switch mostly have equal columns but for the entry of that switch itself.
#[derive(Default)]
pub(crate) struct Seen {
    /// To the number that the column got.
    numbers: HashMap<Key, usize>,
}

/// What tells columns apart.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Key {
    /// Two hashes: of the few thousand columns of a fabric no two collide by chance.
    hashes: [u64; 2],
    to: SwitchIx,
    distinction: u16,
}

impl Key {
    /// Of a column to a switch. The entry of that switch does not count; `distinction` stands for
    /// what matters of it.
    pub(crate) fn new(column: &[u8], to: SwitchIx, distinction: u16) -> Self {
        let (before, after) = column.split_at(to.index());
        let hashes = [0_u8, 1].map(|salt| {
            let mut hasher = DefaultHasher::new();
            salt.hash(&mut hasher);
            hasher.write(before);
            hasher.write(after.get(1..).unwrap_or_default());
            hasher.finish()
        });
        Self {
            hashes,
            to,
            distinction,
        }
    }
}

impl Seen {
    /// The number of a column, from 0, and whether it is new.
    pub(crate) fn number(&mut self, key: Key) -> (usize, bool) {
        let next = self.numbers.len();
        let number = *self.numbers.entry(key).or_insert(next);
        (number, number == next)
    }
}
