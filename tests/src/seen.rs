//! What of a reply comes through the simulator.

use sa_wire::mad::method;
use sa_wire::sa::AttributeId;
use sa_wire::umad::{MAD_SIZE, Slot};

/// Bytes of a MAD that the simulator's library leaves whole.
pub const SEEN: usize = 224;

/// Bytes of records that differ, and why: attribute, first byte, bytes, number in
/// docs/deviations.md.
pub const EXPLAINED: [(AttributeId, usize, usize, u8); 2] = [
    (AttributeId::PKEY_TABLE_RECORD, 2, 2, 29),
    (AttributeId::SM_INFO_RECORD, 20, 4, 30),
];

/// LocalPortNum of a switch (deviation 34) is the port by which OpenSM's discovery came last. Where
/// several shortest ways lead there, which one that is depends on what overtakes what: attribute,
/// bit of the mask, byte of the record.
pub const RACED: [(AttributeId, u64, usize); 2] = [
    (AttributeId::PORT_INFO_RECORD, 1 << 10, 32),
    (AttributeId::NODE_RECORD, 1 << 12, 40),
];

const HEADERS: usize = 56;
const CLASS_PORT_INFO: usize = 72;

/// The part of a reply that can be compared with another one of `length` bytes.
///
/// A refusal is the whole request again. Of a success there are the records that come through; the
/// RMPP header of a table is what a kernel, or this program's own transport, fills in; its length
/// is told up to one MAD's, but for GetMulti, where nobody tells it and anything stands behind the
/// records.
pub fn seen(request: &Slot, reply: &[u8], length: usize) -> Vec<u8> {
    let mut bytes = reply.to_vec();
    bytes.resize(SEEN, 0);
    // The simulator marks transactions by client, and the client chooses the rest.
    bytes[8..16].fill(0);
    let is_success = bytes[4..6] == [0, 0] || bytes[4..6] == request.mad[4..6];
    if !is_success {
        return bytes;
    }
    let stride = 8 * usize::from(u16::from_be_bytes([bytes[44], bytes[45]]));
    match bytes[3] {
        method::GET_RESP if stride == 0 => bytes.truncate(HEADERS + CLASS_PORT_INFO),
        method::GET_RESP => bytes.truncate((HEADERS + stride).min(SEEN)),
        method::GET_MULTI_RESP => {
            bytes[24..36].fill(0);
            bytes.truncate(length.clamp(HEADERS, SEEN));
        }
        _ => {
            bytes[24..36].fill(0);
            let length = reply.len().min(MAD_SIZE);
            bytes.truncate(length.min(SEEN));
            bytes.extend_from_slice(&length.to_be_bytes());
        }
    }
    bytes
}
