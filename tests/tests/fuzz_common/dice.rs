//! Choices: from the bytes of an input, and bytes from a seed.

/// An input, taken byte by byte; zeros behind its end.
pub struct Choices<'a> {
    rest: &'a [u8],
}

impl<'a> Choices<'a> {
    /// From these bytes.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// True when nothing is left.
    pub const fn is_over(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        match self.rest.split_first() {
            Some((first, rest)) => {
                self.rest = rest;
                *first
            }
            None => 0,
        }
    }

    /// The next two.
    pub fn half(&mut self) -> u16 {
        u16::from_be_bytes([self.byte(), self.byte()])
    }

    /// The next four.
    pub fn word(&mut self) -> u32 {
        u32::from(self.half()) << 16 | u32::from(self.half())
    }

    /// The next eight.
    pub fn long(&mut self) -> u64 {
        u64::from(self.word()) << 32 | u64::from(self.word())
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::from(self.byte()) % from.len()]
    }

    /// True `times` in 256.
    pub fn hits(&mut self, times: u8) -> bool {
        // The rare case at high values, so that zeros are the plain one.
        self.byte() >= 0xff - (times - 1)
    }

    /// All that is left, at most as many as `out` has room for.
    pub fn fill(&mut self, out: &mut [u8]) {
        for (place, byte) in out.iter_mut().zip(self.rest) {
            *place = *byte;
        }
        self.rest = &self.rest[self.rest.len().min(out.len())..];
    }
}

/// Numbers that look random, the same for the same seed: SplitMix64.
pub struct Dice(u64);

impl Dice {
    /// From a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub const fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Fills with bytes.
    pub fn fill(&mut self, out: &mut [u8]) {
        for chunk in out.chunks_mut(8) {
            let bytes = self.roll().to_le_bytes();
            chunk.copy_from_slice(&bytes[..chunk.len()]);
        }
    }
}
