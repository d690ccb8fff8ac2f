//! What of replies is compared, and how differences are shown.

use std::collections::BTreeMap;

use sa_wire::mad::method;
use sa_wire::sa::{AttributeId, DATA_OFFSET, DATA_SIZE};

use sa_tests::records::Request;
use sa_tests::seen::{EXPLAINED, RACED};

pub(super) fn raced(attribute: AttributeId) -> Option<(AttributeId, u64, usize)> {
    RACED.into_iter().find(|(known, ..)| *known == attribute)
}

/// Units: bytes.
pub(super) fn stride(reply: &[u8]) -> usize {
    let offset = reply.get(44..46).and_then(|bytes| bytes.try_into().ok());
    8 * usize::from(u16::from_be_bytes(offset.unwrap_or_default()))
}

pub(super) fn is_error(reply: &[u8]) -> bool {
    reply.get(4..6) != Some(&[0, 0])
}

pub(super) fn records_in(reply: &[u8]) -> usize {
    let stride = stride(reply);
    match reply.get(3) {
        _ if is_error(reply) => 0,
        Some(&method::GET_RESP) => 1,
        _ if stride == 0 => 0,
        _ => (reply.len() - DATA_OFFSET) / stride,
    }
}

/// What is compared of a reply: everything but the transaction, what is behind the one record of a
/// Get (left over from somewhere), and what is explained.
pub(super) fn seen(request: &Request, mut reply: Vec<u8>) -> Vec<u8> {
    if reply.len() < DATA_OFFSET {
        return reply;
    }
    reply[8..16].fill(0);
    if is_error(&reply) {
        return reply;
    }
    let stride = stride(&reply);
    if reply[3] == method::GET_RESP {
        let one = if stride == 0 { LONGEST_ONE } else { stride };
        reply.truncate(DATA_OFFSET + one);
    }
    for record in reply[DATA_OFFSET..].chunks_mut(stride.max(1)) {
        for (attribute, start, length, _) in EXPLAINED {
            if let Some(place) = record.get_mut(start..start + length)
                && attribute == request.attribute
            {
                place.fill(0);
            }
        }
        if let Some((.., byte)) = raced(request.attribute)
            && let Some(place) = record.get_mut(byte)
        {
            *place = 0;
        }
    }
    reply
}

/// Gives each path the SL that it has as a PathRecord.
pub(super) fn set_sls(reply: &mut [u8], sls: &BTreeMap<[u8; 4], u8>) {
    let step = stride(reply).max(1);
    for record in reply[DATA_OFFSET..].chunks_mut(step) {
        let known = record.get(LIDS).and_then(|lids| sls.get(lids));
        if let (Some(sl), true) = (known, record.len() > SL) {
            record[SL] = record[SL] & 0xf0 | sl;
        }
    }
}

pub(super) fn shown(
    request: &Request,
    lid: u16,
    theirs: Option<&[u8]>,
    ours: Option<&[u8]>,
) -> String {
    let hex = |bytes: &[u8]| -> String { bytes.iter().map(|byte| format!("{byte:02x}")).collect() };
    let reply = |reply: Option<&[u8]>, at: usize| {
        let Some(reply) = reply else {
            return "no reply".to_owned();
        };
        let head = hex(reply.get(..DATA_OFFSET).unwrap_or(reply));
        let record = reply.get(at..).unwrap_or_default();
        let record = hex(record
            .get(..record.len().min(DATA_SIZE))
            .unwrap_or_default());
        format!("{} bytes, {head}; from byte {at}: {record}", reply.len())
    };
    let (one, other) = (theirs.unwrap_or_default(), ours.unwrap_or_default());
    let same = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    // The record that differs first.
    let step = stride(one).max(stride(other)).max(1);
    let at = DATA_OFFSET + same.saturating_sub(DATA_OFFSET) / step * step;
    format!(
        "0x{:04x} method {:#x} mask {:#x} modifier {:#x} key {} from LID {lid}, asked {}\n  first \
         difference at byte {same}\n  theirs {}\n  ours   {}",
        request.attribute.get(),
        request.asked,
        request.mask,
        request.modifier,
        request.key,
        hex(&request.data),
        reply(theirs, at),
        reply(ours, at)
    )
}

/// Where a PathRecord has its LIDs, and its SL. Units: bytes.
pub(super) const LIDS: core::ops::Range<usize> = 40..44;
pub(super) const SL: usize = 53;
/// Of the attributes without an offset ClassPortInfo is the longest. Units: bytes.
const LONGEST_ONE: usize = 72;
