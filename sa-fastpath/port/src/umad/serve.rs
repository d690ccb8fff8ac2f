//! Serving over umad: a worker's port, and the slow lane's handle.
//!
//! The kernel hands each request to the agent that has registered its method. Several workers may
//! read one agent's file; each sends single MADs by an agent of its own, and only what the kernel
//! must segment or acknowledge goes by the owner of the methods.

use std::sync::Arc;
use std::time::Duration;

use sa_wire::mad::method;
use sa_wire::rmpp::{RMPP_VERSION, flag, packet_type};
use sa_wire::sa::SaMad;
use sa_wire::umad::{MAD_SIZE, QP1_QKEY, Slot, UmadHeader};
use zerocopy::{FromBytes, IntoBytes};

use super::agent::Agent;
use super::sys::Read;
use crate::arrival::{Arrival, sort};
use crate::{BACKLOG, BATCH, MadPort, PortCounters, PortError, PortStats, ReplyPort, Verdict};

/// A worker's umad port.
///
/// Slots for a look far ahead (320 KiB) and 64 KiB for a long request are taken when it is made.
#[derive(Debug)]
pub struct UmadPort {
    /// Owns the methods; other workers may read it, too.
    receive: Arc<Agent>,
    /// Of this worker alone, where the kernel allows another agent.
    send: Arc<Agent>,
    /// [`BACKLOG`] slots; the first `lent` are out with the worker.
    slots: Box<[Slot]>,
    lent: usize,
    /// The last request of more than one MAD, empty when there is none.
    spare: Vec<u8>,
    stats: Arc<PortStats>,
}

impl UmadPort {
    /// Receives by one agent, which others may share, and sends by another. All slots are taken
    /// now.
    pub(super) fn new(receive: Arc<Agent>, send: Arc<Agent>) -> Self {
        Self {
            receive,
            send,
            slots: vec![Slot::EMPTY; BACKLOG].into_boxed_slice(),
            lent: 0,
            spare: Vec::with_capacity(SPARE),
            stats: Arc::default(),
        }
    }

    /// What the port hid so far.
    pub fn counters(&self) -> PortCounters {
        self.stats.snapshot()
    }

    /// Waits for a request, at most `timeout`; for idle loops, not for the busy path.
    pub fn wait_readable(&self, timeout: Duration) -> Result<bool, PortError> {
        self.receive.wait_readable(timeout)
    }

    /// The request of more than one MAD that the last `recv` met, if it met one.
    ///
    /// Shape: 64 bytes of [`UmadHeader`], 56 of MAD headers, then all data. Such a request is not
    /// lent (it fits no slot); unless taken from here it is dropped.
    pub fn oversized(&self) -> Option<&[u8]> {
        (!self.spare.is_empty()).then_some(self.spare.as_slice())
    }

    /// Lends at most `most`. Bounded also when everything that comes is to be dropped, so that a
    /// flood of what is no request does not keep the worker from its other turns. Errors: the
    /// device is gone.
    fn receive_batch(&mut self, most: usize) -> Result<&mut [Slot], PortError> {
        self.lent = 0;
        self.forget_long();
        for _ in 0..2 * most {
            match self.receive_one() {
                Ok(true) if self.lent < most => {}
                // A port that is gone says so again.
                Err(error) if self.lent == 0 => return Err(error),
                _ => break,
            }
        }
        Ok(self.slots.get_mut(..self.lent).unwrap_or_default())
    }

    /// One long request must not keep its memory for ever.
    fn forget_long(&mut self) {
        self.spare.clear();
        if self.spare.capacity() > 2 * SPARE {
            self.spare.shrink_to(SPARE);
        }
    }

    /// Reads into the slot behind the lent ones, and sorts out what is no request. `false` when
    /// nothing (more) waits. Errors: the device is gone.
    fn receive_one(&mut self) -> Result<bool, PortError> {
        let Some(slot) = self.slots.get_mut(self.lent) else {
            return Ok(false);
        };
        match self.receive.read(slot) {
            Read::Nothing => Ok(false),
            Read::Failed(errno) => Err(PortError::of("reading umad", errno)),
            Read::TooSmall => {
                let need = usize::try_from(slot.header.length).unwrap_or(SPARE);
                self.receive_long(need)?;
                // Ends the batch, so that the message can be taken before the next one.
                Ok(false)
            }
            Read::Bytes(mad_len) => {
                match sort(slot, mad_len) {
                    Arrival::Request => {
                        self.stats.received();
                        self.lent += 1;
                    }
                    Arrival::Returned => self.stats.returned(),
                    Arrival::Foreign => self.stats.foreign(),
                    Arrival::Malformed => self.stats.malformed(),
                }
                Ok(true)
            }
        }
    }

