//! A port: PortInfo, keys, VL arbitration, SL to VL.
//!
//! What it holds at power-on, as ibsim's devices do:
//!
//! | field | end ports | external ports of switches |
//! |---|---|---|
//! | LID, SM's LID, GID prefix | 0 | none |
//! | PortState, PortPhysicalState | Init, LinkUp with a cable; Down, Polling without; port 0 of a switch always Active | the same |
//! | MTUCap, VLCap, arbitration entries | those of the fabric | the same |
//! | NeighborMTU | MTUCap; of port 0 256 bytes | MTUCap |
//! | OperationalVLs | VLCap | VLCap |
//! | P_Keys | 0xffff at index 0 | the same |
//! | M_Key | none, lease 4,089 s | none |
//! | GUIDs | its own | none |
//! | SubnetTimeOut | 31 | none |
//! | SL to VL | SL n on VL n, 15 on 7 | a table for each pair of ports, the same |
//!
//! A reboot ([`crate::Simulator::reboot`]) brings all of it back.

use std::time::Duration;

use sa_fabric::{Fabric, Node, PortRef};
use sa_wire::NodeType;
use sa_wire::records::PortInfoRecord;

/// PortState, of a link that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PortState {
    Down = 1,
    Init = 2,
    Armed = 3,
    Active = 4,
}

/// A port of a node, or port 0 of a switch.
#[derive(Debug, Clone)]
pub(crate) struct Port {
    /// As Get(PortInfo) tells it, but for the fields of the port that is asked by.
    pub(crate) info: PortInfoRecord,
    /// The far end of its cable.
    pub(crate) peer: Option<PortRef>,
    /// P_Keys, in blocks of 32. As many blocks as its capacity takes.
    pub(crate) pkeys: Vec<[u8; 64]>,
    /// VL arbitration: low and high priority, two blocks each.
    pub(crate) vl_arbitration: [[u8; 64]; 4],
    /// GUIDs in blocks of eight; the first of all is the port's own, and 0 here.
    pub(crate) guids: Vec<[u8; 64]>,
    /// Of CAs and routers; switches have a table for each pair of ports.
    pub(crate) sl_to_vl: [u8; 8],
    /// When a wrong M_Key makes the protection of the right one end.
    pub(crate) lease_ends: Option<Duration>,
    /// What an SM on this port says of itself; none without one.
    pub(crate) sm_info: Option<[u8; 64]>,
    /// How often an SM has asked clients to register again.
    pub(crate) reregistered: u32,
}

/// SL n on VL n; SL 15 on VL 7, as ibsim has it.
pub(super) const POWER_ON_SL_TO_VL: [u8; 8] = [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xe7];

impl Port {
    /// At power-on. Its link has trained, where the fabric has a cable.
    pub(super) fn new(fabric: &Fabric, node: &Node, at: PortRef) -> Self {
        let is_switch = node.kind == NodeType::Switch;
        let port0 = at.port == 0;
        let peer = fabric.port(at).peer;
        let mut info = common(fabric, at);
        if port0 {
            as_port0(&mut info);
        } else {
            info.neighbor_mtu_and_sm_sl = fabric.mtu_cap(at).code() << 4;
            info.vl_stall_and_hoq_life = 7 << 5;
            // A link that nobody plugged in is polling.
            let (state, physical) = match peer {
                Some(_) => (PortState::Init, LINK_UP),
                None => (PortState::Down, POLLING),
            };
            info.speed_supported_and_state = (SPEEDS << 4) | state as u8;
            info.physical_state_and_down_default = (physical << 4) | DOWN_DEFAULT_POLLING;
        }
        match (is_switch, port0) {
            // External ports have no LID, and tell nothing that goes with one.
            (true, false) => {}
            (true, true) => end_port(&mut info, 0x0000_c048, 1),
            (false, _) => end_port(&mut info, 0x0050_c048, 32),
        }
        Self {
            info,
            peer,
            guids: vec![[0; 64]; usize::from(info.guid_cap).div_ceil(8)],
            pkeys: power_on_keys(is_switch, port0),
            vl_arbitration: power_on_arbitration(),
            sl_to_vl: POWER_ON_SL_TO_VL,
            lease_ends: None,
            sm_info: None,
            reregistered: 0,
        }
    }

    /// PortState. Values that the specification does not have count as Down.
    pub(crate) const fn state(&self) -> PortState {
        match self.info.speed_supported_and_state & 0xf {
            4 => PortState::Active,
            3 => PortState::Armed,
            2 => PortState::Init,
            _ => PortState::Down,
        }
    }

