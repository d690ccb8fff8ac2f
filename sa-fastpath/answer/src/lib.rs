//! From a request MAD to its reply, in place, by following a snapshot.
//!
//! [`answer`] is a pure function: no port, no clock, no globals, no allocation. What it does not
//! do itself it hands to the slow lane ([`Outcome::Punt`]): attributes other than PathRecord and
//! MultiPathRecord, replies over one MAD, multicast and off-subnet destinations, unnamed ends, ends
//! with several GUIDs.

#![deny(unsafe_code)]

pub mod access;
mod aliases;
mod common;
mod ends;
mod group;
mod judge;
mod label;
mod multi;
mod nearly;
mod origin;
mod paths;
mod prefetch;
mod query;
mod record;
mod reject;
mod reply;
pub mod rmpp;
mod select;
pub mod whole;
mod wide;

use core::ops::ControlFlow;

use sa_snapshot::Snapshot;
use sa_wire::mad::{BASE_VERSION, MGMT_CLASS_SA, SA_CLASS_VERSION, method};
use sa_wire::path_record::PathRecord;
use sa_wire::sa::{AttributeId, SaMad};
use sa_wire::umad::Slot;

pub use common::answer_all;
pub use group::{group_path, group_suits, is_to_group, path_to_group};
pub use judge::Parameters;
pub use multi::{MultiPathEnds, MultiPathQuery, for_each_multi_path, is_multi_path};
pub use paths::for_each_path;
pub use query::{Enough, PathQuery};
pub use reject::{DropReason, PuntReason, Reject};
pub use reply::{finish_empty_table, finish_error, finish_get, finish_multi, finish_table};
pub use wide::{End, Ends, find_ends, for_each_wanted_path, paths_of_pair};

/// How many requests are taken together: what a worker takes at once.
pub const TOGETHER: usize = 64;

/// Records of a table that fit one MAD.
pub const INLINE_RECORDS: usize = 3;

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The slot holds a reply with a record, or an empty table. Units: MAD bytes.
    Answered(u16),
    /// The slot holds a reply with an error status. Units: MAD bytes.
    Refused(u16, Reject),
    /// No reply.
    Dropped(DropReason),
    /// The slow lane's; the slot is unchanged.
    Punt(PuntReason),
}

/// Answers the request in `slot`, in place.
///
/// The checks follow the order of OpenSM's (`osm_sa_mad_ctrl.c`, `osm_sa_path_record.c`), because
/// it decides which status a doubly wrong request gets.
#[inline]
pub fn answer(snapshot: &Snapshot, slot: &mut Slot) -> Outcome {
    if snapshot.has_aliases() && aliases::concern(snapshot, slot) {
        return Outcome::Punt(PuntReason::Alias);
    }
    match common(snapshot, slot) {
        Outcome::Punt(PuntReason::Attribute) => multi_path(snapshot, slot),
        Outcome::Dropped(DropReason::Key) => keyed(snapshot, slot),
        outcome => outcome,
    }
}

/// PathRecord with nothing in the place of the key but a key.
#[inline(always)]
fn common(snapshot: &Snapshot, slot: &mut Slot) -> Outcome {
    let requester_lid = slot.header.lid.get();
    let mad = SaMad::from_bytes_mut(&mut slot.mad);
    match suspicious(snapshot, mad) {
        None => {}
        // Where no kernel does RMPP, the slow lane may wait for it.
        Some(DropReason::Rmpp) => return Outcome::Punt(PuntReason::Rmpp),
        Some(DropReason::Response) if mad.mad.method == method::REPORT_RESP => {
            return Outcome::Punt(PuntReason::Report);
        }
        Some(reason) => return Outcome::Dropped(reason),
    }
    let version = (mad.mad.base_version, mad.mad.class_version);
    if mad.attribute_id() != AttributeId::PATH_RECORD || version != (BASE_VERSION, SA_CLASS_VERSION)
    {
        return Outcome::Punt(PuntReason::Attribute);
    }
    let is_get = match mad.mad.method {
        method::GET => true,
        method::GET_TABLE => false,
        _ => return Outcome::Punt(PuntReason::Attribute),
    };
    match path_record::<false>(snapshot, mad, requester_lid, is_get) {
        Ok(length) => Outcome::Answered(length),
        Err(Stop::Reject(Reject::NoRecords)) if !is_get => {
            Outcome::Answered(finish_empty_table(mad))
        }
        Err(stop) => stopped(mad, stop),
    }
}

/// MultiPathRecord, or nothing for the fast path. Out of line and called unlikely, to leave
/// PathRecord undisturbed.
#[cold]
#[inline(never)]
fn multi_path(snapshot: &Snapshot, slot: &mut Slot) -> Outcome {
    let requester_lid = slot.header.lid.get();
    let mad = SaMad::from_bytes_mut(&mut slot.mad);
    if !is_multi_path(mad) {
        return Outcome::Punt(PuntReason::Attribute);
    }
    match multi::answer(snapshot, mad, requester_lid) {
        Ok(length) => Outcome::Answered(length),
        Err(stop) => stopped(mad, stop),
    }
}