    /// Reads a message that fits no slot, so that it does not block those behind it: the kernel
    /// keeps a message at the head of its queue until a buffer is large enough. Units: `need` is in
    /// bytes, as the kernel has said it.
    fn receive_long(&mut self, need: usize) -> Result<(), PortError> {
        match self.receive.read_long(&mut self.spare, need.max(SPARE)) {
            Read::Bytes(_) => self.stats.oversized(),
            // Another worker took it meanwhile, or a still longer one came first.
            Read::Nothing | Read::TooSmall => {}
            Read::Failed(errno) => return Err(PortError::of("reading umad", errno)),
        }
        Ok(())
    }
}

impl MadPort for UmadPort {
    fn recv(&mut self) -> Result<&mut [Slot], PortError> {
        self.receive_batch(BATCH)
    }

    fn recv_backlog(&mut self) -> Result<&mut [Slot], PortError> {
        self.receive_batch(BACKLOG)
    }

    fn backlog(&self) -> usize {
        BACKLOG
    }

    fn piles_up(&self) -> bool {
        true
    }

    fn wait(&mut self, most: Duration) -> Result<(), PortError> {
        self.wait_readable(most).map(drop)
    }

    fn stats(&self) -> Option<Arc<PortStats>> {
        Some(Arc::clone(&self.stats))
    }

    fn send(&mut self, verdicts: &[Verdict]) -> Result<usize, PortError> {
        let Self {
            receive,
            send,
            slots,
            lent,
            stats,
            ..
        } = self;
        let lent = core::mem::take(lent);
        let mut unsent = 0;
        for (slot, verdict) in slots.iter_mut().take(lent).zip(verdicts) {
            let Verdict::Reply(mad_len) = *verdict else {
                continue;
            };
            let agent = match address(slot) {
                By::Owner => &receive,
                By::Anyone => &send,
            };
            let outcome = agent.write(slot, usize::from(mad_len).clamp(MIN_WRITE, MAD_SIZE));
            match judge(outcome)? {
                Sent::Yes => stats.sent(),
                Sent::Duplicate => stats.duplicates(),
                Sent::NoRoom => {
                    stats.unsent();
                    unsent += 1;
                }
            }
        }
        Ok(unsent)
    }
}

/// The slow lane's umad handle. Replies leave by the agent that owns the methods, so that the
/// kernel can segment them.
#[derive(Debug)]
pub struct UmadReply {
    agent: Arc<Agent>,
    packet: Vec<u8>,
    stats: Arc<PortStats>,
}

impl UmadReply {
    /// By the agent that owns the methods.
    pub(super) fn new(agent: Arc<Agent>) -> Self {
        Self {
            agent,
            packet: Vec::new(),
            stats: Arc::default(),
        }
    }

    /// Counts how a write went. Errors: the device is gone, or has no room for this reply.
    fn settle(&self, outcome: Result<(), i32>) -> Result<(), PortError> {
        match judge(outcome)? {
            Sent::Yes => self.stats.sent(),
            Sent::Duplicate => self.stats.duplicates(),
            Sent::NoRoom => {
                self.stats.unsent();
                return Err(PortError::Os {
                    what: "writing umad",
                    errno: libc::ENOMEM,
                });
            }
        }
        Ok(())
    }
}

impl ReplyPort for UmadReply {
    fn reply(&mut self, request: &Slot, reply: &[u8]) -> Result<(), PortError> {
        if reply.len() > MAD_SIZE && !self.can_segment() {
            return Err(PortError::TooLong);
        }
        let mut header = request.header;
        address_reply(&mut header);
        header.agent = self.agent.id();
        let segments = wants_rmpp(reply);
        if segments {
            header.retries = RMPP_RETRIES;
        }
        self.packet.clear();
        self.packet.extend_from_slice(header.as_bytes());
        self.packet.extend_from_slice(reply);
        if segments {
            activate_rmpp(&mut self.packet);
        }
        let outcome = self.agent.write_packet(&mut self.packet, reply.len());
        self.settle(outcome)
    }

    fn can_segment(&self) -> bool {
        !self.agent.is_simulated()
    }

