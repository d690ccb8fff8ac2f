//! The subnet management agent of a node: what it answers to an SMP.
//!
//! ```text
//!  M_Key wrong ──> no answer
//!  attribute it has not ──> 0x000c     method it has not ──> 0x0008     a bad field ──> 0x001c
//!  Set ──> kept, and the answer shows what is there now
//! ```
//!
//! | attribute | Get | Set | who has it |
//! |---|---|---|---|
//! | NodeDescription, NodeInfo | yes | 0x0008 | all |
//! | GUIDInfo | yes | yes, but for the own GUID; ibsim refuses | all |
//! | SwitchInfo | yes | tables' top, default ports, life time, PortStateChange | switches |
//! | PortInfo, P_KeyTable, VLArbitrationTable, SLtoVLMappingTable | yes | yes | all |
//! | LinearForwardingTable, MulticastForwardingTable | yes | yes | switches |
//! | SMInfo | yes | 0x001c | ports where there is an SM; others as below |
//! | what is not named here | 0x000c | 0x000c | nobody |
//!
//! Every answer keeps transaction, modifier and M_Key of its request.

mod key;
mod port_info;
mod tables;

use std::time::Duration;

use sa_fabric::PortRef;
use sa_wire::mad::{Status, method};
use sa_wire::smp::{Smp, attribute};
use zerocopy::IntoBytes;

use self::key::Access;
use crate::device::{Device, Switch};

/// An SMP at the port by which it reached its node.
struct Asked<'a> {
    /// Where it came in.
    at: PortRef,
    /// Else a Get.
    is_set: bool,
    /// AttributeModifier.
    modifier: u32,
    /// Of the request; turned into the answer's.
    data: &'a mut [u8; 64],
}

/// Turns a request into its answer. False where there is none: it is no request, or the M_Key is
/// wrong.
pub(crate) fn answer(devices: &mut [Device], at: PortRef, smp: &mut Smp, now: Duration) -> bool {
    let is_set = match smp.header.method {
        method::GET => false,
        method::SET => true,
        _ => return false,
    };
    let access = key::access(devices, at, smp, now);
    if access == Access::None {
        return false;
    }
    let asked = Asked {
        at,
        is_set,
        modifier: smp.header.attribute_modifier.get(),
        data: &mut smp.data,
    };
    let status = match done(devices, smp.header.attribute_id.get(), asked) {
        Ok(()) => Status::OK,
        Err(status) => status,
    };
    if access == Access::KeyHidden && smp.header.attribute_id.get() == attribute::PORT_INFO {
        key::hide(&mut smp.data);
    }
    refuse(smp, status)
}

/// What the attribute of a Set holds now, whoever asks; none where it cannot be read, and for what is no Set.
pub(crate) fn held(devices: &mut [Device], at: PortRef, set: &Smp) -> Option<[u8; 64]> {
    let mut data = set.data;
    let asked = Asked {
        at,
        is_set: false,
        modifier: set.header.attribute_modifier.get(),
        data: &mut data,
    };
    let is_set = set.header.method == method::SET;
    let told = is_set.then(|| done(devices, set.header.attribute_id.get(), asked));
    told.and_then(Result::ok).map(|()| data)
}

/// A Set that says what is to be done, whatever is kept of it: ClientReregister.
pub(crate) fn is_order(set: &Smp) -> bool {
    let timeout = set.data.get(51).copied().unwrap_or_default();
    set.header.attribute_id.get() == attribute::PORT_INFO && timeout & CLIENT_REREGISTER != 0
}

/// In the byte of SubnetTimeOut.
const CLIENT_REREGISTER: u8 = 1 << 7;

/// An answer with this status. Always true: there is one.
pub(crate) fn refuse(smp: &mut Smp, status: Status) -> bool {
    let direction = if smp.is_directed() { Smp::RETURNING } else { 0 };
    smp.header.method = method::GET_RESP;
    smp.header.status = (status.get() | direction).into();
    true
}

