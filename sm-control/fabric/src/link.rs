//! Link width and speed, and the rate they give.
//!
//! An SA reports one rate per path, a code from the specification's list; a link has a width and a
//! speed. The table in [`Link::rate`] is OpenSM's, with its oddities: several pairs of width and
//! speed share a code (2x EDR and 1x HDR are both 50 Gb/s), FDR10 is told as QDR, and what OpenSM
//! does not know counts as the slowest.
//!
//! | | 1x | 2x | 4x | 8x | 12x |
//! |---|---|---|---|---|---|
//! | SDR | 2.5 | 5 | 10 | 20 | 30 |
//! | QDR | 10 | 20 | 40 | 80 | 120 |
//! | FDR | 14 | 28 | 56 | 112 | 168 |
//! | EDR | 25 | 50 | 100 | 200 | 300 |
//! | HDR | 50 | 100 | 200 | 400 | 600 |
//! | NDR | 100 | 200 | 400 | 800 | 1200 |
//!
//! Rates in Gb/s, as the codes name them. Two links are compared by the order of their codes in
//! OpenSM (`Rate::rank`), which is not that of these numbers: 30 counts as less than 25, because
//! the one is 8b/10b and the other 64b/66b.
//!
//! Who makes them: readers of files from what they print, `train` from what both ends of a
//! simulated cable may do, `sa_records` from PortInfo.

use core::fmt;

use sa_wire::Rate;

/// How many lanes a link has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkWidth {
    /// OpenSM printed `??`.
    /// Counts as 1x.
    Unknown,
    /// 1x.
    X1,
    /// 2x.
    X2,
    /// 4x.
    X4,
    /// 8x.
    X8,
    /// 12x.
    X12,
}

impl LinkWidth {
    /// The name in `opensm-subnet.lst` (`PHY=`).
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "??",
            Self::X1 => "1x",
            Self::X2 => "2x",
            Self::X4 => "4x",
            Self::X8 => "8x",
            Self::X12 => "12x",
        }
    }

    /// From what OpenSM prints; `None` for any other text.
    pub fn from_name(name: &str) -> Option<Self> {
        [
            Self::Unknown,
            Self::X1,
            Self::X2,
            Self::X4,
            Self::X8,
            Self::X12,
        ]
        .into_iter()
        .find(|width| width.name() == name)
    }
}

impl fmt::Display for LinkWidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How fast each lane signals. Units in the variants: Gb/s of one lane.
///
/// Up to QDR a PortInfo has it in LinkSpeedActive, from FDR on in LinkSpeedExtActive; FDR10 in
/// neither, but in a vendor's own attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkSpeed {
    /// OpenSM printed `??`.
    /// Counts as the slowest rate, whatever the width.
    Unknown,
    /// 2.5 Gb/s.
    Sdr,
    /// 5 Gb/s.
    Ddr,
    /// 10 Gb/s.
    Qdr,
    /// 10 Gb/s, 64b/66b; the SA calls it QDR.
    Fdr10,
    /// 14 Gb/s.
    Fdr,
    /// 25 Gb/s.
    Edr,
    /// 50 Gb/s.
    Hdr,
    /// 100 Gb/s.
    Ndr,
}

impl LinkSpeed {
    /// For looking names up, and for the test that they round-trip.
    const ALL: [Self; 9] = [
        Self::Unknown,
        Self::Sdr,
        Self::Ddr,
        Self::Qdr,
        Self::Fdr10,
        Self::Fdr,
        Self::Edr,
        Self::Hdr,
        Self::Ndr,
    ];

    /// The name in `opensm-subnet.lst` (`SPD=`). OpenSM itself prints `??` for NDR.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "??",
            Self::Sdr => "2.5",
            Self::Ddr => "5",
            Self::Qdr => "10",
            Self::Fdr10 => "FDR10",
            Self::Fdr => "14",
            Self::Edr => "25",
            Self::Hdr => "50",
            Self::Ndr => "100",
        }
    }

    /// From what OpenSM prints; `None` for any other text.
    ///
    /// Not by number: `2.5` and `FDR10` are both names here.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|speed| speed.name() == name)
    }
}

impl fmt::Display for LinkSpeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a link runs at once both ends have agreed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Link {
    /// Lanes.
    pub width: LinkWidth,
    /// Signalling.
    pub speed: LinkSpeed,
}

impl Link {
    /// ibsim's default, also that of every switch's port 0.
    pub const DEFAULT: Self = Self {
        width: LinkWidth::X4,
        speed: LinkSpeed::Sdr,
    };

    /// The rate that the SA reports. An unknown width counts as 1x, an unknown speed as the
    /// slowest rate of all.
    /// Source: OpenSM `ib_types.h`, `ib_port_info_compute_rate`.
    pub fn rate(self) -> Rate {
        let code = match self.speed {
            LinkSpeed::Unknown => [2, 2, 2, 2, 2],
            LinkSpeed::Sdr => [2, 5, 3, 6, 4],
            LinkSpeed::Ddr => [5, 3, 6, 7, 8],
            LinkSpeed::Qdr | LinkSpeed::Fdr10 => [3, 6, 7, 9, 10],
            LinkSpeed::Fdr => [11, 19, 12, 13, 14],
            LinkSpeed::Edr => [15, 20, 16, 17, 18],
            LinkSpeed::Hdr => [20, 16, 17, 21, 22],
            LinkSpeed::Ndr => [16, 17, 21, 23, 24],
        };
        // Codes of the specification, by width. They are not in order: newer rates got the numbers
        // that were left.
        let [x1, x2, x4, x8, x12] = code;
        let code = match self.width {
            LinkWidth::Unknown | LinkWidth::X1 => x1,
            LinkWidth::X2 => x2,
            LinkWidth::X4 => x4,
            LinkWidth::X8 => x8,
            LinkWidth::X12 => x12,
        };
        // Every code above is one; the fallback keeps this free of panics.
        Rate::from_code(code).unwrap_or(Rate::SDR_1X)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_follow_the_table() {
        let code = |width, speed| Link { width, speed }.rate().code();
        assert_eq!(Link::DEFAULT.rate().code(), 3);
        assert_eq!(code(LinkWidth::X4, LinkSpeed::Hdr), 17);
        assert_eq!(code(LinkWidth::X2, LinkSpeed::Edr), 20);
        assert_eq!(
            code(LinkWidth::X4, LinkSpeed::Fdr10),
            7,
            "the SA knows no FDR10"
        );
        assert_eq!(code(LinkWidth::X12, LinkSpeed::Ndr), 24);
        assert_eq!(code(LinkWidth::Unknown, LinkSpeed::Edr), 15);
        assert_eq!(code(LinkWidth::X12, LinkSpeed::Unknown), 2);
    }

    #[test]
    fn names_round_trip() {
        for speed in LinkSpeed::ALL {
            assert_eq!(LinkSpeed::from_name(speed.name()), Some(speed));
        }
        assert_eq!(LinkWidth::from_name("12x"), Some(LinkWidth::X12));
        assert_eq!(LinkWidth::from_name("3x"), None);
    }
}
