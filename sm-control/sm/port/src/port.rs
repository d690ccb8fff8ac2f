//! What a port has to offer.

use std::time::Duration;

use sa_port::PortError;
use sa_wire::smp::{MGMT_CLASS_DIRECTED, MGMT_CLASS_LID, PERMISSIVE_LID};
use sa_wire::umad::Slot;

/// An SMP and where it goes to or comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// The LID of the other end; [`PERMISSIVE_LID`] for a directed route.
    pub lid: u16,
    /// The SMP as it is on the wire.
    pub smp: [u8; 256],
}

/// What a port did not hand on. Nothing here is lost for good where it was a request of a sweep: that asks again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hidden {
    /// SMPs that found no room when they were to go out.
    pub no_room: u64,
    /// SMPs of ours that came back, as nobody answered them in the transport's time.
    pub returned: u64,
    /// MADs that are no SMPs.
    pub foreign: u64,
}

/// Where SMPs go to and come from: queue pair 0 of one port.
pub trait SmpPort {
    /// Sends without waiting for an answer. False where there is no room now; then nothing was sent.
    /// Errors: the port is of no use any more.
    fn send(&mut self, packet: &Packet) -> Result<bool, PortError>;

    /// The next SMP that has come; answers, requests and traps alike. `None` when none waits. Errors: as [`Self::send`].
    fn receive(&mut self) -> Result<Option<Packet>, PortError>;

    /// Sleeps until something can be received, at most `timeout`. True when something may have come. Errors: as [`Self::send`].
    fn wait(&mut self, timeout: Duration) -> Result<bool, PortError>;

    /// What was not handed on so far.
    fn hidden(&self) -> Hidden;
}

impl Packet {
    /// An SMP whose whole way is a directed route.
    pub const fn directed(smp: [u8; 256]) -> Self {
        Self {
            lid: PERMISSIVE_LID,
            smp,
        }
    }

    /// As transports of `sa-port` send it, to queue pair 0.
    pub(crate) fn slot(&self) -> Slot {
        let mut slot = Slot::EMPTY;
        slot.header.lid = self.lid.into();
        slot.mad = self.smp;
        slot
    }
}

impl Hidden {
    /// The next SMP that `receive` puts into the slot, which says whether something has come; `None` when nothing waits.
    /// Errors: those of `receive`.
    pub(crate) fn next(
        &mut self,
        slot: &mut Slot,
        mut receive: impl FnMut(&mut Slot) -> Result<bool, PortError>,
    ) -> Result<Option<Packet>, PortError> {
        while receive(slot)? {
            if let Some(packet) = self.sort(slot) {
                return Ok(Some(packet));
            }
        }
        Ok(None)
    }

    /// What a slot that has come brings; `None`, and counted, where it is no SMP from somebody else.
    pub(crate) fn sort(&mut self, slot: &Slot) -> Option<Packet> {
        let [_, class, ..] = slot.mad;
        if slot.header.status != 0 {
            self.returned += 1;
            return None;
        }
        if ![MGMT_CLASS_LID, MGMT_CLASS_DIRECTED].contains(&class) {
            self.foreign += 1;
            return None;
        }
        Some(Packet {
            lid: slot.header.lid.get(),
            smp: slot.mad,
        })
    }
}
