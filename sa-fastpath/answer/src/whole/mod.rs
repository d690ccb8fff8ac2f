//! Whole replies: what the workers do not write over a request because it does not fit, or is rare.
//!
//! What it is: ClassPortInfo, tables longer than one MAD, queries that leave an end open, and the
//! refusals, all from one snapshot and nothing else. [`respond`] answers everything that can be
//! answered so; [`table`] makes long tables while they are sent, for transports that segment by
//! themselves.
//!
//! How it works: what a worker can answer, [`respond`] has the worker's own function answer, so
//! that no reply depends on who gives it. These functions allocate, and no worker calls them.
//!
//! What it does not do: records of the fabric's state and what clients set, which need more than a
//! snapshot. Attributes that are not served are refused with "method/attribute combination not
//! supported" rather than left to time out; see `docs/deviations.md`.

mod stream;
mod tables;

use sa_snapshot::Snapshot;
use sa_wire::class_port_info::{CapabilityMask, CapabilityMask2, ClassPortInfo, ResponseTime};
use sa_wire::mad::{BASE_VERSION, SA_CLASS_VERSION, Status, method, response_method};
use sa_wire::rmpp::{RmppHeader, flag};
use sa_wire::sa::{AttributeId, DATA_OFFSET, SaMad, attribute_offset};
use sa_wire::served::ServedSnapshot;
use sa_wire::umad::Slot;
use sa_wire::{Lid, Sl};
use zerocopy::IntoBytes;

use crate::{
    MultiPathQuery, Outcome, PathQuery, Reject, answer, asks_for_unknown_sl, finish_empty_table,
    finish_error, is_multi_path, unanswerable,
};

use sa_wire::request;

pub use stream::{Streamed, Units, paths, table};
pub use tables::MAX_RECORDS;

/// What the records of one reply may take; a query for more is refused with "no resources".
/// Units: bytes.
pub const MAX_BYTES: usize = 64 << 20;

/// The whole reply to a request; none when it gets no reply.
///
/// Shape: 24 to 256 bytes, or 56 header bytes and any number of records, when more than fit one
/// MAD. Pure: the same request on the same snapshot gets the same bytes. Everything the workers
/// answer is answered by their function, so that no reply depends on the lane.
pub fn respond(snapshot: &Snapshot, request: &Slot) -> Option<Vec<u8>> {
    respond_or(snapshot, request, || punted(snapshot, request))
}

/// [`respond`], where `punted` makes the replies to what the workers give away.
pub fn respond_or(
    // A copy, as the answer is written in place and the request may still be needed as it came.
    snapshot: &Snapshot,
    request: &Slot,
    punted: impl FnOnce() -> Option<Vec<u8>>,
) -> Option<Vec<u8>> {
    let mut slot = *request;
    match answer(snapshot, &mut slot) {
        Outcome::Answered(length) | Outcome::Refused(length, _) => {
            slot.mad.get(..usize::from(length)).map(<[u8]>::to_vec)
        }
        Outcome::Dropped(_) => None,
        Outcome::Punt(_) => punted(),
    }
}

/// The SL in the answer to a Get(PathRecord) by LIDs, asked by the source.
/// Errors: the status of the answer; 0x0300 where there is no record.
pub fn path_sl(snapshot: &Snapshot, from: Lid, to: Lid) -> Result<Sl, u16> {
    /// Status in replies without a record.
    const NO_RECORDS: u16 = 0x0300;
    let reply = respond(snapshot, &request::path_by_lids(from.get(), to.get()));
    match reply.map(|reply| request::parse(&reply)) {
        Some(Ok((0, records))) => records
            .first()
            .map(|record| record.qos_class_sl.sl())
            .ok_or(NO_RECORDS),
        Some(Ok((status, _))) => Err(status),
        Some(Err(_)) | None => Err(NO_RECORDS),
    }
}

/// The reply to a request that a worker gave away, from the snapshot alone.
pub fn punted(snapshot: &Snapshot, request: &Slot) -> Option<Vec<u8>> {
    let mut slot = *request;
    let mad = SaMad::from_bytes_mut(&mut slot.mad);
    // Silence comes before any refusal, as with workers.
    if unanswerable(snapshot, mad).is_some() || !is_request(mad.mad.method) {
        return None;
    }
    if !is_our_version(mad) {
        return Some(refuse(mad, Status::BAD_VERSION));
    }
    // Whoever asks: clients ask for it first, to find out what this SA can do.
    if mad.attribute_id() == AttributeId::CLASS_PORT_INFO {
        return Some(class_port_info(snapshot, mad));
    }
    if asks_for_unknown_sl(snapshot, request) {
        return Some(refuse(mad, Status::NO_RESOURCES));
    }
    if is_multi_path(mad) {
        return multi_path(snapshot, mad, request.header.lid.get());
    }
    // Behind ClassPortInfo, which strangers get too.
    let requester = snapshot.port_by_lid(request.header.lid.get())?;
    if mad.attribute_id() == AttributeId::SERVED_SNAPSHOT {
        return Some(served_snapshot(snapshot, mad));
    }
    let tables = matches!(mad.mad.method, method::GET | method::GET_TABLE);
    if mad.attribute_id() != AttributeId::PATH_RECORD || !tables {
        return Some(refuse(mad, Status::METHOD_ATTRIBUTE_NOT_SUPPORTED));
    }
    let is_get = mad.mad.method == method::GET;
    let records = PathQuery::from_mad(snapshot, mad)
        .map_err(tables::Refusal::from)
        .and_then(|query| tables::path_records(snapshot, &query, requester, is_get));
    Some(match records {
        Ok(records) => tables::reply(mad, &records),
        Err(tables::Refusal::Reject(Reject::NoRecords)) if !is_get => {
            let length = finish_empty_table(mad);
            take(mad, length)
        }
        Err(refusal) => refuse(mad, refusal.status()),
    })
}

