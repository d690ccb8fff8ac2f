//! Paths of a subnet without switches.
//!
//! ```text
//!  H1 ── cable ── H2     row of H1, column of H2: class 1      their own ports limit, nothing lies between
//!                        row of H1, column of H1: no class     a path to oneself takes none
//! ```
//!
//! A table, though the two classes of a uniform fabric would do: it tells the length, which is no switch at all.

use sa_snapshot::model::{Capacity, Pairs, PathClass, PathSl, PathTables};
use sa_wire::SlVlMask;

use crate::tables::Routes;
use crate::topology::{EndPortIx, Topology, count32};

/// None where there are switches, and where no cable joins two end ports.
/// Cost: the square of the cabled ports, of which an SM finds two.
pub(super) fn compile(topology: &Topology, routes: &Routes) -> Option<PathTables> {
    let ends: Vec<EndPortIx> = topology
        .end_port_ixs()
        .filter(|end| topology.end_port(*end).peer.is_some())
        .collect();
    if !topology.switches.is_empty() || ends.is_empty() {
        return None;
    }
    // Rows and columns are numbered alike, from 1; 0 for a port without a cable.
    let number = |end: EndPortIx| {
        let place = ends.iter().position(|cabled| *cabled == end);
        place.map_or(0, |place| u16::try_from(place + 1).unwrap_or(0))
    };
    let pairs = ends
        .iter()
        .flat_map(|from| ends.iter().map(|to| (*from, *to)));
    let table = pairs.map(|(from, to)| u16::from(topology.are_cabled(from, to)));
    let columns = topology.end_port_ixs().map(|end| {
        let lids = topology.end_port(end).lids();
        lids.map(|_| number(end)).collect()
    });
    let class = |carried| PathClass {
        capacity: Capacity::UNLIMITED,
        carried,
        hops: 0,
        sl: PathSl::Policy,
    };
    Some(PathTables {
        engine_sl: routes.engine_sl(),
        classes: vec![class(SlVlMask(0)), class(SlVlMask::ALL)],
        rows: topology.end_port_ixs().map(number).collect(),
        columns: columns.collect(),
        pairs: Pairs::Dense {
            columns: count32(ends.len()),
            table: table.collect(),
        },
    })
}
