//! Who asks here, and what each says of itself: in headers of its polls, so that it costs no
//! request.
//!
//! | header | content |
//! |---|---|
//! | `sapphire-node` | its name, at most 64 bytes of letters, digits, `.`, `-`, `_` and `:` |
//! | `sapphire-state` | a word: what it does with path queries now |
//! | `sapphire-blob` | digest of the blob that it answers from |
//! | `sapphire-below` | of a relay: hosts that ask there, and how many of them answer from the newest: `1000 998` |
//!
//! Nothing is done by it: it is for people and metrics, and anybody who may ask may say anything.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sa_fleet::address::is_word;
use sa_fleet::identity::Digest;
use sa_fleet::time::Boot;

use crate::clocks;

/// Who has not asked for so long is not here any more.
pub const AWAY: Duration = Duration::from_secs(60);

/// Hosts that ask here, by subnet and name.
#[derive(Debug)]
pub struct Children {
    most: usize,
    children: Mutex<HashMap<(u64, String), Child>>,
}

/// What a host said of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Child {
    /// When, by [`clocks::now`].
    pub at: Boot,
    /// In its word.
    pub state: String,
    /// What it answers from.
    pub blob: Option<Digest>,
    /// Of a relay: hosts that ask there, and those of them that answer from the newest.
    pub below: Option<(u64, u64)>,
}

impl Children {
    /// `most`: no more are remembered, those that came last are left out.
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            children: Mutex::default(),
        }
    }

    /// Who asks for news now.
    /// `told`: in the order of `head::TOLD`.
    pub(super) fn saw(&self, prefix: u64, told: &[Option<String>; 4]) {
        let [node, state, blob, below] = told.each_ref().map(Option::as_deref);
        let Some(node) = node.filter(|it| is_word(it)) else {
            return;
        };
        let numbers = below.and_then(|text| text.split_once(' '));
        let child = Child {
            at: clocks::now(),
            state: state
                .filter(|it| is_word(it))
                .unwrap_or("unknown")
                .to_owned(),
            blob: blob.and_then(|text| text.parse().ok()),
            below: numbers.and_then(|(all, fresh)| Some((all.parse().ok()?, fresh.parse().ok()?))),
        };
        let mut children = self.lock();
        let key = (prefix, node.to_owned());
        if children.len() >= self.most && !children.contains_key(&key) {
            let now = child.at;
            children.retain(|_, child| is_here(child, now));
        }
        if children.len() < self.most || children.contains_key(&key) {
            children.insert(key, child);
        }
    }

    /// Those of a subnet that asked within [`AWAY`], by name.
    pub fn of(&self, prefix: u64) -> Vec<(String, Child)> {
        let now = clocks::now();
        let children = self.lock();
        let here = children
            .iter()
            .filter(|((of, _), child)| *of == prefix && is_here(child, now));
        let mut list: Vec<_> = here
            .map(|((_, node), child)| (node.clone(), child.clone()))
            .collect();
        list.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        list
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(u64, String), Child>> {
        self.children.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_here(child: &Child, now: Boot) -> bool {
    now.since(child.at) < AWAY
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(node: &str, state: &str) -> [Option<String>; 4] {
        [Some(node.to_owned()), Some(state.to_owned()), None, None]
    }

    #[test]
    fn a_host_is_known_by_what_it_said_last() {
        let children = Children::new(10);
        children.saw(1, &told("n1", "stale"));
        children.saw(1, &told("n1", "fresh"));
        children.saw(2, &told("n2", "fresh"));
        let list = children.of(1);
        assert_eq!(list.len(), 1);
        assert_eq!(
            (list[0].0.as_str(), list[0].1.state.as_str()),
            ("n1", "fresh")
        );
    }

    #[test]
    fn names_that_could_be_anything_are_left_out_and_so_are_too_many() {
        let children = Children::new(2);
        for node in ["<script>", "", "n1", "n2", "n3"] {
            children.saw(1, &told(node, "fresh"));
        }
        let names: Vec<_> = children.of(1).into_iter().map(|it| it.0).collect();
        assert_eq!(names, ["n1", "n2"]);
    }
}
