//! Draws from a seed.
//!
//! Own generators and not a crate's: figures of documents are compared with what is drawn today,
//! and a crate may change its draws between versions. SplitMix64 has one word of state and any seed
//! is a good one, so that each table of figures and each trial can have its own.

/// Numbers that look random, the same for the same seed on every machine: SplitMix64.
///
/// Copies go on alike: whoever wants two sequences takes two seeds.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// From a seed; neighbouring seeds give unrelated draws.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 bits.
    pub const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// 32 bits.
    pub const fn word(&mut self) -> u32 {
        upper(self.bits())
    }

    /// A number below this one; 0 below 0. Shape: uneven by less than one in 2^32 / `bound`.
    ///
    /// Multiplication instead of a remainder: no division, and the upper bits are the better ones.
    pub fn below(&mut self, bound: u32) -> u32 {
        // 32 by 32 bits, of which the upper half is the draw.
        upper(u64::from(self.word()) * u64::from(bound))
    }

    /// The same for 16 bits.
    pub fn below_16(&mut self, bound: u16) -> u16 {
        low_16(self.below(u32::from(bound)))
    }
}

/// The upper 32 of 64 bits.
pub(super) const fn upper(wide: u64) -> u32 {
    let [a, b, c, d, ..] = wide.to_be_bytes();
    u32::from_be_bytes([a, b, c, d])
}

/// The lower 32 of 64 bits.
pub(super) const fn lower(wide: u64) -> u32 {
    let [.., a, b, c, d] = wide.to_be_bytes();
    u32::from_be_bytes([a, b, c, d])
}

/// The lower 16 of 32 bits.
pub(super) const fn low_16(wide: u32) -> u16 {
    let [_, _, a, b] = wide.to_be_bytes();
    u16::from_be_bytes([a, b])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_repeat_and_stay_below() {
        let mut dice = Dice::new(7);
        let mut again = Dice::new(7);
        let mut seen = [0; 10];
        for _ in 0..10_000 {
            let drawn = dice.below(10);
            assert_eq!(drawn, again.below(10));
            seen[usize::try_from(drawn).unwrap()] += 1;
        }
        assert!(seen.iter().all(|count| (900..1100).contains(count)));
    }
}
