//! SMPs to a fabric inside the process, in real time.

use std::thread;
use std::time::Duration;

use fabric_simulator::Simulator;
use sa_fabric::PortRef;
use sa_port::PortError;

use crate::{Hidden, Packet, SmpPort, now};

/// A port of a simulated fabric. How long answers take is the simulator's
/// [`Timing`](fabric_simulator::Timing) and its rules; which SMPs are lost at random is this port's.
#[derive(Debug)]
pub struct OverSimulator {
    simulator: Simulator,
    at: PortRef,
    lost_per_million: u32,
    random: u64,
    hidden: Hidden,
}

impl OverSimulator {
    /// An SM at this port. Nothing is lost unless [`Self::losing`] or a rule of the simulator says so.
    pub fn new(simulator: Simulator, at: PortRef) -> Self {
        Self {
            simulator,
            at,
            lost_per_million: 0,
            random: 0,
            hidden: Hidden::default(),
        }
    }

    /// So many of a million SMPs are lost, on the way out and on the way back alike; the same `seed` loses the same ones.
    #[must_use]
    pub fn losing(self, per_million: u32, seed: u64) -> Self {
        Self {
            lost_per_million: per_million,
            random: seed,
            ..self
        }
    }

    /// The fabric, to pull cables or add rules between two calls of [`run`](crate::run).
    pub fn simulator(&mut self) -> &mut Simulator {
        &mut self.simulator
    }

    /// Whether the next SMP is one of those that get lost.
    fn is_lost(&mut self) -> bool {
        if self.lost_per_million == 0 {
            return false;
        }
        // SplitMix64: one state word, good enough to lose SMPs by.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % 1_000_000 < u64::from(self.lost_per_million)
    }
}

impl SmpPort for OverSimulator {
    fn send(&mut self, packet: &Packet) -> Result<bool, PortError> {
        if !self.is_lost() {
            self.simulator.post(self.at, packet.lid, &packet.smp, now());
        }
        Ok(true)
    }

    fn receive(&mut self) -> Result<Option<Packet>, PortError> {
        while let Some((_, at, smp)) = self.simulator.next(now()) {
            if at == self.at && !self.is_lost() {
                return Ok(Some(Packet::directed(smp)));
            }
        }
        Ok(None)
    }

    fn wait(&mut self, timeout: Duration) -> Result<bool, PortError> {
        let next = self.simulator.next_at();
        let ahead = next.map(|at| at.saturating_sub(now()));
        let comes = ahead.filter(|ahead| *ahead <= timeout);
        // An answer that is due is there without a sleep.
        match comes.unwrap_or(timeout) {
            Duration::ZERO => {}
            nap => thread::sleep(nap),
        }
        Ok(comes.is_some())
    }

    fn hidden(&self) -> Hidden {
        self.hidden
    }
}
