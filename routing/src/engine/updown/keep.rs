//! Tables of a fabric of which parts are missing: those of the whole one, as far as they hold.

use std::ops::Range;

use super::cabling::Cabling;
use super::ground::Ground;
use super::order::Order;
use super::relieve::{Movable, relieve};
use super::ways::{Places, Ways, each};
use super::whole::Part;
use crate::error::Warning;
use crate::parallel;
use crate::tables::{Lft, NO_PATH};
use crate::topology::{SwitchIx, Topology, count32};
use crate::watch::{Count, Stretch};

/// The tables, and what there is to say about them.
/// Cost: O(switches x LIDs), on all cores; memory for tables that change alone, where all switches are
/// there.
pub(super) fn tables(
    topology: &Topology,
    ground: &Ground<'_>,
    part: &Part,
    share: Stretch<'_>,
) -> (Lft, Option<Warning>) {
    let keeper = Keeper {
        ground,
        part,
        done: share.cut(0..80).count(topology.switches.len()),
    };
    let stride = usize::from(topology.max_lid()) + 1;
    let old = part.whole.routes.lfts();
    let is_in_place = (0..).zip(&part.old).all(|(new, old)| new == *old)
        && (stride, part.old.len()) == (old.stride(), old.switches());
    let (mut lft, moved) = if is_in_place {
        keeper.changed(old)
    } else {
        keeper.filled(topology, stride)
    };
    if moved > 0 && lft.size() <= SMALL {
        let lost = keeper.lost(topology, &lft);
        let movable = Movable {
            is_any: &|lid| lost.get(usize::from(lid)).copied().unwrap_or(true),
            is: &|from, lid, entry| keeper.old(from, lid) != entry,
        };
        relieve(topology, ground, &mut lft, &movable, share.cut(80..100));
    }
    let warning = (!part.is_all).then(|| warning(moved, part));
    (lft, warning)
}

/// Entries up to which links are relieved after a failure: 6,000 hosts or so. Counting all paths would
/// take longer than all else in a larger fabric, where the share of a link that one failure moves is small.
const SMALL: usize = 1 << 23;

/// The order of the whole fabric, where that still leads everywhere.
pub(super) fn old_order(
    cabling: &Cabling,
    heights: &dyn Fn(&Topology) -> Vec<u32>,
    part: &Part,
) -> Option<Order> {
    let whole = &part.whole.topology;
    let order = Order::new(&Cabling::new(whole), &heights(whole));
    order.carried_over(cabling, &part.old)
}

fn warning(moved: usize, part: &Part) -> Warning {
    let switches = part.whole.topology.switches.len() - part.old.len();
    Warning {
        code: "tables-kept",
        text: format!(
            "the fabric lacks parts that it had ({switches} switches among them): {moved} \
             forwarding entries changed, all others are as they were"
        ),
    }
}

/// Fills tables with what was there, and with other ways where that leads on no longer.
struct Keeper<'a> {
    ground: &'a Ground<'a>,
    part: &'a Part,
    /// Switches whose tables are filled.
    done: Count<'a>,
}

impl Keeper<'_> {
    /// Tables in the memory of the old ones but for those that change, so that a proof sees at a glance
    /// what did not. And how many entries are others.
    fn changed(&self, old: &Lft) -> (Lft, usize) {
        let work = |switches: Range<usize>| {
            let mut ways = Ways::default();
            let mut row = vec![NO_PATH; old.stride()];
            let rows = switches.map(|from| {
                let moved = self.fill(count32(from), &mut ways, &mut row);
                let from = SwitchIx(count32(from));
                let is_other = row != old.table(from);
                (is_other.then(|| (from, row.clone())), moved)
            });
            rows.collect::<Vec<_>>()
        };
        let all = parallel::over_range(old.switches(), old.size(), work);
        let moved = all.iter().flatten().map(|(_, moved)| *moved).sum();
        let changed = all.into_iter().flatten().filter_map(|(table, _)| table);
        (old.with(changed), moved)
    }

    /// Tables of their own, and how many entries are others.
    fn filled(&self, topology: &Topology, stride: usize) -> (Lft, usize) {
        let fill = |first, rows: &mut [u8]| -> usize {
            let mut ways = Ways::default();
            let rows = (count32(first)..).zip(rows.chunks_mut(stride));
            rows.map(|(from, row)| self.fill(from, &mut ways, row))
                .sum()
        };
        let (lft, moved) = Lft::filled(topology, topology.max_lid(), fill);
        (lft, moved.iter().sum())
    }

    /// The entry of the whole fabric.
    fn old(&self, from: u32, lid: u16) -> u8 {
        let old = self.part.old[from as usize];
        let old = self.part.whole.routes.lft(SwitchIx(old));
        old.get(usize::from(lid)).copied().unwrap_or(NO_PATH)
    }

    /// By LID: some switch has another entry than in the whole fabric.
    fn lost(&self, topology: &Topology, lft: &Lft) -> Vec<bool> {
        let mut lost = vec![false; lft.stride()];
        for switch in topology.switch_ixs() {
            let old = self.part.old[switch.index()];
            let old = self.part.whole.routes.lft(SwitchIx(old));
            let row = lft.table(switch);
            // Most tables are as they were.
            if old != row {
                let old = old.iter().copied().chain(std::iter::repeat(NO_PATH));
                let pairs = row.iter().zip(old);
                lost.iter_mut()
                    .zip(pairs)
                    .for_each(|(lost, (new, old))| *lost |= *new != old);
            }
        }
        lost
    }

    /// Fills the table of a switch. Returns how many entries are others.
    fn fill(&self, from: u32, ways: &mut Ways, row: &mut [u8]) -> usize {
        self.done.add(1);
        row.fill(NO_PATH);
        ways.look(self.ground, from);
        let places = places_by_port(ways);
        let goals = &self.ground.goals;
        let old = self.part.old[from as usize];
        let old = self.part.whole.routes.lft(SwitchIx(old));
        let mut moved = 0;
        for (turn, switch) in goals.switches().iter().enumerate() {
            if *switch == from {
                goals.fill_own(turn, row);
                continue;
            }
            let leading = ways.to(turn);
            for lid in goals.lids(turn) {
                let entry = old.get(usize::from(lid)).copied().unwrap_or(NO_PATH);
                let place = usize::from(places[usize::from(entry)]);
                // An entry that leads nowhere has a place that no set has.
                row[usize::from(lid)] = if leading[place / 64] >> (place % 64) & 1 == 1 {
                    entry
                } else {
                    moved += 1;
                    // Other switches begin elsewhere, so that those which lost their way to one LID
                    // spread.
                    other(ways, leading, moved + from as usize)
                };
            }
        }
        moved
    }
}

/// By port: its place; the last one, which none has, for ports without a cable to a switch.
fn places_by_port(ways: &Ways) -> [u8; 256] {
    let mut places = [u8::MAX; 256];
    for (nth, place) in (0..).zip(ways.places()) {
        places[usize::from(place.port)] = nth;
    }
    places
}

/// The port of the `nth` of some ways, counted round.
fn other(ways: &Ways, leading: Places, nth: usize) -> u8 {
    let nth = nth.checked_rem(each(leading).count());
    let place = nth.and_then(|nth| each(leading).nth(nth));
    place.map_or(NO_PATH, |place| ways.places()[place].port)
}