/// What carries a strange key, which may be a service id.
#[cold]
#[inline(never)]
fn keyed(snapshot: &Snapshot, slot: &mut Slot) -> Outcome {
    let requester_lid = slot.header.lid.get();
    let mad = SaMad::from_bytes_mut(&mut slot.mad);
    if !has_service_id_for_key(snapshot, mad) {
        return Outcome::Dropped(DropReason::Key);
    }
    if is_multi_path(mad) {
        return multi_path(snapshot, slot);
    }
    let is_get = mad.mad.method == method::GET;
    match path_record::<true>(snapshot, mad, requester_lid, is_get) {
        Ok(length) => Outcome::Answered(length),
        Err(Stop::Reject(Reject::NoRecords)) if !is_get => {
            Outcome::Answered(finish_empty_table(mad))
        }
        Err(stop) => stopped(mad, stop),
    }
}

#[inline(always)]
fn stopped(mad: &mut SaMad, stop: Stop) -> Outcome {
    match stop {
        Stop::Reject(reject) => Outcome::Refused(finish_error(mad, reject.status()), reject),
        Stop::Drop(reason) => Outcome::Dropped(reason),
        Stop::Punt(reason) => Outcome::Punt(reason),
    }
}

/// Why the request is not answered here with a record.
pub(crate) enum Stop {
    Reject(Reject),
    Drop(DropReason),
    Punt(PuntReason),
}

impl From<Reject> for Stop {
    fn from(reject: Reject) -> Self {
        Self::Reject(reject)
    }
}

/// Requests that get no reply whatever they ask, so that nobody can make two SAs talk in circles
/// or guess keys. None for the others.
pub fn unanswerable(snapshot: &Snapshot, mad: &SaMad) -> Option<DropReason> {
    let is_key = |reason: &DropReason| *reason == DropReason::Key;
    suspicious(snapshot, mad)
        .filter(|reason| !is_key(reason) || !has_service_id_for_key(snapshot, mad))
}

/// As [`unanswerable`], but a strange key may be something else.
#[inline(always)]
fn suspicious(snapshot: &Snapshot, mad: &SaMad) -> Option<DropReason> {
    if mad.mad.mgmt_class != MGMT_CLASS_SA {
        return Some(DropReason::Class);
    }
    if mad.mad.method & method::RESPONSE_BIT != 0 {
        return Some(DropReason::Response);
    }
    // An ACK, STOP or ABORT for a table of ours carries the request's method.
    if mad.rmpp.is_active() && rmpp::is_part(mad) {
        return Some(DropReason::Rmpp);
    }
    let key = mad.sa.sm_key.get();
    (key != 0 && key != snapshot.subnet().sa_key).then_some(DropReason::Key)
}

/// True when what stands for a key is none: requests for paths may carry their service id there.
fn has_service_id_for_key(snapshot: &Snapshot, mad: &SaMad) -> bool {
    let version = (mad.mad.base_version, mad.mad.class_version);
    let is_path = version == (BASE_VERSION, SA_CLASS_VERSION)
        && mad.attribute_id() == AttributeId::PATH_RECORD
        && matches!(mad.mad.method, method::GET | method::GET_TABLE);
    (is_path || is_multi_path(mad)) && query::service_id_in_key(snapshot, mad).is_some()
}

/// Returns the MAD bytes of the reply. `KEYED`: the service id may stand for a key.
#[inline(always)]
fn path_record<const KEYED: bool>(
    snapshot: &Snapshot,
    mad: &mut SaMad,
    requester_lid: u16,
    is_get: bool,
) -> Result<u16, Stop> {
    let mut query = PathQuery::decode(snapshot, mad, is_get)?;
    if KEYED {
        query = query.with_key(snapshot, mad);
    }
    let requester = snapshot
        .port_by_lid(requester_lid)
        .ok_or(Stop::Drop(DropReason::Requester))?;
    let ports = ends::ports(snapshot, &query)?;
    let (Some(source), Some(destination)) = (ports.source, ports.destination) else {
        return Err(Stop::Punt(PuntReason::UnnamedEnd));
    };
    if is_get {
        let mut found = None;
        let _ = for_each_path(snapshot, &query, requester, source, destination, |record| {
            found = Some(*record);
            ControlFlow::Break(())
        });
        let record = found.ok_or(Reject::NoRecords)?;
        return Ok(finish_get(mad, &record));
    }
    let mut records = [PathRecord::default(); INLINE_RECORDS];
    let mut count = 0;
    let flow =
        for_each_path(
            snapshot,
            &query,
            requester,
            source,
            destination,
            |record| match records.get_mut(count) {
                Some(place) => {
                    *place = *record;
                    count += 1;
                    ControlFlow::Continue(())
                }
                None => ControlFlow::Break(()),
            },
        );
    if flow.is_break() {
        return Err(Stop::Punt(PuntReason::LongTable));
    }
    Ok(finish_table(mad, records.get(..count).unwrap_or_default()))
}
