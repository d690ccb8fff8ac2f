//! PortInfo: what is kept of a Set, and what it does to the link.
//!
//! ```text
//!  Down ──cable──> Init ──Set──> Armed ──Set──> Active
//!    ^               ^  Set Down, at either end    │
//!    └─ cable pulled ┴─────────────────────────────┘
//! ```
//!
//! A Set goes one step: to Armed from Init, to Active from Armed, where the far end is no more than one step behind. State
//! and physical state 0 are "no change", and so are a width and a speed of 0.

use sa_fabric::PortRef;
use sa_wire::mad::Status;
use sa_wire::records::PortInfoRecord;
use zerocopy::IntoBytes;

use super::{Asked, put};
use crate::device::cables::note_change;
use crate::device::{Device, Port, PortState};

/// Errors: a port that the node has not; of a CA another than the one that was reached; what
/// [`change_state`] refuses; more VLs than the port has. A refused Set may have kept fields already,
/// as ibsim's do.
pub(super) fn answer(devices: &mut [Device], asked: Asked<'_>) -> Result<(), Status> {
    let number = number(devices, &asked).ok_or(Status::INVALID_FIELD)?;
    let at = PortRef {
        port: number,
        ..asked.at
    };
    if asked.is_set {
        let wanted = wanted(asked.data);
        set(devices, at, &wanted)?;
    }
    let port = port(devices, at).ok_or(Status::INVALID_FIELD)?;
    let mut info = port.info;
    info.local_port_num = asked.at.port;
    put(asked.data, info.as_bytes().get(4..68));
    Ok(())
}

/// Which port is meant.
fn number(devices: &[Device], asked: &Asked<'_>) -> Option<u8> {
    let device = devices.get(asked.at.node.get())?;
    let [.., number] = asked.modifier.to_be_bytes();
    if device.switch.is_some() {
        return device.port(number).map(|_| number);
    }
    let is_own = number == 0 || number == asked.at.port;
    is_own.then_some(asked.at.port)
}

/// The PortInfo of a Set.
fn wanted(data: &[u8; 64]) -> PortInfoRecord {
    let mut record = PortInfoRecord::default();
    let bytes: &mut [u8] = record.as_mut_bytes();
    for (to, from) in bytes.iter_mut().skip(4).zip(data) {
        *to = *from;
    }
    record
}

/// Writes the fields, then the state, then the VLs, as ibsim does. Errors: as [`answer`].
fn set(devices: &mut [Device], at: PortRef, wanted: &PortInfoRecord) -> Result<(), Status> {
    let end = port(devices, at).ok_or(Status::INVALID_FIELD)?;
    keep(end, wanted);
    change_state(devices, at, wanted.speed_supported_and_state & 0xf)?;
    let end = port(devices, at).ok_or(Status::INVALID_FIELD)?;
    let vls = wanted.operational_vls_and_enforcement;
    if vls >> 4 > end.info.vl_cap_and_init_type >> 4 {
        return Err(Status::INVALID_FIELD);
    }
    let info = &mut end.info;
    info.operational_vls_and_enforcement = or_kept(vls, info.operational_vls_and_enforcement, 0xf0);
    Ok(())
}

/// The fields that a Set writes. Those that tell what a port can do or does stay; 0 is "no change"
/// where the specification has it so.
fn keep(port: &mut Port, wanted: &PortInfoRecord) {
    let info = &mut port.info;
    info.m_key = wanted.m_key;
    info.gid_prefix = wanted.gid_prefix;
    info.base_lid = wanted.base_lid;
    info.sm_lid = wanted.sm_lid;
    info.m_key_lease_period = wanted.m_key_lease_period;
    info.m_key_protect_and_lmc = wanted.m_key_protect_and_lmc & 0xc7;
    info.vl_high_limit = wanted.vl_high_limit;
    info.vl_stall_and_hoq_life = wanted.vl_stall_and_hoq_life;
    info.error_thresholds = wanted.error_thresholds;
    info.neighbor_mtu_and_sm_sl = or_kept(
        wanted.neighbor_mtu_and_sm_sl,
        info.neighbor_mtu_and_sm_sl,
        0xf0,
    );
    let default = wanted.physical_state_and_down_default;
    info.physical_state_and_down_default = or_kept(
        default & 0xf,
        info.physical_state_and_down_default & 0xf,
        0xf,
    ) | (info.physical_state_and_down_default & 0xf0);
    keep_link(info, wanted);
    port.reregistered += u32::from(wanted.subnet_timeout >> 7);
    port.info.subnet_timeout = wanted.subnet_timeout & 0x7f;
}

/// Widths and speeds that are enabled: 0 is no change, all bits are what is supported.
const fn keep_link(info: &mut PortInfoRecord, wanted: &PortInfoRecord) {
    info.link_width_enabled = match wanted.link_width_enabled {
        0 => info.link_width_enabled,
        0xff => info.link_width_supported,
        width => width,
    };
    let enabled = match wanted.speed_active_and_enabled & 0xf {
        0 => info.speed_active_and_enabled & 0xf,
        0xf => info.speed_supported_and_state >> 4,
        speed => speed,
    };
    info.speed_active_and_enabled = (info.speed_active_and_enabled & 0xf0) | enabled;
    let supported = info.ext_speed_active_and_supported & 0xf;
    if supported != 0 {
        info.ext_speed_enabled = match wanted.ext_speed_enabled & 0x1f {
            0 => info.ext_speed_enabled,
            31 => supported,
            speed => speed,
        };
    }
}

/// The new byte, with the bits of `field` from the old one where they are 0.
const fn or_kept(new: u8, old: u8, field: u8) -> u8 {
    match new & field {
        0 => (new & !field) | (old & field),
        _ => new,
    }
}

/// PortState of a Set. Down lets the link train anew: both ends are in Init. Errors: a port without a link;
/// not the next step, or the far end is not within one step.
fn change_state(devices: &mut [Device], at: PortRef, wanted: u8) -> Result<(), Status> {
    let Some(own) = port(devices, at) else {
        return Err(Status::INVALID_FIELD);
    };
    let (state, peer) = (own.state() as u8, own.peer);
    let far = peer.and_then(|peer| port(devices, peer).map(|port| port.state() as u8));
    match (wanted, peer, far) {
        (0, ..) | (1, None, _) => Ok(()),
        (1, Some(peer), _) => {
            for end in [at, peer] {
                if let Some(port) = port(devices, end) {
                    port.set_state(PortState::Init);
                }
            }
            // Not on the own switch: a Set is no surprise to the SM.
            note_change(devices, peer);
            Ok(())
        }
        (3 | 4, Some(_), Some(far)) if far.abs_diff(wanted) <= 1 && state.abs_diff(wanted) == 1 => {
            let state = if wanted == 3 {
                PortState::Armed
            } else {
                PortState::Active
            };
            if let Some(port) = port(devices, at) {
                port.set_state(state);
            }
            Ok(())
        }
        _ => Err(Status::INVALID_FIELD),
    }
}

/// None for a number that the node does not have.
fn port(devices: &mut [Device], at: PortRef) -> Option<&mut Port> {
    devices.get_mut(at.node.get())?.port_mut(at.port)
}
