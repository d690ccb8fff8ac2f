//! The gate of the fleet, for a lane: it looks when it answers, and a long reply must not outlive
//! the gate.
//!
//! A worker may have given a request away while the gate was open, and the lane may send segments
//! of a reply for a minute. So the lane asks again at each answer and before each round of
//! segments, and gives up what was begun from a snapshot that is not to be answered from any more.
//! Whoever waits for it asks another SA.

use core::mem::replace;
use std::sync::Arc;

use sa_fastpath::gate::Gate;
use sa_fastpath::publish::{NO_GENERATION, Published};

/// The gate, and what transfers under way were begun from.
pub(super) struct Gated {
    /// None on a host that follows no fleet: then everything may be answered.
    gate: Option<Arc<Gate>>,
    begun_of: u64,
}

impl Gated {
    /// Nothing is under way.
    pub(super) const fn by(gate: Option<Arc<Gate>>) -> Self {
        Self {
            gate,
            begun_of: NO_GENERATION,
        }
    }

    /// Whether what is in service may be answered from now. None: nothing is.
    pub(super) fn is_open(&self, published: Option<&Published>) -> bool {
        let gate = self.gate.as_deref();
        gate.is_none_or(|gate| gate.may_answer(generation(published)))
    }

    /// Whether transfers that were begun before may go on. Told before each round of segments.
    pub(super) fn goes_on(&mut self, published: Option<&Published>) -> bool {
        if self.gate.is_none() {
            return true;
        }
        // It may have shut and opened for another generation since the last round.
        let now = generation(published);
        let is_as_before = replace(&mut self.begun_of, now) == now;
        is_as_before && self.is_open(published)
    }
}

fn generation(published: Option<&Published>) -> u64 {
    published.map_or(NO_GENERATION, |published| published.generation)
}
