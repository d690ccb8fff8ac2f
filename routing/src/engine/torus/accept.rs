//! Whether a placed torus, with what is missing, can be routed without deadlock.
//! Source: OpenSM `osm_torus.c` (`routable_torus`).
//!
//! A ring with one gap is a line, and packets go the long way round. With two gaps it is two pieces, and no
//! SL of torus-2QoS leads from one to the other. A missing switch is two gaps on each of its rings at once:
//! where it is the only one, dimension order turns beside it.
//!
//! ```text
//! accepted                       refused
//! o-o-.-o-o-o (-o)  one gap      o-o . o-o . o (-o)     two gaps on a ring
//! one missing switch             two missing switches, apart
//! two missing, neighbours in z   two missing, neighbours in x or y
//! ```
//!
//! "Neighbours in z" and no other axis, because z is used last: a path that finds no switch to turn
//! at has no later axis to turn into. The man page says "last dimension" and means z by its name,
//! also of a flat torus configured as x and y (`docs/routing/torus-2qos.md`, section 2.1).
//!
//! The rules are OpenSM's and refuse more than could deadlock; [`crate::engine::torus_proved`] asks
//! the graph instead.

use crate::engine::torus::reason::TorusReason;
use crate::engine::torus::warning::TorusWarning;
use crate::error::SwitchName;
use crate::placement::Torus;
use crate::placement::{Axis, Coordinate, Direction};
use crate::topology::Topology;

/// Every reason why not; none when it can. What is missing goes to `warnings` in any case.
/// Warnings first, since they name the damage that the reasons are about.
pub(in crate::engine) fn judge(
    topology: &Topology,
    torus: &Torus,
    warnings: &mut Vec<TorusWarning>,
) -> Vec<TorusReason> {
    report_missing(topology, torus, warnings);
    let mut reasons = Vec::new();
    for axis in Axis::ALL {
        judge_rings(torus, axis, &mut reasons);
    }
    let places: Vec<_> = torus.empty_places().collect();
    if !are_routable(torus, &places) {
        reasons.push(TorusReason::MissingSwitches {
            shape: torus.shape(),
            places,
        });
    }
    reasons
}

/// Accepts none, one, or several empty places in one z column of which none has switches on both
/// sides. Sides wrap round also where z is open or absent; in the latter case a place is its own
/// neighbour, and empty.
///
/// OpenSM asks so: a place counts as a gap of its own if both its z neighbours are there, as soon
/// as any other place is empty too.
fn are_routable(torus: &Torus, places: &[Coordinate]) -> bool {
    let is_filled = |at| torus.at(at).is_some();
    let shape = torus.shape();
    let is_alone = |at: &Coordinate| {
        is_filled(shape.neighbour(*at, Axis::Z.minus()))
            && is_filled(shape.neighbour(*at, Axis::Z.plus()))
    };
    let column = |at: &Coordinate| (at.on(Axis::X), at.on(Axis::Y));
    let is_one_column = places
        .windows(2)
        .all(|pair| column(&pair[0]) == column(&pair[1]));
    // A single missing switch is fine wherever it is: the early turn goes round it.
    places.len() < 2 || (is_one_column && !places.iter().any(is_alone))
}

/// The switches of a ring that lack a neighbour, on each side, must be one at most: then the ring
/// is whole, or a line.
///
/// Counted over the switches that are there: a missing one shows as a gap at both its neighbours.
fn judge_rings(torus: &Torus, axis: Axis, reasons: &mut Vec<TorusReason>) {
    let starts = torus.shape().coordinates().filter(|at| at.on(axis) == 0);
    for through in starts {
        let lacking = |direction| lacking_on_ring(torus, through, direction);
        let (minus, gaps) = (lacking(axis.minus()), lacking(axis.plus()));
        // A cable has two ends: where the counts differ, one side has found no place.
        // Cables that portgroup_max_ports left out show here, too: one end of a bundle was full.
        if minus.len() != gaps.len() {
            let (minus, plus) = (minus.len(), gaps.len());
            reasons.push(TorusReason::RingStrange {
                axis,
                through,
                minus,
                plus,
            });
        }
        // A mesh has one gap by its shape, so any break on it is a second one and refused.
        if minus.len() > 1 {
            reasons.push(TorusReason::RingDisjoint {
                axis,
                through,
                gaps,
            });
        }
    }
}

/// Places with a switch that has no cable in a direction.
/// In the order of positions, as messages list them.
fn lacking_on_ring(torus: &Torus, through: Coordinate, direction: Direction) -> Vec<Coordinate> {
    let positions = 0..torus.shape().radix_of(direction.axis);
    let ring = positions.filter_map(|at| torus.at(through.with(direction.axis, at)));
    ring.filter(|switch| switch.ports(direction).is_empty())
        .map(|switch| switch.at)
        .collect()
}

/// Empty places, and switches without a cable where the shape has one.
/// An open end of a mesh lacks nothing.
fn report_missing(topology: &Topology, torus: &Torus, warnings: &mut Vec<TorusWarning>) {
    let shape = torus.shape();
    for at in shape.coordinates() {
        let Some(placed) = torus.at(at) else {
            warnings.push(TorusWarning::SwitchMissing { at });
            continue;
        };
        for direction in Direction::ALL {
            let radix = shape.radix_of(direction.axis);
            let end = if direction == direction.axis.plus() {
                radix - 1
            } else {
                0
            };
            // On an axis of radix 1 there is no cable to miss; a mesh ends at its first and last
            // position.
            let is_open_end = shape.is_mesh(direction.axis) && at.on(direction.axis) == end;
            if radix > 1 && !is_open_end && placed.ports(direction).is_empty() {
                let switch = SwitchName::new(topology, placed.switch, Some(at));
                warnings.push(TorusWarning::LinkMissing { switch, direction });
            }
        }
    }
}
