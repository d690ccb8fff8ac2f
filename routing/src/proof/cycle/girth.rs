//! How short a cycle of channels can be, by the cables alone.
//!
//! A lower bound that costs nothing lets the search for a shortest cycle stop at the first one of that
//! length, instead of looking at all.

use crate::proof::channels::{Channels, Link, VLS};
use crate::proof::graph::DependencyGraph;
use crate::topology::SwitchIx;

/// No cycle has fewer channels: as many as the shortest cycle of cables, up to 4. A packet that
/// turns back into its cable makes a cycle of 2, one that goes round in a cable of a switch to
/// itself a cycle of 1.
/// On a torus it is 4, unless a ring has three switches or two cables join a pair.
pub(super) fn at_least(graph: &DependencyGraph) -> usize {
    // Turns are asked for, not cables: a cable without a turn that waits closes nothing.
    let links = graph.channels.links.as_slice();
    let waits = |link: &Link, slot: u8| {
        let turn = link.turns + u32::from(slot);
        (0..VLS).any(|vl| graph.edges.beyond(turn, vl) != 0)
    };
    let comes_back = |link: &Link| link.to == link.from;
    if links
        .iter()
        .any(|link| comes_back(link) && waits(link, link.slot))
    {
        1
    } else if links
        .iter()
        .any(|link| comes_back(link) || waits(link, link.input))
    {
        2
    } else {
        of_cables(&graph.channels)
    }
}

/// Switches in the shortest cycle of cables, no cable twice; 4 stands for more, too. No switch is
/// cabled to itself.
/// Cost: O(cables x ports).
fn of_cables(channels: &Channels) -> usize {
    let mut near = Near(vec![None; channels.switches()]);
    // 4 stands for all that is longer: the search needs no better bound.
    let mut girth = 4;
    for switch in (0..).map(SwitchIx).take(channels.switches()) {
        for far in channels.neighbours(switch) {
            if near.has(switch, far) {
                return 2;
            }
            near.add(switch, far);
        }
        let closes = |beyond| near.has(switch, beyond);
        let mut far = channels.neighbours(switch);
        // Looked at before its neighbours are forgotten: `near` holds those of one switch.
        if girth > 3 && far.any(|far| channels.neighbours(far).any(closes)) {
            girth = 3;
        }
    }
    girth
}

/// By switch: whose neighbour it was last seen to be.
struct Near(Vec<Option<SwitchIx>>);

impl Near {
    /// True when `far` was noted as a neighbour of `switch`, and of no other since.
    fn has(&self, switch: SwitchIx, far: SwitchIx) -> bool {
        self.0[far.index()] == Some(switch)
    }

    /// Notes a neighbour.
    fn add(&mut self, switch: SwitchIx, far: SwitchIx) {
        self.0[far.index()] = Some(switch);
    }
}
