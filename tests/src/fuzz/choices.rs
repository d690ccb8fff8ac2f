//! The bytes of a fuzzer's input, taken as choices.

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
