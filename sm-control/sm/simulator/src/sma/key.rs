//! M_Key: who may ask and set.
//!
//! Source: IBA vol. 1, 14.2.4. A key of 0 is none. A Set needs the key; a Get needs it at protection levels 2 and 3,
//! and at level 1 is answered without showing it. A wrong key counts as a violation and starts the lease, at whose end the
//! protection falls; a right one stops it.

use std::time::Duration;

use sa_fabric::PortRef;
use sa_wire::mad::method;
use sa_wire::smp::Smp;

use crate::device::{Device, Port};

/// How much a request is told and allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// All of it: its key is right, or none is needed.
    Full,
    /// Answered, with an M_Key of 0 in PortInfo.
    KeyHidden,
    /// Not answered.
    None,
}

/// What the request may, by the key of the port that it reached; of a switch by that of port 0.
pub(super) fn access(devices: &mut [Device], at: PortRef, smp: &Smp, now: Duration) -> Access {
    let device = devices.get_mut(at.node.get());
    let port = device.and_then(|device| {
        let end = device.end_port(at.port);
        device.port_mut(end)
    });
    port.map_or(Access::None, |port| of_port(port, smp, now))
}

/// The same of the port that holds the key; leases that are over end here, when somebody looks.
fn of_port(port: &mut Port, smp: &Smp, now: Duration) -> Access {
    let key = port.info.m_key.get();
    if key == 0 {
        return Access::Full;
    }
    if port.lease_ends.is_some_and(|end| end <= now) {
        // The key stays, and protects nothing any more.
        port.info.m_key_protect_and_lmc &= 0x3f;
        port.lease_ends = None;
    }
    if smp.m_key.get() == key {
        port.lease_ends = None;
        return Access::Full;
    }
    match (smp.header.method, port.info.m_key_protect_and_lmc >> 6) {
        (method::GET, 0) => Access::Full,
        (method::GET, 1) => Access::KeyHidden,
        _ => {
            violated(port, now);
            Access::None
        }
    }
}

/// Counts a wrong key, up to the largest number. The first one starts the lease, the others do not prolong it.
fn violated(port: &mut Port, now: Duration) {
    let count = port.info.m_key_violations.get();
    port.info.m_key_violations = count.saturating_add(1).into();
    let lease = u64::from(port.info.m_key_lease_period.get());
    if lease > 0 {
        port.lease_ends
            .get_or_insert_with(|| now + Duration::from_secs(lease));
    }
}

/// The first field of PortInfo.
pub(super) fn hide(data: &mut [u8; 64]) {
    for byte in data.iter_mut().take(8) {
        *byte = 0;
    }
}
