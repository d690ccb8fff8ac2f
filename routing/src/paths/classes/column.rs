//! All paths to one LID.
//!
//! The same walk as in `paths::columns::follow`, with capacity and SLs instead of hops alone. Only
//! fabrics that are not uniform need it.

use super::links::{Links, Packed};
use crate::topology::SwitchIx;

/// What a path has behind the switch it leaves.
/// Without the switch's own table: that depends on where a packet came in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rest {
    /// Least over the cables.
    /// Unlimited at the destination's switch, behind which no cable between switches comes.
    pub(super) capacity: Packed,
    /// Switches still to come.
    pub(super) switches: u16,
    /// SLs that these carry.
    pub(super) carried: u16,
}

#[derive(Clone, Copy)]
enum State {
    Unknown,
    /// Settled: no path. Also stands for "being followed".
    Lost,
    Known(Rest),
}

/// Resolves, for one LID after another, what lies between each switch and the LID.
///
/// A path depends on where it is, not on where it began, so each switch is resolved once, from the
/// destination outwards.
pub(super) struct Resolver {
    /// By switch.
    states: Vec<State>,
    way: Vec<u32>,
}

/// Where a LID is plugged in, and how every switch forwards it.
#[derive(Clone, Copy)]
pub(super) struct Target<'c> {
    pub(super) switch: SwitchIx,
    /// That switch sends it to the right port.
    pub(super) delivers: bool,
    /// By switch index: output port.
    pub(super) column: &'c [u8],
    /// Of the table of SLs, where there is one.
    pub(super) sl_column: u32,
    /// Number of the column among different ones.
    pub(super) number: u32,
    /// The first LID with this column.
    pub(super) is_new: bool,
}

impl Resolver {
    pub(super) fn new() -> Self {
        Self {
            states: Vec::new(),
            way: Vec::new(),
        }
    }

    /// Resolves all switches for a LID.
    /// Cost: O(switches).
    pub(super) fn resolve(&mut self, links: &Links, target: Target<'_>) {
        self.states.clear();
        self.states.resize(target.column.len(), State::Unknown);
        // The destination's switch delivers or is a dead end, whatever else it might do.
        self.states[target.switch.index()] = if target.delivers {
            let (capacity, carried) = (Packed::UNLIMITED, u16::MAX);
            State::Known(Rest {
                capacity,
                switches: 0,
                carried,
            })
        } else {
            State::Lost
        };
        for switch in 0..crate::topology::count32(target.column.len()) {
            if matches!(self.states[switch as usize], State::Unknown) {
                self.follow(links, target, switch);
            }
        }
    }

    /// What lies behind a switch; none when the LID cannot be reached from it.
    pub(super) fn rest(&self, switch: u32) -> Option<Rest> {
        match self.states[switch as usize] {
            State::Known(rest) => Some(rest),
            State::Unknown | State::Lost => None,
        }
    }

    /// Follows the tables up to a switch that is resolved, then resolves the way back.
    fn follow(&mut self, links: &Links, target: Target<'_>, from: u32) {
        self.way.clear();
        let mut here = from;
        while matches!(self.states[here as usize], State::Unknown) {
            // Until the way back says more: a cycle that comes here again is lost.
            self.states[here as usize] = State::Lost;
            self.way.push(here);
            match output(target.column[here as usize]).and_then(|port| links.link(here, port)) {
                Some(link) => here = link.to,
                None => break,
            }
        }
        while let Some(here) = self.way.pop() {
            let rest = self.step(links, target, here);
            self.states[here as usize] = rest.map_or(State::Lost, State::Known);
        }
    }

    /// What lies behind a switch, from what lies behind the next one.
    fn step(&self, links: &Links, target: Target<'_>, here: u32) -> Option<Rest> {
        let link = links.link(here, output(target.column[here as usize])?)?;
        let beyond = self.rest(link.to)?;
        // At the far switch, from the cable's end to where that switch sends the LID.
        let carried = links.carried(link.to, link.input, target.column[link.to as usize]);
        Some(Rest {
            capacity: link.capacity.min(beyond.capacity),
            switches: beyond.switches + 1,
            carried: carried & beyond.carried,
        })
    }
}

fn output(entry: u8) -> Option<u8> {
    (entry != crate::tables::NO_PATH).then_some(entry)
}
