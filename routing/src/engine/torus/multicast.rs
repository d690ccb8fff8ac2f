//! Multicast: one spanning tree of the whole torus, of which every group uses a part.
//!
//! Made so that together with unicast it closes no circle of dependencies while the torus is
//! whole: branches run along x, then y, then z, and cross a dateline only on broken rings.
//! Source: OpenSM `osm_torus.c` (`torus_master_stree`, `torus_mcast_stree`).

use sa_wire::{Mlid, Sl};

use crate::error::{Reason, SwitchName};
use crate::placement::{Axis, Coordinate, Direction, Shape};
use crate::placement::{PoolIx, Torus};
use crate::proof::MulticastRoute;
use crate::tables::{MulticastTable, PortSet};
use crate::topology::{EndPortIx, Peer, SwitchIx, Topology};

/// The spanning tree of a torus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MulticastTree {
    root: PoolIx,
    /// By pool index: hangs below another switch.
    hangs: Vec<bool>,
    /// By pool index: groups away from the root, bit by group.
    down: Vec<u8>,
}

impl MulticastTree {
    /// Builds the tree.
    /// Errors: [`Reason::NoMulticastRoot`], [`Reason::NotInMulticastTree`].
    pub fn of(topology: &Topology, torus: &Torus) -> Result<Self, Reason> {
        let Some(root) = root(torus) else {
            return Err(Reason::NoMulticastRoot {
                missing: torus.empty_places().collect(),
            });
        };
        let count = torus.switches().len();
        let mut tree = Self {
            root,
            hangs: vec![false; count],
            down: vec![0; count],
        };
        tree.grow(torus);
        let is_outside = |ix: &PoolIx| *ix != root && !tree.hangs[*ix as usize];
        let name = |ix: PoolIx| {
            let placed = torus.get(ix);
            SwitchName::new(topology, placed.switch, Some(placed.at))
        };
        let switches: Vec<_> = torus.pool_ixs().filter(is_outside).map(name).collect();
        if switches.is_empty() {
            Ok(tree)
        } else {
            Err(Reason::NotInMulticastTree { switches })
        }
    }

    /// A tree of given bundles: by switch, groups to its neighbours in the tree, a bit each.
    /// Switches that they do not join to the root stay outside.
    pub(in crate::engine) fn spanned(torus: &Torus, root: PoolIx, groups: &[u8]) -> Self {
        let mut tree = Self {
            root,
            hangs: vec![false; groups.len()],
            down: vec![0; groups.len()],
        };
        let mut open = vec![root];
        while let Some(here) = open.pop() {
            let chosen = groups[here as usize];
            for direction in Direction::ALL {
                let is_chosen = chosen >> direction.group() & 1 == 1;
                let next = torus.neighbour(here, direction).filter(|_| is_chosen);
                let Some(next) = next.filter(|next| *next != root && !tree.hangs[*next as usize])
                else {
                    continue;
                };
                tree.hangs[next as usize] = true;
                tree.down[here as usize] |= 1 << direction.group();
                open.push(next);
            }
        }
        tree
    }

    /// The switch at the root.
    pub fn root(&self, torus: &Torus) -> SwitchIx {
        torus.get(self.root).switch
    }

    pub(in crate::engine) const fn root_in_pool(&self) -> PoolIx {
        self.root
    }

    /// True when the switch is the root or hangs below it.
    pub(in crate::engine) fn holds(&self, switch: PoolIx) -> bool {
        switch == self.root || self.hangs[switch as usize]
    }

