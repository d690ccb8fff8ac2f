//! Serving over ibsim: a worker's port, and the slow lane's handle.
//!
//! RMPP is not the kernel's here, so two things are done that umad's port need not: requests of one
//! segment (GetMulti) are acknowledged, behind their replies, and the slow lane segments by itself.

use std::sync::Arc;
use std::time::Duration;

use sa_wire::sa::SaMad;
use sa_wire::umad::{MAD_SIZE, Slot};

use super::data::{Data, Sent};
use super::smps::SmpRelay;
use crate::arrival::{Arrival, sort};
use crate::{BATCH, MadPort, PortCounters, PortError, PortStats, ReplyPort, Verdict};
use sa_answer::rmpp;

/// A worker's ibsim port.
///
/// All its memory is taken when it is made: 64 slots, and room for as many acknowledgements.
#[derive(Debug)]
pub struct IbsimPort {
    /// The simulator's socket, by which the slow lane sends too.
    data: Data,
    /// [`BATCH`] slots; the first `lent` are out with the worker.
    slots: Box<[Slot]>,
    /// In the front of `slots`, until the next receive or send.
    lent: usize,
    /// Acknowledgements of lent requests, by their places.
    due: Vec<(usize, Slot)>,
    /// Shared with whoever shows them.
    stats: Arc<PortStats>,
    /// Where SMPs go; none where no SM of this process waits for them.
    smps: Option<SmpRelay>,
}

impl IbsimPort {
    /// A worker's port over a handle of its own.
    pub(super) fn new(data: Data, smps: Option<SmpRelay>) -> Self {
        let slots = vec![Slot::EMPTY; BATCH].into_boxed_slice();
        Self {
            stats: Arc::clone(data.stats()),
            data,
            slots,
            lent: 0,
            due: Vec::with_capacity(BATCH),
            smps,
        }
    }

    /// What the port hid so far.
    pub fn counters(&self) -> PortCounters {
        self.stats.snapshot()
    }

    /// Waits for a request, at most `timeout`; for idle loops, not for the busy path.
    pub fn wait_readable(&self, timeout: Duration) -> Result<bool, PortError> {
        self.data.wait_readable(timeout)
    }
}

impl MadPort for IbsimPort {
    fn recv(&mut self) -> Result<&mut [Slot], PortError> {
        let Self {
            data,
            slots,
            lent,
            due,
            stats,
            smps,
        } = self;
        *lent = 0;
        due.clear();
        // Bounded also when everything that comes is to be dropped.
        for _ in 0..2 * BATCH {
            let Some(slot) = slots.get_mut(*lent) else {
                break;
            };
            if !data.receive(slot)? {
                break;
            }
            match sort(slot, MAD_SIZE) {
                Arrival::Request => {
                    stats.received();
                    if let Some(packet) = acknowledgement(slot) {
                        due.push((*lent, packet));
                    }
                    *lent += 1;
                }
                Arrival::Returned => stats.returned(),
                Arrival::Foreign if smps.as_ref().is_some_and(|it| it.hand_on(slot)) => {}
                Arrival::Foreign => stats.foreign(),
                Arrival::Malformed => stats.malformed(),
            }
        }
        Ok(slots.get_mut(..*lent).unwrap_or_default())
    }

    fn wait(&mut self, most: Duration) -> Result<(), PortError> {
        self.data.wait_watchfully(most).map(drop)
    }

    fn stats(&self) -> Option<Arc<PortStats>> {
        Some(Arc::clone(&self.stats))
    }

    fn send(&mut self, verdicts: &[Verdict]) -> Result<usize, PortError> {
        let Self {
            data,
            slots,
            lent,
            due,
            stats,
            smps: _,
        } = self;
        let lent = core::mem::take(lent);
        let mut unsent = 0;
        // Once for a batch: a simulator that takes nothing must not hold the worker for long.
        let mut patience = ROOM;
        for (slot, verdict) in slots.iter().take(lent).zip(verdicts) {
            let Verdict::Reply(mad_len) = *verdict else {
                continue;
            };
            match data.send(slot, usize::from(mad_len), patience)? {
                Sent::Yes => stats.sent(),
                Sent::NoRoom => {
                    patience = Duration::ZERO;
                    stats.unsent();
                    unsent += 1;
                }
            }
        }
        // After the replies: behind the preload library a requester takes the first thing that
        // comes for its reply, and RMPP's receivers do not mind.
        for (place, packet) in due.drain(..) {
            if verdicts
                .get(place)
                .is_some_and(|it| *it != Verdict::Silence)
            {
                data.send(&packet, MAD_SIZE, patience)?;
            }
        }
        Ok(unsent)
    }
}

/// The acknowledgement of a double-sided request of one segment, which is answered like any other.
/// Nothing is remembered of it: if it is lost, the request comes again.
fn acknowledgement(request: &Slot) -> Option<Slot> {
    let mad = SaMad::from_bytes(&request.mad);
    rmpp::is_single(mad).then(|| Slot {
        header: request.header,
        mad: rmpp::acknowledgement(mad, 1, 1),
    })
}

/// The slow lane's ibsim handle. One MAD at a time: RMPP is the caller's.
///
/// Its sends wait up to a second, where a worker's give up after 200 ms for a whole batch.
#[derive(Debug)]
pub struct IbsimReply {
    /// A handle of the same socket as the workers'.
    data: Data,
    /// Made once: a reply is written over the one before.
    slot: Box<Slot>,
}

impl IbsimReply {
    /// The slow lane's handle; it shares the socket with the workers.
    pub(super) fn new(data: Data) -> Self {
        Self {
            data,
            slot: Box::new(Slot::EMPTY),
        }
    }
}

impl ReplyPort for IbsimReply {
    /// Errors: longer than a MAD; the simulator has taken nothing for a second.
    fn reply(&mut self, request: &Slot, reply: &[u8]) -> Result<(), PortError> {
        self.slot.header = request.header;
        self.slot.mad = [0; MAD_SIZE];
        let place = self
            .slot
            .mad
            .get_mut(..reply.len())
            .ok_or(PortError::TooLong)?;
        place.copy_from_slice(reply);
        match self.data.send_waiting(&self.slot, reply.len(), PATIENCE)? {
            Sent::Yes => Ok(()),
            Sent::NoRoom => Err(PortError::Os {
                what: "sending to the simulator",
                errno: libc::EAGAIN,
            }),
        }
    }

    fn can_segment(&self) -> bool {
        false
    }
}

/// For the simulator to take a reply of a worker.
const ROOM: Duration = Duration::from_millis(200);
/// For the simulator to take a reply of the slow lane.
const PATIENCE: Duration = Duration::from_secs(1);
