//! Numbers that follow from a seed.

/// SplitMix64.
#[derive(Debug, Clone)]
pub(crate) struct Chance(u64);

impl Chance {
    /// The same seed gives the same numbers.
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any number.
    pub(crate) const fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let number = self.0;
        let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ (number >> 31)
    }

    /// From `least` to just below `most`.
    pub(crate) const fn within(&mut self, least: u64, most: u64) -> u64 {
        least + self.number() % (most - least)
    }

    /// A place in a list that is not empty.
    pub(crate) fn place(&mut self, length: usize) -> usize {
        usize::try_from(self.number() % length.max(1) as u64).unwrap_or(0)
    }

    /// True so many times of a thousand.
    pub(crate) const fn is(&mut self, per_mille: u64) -> bool {
        self.number() % 1000 < per_mille
    }
}
