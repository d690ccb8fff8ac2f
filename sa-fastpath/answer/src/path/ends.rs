//! Which ports a request names, where no alias GUIDs are about.
//!
//! OpenSM's order, which decides between the statuses: the DGID (a group or another subnet is
//! somebody else's business), a source GID of another subnet, then all four look-ups, and
//! contradictions last. So a request with an unknown SLID and a DGID that contradicts its DLID gets
//! "no records".
//!
//! Each look-up is one probe of a hash table (GUID) or one read of an array (LID); nothing is
//! searched.

use sa_snapshot::{PortIx, Snapshot};
use sa_wire::Gid;
use sa_wire::path_record::PathCompMask;

use super::query::PathQuery;
use crate::outcome::Stop;
use crate::{PuntReason, Reject};

/// The ports named; `None` for an end that the request leaves open.
///
/// At most two ports, as a request for one path names at most one at each end. An end left open is
/// no error, but the slow lane's business (`path::open_ends`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ports {
    /// Where paths start; none where the request leaves it open.
    pub(crate) source: Option<PortIx>,
    /// Where paths end; none where the request leaves it open.
    pub(crate) destination: Option<PortIx>,
}

/// Resolves GIDs and LIDs.
///
/// Errors: `NoRecords` for GIDs and LIDs of nobody, `RequestInvalid` when GID and LID of an end
/// belong to different ports; destinations outside the subnet's unicast space are punted.
/// Source: OpenSM `osm_sa_path_record.c` (`osm_pr_get_end_points`).
#[inline(always)]
pub(crate) fn ports(snapshot: &Snapshot, query: &PathQuery) -> Result<Ports, Stop> {
    let (mask, record) = (query.mask, &query.record);
    let dgid = mask.has(PathCompMask::DGID).then(|| record.dgid());
    // Groups and routers are the slow lane's: they are asked for seldom.
    if dgid.is_some_and(|gid| gid.is_multicast() || !is_ours(snapshot, &gid)) {
        return Err(Stop::Punt(PuntReason::OffSubnet));
    }
    let destination = dgid.map(|gid| by_gid(snapshot, gid)).transpose()?;
    let sgid = mask.has(PathCompMask::SGID).then(|| record.sgid());
    // A source must be a port of this subnet: no route leads from elsewhere.
    if sgid.is_some_and(|gid| !is_ours(snapshot, &gid)) {
        return Err(NOT_FOUND);
    }
    let slid = mask.has(PathCompMask::SLID).then(|| record.slid.get());
    let dlid = mask.has(PathCompMask::DLID).then(|| record.dlid.get());
    // All four are looked up before any contradiction is reported: not found comes first.
    let source = sgid.map(|gid| by_gid(snapshot, gid)).transpose()?;
    let by_lid = (by_lid(snapshot, slid)?, by_lid(snapshot, dlid)?);
    Ok(Ports {
        source: one_port(source, by_lid.0)?,
        destination: one_port(destination, by_lid.1)?,
    })
}

/// The DGID, if it is neither a group's nor of this subnet: such a path ends at a router here.
pub(super) fn off_subnet(snapshot: &Snapshot, query: &PathQuery) -> Option<Gid> {
    let dgid = query.record.dgid();
    let is_elsewhere = !dgid.is_multicast() && !is_ours(snapshot, &dgid);
    (query.mask.has(PathCompMask::DGID) && is_elsewhere).then_some(dgid)
}

/// True for GIDs of this subnet, link-local ones included.
#[inline(always)]
pub(crate) fn is_ours(snapshot: &Snapshot, gid: &Gid) -> bool {
    gid.is_link_local() || gid.prefix().0.to_be_bytes() == snapshot.subnet().prefix
}

/// The GID that this GUID has in the subnet: its prefix before it. Shape: wire bytes.
#[inline(always)]
pub(crate) fn gid(snapshot: &Snapshot, interface_id: [u8; 8]) -> [u8; 16] {
    let mut gid = [0; 16];
    let (prefix, guid) = gid.split_at_mut(8);
    prefix.copy_from_slice(&snapshot.subnet().prefix);
    guid.copy_from_slice(&interface_id);
    gid
}

/// Errors: nobody has this GUID.
#[inline(always)]
fn by_gid(snapshot: &Snapshot, gid: Gid) -> Result<PortIx, Stop> {
    snapshot.port_by_guid(gid.interface_id()).ok_or(NOT_FOUND)
}

/// Errors: nobody has this LID.
#[inline(always)]
fn by_lid(snapshot: &Snapshot, lid: Option<u16>) -> Result<Option<PortIx>, Stop> {
    lid.map(|lid| snapshot.port_by_lid(lid).ok_or(NOT_FOUND))
        .transpose()
}

/// Errors: GID and LID are of different ports.
#[inline(always)]
fn one_port(by_gid: Option<PortIx>, by_lid: Option<PortIx>) -> Result<Option<PortIx>, Stop> {
    match (by_gid, by_lid) {
        (Some(a), Some(b)) if a != b => Err(Stop::Reject(Reject::RequestInvalid)),
        (by_gid, by_lid) => Ok(by_gid.or(by_lid)),
    }
}

/// What OpenSM answers for GIDs and LIDs of nobody.
const NOT_FOUND: Stop = Stop::Reject(Reject::NoRecords);
