//! Cables between switches, and four-cycles of them.

use crate::topology::{SwitchIx, Topology};

/// Cables between switches.
pub(super) struct Cables {
    /// By switch, by ascending port.
    ends: Vec<Vec<CableEnd>>,
    /// By cable: it has found its place in the torus.
    pub(super) placed: Vec<bool>,
}

/// A cable as one of its switches sees it.
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
    pub(super) fn unplaced(&self, switch: SwitchIx) -> impl Iterator<Item = CableEnd> + '_ {
        self.ends[switch.index()]
            .iter()
            .copied()
            .filter(|end| !self.placed[end.cable])
    }

    /// The neighbour of `a` other than `b` that is also one of `c`: the fourth corner of the face
    /// a-b-c, opposite `b`.
    pub(super) fn corner(&self, a: SwitchIx, b: SwitchIx, c: SwitchIx) -> Option<SwitchIx> {
        let around = self.unplaced(a).map(|end| end.far).filter(|far| *far != b);
        around
            .into_iter()
            .find(|far| self.unplaced(*far).any(|end| end.far == c))
    }
}
