//! Finding the place of every switch, from the seed outwards.
//!
//! The cube of places at (i, j, k) to (i+1, j+1, k+1) is looked at for every (i, j, k), again and
//! again, until no cable finds its place any more. Switches of the cube that have their places
//! show, by four-cycles of cables that have none, which switch belongs into an empty corner.
//! Only cables without a place are ever looked at, hence the result depends on nothing but the
//! seed and the numbers of ports.
//! Source: OpenSM `osm_torus.c` (`build_torus`).

use super::config::TorusConfig;
use super::fingerprint::{self, Attempt, Offset, Search};
use super::geometry::{Axis, Coordinate, Direction, Shape};
use super::placement::{LOCAL_GROUP, PoolIx, Torus};
use super::verify::Setup;
use crate::error::{Reason, SwitchName, Warning};
use crate::topology::{SwitchIx, Topology};

/// Places all switches that can be placed, and their ports.
/// Errors: seed switches of absent axes that are missing, a switch in two places, too many local
/// ports.
pub(super) fn discover(
    topology: &Topology,
    config: &TorusConfig,
    setup: &Setup,
    warnings: &mut Vec<Warning>,
) -> Result<Torus, Vec<Reason>> {
    let mut search = Discovery {
        topology,
        cables: Cables::new(topology),
        torus: Torus::empty(setup.shape, topology.switches.len(), setup.seed),
        shape: setup.shape,
        limit: config.portgroup_max_ports,
        warnings,
    };
    search.place_seed(config, setup)?;
    search.place_all();
    search.place_local_ports()?;
    search.report_leftovers();
    Ok(search.torus)
}

struct Discovery<'a> {
    topology: &'a Topology,
    cables: Cables,
    torus: Torus,
    shape: Shape,
    /// Most ports in a group.
    limit: u32,
    warnings: &'a mut Vec<Warning>,
}

/// Cables between switches.
struct Cables {
    /// By switch, by ascending port.
    ends: Vec<Vec<CableEnd>>,
    /// By cable: it has found its place in the torus.
    placed: Vec<bool>,
}

#[derive(Clone, Copy)]
struct CableEnd {
    port: u8,
    far: SwitchIx,
    far_port: u8,
    cable: usize,
}

impl Cables {
    fn new(topology: &Topology) -> Self {
        let mut ends: Vec<Vec<CableEnd>> = vec![Vec::new(); topology.switches.len()];
        let mut count = 0;
        for switch in topology.switch_ixs() {
            for (port, far, far_port) in topology.cables(switch) {
                let is_second_end = (far, far_port) < (switch, port);
                let known = is_second_end
                    .then(|| ends[far.index()].iter().find(|end| end.port == far_port))
                    .flatten();
                let cable = known.map_or(count, |end| end.cable);
                count += usize::from(known.is_none());
                ends[switch.index()].push(CableEnd {
                    port,
                    far,
                    far_port,
                    cable,
                });
            }
        }
        Self {
            ends,
            placed: vec![false; count],
        }
    }

    /// Cables of a switch that have no place yet.
    fn unplaced(&self, switch: SwitchIx) -> impl Iterator<Item = CableEnd> + '_ {
        self.ends[switch.index()]
            .iter()
            .copied()
            .filter(|end| !self.placed[end.cable])
    }

    /// The neighbour of `a` other than `b` that is also one of `c`: the fourth corner of the face
    /// a-b-c, opposite `b`.
    fn corner(&self, a: SwitchIx, b: SwitchIx, c: SwitchIx) -> Option<SwitchIx> {
        let around = self.unplaced(a).map(|end| end.far).filter(|far| *far != b);
        around
            .into_iter()
            .find(|far| self.unplaced(*far).any(|end| end.far == c))
    }
}

