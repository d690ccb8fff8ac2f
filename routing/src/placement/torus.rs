//! A torus: which switch is where, and which of its ports lead in which direction.
//!
//! Three indices for one thing, each with its reason:
//!
//! | index | order | why |
//! |---|---|---|
//! | `SwitchIx` | GUIDs | the fabric's own; tables are by it |
//! | `PoolIx` | of placement | decides how destinations take turns on parallel cables, as in OpenSM |
//! | place | z, y, x | neighbours by arithmetic |
//!
//! Cables are kept as groups of ports. All ports of a group lead to the same neighbour, so a way
//! through the torus is a list of groups, and which of its cables a LID takes is settled last.

use sa_wire::Sl;

use super::geometry::{Axis, Coordinate, Direction, Shape};
use crate::topology::{SwitchIx, count32};

/// Index into [`Torus::switches`].
/// Counts only switches in the torus: those outside have none.
pub(crate) type PoolIx = u32;

/// Number of the port group of local ports: port 0 and ports with a CA or router.
/// Behind the six directions, so that `groups[..6]` are the cables between switches.
pub const LOCAL_GROUP: usize = 6;

/// Switches of a fabric in their places. Made by [`crate::engine::torus::place`].
/// Complete once discovery is through; read only from then on.
#[derive(Debug, Clone)]
pub struct Torus {
    shape: Shape,
    /// In the order of placement, which decides how routes spread over parallel cables.
    pool: Vec<PlacedSwitch>,
    /// By place: index into `pool`.
    /// Shape: by [`Shape::place`].
    places: Vec<Option<PoolIx>>,
    /// By switch index: index into `pool`.
    by_switch: Vec<Option<PoolIx>>,
    /// By switch index: its place. Beside `pool`, since SLs are asked for often.
    /// Four bytes each: those of 4,096 switches fit a first-level cache.
    coordinates: Vec<Option<Coordinate>>,
    /// Which seed was used, from 0.
    /// With what datelines: another seed may put coordinate 0 elsewhere, and SLs with it.
    pub(crate) seed: usize,
}

/// A switch in its place.
/// Made by discovery, which appends ports as cables find their places.
#[derive(Debug, Clone)]
pub struct PlacedSwitch {
    /// The switch, by its index in the fabric.
    pub switch: SwitchIx,
    /// Where it is in the torus.
    pub at: Coordinate,
    /// Its ports by group: by [`Direction::group`], then [`LOCAL_GROUP`]. Within a group in the
    /// order that spreading and multicast use.
    /// Both ends of a bundle have their ports in the same order, which is that of the lower switch.
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
    /// Groups are copied as they were, so a cable that failed is still listed: only places and SLs
    /// of the result mean anything.
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

    /// Whether all switches lie in the same places of the same shape: then SLs by coordinates are the same.
    pub fn has_places_of(&self, other: &Self) -> bool {
        self.shape == other.shape && self.coordinates == other.coordinates
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
    /// A place without a switch has no line in the dump.
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
    /// Both hosts on one switch: no bits. So applications may keep an SL as long as coordinates
    /// hold.
    pub fn path_sl(&self, hint: Sl, from: SwitchIx, to: SwitchIx) -> Sl {
        let (Some(from), Some(to)) = (self.coordinate(from), self.coordinate(to)) else {
            return Sl::default();
        };
        // The lower bits of the policy's SL are dropped without a word, as OpenSM does; lint warns
        // (L40).
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
    /// By cables, not by arithmetic alone: where a bundle has failed there is none.
    pub(crate) fn neighbour(&self, from: PoolIx, direction: Direction) -> Option<PoolIx> {
        let from = &self.pool[from as usize];
        if from.ports(direction).is_empty() {
            return None;
        }
        self.pool_at(self.shape.neighbour(from.at, direction))
    }

    /// None for a switch outside the torus.
    pub(crate) fn pool_of(&self, switch: SwitchIx) -> Option<PoolIx> {
        *self.by_switch.get(switch.index())?
    }

    /// None for an empty place. Panics outside the shape.
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
    /// The place must be empty; the switch may have another place already.
    pub(crate) fn put(&mut self, switch: SwitchIx, at: Coordinate) {
        let ix = count32(self.pool.len());
        self.pool.push(PlacedSwitch {
            switch,
            at,
            groups: Default::default(),
        });
        self.places[self.shape.place(at)] = Some(ix);
        // The first place stays, so that a switch that fits twice can be told with both.
        self.by_switch[switch.index()].get_or_insert(ix);
        self.coordinates[switch.index()].get_or_insert(at);
    }

    /// Order of ports is that in which the caller pushes them; see [`PlacedSwitch::groups`].
    pub(crate) fn group_mut(&mut self, ix: PoolIx, group: usize) -> &mut Vec<u8> {
        &mut self.pool[ix as usize].groups[group]
    }
}
