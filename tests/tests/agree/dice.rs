//! Choices from a seed: the same seed gives the same fabric and the same requests everywhere.

/// A generator after SplitMix64.
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// 0 to `sides` - 1.
    pub(crate) fn below(&mut self, sides: usize) -> usize {
        let sides = u64::try_from(sides).unwrap();
        usize::try_from(self.next() % sides).unwrap()
    }

    /// `least` to `most`.
    pub(crate) fn within(&mut self, least: u8, most: u8) -> u8 {
        least + u8::try_from(self.below(usize::from(most - least) + 1)).unwrap()
    }

    /// True once in `times`.
    pub(crate) fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// Low bits of the next number.
    pub(crate) fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[0]
    }

    /// One to `most` items with commas between.
    pub(crate) fn list(
        &mut self,
        most: usize,
        mut item: impl FnMut(&mut Self) -> String,
    ) -> String {
        let items: Vec<_> = (0..=self.below(most)).map(|_| item(self)).collect();
        items.join(", ")
    }
}