impl Discovery<'_> {
    fn place_seed(&mut self, config: &TorusConfig, setup: &Setup) -> Result<(), Vec<Reason>> {
        let Some(seed) = config.seeds.get(setup.seed) else {
            return Err(vec![Reason::NoSeed]);
        };
        let origin = Coordinate([0; 3]);
        let base = self
            .shape
            .offset(origin, seed.dateline.map(i32::wrapping_neg));
        let mut reasons = Vec::new();
        let mut is_empty = true;
        for (direction, link) in seed.given() {
            is_empty = false;
            let next = self.shape.neighbour(base, direction);
            for (guid, at) in [(link.common, base), (link.neighbour, next)] {
                if !self.put(at, setup.switches.get(&guid).copied()) {
                    reasons.push(Reason::SeedPlacement {
                        direction,
                        guid,
                        line: link.line,
                    });
                }
            }
        }
        if is_empty {
            reasons.push(Reason::NoSeed);
        }
        if reasons.is_empty() {
            Ok(())
        } else {
            Err(reasons)
        }
    }

    fn place_all(&mut self) {
        loop {
            let before = self.placed_cables();
            for at in self.shape.coordinates() {
                self.locate(at);
            }
            if self.placed_cables() == before {
                return;
            }
        }
    }

    fn placed_cables(&self) -> usize {
        self.cables.placed.iter().filter(|placed| **placed).count()
    }

    /// Fills corners of the cube at `at` until nothing more can be told.
    fn locate(&mut self, at: Coordinate) {
        let ends_here = |axis: Axis| {
            let radix = self.shape.radix_of(axis);
            self.shape.is_mesh(axis) && radix > 1 && at.on(axis) == radix - 1
        };
        if Axis::ALL.into_iter().any(ends_here) {
            return;
        }
        loop {
            self.link_cube(at);
            let mut attempts = fingerprint::attempts(self.fingerprint(at)).peekable();
            if attempts.peek().is_none() {
                return;
            }
            if !attempts.any(|attempt| self.attempt(at, attempt)) {
                self.link_cube(at);
                return;
            }
        }
    }

    /// Which corners of a cube are empty, and which axes exist.
    fn fingerprint(&self, at: Coordinate) -> u16 {
        let exists = self.shape.radix.map(|radix| u16::from(radix > 1));
        let mut code = exists[0] << 8 | exists[1] << 9 | exists[2] << 10;
        for corner in CORNERS {
            let bit = (0..3)
                .map(|axis| (u16::from(corner[axis] == 1) * exists[axis]) << axis)
                .sum();
            if self.switch_at(at, corner).is_none() {
                code |= 1 << u16::min(bit, 7);
            }
        }
        code
    }

    fn attempt(&mut self, at: Coordinate, attempt: &Attempt) -> bool {
        let found = match attempt.search {
            Search::Corner([a, b, c]) => self.corner(at, a, b, c),
            Search::Upright {
                base,
                foot,
                side,
                behind,
                axis,
                guard,
            } => {
                if !self.is_safe(axis, self.shape.offset(at, guard)) {
                    return false;
                }
                self.upright(at, [base, foot, behind], side)
            }
        };
        self.put(self.shape.offset(at, attempt.target), found)
    }

    fn corner(&self, at: Coordinate, a: Offset, b: Offset, c: Offset) -> Option<SwitchIx> {
        let [a, b, c] = [a, b, c].map(|offset| self.switch_at(at, offset));
        self.cables.corner(a?, b?, c?)
    }

    /// The end of the perpendicular at the foot. All the others must have their switches, also the
    /// one behind the foot.
    fn upright(&self, at: Coordinate, from: [Offset; 3], side: Option<Offset>) -> Option<SwitchIx> {
        let [base, foot, behind] = from.map(|offset| self.switch_at(at, offset));
        let (base, foot, behind) = (base?, foot?, behind?);
        let side = match side {
            Some(side) => Some(self.switch_at(at, side)?),
            None => None,
        };
        let ends = self
            .cables
            .unplaced(foot)
            .map(|end| end.far)
            .filter(|far| *far != behind);
        ends.into_iter().find(|end| {
            self.cables.corner(base, foot, *end).is_some()
                && side.is_none_or(|side| self.cables.corner(side, foot, *end).is_some())
        })
    }

    /// A ring of four switches is itself a four-cycle and looks like a face. A perpendicular may
    /// be searched when two cables of each ring of four across it are known.
    fn is_safe(&mut self, axis: Axis, at: Coordinate) -> bool {
        let others = Axis::ALL.into_iter().filter(|other| *other != axis);
        others.into_iter().all(|other| self.ring_is_safe(other, at))
    }

    fn ring_is_safe(&mut self, axis: Axis, at: Coordinate) -> bool {
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

    /// Fills a place. True when it has a switch afterwards; one that it has already stays.
    fn put(&mut self, at: Coordinate, switch: Option<SwitchIx>) -> bool {
        if self.torus.pool_at(at).is_some() {
            return true;
        }
        let Some(switch) = switch else { return false };
        self.torus.put(switch, at);
        true
    }

    fn switch_at(&self, at: Coordinate, offset: Offset) -> Option<SwitchIx> {
        Some(self.torus.at(self.shape.offset(at, offset))?.switch)
    }

    /// Links all neighbours within a cube: edges along x, then y, then z.
    fn link_cube(&mut self, at: Coordinate) {
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
    fn link_places(&mut self, axis: Axis, from: Coordinate, to: Coordinate) -> bool {
        match (self.torus.pool_at(from), self.torus.pool_at(to)) {
            (Some(from), Some(to)) if from != to => self.link(axis.plus(), from, to),
            _ => true,
        }
    }

    /// Cables are taken by the port numbers of the lower switch, which orders both groups.
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

    fn is_full(&mut self, switch: PoolIx, group: usize) -> bool {
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        self.torus.group_mut(switch, group).len() >= limit
    }

    fn report_full(&mut self, from: PoolIx, to: PoolIx) {
        let [from, to] = [from, to].map(|ix| self.name(self.torus.get(ix).switch));
        let warning = Warning::CablesLeftOut {
            from,
            to,
            limit: self.limit,
        };
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    fn place_local_ports(&mut self) -> Result<(), Vec<Reason>> {
        let mut reasons = Vec::new();
        for at in self.shape.coordinates() {
            let Some(ix) = self.torus.pool_at(at) else {
                continue;
            };
            let switch = self.torus.get(ix).switch;
            if self
                .torus
                .coordinate(switch)
                .is_some_and(|first| first != at)
            {
                reasons.push(Reason::PlacedTwice {
                    switch: self.name(switch),
                    again: at,
                });
                continue;
            }
            let hosts = self.topology.hosts(switch).map(|(port, _)| port);
            let ports: Vec<_> = std::iter::once(0).chain(hosts).collect();
            if ports.len() > usize::try_from(self.limit).unwrap_or(usize::MAX) {
                let (switch, ports) = (self.name(switch), ports.len());
                reasons.push(Reason::GroupFull {
                    switch,
                    ports,
                    limit: self.limit,
                });
                continue;
            }
            *self.torus.group_mut(ix, LOCAL_GROUP) = ports;
        }
        if reasons.is_empty() {
            Ok(())
        } else {
            Err(reasons)
        }
    }

    /// Names everything that found no place.
    fn report_leftovers(&mut self) {
        for switch in self.topology.switch_ixs() {
            for end in self.cables.unplaced(switch).collect::<Vec<_>>() {
                if (switch, end.port) < (end.far, end.far_port) {
                    self.warnings.push(Warning::CableOutside {
                        from: self.name(switch),
                        from_port: end.port,
                        to: self.name(end.far),
                        to_port: end.far_port,
                    });
                }
            }
        }
        for switch in self.topology.switch_ixs() {
            if self.torus.placed(switch).is_none() {
                let hosts = self.topology.hosts(switch).count();
                self.warnings.push(Warning::SwitchOutside {
                    switch: self.name(switch),
                    hosts,
                });
            }
        }
        for end in self
            .topology
            .end_ports
            .iter()
            .filter(|end| end.attached.is_none())
        {
            let (description, port) = (end.description.clone(), end.port_number);
            self.warnings
                .push(Warning::HostOutside { description, port });
        }
    }

    fn name(&self, switch: SwitchIx) -> SwitchName {
        SwitchName::new(self.topology, switch, self.torus.coordinate(switch))
    }
}

/// Corners of a cube, x fastest.
const CORNERS: [Offset; 8] = [
    [0, 0, 0],
    [1, 0, 0],
    [0, 1, 0],
    [1, 1, 0],
    [0, 0, 1],
    [1, 0, 1],
    [0, 1, 1],
    [1, 1, 1],
];
