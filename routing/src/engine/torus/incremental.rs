//! Forwarding tables after a change, from those before it. Equal to a full run.
//!
//! A switch's table depends on its ways along its three rings, on its groups of ports, and on the
//! destinations. Ways change only for the switches on the rings through what failed or came back.
//! Where destinations are as before, all other tables stay where they lie in memory; else they are
//! copied, and in them only LIDs that came, went or moved are looked at.
//!
//! Parallel cables are the exception: they take turns over all destinations of a switch, so that one LID more
//! shifts every entry behind it. Switches that have some are always done anew.
//!
//! # What one failed cable of a 16x16x16 torus costs
//!
//! Ways change for the 16 switches on its ring. Their tables of 8,192 bytes are made anew, 4,080
//! stay where they are. To find the 16, the ways of all switches are compared, before and after.
//!
//! # The three outcomes
//!
//! | LIDs and switches | switches with other ways | tables |
//! |---|---|---|
//! | as before | at most a quarter | in the memory before, but for those switches |
//! | as before | more | copied, those switches anew |
//! | some came, went or moved | any | copied and corrected LID by LID |
//!
//! A host that comes back with other LIDs is the third row. `routing/tests/routing/incremental.rs`
//! holds all of it against full runs, over random failures and repairs.

use super::config::TorusConfig;
use super::lft::{self, Destination};
use super::next_hop::Ways;
use crate::engine::Before;
use crate::kind::EngineKind;
use crate::parallel;
use crate::placement::{PlacedSwitch, PoolIx, Torus};
use crate::tables::{Lft, NO_PATH, Routes};
use crate::topology::{SwitchIx, Topology, count32};
use crate::watch::Stretch;
use sa_wire::Guid;
use std::collections::HashMap;

/// Tables of all switches, as [`lft::build_partly`] gives them.
/// Routes of another engine or shape are no use; then everything is made anew.
pub(super) fn build(
    topology: &Topology,
    torus: &Torus,
    config: &TorusConfig,
    before: Before<'_>,
    share: Stretch<'_>,
) -> (Lft, Vec<(SwitchIx, PoolIx)>) {
    let Some(old) = Old::new(before, torus) else {
        return lft::build_partly(topology, torus, config, share);
    };
    let destinations = lft::destinations(topology, torus, config);
    let maker = Maker {
        topology,
        torus,
        moved: Moved::new(topology, torus, &destinations, &old),
        destinations,
        old,
    };
    let shared = maker
        .is_still()
        .then(|| maker.share(share.cut(0..20)))
        .flatten();
    shared.unwrap_or_else(|| maker.copy(share.cut(20..100)))
}

/// Makes the tables that have to be made anew.
/// Everything that threads need, read only.
struct Maker<'a> {
    topology: &'a Topology,
    torus: &'a Torus,
    destinations: Vec<Destination>,
    /// Worked out once, applied to every table that is copied.
    moved: Moved,
    old: Old<'a>,
}

