//! The dependencies of usual ways to all destinations, without following every way to each.
//!
//! Ways first go along x, then y, then z. What they do before they turn to z depends on x and y of
//! the destination alone: it is worked out once for all destinations that share these. Until then
//! z stays, so that in the last part all that comes to a switch from outside of it crosses the
//! dateline of z or not as the switch itself does; and on x and y no vl depends on that.
//!
//! Where damage makes the last part turn back, or leaves a switch without a way, this does not
//! hold; such columns are told, and worked out by themselves.
//!
//! # Why it pays
//!
//! On 16x16x16, 16 destinations share x and y. What happens before the turn to z is most of each
//! way, and worked out for one of the 16; the last part is one ring of switches for each.
//!
//! ```text
//! S ── x ── x ── y ── y ──┐
//!                         z     the last part: the switches with the destination's x and y
//!                         z
//!                         D
//! ```

use super::graph::Edge;
use super::plan::Context;
use super::sweep::{State, Sweep};
use super::vls::Load;
use crate::engine::torus::next_hop::NO_WAY;
use crate::placement::Axis;
use crate::placement::PoolIx;

/// Usual ways to the destinations that share x and y.
/// One per thread; it goes from column to column.
pub(super) struct Phases<'a> {
    context: &'a Context<'a>,
    sweep: Sweep,
    /// Dependencies before the last part, the same for all the destinations.
    shared: Vec<Edge>,
    /// Every switch before the last part gets there.
    /// False asks for every destination of the column by itself.
    is_whole: bool,
    /// Switches of the last part.
    last: Vec<PoolIx>,
    /// What comes to the last part: switch and group, switch it comes to, load.
    /// As if nothing crossed the dateline of z; that bit is added for each destination.
    arriving: Vec<(PoolIx, u8, PoolIx, Load)>,
}

/// Dependencies of the usual ways to a destination, in two parts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parts<'p> {
    /// The same for all destinations with this x and y.
    pub(super) shared: &'p [Edge],
    /// Those of this destination.
    pub(super) own: &'p [Edge],
}

impl<'a> Phases<'a> {
    /// Without destinations, until [`Self::enter`].
    pub(super) fn new(context: &'a Context<'a>) -> Self {
        Self {
            context,
            sweep: Sweep::new(context.neighbours.switches()),
            shared: Vec::new(),
            is_whole: false,
            last: Vec::new(),
            arriving: Vec::new(),
        }
    }

    /// Goes to other destinations: those with this x and y.
    /// Cost: one sweep over all switches.
    pub(super) fn enter(&mut self, x: u8, y: u8) {
        let Self { context, sweep, .. } = self;
        sweep.clear();
        context.steps.fill_without_z(x, y, &mut sweep.groups);
        sweep.classes.fill_without_z(context, x, y);
        self.last.clear();
        let has_group = |ix: &PoolIx| sweep.groups[*ix as usize] != NO_WAY;
        self.last
            .extend(context.torus.pool_ixs().filter(|ix| !has_group(ix)));
        // Ends of the first part: ways that get here are followed no further.
        for switch in &self.last {
            sweep.states[*switch as usize] = State::Laid;
        }
        sweep.follow(context, context.torus.pool_ixs());
        self.is_whole = sweep.left.is_empty();
        self.arriving.clear();
        sweep.carry(context, |from, group, to, load| {
            self.arriving.push((from, group, to, load));
        });
        std::mem::swap(&mut self.shared, &mut sweep.edges);
        // A way of the last part that comes back here is none.
        // So that `column` notices: only the switches of the last part are unknown there.
        sweep.states.fill(State::Left);
    }

    /// The dependencies before the last part.
    pub(super) fn shared(&self) -> &[Edge] {
        &self.shared
    }

    /// The dependencies of all ways to a destination among those entered; none where they are not
    /// made of parts, or some switch has no way.
    /// Cost: one sweep over the ring of the destination.
    pub(super) fn column(&mut self, to: PoolIx) -> Option<Parts<'_>> {
        if !self.is_whole {
            return None;
        }
        let Self { context, sweep, .. } = self;
        let z = context.at(to).on(Axis::Z);
        let towards = context.steps.towards(Axis::Z, z);
        for switch in &self.last {
            let ix = *switch as usize;
            sweep.groups[ix] = towards[ix];
            sweep.states[ix] = State::Unknown;
            sweep.loads[ix] = 0;
        }
        // The destination sends nowhere, whatever the steps say of its own place.
        sweep.groups[to as usize] = NO_WAY;
        sweep.states[to as usize] = State::Laid;
        sweep.classes.fill_axis(context, Axis::Z, z);
        sweep.laid.clear();
        sweep.left.clear();
        sweep.edges.clear();
        sweep.follow(context, self.last.iter().copied());
        // Some switch of the ring has no way within it, or one that leaves it.
        if !sweep.left.is_empty() {
            return None;
        }
        for (from, group, next, load) in self.arriving.iter().filter(|it| it.2 != to) {
            // Class bit 2 for all: four places up in the byte of each vl.
            let crosses = sweep.classes.on(Axis::Z, context.at(*next)) != 0;
            let load = if crosses { load << 4 } else { *load };
            sweep.pass_on(context, (*from, *group), load, *next);
        }
        sweep.carry(context, |_, _, _, _| ());
        Some(Parts {
            shared: &self.shared,
            own: &self.sweep.edges,
        })
    }
}
