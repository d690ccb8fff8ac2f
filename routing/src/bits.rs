//! Sets of small numbers in a word.
//!
//! VLs, SLs, cables of a switch and channels behind a turn all fit 64 bits. Going over the set bits
//! costs as many steps as there are, not 64, which the proof repeats for every channel.

/// Numbers of the bits that are set, ascending.
/// Consumed as it is read: the word loses its lowest bit with every step.
pub(crate) struct Bits(pub(crate) u64);

impl Iterator for Bits {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        if self.0 == 0 {
            return None;
        }
        let lowest = self.0.trailing_zeros();
        // Clears the lowest set bit and no other: one instruction, where a shift by the number
        // would take two.
        self.0 &= self.0 - 1;
        Some(lowest)
    }
}
