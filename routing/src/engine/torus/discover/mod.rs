//! Finding the place of every switch, from the seed outwards.
//!
//! The cube of places at (i, j, k) to (i+1, j+1, k+1) is looked at for every (i, j, k), again and
//! again, until no cable finds its place any more. Switches of the cube that have their places
//! show, by four-cycles of cables that have none, which switch belongs into an empty corner.
//! Only cables without a place are ever looked at, hence the result depends on nothing but the
//! seed and the numbers of ports.
//! Source: OpenSM `osm_torus.c` (`build_torus`).
//!
//! # The rounds
//!
//! ```text
//! seed        up to seven switches: the common one and a neighbour each way
//! pass 1..n   for each cube: link neighbours that are placed, fill corners, link again
//! the end     a pass in which no cable found its place
//! strays      torus-proved only: switches that their neighbours leave one place
//! finish      local ports; what found no place is told
//! ```
//!
//! A cube is asked for a *fingerprint*: which of its corners are empty. The table in `fingerprint`
//! says what to try for it. Each pass fills whatever touches what is known.
//!
//! # What it cannot see
//!
//! Nothing here knows what was meant. A wrong radix or a swapped cable gives some torus, less than
//! all of it, or two places for one switch; only the last is an error. What is left over is warned
//! about, which OpenSM does at info level.

mod cables;
mod finish;
mod link;
mod strays;

use self::cables::Cables;
pub(in crate::engine) use self::strays::Strays;
use super::config::TorusConfig;
use super::fingerprint::{self, Attempt, Offset, Search};
use super::verify::Setup;
use crate::engine::torus::reason::TorusReason;
use crate::engine::torus::warning::TorusWarning;
use crate::error::SwitchName;
use crate::placement::Torus;
use crate::placement::{Axis, Coordinate, Shape};
use crate::topology::{SwitchIx, Topology};
use std::collections::BTreeSet;

/// Places all switches that can be placed, and their ports.
/// Errors: seed switches of absent axes that are missing, a switch in two places, too many local
/// ports.
/// Missing switches are none of the errors: `accept` judges those.
pub(super) fn discover(
    topology: &Topology,
    config: &TorusConfig,
    setup: &Setup,
    strays: Strays,
    warnings: &mut Vec<TorusWarning>,
) -> Result<Torus, Vec<TorusReason>> {
    let mut search = Discovery {
        topology,
        cables: Cables::new(topology),
        torus: Torus::empty(setup.shape, topology.switches.len(), setup.seed),
        shape: setup.shape,
        limit: config.portgroup_max_ports,
        strays,
        vacant: BTreeSet::new(),
        warnings,
    };
    search.place_seed(config, setup)?;
    search.place_all();
    if strays == Strays::Place {
        // Behind the usual search, so that what torus-2QoS places comes out where it puts it.
        search.place_strays();
        search.refuse_remains_of_a_seed(setup)?;
    }
    search.place_local_ports()?;
    search.report_leftovers();
    Ok(search.torus)
}

/// A search under way.
/// Lives for one routing; only the torus is kept of it.
struct Discovery<'a> {
    topology: &'a Topology,
    cables: Cables,
    torus: Torus,
    shape: Shape,
    /// Most ports in a group.
    /// `portgroup_max_ports`, for cables of one direction and for local ports alike.
    limit: u32,
    strays: Strays,
    /// Places of seed switches that are not in the fabric.
    /// Known to be somebody's, so no stray is put there. Empty unless strays are placed.
    vacant: BTreeSet<Coordinate>,
    warnings: &'a mut Vec<TorusWarning>,
}

