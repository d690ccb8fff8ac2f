//! A torus: which switch is where, and which of its ports lead in which direction.

use sa_wire::Sl;

use super::geometry::{Axis, Coordinate, Direction, Shape};
use crate::topology::{SwitchIx, count32};

/// Index into [`Torus::switches`].
pub(crate) type PoolIx = u32;

/// Number of the port group of local ports: port 0 and ports with a CA or router.
pub const LOCAL_GROUP: usize = 6;

/// Switches of a fabric in their places. Made by [`crate::engine::torus::place`].
#[derive(Debug, Clone)]
pub struct Torus {
    shape: Shape,
    /// In the order of placement, which decides how routes spread over parallel cables.
    pool: Vec<PlacedSwitch>,
    /// By place: index into `pool`.
    places: Vec<Option<PoolIx>>,
    /// By switch index: index into `pool`.
    by_switch: Vec<Option<PoolIx>>,
    /// By switch index: its place. Beside `pool`, since SLs are asked for often.
    coordinates: Vec<Option<Coordinate>>,
    /// Which seed was used, from 0.
    pub(crate) seed: usize,
}

/// A switch in its place.
#[derive(Debug, Clone)]
pub struct PlacedSwitch {
    /// The switch, by its index in the fabric.
    pub switch: SwitchIx,
    /// Where it is in the torus.
    pub at: Coordinate,
    /// Its ports by group: by [`Direction::group`], then [`LOCAL_GROUP`]. Within a group in the
    /// order that spreading and multicast use.
    pub groups: [Vec<u8>; 7],
}

impl PlacedSwitch {
    /// Ports that lead in a direction. All lead to the same switch.
    pub fn ports(&self, direction: Direction) -> &[u8] {
        &self.groups[usize::from(direction.group())]
    }

    /// Port 0 and the ports with a CA or router.
    pub fn local_ports(&self) -> &[u8] {
        &self.groups[LOCAL_GROUP]
    }
}

impl Torus {
    /// Without any switch. `switches` is how many the fabric has.
    pub(crate) fn empty(shape: Shape, switches: usize, seed: usize) -> Self {
        Self {
            shape,
            pool: Vec::new(),
            places: vec![None; shape.places()],
            by_switch: vec![None; switches],
            coordinates: vec![None; switches],
            seed,
        }
    }

    /// The places of the switches that are left. `new` gives a switch its index now, of `switches`.
    /// Cables are not looked at.
    pub(crate) fn survivors(
        &self,
        switches: usize,
        new: impl Fn(SwitchIx) -> Option<SwitchIx>,
    ) -> Self {
        let mut left = Self::empty(self.shape, switches, self.seed);
        for placed in &self.pool {
            if let Some(switch) = new(placed.switch) {
                left.put(switch, placed.at);
                if let Some(copy) = left.pool.last_mut() {
                    copy.groups.clone_from(&placed.groups);
                }
            }
        }
        left
    }

    /// Radices and open axes.
    pub const fn shape(&self) -> Shape {
        self.shape
    }

    /// Number of the seed that was used, from 0.
    pub const fn seed(&self) -> usize {
        self.seed
    }

    /// All switches in the torus, in the order of placement.
    pub fn switches(&self) -> &[PlacedSwitch] {
        &self.pool
    }

    /// Switches by place, z outermost: the order of opensm-torus.dump.
    pub fn by_place(&self) -> impl Iterator<Item = &PlacedSwitch> {
        self.places
            .iter()
            .filter_map(|pool| Some(&self.pool[(*pool)? as usize]))
    }

    /// The switch at a place.
    pub fn at(&self, place: Coordinate) -> Option<&PlacedSwitch> {
        Some(&self.pool[self.pool_at(place)? as usize])
    }

    /// Where a switch is; none outside the torus.
    pub fn placed(&self, switch: SwitchIx) -> Option<&PlacedSwitch> {
        Some(&self.pool[self.pool_of(switch)? as usize])
    }

    /// Where a switch is; none outside the torus.
    pub fn coordinate(&self, switch: SwitchIx) -> Option<Coordinate> {
        *self.coordinates.get(switch.index())?
    }

    /// Places without a switch, z outermost.
    pub fn empty_places(&self) -> impl Iterator<Item = Coordinate> + '_ {
        self.shape
            .coordinates()
            .filter(|at| self.pool_at(*at).is_none())
    }

    /// The SL of the path between two switches, where `hint` is the SL that the policy chose: bits
    /// 0 to 2 tell which datelines the shorter way crosses, bit 3 is the hint's. SL 0 when one of
    /// them is outside the torus.
    ///
    /// Looks at places only, so that SLs stay when links fail.
    /// Source: OpenSM `osm_torus.c` (`torus_path_sl`).
    pub fn path_sl(&self, hint: Sl, from: SwitchIx, to: SwitchIx) -> Sl {
        let (Some(from), Some(to)) = (self.coordinate(from), self.coordinate(to)) else {
            return Sl::default();
        };
        let mut sl = hint.get() & 8;
        for axis in Axis::ALL {
            let crosses = self
                .shape
                .crosses_dateline(axis, from.on(axis), to.on(axis));
            sl |= u8::from(crosses) << axis.index();
        }
        Sl::from_low_bits(sl)
    }

    /// The next switch in a direction; none when no cable leads there.
    pub(crate) fn neighbour(&self, from: PoolIx, direction: Direction) -> Option<PoolIx> {
        let from = &self.pool[from as usize];
        if from.ports(direction).is_empty() {
            return None;
        }
        self.pool_at(self.shape.neighbour(from.at, direction))
    }

    pub(crate) fn pool_of(&self, switch: SwitchIx) -> Option<PoolIx> {
        *self.by_switch.get(switch.index())?
    }

    pub(crate) fn pool_at(&self, place: Coordinate) -> Option<PoolIx> {
        self.places[self.shape.place(place)]
    }

    pub(crate) fn get(&self, ix: PoolIx) -> &PlacedSwitch {
        &self.pool[ix as usize]
    }

    pub(crate) fn pool_ixs(&self) -> impl Iterator<Item = PoolIx> + use<> {
        0..count32(self.pool.len())
    }

    /// Puts a switch into an empty place.
    pub(crate) fn put(&mut self, switch: SwitchIx, at: Coordinate) {
        let ix = count32(self.pool.len());
        self.pool.push(PlacedSwitch {
            switch,
            at,
            groups: Default::default(),
        });
        self.places[self.shape.place(at)] = Some(ix);
        self.by_switch[switch.index()].get_or_insert(ix);
        self.coordinates[switch.index()].get_or_insert(at);
    }

    pub(crate) fn group_mut(&mut self, ix: PoolIx, group: usize) -> &mut Vec<u8> {
        &mut self.pool[ix as usize].groups[group]
    }
}
