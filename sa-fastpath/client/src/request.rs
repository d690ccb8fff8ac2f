//! Requests for paths as a ring has them: the bytes of a MAD, as short as they can be.
//!
//! A Get of a path is 120 bytes here and 256 on a fabric: a ring takes the length of each request,
//! and the shorter one is two cache lines with what stands before it. `sa_wire::request` builds the
//! MAD, so that both are the same byte for byte as far as they go.

use sa_wire::Gid;
use sa_wire::mad::Status;
use sa_wire::path_record::{PathCompMask, PathRecord};
use sa_wire::request;
use sa_wire::sa::DATA_OFFSET;
use sa_wire::umad;
use zerocopy::FromBytes;

use super::Error;

/// A Get(PathRecord), as short as it can be. Units: bytes.
pub const PATH_REQUEST: usize = DATA_OFFSET + PathRecord::SIZE;

/// Get(PathRecord) by GIDs for one reversible path.
pub fn path_by_gids(sgid: [u8; 16], dgid: [u8; 16]) -> [u8; PATH_REQUEST] {
    head(&request::path_by_gids(0, Gid(sgid), Gid(dgid)))
}

/// Get(PathRecord) by LIDs: what Open MPI sends on a torus.
pub fn path_by_lids(slid: u16, dlid: u16) -> [u8; PATH_REQUEST] {
    head(&request::path_by_lids(slid, dlid))
}

/// Any request for PathRecords, of method Get or GetTable.
pub fn path(asked: u8, mask: PathCompMask, record: &PathRecord) -> [u8; PATH_REQUEST] {
    head(&request::path_request(0, asked, mask, record))
}

/// The MAD without the zeros after its record: a ring says itself whom a request is from.
fn head(slot: &umad::Slot) -> [u8; PATH_REQUEST] {
    let mut bytes = [0; PATH_REQUEST];
    for (place, byte) in bytes.iter_mut().zip(&slot.mad) {
        *place = *byte;
    }
    bytes
}

/// The record in the reply to a request for one path. Errors: the SA's status; no record.
pub fn path_of(reply: &[u8]) -> Result<PathRecord, Error> {
    // The status first: an error reply has no record.
    let status = reply.get(4..6).and_then(<[u8]>::first_chunk);
    match status.map(|bytes| Status(u16::from_be_bytes(*bytes))) {
        Some(Status::OK) => {}
        Some(status) => return Err(Error::Status(status)),
        None => return Err(Error::NoRecord),
    }
    let data = reply.get(DATA_OFFSET..).unwrap_or_default();
    let (record, _) = PathRecord::read_from_prefix(data).map_err(|_| Error::NoRecord)?;
    Ok(record)
}

/// Writes a transaction into a MAD.
pub fn set_transaction(mad: &mut [u8], transaction: u64) {
    // Shorter than a header: left as it is, and refused when it is sent.
    if let Some(place) = mad.get_mut(8..16) {
        place.copy_from_slice(&transaction.to_be_bytes());
    }
}
