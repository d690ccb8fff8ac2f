//! Requests for paths to order, and what replies hold. For checks, benchmarks and clients.

use sa_wire::Gid;
use sa_wire::mad::{BASE_VERSION, DecodeError, MGMT_CLASS_SA, SA_CLASS_VERSION, method};
use sa_wire::multipath_record::{self, MultiPathCompMask, MultiPathRecord};
use sa_wire::path_record::{PathCompMask, PathRecord};
use sa_wire::rmpp::{RmppHeader, SEGMENT_PAYLOAD, flag};
use sa_wire::sa::{AttributeId, DATA_OFFSET, SaMad, record_stride};
use sa_wire::umad::Slot;
use serde_json::{Value, json};
use zerocopy::{FromBytes, IntoBytes};

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
    let mask = mask | MultiPathCompMask::COUNTS;
    let attribute = AttributeId::MULTI_PATH_RECORD;
    let mut slot = request(requester, method::GET_MULTI, attribute, mask.0, &[]);
    let mad = SaMad::from_bytes_mut(&mut slot.mad);
    mad.rmpp = RmppHeader::data(flag::SINGLE, 1, SEGMENT_PAYLOAD);
    multipath_record::encode(record, sgids, dgids, &mut mad.data)?;
    Ok(slot)
}

/// Any request from `requester`. Shape: `data` begins the attribute data; zeros follow, and what a
/// MAD does not hold is left out.
pub fn request(requester: u16, asked: u8, attribute: AttributeId, mask: u64, data: &[u8]) -> Slot {
    let mut slot = Slot::EMPTY;
    slot.header.lid = requester.into();
    slot.header.qpn = 1.into();
    let mad = SaMad::from_bytes_mut(&mut slot.mad);
    mad.mad.base_version = BASE_VERSION;
    mad.mad.mgmt_class = MGMT_CLASS_SA;
    mad.mad.class_version = SA_CLASS_VERSION;
    mad.mad.method = asked;
    mad.mad.attribute_id = attribute.get().into();
    mad.sa.component_mask = mask.into();
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
    use sa_wire::path_record::NumbPathByte;
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
    if status != 0 || stride < PathRecord::SIZE {
        return Ok((status, Vec::new()));
    }
    let is_one = headers.get(3) == Some(&method::GET_RESP);
    let data = reply.get(DATA_OFFSET..).unwrap_or_default();
    let limit = if is_one { 1 } else { usize::MAX };
    let records = data.chunks_exact(stride).filter_map(|bytes| {
        PathRecord::read_from_prefix(bytes)
            .ok()
            .map(|(record, _)| record)
    });
    Ok((status, records.take(limit).collect()))
}

/// The fields of a record for people and machines, by the names and in the forms of the recorded
/// corpora.
pub fn in_words(record: &PathRecord) -> Value {
    json!({
        "service_id": format!("0x{:x}", record.service_id.get()),
        "dgid": record.dgid().to_string(),
        "sgid": record.sgid().to_string(),
        "dlid": record.dlid.get(),
        "slid": record.slid.get(),
        "raw_traffic": u8::from(record.flow.raw_traffic()),
        "flow_label": record.flow.flow_label(),
        "hop_limit": record.flow.hop_limit(),
        "tclass": record.tclass,
        "reversible": u8::from(record.numb_path.reversible()),
        "numb_path": record.numb_path.numb_path(),
        "pkey": format!("0x{:x}", record.pkey.get()),
        "qos_class": record.qos_class_sl.qos_class(),
        "sl": record.qos_class_sl.sl().get(),
        "mtu_sel": record.mtu.0 >> 6,
        "mtu": record.mtu.value(),
        "rate_sel": record.rate.0 >> 6,
        "rate": record.rate.value(),
        "pkt_life_sel": record.packet_life.0 >> 6,
        "pkt_life": record.packet_life.value(),
        "preference": record.preference,
    })
}
