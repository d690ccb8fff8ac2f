//! The next hop by switch and port, laid out for following many columns.
//!
//! Two numbers are added to find a turn, one known from the hop in, one from the hop out. That
//! keeps the inner loop free of lookups by switch: `place = in.input + out.output`.

use super::channels::{Channels, NO_LINK};
use super::sources::{EMPTY_SET, Sources};
use crate::topology::{SwitchIx, count32};

/// What is needed of a cable when a path takes it.
/// 16 bytes; one load of a quarter of a cache line for each switch and column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hop {
    /// The far switch; the number of switches where there is no cable.
    pub(super) to: u32,
    /// Added to `output` of the next hop it gives the place of the turn between the two.
    pub(super) input: u32,
    /// See `input`; [`NO_OUTPUT`] where there is no cable.
    pub(super) output: u32,
    /// The set of tables from the inputs of the switch.
    pub(super) set: u32,
}

/// The output of a hop that leads nowhere.
/// Never added to anything: it is asked for first.
pub(super) const NO_OUTPUT: u32 = u32::MAX;

/// All hops of a fabric.
pub(super) struct Hops {
    switches: usize,
    /// Shape: by port number, then by switch: in regular fabrics neighbours use like ports, so that
    /// what one column needs lies together.
    /// 2.4 MB for 4,096 switches with 36 ports.
    hops: Vec<Hop>,
    /// By place of a turn: the number of its table, or [`LOOK_UP`].
    /// Turns that no pair of cables has stay [`LOOK_UP`].
    tables: Vec<u16>,
}

/// A number that two bytes do not hold.
/// Fabrics with 65,535 different tables go the slow way all the time.
pub(super) const LOOK_UP: u16 = u16::MAX;

impl Hops {
    /// Lays out all hops. Cost: memory for every port number that is in use somewhere, times the switches.
    pub(super) fn new(channels: &Channels, sources: &Sources, switches: usize) -> Self {
        let all = (0..count32(switches)).map(SwitchIx);
        let ports = all
            .clone()
            .filter_map(|switch| channels.cabled(switch).last());
        let ports = ports.max().map_or(0, |port| usize::from(*port) + 1);
        let mut hops = Self {
            switches,
            hops: vec![no_hop(switches); ports * switches],
            tables: Vec::new(),
        };
        let places = Places::new(channels, switches);
        hops.tables = vec![LOOK_UP; places.total];
        for switch in all {
            hops.add(channels, sources, &places, switch);
        }
        hops
    }

    /// The hop from a switch by a forwarding entry.
    #[inline]
    pub(super) fn get(&self, switch: usize, entry: u8) -> Hop {
        // Entries that no port has, "no path" among them, lie behind the end.
        let place = usize::from(entry) * self.switches + switch;
        let hop = self.hops.get(place);
        hop.copied().unwrap_or_else(|| no_hop(self.switches))
    }

    /// By place of a turn: the number of its table, or [`LOOK_UP`].
    pub(super) fn tables(&self) -> &[u16] {
        &self.tables
    }

    /// The hops from a switch, and the tables of the turns into its cables.
    fn add(&mut self, channels: &Channels, sources: &Sources, places: &Places, switch: SwitchIx) {
        for (output, port) in (0..).zip(channels.cabled(switch)) {
            let link = channels.link(switch, *port);
            if link == NO_LINK {
                continue;
            }
            let cable = channels.links[link as usize];
            let place = usize::from(*port) * self.switches + switch.index();
            self.hops[place] = Hop {
                to: cable.to.0,
                input: places.input(cable.to, cable.input),
                output: places.output(output),
                set: sources.set_of(switch, output),
            };
            // As an input this slot has the turns of the packets that come the other way.
            for next in 0..channels.cabled(switch).len() {
                let next = u8::try_from(next).unwrap_or(u8::MAX);
                let turn = places.input(switch, output) + places.output(next);
                let table = channels.table(switch, output, next);
                self.tables[turn as usize] = u16::try_from(table).unwrap_or(LOOK_UP);
            }
        }
    }
}

/// A hop that leads nowhere.
const fn no_hop(switches: usize) -> Hop {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "indices of switches have 32 bits"
    )]
    let to = switches as u32;
    Hop {
        to,
        input: 0,
        output: NO_OUTPUT,
        set: EMPTY_SET,
    }
}

/// Where turns have their places.
struct Places {
    /// By switch: the place of the turn from slot 0 to slot 0.
    first: Vec<u32>,
    /// By switch: between the places of one input slot and the next.
    by_input: Vec<u32>,
    /// Between the places of one output slot and the next.
    by_output: u32,
    total: usize,
}

impl Places {
    /// All switches' turns between the same slots side by side, as for [`Hops::hops`]; switch after
    /// switch where few switches with many cables would make that too sparse.
    fn new(channels: &Channels, switches: usize) -> Self {
        let all = (0..count32(switches)).map(SwitchIx);
        let cables: Vec<_> = all.map(|switch| channels.cabled(switch).len()).collect();
        let most = cables.iter().copied().max().unwrap_or(0);
        let needed: usize = cables.iter().map(|cables| cables * cables).sum();
        let side_by_side = most * most * switches;
        // Up to four times the room is worth having neighbours' turns side by side.
        if side_by_side <= 4 * needed {
            return Self {
                first: (0..count32(switches)).collect(),
                by_input: vec![count32(most * switches); switches],
                by_output: count32(switches),
                total: side_by_side,
            };
        }
        let first = cables.iter().scan(0, |next, cables| {
            let first = *next;
            *next += count32(cables * cables);
            Some(first)
        });
        Self {
            first: first.collect(),
            by_input: cables.iter().map(|cables| count32(*cables)).collect(),
            by_output: 1,
            total: needed,
        }
    }

    /// What the input slot adds to the place of a turn.
    /// Sums stay below `total`, so 32 bits are enough for any fabric that fits memory.
    fn input(&self, switch: SwitchIx, slot: u8) -> u32 {
        self.first[switch.index()] + u32::from(slot) * self.by_input[switch.index()]
    }

    /// What the output slot adds to the place of a turn.
    fn output(&self, slot: u8) -> u32 {
        u32::from(slot) * self.by_output
    }
}
