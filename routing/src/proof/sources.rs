//! Where packets enter the fabric, and with which SLs.
//!
//! A source has no channel that it comes from. What it puts on its first cable depends on its SLs and the
//! SL2VL table from its port to that cable, and few of these tables differ. So sources of a switch are held
//! as sets of tables: what a set puts on a cable is worked out once and serves all switches.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use sa_snapshot::model::PathSl;
use sa_wire::{Sl, SlVlMask};

use super::channels::Channels;
use crate::placement::{Axis, Torus};
use crate::tables::PathSlTable;
use crate::topology::{EndPortIx, SwitchIx, Topology, count32};

/// Where packets enter a switch.
pub(super) struct Sources {
    /// By switch: the ports with hosts, and port 0 where it sends too.
    /// Every port with a host sends, whatever runs there.
    inputs: Vec<Vec<u8>>,
    /// By switch, then by slot of a cable: which of `sets` these inputs have.
    set_of: Vec<Vec<u32>>,
    /// Different sets of tables, each ascending; the first is empty.
    /// One more than the empty set on a fabric whose tables are all alike.
    sets: Vec<Vec<u32>>,
}

impl Sources {
    /// `port0_sends`: of which switches.
    /// Cost: O(ports x cables) of each switch.
    pub(super) fn new(
        topology: &Topology,
        channels: &Channels,
        port0_sends: impl Fn(SwitchIx) -> bool,
    ) -> Self {
        let inputs = topology.switch_ixs().map(|switch| {
            let hosts = topology.hosts(switch).map(|(port, _)| port);
            let own = port0_sends(switch).then_some(0);
            own.into_iter().chain(hosts).collect()
        });
        let mut sources = Self {
            inputs: inputs.collect(),
            set_of: Vec::new(),
            sets: vec![Vec::new()],
        };
        let mut known: FxHashMap<Vec<u32>, u32> = FxHashMap::default();
        for switch in topology.switch_ixs() {
            let outputs = 0..u8::try_from(channels.cabled(switch).len()).unwrap_or(u8::MAX);
            let sets = outputs.map(|output| {
                let set = sources.set(channels, switch, output);
                *known.entry(set).or_insert_with_key(|set| {
                    sources.sets.push(set.clone());
                    count32(sources.sets.len() - 1)
                })
            });
            let sets = sets.collect();
            sources.set_of.push(sets);
        }
        sources
    }

    /// The different tables from the inputs of a switch to one output slot.
    fn set(&self, channels: &Channels, switch: SwitchIx, output: u8) -> Vec<u32> {
        let inputs = self.inputs(switch).iter();
        let tables =
            inputs.map(|input| channels.table(switch, channels.slot(switch, *input), output));
        let mut tables: Vec<_> = tables.collect();
        // Sets that hold the same have to be the same.
        tables.sort_unstable();
        tables.dedup();
        tables
    }

    /// The ports with hosts, and port 0 where it sends too.
    pub(super) fn inputs(&self, switch: SwitchIx) -> &[u8] {
        &self.inputs[switch.index()]
    }

    /// The set of the tables from the inputs of a switch to the slot of a cable.
    pub(super) fn set_of(&self, switch: SwitchIx, output: u8) -> u32 {
        self.set_of[switch.index()][usize::from(output)]
    }

    /// The tables of a set.
    pub(super) fn tables(&self, set: u32) -> &[u32] {
        &self.sets[set as usize]
    }

    /// How many sets there are.
    pub(super) const fn sets(&self) -> usize {
        self.sets.len()
    }
}

/// The set without tables.
/// Of a hop that leads nowhere, and of switches at which nobody sends.
pub(super) const EMPTY_SET: u32 = 0;

/// SLs that a table gives.
pub(super) struct TableSls {
    table: Arc<PathSlTable>,
    /// Of paths whose SL the table leaves to the policy.
    policys: SlVlMask,
    /// By switch: the row that all its sources have; none where they differ.
    /// Spares most fabrics a look at each host.
    rows: Vec<Option<u32>>,
}

impl TableSls {
    /// Cost: O(end ports).
    pub(super) fn new(topology: &Topology, table: &Arc<PathSlTable>, policys: SlVlMask) -> Self {
        let row = |switch| {
            let row = table.row(topology.switch(switch).port0);
            let mut hosts = topology.hosts(switch);
            hosts.all(|(_, host)| table.row(host) == row).then_some(row)
        };
        Self {
            table: Arc::clone(table),
            policys,
            rows: topology.switch_ixs().map(row).collect(),
        }
    }

