//! MultiPathRecord: paths between every source and every destination of two lists.
//!
//! Each pair is judged as a PathRecord request that names it by GIDs; what differs is how the
//! request is checked and how many paths it gets. The routing engine's SL counts here too, unlike
//! in OpenSM. At most 127 paths come back, in all and not of each pair, sources in the outer loop.
//! NumbPath 2 with two sources and two destinations asks for alternate paths (`apm`). Source:
//! OpenSM `osm_sa_multipath_record.c`.

mod apm;

use core::ops::{ControlFlow, Range};

use sa_snapshot::{NamedPort, PortIx, Snapshot};
use sa_wire::Gid;
use sa_wire::mad::{BASE_VERSION, DecodeError, SA_CLASS_VERSION, method};
use sa_wire::multipath_record::{MAX_GIDS, MultiPathCompMask, MultiPathRecord, MultiPathRequest};
use sa_wire::path_record::{PathCompMask, PathRecord};
use sa_wire::sa::{AttributeId, SaMad};
use zerocopy::IntoBytes;

use crate::outcome::Stop;
use crate::path::{
    Labels, Origin, each_different_path, each_further_path, gid, is_ours, is_sl_unknown,
};
use crate::reply::finish_multi;
use crate::{DropReason, Enough, INLINE_RECORDS, PathQuery, PuntReason, Reject};

/// Paths that a request gets which names no number: the largest number that it could name.
const MOST_PATHS: u8 = 127;
/// NumbPath of a request for alternate paths, if it has as many sources and destinations.
const ALTERNATES: u8 = 2;

/// True for what [`crate::answer`] judges as a MultiPathRecord request. Set and Delete are none.
pub fn is_multi_path(mad: &SaMad) -> bool {
    mad.attribute_id() == AttributeId::MULTI_PATH_RECORD
        && (mad.mad.base_version, mad.mad.class_version) == (BASE_VERSION, SA_CLASS_VERSION)
        && matches!(
            mad.mad.method,
            method::GET | method::GET_TABLE | method::GET_MULTI
        )
}

/// Answers a MultiPathRecord request in place. Returns the MAD bytes of the reply.
///
/// What will not fit one MAD is given to the slow lane before any path is looked for, where the
/// numbers alone tell so.
#[inline(never)]
pub(super) fn answer(
    snapshot: &Snapshot,
    mad: &mut SaMad,
    requester_lid: u16,
) -> Result<u16, Stop> {
    let query = MultiPathQuery::decode(snapshot, mad)?;
    let requester = snapshot
        .port_by_lid(requester_lid)
        .ok_or(Stop::Drop(DropReason::Requester))?;
    if query.likely_many() {
        return Err(Stop::Punt(PuntReason::LongTable));
    }
    let ends = MultiPathEnds::find(snapshot, mad)?;
    if query.wants_unknown_sl(snapshot, &ends) {
        return Err(Stop::Punt(PuntReason::UnknownSl));
    }
    let mut records = [PathRecord::default(); INLINE_RECORDS];
    let mut count = 0;
    let flow = for_each_multi_path(snapshot, &query, requester, &ends, |record| {
        match records.get_mut(count) {
            Some(place) => {
                *place = *record;
                count += 1;
                ControlFlow::Continue(())
            }
            None => ControlFlow::Break(()),
        }
    });
    if flow.is_break() {
        return Err(Stop::Punt(PuntReason::LongTable));
    }
    Ok(finish_multi(mad, records.get(..count).unwrap_or_default()))
}

/// What a MultiPathRecord request asks for, its ends aside.
///
/// It is a PathRecord query that is asked of each pair of ends: what differs is where the ends come
/// from and how many paths there may be in all.
#[derive(Debug, Clone, Copy)]
pub struct MultiPathQuery {
    /// What it asks of each path. Source and destination count as named by GID.
    path: PathQuery,
    /// Paths wanted in all, not of each pair.
    most: u8,
    /// Sources by destinations: how many pairs of ports there are paths for.
    pairs: u16,
    /// NumbPath, which chooses the mode even when the component mask leaves it out.
    numb_path: u8,
}

impl MultiPathQuery {
    /// Decodes. Errors, in this order: `RequestInvalid` without RMPP, `Unsupported` for all but
    /// GetMulti, `InsufficientComponents` without both counts; then as [`PathQuery::from_mad`].
    pub fn from_mad(snapshot: &Snapshot, mad: &SaMad) -> Result<Self, Reject> {
        Self::decode(snapshot, mad).map_err(|stop| match stop {
            Stop::Reject(reject) => reject,
            Stop::Drop(_) | Stop::Punt(_) => Reject::RequestInvalid,
        })
    }

    /// True when there will be more paths than fit one MAD, if there are any between all ends: then
    /// nothing is gained by looking here first.
    fn likely_many(&self) -> bool {
        let wanted = self.pairs.min(u16::from(self.most));
        self.numb_path != ALTERNATES && usize::from(wanted) > INLINE_RECORDS
    }

