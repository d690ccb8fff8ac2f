//! The paths between ports, LID by LID.
//!
//! A pair of ports has as many paths as pairs of LIDs: up to 128 x 128. A Get needs the first that
//! is granted, a table as many as it asks for; so paths are made one by one and handed to a sink,
//! which ends the search.

use core::ops::ControlFlow;

use sa_snapshot::{PortIx, Snapshot};
use sa_wire::path_record::{PathCompMask, PathRecord};

use super::judge::judge;
use super::label::Labels;
use super::origin::Origin;
use super::query::{Direction, Enough, PathQuery};
use super::record::{OfPair, build};

/// Preference of paths whose LIDs have the same place in both ranges.
pub(crate) const PREFERRED: u8 = 0;
/// Preference of all paths but the first of each pair of LIDs. OpenSM uses 0 and 2, never 1.
const OTHERS: u8 = 2;

/// Gives `sink` every path that the query wants from `source` to `destination`, best first, until
/// it breaks.
///
/// Order: equal offsets into both LID ranges, then for each source LID the other destination
/// LIDs; those that the level's path bits leave out are passed over; then, where the rule spreads
/// flow labels, all of them again under further labels. Source: OpenSM
/// `osm_sa_path_record.c` (`pr_rcv_get_port_pair_paths`).
#[inline(always)]
pub fn for_each_path(
    snapshot: &Snapshot,
    query: &PathQuery,
    requester: PortIx,
    source: PortIx,
    destination: PortIx,
    mut sink: impl FnMut(&PathRecord) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let ends = (requester, source, destination);
    let origin = Origin::new::<false>(snapshot, query, requester, source);
    if let Some(record) = origin.and_then(|origin| origin.record(destination)) {
        return sink(&record);
    }
    each_uncommon_path(snapshot, query, ends, sink)
}

/// As [`for_each_path`], for a pair that [`Origin`] tells nothing about.
#[inline(always)]
pub(crate) fn each_uncommon_path(
    snapshot: &Snapshot,
    query: &PathQuery,
    ends: (PortIx, PortIx, PortIx),
    mut sink: impl FnMut(&PathRecord) -> ControlFlow<()>,
) -> ControlFlow<()> {
    if snapshot.is_plain() {
        each_path::<false>(snapshot, query, ends, sink)
    } else {
        each_rfc_path(snapshot, query, ends, &mut sink)?;
        let limit = match query.enough {
            Enough::After(count) => u32::from(count),
            Enough::Never => u32::MAX,
        };
        each_further_path(snapshot, query, ends, limit, &mut sink)
    }
}

/// As [`each_uncommon_path`], but without the paths that only have further flow labels.
#[inline(always)]
pub(crate) fn each_different_path(
    snapshot: &Snapshot,
    query: &PathQuery,
    ends: (PortIx, PortIx, PortIx),
    mut sink: impl FnMut(&PathRecord) -> ControlFlow<()>,
) -> ControlFlow<()> {
    if snapshot.is_plain() {
        each_path::<false>(snapshot, query, ends, sink)
    } else {
        each_rfc_path(snapshot, query, ends, &mut sink)
    }
}

