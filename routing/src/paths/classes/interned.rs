//! Equal lists once.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};

/// Lists of equal length, each kept once.
pub(super) struct Interned {
    length: usize,
    pub(super) items: Vec<u16>,
    count: u32,
    /// By hash: numbers of the lists that have it.
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

    pub(super) fn iter(&self) -> impl Iterator<Item = &[u16]> {
        self.items.chunks(self.length.max(1))
    }
}

fn fixed_hash(list: &[u16]) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    list.hash(&mut hasher);
    hasher.finish()
}
