//! Multicast: one spanning tree of the whole torus, of which every group uses a part.
//!
//! Made so that together with unicast it closes no cycle of dependencies while the torus is
//! whole: branches run along x, then y, then z, and cross a dateline only on broken rings.
//! Source: OpenSM `osm_torus.c` (`torus_master_stree`, `torus_mcast_stree`).
//!
//! # On a torus of 5x3, root at 2,1
//!
//! ```text
//! +    +    +    +    +        one branch along x through the root,
//! |    |    |    |    |        one along y from each switch of that,
//! +────+────R────+────+        one along z from each switch of those (none here)
//! |    |    |    |    |
//! +    +    +    +    +
//! ```
//!
//! No branch crosses a dateline while its ring is whole, so all of it runs on the lanes of SL 0, on
//! which unicast does not cross either. Only where a ring is broken does a branch go round.
//!
//! With one switch missing, tree and unicast together can close a cycle all the same
//! (`docs/routing/torus-2qos.md`, section 5). OpenSM's tree is made so, hence ours is; the proof tells.

use crate::engine::torus::reason::TorusReason;
use crate::error::SwitchName;
use crate::placement::{Axis, Coordinate, Direction, Shape};
use crate::placement::{PoolIx, Torus};
use crate::tables::{Branch, MulticastTree};
use crate::topology::Topology;

/// The spanning tree of a torus, while it is made.
/// By pool index, which means something only beside its torus; [`Self::to_value`] is for others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine) struct TorusTree {
    root: PoolIx,
    /// By pool index: hangs below another switch.
    /// Not the root, which OpenSM treats so: on a whole ring a branch may come back to it.
    hangs: Vec<bool>,
    /// By pool index: groups away from the root, bit by group.
    /// Six bits, so that a tree of 4,096 switches is 4 KiB.
    down: Vec<u8>,
}

impl TorusTree {
    /// Builds the tree.
    /// Errors: [`TorusReason::NoMulticastRoot`], [`TorusReason::NotInMulticastTree`].
    pub(in crate::engine) fn build(
        topology: &Topology,
        torus: &Torus,
    ) -> Result<Self, TorusReason> {
        let Some(root) = root(torus) else {
            return Err(TorusReason::NoMulticastRoot {
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
        // OpenSM names each and refuses; so does this.
        let is_outside = |ix: &PoolIx| *ix != root && !tree.hangs[*ix as usize];
        let name = |ix: PoolIx| {
            let placed = torus.get(ix);
            SwitchName::new(topology, placed.switch, Some(placed.at))
        };
        let switches: Vec<_> = torus.pool_ixs().filter(is_outside).map(name).collect();
        if switches.is_empty() {
            Ok(tree)
        } else {
            Err(TorusReason::NotInMulticastTree { switches })
        }
    }

    /// A tree of given bundles: by switch, groups to its neighbours in the tree, a bit each.
    /// Switches that they do not join to the root stay outside.
    /// For torus-proved, which chooses bundles by its graph.
    pub(in crate::engine) fn spanned(torus: &Torus, root: PoolIx, groups: &[u8]) -> Self {
        let mut tree = Self {
            root,
            hangs: vec![false; groups.len()],
            down: vec![0; groups.len()],
        };
        let mut open = vec![root];
        // A tree already, so any order visits the same.
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
    pub(in crate::engine) const fn root(&self) -> PoolIx {
        self.root
    }

    /// True when the switch is the root or hangs below it.
    pub(in crate::engine) fn holds(&self, switch: PoolIx) -> bool {
        switch == self.root || self.hangs[switch as usize]
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

    /// As a value that stands without the torus. Branches in the order of placement.
    pub(in crate::engine) fn to_value(&self, torus: &Torus) -> MulticastTree {
        let branches = torus.pool_ixs().flat_map(|ix| self.branches(torus, ix));
        MulticastTree::new(torus.get(self.root).switch, branches)
    }

    /// The steps away from the root at one switch.
    fn branches<'t>(&'t self, torus: &'t Torus, from: PoolIx) -> impl Iterator<Item = Branch> + 't {
        let placed = torus.get(from);
        let down = self.down[from as usize];
        let directions = Direction::ALL.into_iter();
        let directions = directions.filter(move |it| down >> it.group() & 1 == 1);
        directions.filter_map(move |direction| {
            let next = torus.neighbour(from, direction)?;
            Some(Branch {
                from: placed.switch,
                to: torus.get(next).switch,
                ports: placed.ports(direction).to_vec(),
            })
        })
    }

    /// One branch along x through the root, one along y from each switch on it, and one along z from each on
    /// those.
    /// The order decides who gets which switch where branches could meet.
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
    /// If one side stopped early, steps alternate from both tips until neither goes on.
    fn branch(&mut self, torus: &Torus, from: PoolIx, axis: Axis) {
        let radix = torus.shape().radix_of(axis);
        let position = torus.get(from).at.on(axis);
        let mut tips = [(axis.minus(), Some(from)), (axis.plus(), Some(from))];
        // As many steps as there are switches before the dateline on either side.
        let room = [position, radix - 1 - position];
        for ((direction, tip), steps) in tips.iter_mut().zip(room) {
            for _ in 0..steps {
                *tip = tip.and_then(|tip| self.step(torus, tip, *direction));
            }
        }
        if tips.iter().all(|(_, tip)| tip.is_some()) {
            return;
        }
        // Minus before plus, one step each, as OpenSM grows them: what one takes the other cannot.
        for _ in 0..radix {
            for (direction, tip) in &mut tips {
                *tip = tip.and_then(|tip| self.step(torus, tip, *direction));
            }
        }
    }

    /// One step; none where there is no cable or the switch hangs on the tree already. The root
    /// counts as not hanging.
    /// Marks the next switch as hanging, also where it was before.
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
/// Planes are tried from the middle outwards, one below before one above.
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
    // No plane is whole: the middle one will have to do, if some switch in it has whole rings.
    whole.or_else(|| middle_of_plane(torus, middle))
}

/// The switch nearest to the middle of a plane, on one diagonal, whose x and y ring have all their
/// switches.
/// Only places on the diagonal are tried, as in OpenSM: a torus whose x or y is 1 has one.
fn middle_of_plane(torus: &Torus, z: u8) -> Option<PoolIx> {
    let shape = torus.shape();
    let [x, y, _] = shape.radix.map(|radix| radix / 2);
    let middle = Coordinate([x, y, z]);
    // Towards the lower corner before the upper one.
    let both_ways = (1..=i32::from(x.min(y))).flat_map(|steps| [-steps, steps]);
    let diagonal = std::iter::once(0).chain(both_ways);
    let places = diagonal.map(|steps| shape.offset(middle, [steps, steps, 0]));
    places
        .into_iter()
        .find(|at| rings_are_whole(torus, shape, *at))
        .and_then(|at| torus.pool_at(at))
}

/// True when no place is empty on the x and the y ring through a place.
/// Switches are asked for, not cables: a broken cable is what the tree goes round.
fn rings_are_whole(torus: &Torus, shape: Shape, at: Coordinate) -> bool {
    [Axis::X, Axis::Y].into_iter().all(|axis| {
        let mut ring = (0..shape.radix_of(axis)).map(|position| at.with(axis, position));
        ring.all(|at| torus.pool_at(at).is_some())
    })
}
