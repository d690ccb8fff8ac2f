//! The way between two ports of a torus, in its directions.
//!
//! A [`Trace`] with coordinates. Turns against the dimension order (x before y before z) are
//! marked: torus-2QoS takes them only around a failed switch.
//!
//! A path of two hops in a 3x3, over the link that closes the ring along x:
//!
//! ```text
//! from a host at 2,0,0 to one at 0,1,0
//! step 2,0,0 +x    to 0,0,0: the dateline lies on this link
//! step 0,0,0 +y    to 0,1,0: a turn from x to y, which the dimension order allows
//! ```

use routing::placement::{Coordinate, Direction};
use routing::{SwitchIx, Torus};
use sa_wire::Lid;

use crate::draw::trace::{self, Trace};
use crate::wrong::Wrong;
use sa_layout::torus::Step;

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
    problem: Option<String>,
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
    /// A path with its places.
    /// A hop that leads out of the torus has no direction and is left out.
    pub(crate) fn of(torus: &Torus, trace: Trace) -> Self {
        let problem = trace.problem();
        let hops = trace.hops.iter().filter_map(|hop| {
            let from = torus.coordinate(hop.switch)?;
            let direction = direction(torus, hop.switch, hop.output)?;
            // None at the first switch, where packets come from a host: no turn there.
            let came = self::direction(torus, hop.switch, hop.input);
            Some(Hop {
                step: Step { from, direction },
                vl: hop.vl,
                is_against_order: came.is_some_and(|came| came.axis > direction.axis),
            })
        });
        Self {
            hops: hops.collect(),
            from: end(torus, trace.from),
            to: end(torus, trace.to),
            sl: trace.sl,
            problem,
        }
    }

    /// Why there is no path.
    pub(crate) fn problem(&self) -> Option<String> {
        self.problem.clone()
    }
}

fn end(torus: &Torus, end: trace::End) -> End {
    End {
        at: end.switch.and_then(|switch| torus.coordinate(switch)),
        name: end.name,
        lid: end.lid,
    }
}

/// Where a port of a switch leads within the torus.
/// None for ports of hosts, and for cables that lead in no direction.
fn direction(torus: &Torus, switch: SwitchIx, port: u8) -> Option<Direction> {
    let placed = torus.placed(switch)?;
    Direction::ALL
        .into_iter()
        .find(|direction| placed.ports(*direction).contains(&port))
}
