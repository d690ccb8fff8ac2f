//! The number of a published snapshot.
//!
//! A publisher counts up from 1, and a restart goes on behind the largest number that the run
//! before has left. So of two epochs the larger one is the later, whichever process gave them. In
//! the snapshot format, on the wire (`ServedSnapshot`) and in metrics 0 stands for "none"; in code
//! that is `Option<EpochId>`, of the same size.

use core::fmt;
use core::num::NonZeroU64;

/// Increasing number of a published snapshot, from 1: it also names the snapshot in logs and files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct EpochId(NonZeroU64);

impl EpochId {
    /// What a publisher starts with where no run was before it.
    pub const FIRST: Self = Self(NonZeroU64::MIN);

    /// None for 0, which says in every format that there is no epoch.
    #[inline(always)]
    pub const fn new(raw: u64) -> Option<Self> {
        match NonZeroU64::new(raw) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// The number, from 1.
    #[inline(always)]
    pub const fn get(self) -> u64 {
        self.0.get()
    }

    /// The number as formats have it: 0 for none.
    #[inline(always)]
    pub fn raw(epoch: Option<Self>) -> u64 {
        epoch.map_or(0, Self::get)
    }

    /// The one behind it. The verifier refuses numbers above [`crate::MAX_EPOCH`], so that no file
    /// brings a publisher to where this stays the same.
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for EpochId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
