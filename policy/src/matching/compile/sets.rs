//! Sets of rules, and their numbering.
//!
//! Sets are words of 64 bits and not a crate's type: they are handed to the snapshot as they are.
//!
//! Two values that satisfy the same rules have equal sets and so one class, whatever made them
//! equal. That is why classes are found by interning sets and not by comparing values.

use std::collections::HashMap;

use sa_text::Span;

use crate::error::{Error, Problem};

/// A set of rules. Shape: bit n % 64 of word n / 64 for rule n; as many words as all rules need,
/// at least one.
/// As long for one rule as for 64.
pub(super) type RuleSet = Vec<u64>;

/// An empty set for this many rules.
pub(super) fn empty_set(rules: usize) -> RuleSet {
    vec![0; rules.div_ceil(64).max(1)]
}

/// Adds a rule. Shape: `rule` within the set's words.
pub(super) fn insert(set: &mut [u64], rule: usize) {
    set[rule / 64] |= 1 << (rule % 64);
}

/// Takes a rule out.
pub(super) fn remove(set: &mut [u64], rule: usize) {
    set[rule / 64] &= !(1 << (rule % 64));
}

/// Gives equal sets one class, classes in the order in which sets are first seen.
/// One for each criterion. The first set seen is class 0, so equal policies give equal tables.
pub(super) struct Interner {
    /// What an error calls the criterion.
    dimension: &'static str,
    /// Numbered from 0 without gaps.
    classes: HashMap<RuleSet, u16>,
}

/// Classes of one criterion. [`u16`] has one more, which is kept free.
/// Beyond it a policy is refused, which takes tens of thousands of ranges that overlap.
const MAX_CLASSES: usize = 65_535;

impl Interner {
    /// No classes yet. Shape: `dimension` as errors call it.
    pub(super) fn new(dimension: &'static str) -> Self {
        Self {
            dimension,
            classes: HashMap::new(),
        }
    }

    /// The class of a set. Errors: [`Problem::TooManyClasses`].
    /// Cost: hashing the set.
    pub(super) fn class(&mut self, set: &[u64]) -> Result<u16, Error> {
        if let Some(class) = self.classes.get(set) {
            return Ok(*class);
        }
        let next = self.classes.len();
        match u16::try_from(next) {
            Ok(class) if next < MAX_CLASSES => {
                self.classes.insert(set.to_vec(), class);
                Ok(class)
            }
            _ => {
                let problem = Problem::TooManyClasses {
                    dimension: self.dimension,
                    limit: MAX_CLASSES,
                };
                Err(Error::new(Span::START, problem))
            }
        }
    }

    /// The set of each class.
    /// Shape: by class.
    pub(super) fn into_sets(self) -> Vec<RuleSet> {
        let mut sets = vec![RuleSet::new(); self.classes.len()];
        for (set, class) in self.classes {
            sets[usize::from(class)] = set;
        }
        sets
    }
}