    /// Every step away from the root: a switch and the direction of a neighbour below it.
    pub fn branches<'t>(
        &'t self,
        torus: &'t Torus,
    ) -> impl Iterator<Item = (SwitchIx, Direction)> + 't {
        torus
            .switches()
            .iter()
            .zip(&self.down)
            .flat_map(|(placed, down)| {
                let down = Direction::ALL
                    .into_iter()
                    .filter(|it| *down >> it.group() & 1 == 1);
                down.map(|direction| (placed.switch, direction))
            })
    }

    /// Every bundle of cables in the tree: a switch and the group to a switch below it.
    pub(in crate::engine) fn bundles<'t>(
        &'t self,
        torus: &'t Torus,
    ) -> impl Iterator<Item = (PoolIx, u8)> + 't {
        torus.pool_ixs().flat_map(|ix| {
            let down = self.down[ix as usize];
            let groups = (0..6).filter(move |group| down >> group & 1 == 1);
            groups.map(move |group| (ix, group))
        })
    }

    /// The part of the tree that reaches the members of a group, or of all groups that share an
    /// MLID. Branches without members are left out, as are members outside the tree; the way from
    /// the root down stays.
    pub fn table(
        &self,
        topology: &Topology,
        torus: &Torus,
        mlid: Mlid,
        members: &[EndPortIx],
    ) -> MulticastTable {
        let mut ports = vec![PortSet::default(); torus.switches().len()];
        let mut left_out = Vec::new();
        for member in members {
            let attached = topology.end_port(*member).attached;
            let place = attached.and_then(|(switch, port)| Some((torus.pool_of(switch)?, port)));
            match place.filter(|(ix, _)| self.holds(*ix)) {
                Some((ix, port)) => ports[ix as usize].insert(port),
                None => left_out.push(*member),
            }
        }
        self.reach(topology, torus, mlid, self.root, &mut ports);
        let named = torus
            .pool_ixs()
            .zip(ports)
            .filter(|(_, ports)| !ports.is_empty());
        let mut switches: Vec<_> = named
            .map(|(ix, ports)| (torus.get(ix).switch, ports))
            .collect();
        switches.sort_by_key(|(switch, _)| *switch);
        MulticastTable {
            mlid,
            switches,
            left_out,
        }
    }

    /// Groups of everybody: see [`crate::Routes::worst_groups`].
    pub(crate) fn worst_groups(&self, topology: &Topology, torus: &Torus) -> Vec<MulticastRoute> {
        let members: Vec<EndPortIx> = topology.end_port_ixs().collect();
        let first = Mlid::MIN.get();
        let mlids = (first..first + self.sharings(torus)).filter_map(|mlid| Mlid::new(mlid).ok());
        let groups = mlids.flat_map(|mlid| {
            let table = self.table(topology, torus, mlid, &members);
            [0, 8].map(|sl| MulticastRoute {
                sl: Sl::from_low_bits(sl),
                switches: table.switches.clone(),
            })
        });
        groups.collect()
    }

    /// In how many ways MLIDs share the cables of bundles out; no more than some.
    fn sharings(&self, torus: &Torus) -> u16 {
        const MOST: u16 = 60;
        let cables = self.branches(torus).map(|(switch, direction)| {
            let placed = torus.placed(switch);
            placed.map_or(1, |placed| placed.ports(direction).len())
        });
        let ways = cables.fold(1_u16, |ways, cables| {
            let cables = u16::try_from(cables).unwrap_or(MOST).max(1);
            let common = (1..=ways.min(cables))
                .rev()
                .find(|it| ways % it == 0 && cables % it == 0);
            (ways / common.unwrap_or(1)).saturating_mul(cables)
        });
        ways.min(MOST)
    }

    /// Adds the cables to the subtrees below a switch that have members. True when there is any
    /// member at or below it. No deeper than the ways in the torus are long.
    fn reach(
        &self,
        topology: &Topology,
        torus: &Torus,
        mlid: Mlid,
        from: PoolIx,
        ports: &mut [PortSet],
    ) -> bool {
        let placed = torus.get(from);
        let down = self.down[from as usize];
        for direction in Direction::ALL
            .into_iter()
            .filter(|it| down >> it.group() & 1 == 1)
        {
            let Some(next) = torus.neighbour(from, direction) else {
                continue;
            };
            if next == self.root || !self.reach(topology, torus, mlid, next, ports) {
                continue;
            }
            // Parallel cables share the groups out.
            let cables = placed.ports(direction);
            let port = cables[usize::from(mlid.get()) % cables.len()];
            ports[from as usize].insert(port);
            if let Peer::Switch { port, .. } = topology.peer(placed.switch, port) {
                ports[next as usize].insert(port);
            }
        }
        !ports[from as usize].is_empty()
    }

    fn grow(&mut self, torus: &Torus) {
        let shape = torus.shape();
        self.branch(torus, self.root, Axis::X);
        let root = torus.get(self.root).at;
        for x in 0..shape.radix_of(Axis::X) {
            let along_x = root.with(Axis::X, x);
            if let Some(from) = torus.pool_at(along_x) {
                self.branch(torus, from, Axis::Y);
            }
            for y in 0..shape.radix_of(Axis::Y) {
                if let Some(from) = torus.pool_at(along_x.with(Axis::Y, y)) {
                    self.branch(torus, from, Axis::Z);
                }
            }
        }
    }

    /// Grows both ways from a switch up to the dateline; if a gap stops that, across it too.
    fn branch(&mut self, torus: &Torus, from: PoolIx, axis: Axis) {
        let radix = torus.shape().radix_of(axis);
        let position = torus.get(from).at.on(axis);
        let mut tips = [(axis.minus(), Some(from)), (axis.plus(), Some(from))];
        let room = [position, radix - 1 - position];
        for ((direction, tip), steps) in tips.iter_mut().zip(room) {
            for _ in 0..steps {
                *tip = tip.and_then(|tip| self.step(torus, tip, *direction));
            }
        }
        if tips.iter().all(|(_, tip)| tip.is_some()) {
            return;
        }
        for _ in 0..radix {
            for (direction, tip) in &mut tips {
                *tip = tip.and_then(|tip| self.step(torus, tip, *direction));
            }
        }
    }

    /// One step; none where there is no cable or the switch hangs on the tree already. The root
    /// counts as not hanging.
    fn step(&mut self, torus: &Torus, tip: PoolIx, direction: Direction) -> Option<PoolIx> {
        let next = torus.neighbour(tip, direction)?;
        if std::mem::replace(&mut self.hangs[next as usize], true) {
            return None;
        }
        self.down[tip as usize] |= 1 << direction.group();
        Some(next)
    }
}

