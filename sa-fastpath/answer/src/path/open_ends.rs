//! Requests that leave open which ports are meant, or by which of their GUIDs. Work grows with
//! the fabric: slow lane only.
//!
//! How much work a request can ask for: both ends open on a fabric of 41,472 ports are 1.7 billion
//! pairs. So pairs are numbered, and a table is made part by part (`whole::stream`), or ended when
//! it holds too many (`whole::tables`). Nothing here stops by itself but when its sink breaks.
//!
//! The order of pairs is OpenSM's, as a Get takes the first that is found: destinations in the
//! outer loop; with a source named by LID alone, its GUIDs outside.
//!
//! Where ports have one GUID and paths end in the subnet, `each_by_port` takes the shorter way:
//! from one source the levels of all destinations are prepared once (`path::origin`).

use core::ops::ControlFlow;

use sa_snapshot::{NamedPort, PortIx, Snapshot};
use sa_wire::path_record::{FlowWord, PathCompMask, PathRecord};

use super::ends::{gid, is_ours, off_subnet};
use super::label::Labels;
use super::origin::Origin;
use super::pair::{each_uncommon_path, for_each_path};
use super::query::PathQuery;
use crate::Reject;

/// What a request says of an end, as far as it decides how many ports and GUIDs are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Nothing: every port there is, by each of its GUIDs.
    Open,
    /// A LID and no GID: this port, by each of its GUIDs.
    Lid(PortIx),
    /// A GID: this port, by the GUID that was named.
    Named(NamedPort),
}

impl End {
    /// True when no port is meant in particular.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Open)
    }

    /// How many GUIDs it stands for.
    fn count(self, snapshot: &Snapshot) -> u64 {
        match self {
            Self::Open => snapshot.guid_count(),
            Self::Lid(port) => snapshot.guid_count_of(port),
            Self::Named(_) => 1,
        }
    }

    /// The GUID with this number among them.
    fn nth(self, snapshot: &Snapshot, nth: u64) -> Option<NamedPort> {
        match self {
            Self::Open => snapshot.nth_guid(nth),
            Self::Lid(port) => snapshot.nth_guid_of(port, nth),
            Self::Named(port) => Some(port),
        }
    }
}

/// What a request says of both ends; the pairs that it stands for are numbered, so that a table can
/// be made part by part.
///
/// Made by [`find_ends`] and valid for its snapshot only: ports are indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    /// Where paths start, as the request names it.
    pub source: End,
    /// Where paths end, as the request names it.
    pub destination: End,
}

impl Ends {
    /// How many pairs of GUIDs they stand for: the work of a table grows with it, and it may be the
    /// square of the fabric.
    ///
    /// Units: pairs. 64 bits hold the square of all GUIDs that a snapshot may have.
    pub fn pairs(self, snapshot: &Snapshot) -> u64 {
        self.source.count(snapshot) * self.destination.count(snapshot)
    }

    /// The pair with this number: source and destination. Destinations are in the outer loop,
    /// unless the source is named by its LID alone.
    fn pair(self, snapshot: &Snapshot, pair: u64) -> Option<(NamedPort, NamedPort)> {
        let source_outside = matches!(self.source, End::Lid(_));
        let inner = match source_outside {
            true => self.destination.count(snapshot),
            false => self.source.count(snapshot),
        };
        // No GUID at all on the inner side: no pair, and no division by zero.
        let (outer, inner) = (pair.checked_div(inner)?, pair.checked_rem(inner)?);
        let (source, destination) = match source_outside {
            true => (outer, inner),
            false => (inner, outer),
        };
        Some((
            self.source.nth(snapshot, source)?,
            self.destination.nth(snapshot, destination)?,
        ))
    }

    /// True where `holds` does for source and destination of some pair. Cost: all pairs at worst.
    pub(crate) fn any_pair(
        self,
        snapshot: &Snapshot,
        holds: impl Fn(PortIx, PortIx) -> bool,
    ) -> bool {
        (0..self.pairs(snapshot)).any(|pair| {
            let pair = self.pair(snapshot, pair);
            pair.is_some_and(|(source, destination)| holds(source.port, destination.port))
        })
    }

    /// True when OpenSM goes through the ports once for each GUID of one that is named by its LID
    /// alone, though one record is wanted and found: behind the first, once more to the first.
    ///
    /// It then answers "too many records" where a second record would be found; `whole::tables`
    /// repeats that.
    pub fn begins_again(self, snapshot: &Snapshot) -> bool {
        let named = match (self.source, self.destination) {
            (End::Lid(port), End::Open) | (End::Open, End::Lid(port)) => port,
            _ => return false,
        };
        snapshot.guid_count_of(named) > 1
    }
}

