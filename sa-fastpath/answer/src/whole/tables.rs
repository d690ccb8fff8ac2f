//! PathRecord queries that name one end or none, or an end that is no port of the subnet, and
//! queries whose answer is longer than a MAD.
//!
//! How many records may come: a Get gets the first that is found, or "too many records" where
//! OpenSM would go on and find a second; a table up to 1,048,576 (64 MiB), else "no resources"; a
//! MultiPathRecord what it asks for, 127 at most.
//!
//! Up to three records fit one MAD and are finished like a worker's reply. More of them are 56
//! header bytes and all records in a row, which the transport cuts into segments.

use core::ops::ControlFlow;

use sa_snapshot::{PortIx, Snapshot};
use sa_wire::mad::{Status, method};
use sa_wire::path_record::PathRecord;
use sa_wire::sa::{DATA_OFFSET, SaMad};
use zerocopy::IntoBytes;

use super::{MAX_BYTES, succeed_with_table};
use crate::{
    Ends, INLINE_RECORDS, MultiPathEnds, MultiPathQuery, PathQuery, Reject, find_ends, finish_get,
    finish_table, for_each_multi_path, for_each_wanted_path, group_path, is_to_group,
    paths_of_pair,
};

/// PathRecords that one reply may hold; a query for more is refused with "no resources".
pub const MAX_RECORDS: usize = MAX_BYTES / size_of::<PathRecord>();

/// The same for records of other lengths. Units of `stride`: bytes.
pub(super) fn most_records(stride: u16) -> usize {
    MAX_BYTES / usize::from(stride.max(1))
}

/// Records that room is made for at first; 127 at most are wanted.
const MULTI_PATHS: usize = 32;

/// Why there are no records to answer with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    Reject(Reject),
    /// More than a reply may hold, by memory: "no resources".
    TooMany,
    /// More than the one that a Get asks for: "too many records".
    SeveralForOne,
}

impl Refusal {
    pub(super) const fn status(self) -> Status {
        match self {
            Self::Reject(reject) => reject.status(),
            Self::TooMany => Status::NO_RESOURCES,
            Self::SeveralForOne => Status::TOO_MANY_RECORDS,
        }
    }
}

impl From<Reject> for Refusal {
    fn from(reject: Reject) -> Self {
        Self::Reject(reject)
    }
}

/// Every record that the query wants; the first only for Get. Errors: see [`Refusal`].
pub(super) fn path_records(
    snapshot: &Snapshot,
    query: &PathQuery,
    requester: PortIx,
    is_get: bool,
) -> Result<Vec<PathRecord>, Refusal> {
    if is_to_group(query) {
        let path = group_path(snapshot, query).ok_or(Reject::NoRecords)?;
        return Ok(vec![path]);
    }
    let ends = find_ends(snapshot, query)?;
    // Before anything is collected: see `Ends::begins_again`.
    if is_get
        && ends.begins_again(snapshot)
        && is_first_pair_joined(snapshot, query, requester, ends)
    {
        return Err(Refusal::SeveralForOne);
    }
    let limit = if is_get { 1 } else { MAX_RECORDS };
    let mut records = Vec::new();
    let flow = for_each_wanted_path(snapshot, query, requester, ends, |record| {
        // One more than may be sent shows that there are too many, without keeping it.
        if records.len() == limit {
            return ControlFlow::Break(());
        }
        records.push(*record);
        if is_get {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    match (records.is_empty(), flow.is_break() && !is_get) {
        (true, _) => Err(Reject::NoRecords.into()),
        (false, true) => Err(Refusal::TooMany),
        (false, false) => Ok(records),
    }
}

/// Whether there is a path where the ports are gone through from the beginning.
fn is_first_pair_joined(
    snapshot: &Snapshot,
    query: &PathQuery,
    requester: PortIx,
    ends: Ends,
) -> bool {
    let mut any = |_: &PathRecord| ControlFlow::Break(());
    paths_of_pair(snapshot, query, requester, ends, 0, &mut any).is_break()
}

/// Every record that the query wants, 127 at most. Errors: those of [`MultiPathEnds::find`].
pub(super) fn multi_path_records(
    snapshot: &Snapshot,
    mad: &SaMad,
    query: &MultiPathQuery,
    requester: PortIx,
) -> Result<Vec<PathRecord>, Reject> {
    let ends = MultiPathEnds::find(snapshot, mad)?;
    let mut records = Vec::with_capacity(MULTI_PATHS);
    let _ = for_each_multi_path(snapshot, query, requester, &ends, |record| {
        records.push(*record);
        ControlFlow::Continue(())
    });
    Ok(records)
}

/// The reply with these records. Shape: one MAD, or 56 header bytes and all records.
pub(super) fn reply(mad: &mut SaMad, records: &[PathRecord]) -> Vec<u8> {
    let length = match records {
        [record] if mad.mad.method == method::GET => finish_get(mad, record),
        records if records.len() <= INLINE_RECORDS => finish_table(mad, records),
        records => return long_reply(mad, records),
    };
    mad.as_bytes()
        .get(..usize::from(length))
        .unwrap_or_default()
        .to_vec()
}

fn long_reply(mad: &mut SaMad, records: &[PathRecord]) -> Vec<u8> {
    succeed_with_table(mad, 64);
    let mut reply = mad
        .as_bytes()
        .get(..DATA_OFFSET)
        .unwrap_or_default()
        .to_vec();
    reply.extend_from_slice(records.as_bytes());
    reply
}
