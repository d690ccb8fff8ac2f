//! What the two ends of a simulated cable agree on.
//!
//! A net file says what each port of a cable may run at; the SM sees what the link came up with. On
//! hardware the two ends negotiate. ibsim imitates that roughly, and OpenSM's Set(PortInfo) changes
//! it once more, so the outcome depends on the order in which OpenSM programs the ports. This
//! follows what was observed, because rates of paths are compared with OpenSM over ibsim.
//!
//! Output of ibnetdiscover and records of an SA say what a link runs at; nothing is worked out
//! then.
//!
//! An example. A switch port enables SDR (mask 1), its peer on a CA SDR to QDR (mask 7). They share
//! SDR. OpenSM sets the CA's PortInfo first: ibsim retrains both ends to what the CA has enabled,
//! QDR. The switch's Set does not name all speeds and moves nothing. The link runs at 4x QDR, which
//! neither a negotiation nor the file would say.

use super::link::{Link, LinkSpeed, LinkWidth};

/// What an ibsim port may run at: the bit masks of PortInfo's "enabled" fields.
///
/// As `width=`, `w=` and the comments of a net file set them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Enabled {
    /// 1 1x, 2 4x, 4 8x, 8 12x, 16 2x.
    pub(crate) width: u8,
    /// 1 SDR, 2 DDR, 4 QDR.
    pub(crate) speed: u8,
    /// 1 FDR, 2 EDR, 4 HDR, 8 NDR.
    pub(crate) extended: u8,
    /// FDR10, a vendor's extension beside the others.
    pub(crate) fdr10: bool,
}

impl Enabled {
    /// A port that the file says nothing about.
    ///
    /// 4x SDR, as ibsim's ports wake up.
    pub(crate) const DEFAULT: Self = Self {
        width: 2,
        speed: 1,
        extended: 0,
        fdr10: false,
    };
}

/// One end of a simulated cable, with what decides its part in the outcome.
///
/// Made for one call of [`agree`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct End {
    /// What it may run at.
    pub(crate) enabled: Enabled,
    /// It is a switch's: OpenSM programs switches after CAs and routers, and sets less on them.
    pub(crate) is_switch: bool,
    /// Place in OpenSM's order of programming. Shape: GUID in map order, port number.
    pub(crate) order: (u64, u8),
}

/// What two ends can never agree on; such a cable is an error in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Disagreement {
    /// No width that both have enabled.
    Width,
    /// No speed up to QDR that both have enabled; extended speeds need not agree.
    Speed,
}

/// What a cable in ibsim runs at once OpenSM has brought it up.
///
/// Ends that say the same get just that. Otherwise the ends start at the best they share, and
/// then every Set(PortInfo) that OpenSM sends makes ibsim retrain *both* ends to what the port
/// set has enabled: first the CA or router end, then the switch ends in GUID order. A switch's Set
/// always moves the width, but the speed only when all speeds are enabled there, because OpenSM
/// else writes a code that ibsim ignores. Observed with OpenSM 3.3.23 and ibsim 0.10. (Not
/// followed:
/// where `w=` enables all widths at one end only, OpenSM may see different widths at the two ends.)
pub(crate) fn agree(one: &End, other: &End) -> Result<Link, Disagreement> {
    let (first, last) = in_programming_order(one, other);
    if first.enabled.width & last.enabled.width == 0 {
        return Err(Disagreement::Width);
    }
    let shared = first.enabled.speed & last.enabled.speed;
    if shared == 0 {
        return Err(Disagreement::Speed);
    }
    // From here on as both had trained before OpenSM came.
    let mut speed = best_speed(shared);
    let mut extended = best_extended(first.enabled.extended & last.enabled.extended);
    // Each Set retrains both ends, so the last one that has an effect decides.
    for end in [first, last] {
        let full = end.enabled.speed == 7;
        if full || !end.is_switch {
            speed = retrained_speed(end.enabled.speed).unwrap_or(speed);
        }
        // All of HDR's or of NDR's generation.
        let full = matches!(end.enabled.extended, 7 | 15);
        if extended.is_some() && (full || !end.is_switch) {
            extended = best_extended(end.enabled.extended).or(extended);
        }
    }
    // A vendor's extension of QDR: both ends must have it.
    let fdr10 = speed == LinkSpeed::Qdr && first.enabled.fdr10 && last.enabled.fdr10;
    let legacy = if fdr10 { LinkSpeed::Fdr10 } else { speed };
    Ok(Link {
        // A Set always moves the width, so only the last end counts.
        width: best_width(last.enabled.width),
        speed: extended.unwrap_or(legacy),
    })
}

/// True for devices that OpenSM asks for FDR10; on others it sees QDR.
/// Source: OpenSM `osm_subnet.c`, `is_mlnx_ext_port_info_supported`.
///
/// Vendor 0x119f (Bull) has ids of its own for the same silicon, which count with its vendor id
/// only.
pub(crate) const fn tells_fdr10(vendor_id: u32, device_id: u16) -> bool {
    match device_id {
        0xc738..=0xc73b | 0xc839 | 0xcb20 | 0xcf08 | 0xcf09 | 0xd2f0 | 0x1003..=0x101b | 0xa2d2 => {
            true
        }
        0x1b02
        | 0x1b50
        | 0x1ba0
        | 0x1bd0..=0x1bd5
        | 0x1bf0
        | 0x1b33
        | 0x1b73
        | 0x1b40
        | 0x1b41
        | 0x1b60
        | 0x1b61
        | 0x1b83
        | 0x1b93
        | 0x1b94
        | 0x1bb4
        | 0x1bb5
        | 0x1bc4..=0x1bc6 => vendor_id == 0x119f,
        _ => false,
    }
}

