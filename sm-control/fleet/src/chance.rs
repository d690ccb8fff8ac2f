//! Spread without a source of randomness: numbers that follow from a seed, another one on each
//! host.

use core::time::Duration;

/// SplitMix64.
#[derive(Debug, Clone)]
pub(crate) struct Chance(u64);

impl Chance {
    /// The same seed gives the same numbers.
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next one.
    fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Anything from nothing to this.
    pub(crate) fn within(&mut self, most: Duration) -> Duration {
        share(self.number(), most)
    }

    /// What to wait after so many failures in a row: doubled each time, up to `most`, and half of
    /// it by chance.
    pub(crate) fn back_off(&mut self, failures: u32, first: Duration, most: Duration) -> Duration {
        let doubled = first.saturating_mul(1 << failures.saturating_sub(1).min(16));
        let wait = doubled.min(most);
        wait / 2 + self.within(wait / 2)
    }
}

/// A part of a time by a number that is spread evenly.
pub(crate) fn share(number: u64, most: Duration) -> Duration {
    let nanos = u64::try_from(most.as_nanos()).unwrap_or(u64::MAX);
    let part = (u128::from(nanos) * u128::from(number)) >> 64;
    Duration::from_nanos(u64::try_from(part).unwrap_or(u64::MAX))
}

/// Numbers that are near each other come out far apart.
pub(crate) const fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
