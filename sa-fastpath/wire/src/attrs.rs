//! Attributes of links and paths: SL, VL, MTU, rate, packet life time, selectors.

use core::fmt;

use crate::error::VocabularyError;

/// A service level, 0 to 15.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Sl(u8);

impl Sl {
    /// All sixteen SLs, ascending from 0.
    pub const ALL: [Self; 16] = {
        let mut all = [Self(0); 16];
        // A loop by hand: iterators do not run in constants.
        let mut sl = 0u8;
        while sl < 16 {
            all[sl as usize] = Self(sl);
            sl += 1;
        }
        all
    };

    /// Errors: [`VocabularyError::Sl`].
    pub const fn new(raw: u8) -> Result<Self, VocabularyError> {
        if raw < 16 {
            Ok(Self(raw))
        } else {
            Err(VocabularyError::Sl(raw))
        }
    }

    /// The low four bits of a wire byte, which are always a service level.
    pub const fn from_low_bits(byte: u8) -> Self {
        Self(byte & 0x0f)
    }

    /// The number, 0 to 15.
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl fmt::Display for Sl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A virtual lane, 0 to 14 for data, 15 for management.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Vl(u8);

impl Vl {
    /// The management lane; an SL mapped to it is dropped.
    pub const MANAGEMENT: Self = Self(15);

    /// Errors: [`VocabularyError::Vl`].
    pub const fn new(raw: u8) -> Result<Self, VocabularyError> {
        if raw < 16 {
            Ok(Self(raw))
        } else {
            Err(VocabularyError::Vl(raw))
        }
    }

    /// The number, 0 to 14, or 15 for VL15 of management.
    pub const fn get(self) -> u8 {
        self.0
    }
}

/// How many data VLs a port operates: 1, 2, 4, 8 or 15.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DataVls(u8);

impl DataVls {
    /// What ibsim's ports have, and most switches in the field.
    pub const EIGHT: Self = Self(8);

    /// From a VLCap or OperationalVLs code (PortInfo), 1 to 5.
    /// Errors: [`VocabularyError::VlCap`].
    pub const fn from_code(code: u8) -> Result<Self, VocabularyError> {
        match code {
            1..=4 => Ok(Self(1 << (code - 1))),
            5 => Ok(Self(15)),
            other => Err(VocabularyError::VlCap(other)),
        }
    }

    /// The code of VLCap and OperationalVLs (PortInfo), 1 to 5.
    pub const fn code(self) -> u8 {
        match self.0 {
            1 => 1,
            2 => 2,
            4 => 3,
            8 => 4,
            _ => 5,
        }
    }

    /// How many data VLs, 1 to 15.
    pub const fn get(self) -> u8 {
        self.0
    }
}

/// One SL to VL mapping table: the VL of each SL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SlToVl(pub [u8; 16]);

impl SlToVl {
    /// The SLs that this table does not drop.
    pub fn carried(&self) -> SlVlMask {
        let mut mask = 0;
        for (sl, vl) in self.0.iter().enumerate() {
            // VL15 carries management alone, so a data packet on it is dropped by the port.
            if *vl != Vl::MANAGEMENT.get() {
                mask |= 1 << sl;
            }
        }
        SlVlMask(mask)
    }
}

/// A set of service levels, bit n for SL n: those that a path carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SlVlMask(pub u16);

impl SlVlMask {
    /// Every SL: nothing is dropped.
    pub const ALL: Self = Self(0xffff);

    /// True when the path carries this SL.
    pub const fn carries(self, sl: Sl) -> bool {
        self.0 >> sl.get() & 1 == 1
    }

    /// The SLs that both carry.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

/// A maximum transfer unit code: 1 = 256 bytes, 2 = 512, 3 = 1024, 4 = 2048, 5 = 4096.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mtu(u8);

impl Mtu {
    /// 2048 bytes, ibsim's default.
    pub const M2048: Self = Self(4);
    /// 4096 bytes, the largest.
    pub const M4096: Self = Self(5);

    /// Errors: [`VocabularyError::Mtu`].
    pub const fn from_code(code: u8) -> Result<Self, VocabularyError> {
        // 0 and 6 to 63 are reserved; a record may hold them, an MTU may not.
        if code >= 1 && code <= 5 {
            Ok(Self(code))
        } else {
            Err(VocabularyError::Mtu(code))
        }
    }

    /// From a size in bytes: 256, 512, 1024, 2048 or 4096.
    pub const fn from_bytes(bytes: u32) -> Option<Self> {
        match bytes {
            256 => Some(Self(1)),
            512 => Some(Self(2)),
            1024 => Some(Self(3)),
            2048 => Some(Self(4)),
            4096 => Some(Self(5)),
            _ => None,
        }
    }

    /// The code as on the wire, 1 to 5.
    pub const fn code(self) -> u8 {
        self.0
    }