    /// The kernel gives a response to the agent that has sent the request, as long as it waits for
    /// one: this is the agent whose arrivals the workers read.
    fn report(&mut self, report: &Slot) -> Result<(), PortError> {
        let mut slot = *report;
        address_reply(&mut slot.header);
        slot.header.timeout_ms = report.header.timeout_ms;
        slot.header.retries = report.header.retries;
        let outcome = self.agent.write(&mut slot, MAD_SIZE);
        self.settle(outcome)
    }

    fn repeats(&self) -> bool {
        !self.agent.is_simulated()
    }

    fn stats(&self) -> Option<Arc<PortStats>> {
        Some(Arc::clone(&self.stats))
    }
}

/// Which agent a reply has to leave by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// The one that owns the request's method: acknowledgements come back to it.
    Owner,
    /// Any of the port, best one that nobody else sends with.
    Anyone,
}

/// Addresses the reply in a slot, and says who is to send it.
pub(crate) fn address(slot: &mut Slot) -> By {
    address_reply(&mut slot.header);
    if !under_rmpp(&slot.mad) {
        return By::Anyone;
    }
    slot.header.retries = RMPP_RETRIES;
    By::Owner
}

/// Turns the header of a request into that of its reply: remote fields stay as they are.
///
/// The kernel does not wait for anything after a reply, so that time-out and retries are 0 but for
/// RMPP.
fn address_reply(header: &mut UmadHeader) {
    header.status = 0;
    header.qkey = QP1_QKEY.into();
    header.timeout_ms = 0;
    header.retries = 0;
    if header.grh_present != 0 {
        header.hop_limit = GRH_HOP_LIMIT;
    }
}

/// How a write went, trouble for good aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sent {
    Yes,
    Duplicate,
    NoRoom,
}

/// Sorts the errno of a write. `EINVAL` stands for a transaction that is already being answered, or
/// for an address that is none: counted, and no trouble of the port. Errors: those that say the
/// device is gone.
pub(crate) fn judge(outcome: Result<(), i32>) -> Result<Sent, PortError> {
    match outcome {
        Ok(()) => Ok(Sent::Yes),
        Err(libc::EINVAL) => Ok(Sent::Duplicate),
        Err(errno) => match PortError::of("writing umad", errno) {
            gone @ PortError::Gone { .. } => Err(gone),
            _ => Ok(Sent::NoRoom),
        },
    }
}

/// True for a reply that the kernel is to acknowledge and segment.
fn under_rmpp(mad: &[u8; MAD_SIZE]) -> bool {
    SaMad::from_bytes(mad).rmpp.is_active()
}

/// Tables go out under RMPP, also those of one MAD: without it a receiver takes the padding for
/// records. Errors go out plain, as they are.
fn wants_rmpp(reply: &[u8]) -> bool {
    let table = reply.get(METHOD_AT).is_some_and(|byte| {
        let tables = [
            method::GET_TABLE_RESP,
            method::GET_TRACE_TABLE_RESP,
            method::GET_MULTI_RESP,
        ];
        tables.contains(byte)
    });
    reply.len() > MAD_SIZE || table && reply.get(STATUS_AT).is_some_and(|status| status == [0, 0])
}

/// Sets what the kernel looks at; the rest it fills in.
fn activate_rmpp(packet: &mut [u8]) {
    let rmpp = packet.get_mut(size_of::<UmadHeader>()..);
    let rmpp = rmpp.and_then(|mad| mad.get_mut(sa_wire::sa::RMPP_OFFSET..));
    let rmpp = rmpp.and_then(|bytes| sa_wire::rmpp::RmppHeader::mut_from_prefix(bytes).ok());
    if let Some((rmpp, _)) = rmpp {
        rmpp.version = RMPP_VERSION;
        rmpp.packet_type = packet_type::DATA;
        rmpp.set_flags(rmpp.flags() | flag::ACTIVE);
    }
}

/// Place of the method in a MAD. Units: bytes.
const METHOD_AT: usize = 3;
/// Place of the status in a MAD. Units: bytes.
const STATUS_AT: core::ops::Range<usize> = 4..6;
/// The kernel's least: a MAD header and an RMPP header.
const MIN_WRITE: usize = 36;
/// What a GRH of ours may still cross.
const GRH_HOP_LIMIT: u8 = 64;
/// As OpenSM's vendor layer asks for.
const RMPP_RETRIES: u32 = 3;
/// Room for a request of more than one MAD; far above what any client sends.
const SPARE: usize = 64 * 1024;
