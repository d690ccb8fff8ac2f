//! Turning a request MAD into its reply.
//!
//! The request's 56 header bytes come back but for method, status, SM_Key and AttributeOffset.
//! Source: OpenSM `osm_sa.c` (`osm_sa_respond`, `osm_sa_send_error`).
//!
//! Layout of a reply with records (IBA vol. 1, 15.2.1; offsets in bytes of the MAD):
//!
//! ```text
//!    0  MAD header 24    method with the R bit, status, transaction as it was sent
//!   24  RMPP header 12   of tables: one whole segment, PayloadLength = 20 + records
//!   36  SA header 20     SM_Key blanked, AttributeOffset = 8 (64 bytes / 8), mask as sent
//!   56  data 200         up to three PathRecords of 64 bytes; the rest is what the request had
//! ```
//!
//! A GetResp is as long as its record (120 bytes), a table as its records, an error always 256
//! bytes. The transports send only so much. Nothing is allocated, and nothing but these fields is
//! written: the caller must have decoded all it needs of the request before.

use sa_wire::mad::{Status, method, response_method};
use sa_wire::path_record::PathRecord;
use sa_wire::rmpp::{RmppHeader, flag};
use sa_wire::sa::{AttributeId, DATA_OFFSET, SaMad, attribute_offset};
use sa_wire::umad::MAD_SIZE;
use zerocopy::IntoBytes;

/// Records of a table that fit one MAD: three of 64 bytes in 200.
pub const INLINE_RECORDS: usize = 3;

/// From one PathRecord to the next. Units: 8 bytes.
const STRIDE: u16 = attribute_offset(64);
/// MAD bytes of a GetResp with one PathRecord: what nearly every reply has.
pub(super) const GET_BYTES: u16 = header_bytes() + 64;
/// Units: bytes; in each segment, the SA header counts as payload.
const SA_HEADER: u32 = 20;

/// A GetResp with one record. Returns the MAD bytes in use.
#[inline(always)]
pub fn finish_get(mad: &mut SaMad, record: &PathRecord) -> u16 {
    begin(mad, Status::OK);
    mad.sa.attribute_offset = STRIDE.into();
    put(mad, core::slice::from_ref(record))
}

/// A GetResp with the one record that lies in its place already, for a request without a key.
///
/// The key needs no blanking, as a common request has none. It is what the third step of a batch
/// calls, so it writes three fields and no more.
#[inline(always)]
pub(super) fn finish_in_place(mad: &mut SaMad) {
    mad.mad.method = method::GET_RESP;
    mad.mad.status = Status::OK.get().into();
    mad.sa.attribute_offset = STRIDE.into();
}

/// The same for any request for one record, of a table too. Returns the MAD bytes in use.
#[inline(always)]
pub(super) fn finish_one_in_place(mad: &mut SaMad, is_table: bool) -> u16 {
    begin(mad, Status::OK);
    mad.sa.attribute_offset = STRIDE.into();
    if is_table {
        single_segment(mad, GET_BYTES);
    }
    GET_BYTES
}

/// A GetTableResp with at most [`INLINE_RECORDS`] records in one segment. Returns the MAD
/// bytes in use.
#[inline(always)]
pub fn finish_table(mad: &mut SaMad, records: &[PathRecord]) -> u16 {
    if records.is_empty() {
        return finish_empty_table(mad);
    }
    begin(mad, Status::OK);
    mad.sa.attribute_offset = STRIDE.into();
    let length = put(mad, records);
    single_segment(mad, length);
    length
}

/// A GetMultiResp with at most [`INLINE_RECORDS`] records in one segment. They are
/// PathRecords, and the attribute says so. Returns the MAD bytes in use.
pub fn finish_multi(mad: &mut SaMad, records: &[PathRecord]) -> u16 {
    mad.mad.attribute_id = AttributeId::PATH_RECORD.get().into();
    finish_table(mad, records)
}

/// A GetTableResp without records, which is a success. Returns the MAD bytes in use.
///
/// AttributeOffset is 0 here, as OpenSM leaves it where there is nothing to step over.
#[inline]
pub fn finish_empty_table(mad: &mut SaMad) -> u16 {
    begin(mad, Status::OK);
    mad.sa.attribute_offset = 0.into();
    let length = header_bytes();
    single_segment(mad, length);
    length
}

/// An error reply: the request with another status. Returns the MAD bytes in use.
#[inline]
pub fn finish_error(mad: &mut SaMad, status: Status) -> u16 {
    // OpenSM's error to a table says 0 there, its error to a Get what the request had.
    if mad.mad.method == method::GET_TABLE {
        mad.sa.attribute_offset = 0.into();
    }
    begin(mad, status);
    // What a request had in an RMPP header that is not active does not come back.
    if mad.rmpp.flags() & flag::ACTIVE == 0 {
        mad.rmpp = RmppHeader::INACTIVE;
    }
    // OpenSM answers MultiPathRecord with PathRecords, and errors carry that attribute as well.
    if mad.attribute_id() == AttributeId::MULTI_PATH_RECORD {
        mad.mad.attribute_id = AttributeId::PATH_RECORD.get().into();
    }
    u16::try_from(MAD_SIZE).unwrap_or(u16::MAX)
}

/// What every reply has: the response's method, a status, and no key, which would tell it to
/// everybody who sees the reply.
#[inline(always)]
fn begin(mad: &mut SaMad, status: Status) {
    mad.mad.method = response_method(mad.mad.method);
    mad.mad.status = status.get().into();
    mad.sa.sm_key = 0.into();
}

/// Writes the records behind the headers. Returns the MAD bytes in use; records that do not fit are
/// left out, which no caller asks for.
#[inline(always)]
fn put(mad: &mut SaMad, records: &[PathRecord]) -> u16 {
    let bytes = records.as_bytes();
    if let Some(place) = mad.data.get_mut(..bytes.len()) {
        place.copy_from_slice(bytes);
    }
    header_bytes() + u16::try_from(bytes.len()).unwrap_or(0)
}

/// Marks the reply as a whole RMPP transfer of one segment: without the mark a requester takes the
/// padding of its MAD for records.
#[inline(always)]
fn single_segment(mad: &mut SaMad, length: u16) {
    // The SA header of each segment counts as payload, the common MAD header does not.
    let payload = SA_HEADER + u32::from(length - header_bytes());
    mad.rmpp = RmppHeader::data(flag::SINGLE, 1, payload);
}

/// Bytes of a MAD before its data, as a length.
const fn header_bytes() -> u16 {
    #[expect(clippy::cast_possible_truncation, reason = "56")]
    const BYTES: u16 = DATA_OFFSET as u16;
    BYTES
}
