//! Width and speed of a link: what it runs at, and what its ends can.
//!
//! A link runs at one width and one speed, which both ends tell. Each end also tells what it can do, and what of that it may:
//!
//! ```text
//!  L0 port 3   supported 1x 4x   enabled 1x 4x ──┐  both can and may 4x
//!  H0 port 1   supported 1x 4x   enabled 1x 4x ──┘  active 1x: a lane did not train, which is a fault
//!
//!  H1 port 1   supported 1x 4x   enabled 1x     ── active 1x: as it was configured, which is a hint
//! ```
//!
//! PortInfo has speeds in two places: SDR to QDR in the one that was there first, FDR to NDR in the extended one. A port at an
//! extended speed fills in the first one too, with the most that those who know no better can read; here the extended one counts.
//!
//! | not known here | because |
//! |---|---|
//! | FDR10 | a speed of one maker, which shows as QDR |
//! | XDR | its fields are others, which are not read |
//!
//! Source: IBA vol. 1, 14.2.5.6 (PortInfo); vol. 2 for the bit rates of a lane.

use core::fmt;

use sa_wire::records::PortInfoRecord;

/// Lanes side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Width(u8);

/// How fast a lane is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Speed {
    /// 2.5 Gb/s.
    Sdr,
    /// 5 Gb/s.
    Ddr,
    /// 10 Gb/s.
    Qdr,
    /// 14.0625 Gb/s.
    Fdr,
    /// 25.78125 Gb/s.
    Edr,
    /// 53.125 Gb/s.
    Hdr,
    /// 106.25 Gb/s.
    Ndr,
}

/// Widths and speeds, as masks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ability {
    /// As PortInfo has widths.
    widths: u8,
    /// A bit for each of [`Speed`], in their order.
    speeds: u8,
}

/// One end of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct End {
    /// LinkWidthActive and the speed; none where the port tells what there is not.
    pub active: Option<(Width, Speed)>,
    /// What the port can do.
    pub supported: Ability,
    /// What of it may be used.
    pub enabled: Ability,
}

impl Width {
    /// From the code of LinkWidthActive; `None` for what is no width.
    pub fn of(code: u8) -> Option<Self> {
        let width = WIDTHS.iter().find(|(bit, _)| *bit == code);
        width.map(|(_, lanes)| Self(*lanes))
    }

    /// How many there are.
    pub const fn lanes(self) -> u8 {
        self.0
    }
}

/// Bits of PortInfo with their lanes, narrow ones first.
const WIDTHS: [(u8, u8); 5] = [(1, 1), (16, 2), (2, 4), (4, 8), (8, 12)];

impl Speed {
    const ALL: [Self; 7] = [
        Self::Sdr,
        Self::Ddr,
        Self::Qdr,
        Self::Fdr,
        Self::Edr,
        Self::Hdr,
        Self::Ndr,
    ];

    /// Signals of one lane, codes and corrections included: an error may hit any of them. Units: bits per second.
    pub const fn bits_per_second(self) -> f64 {
        match self {
            Self::Sdr => 2.5e9,
            Self::Ddr => 5e9,
            Self::Qdr => 10e9,
            Self::Fdr => 14.0625e9,
            Self::Edr => 25.781_25e9,
            // From here on a symbol has two bits, so one that is wrong is one or two of them.
            Self::Hdr => 53.125e9,
            Self::Ndr => 106.25e9,
        }
    }

    /// The fastest of a mask.
    fn best(mask: u8) -> Option<Self> {
        let all = Self::ALL.into_iter().rev();
        all.into_iter()
            .find(|speed| mask & (1 << *speed as u8) != 0)
    }
}

impl Ability {
    /// Both masks of PortInfo, and that of extended speeds.
    const fn new(widths: u8, speeds: u8, extended: u8) -> Self {
        // SDR, DDR and QDR are three bits, FDR to NDR four behind them.
        Self {
            widths,
            speeds: (speeds & 7) | ((extended & 0xf) << 3),
        }
    }

    /// What both have.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            widths: self.widths & other.widths,
            speeds: self.speeds & other.speeds,
        }
    }

    /// The widest.
    pub fn width(self) -> Option<Width> {
        // Codes do not ascend with lanes: 2x came last.
        let widths = WIDTHS.iter().rev();
        let mut found = widths.filter(|(bit, _)| self.widths & bit != 0);
        found.next().map(|(_, lanes)| Width(*lanes))
    }

    /// The fastest.
    pub fn speed(self) -> Option<Speed> {
        Speed::best(self.speeds)
    }
}