/// Errors: the status of the answer.
fn done(devices: &mut [Device], attribute: u16, asked: Asked<'_>) -> Result<(), Status> {
    if attribute == attribute::PORT_INFO {
        // The one attribute whose Set is felt at the other end of the cable.
        return port_info::answer(devices, asked);
    }
    let device = devices.get_mut(asked.at.node.get());
    let device = device.ok_or(Status::INVALID_FIELD)?;
    match attribute {
        attribute::NODE_DESCRIPTION => node_description(device, asked),
        attribute::NODE_INFO => node_info(device, asked),
        attribute::SWITCH_INFO => switch_info(device, asked),
        attribute::SM_INFO => sm_info(device, asked),
        attribute::GUID_INFO => tables::guids(device, asked),
        attribute::PKEY_TABLE => tables::pkeys(device, asked),
        attribute::SL_TO_VL => tables::sl_to_vl(device, asked),
        attribute::VL_ARBITRATION => tables::vl_arbitration(device, asked),
        attribute::LINEAR_TABLE => tables::linear(device, asked),
        attribute::MULTICAST_TABLE => tables::multicast(device, asked),
        _ => Err(Status::METHOD_ATTRIBUTE_NOT_SUPPORTED),
    }
}

/// Errors: a Set.
const fn only_read(asked: &Asked<'_>) -> Result<(), Status> {
    match asked.is_set {
        true => Err(Status::METHOD_NOT_SUPPORTED),
        false => Ok(()),
    }
}

/// Errors: a Set.
fn node_description(device: &Device, asked: Asked<'_>) -> Result<(), Status> {
    only_read(&asked)?;
    *asked.data = device.node_info.description;
    Ok(())
}

/// Errors: no SM is there; a command to one.
fn sm_info(device: &Device, asked: Asked<'_>) -> Result<(), Status> {
    let port = device.port(device.end_port(asked.at.port));
    let told = port.and_then(|port| port.sm_info);
    let told = told.ok_or(Status::METHOD_ATTRIBUTE_NOT_SUPPORTED)?;
    if asked.is_set {
        return Err(Status::INVALID_FIELD);
    }
    *asked.data = told;
    Ok(())
}

/// Errors: a Set.
fn node_info(device: &Device, asked: Asked<'_>) -> Result<(), Status> {
    only_read(&asked)?;
    let mut record = device.node_info;
    // The number of the port shares a word with the vendor.
    let vendor = record.port_and_vendor.get() & 0x00ff_ffff;
    record.port_and_vendor = ((u32::from(asked.at.port) << 24) | vendor).into();
    record.port_guid = port_guid(device, asked.at.port).into();
    // Behind the LID of the record, NodeInfo; behind that, the description.
    put(asked.data, record.as_bytes().get(4..44));
    Ok(())
}

/// ibsim's rule for devices of which a file names the node GUID alone.
fn port_guid(device: &Device, port: u8) -> u64 {
    let guid = device.guid.get();
    match device.switch {
        Some(_) => guid,
        None => guid.wrapping_add(u64::from(port)),
    }
}

/// Writes what can be written, and tells what is there then. Errors: no switch.
fn switch_info(device: &mut Device, asked: Asked<'_>) -> Result<(), Status> {
    let switch = device.switch.as_mut();
    let switch = switch.ok_or(Status::METHOD_ATTRIBUTE_NOT_SUPPORTED)?;
    let info = &mut switch.info;
    if asked.is_set {
        let [
            _,
            _,
            _,
            _,
            _,
            _,
            top_high,
            top_low,
            default,
            primary,
            other,
            change,
            ..,
        ] = *asked.data;
        info.linear_top = u16::from_be_bytes([top_high, top_low]).into();
        info.default_port = default;
        info.default_multicast_primary = primary;
        info.default_multicast_not_primary = other;
        // Writing 1 clears it; the lowest two bits tell what the switch can do.
        let kept = match change & Switch::PORT_STATE_CHANGE {
            0 => info.life_time_and_change & 7,
            _ => info.life_time_and_change & 3,
        };
        info.life_time_and_change = (change & 0xf8) | kept;
        let [.., high, low] = *asked
            .data
            .first_chunk::<20>()
            .ok_or(Status::INVALID_FIELD)?;
        info.multicast_top = u16::from_be_bytes([high, low]).into();
    }
    put(asked.data, info.as_bytes().get(4..24));
    Ok(())
}

/// An attribute, filled up with zeros.
fn put(data: &mut [u8; 64], bytes: Option<&[u8]>) {
    *data = [0; 64];
    for (to, from) in data.iter_mut().zip(bytes.unwrap_or_default()) {
        *to = *from;
    }
}
