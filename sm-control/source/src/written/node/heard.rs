//! A value that was told, and whether one that comes later is newer.

/// What an answer came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::written) enum Effect {
    /// It was known.
    None,
    Changed,
    /// It is of something that is not known to be there.
    Unknown,
}

impl Effect {
    pub(in crate::written) fn of(changed: bool) -> Self {
        match changed {
            true => Self::Changed,
            false => Self::None,
        }
    }
}

/// A value, and the transaction by which it was heard; none: it was read from the SA.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heard<T> {
    pub(super) value: T,
    pub(super) by: Option<u32>,
}

impl<T: PartialEq> Heard<T> {
    /// Takes a newer value. True where it is another.
    pub(super) fn take(&mut self, value: T, by: u32) -> bool {
        if self.by.is_some_and(|known| is_older(by, known)) {
            return false;
        }
        self.by = Some(by);
        let is_other = self.value != value;
        self.value = value;
        is_other
    }
}

/// Transactions are counted in 32 bits and begin again at 0.
pub(super) const fn is_older(one: u32, other: u32) -> bool {
    one.wrapping_sub(other).cast_signed() < 0
}