impl End {
    /// As PortInfo tells it.
    pub fn of(info: &PortInfoRecord) -> Self {
        let [active, enabled] = halves(info.speed_active_and_enabled);
        let [supported, _] = halves(info.speed_supported_and_state);
        let [ext_active, ext_supported] = halves(info.ext_speed_active_and_supported);
        // 30 stands for "none of them".
        let ext_enabled = match info.ext_speed_enabled & 0x1f {
            30 => 0,
            enabled => enabled & ext_supported,
        };
        // With an extended speed the other field tells what it had to be before there were any.
        let ran = Ability::new(0, if ext_active == 0 { active } else { 0 }, ext_active);
        // A port without a link tells 0, or what it had before.
        let width = Width::of(info.link_width_active);
        Self {
            active: width.zip(ran.speed()),
            supported: Ability::new(info.link_width_supported, supported, ext_supported),
            enabled: Ability::new(info.link_width_enabled, enabled, ext_enabled),
        }
    }

    /// What it signals. Units: bits per second; 0 where that is not known.
    pub fn bits_per_second(&self) -> f64 {
        let of = |(width, speed): (Width, Speed)| f64::from(width.0) * speed.bits_per_second();
        self.active.map_or(0.0, of)
    }

    /// Words of four bytes that it carries. Units: per second; 0 where that is not known.
    pub fn words_per_second(&self) -> f64 {
        let coded = match self.active {
            // 8 of 10 bits are data.
            Some((_, Speed::Sdr | Speed::Ddr | Speed::Qdr)) => 0.8,
            // 64 of 66.
            _ => 64.0 / 66.0,
        };
        self.bits_per_second() * coded / 32.0
    }
}

/// The upper and the lower four bits.
const fn halves(byte: u8) -> [u8; 2] {
    [byte >> 4, byte & 0xf]
}

impl fmt::Display for Width {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x", self.0)
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sdr => "SDR",
            Self::Ddr => "DDR",
            Self::Qdr => "QDR",
            Self::Fdr => "FDR",
            Self::Edr => "EDR",
            Self::Hdr => "HDR",
            Self::Ndr => "NDR",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(width: [u8; 3], speed: [u8; 3], extended: [u8; 3]) -> PortInfoRecord {
        PortInfoRecord {
            link_width_active: width[0],
            link_width_supported: width[1],
            link_width_enabled: width[2],
            speed_active_and_enabled: speed[0] << 4 | speed[2],
            speed_supported_and_state: speed[1] << 4 | 4,
            ext_speed_active_and_supported: extended[0] << 4 | extended[1],
            ext_speed_enabled: extended[2],
            ..PortInfoRecord::default()
        }
    }

    #[test]
    fn a_port_of_extended_speed_is_read() {
        // An EDR port of four lanes: QDR is what it tells those who know no better.
        let end = End::of(&info([2, 3, 3], [4, 7, 7], [2, 3, 3]));
        assert_eq!(end.active, Some((Width(4), Speed::Edr)));
        assert_eq!(end.supported.speed(), Some(Speed::Edr));
        assert!((end.bits_per_second() - 103.125e9).abs() < 1.0);
        let off = End::of(&info([2, 3, 3], [4, 7, 7], [0, 3, 30]));
        assert_eq!(off.active, Some((Width(4), Speed::Qdr)));
        assert_eq!(off.enabled.speed(), Some(Speed::Qdr));
        assert!((off.words_per_second() - 1e9).abs() < 1.0);
    }

    #[test]
    fn two_lanes_are_between_one_and_four() {
        let both = Ability::new(1 | 16, 7, 0);
        assert_eq!(both.width(), Some(Width(2)));
        assert!(Width::of(16) < Width::of(2) && Width::of(16) > Width::of(1));
        assert_eq!(Width::of(3), None, "one at a time");
        let four = Ability::new(1 | 2, 1, 0);
        assert_eq!(both.and(four).width(), Some(Width(1)));
        assert_eq!(both.and(four).speed(), Some(Speed::Sdr));
    }
}
