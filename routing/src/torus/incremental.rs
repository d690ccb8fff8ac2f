//! Forwarding tables after a change, from those before it. Equal to a full run.
//!
//! A switch's table depends on its ways along its three rings, on its groups of ports, and on the
//! destinations. Ways change only for the switches on the rings through what failed or came back,
//! so that all other tables are copied; in them only LIDs that came, went or moved are looked at.

use super::config::TorusConfig;
use super::lft::{self, Destination};
use super::next_hop::Ways;
use super::placement::{PlacedSwitch, PoolIx, Torus};
use crate::routes::{Engine, Lft, NO_PATH, Routes};
use crate::topology::{SwitchIx, Topology, count32};
use sa_wire::Guid;
use std::collections::HashMap;

/// Routes that torus-2QoS made, and the fabric it made them for.
#[derive(Debug, Clone, Copy)]
pub struct Before<'a> {
    /// The fabric then.
    pub topology: &'a Topology,
    /// Its routes.
    pub routes: &'a Routes,
}

/// Tables of all switches, as [`lft::build_partly`] gives them.
pub(super) fn build(
    topology: &Topology,
    torus: &Torus,
    config: &TorusConfig,
    before: Before<'_>,
) -> (Lft, Vec<(SwitchIx, PoolIx)>) {
    let Some(old) = Old::new(before, torus) else {
        return lft::build_partly(topology, torus, config);
    };
    let destinations = lft::destinations(topology, torus, config);
    let moved = Moved::new(topology, torus, &destinations, &old);
    let stride = usize::from(topology.max_lid()) + 1;
    let (lft, lost) = Lft::filled(topology, topology.max_lid(), |first, rows| {
        let mut lost = Vec::new();
        for (index, row) in (first..).zip(rows.chunks_mut(stride)) {
            let placed = torus.placed(SwitchIx(count32(index)));
            let own = placed.and_then(|placed| torus.pool_at(placed.at));
            let (Some(placed), Some(own)) = (placed, own) else {
                row.fill(NO_PATH);
                continue;
            };
            let ways = Ways::from(torus, own);
            if let Some(old_row) = old.same(topology, placed, &ways) {
                let common = old_row.len().min(stride);
                row[..common].copy_from_slice(&old_row[..common]);
                row[common..].fill(NO_PATH);
                moved.correct(torus, placed, own, &ways, row, &mut lost);
            } else {
                row.fill(NO_PATH);
                lft::fill(torus, placed, &ways, &destinations, row, &mut lost);
            }
        }
        lost
    });
    (lft, lost.into_iter().flatten().collect())
}

/// What there was.
struct Old<'a> {
    topology: &'a Topology,
    routes: &'a Routes,
    torus: &'a Torus,
    by_guid: HashMap<Guid, SwitchIx>,
}

impl<'a> Old<'a> {
    /// None when the tables are of no use: another engine's or another torus.
    fn new(before: Before<'a>, torus: &Torus) -> Option<Self> {
        let Before { topology, routes } = before;
        let old = routes.torus()?;
        // Without a tree they are not what the engine made, but what was left of it.
        let is_whole = routes.engine() == Engine::Torus2Qos && routes.multicast_tree().is_some();
        let switches = topology.switch_ixs();
        (is_whole && old.shape() == torus.shape()).then(|| Self {
            topology,
            routes,
            torus: old,
            by_guid: switches.map(|ix| (topology.switch(ix).guid, ix)).collect(),
        })
    }

    /// The table that a switch had, if nothing that it depends on changed but destinations.
    fn same(&self, topology: &Topology, placed: &PlacedSwitch, ways: &Ways) -> Option<&'a [u8]> {
        let ix = *self.by_guid.get(&topology.switch(placed.switch).guid)?;
        let was = self.torus.placed(ix)?;
        let links = |placed: &PlacedSwitch| placed.groups[..6].to_vec();
        // Parallel cables take turns over all destinations.
        let is_single = placed.groups[..6].iter().all(|group| group.len() <= 1);
        let is_same = is_single && was.at == placed.at && links(was) == links(placed);
        let own = self.torus.pool_at(was.at)?;
        (is_same && *ways == Ways::from(self.torus, own)).then(|| self.routes.lft(ix))
    }
}

/// Where a LID is: at a place of the torus, behind a port; none outside.
type Where = Option<([u8; 3], u8)>;

/// LIDs that are not where they were.
struct Moved {
    /// LIDs that lead nowhere now.
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
                if lids.clone().any(|lid| at(&was, lid) != at(&is, lid)) {
                    new.push((destination.ix, end.first, end.count, end.port));
                }
            }
        }
        Self { gone, new }
    }

    /// Brings a copied table up to date.
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
            places[usize::from(lid)] = place;
        }
    }
    places
}
