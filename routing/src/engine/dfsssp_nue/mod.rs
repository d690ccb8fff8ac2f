//! dfsssp-nue: shortest balanced ways in any fabric, kept free of deadlock by VLs.
//!
//! First shortest ways are spread over the cables (`balance`), and the pairs of switches are layered over the VLs
//! so that the dependencies on each VL close no cycle (`layers`, DFSSSP). Where the VLs do not suffice for that,
//! ways are searched so that they do (`nue`): with one VL as well, and around any damage. Either way the SL of a
//! pair of switches is the number of its VL, from end to end, and the SL2VL tables say so.
//!
//! # Layers first, and why
//!
//! ```text
//!                     ways        VLs needed                     used where
//! layers (DFSSSP)     shortest    what the fabric asks for       the VLs suffice
//! nue                 any length  as many as there are, also 1   they do not
//! ```
//!
//! A layer takes ways as they are, so nothing is lost where it can. On a ring of five switches one VL holds all
//! ways but those that would close the circle, and a second one holds these:
//!
//! ```text
//! 0 ── 1 ── 2       turns at 1, 2, 3 and 4 clockwise: used on VL 0
//! │         │       the turn at 0: blocked on VL 0, so 4 to 1 goes by VL 1
//! 4 ─────── 3
//! ```
//!
//! # What it does not do
//!
//! It makes no multicast tree. It gives the policy no SL: all of them say which layer a pair is in. It proves
//! nothing; [`crate::proof`] does.

mod again;
mod balance;
mod columns;
mod escape;
mod graph;
mod layer;
mod layers;
mod nue;
mod pairs;
mod search;
mod spread;

use std::sync::Arc;

use sa_wire::SlToVl;

use self::columns::Columns;
use self::graph::Graph;
use self::pairs::Pairs;
use super::{Before, Engine, Needs, Request};
use crate::error::{Refusal, Warning};
use crate::kind::EngineKind;
use crate::shortest::distances::Distances;
use crate::tables::sl2vl::{Sl2Vl, Sl2VlByKind};
use crate::tables::{EngineFacts, Origin, PathSlRule, PathSlTable, Qos, Routes};
use crate::topology::{PortNumbers, Topology};
use crate::watch::Stretch;

/// Layers of shortest ways, else Nue; see the module.
pub(super) struct DfssspNue;

impl Engine for DfssspNue {
    fn needs(&self) -> Needs {
        Needs::Nothing
    }

    fn route(&self, request: &Request<'_>) -> Result<Routes, Refusal> {
        let Request {
            topology,
            qos,
            before,
            ..
        } = *request;
        let route = |share: Stretch<'_>| route_watched(topology, qos, before, share);
        Ok(request.watch.share(route))
    }
}

/// Routes any fabric, on all data VLs that every cable between switches has; with QoS off on one.
///
/// After a loss, ways that are still there stay as they are, with their VLs, and a repair brings the old ones
/// back. A fabric with a switch or cable that was not there before is routed anew, and so is one whose ways that
/// are left do not go together with those that are new.
pub fn route(topology: &Topology, qos: Qos, before: Option<Before<'_>>) -> Routes {
    route_watched(topology, qos, before, Stretch::nobody())
}

/// [`route`], which says how much of it is done.
fn route_watched(
    topology: &Topology,
    qos: Qos,
    before: Option<Before<'_>>,
    share: Stretch<'_>,
) -> Routes {
    let graph = Graph::new(topology);
    let vls = match qos {
        Qos::On => least_vls(topology),
        Qos::Off => 1,
    };
    let own = before.filter(|before| before.routes.engine() == EngineKind::DfssspNue);
    // Going on from what there was is quick, or is given up.
    let (going_on, starting) = match own {
        Some(_) => (share.cut(0..30), share.cut(30..97)),
        None => (share.cut(0..0), share.cut(0..97)),
    };
    let kept = own.and_then(|before| again::route(&graph, topology, vls, before, going_on));
    match kept {
        Some(kept) => {
            let routes = finish(topology, &graph, vls, &kept.ways);
            Routes {
                origin: Some(kept.origin),
                ..routes
            }
        }
        None => {
            let routes = finish(
                topology,
                &graph,
                vls,
                &anew(topology, &graph, vls, starting),
            );
            let origin = Origin {
                topology: topology.clone(),
                routes: routes.clone(),
            };
            Routes {
                origin: Some(Arc::new(origin)),
                warnings: own.map(|_| routed_anew()).into_iter().collect(),
                ..routes
            }
        }
    }
}

/// The ways of all LIDs, and the VL of each pair of switches.
struct Ways {
    columns: Columns,
    pairs: Pairs,
}

/// Ways that owe nothing to earlier ones.
fn anew(topology: &Topology, graph: &Graph, vls: u8, share: Stretch<'_>) -> Ways {
    let mut columns = Columns::new(topology);
    // Whether layers will do is seen at the end: with one VL seldom, with more mostly.
    let (balanced, layered) = if vls == 1 { (30, 40) } else { (40, 80) };
    let loads = balance::fill(graph, &mut columns, share.cut(0..balanced));
    let distances = Distances::measure(topology);
    let fitted = layers::fit(
        graph,
        &distances,
        &mut columns,
        &loads,
        vls,
        share.cut(balanced..layered),
    );
    if let Some((mut pairs, count)) = fitted {
        spread::spread(graph, &mut pairs, count, vls);
        return Ways { columns, pairs };
    }
    columns.clear();
    let pairs = nue::fill(graph, &mut columns, vls, share.cut(layered..100));
    Ways { columns, pairs }
}

/// Tables from ways.
fn finish(topology: &Topology, graph: &Graph, vls: u8, ways: &Ways) -> Routes {
    let lft = ways.columns.tables(topology, graph);
    let table = PathSlTable::by_switch(topology, |from, to| ways.pairs.sl(from.0, to.0));
    let facts = EngineFacts {
        path_sl: PathSlRule::Table(Arc::new(table)),
        ..EngineFacts::default()
    };
    let sl2vl = sl2vl(topology, vls);
    Routes {
        facts,
        ..Routes::new(topology, EngineKind::DfssspNue, lft, sl2vl)
    }
}

/// Data VLs in operation on every cable between switches; 1 without any.
fn least_vls(topology: &Topology) -> u8 {
    let switches = topology.switch_ixs();
    let vls = switches.flat_map(|switch| {
        let ports = &topology.switch(switch).ports;
        let cables = topology
            .cables(switch)
            .filter(move |(_, far, _)| *far != switch);
        cables.map(|(port, _, _)| ports[usize::from(port)].operational_vls.get())
    });
    vls.min().unwrap_or(1)
}

/// SL and VL are the same number, in every port. SLs beyond the VLs, which no path has, share them.
fn sl2vl(topology: &Topology, vls: u8) -> Sl2Vl {
    let sls: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
    let table = SlToVl(sls.map(|sl| sl % vls.max(1)));
    let tables = Sl2VlByKind {
        kinds: vec![0; PortNumbers::new(topology).total()],
        tables: vec![vec![table]],
        end_ports: table,
    };
    Sl2Vl::by_kind(topology, tables)
}

/// What is said where ways of before could not be kept.
fn routed_anew() -> Warning {
    Warning {
        code: "routed-anew",
        text: "dfsssp-nue routed the whole fabric anew, as switches, cables or VLs came that were not there \
               before, or as what is left of the ways before fits no VL together with new ones: many \
               forwarding entries and SLs are others now"
            .to_owned(),
    }
}
