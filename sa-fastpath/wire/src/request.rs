//! Requests of the SA to order, and what replies to requests for paths hold.
//!
//! The one builder and reader of requests: clients, checks, benchmarks and tests all use it. A
//! [`Slot`] is a request as a port has it, with the address of its requester; what only goes through
//! a ring is the MAD of it alone.

use zerocopy::{FromBytes, IntoBytes};

use crate::Gid;
use crate::mad::{BASE_VERSION, DecodeError, MGMT_CLASS_SA, SA_CLASS_VERSION, method};
use crate::multipath_record::{self, MultiPathCompMask, MultiPathRecord};
use crate::path_record::{NumbPathByte, PathCompMask, PathRecord};
use crate::rmpp::{RmppHeader, SEGMENT_PAYLOAD, flag};
use crate::sa::{AttributeId, DATA_OFFSET, SaMad, record_stride};
use crate::umad::Slot;

/// A PathRecord request from `requester`.
pub fn path_request(requester: u16, asked: u8, mask: PathCompMask, record: &PathRecord) -> Slot {
    let attribute = AttributeId::PATH_RECORD;
    request(requester, asked, attribute, mask.0, record.as_bytes())
}

/// A GetMulti request from `requester`, which must be marked as RMPP: for paths from these sources
/// to these destinations. The counts are set and join the mask.
/// Errors: [`DecodeError::TooManyGids`].
pub fn multi_path_request(
    requester: u16,
    mask: MultiPathCompMask,
    record: &MultiPathRecord,
    sgids: &[Gid],
    dgids: &[Gid],
) -> Result<Slot, DecodeError> {
    // The counts join the mask: without them OpenSM refuses the request.
    let mask = mask | MultiPathCompMask::COUNTS;
    let attribute = AttributeId::MULTI_PATH_RECORD;
    let mut slot = request(requester, method::GET_MULTI, attribute, mask.0, &[]);
    let mad = SaMad::from_bytes_mut(&mut slot.mad);
    // One whole segment, as GetMulti is a double-sided exchange; its payload is a full one.
    mad.rmpp = RmppHeader::data(flag::SINGLE, 1, SEGMENT_PAYLOAD);
    multipath_record::encode(record, sgids, dgids, &mut mad.data)?;
    Ok(slot)
}

/// Any request from `requester`. Shape: `data` begins the attribute data; zeros follow, and what a
/// MAD does not hold is left out.
pub fn request(requester: u16, asked: u8, attribute: AttributeId, mask: u64, data: &[u8]) -> Slot {
    let mut slot = Slot::EMPTY;
    slot.header.lid = requester.into();
    // Queue pair 1, which every general service agent has.
    slot.header.qpn = 1.into();
    let mad = SaMad::from_bytes_mut(&mut slot.mad);
    mad.mad.base_version = BASE_VERSION;
    mad.mad.mgmt_class = MGMT_CLASS_SA;
    mad.mad.class_version = SA_CLASS_VERSION;
    mad.mad.method = asked;
    mad.mad.attribute_id = attribute.get().into();
    mad.sa.component_mask = mask.into();
    // A longer attribute is cut off: a request is one MAD.
    for (place, byte) in mad.data.iter_mut().zip(data) {
        *place = *byte;
    }
    slot
}

/// Get(PathRecord) by LIDs, asked by the source: what Open MPI sends on a torus.
pub fn path_by_lids(slid: u16, dlid: u16) -> Slot {
    let record = PathRecord {
        slid: slid.into(),
        dlid: dlid.into(),
        ..PathRecord::default()
    };
    path_request(
        slid,
        method::GET,
        PathCompMask::SLID | PathCompMask::DLID,
        &record,
    )
}

/// Get(PathRecord) by GIDs for one reversible path.
pub fn path_by_gids(requester: u16, sgid: Gid, dgid: Gid) -> Slot {
    let record = PathRecord {
        sgid: sgid.0,
        dgid: dgid.0,
        numb_path: NumbPathByte::new(1).with_reversible(),
        ..PathRecord::default()
    };
    let mask = PathCompMask::SGID
        | PathCompMask::DGID
        | PathCompMask::NUMB_PATH
        | PathCompMask::REVERSIBLE;
    path_request(requester, method::GET, mask, &record)
}

/// A reply that is not even the start of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the reply is shorter than its headers")]
pub struct TooShort;

/// Status and records of a reply. Shape: 56 header bytes and records (what follows the one record
/// of a GetResp is ignored); error replies have no records. Errors: [`TooShort`].
pub fn parse(reply: &[u8]) -> Result<(u16, Vec<PathRecord>), TooShort> {
    let headers = reply.get(..DATA_OFFSET).ok_or(TooShort)?;
    let be16 = |at: usize| {
        let bytes = headers
            .get(at..at + 2)
            .and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u16::from_be_bytes)
    };
    let (status, offset) = (be16(4), be16(44));
    let stride = record_stride(offset);
    // A stride below a record, 0 included, means that there are none.
    if status != 0 || stride < PathRecord::SIZE {
        return Ok((status, Vec::new()));
    }
    let is_one = headers.get(3) == Some(&method::GET_RESP);
    let data = reply.get(DATA_OFFSET..).unwrap_or_default();
    // A GetResp has one record; what follows in its MAD is padding.
    let limit = if is_one { 1 } else { usize::MAX };
    let records = data.chunks_exact(stride).filter_map(|bytes| {
        PathRecord::read_from_prefix(bytes)
            .ok()
            .map(|(record, _)| record)
    });
    Ok((status, records.take(limit).collect()))
}