    /// LIDs with the same one have the same SLs from everybody.
    pub(super) fn column(&self, lid: u16) -> u32 {
        self.table.column(lid)
    }

    /// From all sources on a switch to a LID; none where they differ.
    pub(super) fn of_switch(&self, switch: SwitchIx, lid: u16) -> Option<SlVlMask> {
        self.rows[switch.index()].map(|row| self.at(row, lid))
    }

    /// From one source to a LID.
    pub(super) fn of(&self, source: EndPortIx, lid: u16) -> SlVlMask {
        self.at(self.table.row(source), lid)
    }

    /// A path whose SL is not known has none: its packets are in no proof.
    fn at(&self, row: u32, lid: u16) -> SlVlMask {
        match self.table.at(row, self.table.column(lid)) {
            PathSl::Given(sl) => SlVlMask(1 << sl.get()),
            PathSl::Policy => self.policys,
            PathSl::Unknown => SlVlMask(0),
        }
    }
}

/// SLs that torus-2QoS gives between switches, by small numbers: bits 0 to 2 as in the SL, and
/// [`OUTSIDE`] when one of the switches is not in the torus.
/// Compared as a whole when a proof goes on: other places mean other SLs.
#[derive(PartialEq, Eq)]
pub(super) struct TorusClasses {
    /// By switch: position on each axis, and `OUTSIDE` or 0.
    places: Vec<[u8; 4]>,
    /// By axis: the bit of the SL. Shape: position of the destination by position of the source.
    /// A look instead of a comparison for every pair of switches.
    crossing: [Vec<[u8; 256]>; 3],
}

/// Bit of a class: one of the two switches is not in the torus.
const OUTSIDE: u8 = 8;

/// How many classes there may be.
pub(super) const CLASSES: usize = 16;

impl TorusClasses {
    /// Works the datelines out for every pair of positions on an axis.
    pub(super) fn new(topology: &Topology, torus: &Torus) -> Self {
        let place = |switch| match torus.coordinate(switch) {
            Some(at) => [at.on(Axis::X), at.on(Axis::Y), at.on(Axis::Z), 0],
            None => [0, 0, 0, OUTSIDE],
        };
        let shape = torus.shape();
        let crossing = Axis::ALL.map(|axis| {
            let positions = 0..shape.radix_of(axis);
            let row = |to| {
                let mut row = [0; 256];
                for from in positions.clone() {
                    let crosses = shape.crosses_dateline(axis, from, to);
                    row[usize::from(from)] = u8::from(crosses) << axis.index();
                }
                row
            };
            positions.clone().map(row).collect()
        });
        Self {
            places: topology.switch_ixs().map(place).collect(),
            crossing,
        }
    }

    /// The classes of paths to a switch.
    pub(super) fn to(&self, to: SwitchIx) -> ClassesTo<'_> {
        let place = self.places[to.index()];
        let [x, y, z] = [0, 1, 2].map(|axis| &self.crossing[axis][usize::from(place[axis])]);
        ClassesTo {
            places: &self.places,
            crossing: [x, y, z],
            outside: place[3],
        }
    }

    /// The SLs of a class, on both levels.
    pub(super) fn sls(class: usize) -> SlVlMask {
        match class {
            0..8 => SlVlMask(1 << class | 1 << (class | 8)),
            // As `Torus::path_sl`: SL 0, whatever the level.
            _ => SlVlMask(1 << Sl::default().get()),
        }
    }
}

/// The classes of paths to one switch.
/// Three rows picked for the destination, so that a source costs three lookups.
#[derive(Clone, Copy)]
pub(super) struct ClassesTo<'a> {
    places: &'a [[u8; 4]],
    crossing: [&'a [u8; 256]; 3],
    outside: u8,
}

impl ClassesTo<'_> {
    /// The class of the paths from a switch. Less than [`CLASSES`].
    #[inline]
    pub(super) fn from(&self, switch: usize) -> usize {
        let [x, y, z, outside] = self.places[switch];
        let [by_x, by_y, by_z] = self.crossing;
        let bits = by_x[usize::from(x)] | by_y[usize::from(y)] | by_z[usize::from(z)];
        usize::from(bits | outside | self.outside)
    }
}
