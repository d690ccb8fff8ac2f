//! Choices from a seed: the same seed gives the same fabric and the same requests everywhere.
//!
//! SplitMix64, written here rather than taken from a crate: tests count what a seed finds, so the
//! numbers must not change with a version.

/// A generator of numbers that look random.
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    /// From a seed; any number will do.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number, all 64 bits of it.
    pub const fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// 0 to `sides` - 1, in whatever type of integer the caller counts. Panics: `sides` is 0.
    #[expect(
        clippy::expect_used,
        reason = "a test that asks for one of none is wrong"
    )]
    pub fn below<N>(&mut self, sides: N) -> N
    where
        N: TryFrom<u64>,
        u64: TryFrom<N>,
    {
        let sides = u64::try_from(sides).ok().filter(|sides| *sides > 0);
        let drawn = sides.map(|sides| self.number() % sides);
        // What is below `sides` fits its type.
        drawn
            .and_then(|drawn| N::try_from(drawn).ok())
            .expect("a number of sides")
    }

    /// `least` to `most`.
    pub fn within(&mut self, least: u8, most: u8) -> u8 {
        least + u8::try_from(self.below(u16::from(most - least) + 1)).unwrap_or(u8::MAX)
    }

    /// True once in `times`.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// Low bits of the next number.
    pub const fn byte(&mut self) -> u8 {
        self.number().to_le_bytes()[0]
    }

    /// Puts items into any order, each with the same chance.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last + 1);
            items.swap(last, other);
        }
    }

    /// Fills with bytes.
    pub fn fill(&mut self, out: &mut [u8]) {
        for chunk in out.chunks_mut(8) {
            let bytes = self.number().to_le_bytes();
            chunk.copy_from_slice(&bytes[..chunk.len()]);
        }
    }

    /// One to `most` items with commas between.
    pub fn list(&mut self, most: usize, mut item: impl FnMut(&mut Self) -> String) -> String {
        let items: Vec<_> = (0..=self.below(most)).map(|_| item(self)).collect();
        items.join(", ")
    }
}
