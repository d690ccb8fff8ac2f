//! Rate codes that both ends of a path understand.
//!
//! Rate codes are not in the order of speeds, and codes from 19 on came later: a port that does not
//! know one would take it for garbage. For each such code the ends' capabilities decide what they
//! are told instead:
//!
//! | code | rate, Gb/s | needs | else |
//! |---|---|---|---|
//! | 19 | 28 | 2x width | 15 (25) with extended speeds, 6 (20) without |
//! | 20 | 50 | 2x width or HDR | 7 (40) |
//! | 21, 22 | 400, 600 | HDR or NDR | 18 (300) |
//! | 23, 24 | 800, 1200 | NDR | 22 (600) with HDR, 18 without |

use sa_snapshot::{PortRecord, Snapshot, port_flags};

/// The rate as the ends understand it: codes that came with newer link types are lowered for
/// ports that do not have those. Source: OpenSM `osm_helper.c` (`ib_path_rate_2x_hdr_fixups`).
#[inline(always)]
pub(crate) fn rate_code(
    snapshot: &Snapshot,
    rank: u8,
    from: &PortRecord,
    to: &PortRecord,
    reversible: bool,
) -> u8 {
    let subnet = snapshot.subnet();
    let code = subnet.rates.get(usize::from(rank)).copied().unwrap_or(0);
    // The comparison of `terms` says the same of whole words of codes; both must agree.
    match (code < 19 || subnet.rates_limited == 1, reversible) {
        (true, _) => code,
        (false, true) => understood(snapshot, code, from, to),
        (false, false) => understood_by(from.flags, code),
    }
}

/// This code as both ends of a reversible path understand it.
#[inline(never)]
pub(crate) fn understood(snapshot: &Snapshot, code: u8, from: &PortRecord, to: &PortRecord) -> u8 {
    if snapshot.subnet().rates_limited == 1 {
        return code;
    }
    understood_by(to.flags, understood_by(from.flags, code))
}

/// What a port with these flags takes a code for: the next slower rate that was there before its
/// own link type.
#[inline(never)]
const fn understood_by(flags: u16, code: u8) -> u8 {
    let wide = flags & port_flags::WIDTH_2X != 0;
    let hdr = flags & port_flags::HDR != 0;
    let ndr = flags & port_flags::NDR != 0;
    match code {
        19 if !wide && flags & port_flags::EXTENDED_SPEEDS != 0 => 15,
        19 if !wide => 6,
        20 if !wide && !hdr => 7,
        21 | 22 if !hdr && !ndr => 18,
        23 | 24 if !ndr && hdr => 22,
        23 | 24 if !ndr => 18,
        other => other,
    }
}