impl Discovery<'_> {
    /// Puts the seed's switches where its datelines say.
    fn place_seed(&mut self, config: &TorusConfig, setup: &Setup) -> Result<(), Vec<TorusReason>> {
        let Some(seed) = config.seeds.get(setup.seed) else {
            return Err(vec![TorusReason::NoSeed]);
        };
        let origin = Coordinate([0; 3]);
        // A dateline tells where coordinate 0 lies as seen from the common switch, so that is at
        // minus it.
        let base = self
            .shape
            .offset(origin, seed.dateline.map(i32::wrapping_neg));
        let mut reasons = Vec::new();
        let mut is_empty = true;
        for (direction, link) in seed.given() {
            is_empty = false;
            let next = self.shape.neighbour(base, direction);
            // The common switch is put again with each link; a place that is filled stays as it is.
            for (guid, at) in [(link.common, base), (link.neighbour, next)] {
                let switch = setup.switches.get(&guid).copied();
                if switch.is_none() && self.strays == Strays::Place {
                    self.vacant.insert(at);
                } else if !self.put(at, switch) {
                    reasons.push(TorusReason::SeedPlacement {
                        direction,
                        guid,
                        line: link.line,
                    });
                }
            }
        }
        if is_empty {
            reasons.push(TorusReason::NoSeed);
        }
        if reasons.is_empty() {
            Ok(())
        } else {
            Err(reasons)
        }
    }

    /// Looks at every cube, again and again, while cables find places.
    /// Cost: O(places) fingerprints for each pass.
    fn place_all(&mut self) {
        loop {
            let before = self.placed_cables();
            for at in self.shape.coordinates() {
                self.locate(at);
            }
            // Cables and not switches: a cube that links two known switches may let its neighbour
            // go on.
            if self.placed_cables() == before {
                return;
            }
        }
    }

    /// How many cables have their places.
    fn placed_cables(&self) -> usize {
        self.cables.placed.iter().filter(|placed| **placed).count()
    }

    /// Fills corners of the cube at `at` until nothing more can be told.
    /// Cubes at an open end would wrap round to the other end and are left out.
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
            // The first that succeeds ends the round: it changes the fingerprint.
            if !attempts.any(|attempt| self.attempt(at, attempt)) {
                // OpenSM links once more here: a search that failed may have linked a ring.
                self.link_cube(at);
                return;
            }
        }
    }

    /// Which corners of a cube are empty, and which axes exist.
    /// For a flat torus corners along the absent axis are the same place, and have no bit of their
    /// own.
    fn fingerprint(&self, at: Coordinate) -> u16 {
        let exists = self.shape.radix.map(|radix| u16::from(radix > 1));
        let mut code = exists[0] << 8 | exists[1] << 9 | exists[2] << 10;
        for corner in CORNERS {
            // The number of the corner, with absent axes counted as 0.
            let bit = (0..3)
                .map(|axis| (u16::from(corner[axis] == 1) * exists[axis]) << axis)
                .sum();
            if self.switch_at(at, corner).is_none() {
                code |= 1 << u16::min(bit, 7);
            }
        }
        code
    }

    /// Tries to fill a corner of the cube at `at`. True when it did.
    /// A search that is not safe yet counts as none; a later pass may find it safe.
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
                // May link cables of the ring that it looks at, whatever comes of it, as OpenSM's
                // does.
                if !self.is_safe(axis, self.shape.offset(at, guard)) {
                    return false;
                }
                self.upright(at, [base, foot, behind], side)
            }
        };
        self.put(self.shape.offset(at, attempt.target), found)
    }

    /// The fourth corner of a face, where the other three have their switches.
    fn corner(&self, at: Coordinate, a: Offset, b: Offset, c: Offset) -> Option<SwitchIx> {
        let [a, b, c] = [a, b, c].map(|offset| self.switch_at(at, offset));
        self.cables.corner(a?, b?, c?)
    }

    /// The end of the perpendicular at the foot. All the others must have their switches, also the
    /// one behind the foot.
    /// In three dimensions the end must close four-cycles on two sides; in two only one is there.
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

    /// Fills a place. True when it has a switch afterwards; one that it has already stays.
    /// OpenSM does not compare either: a switch that fits twice shows when local ports are placed.
    fn put(&mut self, at: Coordinate, switch: Option<SwitchIx>) -> bool {
        if self.torus.pool_at(at).is_some() {
            return true;
        }
        let Some(switch) = switch else { return false };
        self.torus.put(switch, at);
        true
    }

    /// The switch at a corner of the cube.
    fn switch_at(&self, at: Coordinate, offset: Offset) -> Option<SwitchIx> {
        Some(self.torus.at(self.shape.offset(at, offset))?.switch)
    }

    /// A switch for a message.
    fn name(&self, switch: SwitchIx) -> SwitchName {
        SwitchName::new(self.topology, switch, self.torus.coordinate(switch))
    }
}

/// Corners of a cube, x fastest.
/// Along an absent axis 0 and 1 are the same place.
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