/// The paths of [`each_different_path`] again under further flow labels, in the same order and
/// round, until the pair has as many records as its labels, `limit` at most.
#[cold]
#[inline(never)]
pub(crate) fn each_further_path(
    snapshot: &Snapshot,
    query: &PathQuery,
    (requester, source, destination): (PortIx, PortIx, PortIx),
    limit: u32,
    sink: &mut dyn FnMut(&PathRecord) -> ControlFlow<()>,
) -> ControlFlow<()> {
    if limit < 2 || !snapshot.gives_flow_labels() {
        return ControlFlow::Continue(());
    }
    let pair = Pair::new(snapshot, query, source, destination).labelled();
    let wanted = pair.labels.records(query).min(limit);
    if wanted < 2 || !all_visible(snapshot, requester, source, destination) {
        return ControlFlow::Continue(());
    }
    let mut nth = 0;
    let mut round = |sink: &mut dyn FnMut(&PathRecord) -> ControlFlow<()>| {
        pair.each_lid_pair(&mut |source_lid, destination_lid, preference| {
            if nth < wanted
                && let Some(record) =
                    pair.path::<true>(source_lid, destination_lid, preference, nth)
            {
                nth += 1;
                sink(&record)?;
            }
            ControlFlow::Continue(())
        })?;
        ControlFlow::Continue(nth)
    };
    // Those of the first round were given before.
    let mut found = round(&mut |_| ControlFlow::Continue(()));
    while let ControlFlow::Continue(1..) = found {
        let before = found;
        found = round(sink);
        if found == before {
            return ControlFlow::Continue(());
        }
    }
    match found {
        ControlFlow::Break(()) => ControlFlow::Break(()),
        ControlFlow::Continue(_) => ControlFlow::Continue(()),
    }
}

/// As [`each_path`], for policies that say what OpenSM's dialect cannot.
#[cold]
#[inline(never)]
fn each_rfc_path(
    snapshot: &Snapshot,
    query: &PathQuery,
    ends: (PortIx, PortIx, PortIx),
    sink: &mut dyn FnMut(&PathRecord) -> ControlFlow<()>,
) -> ControlFlow<()> {
    each_path::<true>(snapshot, query, ends, sink)
}

