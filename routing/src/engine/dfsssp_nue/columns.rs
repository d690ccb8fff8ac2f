//! The way of every switch to every LID: a column per LID.
//!
//! ```text
//! columns of switch 0      | of switch 1 | ...      first[d] .. first[d + 1], hosts before its own LIDs
//! slot of each switch 0..n | ...                    column * n + switch
//! ```
//!
//! A switch's own LIDs take the way of its first host where it has one, which costs no turn that is not there
//! anyway.
//!
//! Columns and not rows, since ways are searched destination by destination; they become rows, which is what
//! forwarding tables are, at the end.

use super::graph::{Channel, Graph, NO_SLOT, NOWHERE};
use crate::shortest::destinations::{Destination, destinations};
use crate::tables::{Lft, NO_PATH};
use crate::topology::{Topology, count32};

/// The columns of all destinations.
/// A byte per column and switch: 188 MB for 43,904 hosts on 3,920 switches.
pub(super) struct Columns {
    switches: usize,
    /// By switch: its first column; one more entry at the end.
    first: Vec<u32>,
    /// By column: by switch, then hosts before the switch itself, then by LID.
    lids: Vec<Destination>,
    /// By column, then by switch: the slot to leave by; [`NO_SLOT`] at the destination, and where there is no
    /// way.
    slots: Vec<u8>,
}

impl Columns {
    /// Columns without any way.
    pub(super) fn new(topology: &Topology) -> Self {
        let mut lids = destinations(topology);
        // Hosts before a switch's own LIDs, so that the first column of a switch is that of a host where it has one.
        lids.sort_by_key(|it| (it.switch, it.port == 0));
        let switches = topology.switches.len();
        let ends = 0..=count32(switches);
        let first = ends.map(|switch| count32(lids.partition_point(|it| it.switch.0 < switch)));
        Self {
            switches,
            first: first.collect(),
            slots: vec![NO_SLOT; lids.len() * switches],
            lids,
        }
    }

    /// How many there are.
    pub(super) const fn count(&self) -> usize {
        self.lids.len()
    }

    /// Takes out all ways.
    pub(super) fn take(&mut self) -> Vec<u8> {
        // As many as before: what is taken out may be put back.
        let none = vec![NO_SLOT; self.slots.len()];
        std::mem::replace(&mut self.slots, none)
    }

    /// Puts back what was taken out.
    pub(super) fn put(&mut self, slots: Vec<u8>) {
        self.slots = slots;
    }

    /// Forgets all ways.
    pub(super) fn clear(&mut self) {
        self.slots.fill(NO_SLOT);
    }

    /// The columns to a switch.
    #[inline]
    pub(super) fn of(&self, switch: u32) -> std::ops::Range<u32> {
        self.first[switch as usize]..self.first[switch as usize + 1]
    }

    /// By switch: the slot to leave by.
    #[inline]
    pub(super) fn slots(&self, column: u32) -> &[u8] {
        &self.slots[column as usize * self.switches..][..self.switches]
    }

    /// The same, to be filled.
    pub(super) fn slots_mut(&mut self, column: u32) -> &mut [u8] {
        &mut self.slots[column as usize * self.switches..][..self.switches]
    }

    /// The LID of a column, and where it is.
    pub(super) fn lid(&self, column: u32) -> &Destination {
        &self.lids[column as usize]
    }

    /// Whether packets to a LID are those of a host.
    pub(super) fn is_host(&self, column: u32) -> bool {
        self.lid(column).port != 0
    }

    /// Whether a column takes the ways of the first one of its switch: a switch's own LID beside hosts, or
    /// beside another own one.
    pub(super) fn is_copy(&self, column: u32) -> bool {
        let to = self.lid(column).switch;
        // Own LIDs beside a host's cost no turn of their own, and need no search.
        !self.is_host(column) && column != self.first[to.index()]
    }

    /// Gives a column the ways of the first one of its switch.
    pub(super) fn copy_first(&mut self, column: u32) {
        let first = self.first[self.lid(column).switch.index()] as usize;
        let range = first * self.switches..(first + 1) * self.switches;
        self.slots
            .copy_within(range, column as usize * self.switches);
    }

    /// Whether the way of a column from a switch is there.
    pub(super) fn has_way(&self, column: u32, from: u32) -> bool {
        self.slots(column)[from as usize] != NO_SLOT
    }

    /// The channels of the way of a column from a switch.
    /// Ends at the destination, or where no way goes on.
    pub(super) fn way<'a>(
        &'a self,
        graph: &'a Graph,
        column: u32,
        from: u32,
    ) -> impl Iterator<Item = Channel> + 'a {
        let slots = self.slots(column);
        let mut here = from;
        std::iter::from_fn(move || {
            // Ends at the destination, which has no slot: no count of hops is needed.
            let slot = slots[here as usize];
            let channel = (slot != NO_SLOT).then(|| graph.channel(here, slot))?;
            here = graph.to(channel);
            Some(channel)
        })
    }

    /// Collects the turns of all ways from one switch to another.
    pub(super) fn turns(
        &self,
        graph: &Graph,
        from: u32,
        to: u32,
        turns: &mut Vec<(Channel, Channel)>,
    ) {
        turns.clear();
        for column in self.of(to) {
            let mut last = None;
            for channel in self.way(graph, column, from) {
                if let Some(last) = last.replace(channel) {
                    turns.push((last, channel));
                }
            }
        }
    }

    /// Forwarding tables: columns turned into rows.
    /// Runs of 64 switches are turned together, so that a column is read where it lies side by side.
    pub(super) fn tables(&self, topology: &Topology, graph: &Graph) -> Lft {
        let stride = usize::from(topology.max_lid()) + 1;
        let fill = |first: usize, rows: &mut [u8]| {
            rows.fill(NO_PATH);
            for (run, rows) in rows.chunks_mut(stride * 64).enumerate() {
                self.fill(graph, first + run * 64, stride, rows);
            }
        };
        Lft::filled(topology, topology.max_lid(), fill).0
    }

    /// Fills the rows of some switches.
    fn fill(&self, graph: &Graph, first: usize, stride: usize, rows: &mut [u8]) {
        for (column, destination) in (0..).zip(&self.lids) {
            // Read along a column, written down the rows: 64 of these stay in cache.
            let slots = &self.slots(column)[first..];
            for (row, (switch, slot)) in rows.chunks_mut(stride).zip((first..).zip(slots)) {
                let switch = count32(switch);
                row[usize::from(destination.lid)] = match *slot {
                    _ if switch == destination.switch.0 => destination.port,
                    NO_SLOT => NO_PATH,
                    slot => graph.port(graph.channel(switch, slot)),
                };
            }
        }
    }
}

/// The switch behind a slot of a column; [`NOWHERE`] without a way.
pub(super) fn next(graph: &Graph, slots: &[u8], switch: u32) -> u32 {
    match slots[switch as usize] {
        NO_SLOT => NOWHERE,
        slot => graph.to(graph.channel(switch, slot)),
    }
}
