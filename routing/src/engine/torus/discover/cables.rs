//! Cables between switches, and four-cycles of them.
//!
//! A *four-cycle* is a closed walk over four different cables and switches. Three corners of one
//! determine the fourth, mostly: it is joined to both ends of the diagonal and is not the third.
//!
//! ```text
//! A ── ?       corner(A, B, C): a far switch of A that is not B and has a cable to C
//! |    |
//! B ── C
//! ```
//!
//! Only cables without a place are looked at. That keeps a found part of the torus from answering
//! for a cube it does not belong to, and the search short.

use crate::topology::{SwitchIx, Topology};

/// Cables between switches.
/// Filled once; from then on only `placed` changes, by [`super::Discovery`]'s linking.
pub(super) struct Cables {
    /// By switch, by ascending port.
    /// The order is part of the result: of two candidates the one on the lower port is taken, as in
    /// OpenSM.
    ends: Vec<Vec<CableEnd>>,
    /// By cable: it has found its place in the torus.
    /// Shape: by number of the cable, both ends sharing it.
    pub(super) placed: Vec<bool>,
}

/// A cable as one of its switches sees it.
/// Exists twice, once at each switch; a cable from a switch to itself twice at that switch.
#[derive(Clone, Copy)]
pub(super) struct CableEnd {
    pub(super) port: u8,
    pub(super) far: SwitchIx,
    pub(super) far_port: u8,
    pub(super) cable: usize,
}

impl Cables {
    /// Numbers the cables. None has a place yet.
    pub(super) fn new(topology: &Topology) -> Self {
        let mut ends: Vec<Vec<CableEnd>> = vec![Vec::new(); topology.switches.len()];
        let mut count = 0;
        for switch in topology.switch_ixs() {
            for (port, far, far_port) in topology.cables(switch) {
                // The end that comes first in order gave the cable its number.
                // Switches are visited in order, so the other end was seen already.
                let is_second_end = (far, far_port) < (switch, port);
                let known = is_second_end
                    .then(|| ends[far.index()].iter().find(|end| end.port == far_port))
                    .flatten();
                let cable = known.map_or(count, |end| end.cable);
                count += usize::from(known.is_none());
                ends[switch.index()].push(CableEnd {
                    port,
                    far,
                    far_port,
                    cable,
                });
            }
        }
        Self {
            ends,
            placed: vec![false; count],
        }
    }

    /// Cables of a switch that have no place yet.
    /// Cost: O(ports). Cables are never taken out of the list.
    pub(super) fn unplaced(&self, switch: SwitchIx) -> impl Iterator<Item = CableEnd> + '_ {
        self.ends[switch.index()]
            .iter()
            .copied()
            .filter(|end| !self.placed[end.cable])
    }

    /// The neighbour of `a` other than `b` that is also one of `c`: the fourth corner of the face
    /// a-b-c, opposite `b`.
    /// Cost: O(ports^2). None where A and C have no other switch in common.
    pub(super) fn corner(&self, a: SwitchIx, b: SwitchIx, c: SwitchIx) -> Option<SwitchIx> {
        let around = self.unplaced(a).map(|end| end.far).filter(|far| *far != b);
        around
            .into_iter()
            .find(|far| self.unplaced(*far).any(|end| end.far == c))
    }
}