/// Resolves GIDs and LIDs, aliases and routers to other subnets included: such a DGID stands for
/// the port of the router.
///
/// Errors: `NoRecords` for GIDs and LIDs of nobody, `RequestInvalid` when GID and LID of an end
/// belong to different ports.
/// Source: OpenSM `osm_sa_path_record.c` (`osm_pr_get_end_points`).
pub fn find_ends(snapshot: &Snapshot, query: &PathQuery) -> Result<Ends, Reject> {
    let (mask, record) = (query.mask, &query.record);
    let sgid = mask.has(PathCompMask::SGID).then(|| record.sgid());
    let dgid = mask.has(PathCompMask::DGID).then(|| record.dgid());
    let by_gid = |gid: sa_wire::Gid| {
        let known = snapshot.named_port(gid.interface_id());
        known.filter(|_| is_ours(snapshot, &gid))
    };
    let by_route = |gid: sa_wire::Gid| {
        // A route without a router in the subnet ends the search, as in OpenSM: no port, no record.
        let router = snapshot.router_to(gid.prefix().0.to_be_bytes())?;
        Some(snapshot.named_by_itself(router))
    };
    let towards = |gid| match off_subnet(snapshot, query) {
        Some(_) => by_route(gid),
        None => by_gid(gid),
    };
    let by_lid = |named: bool, lid: u16| -> Result<Option<PortIx>, Reject> {
        let port = named.then(|| snapshot.port_by_lid(lid).ok_or(Reject::NoRecords));
        port.transpose()
    };
    // All four are looked up before any contradiction is reported: not found comes first.
    let source = sgid.map(|gid| by_gid(gid).ok_or(Reject::NoRecords));
    let destination = dgid.map(|gid| towards(gid).ok_or(Reject::NoRecords));
    let (source, destination) = (source.transpose()?, destination.transpose()?);
    let slid = by_lid(mask.has(PathCompMask::SLID), record.slid.get())?;
    let dlid = by_lid(mask.has(PathCompMask::DLID), record.dlid.get())?;
    Ok(Ends {
        source: end(source, slid)?,
        destination: end(destination, dlid)?,
    })
}

/// Errors: GID and LID name different ports.
fn end(by_gid: Option<NamedPort>, by_lid: Option<PortIx>) -> Result<End, Reject> {
    match (by_gid, by_lid) {
        (Some(named), Some(port)) if named.port != port => Err(Reject::RequestInvalid),
        (Some(named), _) => Ok(End::Named(named)),
        (None, Some(port)) => Ok(End::Lid(port)),
        (None, None) => Ok(End::Open),
    }
}

/// Gives `sink` every path that the query wants, for every pair of GUIDs that the ends stand for
/// in turn, until it breaks.
///
/// Paths to another subnet end at the router; only DGID and hop limit tell.
/// Source: OpenSM `osm_sa_path_record.c` (`osm_pr_rcv_process`).
pub fn for_each_wanted_path(
    snapshot: &Snapshot,
    query: &PathQuery,
    requester: PortIx,
    ends: Ends,
    mut sink: impl FnMut(&PathRecord) -> ControlFlow<()>,
) -> ControlFlow<()> {
    // The short way needs one GUID a port and a DGID that is the port's own.
    if !snapshot.has_aliases() && off_subnet(snapshot, query).is_none() {
        return each_by_port(snapshot, query, requester, ends, sink);
    }
    (0..ends.pairs(snapshot))
        .try_for_each(|pair| paths_of_pair(snapshot, query, requester, ends, pair, &mut sink))
}

/// The same where every port has one GUID and paths end where they are asked for.
fn each_by_port(
    snapshot: &Snapshot,
    query: &PathQuery,
    requester: PortIx,
    ends: Ends,
    mut sink: impl FnMut(&PathRecord) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let port = |end: End| match end {
        End::Open => None,
        End::Lid(port) | End::Named(NamedPort { port, .. }) => Some(port),
    };
    let all = || (0..).map_while(|nth| snapshot.nth_port(nth));
    let Some(source) = port(ends.source) else {
        let mut each = |destination| {
            all().try_for_each(|source| {
                for_each_path(snapshot, query, requester, source, destination, &mut sink)
            })
        };
        return match port(ends.destination) {
            Some(destination) => each(destination),
            None => all().try_for_each(each),
        };
    };
    let origin = Origin::new::<true>(snapshot, query, requester, source);
    let mut each = |destination| {
        if let Some(record) = origin
            .as_ref()
            .and_then(|origin| origin.record(destination))
        {
            return sink(&record);
        }
        let ends = (requester, source, destination);
        each_uncommon_path(snapshot, query, ends, &mut sink)
    };
    match port(ends.destination) {
        Some(destination) => each(destination),
        None => all().try_for_each(each),
    }
}

/// Those of [`for_each_wanted_path`] between one pair of GUIDs, numbered from 0 in its order.
pub fn paths_of_pair(
    snapshot: &Snapshot,
    query: &PathQuery,
    requester: PortIx,
    ends: Ends,
    pair: u64,
    sink: &mut dyn FnMut(&PathRecord) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let Some((source, destination)) = ends.pair(snapshot, pair) else {
        return ControlFlow::Continue(());
    };
    let named = |record: &PathRecord| PathRecord {
        // What was asked for comes back.
        sgid: match query.mask.has(PathCompMask::SGID) {
            true => record.sgid,
            false => gid(snapshot, source.guid),
        },
        dgid: gid(snapshot, destination.guid),
        ..*record
    };
    let off_subnet = off_subnet(snapshot, query);
    let (from, to) = (source.port, destination.port);
    let labels = Labels::of(snapshot, query, from, to);
    for_each_path(
        snapshot,
        query,
        requester,
        from,
        to,
        |record| match off_subnet {
            None => sink(&labels.renamed(snapshot, query, named(record))),
            Some(dgid) => {
                let mut record = named(record);
                record.dgid = dgid.0;
                let record = labels.renamed(snapshot, query, record);
                sink(&PathRecord {
                    flow: FlowWord::new(record.flow.flow_label(), u8::MAX),
                    ..record
                })
            }
        },
    )
}
