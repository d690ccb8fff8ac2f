//! Equal lists once.
//!
//! Columns and rows of class numbers are long and few different ones exist, so each is kept once,
//! and told by number from then on.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};

/// Lists of equal length, each kept once.
pub(super) struct Interned {
    length: usize,
    /// One after the other, which is the form of the table in the snapshot.
    pub(super) items: Vec<u16>,
    count: u32,
    /// By hash: numbers of the lists that have it.
    /// Compared in full, as a wrong hit would give wrong answers.
    numbers: HashMap<u64, Vec<u32>>,
}

impl Interned {
    pub(super) fn new(length: usize) -> Self {
        Self {
            length,
            items: Vec::new(),
            count: 0,
            numbers: HashMap::new(),
        }
    }

    /// The number of a list, from 0.
    /// New ones get the next number, so numbers follow the order of asking.
    pub(super) fn number(&mut self, list: &[u16]) -> u32 {
        let same_hash = self.numbers.entry(fixed_hash(list)).or_default();
        let length = self.length;
        let items = &self.items;
        let is_same = |number: &&u32| &items[**number as usize * length..][..length] == list;
        if let Some(number) = same_hash.iter().find(is_same) {
            return *number;
        }
        same_hash.push(self.count);
        self.items.extend_from_slice(list);
        self.count += 1;
        self.count - 1
    }

    /// In the order of their numbers; nothing for lists of length 0.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u16]> {
        self.items.chunks(self.length.max(1))
    }
}

/// Without a random seed: a pure crate has no randomness, and lists are our own.
fn fixed_hash(list: &[u16]) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    list.hash(&mut hasher);
    hasher.finish()
}
