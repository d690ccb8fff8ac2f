//! Sets of small numbers.
//!
//! Rules, and classes of ports, by number. A word at a time makes the searches here bearable; words
//! are also what budgets count ([`Bits::words`]).
//!
//! A set knows no count of its own: whoever makes one says how many numbers there are, and only
//! sets made for the same count meet.

/// A set. Shape: bit n % 64 of word n / 64 for n; sets that meet have as many words.
/// Ordered and hashed, so that equal sets can be put together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    /// Empty, with room for numbers below `count`.
    pub(super) fn none(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    /// All numbers below `count`.
    pub(super) fn all(count: usize) -> Self {
        let mut all = Self::none(count);
        (0..count).for_each(|number| all.insert(number));
        all
    }

    /// Shape: `number` below the count that the set was made for, as for all that follow.
    pub(super) fn insert(&mut self, number: usize) {
        self.0[number / 64] |= 1 << (number % 64);
    }

    /// Nothing changes when it is not in the set.
    pub(super) fn remove(&mut self, number: usize) {
        self.0[number / 64] &= !(1 << (number % 64));
    }

    /// True when the number is in the set.
    pub(super) fn contains(&self, number: usize) -> bool {
        self.0[number / 64] >> (number % 64) & 1 == 1
    }

    /// True without any number; tails beyond the count are never set.
    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// True when some number is in both.
    pub(super) fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(one, two)| one & two != 0)
    }

    /// True when the other set has every number of this one.
    /// Equal sets are within each other, so `least` of a search keeps one of them.
    pub(super) fn is_within(&self, other: &Self) -> bool {
        let mut pairs = self.0.iter().zip(&other.0);
        pairs.all(|(one, two)| one & !two == 0)
    }

    /// The numbers that are in both.
    #[must_use]
    pub(super) fn and(&self, other: &Self) -> Self {
        let pairs = self.0.iter().zip(&other.0);
        Self(pairs.map(|(one, two)| one & two).collect())
    }

    /// Adds the numbers of another set.
    pub(super) fn add(&mut self, other: &Self) {
        for (word, more) in self.0.iter_mut().zip(&other.0) {
            *word |= more;
        }
    }

    /// How many numbers there are.
    /// Sets with few numbers are looked at first in searches.
    pub(super) fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// The numbers in the set. Shape: ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(at, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
                // Clears the bit that was given out.
                left &= left - 1;
                Some(at * 64 + bit)
            })
        })
    }

    /// Units: words, as a measure of work.
    pub(super) const fn words(&self) -> usize {
        self.0.len()
    }

    /// The least number in both.
    /// The first rule in the order of the file, where sets are of rules.
    pub(super) fn first_common(&self, other: &Self) -> Option<usize> {
        let mut words = self.0.iter().zip(&other.0).enumerate();
        let (at, bits) = words.find_map(|(at, (one, two))| {
            let common = one & two;
            (common != 0).then_some((at, common))
        })?;
        Some(at * 64 + bits.trailing_zeros() as usize)
    }
}