/// All paths of the pair, as many as are wanted. `RFC`: also what OpenSM's dialect of policies
/// cannot say counts; see [`judge`]. It is known when a snapshot is loaded, so that the usual case
/// is compiled without the rest.
#[inline(always)]
fn each_path<const RFC: bool>(
    snapshot: &Snapshot,
    query: &PathQuery,
    (requester, source, destination): (PortIx, PortIx, PortIx),
    mut sink: impl FnMut(&PathRecord) -> ControlFlow<()>,
) -> ControlFlow<()> {
    if !all_visible(snapshot, requester, source, destination) {
        return ControlFlow::Continue(());
    }
    let mut pair = Pair::new(snapshot, query, source, destination);
    if RFC {
        pair = pair.labelled();
    }
    let mut nth = 0;
    let mut left = match query.enough {
        Enough::After(count) => u32::from(count),
        Enough::Never => u32::MAX,
    };
    let mut emit = |source_lid, destination_lid, preference| {
        let found = pair.path::<RFC>(source_lid, destination_lid, preference, nth);
        if let Some(record) = found {
            sink(&record)?;
            if RFC {
                nth += 1;
            }
            left -= 1;
            if left == 0 {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    };
    if query.enough == Enough::After(0) {
        return ControlFlow::Continue(());
    }
    // A break of `emit` because enough were found is no break of the sink's.
    match pair.each_lid_pair(&mut emit) {
        ControlFlow::Break(()) if left > 0 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    }
}

/// True when requester, source and destination may know of each other.
#[inline(always)]
fn all_visible(
    snapshot: &Snapshot,
    requester: PortIx,
    source: PortIx,
    destination: PortIx,
) -> bool {
    snapshot.share_partition(requester, source)
        && snapshot.share_partition(requester, destination)
        && snapshot.share_partition(source, destination)
}

/// A pair of ports with the LIDs that count, and what is the same for all paths between them.
#[derive(Clone)]
pub(crate) struct Pair<'a> {
    snapshot: &'a Snapshot,
    query: &'a PathQuery,
    source: PortIx,
    destination: PortIx,
    labels: Labels,
    /// First and last LID of the source that count.
    pub(crate) source_lids: (u16, u16),
    /// First and last LID of the destination that count.
    pub(crate) destination_lids: (u16, u16),
}

impl<'a> Pair<'a> {
    /// The pair with the LIDs that the request leaves: one where it names one, else all that the
    /// port has. Without flow labels; see [`Self::labelled`].
    #[inline(always)]
    pub(crate) fn new(
        snapshot: &'a Snapshot,
        query: &'a PathQuery,
        source: PortIx,
        destination: PortIx,
    ) -> Self {
        let lids = |port: PortIx, named: bool, lid: u16| {
            let port = snapshot.port(port);
            if named {
                (lid, lid)
            } else {
                (port.lid, port.lid + (port.lid_count() - 1))
            }
        };
        let (mask, record) = (query.mask, &query.record);
        Self {
            snapshot,
            query,
            source,
            destination,
            labels: Labels::None,
            source_lids: lids(source, mask.has(PathCompMask::SLID), record.slid.get()),
            destination_lids: lids(destination, mask.has(PathCompMask::DLID), record.dlid.get()),
        }
    }

    /// The pair with the flow labels that the policy gives it; without this call its records carry
    /// none.
    pub(crate) fn labelled(self) -> Self {
        let labels = Labels::of(self.snapshot, self.query, self.source, self.destination);
        Self { labels, ..self }
    }

    /// Calls `emit` for each pair of LIDs, best first: equal offsets, then all others. Breaks when
    /// it does. Shape: source LID, destination LID, preference as PathRecord has it.
    #[inline(always)]
    fn each_lid_pair(
        &self,
        emit: &mut impl FnMut(u16, u16, u8) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let (sources, destinations) = (self.source_lids, self.destination_lids);
        // OpenSM's order: equal offsets first, and with the better preference.
        let steps = (sources.1 - sources.0).min(destinations.1 - destinations.0);
        for step in 0..=steps {
            emit(sources.0 + step, destinations.0 + step, PREFERRED)?;
        }
        for source_lid in sources.0..=sources.1 {
            for destination_lid in destinations.0..=destinations.1 {
                if source_lid - sources.0 != destination_lid - destinations.0 {
                    emit(source_lid, destination_lid, OTHERS)?;
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// The path between two LIDs, as the pair's `nth` from 0. None: it is not granted, or only in
    /// this direction while the request wants it reversible.
    #[inline(always)]
    pub(crate) fn path<const RFC: bool>(
        &self,
        source_lid: u16,
        destination_lid: u16,
        preference: u8,
        nth: u32,
    ) -> Option<PathRecord> {
        let parameters = judge::<RFC>(
            self.snapshot,
            self.query,
            Direction::There,
            self.source,
            self.destination,
            destination_lid,
        )?;
        let reversible = self.is_reversible::<RFC>(source_lid);
        if !reversible && self.query.wants_reversible() {
            return None;
        }
        let of_pair = OfPair {
            preference,
            labels: self.labels,
            nth,
        };
        let ends = (self.source, self.destination);
        let lids = (source_lid, destination_lid);
        Some(build::<RFC>(
            self.snapshot,
            self.query,
            ends,
            lids,
            &parameters,
            reversible,
            of_pair,
        ))
    }

    /// True when the way back would be granted to the same request with its ends exchanged. It is
    /// a path to the source LID, which the path bits of its own level must allow.
    #[inline(always)]
    fn is_reversible<const RFC: bool>(&self, source_lid: u16) -> bool {
        if self.snapshot.reverse_policy_may_differ() || self.query.sets_conditions() {
            return self.judge_reverse::<RFC>(source_lid);
        }
        !self.snapshot.reverse_path_may_differ()
            || self
                .snapshot
                .path(self.destination, self.source, source_lid)
                .is_some()
    }

    /// As [`Self::is_reversible`], by judging the way back. Out of line: most subnets need no
    /// second judgement.
    #[inline(never)]
    fn judge_reverse<const RFC: bool>(&self, source_lid: u16) -> bool {
        judge::<RFC>(
            self.snapshot,
            self.query,
            Direction::Back,
            self.destination,
            self.source,
            source_lid,
        )
        .is_some()
    }
}