/// The reply to a MultiPathRecord request, with however many records that are.
fn multi_path(snapshot: &Snapshot, mad: &mut SaMad, requester_lid: u16) -> Option<Vec<u8>> {
    let query = match MultiPathQuery::from_mad(snapshot, mad) {
        Ok(query) => query,
        Err(reject) => return Some(refuse(mad, reject.status())),
    };
    let requester = snapshot.port_by_lid(requester_lid)?;
    Some(
        match tables::multi_path_records(snapshot, mad, &query, requester) {
            Ok(records) => {
                mad.mad.attribute_id = AttributeId::PATH_RECORD.get().into();
                tables::reply(mad, &records)
            }
            Err(reject) => refuse(mad, reject.status()),
        },
    )
}

/// What a requester gets whose reply does not fit the transport it came by.
pub fn too_long(request: &Slot) -> Vec<u8> {
    let mut slot = *request;
    refuse(SaMad::from_bytes_mut(&mut slot.mad), Status::NO_RESOURCES)
}

/// What a requester gets whose request is given up, where it is to be told.
pub fn busy(request: &Slot) -> Vec<u8> {
    let mut slot = *request;
    refuse(SaMad::from_bytes_mut(&mut slot.mad), Status::BUSY)
}

/// True for a request that gets a reply, and not one that refuses its class version.
pub fn is_answerable(snapshot: &Snapshot, mad: &SaMad) -> bool {
    unanswerable(snapshot, mad).is_none() && is_request(mad.mad.method) && is_our_version(mad)
}

/// True for the one version of MADs and of the class.
fn is_our_version(mad: &SaMad) -> bool {
    (mad.mad.base_version, mad.mad.class_version) == (BASE_VERSION, SA_CLASS_VERSION)
}

/// Reports, traps and what no SA ever gets are not requests of ours: silence.
pub const fn is_request(asked: u8) -> bool {
    matches!(
        asked,
        method::GET
            | method::SET
            | method::GET_TABLE
            | method::GET_TRACE_TABLE
            | method::GET_MULTI
            | method::DELETE
    )
}

/// The SA's capabilities. Source: OpenSM `osm_sa_class_port_info.c`, less what is not served.
fn class_port_info(snapshot: &Snapshot, mad: &mut SaMad) -> Vec<u8> {
    match mad.mad.method {
        method::GET => {}
        method::GET_TABLE | method::GET_MULTI => return refuse(mad, Status::REQ_INVALID),
        _ => return refuse(mad, Status::METHOD_ATTRIBUTE_NOT_SUPPORTED),
    }
    let qos = snapshot.subnet().qos == 1;
    let second = if qos {
        CapabilityMask2::OPENSM_QOS
    } else {
        CapabilityMask2::OPENSM
    };
    let info =
        ClassPortInfo::subnet_administration(CapabilityMask::OPENSM, second, ResponseTime::DEFAULT);
    single(mad, info.as_bytes())
}

/// Which snapshot is served, for those who keep a copy of it or of answers.
fn served_snapshot(snapshot: &Snapshot, mad: &mut SaMad) -> Vec<u8> {
    if mad.mad.method != method::GET {
        return refuse(mad, Status::METHOD_ATTRIBUTE_NOT_SUPPORTED);
    }
    let subnet = snapshot.subnet();
    let served = ServedSnapshot {
        digest: snapshot.public_digest().into(),
        epoch: subnet.epoch.into(),
        built_unix: subnet.built_unix.into(),
    };
    single(mad, served.as_bytes())
}

/// The response to a Get with one attribute, such as ClassPortInfo: no offset, no padding.
fn single(mad: &mut SaMad, attribute: &[u8]) -> Vec<u8> {
    mad.mad.method = response_method(mad.mad.method);
    mad.mad.status = Status::OK.get().into();
    mad.sa.sm_key = 0.into();
    let header = mad.as_bytes().get(..DATA_OFFSET);
    let mut reply = header.unwrap_or_default().to_vec();
    reply.extend_from_slice(attribute);
    reply
}

/// An error reply of one MAD.
fn refuse(mad: &mut SaMad, status: Status) -> Vec<u8> {
    let length = finish_error(mad, status);
    take(mad, length)
}

/// The first bytes of a MAD.
fn take(mad: &SaMad, length: u16) -> Vec<u8> {
    mad.as_bytes()
        .get(..usize::from(length))
        .unwrap_or_default()
        .to_vec()
}

/// Makes the headers those of a success with records of this stride, 0 for data without one.
pub fn succeed(mad: &mut SaMad, stride: u16) {
    mad.mad.method = response_method(mad.mad.method);
    mad.mad.status = Status::OK.get().into();
    mad.sa.sm_key = 0.into();
    mad.sa.attribute_offset = attribute_offset(stride).into();
}

/// [`succeed`] with more records than one MAD holds: the transport segments them, and fills in what
/// RMPP needs beyond the Active flag.
pub fn succeed_with_table(mad: &mut SaMad, stride: u16) {
    succeed(mad, stride);
    mad.rmpp = RmppHeader::data(flag::ACTIVE, 0, 0);
}
