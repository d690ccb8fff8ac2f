//! One request, in place: all rules in OpenSM's order, without what a batch of requests shares.
//! What a batch does not answer itself comes here too.
//!
//! The order of checks, which decides the status of a request with two faults:
//!
//! 1. class, response, part of a transfer, strange key (`unanswerable`): silence, or the slow lane
//!    for parts of transfers and responses to Reports;
//! 2. not a PathRecord of this version: MultiPathRecord, else the slow lane;
//! 3. codes of MTU and rate that mean nothing, half a service id (`PathQuery::decode`);
//! 4. unknown requester: silence;
//! 5. ends that nobody has, then ends that contradict each other (`path::ends`);
//! 6. the paths themselves, each judged in the order of `pr_rcv_get_path_parms` (`path::judge`).
//!
//! Property tests hold this against the written reference (`sm-control/compiler/src/reference`).

use core::ops::ControlFlow;

use sa_snapshot::Snapshot;
use sa_wire::mad::{BASE_VERSION, SA_CLASS_VERSION, method};
use sa_wire::path_record::PathRecord;
use sa_wire::sa::{AttributeId, SaMad};
use sa_wire::umad::Slot;

use crate::multi::is_multi_path;
use crate::outcome::Stop;
use crate::path::{is_sl_unknown, ports};
use crate::unanswerable::{has_service_id_for_key, suspicious};
use crate::{
    DropReason, INLINE_RECORDS, Outcome, PathQuery, PuntReason, Reject, aliases,
    finish_empty_table, finish_error, finish_get, finish_table, for_each_path, multi,
};

/// Answers the request in `slot`, in place.
///
/// The checks follow the order of OpenSM's (`osm_sa_mad_ctrl.c`, `osm_sa_path_record.c`), because
/// it decides which status a doubly wrong request gets.
#[inline]
pub fn answer(snapshot: &Snapshot, slot: &mut Slot) -> Outcome {
    // First, as an alias decides which records there are; the slow lane makes the same checks
    // again.
    if snapshot.has_aliases() && aliases::concern(snapshot, slot) {
        return Outcome::Punt(PuntReason::Alias);
    }
    match common(snapshot, slot) {
        Outcome::Punt(PuntReason::Attribute) => multi_path(snapshot, slot),
        Outcome::Dropped(DropReason::Key) => keyed(snapshot, slot),
        outcome => outcome,
    }
}

/// PathRecord with nothing in the place of the key but a key. What it is not about is passed on as
/// [`PuntReason::Attribute`].
///
/// Also the way that a batch takes for what it cannot finish. Inlined into [`answer`], so that a
/// PathRecord goes without a call to its judgement.
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
    // Another class version is refused by the slow lane, with its own status.
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
        // An empty table is a success. A Get without a record is an error.
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

/// What carries a strange key, which may be a service id: requests for paths may have theirs there.
///
/// Reached only where a request was about to be dropped for its key, so that requests without one,
/// which is nearly all, never ask whether the policy takes service ids there.
/// Dropped where it is neither.
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

/// Turns what stopped a request into its outcome, and writes the error reply where there is one.
#[inline(always)]
fn stopped(mad: &mut SaMad, stop: Stop) -> Outcome {
    match stop {
        Stop::Reject(reject) => Outcome::Refused(finish_error(mad, reject.status()), reject),
        Stop::Drop(reason) => Outcome::Dropped(reason),
        Stop::Punt(reason) => Outcome::Punt(reason),
    }
}

/// Answers a PathRecord. Returns the MAD bytes of the reply. `KEYED`: the service id may stand for
/// a key. Errors: what stopped it.
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
    // After decoding, as in OpenSM: a malformed request of a stranger gets its error.
    let requester = snapshot
        .port_by_lid(requester_lid)
        .ok_or(Stop::Drop(DropReason::Requester))?;
    let ports = ports(snapshot, &query)?;
    let (Some(source), Some(destination)) = (ports.source, ports.destination) else {
        return Err(Stop::Punt(PuntReason::UnnamedEnd));
    };
    if is_sl_unknown(snapshot, &query, source, destination) {
        return Err(Stop::Punt(PuntReason::UnknownSl));
    }
    if is_get {
        // The record is copied out of the callback: the request, which it is made from, lies where
        // the reply goes.
        let mut found = None;
        let _ = for_each_path(snapshot, &query, requester, source, destination, |record| {
            found = Some(*record);
            ControlFlow::Break(())
        });
        let record = found.ok_or(Reject::NoRecords)?;
        return Ok(finish_get(mad, &record));
    }
    // One more than fits is asked for and not written: it shows that the table is too long. What
    // was found so far is given up.
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
