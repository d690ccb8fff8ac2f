//! Asking an SA: what every client port has in common, and the client over umad.

use core::fmt;
use std::time::{Duration, Instant};

use sa_wire::device_management::{DEVICE_CLASS_VERSION, MGMT_CLASS_DEVICE};
use sa_wire::mad::MGMT_CLASS_SA;
use sa_wire::sa::SaMad;
use sa_wire::umad::{MAD_SIZE, QP1_QKEY, Slot, UmadHeader};
use sa_wire::{Lid, Sl};
use zerocopy::{FromBytes, IntoBytes};

use super::agent::Agent;
use super::error::UmadError;
use super::find::{self, PortName};
use super::serve::MIN_REQUEST;
use super::sys::Read;
use crate::port::PortError;

/// Sends requests and receives their replies. None of the calls but [`ClientPort::wait`] and
/// [`ClientPort::ask`] blocks.
pub trait ClientPort {
    /// Sends a request of 56 to 256 bytes; shorter ones are padded unless RMPP is active in them.
    /// False when there is no room at the moment.
    ///
    /// `patience` is for transports that resend by themselves (see [`ClientPort::resends`]).
    fn submit(
        &mut self,
        to: &Destination,
        request: &[u8],
        patience: Patience,
    ) -> Result<bool, PortError>;

    /// Takes the next thing that came back, if any: a reply, or a request of ours that failed
    /// (non-zero `status` in its header).
    fn take(&mut self, reply: &mut Reply) -> Result<bool, PortError>;

    /// Waits until something can be taken, at most `timeout`.
    fn wait(&mut self, timeout: Duration) -> Result<bool, PortError>;

    /// True when the transport resends unanswered requests, and says so when it gives up.
    fn resends(&self) -> bool;

    /// Sends a request and waits for the reply with the same transaction (low 32 bits: the upper
    /// ones belong to the transport). Other arrivals are dropped.
    ///
    /// Errors: [`AskError`].
    fn ask(
        &mut self,
        to: &Destination,
        request: &[u8],
        patience: Patience,
        reply: &mut Reply,
    ) -> Result<(), AskError> {
        let wanted = low_transaction(request);
        let sends = if self.resends() {
            1
        } else {
            patience.retries + 1
        };
        let window = if self.resends() {
            // The transport reports its own defeat; this is for the one that forgets.
            patience.timeout * (patience.retries + 1) + GRACE
        } else {
            patience.timeout
        };
        for _ in 0..sends {
            let deadline = Instant::now() + window;
            while !self.submit(to, request, patience)? {
                if Instant::now() >= deadline {
                    break;
                }
                self.wait(Duration::from_millis(1))?;
            }
            if take_matching(self, wanted, deadline, reply)? {
                return settle(to, patience, self.resends(), reply);
            }
        }
        Err(AskError::TimedOut {
            lid: to.lid,
            patience,
        })
    }
}

/// Where a request goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Destination {
    /// The port's LID.
    pub lid: Lid,
    /// The queue pair, 1 for an SA.
    pub qpn: u32,
    /// The SL that reaches it (PortInfo.MasterSMSL).
    pub sl: Sl,
}

impl Destination {
    /// The SA at a LID, at SL 0.
    pub fn sa(lid: Lid) -> Self {
        Self {
            lid,
            qpn: 1,
            sl: Sl::default(),
        }
    }
}

/// How long to wait and how often to ask again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// For each try. Units: whole milliseconds count.
    pub timeout: Duration,
    /// Tries after the first.
    pub retries: u32,
}

impl Default for Patience {
    /// A second, three times.
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(1),
            retries: 2,
        }
    }
}

/// What came back. Reuse it: its buffer grows once.
#[derive(Debug, Clone)]
pub struct Reply {
    /// Where it came from; `status` is non-zero for a request of ours that failed.
    pub header: UmadHeader,
    /// The MAD, several segments already put together. A table under RMPP, or over ibsim, is as
    /// long as its sender said; other replies over umad are 256 bytes.
    pub mad: Vec<u8>,
}

