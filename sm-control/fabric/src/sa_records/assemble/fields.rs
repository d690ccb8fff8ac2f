//! Fields of records as values.
//!
//! Numbers of bits and codes are those of PortInfo, IBA volume 1, chapter 14, and of the layouts in
//! `sa_wire::records`. A code that nothing here knows is taken for the slowest or the least, never
//! for an error: newer devices must not make a fabric unreadable.

use sa_snapshot::model::RateCaps;
use sa_wire::Guid;
use sa_wire::records::PortInfoRecord;

use super::incomplete;
use crate::sa_records::Incomplete;
use crate::{Link, LinkSpeed, LinkState, LinkWidth};

/// Errors: 0, which no node or port has.
pub(super) fn guid(raw: u64, whose: impl FnOnce() -> String) -> Result<Guid, Incomplete> {
    Guid::new(raw).map_err(|_| incomplete(format!("{} has GUID zero", whose())))
}

/// Up to the first NUL.
///
/// A NodeDescription fills 64 bytes and need not end in NUL; bytes that are no UTF-8 are replaced.
pub(super) fn description(bytes: &[u8; 64]) -> String {
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

/// PortState, the lower four bits; 0 is "no change" in a Set and never told.
pub(super) const fn state(record: &PortInfoRecord) -> LinkState {
    match record.speed_supported_and_state & 0xf {
        2 => LinkState::Init,
        3 => LinkState::Armed,
        4 => LinkState::Active,
        _ => LinkState::Down,
    }
}

/// Width and speed. An extended speed counts before the other one, which then holds what old
/// clients are told.
pub(super) const fn link(record: &PortInfoRecord) -> Link {
    let width = match record.link_width_active {
        1 => LinkWidth::X1,
        2 => LinkWidth::X4,
        4 => LinkWidth::X8,
        8 => LinkWidth::X12,
        16 => LinkWidth::X2,
        _ => LinkWidth::Unknown,
    };
    let speed = match (
        record.ext_speed_active_and_supported >> 4,
        record.speed_active_and_enabled >> 4,
    ) {
        (1, _) => LinkSpeed::Fdr,
        (2, _) => LinkSpeed::Edr,
        (4, _) => LinkSpeed::Hdr,
        (8, _) => LinkSpeed::Ndr,
        (_, 1) => LinkSpeed::Sdr,
        (_, 2) => LinkSpeed::Ddr,
        (_, 4) => LinkSpeed::Qdr,
        _ => LinkSpeed::Unknown,
    };
    Link { width, speed }
}

/// Source: PortInfo CapabilityMask bit 14, CapabilityMask2 bits 4, 5 and 10.
pub(super) const fn rate_caps(record: &PortInfoRecord) -> RateCaps {
    let mask2 = record.capability_mask2.get();
    RateCaps {
        extended_speeds: record.capability_mask.get() & PortInfoRecord::EXTENDED_SPEEDS != 0,
        width_2x: mask2 & 1 << 4 != 0,
        hdr: mask2 & 1 << 5 != 0,
        ndr: mask2 & 1 << 10 != 0,
    }
}
