//! Tables of ports and switches: what is written is what is read.
//!
//! | attribute | modifier of CAs and routers | of switches | refused with 0x001c |
//! |---|---|---|---|
//! | P_KeyTable | block | port, block | beyond PartitionCap; of external ports PartitionEnforcementCap |
//! | GUIDInfo | block | block, of port 0 | beyond GUIDCap |
//! | SLtoVLMappingTable | none | input, output port; all of either where the switch can | ports that are not there |
//! | VLArbitrationTable | part 1 to 4, port | part, port | other parts |
//! | LinearForwardingTable | | block of 64 LIDs | beyond LinearFDBCap |
//! | MulticastForwardingTable | | group of 16 ports, block of 32 MLIDs | beyond MulticastFDBCap |

use sa_wire::mad::Status;
use sa_wire::smp::{ALL_INPUTS, ALL_OUTPUTS};

use super::{Asked, put};
use crate::device::{Device, Switch};

/// Errors: a port that the node has not, a block beyond its capacity.
pub(super) fn pkeys(device: &mut Device, asked: Asked<'_>) -> Result<(), Status> {
    let [high, port, block_high, block] = asked.modifier.to_be_bytes();
    let port = match device.switch {
        Some(_) => port,
        None => asked.at.port,
    };
    let block = u16::from_be_bytes([block_high, block]);
    let entries = device
        .partition_cap(port)
        .saturating_sub(block.saturating_mul(32));
    let keys = device.port_mut(port).filter(|_| high == 0 && entries > 0);
    let keys = keys.and_then(|port| port.pkeys.get_mut(usize::from(block)));
    let keys = keys.ok_or(Status::INVALID_FIELD)?;
    if asked.is_set {
        // Entries beyond the capacity read as 0.
        let bytes = usize::from(entries.min(32)) * 2;
        put(keys, asked.data.get(..bytes));
    }
    *asked.data = *keys;
    Ok(())
}

/// The own GUID of the port stays, whatever is written. Errors: a block beyond its capacity.
pub(super) fn guids(device: &mut Device, asked: Asked<'_>) -> Result<(), Status> {
    let port = device.end_port(asked.at.port);
    let own = super::port_guid(device, port).to_be_bytes();
    let block = usize::try_from(asked.modifier).unwrap_or(usize::MAX);
    let held = device
        .port_mut(port)
        .and_then(|port| port.guids.get_mut(block));
    let held = held.ok_or(Status::INVALID_FIELD)?;
    if asked.is_set {
        *held = *asked.data;
    }
    if let (0, Some(first)) = (block, held.first_chunk_mut()) {
        *first = own;
    }
    *asked.data = *held;
    Ok(())
}

/// Errors: ports that the switch has not; all ports at once where it cannot.
pub(super) fn sl_to_vl(device: &mut Device, asked: Asked<'_>) -> Result<(), Status> {
    let [_, wide, input, output] = asked.modifier.to_be_bytes();
    let last = device.node_info.num_ports;
    let written = asked
        .is_set
        .then(|| asked.data.first_chunk::<8>().copied())
        .flatten();
    let Some(switch) = &mut device.switch else {
        let port = device.ports.get_mut(usize::from(asked.at.port));
        let table = &mut port.ok_or(Status::INVALID_FIELD)?.sl_to_vl;
        *table = written.unwrap_or(*table);
        put(asked.data, Some(table));
        return Ok(());
    };
    if input > last || output > last {
        return Err(Status::INVALID_FIELD);
    }
    let is_optimised = switch.info.life_time_and_change & 3 != 0;
    if wide != 0 && !(asked.is_set && is_optimised) {
        return Err(Status::INVALID_FIELD);
    }
    let mut table = switch.sl_to_vl(input, output);
    if let Some(written) = written {
        table = written;
        let all = |flag: u32, one: u8| match asked.modifier & flag {
            0 => one..=one,
            _ => 0..=last,
        };
        for input in all(ALL_INPUTS, input) {
            for output in all(ALL_OUTPUTS, output) {
                switch.sl_to_vl.insert((input, output), table);
            }
        }
    }
    put(asked.data, Some(&table));
    Ok(())
}

/// Errors: a port that the switch has not, a block that its tables have not.
pub(super) fn vl_arbitration(device: &mut Device, asked: Asked<'_>) -> Result<(), Status> {
    let [_, block, _, port] = asked.modifier.to_be_bytes();
    let port = match device.switch {
        Some(_) => port,
        None => asked.at.port,
    };
    let port = device.port_mut(port).ok_or(Status::INVALID_FIELD)?;
    let cap = match block {
        1 | 2 => port.info.vl_arb_low_cap,
        3 | 4 => port.info.vl_arb_high_cap,
        _ => return Err(Status::INVALID_FIELD),
    };
    let entries = match block % 2 {
        1 => cap.min(32),
        _ => cap.saturating_sub(32),
    };
    let table = port.vl_arbitration.get_mut(usize::from(block) - 1);
    let table = table.filter(|_| entries > 0).ok_or(Status::INVALID_FIELD)?;
    if asked.is_set {
        put(table, asked.data.get(..usize::from(entries) * 2));
    }
    *asked.data = *table;
    Ok(())
}

/// Errors: no switch; a block beyond LinearFDBCap.
pub(super) fn linear(device: &mut Device, asked: Asked<'_>) -> Result<(), Status> {
    let switch = switch(device)?;
    let block = asked.modifier;
    if block.saturating_mul(64) >= u32::from(switch.info.linear_cap.get()) {
        return Err(Status::INVALID_FIELD);
    }
    if asked.is_set {
        switch.linear.insert(block, *asked.data);
    }
    *asked.data = switch.linear_block(block);
    Ok(())
}

/// Errors: no switch; a block beyond MulticastFDBCap.
pub(super) fn multicast(device: &mut Device, asked: Asked<'_>) -> Result<(), Status> {
    let switch = switch(device)?;
    let block = asked.modifier & 0x1ff;
    if block * 32 >= u32::from(switch.info.multicast_cap.get()) {
        return Err(Status::INVALID_FIELD);
    }
    let place = asked.modifier & 0xf000_01ff;
    if asked.is_set {
        switch.multicast.insert(place, *asked.data);
    }
    *asked.data = switch.multicast.get(&place).copied().unwrap_or([0; 64]);
    Ok(())
}

/// Errors: it is none.
fn switch(device: &mut Device) -> Result<&mut Switch, Status> {
    let switch = device.switch.as_mut();
    switch.ok_or(Status::METHOD_ATTRIBUTE_NOT_SUPPORTED)
}
