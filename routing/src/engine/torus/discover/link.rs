//! Giving cables their place between neighbours.
//!
//! Until a cable is linked it belongs to nobody and searches may use it. Linking takes it out of
//! the search and puts its two ports into opposite groups of its switches: the +x group of one, the
//! -x group of the other.

use super::{CORNERS, Discovery};
use crate::engine::torus::warning::TorusWarning;
use crate::placement::PoolIx;
use crate::placement::{Axis, Coordinate, Direction};

impl Discovery<'_> {
    /// A ring of four switches is itself a four-cycle and looks like a face. A perpendicular may
    /// be searched when two cables of each ring of four across it are known.
    ///
    /// Linking takes the ring's own cables out of the search, so that what is left of four-cycles
    /// are faces.
    pub(super) fn is_safe(&mut self, axis: Axis, at: Coordinate) -> bool {
        let others = Axis::ALL.into_iter().filter(|other| *other != axis);
        others.into_iter().all(|other| self.ring_is_safe(other, at))
    }

    /// True when the ring along an axis cannot be taken for a face: it is none of four, or two of its cables
    /// are linked.
    fn ring_is_safe(&mut self, axis: Axis, at: Coordinate) -> bool {
        // Open, or longer, or shorter: no ring of the axis is a four-cycle.
        if self.shape.radix_of(axis) != 4 || self.shape.is_mesh(axis) {
            return true;
        }
        let place = |steps: i32| {
            let mut offset = [0; 3];
            offset[axis.index()] = steps;
            self.shape.offset(at, offset)
        };
        let [before, here, after, opposite] = [-1, 0, 1, 2].map(place);
        let known = [before, after, opposite].map(|at| usize::from(self.torus.at(at).is_some()));
        // Of four places three are needed with this one; with less a link could be on the wrong
        // side.
        if known.iter().sum::<usize>() < 2 {
            return false;
        }
        let pairs = [
            (opposite, before),
            (before, here),
            (here, after),
            (after, opposite),
        ];
        // All of them, whatever becomes of the first.
        pairs.into_iter().fold(true, |good, (from, to)| {
            self.link_places(axis, from, to) && good
        })
    }

    /// Links all neighbours within a cube: edges along x, then y, then z.
    pub(super) fn link_cube(&mut self, at: Coordinate) {
        for axis in Axis::ALL {
            for corner in CORNERS
                .into_iter()
                .filter(|corner| corner[axis.index()] == 0)
            {
                let mut far = corner;
                far[axis.index()] = 1;
                let ends = [corner, far].map(|corner| self.shape.offset(at, corner));
                self.link_places(axis, ends[0], ends[1]);
            }
        }
    }

    /// Gives the cables between two neighbouring places their place, if both have switches.
    /// False when a group is full.
    /// A radix of 1 makes a place its own neighbour, which needs no link.
    fn link_places(&mut self, axis: Axis, from: Coordinate, to: Coordinate) -> bool {
        match (self.torus.pool_at(from), self.torus.pool_at(to)) {
            (Some(from), Some(to)) if from != to => self.link(axis.plus(), from, to),
            _ => true,
        }
    }

    /// Cables are taken by the port numbers of the lower switch, which orders both groups.
    /// False leaves the rest of the bundle without a place, which discovery goes on with.
    fn link(&mut self, direction: Direction, from: PoolIx, to: PoolIx) -> bool {
        let [near, far] = [from, to].map(|ix| self.torus.get(ix).switch);
        let ends: Vec<_> = self
            .cables
            .unplaced(near)
            .filter(|end| end.far == far)
            .collect();
        let [out, back] = [direction, direction.opposite()].map(|it| usize::from(it.group()));
        for end in ends {
            // A cable from a switch to itself shows both ends here.
            if self.cables.placed[end.cable] {
                continue;
            }
            // Both ends are asked before anything is pushed, so that groups of a bundle have equal
            // lengths.
            if self.is_full(from, out) || self.is_full(to, back) {
                self.report_full(from, to);
                return false;
            }
            self.cables.placed[end.cable] = true;
            self.torus.group_mut(from, out).push(end.port);
            self.torus.group_mut(to, back).push(end.far_port);
        }
        true
    }

    /// True when a group has as many ports as are configured.
    fn is_full(&mut self, switch: PoolIx, group: usize) -> bool {
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        self.torus.group_mut(switch, group).len() >= limit
    }

    /// Tells of cables that were left out, once for each pair of switches.
    fn report_full(&mut self, from: PoolIx, to: PoolIx) {
        let [from, to] = [from, to].map(|ix| self.name(self.torus.get(ix).switch));
        let warning = TorusWarning::CablesLeftOut {
            from,
            to,
            limit: self.limit,
        };
        // The same bundle is tried again in every pass and from every cube that has it.
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }
}
