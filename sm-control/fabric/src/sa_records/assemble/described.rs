//! Which ports were met: of a large fabric hundreds of thousands.

use crate::PortRef;

/// A set of ports. Shape: by node, a bit for each port.
#[derive(Debug, Default)]
pub(super) struct Described(Vec<[u64; 4]>);

impl Described {
    /// Adds a port. False where it was there already.
    pub(super) fn insert(&mut self, at: PortRef) -> bool {
        let is_new = !self.contains(at);
        let node = at.node.get();
        if self.0.len() <= node {
            self.0.resize(node + 1, [0; 4]);
        }
        let words = self.0.get_mut(node);
        if let Some(word) = words.and_then(|it| it.get_mut(usize::from(at.port / 64))) {
            *word |= 1 << (at.port % 64);
        }
        is_new
    }

    /// Whether it was met.
    pub(super) fn contains(&self, at: PortRef) -> bool {
        let words = self.0.get(at.node.get());
        let word = words.and_then(|it| it.get(usize::from(at.port / 64)));
        word.is_some_and(|word| word >> (at.port % 64) & 1 != 0)
    }
}
