//! Whether a placed torus, with what is missing, can be routed without deadlock.
//! Source: OpenSM `osm_torus.c` (`routable_torus`).
//!
//! A ring with one gap is a line, and packets go the long way round. With two gaps it is two pieces, and no
//! SL of torus-2QoS leads from one to the other. A missing switch is two gaps on each of its rings at once:
//! where it is the only one, dimension order turns beside it.

use crate::engine::torus::reason::TorusReason;
use crate::engine::torus::warning::TorusWarning;
use crate::error::SwitchName;
use crate::placement::Torus;
use crate::placement::{Axis, Coordinate, Direction};
use crate::topology::Topology;

/// Every reason why not; none when it can. What is missing goes to `warnings` in any case.
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
    places.len() < 2 || (is_one_column && !places.iter().any(is_alone))
}

/// The switches of a ring that lack a neighbour, on each side, must be one at most: then the ring
/// is whole, or a line.
fn judge_rings(torus: &Torus, axis: Axis, reasons: &mut Vec<TorusReason>) {
    let starts = torus.shape().coordinates().filter(|at| at.on(axis) == 0);
    for through in starts {
        let lacking = |direction| lacking_on_ring(torus, through, direction);
        let (minus, gaps) = (lacking(axis.minus()), lacking(axis.plus()));
        // A cable has two ends: where the counts differ, one side has found no place.
        if minus.len() != gaps.len() {
            let (minus, plus) = (minus.len(), gaps.len());
            reasons.push(TorusReason::RingStrange {
                axis,
                through,
                minus,
                plus,
            });
        }
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
fn lacking_on_ring(torus: &Torus, through: Coordinate, direction: Direction) -> Vec<Coordinate> {
    let positions = 0..torus.shape().radix_of(direction.axis);
    let ring = positions.filter_map(|at| torus.at(through.with(direction.axis, at)));
    ring.filter(|switch| switch.ports(direction).is_empty())
        .map(|switch| switch.at)
        .collect()
}

/// Empty places, and switches without a cable where the shape has one.
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
            let is_open_end = shape.is_mesh(direction.axis) && at.on(direction.axis) == end;
            if radix > 1 && !is_open_end && placed.ports(direction).is_empty() {
                let switch = SwitchName::new(topology, placed.switch, Some(at));
                warnings.push(TorusWarning::LinkMissing { switch, direction });
            }
        }
    }
}
