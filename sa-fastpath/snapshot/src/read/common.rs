//! Whether anything sets one common request apart from another.
//!
//! Worked out once a load (`derived`), asked once a batch. If it says no, every request goes the
//! general way: slower, and never different.

use crate::Snapshot;

impl Snapshot {
    /// True when neither subnet nor policy sets anything apart from what is common: no alias
    /// GUIDs, no table with both memberships of one partition, no SL that anything drops, no
    /// criteria but those of OpenSM's dialect, and no level that limits P_Keys.
    ///
    /// What a common request gets between ports with [`crate::port_flags::COMMON_SOURCE`] and
    /// [`crate::port_flags::COMMON_DESTINATION`] then follows from
    /// [`Self::shared_pkey_between`], [`Self::uniform_capacity`] or [`Self::capacity_of`],
    /// [`Self::common_level`] and [`Self::common_sl`].
    #[inline(always)]
    pub const fn is_common(&self) -> bool {
        self.derived.is_common
    }

    /// True when [`Self::is_common`] holds but for flow labels, one for each pair of ports at most.
    #[inline(always)]
    pub const fn is_common_but_for_labels(&self) -> bool {
        self.derived.is_common_but_for_labels
    }

    /// True when [`crate::PackedLevel::packet_life`] is a level's packet life time but for its
    /// topmost bit, which all of them have clear.
    #[inline(always)]
    pub const fn tells_packet_lives(&self) -> bool {
        self.derived.tells_packet_lives
    }
}