impl Default for Reply {
    fn default() -> Self {
        Self {
            header: Slot::EMPTY.header,
            mad: Vec::with_capacity(MAD_SIZE),
        }
    }
}

/// Why no reply came.
#[derive(Debug)]
#[non_exhaustive]
pub enum AskError {
    /// Nobody answered.
    TimedOut {
        /// Who was asked.
        lid: Lid,
        /// How long.
        patience: Patience,
    },
    /// The fabric could not deliver the request.
    Undeliverable {
        /// Who was asked.
        lid: Lid,
    },
    /// The transport failed.
    Port(PortError),
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut { lid, patience } => write!(
                f,
                "no answer from LID {lid}: asked {} times, {} ms each; is an SA up there?",
                patience.retries + 1,
                patience.timeout.as_millis()
            ),
            Self::Undeliverable { lid } => write!(
                f,
                "LID {lid} cannot be reached: no route to it, its port is not active, or no SA \
                 listens there"
            ),
            Self::Port(cause) => cause.fmt(f),
        }
    }
}

impl core::error::Error for AskError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Port(cause) => Some(cause),
            _ => None,
        }
    }
}

impl From<PortError> for AskError {
    fn from(cause: PortError) -> Self {
        Self::Port(cause)
    }
}

/// Takes arrivals until one carries the transaction `wanted`. False at the deadline.
fn take_matching<P: ClientPort + ?Sized>(
    port: &mut P,
    wanted: Option<u32>,
    deadline: Instant,
    reply: &mut Reply,
) -> Result<bool, PortError> {
    loop {
        while port.take(reply)? {
            if low_transaction(&reply.mad) == wanted {
                return Ok(true);
            }
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        port.wait(left)?;
    }
}

/// The low 32 bits of a MAD's transaction id; `None` for fewer than 16 bytes.
pub fn low_transaction(mad: &[u8]) -> Option<u32> {
    let bytes = mad.get(12..16)?.first_chunk::<4>()?;
    Some(u32::from_be_bytes(*bytes))
}

fn settle(
    to: &Destination,
    patience: Patience,
    by_transport: bool,
    reply: &Reply,
) -> Result<(), AskError> {
    match reply.header.status {
        0 => Ok(()),
        _ if by_transport => Err(AskError::TimedOut {
            lid: to.lid,
            patience,
        }),
        _ => Err(AskError::Undeliverable { lid: to.lid }),
    }
}

/// A umad agent that only asks. Any number of them may share a port with an SM.
#[derive(Debug)]
pub struct UmadClient {
    name: PortName,
    agent: Agent,
    slot: Box<Slot>,
    spare: Vec<u8>,
}

impl UmadClient {
    /// Opens `device` (or the first active InfiniBand port). Errors: [`UmadError`].
    pub fn open(device: Option<&str>, port: Option<u8>) -> Result<Self, UmadError> {
        let name = find::find(device, port)?;
        let agent = Agent::open(&name, &[])?;
        Ok(Self::over(name, agent))
    }

    /// The same to ask I/O units (device management, class 0x06) instead of an SA.
    pub fn open_for_devices(device: Option<&str>, port: Option<u8>) -> Result<Self, UmadError> {
        let name = find::find(device, port)?;
        let agent = Agent::open_class(&name, MGMT_CLASS_DEVICE, DEVICE_CLASS_VERSION)?;
        Ok(Self::over(name, agent))
    }

    fn over(name: PortName, agent: Agent) -> Self {
        Self {
            name,
            agent,
            slot: Box::new(Slot::EMPTY),
            spare: Vec::new(),
        }
    }

    /// Device, port number and node; its state tells where the SA is.
    pub fn name(&self) -> &PortName {
        &self.name
    }

    /// The SA that this port's SM names, as of now; `None` before an SM configured the port.
    pub fn sa(&self) -> Option<Destination> {
        let state = self.name.state();
        let lid = Lid::new(state.sm_lid).ok()?;
        Some(Destination {
            lid,
            qpn: 1,
            sl: Sl::from_low_bits(state.sm_sl),
        })
    }

    fn take_long(&mut self, reply: &mut Reply) -> Result<bool, PortError> {
        let need = usize::try_from(self.slot.header.length).unwrap_or(MAD_SIZE);
        match self.agent.read_long(&mut self.spare, need) {
            Read::Bytes(_) => {}
            Read::Nothing | Read::TooSmall => return Ok(false),
            Read::Failed(errno) => return Err(PortError::of("reading umad", errno)),
        }
        reply.mad.clear();
        if let Ok((header, mad)) = UmadHeader::read_from_prefix(&self.spare) {
            reply.header = header;
            reply.mad.extend_from_slice(mad);
        }
        Ok(true)
    }
}

impl ClientPort for UmadClient {
    fn submit(
        &mut self,
        to: &Destination,
        request: &[u8],
        patience: Patience,
    ) -> Result<bool, PortError> {
        let active = request.get(26).is_some_and(|flags| flags & 1 != 0);
        let mad_len = if active { request.len() } else { MAD_SIZE };
        fill(&mut self.slot, to, request)?;
        if self.resends() {
            self.slot.header.timeout_ms =
                u32::try_from(patience.timeout.as_millis().max(1)).unwrap_or(u32::MAX);
            self.slot.header.retries = patience.retries;
        } else {
            // The simulator forgets; a timeout of 0 would make the kernel drop the answer.
            self.slot.header.timeout_ms = 1;
        }
        match self.agent.write(&mut self.slot, mad_len) {
            // EINVAL: this transaction is already under way, which is what was asked for.
            Ok(()) | Err(libc::EINVAL) => Ok(true),
            Err(libc::EAGAIN | libc::ENOMEM) => Ok(false),
            Err(errno) => Err(PortError::of("writing umad", errno)),
        }
    }

    fn take(&mut self, reply: &mut Reply) -> Result<bool, PortError> {
        loop {
            let mad_len = match self.agent.read(&mut self.slot) {
                Read::Nothing => return Ok(false),
                Read::TooSmall => return self.take_long(reply),
                Read::Failed(errno) => return Err(PortError::of("reading umad", errno)),
                Read::Bytes(mad_len) => mad_len,
            };
            if !answers_something(&self.slot, mad_len) {
                continue;
            }
            reply.header = self.slot.header;
            reply.mad.clear();
            reply.mad.extend(self.slot.mad.iter().take(mad_len));
            return Ok(true);
        }
    }

    fn wait(&mut self, timeout: Duration) -> Result<bool, PortError> {
        self.agent.wait_readable(timeout)
    }

    fn resends(&self) -> bool {
        !self.agent.is_simulated()
    }
}

/// False for what a client has no use for: requests of others, traps that a simulator hands over.
pub(crate) fn answers_something(slot: &Slot, mad_len: usize) -> bool {
    let mad = &SaMad::from_bytes(&slot.mad).mad;
    let ours = mad.is_response() || slot.header.status != 0;
    let asked = matches!(mad.mgmt_class, MGMT_CLASS_SA | MGMT_CLASS_DEVICE);
    mad_len >= MIN_REQUEST && asked && ours
}

/// Errors: [`PortError::TooLong`] for a request of more than one MAD.
pub(crate) fn fill(slot: &mut Slot, to: &Destination, request: &[u8]) -> Result<(), PortError> {
    *slot = Slot::EMPTY;
    slot.header.lid = to.lid.get().into();
    slot.header.qpn = to.qpn.into();
    slot.header.qkey = QP1_QKEY.into();
    slot.header.sl = to.sl.get();
    let place = slot.mad.as_mut_bytes().get_mut(..request.len());
    place.ok_or(PortError::TooLong)?.copy_from_slice(request);
    Ok(())
}

/// How much longer than the transport's own patience to wait.
const GRACE: Duration = Duration::from_millis(500);
