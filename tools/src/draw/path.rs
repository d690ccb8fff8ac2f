//! The way between two ports.
//!
//! The SL is what the SA answers for the pair, from the snapshot; the hops are what the tables do
//! with packets of it. So a picture shows what happens, and not what an engine meant. Turns against
//! the dimension order (x before y before z) are marked: torus-2QoS takes them only around a failed
//! switch.
//!
//! A path of two hops in a 3x3, over the link that closes the ring along x:
//!
//! ```text
//! from a host at 2,0,0 to one at 0,1,0
//! step 2,0,0 +x    to 0,0,0: the dateline lies on this link
//! step 0,0,0 +y    to 0,1,0: a turn from x to y, which the dimension order allows
//! ```

use routing::placement::{Coordinate, Direction};
use routing::reference::walk;
use routing::{EndPortIx, SwitchIx, Torus};
use sa_answer::whole;
use sa_compiler::pipeline::Compiled;
use sa_wire::Lid;

use super::scene::{Step, printable};
use crate::failure::{Failure, Outcome};
use crate::wrong::Wrong;

/// A path, or why there is none.
/// With an SL there are hops from the first switch to the last; without, none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Path {
    pub(crate) from: End,
    pub(crate) to: End,
    /// From switch to switch; empty when both ends are on one switch, and when there is no path.
    pub(crate) hops: Vec<Hop>,
    /// What the SA answers. Errors: why there is no path.
    pub(crate) sl: Result<u8, Wrong>,
}

/// One end of a path.
/// Hosts of one switch have the same place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct End {
    /// Printable, with the port where the node has several.
    pub(crate) name: String,
    /// The base LID.
    pub(crate) lid: Lid,
    /// Place of its switch; none outside the torus.
    pub(crate) at: Option<Coordinate>,
}

/// A hop between switches.
/// Hops from and to hosts are not drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hop {
    /// From which place, in which direction.
    pub(crate) step: Step,
    /// On the link of this hop.
    pub(crate) vl: u8,
    /// Comes out of a turn that x before y before z does not allow.
    pub(crate) is_against_order: bool,
}

impl Path {
    /// The path that the SA gives the source, along the tables. Errors: indices out of range.
    /// A pair without a path is a result, to be drawn and told; only indices are errors.
    pub(crate) fn trace(
        compiled: &Compiled,
        torus: &Torus,
        source: usize,
        destination: usize,
    ) -> Outcome<Self> {
        let from = end(compiled, source)?;
        let to = end(compiled, destination)?;
        // Both are asked, as either may have no path: policy and partitions refuse, tables end.
        let found = whole::path_sl(&compiled.snapshot, from.lid, to.lid)
            .map_err(|status| {
                let words = format!("the SA answers status 0x{status:04x} and no record");
                Wrong::from(words)
            })
            .and_then(|sl| {
                let (sl, to) = (sl.get(), to.lid);
                Ok((sl, hops(compiled, torus, end_ix(source), to, sl)?))
            });
        let (sl, hops) = match found {
            Ok((sl, hops)) => (Ok(sl), hops),
            Err(why) => (Err(why), Vec::new()),
        };
        Ok(Self { from, to, hops, sl })
    }

    /// Why there is no path.
    pub(crate) fn problem(&self) -> Option<String> {
        let why = self.sl.as_ref().err()?;
        let (from, to) = (&self.from.name, &self.to.name);
        Some(format!("no path from {from} to {to}: {why}"))
    }
}

/// Indices come from the subnet, whose ports fit 32 bits.
fn end_ix(ix: usize) -> EndPortIx {
    EndPortIx(u32::try_from(ix).unwrap_or(u32::MAX))
}

/// Topology and subnet number end ports in the same way.
fn end(compiled: &Compiled, ix: usize) -> Outcome<End> {
    let parts = &compiled.parts;
    let ends = (
        parts.topology.end_ports.get(ix),
        parts.subnet.end_ports().get(ix),
    );
    let (Some(port), Some(named)) = ends else {
        return Err(Failure::failed("no such port"));
    };
    Ok(End {
        name: printable(&parts.subnet.fabric().port_name(named.at)),
        lid: port.lid,
        at: parts.routes.coordinate(end_ix(ix)),
    })
}

/// The way through the tables. Errors: where it ends.
/// A hop that leads out of the torus has no direction and is left out.
fn hops(
    compiled: &Compiled,
    torus: &Torus,
    source: EndPortIx,
    dlid: Lid,
    sl: u8,
) -> Result<Vec<Hop>, Wrong> {
    let parts = &compiled.parts;
    let walked = walk(&parts.topology, &parts.routes, parts.qos(), source, dlid)
        .map_err(|why| why.in_words(&parts.topology))?;
    let between = walked.hops.iter().filter_map(|hop| {
        let from = torus.coordinate(hop.switch)?;
        let direction = direction(torus, hop.switch, hop.output)?;
        // None at the first switch, where packets come from a host: no turn there.
        let came = self::direction(torus, hop.switch, hop.input);
        let table = parts.routes.sl2vl(hop.switch, hop.input, hop.output).0;
        Some(Hop {
            step: Step { from, direction },
            vl: table.get(usize::from(sl)).copied().unwrap_or(0),
            is_against_order: came.is_some_and(|came| came.axis > direction.axis),
        })
    });
    Ok(between.collect())
}

/// Where a port of a switch leads within the torus.
/// None for ports of hosts, and for cables that lead in no direction.
pub(crate) fn direction(torus: &Torus, switch: SwitchIx, port: u8) -> Option<Direction> {
    let placed = torus.placed(switch)?;
    Direction::ALL
        .into_iter()
        .find(|direction| placed.ports(*direction).contains(&port))
}
