//! The VL, and with it the SL, of every pair of switches.

use sa_wire::Sl;

/// By destination, then by source: the VL of the ways between two switches.
///
/// A square of bytes: 15 MB for 3,920 switches.
#[derive(Clone)]
pub(super) struct Pairs {
    switches: usize,
    vls: Vec<u8>,
}

/// No VL: there is no way.
pub(super) const NO_VL: u8 = u8::MAX;

impl Pairs {
    /// No pair has a way, but each switch with itself: VL 0, as packets within a switch pass no channel.
    pub(super) fn none(switches: usize) -> Self {
        // The diagonal: packets within a switch wait for no channel, so any VL would do.
        let mut vls = vec![NO_VL; switches * switches];
        let diagonal = vls.iter_mut().step_by(switches + 1);
        diagonal.for_each(|vl| *vl = 0);
        Self { switches, vls }
    }

    /// The VL of the ways from one switch to another; [`NO_VL`] without any.
    pub(super) fn vl(&self, from: u32, to: u32) -> u8 {
        self.vls[to as usize * self.switches + from as usize]
    }

    /// The same as the SL of paths.
    pub(super) fn sl(&self, from: u32, to: u32) -> Option<Sl> {
        Sl::new(self.vl(from, to)).ok()
    }

    /// Gives a pair its VL.
    pub(super) fn set(&mut self, from: u32, to: u32, vl: u8) {
        self.vls[to as usize * self.switches + from as usize] = vl;
    }

    /// Gives all pairs to a switch the same VL, where the source is another that is wired to it.
    pub(super) fn set_all(&mut self, to: u32, vl: u8, is_wired: impl Fn(u32) -> bool) {
        let row = &mut self.vls[to as usize * self.switches..][..self.switches];
        for (from, place) in (0..).zip(row) {
            if from != to && is_wired(from) {
                *place = vl;
            }
        }
    }
}
