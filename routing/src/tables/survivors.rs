//! Tables that stay as they are while the fabric changes under them.
//!
//! When an engine refuses a fabric, an SM leaves the switches alone. Paths that pass no dead part
//! go on as before, on the SLs that applications hold; the others have no path. As a subset of
//! routes that are free of deadlock they are so themselves.
//! Source: torus-2QoS(8), OPERATIONAL CONSIDERATIONS.
//!
//! Used when a fabric changes and its engine refuses the rest: answers go on for pairs whose paths
//! are whole, the others get no record (`docs/deviations.md`, row 11). OpenSM keeps its tables in
//! that case, too, but answers with SLs that lack the engine's bits until it routes again.

use std::collections::HashMap;
use std::sync::Arc;

use sa_wire::{Guid, Lid};

use crate::Torus;
use crate::tables::sl2vl::{GivenSl2Vl, Sl2Vl};
use crate::tables::{EngineFacts, Lft, NO_PATH, PathSlRule, Routes};
use crate::topology::{EndPortIx, LidMap, Peer, SwitchIx, Topology};

/// What is left of `routes`, made for `before`, in the fabric `after`.
///
/// Switches and end ports are told by their GUIDs. A LID that has another owner now leads nowhere,
/// nor does a switch forward that was not there before.
///
/// No entry is ever changed, only dropped, so a path either is what it was or is not there. What
/// became of cables is found when paths are followed: an entry into a dead cable leads nowhere.
/// Without a multicast tree, since what is left of one is none.
pub fn survivors(before: &Topology, routes: &Routes, after: &Topology) -> Routes {
    let left = Left::new(before, after);
    // Memory of its own: indices of switches and the largest LID may be others now.
    let mut lft = Lft::empty(after, after.max_lid());
    let kept = kept_lids(before, routes.lids(), after);
    for (old, new) in left.pairs() {
        let (from, to) = (routes.lft(old), lft.table_mut(new));
        for lid in &kept {
            let lid = lid.index();
            if let Some(port) = from.get(lid).filter(|port| **port != NO_PATH) {
                to[lid] = *port;
            }
        }
    }
    // As tables of devices: they are cut already, and nothing programs them anew.
    let sl2vl = Sl2Vl::given(after, &left.sl2vl(before, routes, after));
    let torus = routes.torus().map(|torus| left.torus(torus, after));
    let facts = routes.facts();
    Routes {
        facts: EngineFacts {
            path_sl: path_sl(before, &facts.path_sl, after, &kept),
            torus,
            multicast: None,
            keeps_configured_sl2vl: facts.keeps_configured_sl2vl,
        },
        ..Routes::new(after, routes.engine(), lft, sl2vl)
    }
}

/// LIDs that have the owner that they had.
/// A LID that moved to another port counts as gone: old entries would deliver to the wrong one.
fn kept_lids(before: &Topology, lids: &LidMap, after: &Topology) -> Vec<Lid> {
    let owner = |lid| Some(before.end_port(lids.owner(lid)?).guid);
    let all = after.end_ports.iter();
    let all = all.flat_map(|end| end.lids().map(|lid| (lid, end.guid)));
    all.filter(|(lid, guid)| owner(*lid) == Some(*guid))
        .map(|(lid, _)| lid)
        .collect()
}

/// How SLs of the paths of `before` are found in `after`: a table has those of ports and LIDs that both have.
pub fn sls_left((before, rule): (&Topology, &PathSlRule), after: &Topology) -> PathSlRule {
    let kept = kept_lids(before, &LidMap::new(before), after);
    path_sl(before, rule, after, &kept)
}

/// Where the switches of `before` that are left lie in `after`. Cables of the result mean nothing.
pub fn torus_left((before, torus): (&Topology, &Torus), after: &Topology) -> Torus {
    Left::new(before, after).torus(torus, after)
}

/// How SLs are found now. A table has them of the ports and LIDs that are left.
fn path_sl(before: &Topology, rule: &PathSlRule, after: &Topology, kept: &[Lid]) -> PathSlRule {
    let PathSlRule::Table(table) = rule else {
        return rule.clone();
    };
    let by_guid: HashMap<Guid, EndPortIx> = before
        .end_port_ixs()
        .map(|ix| (before.end_port(ix).guid, ix))
        .collect();
    let ends = after.end_ports.iter();
    let ends = ends.map(|end| by_guid.get(&end.guid).copied());
    let mut keeps = vec![false; usize::from(after.max_lid()) + 1];
    kept.iter().for_each(|lid| keeps[lid.index()] = true);
    let table = table.moved(ends, after.max_lid(), |lid| keeps[usize::from(lid)]);
    PathSlRule::Table(Arc::new(table))
}

/// Which switch is which.
/// A switch that was replaced by another with the same cables is another: its tables are empty.
struct Left {
    /// By switch before: its index now.
    new: Vec<Option<SwitchIx>>,
}

impl Left {
    fn new(before: &Topology, after: &Topology) -> Self {
        let by_guid: HashMap<Guid, SwitchIx> = after
            .switch_ixs()
            .map(|ix| (after.switch(ix).guid, ix))
            .collect();
        let new = before.switches.iter();
        Self {
            new: new
                .map(|switch| by_guid.get(&switch.guid).copied())
                .collect(),
        }
    }

    fn torus(&self, torus: &Torus, after: &Topology) -> Torus {
        let new = |old: SwitchIx| self.new.get(old.index()).copied().flatten();
        torus.survivors(after.switches.len(), new)
    }

    /// Switches that are left: index before and now.
    fn pairs(&self) -> impl Iterator<Item = (SwitchIx, SwitchIx)> + '_ {
        let all = (0..).map(SwitchIx).zip(&self.new);
        all.filter_map(|(old, new)| Some((old, (*new)?)))
    }

    /// The tables between ports that were in use and still are.
    /// A port without a cable before has no table that the SM set up, and one without a cable now
    /// needs none.
    fn sl2vl(&self, before: &Topology, routes: &Routes, after: &Topology) -> GivenSl2Vl {
        let mut given = GivenSl2Vl::default();
        for (old, new) in self.pairs() {
            // Port 0 has no cable and is in use all the same.
            let had = |port: &u8| *port == 0 || before.peer(old, *port) != Peer::Nothing;
            let has = |port: &u8| *port == 0 || after.peer(new, *port) != Peer::Nothing;
            let ports = (0..=u8::MAX).take(after.switch(new).ports.len());
            let ports: Vec<u8> = ports.filter(|port| had(port) && has(port)).collect();
            let pairs = ports
                .iter()
                .flat_map(|input| ports.iter().map(move |output| (*input, *output)));
            let tables = pairs.map(|(input, output)| {
                let table = routes.sl2vl(old, input, output);
                (new, input, output, table)
            });
            given.switches.extend(tables);
        }
        given.end_ports = end_port_tables(before, routes, after);
        given
    }
}

/// End ports that are new have the configured ones.
fn end_port_tables(
    before: &Topology,
    routes: &Routes,
    after: &Topology,
) -> Vec<(EndPortIx, sa_wire::SlToVl)> {
    let by_guid: HashMap<Guid, EndPortIx> = before
        .end_port_ixs()
        .map(|ix| (before.end_port(ix).guid, ix))
        .collect();
    let known = after.end_port_ixs().filter_map(|new| {
        let old = by_guid.get(&after.end_port(new).guid)?;
        Some((new, routes.end_port_sl2vl(*old)))
    });
    known.collect()
}
