//! Going on from a proof that found no loop, when some cables are gone and some entries changed.
//!
//! A path that takes the same cables as before, by the same SL2VL tables, on the same SLs, has the
//! dependencies that it had. So those of the old tables, without what is gone, together with those
//! of the paths that changed hold all that the new tables have. If they close no cycle, the new
//! tables close none. They may hold more, and close a cycle of which some part is not there any
//! more: then nothing is known, and the proof is made from nothing.
//!
//! In the column of a LID paths changed from where an entry changed, and from all switches behind.
//! They are followed to their ends; the others are not looked at.
//!
//! ```text
//! column of LID 9, one failed cable ─X─          A's entry changed; P and Q send over A
//!  P ─> A ─X─> B ─> D                            paths of A, P, Q changed: their SLs are carried
//!  Q ─┘  └─> C ─> E ─> D                         over C and E anew; F's path did not change
//!       F ─> E
//! ```
//!
//! 16 of 4,096 tables change with a cable of 16x16x16, and of 16.8 million paths 16,384, a
//! thousandth: that is what lets a change be in service within the time of ADR 18.

mod changed;
mod fit;
mod next;
mod order;
mod region;

use std::fmt;

use sa_wire::Guid;

use self::changed::Changed;
use self::fit::Gone;
pub use self::next::Next;
use self::order::Order;
use super::graph::DependencyGraph;
use super::hops::Hops;
use super::sources::Sources;
use super::unicast::Sls;
use super::{Judge, PathSls};
use crate::paths::survey::Survey;
use crate::tables::{Lft, Routes};
use crate::topology::{SwitchIx, Topology};

/// What is kept of a proof that found no loop among the unicast paths of everybody.
///
/// Always of a proof from nothing, never of one that went on from another, so that what is there
/// too much does not grow.
/// Some 10 MB for 16x16x16; tables are shared with the routes they came from.
pub struct Proven {
    /// By switch.
    guids: Vec<Guid>,
    /// By LID: where it is plugged in.
    places: Vec<Option<(SwitchIx, u8)>>,
    lft: Lft,
    /// Compared with those of the new routes: others void the proof.
    sls: Sls<'static>,
    /// Dependencies of unicast alone.
    graph: DependencyGraph,
    sources: Sources,
    hops: Hops,
    /// Channels before those that they wait for: what is new mostly fits in.
    order: Order,
    /// Corrected along with the proof.
    survey: Survey,
}

impl fmt::Debug for Proven {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proven").finish_non_exhaustive()
    }
}

impl Judge<'_> {
    /// What to go on from later. `graph` is [`Judge::everybody`] and has no loop; `survey` is that of
    /// the same tables. None where SLs are given by pairs.
    /// Cost: a copy of the dependencies.
    pub fn keep(&self, graph: &DependencyGraph, survey: &Survey) -> Option<Proven> {
        let Judge {
            topology, routes, ..
        } = *self;
        let sls = kept(topology, routes, self.sls)?;
        let switches = topology.switches.iter();
        let sources = Sources::new(topology, &graph.channels, |_| true);
        Some(Proven {
            guids: switches.map(|switch| switch.guid).collect(),
            places: places(topology, routes),
            lft: routes.lfts().clone(),
            sls,
            hops: Hops::new(&graph.channels, &sources, topology.switches.len()),
            sources,
            order: Order::from_graph(graph),
            graph: graph.copy(),
            survey: survey.clone(),
        })
    }

    /// Goes on from an earlier proof. None where it takes a proof from nothing: when there is more than there
    /// was, when SLs or SL2VL tables are others, and when much has changed.
    pub fn go_on<'a>(&self, from: &'a Proven) -> Option<Next<'a>> {
        let Judge {
            topology, routes, ..
        } = *self;
        let sls = kept(topology, routes, self.sls)?;
        let gone = Gone::since(from, topology, routes, &sls)?;
        let places = places(topology, routes);
        let changed = Changed::since(from, routes.lfts(), &places, &gone)?;
        let (added, news) = region::follow(from, routes.lfts(), &places, &gone, &changed)?;
        Some(Next {
            survey: from.survey.after(topology, routes, &places, news),
            from,
            gone,
            added,
        })
    }
}

/// SLs that do not depend on who asks.
/// A function of a caller's would be borrowed, and could answer otherwise the next time.
fn kept(topology: &Topology, routes: &Routes, sls: PathSls<'_>) -> Option<Sls<'static>> {
    let sls = match sls {
        PathSls::Engine => PathSls::Engine,
        PathSls::EngineOver(sls) => PathSls::EngineOver(sls),
        PathSls::Any(sls) => PathSls::Any(sls),
        PathSls::BySwitch(_) | PathSls::ByPair(_) => return None,
    };
    let sls = Sls::new(topology, routes, sls);
    // A table names ports and LIDs of one fabric: after a change it is another.
    (!matches!(sls, Sls::Table(..))).then_some(sls)
}

/// By LID: where it is plugged in. Shape: as the forwarding tables.
fn places(topology: &Topology, routes: &Routes) -> Vec<Option<(SwitchIx, u8)>> {
    let lids = (0..=u16::MAX).take(routes.lfts().stride());
    let place = |lid| topology.end_port(routes.lids().at(lid)?).attached;
    lids.map(place).collect()
}