    /// True where the SL of a path between some of the ends is not known.
    pub(crate) fn wants_unknown_sl(&self, snapshot: &Snapshot, ends: &MultiPathEnds) -> bool {
        let port = |nth| ends.ports.get(nth).copied();
        snapshot.has_unknown_sls()
            && ends.sources().filter_map(port).any(|source| {
                let mut destinations = ends.destinations().filter_map(port);
                destinations.any(|to| is_sl_unknown(snapshot, &self.path, source, to))
            })
    }

    /// As [`Self::from_mad`]; what is refused, dropped or punted is told apart.
    fn decode(snapshot: &Snapshot, mad: &SaMad) -> Result<Self, Stop> {
        // OpenSM looks at RMPP, the method and the counts in this order; a doubly wrong request
        // gets the first.
        if !mad.rmpp.is_active() {
            return Err(Reject::RequestInvalid.into());
        }
        if mad.mad.method != method::GET_MULTI {
            return Err(Reject::Unsupported.into());
        }
        let mask = MultiPathCompMask(mad.sa.component_mask.get());
        if !mask.has_all(MultiPathCompMask::COUNTS) {
            return Err(Reject::InsufficientComponents.into());
        }
        let request = MultiPathRequest::parse(&mad.data).map_err(|_| Reject::RequestInvalid)?;
        let numb_path = request.record.numb_path.numb_path();
        let each = as_path_request(mad, mask, request.record);
        Ok(Self {
            path: PathQuery::decode(snapshot, &each, false)?.with_key(snapshot, mad),
            most: if mask.has(MultiPathCompMask::NUMB_PATH) {
                numb_path
            } else {
                MOST_PATHS
            },
            pairs: u16::from(request.record.sgid_count) * u16::from(request.record.dgid_count),
            numb_path,
        })
    }
}

/// The request for paths between two ports, named by GIDs that are still to be filled in.
fn as_path_request(mad: &SaMad, mask: MultiPathCompMask, record: &MultiPathRecord) -> SaMad {
    let mut each = *mad;
    let named = PathCompMask::SGID | PathCompMask::DGID;
    each.sa.component_mask = (mask.path_components() | named).0.into();
    if let Some(place) = each.data.get_mut(..PathRecord::SIZE) {
        place.copy_from_slice(record.path_components().as_bytes());
    }
    each
}

/// The ports between which paths are wanted, [`MAX_GIDS`] at most; duplicates are kept.
#[derive(Debug, Clone, Copy)]
pub struct MultiPathEnds {
    /// Sources first, then destinations, each in the order of the request.
    ports: [PortIx; MAX_GIDS],
    /// By which GUIDs they were named, wire bytes; none where ports have but their own.
    guids: Option<[[u8; 8]; MAX_GIDS]>,
    sources: usize,
    count: usize,
}

impl MultiPathEnds {
    /// Resolves the GIDs of a request that [`MultiPathQuery::from_mad`] has let pass.
    /// Errors: `InvalidGid` for a GID of nobody, and then `RequestInvalid` for an empty list.
    pub fn find(snapshot: &Snapshot, mad: &SaMad) -> Result<Self, Reject> {
        let mask = MultiPathCompMask(mad.sa.component_mask.get());
        let request = MultiPathRequest::parse(&mad.data).map_err(|_| Reject::RequestInvalid)?;
        let lists = request.gids(mask).map_err(|error| match error {
            // What was not sent would be nobody's.
            DecodeError::GidsCutOff { .. } => Reject::InvalidGid,
            _ => Reject::RequestInvalid,
        })?;
        let (sources, count) = (lists.sgids.len(), lists.sgids.len() + lists.dgids.len());
        let mut found = lists
            .sgids
            .iter()
            .chain(lists.dgids)
            .zip(0..)
            .map(|(gid, nth)| {
                let is_source = nth < sources;
                port(snapshot, Gid(*gid), is_source).ok_or(Reject::InvalidGid)
            });
        let first = found.next().ok_or(Reject::RequestInvalid)??;
        let mut ports = [first; MAX_GIDS];
        for (place, port) in ports.iter_mut().skip(1).zip(found) {
            *place = port?;
        }
        if sources == 0 || sources == count {
            return Err(Reject::RequestInvalid);
        }
        let named = lists.sgids.iter().chain(lists.dgids);
        Ok(Self {
            ports,
            guids: snapshot.has_aliases().then(|| guids(named)),
            sources,
            count,
        })
    }

    /// Places of the sources.
    fn sources(&self) -> Range<usize> {
        0..self.sources
    }

    /// Places of the destinations.
    fn destinations(&self) -> Range<usize> {
        self.sources..self.count
    }

    /// The port at a place, by the GUID that it was named by.
    #[inline(always)]
    fn named(&self, snapshot: &Snapshot, nth: usize) -> Option<NamedPort> {
        let port = *self.ports.get(nth)?;
        match &self.guids {
            None => Some(snapshot.named_by_itself(port)),
            Some(guids) => Some(NamedPort {
                port,
                guid: *guids.get(nth)?,
            }),
        }
    }