/// First what OpenSM programs first: CA and router ports, then switches, by GUID.
fn in_programming_order<'a>(one: &'a End, other: &'a End) -> (&'a End, &'a End) {
    let key = |end: &End| (end.is_switch, end.order);
    if key(one) <= key(other) {
        (one, other)
    } else {
        (other, one)
    }
}

/// The widest of a mask. The bit of 2x (16) was added late and is the largest, so masks are not
/// compared.
const fn best_width(mask: u8) -> LinkWidth {
    match mask {
        _ if mask & 8 != 0 => LinkWidth::X12,
        _ if mask & 4 != 0 => LinkWidth::X8,
        _ if mask & 2 != 0 => LinkWidth::X4,
        _ if mask & 16 != 0 => LinkWidth::X2,
        _ => LinkWidth::X1,
    }
}

/// The fastest up to QDR; an empty mask is SDR, as in ibsim.
const fn best_speed(mask: u8) -> LinkSpeed {
    match mask {
        _ if mask & 4 != 0 => LinkSpeed::Qdr,
        _ if mask & 2 != 0 => LinkSpeed::Ddr,
        _ => LinkSpeed::Sdr,
    }
}

/// ibsim knows only these combinations in a Set.
///
/// 1 SDR; 3 up to DDR; 5 and 7 up to QDR. Any other leaves the speed as it was.
const fn retrained_speed(mask: u8) -> Option<LinkSpeed> {
    match mask {
        1 => Some(LinkSpeed::Sdr),
        3 => Some(LinkSpeed::Ddr),
        5 | 7 => Some(LinkSpeed::Qdr),
        _ => None,
    }
}

/// The fastest from FDR on; none for an empty mask.
const fn best_extended(mask: u8) -> Option<LinkSpeed> {
    match mask {
        _ if mask & 8 != 0 => Some(LinkSpeed::Ndr),
        _ if mask & 4 != 0 => Some(LinkSpeed::Hdr),
        _ if mask & 2 != 0 => Some(LinkSpeed::Edr),
        _ if mask & 1 != 0 => Some(LinkSpeed::Fdr),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SDR: Enabled = Enabled {
        width: 3,
        speed: 1,
        extended: 0,
        fdr10: false,
    };
    const DDR: Enabled = Enabled {
        width: 3,
        speed: 3,
        extended: 0,
        fdr10: false,
    };
    const QDR: Enabled = Enabled {
        width: 3,
        speed: 7,
        extended: 0,
        fdr10: false,
    };
    const FDR: Enabled = Enabled {
        width: 3,
        speed: 7,
        extended: 1,
        fdr10: true,
    };
    const EDR: Enabled = Enabled {
        width: 3,
        speed: 7,
        extended: 3,
        fdr10: true,
    };
    const HDR: Enabled = Enabled {
        width: 3,
        speed: 7,
        extended: 7,
        fdr10: true,
    };
    const QDR_12X: Enabled = Enabled { width: 11, ..QDR };

    fn speeds(switch: Enabled, ca: Enabled) -> (&'static str, &'static str) {
        let switch = End {
            enabled: switch,
            is_switch: true,
            order: (0, 1),
        };
        let ca = End {
            enabled: ca,
            is_switch: false,
            order: (9, 1),
        };
        let link = agree(&switch, &ca).unwrap();
        assert_eq!(
            agree(&ca, &switch),
            Ok(link),
            "order of the arguments does not matter"
        );
        (link.width.name(), link.speed.name())
    }

    /// Rows of a run of OpenSM 3.3.23 over ibsim 0.10 with every combination.
    #[test]
    fn mixed_ends_come_up_as_observed() {
        assert_eq!(speeds(Enabled::DEFAULT, HDR), ("4x", "10"));
        assert_eq!(speeds(HDR, Enabled::DEFAULT), ("4x", "10"));
        assert_eq!(speeds(DDR, Enabled::DEFAULT), ("4x", "2.5"));
        assert_eq!(speeds(SDR, DDR), ("4x", "5"));
        assert_eq!(speeds(FDR, EDR), ("4x", "25"));
        assert_eq!(speeds(EDR, FDR), ("4x", "14"));
        assert_eq!(speeds(EDR, HDR), ("4x", "50"));
        assert_eq!(speeds(HDR, FDR), ("4x", "50"));
        assert_eq!(speeds(Enabled::DEFAULT, QDR_12X), ("4x", "10"));
        assert_eq!(speeds(QDR_12X, QDR), ("12x", "10"));
    }

    #[test]
    fn the_later_switch_decides_the_width() {
        let switch = |enabled, order| End {
            enabled,
            is_switch: true,
            order: (order, 1),
        };
        let link = agree(&switch(QDR, 1), &switch(QDR_12X, 2)).unwrap();
        assert_eq!(link.width, LinkWidth::X12);
        let link = agree(&switch(QDR_12X, 1), &switch(QDR, 2)).unwrap();
        assert_eq!(link.width, LinkWidth::X4);
        let link = agree(&switch(FDR, 1), &switch(EDR, 2)).unwrap();
        assert_eq!(link.speed, LinkSpeed::Fdr, "neither has all speeds enabled");
    }

    #[test]
    fn nothing_in_common_is_refused() {
        let end = |enabled| End {
            enabled,
            is_switch: false,
            order: (1, 1),
        };
        let narrow = Enabled { width: 1, ..SDR };
        let qdr_only = Enabled { speed: 4, ..QDR };
        assert_eq!(
            agree(&end(narrow), &end(Enabled::DEFAULT)),
            Err(Disagreement::Width)
        );
        assert_eq!(agree(&end(qdr_only), &end(SDR)), Err(Disagreement::Speed));
    }
}