    /// The payload that this code stands for. Units: bytes.
    pub const fn bytes(self) -> u32 {
        // Code 1 is 256 bytes, and each further code doubles.
        128 << self.0
    }
}

/// A rate code as PathRecord carries it, 2 to 24. Compare by [`Rate::rank`]: codes do not follow
/// speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rate(u8);

/// The place of a rate in OpenSM's order, which is by signalling rate (so 30 Gb/s of 8b/10b comes
/// before 25 Gb/s of 64b/66b). 1 is the slowest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RateRank(u8);

/// Codes by rank, slowest first. Source: OpenSM `osm_helper.c` (`ordered_rates`).
const BY_RANK: [u8; 23] = [
    2, 5, 3, 11, 6, 4, 15, 19, 7, 8, 20, 12, 9, 10, 16, 13, 14, 17, 18, 21, 22, 23, 24,
];

/// Units: tenths of Gb/s, by code; index 0 and 1 are no rates.
const TENTHS_OF_GBPS: [u32; 25] = [
    0, 0, 25, 100, 300, 50, 200, 400, 600, 800, 1200, 140, 560, 1120, 1680, 250, 1000, 2000, 3000,
    280, 500, 4000, 6000, 8000, 12000,
];

const RANK_OF: [u8; 25] = {
    let mut ranks = [0u8; 25];
    let mut rank = 0u8;
    while (rank as usize) < BY_RANK.len() {
        ranks[BY_RANK[rank as usize] as usize] = rank + 1;
        rank += 1;
    }
    ranks
};

impl Rate {
    /// 2.5 Gb/s, the slowest.
    pub const SDR_1X: Self = Self(2);
    /// The largest code that OpenSM 3.3.23 accepts in a request.
    pub const MAX_OPENSM: u8 = 22;

    /// Errors: [`VocabularyError::Rate`].
    pub const fn from_code(code: u8) -> Result<Self, VocabularyError> {
        // 0, 1 and all from 25 on are reserved.
        if code >= 2 && code <= 24 {
            Ok(Self(code))
        } else {
            Err(VocabularyError::Rate(code))
        }
    }

    /// The code on the wire.
    pub const fn code(self) -> u8 {
        self.0
    }

    /// The place in the order of speeds.
    pub const fn rank(self) -> RateRank {
        RateRank(RANK_OF[self.0 as usize])
    }

    /// Units: tenths of Gb/s, nominal.
    pub const fn tenths_of_gbps(self) -> u32 {
        TENTHS_OF_GBPS[self.0 as usize]
    }

    /// The slower of two, by rank.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        // By rank: code 5 (5 Gb/s) is slower than code 3 (10 Gb/s).
        if other.rank() < self.rank() {
            other
        } else {
            self
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = self.tenths_of_gbps();
        match tenths % 10 {
            0 => write!(f, "{} Gb/s", tenths / 10),
            rest => write!(f, "{}.{rest} Gb/s", tenths / 10),
        }
    }
}

impl RateRank {
    /// Errors: none; `None` outside 1 to 23.
    pub const fn from_raw(rank: u8) -> Option<Self> {
        if rank >= 1 && rank as usize <= BY_RANK.len() {
            Some(Self(rank))
        } else {
            None
        }
    }

    /// 1 is the slowest.
    pub const fn get(self) -> u8 {
        self.0
    }

    /// The rate at this place.
    pub const fn rate(self) -> Rate {
        // In range: a rank is made only by `from_raw` and by the table itself.
        Rate(BY_RANK[self.0 as usize - 1])
    }

    /// The next slower place; none below the slowest.
    pub const fn previous(self) -> Option<Self> {
        Self::from_raw(self.0 - 1)
    }
}

/// A packet life time: 4.096 us x 2^n, n = 0 to 63. A path to oneself has 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PacketLifeTime(u8);

impl PacketLifeTime {
    /// OpenSM's default subnet timeout, about one second.
    pub const DEFAULT: Self = Self(18);

    /// Errors: [`VocabularyError::PacketLifeTime`].
    pub const fn new(exponent: u8) -> Result<Self, VocabularyError> {
        if exponent < 64 {
            Ok(Self(exponent))
        } else {
            Err(VocabularyError::PacketLifeTime(exponent))
        }
    }

    /// The exponent n of 4.096 us times 2^n, 0 to 63.
    pub const fn get(self) -> u8 {
        self.0
    }
}

/// How a requested MTU, rate or life time is meant. Discriminants are the two wire bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Selector {
    /// Greater than the operand.
    Greater = 0,
    /// Less than the operand.
    Less = 1,
    /// Exactly the operand; what every answer carries.
    Exactly = 2,
    /// The largest available (for life times: the smallest); the operand is ignored.
    Best = 3,
}

impl Selector {
    /// From the top two bits of a selector-and-value byte.
    pub const fn from_byte(byte: u8) -> Self {
        // Total: two bits have four values, and each means something.
        match byte >> 6 {
            0 => Self::Greater,
            1 => Self::Less,
            2 => Self::Exactly,
            _ => Self::Best,
        }
    }
}

/// The low six bits of a selector-and-value byte.
pub const fn selected_value(byte: u8) -> u8 {
    byte & 0x3f
}

/// An answer's byte: value with selector "exactly".
pub const fn exactly(value: u8) -> u8 {
    0x80 | value & 0x3f
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rate_code_has_its_own_rank() {
        let mut seen = [false; 24];
        for code in 2..=24 {
            let rate = Rate::from_code(code).unwrap();
            assert_eq!(rate.rank().rate(), rate);
            assert!(!core::mem::replace(
                &mut seen[rate.rank().get() as usize],
                true
            ));
        }
    }

    #[test]
    fn rates_order_by_signalling_not_by_nominal_speed() {
        let rank = |code| Rate::from_code(code).unwrap().rank();
        assert!(rank(4) < rank(15), "30 before 25");
        assert!(rank(8) < rank(20), "60 before 50");
        assert!(rank(10) < rank(16), "120 before 100");
        assert_eq!(rank(7).previous(), Some(rank(19)), "below 40 comes 28");
        assert_eq!(rank(2).previous(), None);
    }

    #[test]
    fn data_vls_follow_the_code() {
        let counts: Vec<u8> = (1..=5)
            .map(|code| DataVls::from_code(code).unwrap().get())
            .collect();
        assert_eq!(counts, [1, 2, 4, 8, 15]);
        assert!(DataVls::from_code(0).is_err() && DataVls::from_code(6).is_err());
    }
}