    /// Sources and destinations where there are two of each, which is what alternate paths are
    /// found between.
    fn two_by_two(&self, snapshot: &Snapshot) -> Option<[[NamedPort; 2]; 2]> {
        let named = |nth| self.named(snapshot, nth);
        match (self.sources, self.count) {
            (2, 4) => Some([[named(0)?, named(1)?], [named(2)?, named(3)?]]),
            _ => None,
        }
    }
}

/// The GUIDs of GIDs, in their order; zero in places that no GID has.
fn guids<'a>(gids: impl Iterator<Item = &'a [u8; 16]>) -> [[u8; 8]; MAX_GIDS] {
    let mut guids = [[0; 8]; MAX_GIDS];
    for (place, gid) in guids.iter_mut().zip(gids) {
        *place = Gid(*gid).interface_id().to_be_bytes();
    }
    guids
}

/// The port with this GID; none for groups as sources, and for GIDs of other subnets: prefix routes
/// do not count here.
fn port(snapshot: &Snapshot, gid: Gid, is_source: bool) -> Option<PortIx> {
    if !is_ours(snapshot, &gid) || is_source && gid.is_multicast() {
        return None;
    }
    let guid = gid.interface_id();
    snapshot.port_by_guid(guid).or_else(|| snapshot.alias(guid))
}

/// The record by the GUID of the destination that was asked for. Out of line, to leave subnets
/// without aliases undisturbed.
#[inline(never)]
fn towards(
    snapshot: &Snapshot,
    query: &PathQuery,
    (source, destination): (PortIx, NamedPort),
    record: &PathRecord,
) -> PathRecord {
    let named = PathRecord {
        dgid: gid(snapshot, destination.guid),
        ..*record
    };
    if !snapshot.gives_flow_labels() {
        return named;
    }
    Labels::of(snapshot, query, source, destination.port).renamed(snapshot, query, named)
}

/// Gives `sink` every path that the query wants, until it breaks: for each source each
/// destination, both in the order of the request, up to the number wanted in all; or the
/// alternate paths, where two are wanted between two sources and two destinations.
pub fn for_each_multi_path(
    snapshot: &Snapshot,
    query: &MultiPathQuery,
    requester: PortIx,
    ends: &MultiPathEnds,
    mut sink: impl FnMut(&PathRecord) -> ControlFlow<()>,
) -> ControlFlow<()> {
    if query.numb_path == ALTERNATES
        && let Some([sources, destinations]) = ends.two_by_two(snapshot)
    {
        return apm::paths(snapshot, &query.path, sources, destinations)
            .iter()
            .flatten()
            .try_for_each(sink);
    }
    let mut path = query.path;
    let mut left = query.most;
    let named = |nth| ends.named(snapshot, nth);
    for source in ends.sources().filter_map(named) {
        path.record.sgid = gid(snapshot, source.guid);
        path.enough = Enough::After(left);
        let origin = Origin::new::<true>(snapshot, &path, requester, source.port);
        for destination in ends.destinations().filter_map(named) {
            if left == 0 {
                return ControlFlow::Continue(());
            }
            let enough = Enough::After(left);
            let mut each = |record: &PathRecord| {
                left = left.saturating_sub(1);
                let named;
                let record = match ends.guids {
                    None => record,
                    Some(_) => {
                        named = towards(snapshot, &path, (source.port, destination), record);
                        &named
                    }
                };
                // In one place, so that it can be inlined here.
                sink(record)
            };
            let told = origin
                .as_ref()
                .and_then(|origin| origin.record(destination.port));
            if let Some(record) = told {
                each(&record)?;
                continue;
            }
            let path = PathQuery { enough, ..path };
            let pair = (requester, source.port, destination.port);
            each_different_path(snapshot, &path, pair, each)?;
        }
    }
    if left > 0 && snapshot.gives_flow_labels() {
        return each_further(snapshot, query, requester, ends, left, &mut sink);
    }
    ControlFlow::Continue(())
}

/// The paths of each pair again under further flow labels, `left` at most. They come when every
/// pair has had its paths, so that none is left out for another's sake.
#[cold]
#[inline(never)]
fn each_further(
    snapshot: &Snapshot,
    query: &MultiPathQuery,
    requester: PortIx,
    ends: &MultiPathEnds,
    mut left: u8,
    sink: &mut dyn FnMut(&PathRecord) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mut path = query.path;
    let named = |nth| ends.named(snapshot, nth);
    for source in ends.sources().filter_map(named) {
        path.record.sgid = gid(snapshot, source.guid);
        for destination in ends.destinations().filter_map(named) {
            let ports = (requester, source.port, destination.port);
            each_further_path(snapshot, &path, ports, u32::MAX, &mut |record| {
                let Some(less) = left.checked_sub(1) else {
                    return ControlFlow::Continue(());
                };
                left = less;
                let ends = (source.port, destination);
                sink(&towards(snapshot, &path, ends, record))
            })?;
            if left == 0 {
                return ControlFlow::Continue(());
            }
        }
    }
    ControlFlow::Continue(())
}
