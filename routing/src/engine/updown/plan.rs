//! All shortest ways to one switch, worked out once for all LIDs there.
//!
//! Two lists, each of all switches one after the other: by which bundles a switch can go on, and
//! which switches can go on to it. The second leaves out those that are higher: up the tree only
//! the chain of a LID leads (see `deal`).

use super::cabling::Cabling;
use super::order::Order;
use super::slopes::Slopes;
use super::steps::{Step, Steps, leads_on};
use crate::tables::NO_PATH;
use crate::topology::count32;

/// What does not change while LIDs are dealt.
#[derive(Clone, Copy)]
pub(super) struct Ground<'a> {
    pub(super) cabling: &'a Cabling,
    pub(super) order: &'a Order,
    pub(super) slopes: &'a Slopes,
    pub(super) heights: &'a [u32],
    pub(super) steps: &'a Steps,
}

/// The ways to the switch that was prepared last. Its memory is used again and again.
pub(super) struct Plan {
    /// By switch: where its part of `ways` begins; one more entry at the end.
    first_way: Vec<u32>,
    /// Numbers of bundles.
    ways: Vec<u32>,
    /// By switch: where its part of `behind` begins; one more entry at the end.
    first_behind: Vec<u32>,
    /// Numbers of the bundles that lead to those behind.
    behind: Vec<u32>,
    /// By switch: the port of a way, for packets of which there are few.
    usual: Vec<u8>,
    /// Switches with hosts that have a way, but for the destination's own.
    sources: Vec<u32>,
}

impl Plan {
    pub(super) fn new(switches: usize) -> Self {
        Self {
            first_way: Vec::with_capacity(switches + 1),
            ways: Vec::new(),
            first_behind: Vec::with_capacity(switches + 1),
            behind: Vec::new(),
            usual: Vec::with_capacity(switches),
            sources: Vec::new(),
        }
    }

    /// Works out the ways to a switch; who can go on to whom only for hosts, as nobody else asks.
    /// Cost: O(cables).
    pub(super) fn prepare(&mut self, ground: &Ground<'_>, at: u32, turn: u32, has_hosts: bool) {
        self.clear();
        let Ground {
            cabling, slopes, ..
        } = *ground;
        let row = ground.steps.to(at);
        for from in 0..count32(cabling.switches()) {
            let begin = self.ways.len();
            let bundles = cabling.of(from).zip(slopes.of(cabling.of(from)));
            let ways = bundles.filter(|(_, slope)| leads_on(row, from, **slope));
            self.ways.extend(ways.map(|(number, _)| count32(number)));
            let usual = usual(cabling, &self.ways[begin..], turn);
            self.usual.push(usual.unwrap_or(NO_PATH));
            if usual.is_some() && cabling.hosts(from) > 0 {
                self.sources.push(from);
            }
            self.first_way.push(count32(self.ways.len()));
            if has_hosts {
                self.add_behind(ground, row, from);
            }
        }
    }

    /// Notes who can go on to a switch and is no higher.
    fn add_behind(&mut self, ground: &Ground<'_>, row: &[Step], to: u32) {
        let heights = ground.heights;
        let bundles = ground.cabling.of(to);
        let bundles = bundles.clone().zip(ground.slopes.of(bundles));
        let behind = bundles.filter(|(_, slope)| {
            leads_on(row, slope.far(), slope.back(to))
                && heights[slope.far() as usize] <= heights[to as usize]
        });
        self.behind
            .extend(behind.map(|(number, _)| count32(number)));
        self.first_behind.push(count32(self.behind.len()));
    }

    fn clear(&mut self) {
        for list in [&mut self.ways, &mut self.behind, &mut self.sources] {
            list.clear();
        }
        for first in [&mut self.first_way, &mut self.first_behind] {
            first.clear();
            first.push(0);
        }
        self.usual.clear();
    }

    /// Bundles by which a switch can go on.
    pub(super) fn ways(&self, from: u32) -> &[u32] {
        part(&self.first_way, &self.ways, from)
    }

    /// Bundles to the switches that can go on to this one and are no higher.
    pub(super) fn behind(&self, to: u32) -> &[u32] {
        part(&self.first_behind, &self.behind, to)
    }

    /// By switch: the port of any way; [`NO_PATH`] where there is none.
    pub(super) fn usual(&self) -> &[u8] {
        &self.usual
    }

    /// Switches with hosts that have a way, but for the destination's own.
    pub(super) fn sources(&self) -> &[u32] {
        &self.sources
    }
}

/// The part of a switch in a list of all.
fn part<'a>(first: &[u32], all: &'a [u32], switch: u32) -> &'a [u32] {
    let switch = switch as usize;
    &all[first[switch] as usize..first[switch + 1] as usize]
}

/// The port of the way whose turn it is; none without ways.
fn usual(cabling: &Cabling, ways: &[u32], turn: u32) -> Option<u8> {
    let count = count32(ways.len());
    let nth = turn.checked_rem(count)?;
    let bundle = cabling.bundle(ways[nth as usize]);
    Some(cabling.port(bundle.cable + turn / count % bundle.width))
}