/// A switch near the middle, in a plane of constant z without gaps if there is one.
fn root(torus: &Torus) -> Option<PoolIx> {
    let shape = torus.shape();
    let middle = shape.radix_of(Axis::Z) / 2;
    let plane = |steps: i32| {
        shape
            .offset(Coordinate([0, 0, middle]), [0, 0, steps])
            .on(Axis::Z)
    };
    let is_whole = |z: &u8| {
        let places = shape.coordinates().filter(|at| at.on(Axis::Z) == *z);
        places.into_iter().all(|at| torus.pool_at(at).is_some())
    };
    let both_ways = (1..=i32::from(middle)).flat_map(|steps| [-steps, steps]);
    let planes = std::iter::once(0).chain(both_ways).map(plane);
    let whole = planes
        .into_iter()
        .filter(is_whole)
        .find_map(|z| middle_of_plane(torus, z));
    whole.or_else(|| middle_of_plane(torus, middle))
}

/// The switch nearest to the middle of a plane, on one diagonal, whose x and y ring have all their
/// switches.
fn middle_of_plane(torus: &Torus, z: u8) -> Option<PoolIx> {
    let shape = torus.shape();
    let [x, y, _] = shape.radix.map(|radix| radix / 2);
    let middle = Coordinate([x, y, z]);
    let both_ways = (1..=i32::from(x.min(y))).flat_map(|steps| [-steps, steps]);
    let diagonal = std::iter::once(0).chain(both_ways);
    let places = diagonal.map(|steps| shape.offset(middle, [steps, steps, 0]));
    places
        .into_iter()
        .find(|at| rings_are_whole(torus, shape, *at))
        .and_then(|at| torus.pool_at(at))
}

fn rings_are_whole(torus: &Torus, shape: Shape, at: Coordinate) -> bool {
    [Axis::X, Axis::Y].into_iter().all(|axis| {
        let mut ring = (0..shape.radix_of(axis)).map(|position| at.with(axis, position));
        ring.all(|at| torus.pool_at(at).is_some())
    })
}
