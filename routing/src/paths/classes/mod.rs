//! Paths compiled into classes, so that no query walks a forwarding table.
//!
//! What an answer says about a path is the least over three parts: the source's own link, what lies
//! between the first and the last switch, and the destination's link. The first and the last
//! depend on one port each ([`PortEdge`]); the middle is a class per source row and destination
//! column ([`PathTables`]). Must agree with [`crate::reference`] on every pair.
//!
//! # Two encodings
//!
//! ```text
//! uniform    within one switch: class 1;  across: class 2        links alike, nothing dropped,
//!                                                                no SL by pair of ends
//! dense      rows (sources) x columns (LIDs), equal ones once    everything else
//! ```
//!
//! Two ports that are cabled to each other, without any switch, are a dense table of their own (`cabled`).
//!
//! A torus of equal links stays uniform through any damage that leaves each pair a path. One slow
//! link makes it dense (ADR 2).
//!
//! A source that is a switch is a row of its own only where its first cable could make a
//! difference; hosts of one switch share a row as long as their input ports drop the same SLs
//! and the engine gives their paths the same.

mod cabled;
mod column;
mod dense;
mod edges;
mod interned;
mod links;
mod reach;
mod sources;

use sa_snapshot::model::{Pairs, PathClass, PathSl, PathTables};
use sa_wire::SlVlMask;

pub use self::edges::{PortEdge, port_edges};
use self::links::Links;
use self::reach::Reach;
use crate::paths::survey::Survey;
use crate::tables::{Qos, Routes};
use crate::topology::Topology;

/// Switches that a path may have. The switch that is itself the source does not count.
/// Source: OpenSM `osm_sa_path_record.c` (`MAX_HOPS`).
/// What is longer counts as no path, as OpenSM's SA gives none.
const MOST_SWITCHES: u16 = 64;

/// A fabric whose paths have too many forms.
/// Not reached by any fabric with a few kinds of links and tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "paths have more than 65,535 different combinations of MTU, rate, SLs and length. Use fewer \
    different SL2VL tables"
)]
pub struct TooManyClasses;

/// Compiles the paths between all end ports.
///
/// With QoS off SLs are not looked at. In a uniform result the class across switches has the
/// length of the longest path.
/// Errors: more classes than an index holds.
/// Cost: O(switches x different columns).
pub fn compile(
    topology: &Topology,
    routes: &Routes,
    qos: Qos,
) -> Result<PathTables, TooManyClasses> {
    compile_surveyed(
        topology,
        routes,
        qos,
        &Survey::from_routes(topology, routes),
    )
}

/// The same where the columns have been followed already. Errors: as [`compile`].
/// What the pipeline calls, which has the survey from its proof.
pub fn compile_surveyed(
    topology: &Topology,
    routes: &Routes,
    qos: Qos,
    survey: &Survey,
) -> Result<PathTables, TooManyClasses> {
    if let Some(tables) = cabled::compile(topology, routes) {
        return Ok(tables);
    }
    let links = Links::new(topology, routes, qos);
    let reach = Reach::from_survey(topology, survey);
    match uniform(topology, routes, &links, &reach) {
        Some(tables) => Ok(tables),
        None => dense::compile(topology, routes, &links, &reach),
    }
}

/// One class for all pairs of switches, where that is so.
///
/// Who reaches anything must reach everything that is reached at all: then a flag for each port,
/// on the way out and in, says the rest.
fn uniform(
    topology: &Topology,
    routes: &Routes,
    links: &Links,
    reach: &Reach,
) -> Option<PathTables> {
    // Cheapest question first; most dense fabrics end here.
    let capacity = links.common_capacity()?;
    if links.sls().is_some()
        || links.drops_sls()
        || !reach.is_complete()
        || reach.longest() > MOST_SWITCHES
    {
        return None;
    }
    let ends = topology.end_ports.iter();
    let row = |switch| u16::from(reach.reaches_something(switch));
    let rows = ends
        .clone()
        .map(|end| end.attached.map_or(0, |(switch, _)| row(switch)));
    let columns = ends.map(|end| {
        end.lids()
            .map(|lid| u16::from(reach.is_reached(lid)))
            .collect()
    });
    let class = |capacity, hops| PathClass {
        capacity,
        carried: SlVlMask::ALL,
        hops,
        sl: PathSl::Policy,
    };
    // Within a switch only the ends' own links limit.
    let unlimited = sa_snapshot::model::Capacity::UNLIMITED;
    let longest = u8::try_from(reach.longest()).unwrap_or(u8::MAX);
    Some(PathTables {
        engine_sl: routes.engine_sl(),
        classes: vec![
            class(unlimited, 0),
            class(unlimited, 1),
            class(capacity, longest),
        ],
        rows: rows.collect(),
        columns: columns.collect(),
        pairs: Pairs::Uniform {
            within: 1,
            across: 2,
        },
    })
}
