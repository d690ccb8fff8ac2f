//! Requests for paths, as bytes of a MAD.

use sa_wire::mad::{BASE_VERSION, MGMT_CLASS_SA, MadHeader, SA_CLASS_VERSION, Status, method};
use sa_wire::path_record::{NumbPathByte, PathCompMask, PathRecord};
use sa_wire::rmpp::RmppHeader;
use sa_wire::sa::{AttributeId, DATA_OFFSET, SaHeader};
use zerocopy::{FromBytes, IntoBytes};

use super::Error;

/// Units: bytes.
pub const PATH_REQUEST: usize = DATA_OFFSET + PathRecord::SIZE;

/// Get(PathRecord) by GIDs for one reversible path.
pub fn path_by_gids(sgid: [u8; 16], dgid: [u8; 16]) -> [u8; PATH_REQUEST] {
    let record = PathRecord {
        sgid,
        dgid,
        numb_path: NumbPathByte::new(1).with_reversible(),
        ..PathRecord::default()
    };
    let ends = PathCompMask::SGID | PathCompMask::DGID;
    let one = PathCompMask::NUMB_PATH | PathCompMask::REVERSIBLE;
    path(method::GET, ends | one, &record)
}

/// Get(PathRecord) by LIDs: what Open MPI sends on a torus.
pub fn path_by_lids(slid: u16, dlid: u16) -> [u8; PATH_REQUEST] {
    let record = PathRecord {
        slid: slid.into(),
        dlid: dlid.into(),
        ..PathRecord::default()
    };
    path(
        method::GET,
        PathCompMask::SLID | PathCompMask::DLID,
        &record,
    )
}

/// Any request for PathRecords, of method Get or GetTable.
pub fn path(asked: u8, mask: PathCompMask, record: &PathRecord) -> [u8; PATH_REQUEST] {
    let mad = MadHeader {
        base_version: BASE_VERSION,
        mgmt_class: MGMT_CLASS_SA,
        class_version: SA_CLASS_VERSION,
        method: asked,
        attribute_id: AttributeId::PATH_RECORD.get().into(),
        ..MadHeader::default()
    };
    let sa = SaHeader {
        component_mask: mask.0.into(),
        ..SaHeader::default()
    };
    let rmpp = RmppHeader::default();
    let parts = [
        mad.as_bytes(),
        rmpp.as_bytes(),
        sa.as_bytes(),
        record.as_bytes(),
    ];
    let mut bytes = [0; PATH_REQUEST];
    let places = bytes.iter_mut();
    for (place, byte) in places.zip(parts.into_iter().flatten()) {
        *place = *byte;
    }
    bytes
}

/// The record in the reply to a request for one path. Errors: the SA's status; no record.
pub fn path_of(reply: &[u8]) -> Result<PathRecord, Error> {
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
    if let Some(place) = mad.get_mut(8..16) {
        place.copy_from_slice(&transaction.to_be_bytes());
    }
}