    /// The speeds that are supported, in the same byte, stay.
    pub(crate) const fn set_state(&mut self, state: PortState) {
        let others = self.info.speed_supported_and_state & 0xf0;
        self.info.speed_supported_and_state = others | state as u8;
    }

    /// PortPhysicalState.
    pub(crate) const fn physical(&self) -> u8 {
        self.info.physical_state_and_down_default >> 4
    }

    /// No link: polling for one.
    pub(crate) const fn take_down(&mut self) {
        self.set_state(PortState::Down);
        self.set_physical(POLLING);
    }

    /// A link that has trained.
    pub(crate) const fn bring_up(&mut self) {
        self.set_state(PortState::Init);
        self.set_physical(LINK_UP);
    }

    /// LinkDownDefaultState, in the same byte, stays.
    const fn set_physical(&mut self, physical: u8) {
        let default = self.info.physical_state_and_down_default & 0xf;
        self.info.physical_state_and_down_default = (physical << 4) | default;
    }
}

/// What ports of all kinds have.
fn common(fabric: &Fabric, at: PortRef) -> PortInfoRecord {
    let (vls, arbitration) = (fabric.vl_cap(at).code(), fabric.vl_arb(at));
    PortInfoRecord {
        port_num: at.port,
        link_width_enabled: WIDTH_4X,
        link_width_supported: WIDTHS,
        link_width_active: WIDTH_4X,
        speed_active_and_enabled: (SPEED_SDR << 4) | SPEED_SDR,
        vl_cap_and_init_type: vls << 4,
        vl_arb_high_cap: arbitration.high,
        vl_arb_low_cap: arbitration.low,
        init_type_reply_and_mtu_cap: fabric.mtu_cap(at).code(),
        operational_vls_and_enforcement: vls << 4,
        ..PortInfoRecord::default()
    }
}

/// Port 0 has no link: it is always active.
const fn as_port0(info: &mut PortInfoRecord) {
    info.neighbor_mtu_and_sm_sl = 1 << 4;
    info.speed_supported_and_state = (SPEEDS << 4) | PortState::Active as u8;
    info.physical_state_and_down_default = (LINK_UP << 4) | DOWN_DEFAULT_POLLING;
    info.response_time = 8;
}

/// What ports with a LID have.
fn end_port(info: &mut PortInfoRecord, capabilities: u32, guids: u8) {
    info.capability_mask = capabilities.into();
    info.capability_mask2 = 0x0030.into();
    info.guid_cap = guids;
    info.m_key_lease_period = 4089.into();
    info.subnet_timeout = 31;
}

/// The default partition at index 0.
fn power_on_keys(is_switch: bool, port0: bool) -> Vec<[u8; 64]> {
    let blocks = if is_switch && port0 { 1 } else { 2 };
    let mut keys = vec![[0; 64]; blocks];
    if let Some([high, low, ..]) = keys.first_mut() {
        (*high, *low) = (0xff, 0xff);
    }
    keys
}

/// All VLs alike in the low table, VL 0 alone in the high one.
fn power_on_arbitration() -> [[u8; 64]; 4] {
    let mut tables = [[0; 64]; 4];
    let [low, _, high, _] = &mut tables;
    for (vl, entry) in (0..8).zip(low.chunks_exact_mut(2)) {
        entry.copy_from_slice(&[vl, if vl == 0 { 0 } else { 4 }]);
    }
    for (vl, entry) in (0..8).zip(high.chunks_exact_mut(2)) {
        entry.copy_from_slice(&[vl, if vl == 0 { 4 } else { 0 }]);
    }
    tables
}

/// PortPhysicalState.
pub(crate) const LINK_UP: u8 = 5;
/// PortPhysicalState: looking for a far end.
const POLLING: u8 = 2;
/// LinkWidthActive and LinkWidthEnabled: 4x.
const WIDTH_4X: u8 = 2;
/// LinkWidthSupported: 1x, 4x, 8x, 12x and 2x.
const WIDTHS: u8 = 31;
/// LinkSpeedActive and LinkSpeedEnabled: 2.5 Gb/s a lane.
const SPEED_SDR: u8 = 1;
/// LinkSpeedSupported: SDR, DDR and QDR.
const SPEEDS: u8 = 7;
/// LinkDownDefaultState.
const DOWN_DEFAULT_POLLING: u8 = 2;
