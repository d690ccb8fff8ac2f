//! Records that are known by their number, and requests for them.

use anyhow::{Result, ensure};
use sa_wire::mad::method;
use sa_wire::request;
use sa_wire::sa::{AttributeId, DATA_OFFSET, SaMad};
use sa_wire::umad::MAD_SIZE;

/// A PathRecord's. Units: bytes.
pub(in super::super) const RECORD: usize = 64;

/// Asks for `count` records, which the attribute modifier says.
pub(in super::super) fn request(count: u32, transaction: u64) -> [u8; MAD_SIZE] {
    let mut slot = request::request(0, super::METHOD, AttributeId::PATH_RECORD, 0, &[]);
    let mad = SaMad::from_bytes_mut(&mut slot.mad);
    mad.mad.transaction_id = transaction.into();
    mad.mad.attribute_modifier = count.into();
    slot.mad
}

/// How many records a request is for.
pub(in super::super) const fn asked_for(request: &SaMad) -> u32 {
    request.mad.attribute_modifier.get()
}

/// The headers of the reply.
pub(in super::super) fn reply_head(request: &[u8; MAD_SIZE]) -> [u8; MAD_SIZE] {
    let mut bytes = *request;
    let head = SaMad::from_bytes_mut(&mut bytes);
    head.mad.method = method::GET_TABLE_RESP;
    head.sa.attribute_offset = 8.into();
    bytes
}

/// Record number `number`: eight words, each of which names it.
pub(in super::super) fn fill(number: u32, out: &mut [u8]) {
    for (place, word) in (0u32..).zip(out.chunks_exact_mut(8)) {
        let mut mixed = u64::from(number) << 8 | u64::from(place);
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word.copy_from_slice(&(mixed ^ mixed >> 31).to_be_bytes());
    }
}

/// Errors: the reply is not the records 0 to `count` - 1 behind its headers.
pub(in super::super) fn expect_records(reply: &[u8], count: u32) -> Result<()> {
    let length = DATA_OFFSET + RECORD * usize::try_from(count)?;
    ensure!(
        reply.len() == length,
        "{} bytes for {count} records, {length} expected",
        reply.len()
    );
    ensure!(reply[3] == method::GET_TABLE_RESP, "method {:#x}", reply[3]);
    let mut wanted = [0; RECORD];
    for (number, record) in (0..).zip(reply[DATA_OFFSET..].chunks_exact(RECORD)) {
        fill(number, &mut wanted);
        ensure!(record == wanted, "record {number} is {record:02x?}");
    }
    Ok(())
}
