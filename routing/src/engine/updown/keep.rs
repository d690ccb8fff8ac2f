//! Tables of a fabric of which parts are missing: those of the whole one, as far as they hold.

use super::cabling::Cabling;
use super::deal::Goal;
use super::goals;
use super::order::Order;
use super::plan::Ground;
use super::slopes::{Slope, Slopes};
use super::steps::{Step, Steps, leads_on};
use super::whole::{Part, far_slopes};
use crate::error::Warning;
use crate::tables::{Lft, NO_PATH};
use crate::topology::{SwitchIx, Topology, count32};

/// The tables, and what there is to say about them.
/// Cost: O(switches x LIDs), on all cores.
pub(super) fn tables(
    topology: &Topology,
    cabling: &Cabling,
    heights: &dyn Fn(&Topology) -> Vec<u32>,
    part: &Part,
) -> (Lft, Option<Warning>) {
    let old = old_order(cabling, &heights(&part.whole.topology), part);
    let heights = heights(topology);
    let order = old.unwrap_or_else(|| Order::new(cabling, &heights));
    let slopes = Slopes::new(cabling, &order);
    let steps = Steps::new(cabling, &order, &slopes);
    let ground = Ground {
        cabling,
        order: &order,
        slopes: &slopes,
        heights: &heights,
        steps: &steps,
    };
    let keeper = Keeper {
        ground,
        part,
        far: far_slopes(topology, &order),
        goals: goals(topology),
    };
    let stride = usize::from(topology.max_lid()) + 1;
    let fill = |first, rows: &mut [u8]| -> usize {
        let rows = (count32(first)..).zip(rows.chunks_mut(stride));
        rows.map(|(from, row)| keeper.fill(from, row)).sum()
    };
    let (lft, moved) = Lft::filled(topology, topology.max_lid(), fill);
    let lft = shared(lft, part.whole.routes.lfts());
    let warning = (!part.is_all).then(|| warning(moved.iter().sum(), part));
    (lft, warning)
}

/// The order of the whole fabric, where that still leads everywhere.
fn old_order(cabling: &Cabling, heights: &[u32], part: &Part) -> Option<Order> {
    let order = Order::new(&Cabling::new(&part.whole.topology), heights);
    order.carried_over(cabling, &part.old)
}

/// The same tables in the memory of the old ones where these are the same, so that a proof sees at
/// a glance what did not change.
fn shared(new: Lft, old: &Lft) -> Lft {
    if new.stride() != old.stride() || new.switches() != old.switches() {
        return new;
    }
    let switches = (0..count32(new.switches())).map(SwitchIx);
    let changed = switches.filter(|switch| new.table(*switch) != old.table(*switch));
    old.with(changed.map(|switch| (switch, new.table(switch).to_vec())))
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
    ground: Ground<'a>,
    part: &'a Part,
    /// By switch, then by port.
    far: Vec<[Option<Slope>; 256]>,
    /// By switch.
    goals: Vec<Vec<Goal>>,
}

impl Keeper<'_> {
    /// Fills the table of a switch. Returns how many entries are others.
    fn fill(&self, from: u32, row: &mut [u8]) -> usize {
        row.fill(NO_PATH);
        let old = self.part.old[from as usize];
        let old = self.part.whole.routes.lft(SwitchIx(old));
        let mut moved = 0;
        for (at, goals) in (0..).zip(&self.goals) {
            let steps = self.ground.steps.to(at);
            for goal in goals {
                let entry = old.get(usize::from(goal.lid)).copied();
                let kept = entry.filter(|entry| self.holds(steps, from, *entry));
                row[usize::from(goal.lid)] = match kept {
                    _ if at == from => goal.port,
                    Some(kept) => kept,
                    None => {
                        moved += 1;
                        self.other(steps, from, moved)
                    }
                };
            }
        }
        moved
    }

    /// An entry still leads on by a shortest way.
    fn holds(&self, steps: &[Step], from: u32, entry: u8) -> bool {
        let far = self.far[from as usize][usize::from(entry)];
        far.is_some_and(|far| leads_on(steps, from, far))
    }

    /// The `turn`th cable among those that lead on, counted round.
    fn other(&self, steps: &[Step], from: u32, turn: usize) -> u8 {
        let Ground {
            cabling, slopes, ..
        } = self.ground;
        let bundles = cabling
            .leaving(from)
            .iter()
            .zip(slopes.of(cabling.of(from)));
        let ways = bundles.filter(|(_, slope)| leads_on(steps, from, **slope));
        let cables = ways.flat_map(|(way, _)| way.cable..way.cable + way.width);
        let count = cables.clone().count();
        let nth = turn.checked_rem(count);
        let cable = nth.and_then(|nth| cables.clone().nth(nth));
        cable.map_or(NO_PATH, |cable| cabling.port(cable))
    }
}
