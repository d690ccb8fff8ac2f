//! What of records is kept, wherever they come from: equal records must mean an unchanged fabric.

use sa_wire::records::{GuidInfoRecord, PortInfoRecord};

/// SwitchInfo: PortStateChange, beside LifeTimeValue in one byte.
pub(crate) const PORT_STATE_CHANGE: u8 = 1 << 2;

/// A PortInfo without what a port counts and what is secret.
pub(crate) fn without_counters(port: PortInfoRecord) -> PortInfoRecord {
    PortInfoRecord {
        options: 0,
        m_key: 0.into(),
        diag_code: 0.into(),
        m_key_violations: 0.into(),
        p_key_violations: 0.into(),
        q_key_violations: 0.into(),
        link_round_trip_latency: 0.into(),
        max_credit_hint: 0.into(),
        ..port
    }
}

/// Whether a block holds more than the port's own GUID, which is the first of block 0.
pub(crate) fn holds_alias(block: &GuidInfoRecord) -> bool {
    let own = usize::from(block.block == 0);
    block.guids.iter().skip(own).any(|guid| guid.get() != 0)
}