impl Maker<'_> {
    /// True when switches have the numbers that they had, and LIDs are where they were.
    /// By GUID in the order of indices: a switch that came or went moves all indices behind it.
    fn is_still(&self) -> bool {
        let (was, is) = (self.old.topology, self.topology);
        let guids = |topology: &'_ Topology| {
            let switches = topology.switches.iter();
            switches.map(|switch| switch.guid).collect::<Vec<_>>()
        };
        self.moved.is_nothing() && was.max_lid() == is.max_lid() && guids(was) == guids(is)
    }

    /// The tables before, in the same memory, but for some switches. None where so many have others
    /// by now that this saves nothing.
    /// Errors are kept: a pair without a way in an old table would have been refused then.
    fn share(&self, share: Stretch<'_>) -> Option<(Lft, Vec<(SwitchIx, PoolIx)>)> {
        let before = self.old.routes.lfts();
        let done = share.count(before.switches());
        let parts = parallel::over_range(before.switches(), before.size(), |range| {
            let switches = range.map(|index| SwitchIx(count32(index)));
            let others = switches.filter(|switch| {
                done.add(1);
                !self.keeps(*switch)
            });
            others.collect::<Vec<_>>()
        });
        // Tables are only listed here; they are filled below, and not at all where there are too many.
        let others = parts.concat();
        let mut lost = Vec::new();
        let tables = others.iter().map(|switch| {
            let mut table = vec![NO_PATH; before.stride()];
            self.fill(*switch, &mut table, &mut lost);
            (*switch, table)
        });
        // The iterator has filled nothing yet: too many switches cost the comparison only.
        if others.len() > before.switches() / MOST_OTHERS {
            return None;
        }
        let after = before.with(tables);
        (after.others() <= after.switches() / MOST_OTHERS).then_some((after, lost))
    }

    /// True when a switch has the table that it had.
    /// Outside the torus, before and now, means an empty table both times.
    fn keeps(&self, switch: SwitchIx) -> bool {
        match self.placed(switch) {
            Some((placed, own)) => {
                let ways = Ways::from(self.torus, own);
                self.old.same(self.topology, placed, &ways).is_some()
            }
            None => self.old.torus.placed(switch).is_none(),
        }
    }

    /// Fills the table of a switch, which has no entries yet.
    fn fill(&self, switch: SwitchIx, row: &mut [u8], lost: &mut Vec<(SwitchIx, PoolIx)>) {
        if let Some((placed, own)) = self.placed(switch) {
            let ways = Ways::from(self.torus, own);
            lft::fill(self.torus, placed, &ways, &self.destinations, row, lost);
        }
    }

    /// A switch with its place; none outside the torus.
    fn placed(&self, switch: SwitchIx) -> Option<(&PlacedSwitch, PoolIx)> {
        let placed = self.torus.placed(switch)?;
        Some((placed, self.torus.pool_at(placed.at)?))
    }

    /// All tables in memory of their own.
    /// Rows that stay are copied from the old table, not from the row beside it: indices may
    /// differ.
    fn copy(&self, share: Stretch<'_>) -> (Lft, Vec<(SwitchIx, PoolIx)>) {
        let max_lid = self.topology.max_lid();
        let done = share.count(self.topology.switches.len());
        let stride = usize::from(max_lid) + 1;
        let (lft, lost) = Lft::filled(self.topology, max_lid, |first, rows| {
            let mut lost = Vec::new();
            for (index, row) in (first..).zip(rows.chunks_mut(stride)) {
                let switch = SwitchIx(count32(index));
                let placed = self.placed(switch);
                let ways = placed.map(|(_, own)| Ways::from(self.torus, own));
                let old_row = placed.zip(ways.as_ref()).and_then(|((placed, own), ways)| {
                    let row = self.old.same(self.topology, placed, ways)?;
                    Some((placed, own, ways, row))
                });
                if let Some((placed, own, ways, old_row)) = old_row {
                    let common = old_row.len().min(stride);
                    row[..common].copy_from_slice(&old_row[..common]);
                    // LIDs above the old largest one; those in use are among `moved`.
                    row[common..].fill(NO_PATH);
                    self.moved
                        .correct(self.torus, placed, own, ways, row, &mut lost);
                } else {
                    row.fill(NO_PATH);
                    self.fill(switch, row, &mut lost);
                }
                done.add(1);
            }
            lost
        });
        (lft, lost.into_iter().flatten().collect())
    }
}

/// Not more than one of so many tables lies beside those of the others.
/// Beyond that a block of its own is made, which later changes can share again.
const MOST_OTHERS: usize = 4;

/// The torus before, and its tables.
struct Old<'a> {
    topology: &'a Topology,
    routes: &'a Routes,
    torus: &'a Torus,
    /// The one thing that names a switch in both fabrics.
    by_guid: HashMap<Guid, SwitchIx>,
}

impl<'a> Old<'a> {
    /// None when the tables are of no use: another engine's or another torus.
    fn new(before: Before<'a>, torus: &Torus) -> Option<Self> {
        let Before { topology, routes } = before;
        let old = routes.torus()?;
        // Without a tree they are not what the engine made, but what was left of it.
        // What is left of routes (`tables::survivors`) has gaps that no change explains.
        let is_whole =
            routes.engine() == EngineKind::Torus2Qos && routes.multicast_tree().is_some();
        let switches = topology.switch_ixs();
        (is_whole && old.shape() == torus.shape()).then(|| Self {
            topology,
            routes,
            torus: old,
            by_guid: switches.map(|ix| (topology.switch(ix).guid, ix)).collect(),
        })
    }

