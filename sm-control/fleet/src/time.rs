//! Times as the caller tells them: no clock is read in this crate.

use core::time::Duration;

/// A moment of the clock that counts from boot and runs while the host is suspended
/// (CLOCK_BOOTTIME).
///
/// Units: nanoseconds. Every deadline is counted in it, since nobody sets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Boot(pub u64);

/// A moment of the wall clock.
///
/// Units: milliseconds since 1970 (UTC). Anybody may set it, so it is a second fence and never the
/// first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Wall(pub u64);

/// What both clocks of a host say, read together before a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// Since boot.
    pub boot: Boot,
    /// Of the day.
    pub wall: Wall,
}

impl Boot {
    /// Before every other moment: what has this deadline has none left.
    pub const NEVER: Self = Self(0);
    /// Behind every other moment.
    pub const ALWAYS: Self = Self(u64::MAX);

    /// That much later.
    #[must_use]
    pub fn after(self, time: Duration) -> Self {
        Self(self.0.saturating_add(nanos(time)))
    }

    /// That much earlier.
    #[must_use]
    pub fn before(self, time: Duration) -> Self {
        Self(self.0.saturating_sub(nanos(time)))
    }

    /// From an earlier moment to this one; nothing where it is a later one.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Wall {
    /// How far apart two moments are, whichever is first.
    pub const fn apart(self, other: Self) -> Duration {
        Duration::from_millis(self.0.abs_diff(other.0))
    }

    /// From an earlier moment to this one; nothing where it is a later one.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

/// More than 584 years are as good as those.
fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
