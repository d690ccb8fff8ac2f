//! Where each switch sends each LID at this moment, as far as the next device.

use fabric_simulator::Simulator;
use sa_fabric::{NodeIx, PortRef};

/// What becomes of a packet at a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hop {
    /// No entry, or one that leads over no Active link.
    Lost,
    /// It has arrived, or does by this port, at an end port that owns the LID.
    Arrives(u8),
    /// Out by this port, to a switch.
    To(u8, PortRef),
}

/// Hops of all switches. A copy, so that what a Set has changed can be seen.
#[derive(Debug, Default)]
pub(crate) struct Hops {
    /// Shape: by node, then LID; of what is no switch there is none.
    rows: Vec<Vec<Hop>>,
    is_switch: Vec<bool>,
}

/// LIDs that are looked at: more than the fabrics here have.
const LIDS: u16 = 640;

impl Hops {
    /// Nothing is known before the first [`Self::refresh`].
    pub(crate) fn new(is_switch: Vec<bool>) -> Self {
        let row = |is: &bool| vec![Hop::Lost; if *is { LIDS.into() } else { 0 }];
        Self {
            rows: is_switch.iter().map(row).collect(),
            is_switch,
        }
    }

    /// All switches.
    pub(crate) fn switches(&self) -> impl Iterator<Item = NodeIx> {
        let all = (0..).map(NodeIx).zip(self.is_switch.clone());
        all.filter(|(_, is)| *is).map(|(at, _)| at)
    }

    /// All LIDs.
    pub(crate) fn lids(&self) -> impl Iterator<Item = u16> + use<> {
        1..LIDS
    }

    pub(crate) fn is_switch(&self, node: NodeIx) -> bool {
        self.is_switch[node.get()]
    }

    pub(crate) fn at(&self, node: NodeIx, lid: u16) -> Hop {
        let row = &self.rows[node.get()];
        row.get(usize::from(lid)).copied().unwrap_or(Hop::Lost)
    }

    /// Looks at these LIDs of a switch anew, and gives those that go another way now.
    pub(crate) fn refresh(
        &mut self,
        simulator: &Simulator,
        node: NodeIx,
        lids: impl Iterator<Item = u16>,
    ) -> Vec<u16> {
        let mut changed = Vec::new();
        if !self.is_switch(node) {
            return changed;
        }
        for lid in lids.filter(|lid| *lid < LIDS) {
            let now = self.look(simulator, node, lid);
            let held = &mut self.rows[node.get()][usize::from(lid)];
            if *held != now {
                *held = now;
                changed.push(lid);
            }
        }
        changed
    }

    fn look(&self, simulator: &Simulator, node: NodeIx, lid: u16) -> Hop {
        let owns = |at| simulator.lids(at).is_some_and(|lids| lids.contains(&lid));
        if owns(PortRef { node, port: 0 }) {
            return Hop::Arrives(0);
        }
        let Some(port) = simulator.entry(node, lid) else {
            return Hop::Lost;
        };
        match simulator.active_peer(PortRef { node, port }) {
            Some(far) if self.is_switch(far.node) => Hop::To(port, far),
            Some(far) if owns(far) => Hop::Arrives(port),
            _ => Hop::Lost,
        }
    }

    /// How a packet that is at a switch ends.
    pub(crate) fn end(&self, from: NodeIx, lid: u16) -> End {
        let mut here = from;
        for _ in 0..=self.rows.len() {
            match self.at(here, lid) {
                Hop::Lost => return End::Lost,
                Hop::Arrives(_) => return End::Arrives,
                Hop::To(_, far) => here = far.node,
            }
        }
        End::Circle
    }

    /// Whether it passes a switch on its way from another one.
    pub(crate) fn passes(&self, from: NodeIx, by: NodeIx, lid: u16) -> bool {
        let mut here = from;
        for _ in 0..=self.rows.len() {
            if here == by {
                return true;
            }
            match self.at(here, lid) {
                Hop::Lost | Hop::Arrives(_) => return false,
                Hop::To(_, far) => here = far.node,
            }
        }
        false
    }
}

/// How a packet ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Arrives,
    Lost,
    Circle,
}