    /// The table that a switch had, if nothing that it depends on changed but destinations.
    /// Compared are its place, its groups but the local one, and its ways.
    fn same(&self, topology: &Topology, placed: &PlacedSwitch, ways: &Ways) -> Option<&'a [u8]> {
        let ix = *self.by_guid.get(&topology.switch(placed.switch).guid)?;
        let was = self.torus.placed(ix)?;
        // Parallel cables take turns over all destinations.
        let is_single = placed.groups[..6].iter().all(|group| group.len() <= 1);
        // Local ports are left out: hosts are destinations, and those are corrected by LID.
        let is_same = is_single && was.at == placed.at && was.groups[..6] == placed.groups[..6];
        let own = self.torus.pool_at(was.at)?;
        (is_same && *ways == Ways::from(self.torus, own)).then(|| self.routes.lft(ix))
    }
}

/// Where a LID is: at a place of the torus, behind a port; none outside.
/// By coordinate and not by switch: a switch replaced in its place leaves others' tables as they
/// are.
type Where = Option<([u8; 3], u8)>;

/// LIDs that are not where they were.
struct Moved {
    /// LIDs that lead nowhere now.
    /// Their entries become "no path" in every table that is copied.
    gone: Vec<usize>,
    /// Destination, first LID, number of LIDs, port: those that are new or elsewhere.
    new: Vec<(PoolIx, usize, usize, u8)>,
}

impl Moved {
    fn new(
        topology: &Topology,
        torus: &Torus,
        destinations: &[Destination],
        old: &Old<'_>,
    ) -> Self {
        let was = places(old.topology, old.torus);
        let is = places(topology, torus);
        let at = |places: &[Where], lid: usize| places.get(lid).copied().flatten();
        let all = 0..was.len().max(is.len());
        let gone = all.filter(|lid| at(&was, *lid).is_some() && at(&is, *lid).is_none());
        let gone = gone.collect();
        let mut new = Vec::new();
        for destination in destinations {
            for end in &destination.ends {
                let lids = end.first..end.first + end.count;
                // All LIDs of the port, as they have one entry.
                if lids.clone().any(|lid| at(&was, lid) != at(&is, lid)) {
                    new.push((destination.ix, end.first, end.count, end.port));
                }
            }
        }
        Self { gone, new }
    }

    /// True when every LID is where it was.
    fn is_nothing(&self) -> bool {
        self.gone.is_empty() && self.new.is_empty()
    }

    /// Brings a copied table up to date.
    /// Cost: O(LIDs that moved) per switch, instead of all LIDs.
    fn correct(
        &self,
        torus: &Torus,
        placed: &PlacedSwitch,
        own: PoolIx,
        ways: &Ways,
        row: &mut [u8],
        lost: &mut Vec<(SwitchIx, PoolIx)>,
    ) {
        for lid in &self.gone {
            if let Some(entry) = row.get_mut(*lid) {
                *entry = NO_PATH;
            }
        }
        for (to, first, count, port) in &self.new {
            let port = if *to == own {
                Some(*port)
            } else {
                let group = ways.group_to(torus.get(*to).at);
                // The first port is the only one: switches with parallel cables are never copied.
                group.and_then(|group| placed.groups[usize::from(group)].first().copied())
            };
            match port {
                Some(port) => row[*first..][..*count].fill(port),
                None => lost.push((placed.switch, *to)),
            }
        }
    }
}

/// By LID: where it is.
/// None for hosts beyond what the local group took, which have no routes either.
fn places(topology: &Topology, torus: &Torus) -> Vec<Where> {
    let mut places = vec![None; usize::from(topology.max_lid()) + 1];
    for end in &topology.end_ports {
        let place = end.attached.and_then(|(switch, port)| {
            let placed = torus.placed(switch)?;
            placed
                .local_ports()
                .contains(&port)
                .then_some((placed.at.0, port))
        });
        for lid in end.lids() {
            places[lid.index()] = place;
        }
    }
    places
}
