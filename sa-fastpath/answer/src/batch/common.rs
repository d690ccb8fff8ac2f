//! Which requests are common, and between which ports they ask: the first step.
//!
//! A request counts as common if all of this holds, tested with a handful of comparisons and no
//! table:
//!
//! * Get of PathRecord in the one version, no RMPP, no key;
//! * nothing wished: no raw traffic, SL, MTU, rate or packet life time;
//! * each end named by GID or by LID, not by both;
//! * a service id whole or not at all, as half of one is refused or belongs to the legacy dialect;
//! * no flow label asked for, where the policy gives some.
//!
//! The ends must be known and of this subnet's own prefix; link-local GIDs, groups and routers go
//! the general way. P_Key, QoS class, traffic class and service id may be named: levels and
//! partitions take them in.

use sa_snapshot::{PathClassIx, Snapshot};
use sa_wire::mad::{BASE_VERSION, MGMT_CLASS_SA, SA_CLASS_VERSION, method};
use sa_wire::path_record::{PathCompMask, PathRecord};
use sa_wire::rmpp::flag;
use sa_wire::sa::{AttributeId, SaMad};
use sa_wire::umad::Slot;
use zerocopy::FromBytes;

use super::LABELLED;
use crate::path::WISHES;
use crate::path::terms::{RequestPorts, both_ways, lids};

/// First four bytes of a Get of the Subnet Administration.
pub(super) const GET: [u8; 4] = [BASE_VERSION, MGMT_CLASS_SA, SA_CLASS_VERSION, method::GET];

/// The ports that a common request is about; none for others.
#[inline(always)]
pub(super) fn ends<'a, const POLICY: u8>(
    snapshot: &'a Snapshot,
    slot: &Slot,
) -> Option<RequestPorts<'a>> {
    let mad = SaMad::from_bytes(&slot.mad);
    let mask = PathCompMask(mad.sa.component_mask.get());
    // Cheapest first, and joined by `&&` for the compiler to fold: nearly every request passes all.
    let is_common = slot.mad.first_chunk() == Some(&GET)
        && mad.attribute_id() == AttributeId::PATH_RECORD
        && mad.rmpp.flags() & flag::ACTIVE == 0
        && mad.sa.sm_key.get() == 0
        && !mask.has(WISHES)
        && (POLICY != LABELLED || !mask.has(PathCompMask::FLOW_LABEL))
        && has_whole_service_id(mask);
    if !is_common {
        return None;
    }
    let (record, _) = PathRecord::ref_from_prefix(&mad.data).ok()?;
    let source = match (mask.has(PathCompMask::SGID), mask.has(PathCompMask::SLID)) {
        (true, false) => snapshot.record_by_own_gid(&record.sgid)?,
        (false, true) => snapshot.record_by_lid(record.slid.get())?,
        _ => return None,
    };
    let destination = match (mask.has(PathCompMask::DGID), mask.has(PathCompMask::DLID)) {
        (true, false) => snapshot.record_by_own_gid(&record.dgid)?,
        (false, true) => snapshot.record_by_lid(record.dlid.get())?,
        _ => return None,
    };
    // Most ask for themselves. That spares the look-up of the requester, a cache miss of its own.
    let lid = slot.header.lid.get();
    let requester = match lid == source.lid {
        true => source,
        false => snapshot.record_by_lid(lid)?,
    };
    Some(RequestPorts {
        requester: Some(requester),
        source,
        destination,
        classes: [PathClassIx::NONE; 2],
    })
}

/// True for requests that name both halves of a service id, or none.
#[inline(always)]
pub(super) const fn has_whole_service_id(mask: PathCompMask) -> bool {
    let halves = mask.0 & PathCompMask::SERVICE_ID.0;
    halves == 0 || halves == PathCompMask::SERVICE_ID.0
}

/// Classes of the path that is tried first, between the LIDs that are named, else each port's
/// first, and of its way back.
#[inline(always)]
pub(super) fn classes(
    snapshot: &Snapshot,
    slot: &Slot,
    ends: &RequestPorts<'_>,
) -> [PathClassIx; 2] {
    let mad = SaMad::from_bytes(&slot.mad);
    let mask = PathCompMask(mad.sa.component_mask.get());
    let (from, to) = (ends.source, ends.destination);
    let Ok((record, _)) = PathRecord::ref_from_prefix(&mad.data) else {
        return ends.classes;
    };
    let (slid, dlid) = lids((mask, record), from, to);
    both_ways(snapshot, (from, slid), (to, dlid))
}
