//! Sets of small numbers.

/// A set. Shape: bit n % 64 of word n / 64 for n; sets that meet have as many words.
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

    pub(super) fn remove(&mut self, number: usize) {
        self.0[number / 64] &= !(1 << (number % 64));
    }

    pub(super) fn contains(&self, number: usize) -> bool {
        self.0[number / 64] >> (number % 64) & 1 == 1
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// True when some number is in both.
    pub(super) fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(one, two)| one & two != 0)
    }

    /// True when the other set has every number of this one.
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
    pub(super) fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// The numbers in the set. Shape: ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(at, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
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
    pub(super) fn first_common(&self, other: &Self) -> Option<usize> {
        let mut words = self.0.iter().zip(&other.0).enumerate();
        let (at, bits) = words.find_map(|(at, (one, two))| {
            let common = one & two;
            (common != 0).then_some((at, common))
        })?;
        Some(at * 64 + bits.trailing_zeros() as usize)
    }
}
