//! What switches have besides ports.
//!
//! | at power-on | |
//! |---|---|
//! | LinearFDBCap, MulticastFDBCap, PartitionEnforcementCap | 30,720, 1,024, 64 |
//! | LinearFDBTop | 0: no packet by LID is forwarded |
//! | linear tables | 0xff, no path, everywhere |
//! | multicast tables | no port |
//! | PortStateChange | set, as after any change of a link |
//!
//! Entries above LinearFDBTop are kept and not used, as the specification has it.

use std::collections::BTreeMap;

use sa_fabric::Node;
use sa_wire::records::SwitchInfoRecord;

/// Forwarding tables, and SwitchInfo. Tables that nobody wrote are not held: they read as they are
/// at power-on.
#[derive(Debug, Clone)]
pub(crate) struct Switch {
    /// As Get(SwitchInfo) tells it.
    pub(crate) info: SwitchInfoRecord,
    /// By block of 64 LIDs.
    pub(crate) linear: BTreeMap<u32, [u8; 64]>,
    /// By modifier: group of 16 ports, block of 32 MLIDs.
    pub(crate) multicast: BTreeMap<u32, [u8; 64]>,
    /// By input port, output port.
    pub(crate) sl_to_vl: BTreeMap<(u8, u8), [u8; 8]>,
}

impl Switch {
    /// At power-on.
    pub(super) fn new(node: &Node) -> Self {
        Self {
            info: SwitchInfoRecord {
                linear_cap: 30720.into(),
                multicast_cap: 1024.into(),
                enforcement_cap: 64.into(),
                life_time_and_change: Self::PORT_STATE_CHANGE,
                flags: RAW_FILTERS | (u8::from(node.enhanced_port0) << 3),
                ..SwitchInfoRecord::default()
            },
            linear: BTreeMap::new(),
            multicast: BTreeMap::new(),
            sl_to_vl: BTreeMap::new(),
        }
    }

    /// PortStateChange in SwitchInfo.
    pub(crate) const PORT_STATE_CHANGE: u8 = 4;

    /// The output port for a LID; `None` where the table says none, or ends below it.
    pub(crate) fn entry(&self, lid: u16) -> Option<u8> {
        if lid > self.info.linear_top.get() {
            return None;
        }
        let block = self.linear.get(&u32::from(lid / 64))?;
        let port = *block.get(usize::from(lid % 64))?;
        (port != NO_PORT).then_some(port)
    }

    /// A block of LIDs, as at power-on where nobody wrote it.
    pub(crate) fn linear_block(&self, block: u32) -> [u8; 64] {
        self.linear.get(&block).copied().unwrap_or([NO_PORT; 64])
    }

    /// The ports of a group, which counts from the first MLID.
    pub(crate) fn group_ports(&self, mlid: u16) -> Vec<u8> {
        let place = usize::from(mlid % 32) * 2;
        let mask = |sixteen: u8| {
            let modifier = (u32::from(sixteen) << 28) | u32::from(mlid / 32);
            let block = self.multicast.get(&modifier);
            let mask = block.and_then(|block| block.get(place..)?.first_chunk());
            u16::from_be_bytes(*mask.unwrap_or(&[0; 2]))
        };
        let ports = (0..16_u8).flat_map(|sixteen| {
            let mask = mask(sixteen);
            let set = (0..16_u8).filter(move |bit| mask >> bit & 1 == 1);
            set.map(move |bit| sixteen * 16 + bit)
        });
        ports.collect()
    }

    /// The table of two ports, as at power-on where nobody wrote it.
    pub(crate) fn sl_to_vl(&self, input: u8, output: u8) -> [u8; 8] {
        let written = self.sl_to_vl.get(&(input, output));
        written.copied().unwrap_or(super::port::POWER_ON_SL_TO_VL)
    }
}

/// In linear tables: no path.
const NO_PORT: u8 = 0xff;
/// FilterRawInboundCap and FilterRawOutboundCap.
const RAW_FILTERS: u8 = 0x30;
