//! Asking an SA: what the clients over all transports have in common.
//!
//! One request, over a transport that does not resend (ibsim), with a patience of 1 s and 2
//! retries:
//!
//! ```text
//!  0 s  submit ──> take: arrivals of other transactions are dropped
//!  1 s  submit ──> take
//!  2 s  submit ──> take
//!  3 s  TimedOut
//! ```
//!
//! Over umad the kernel resends, and gives the request back with a status when it gives up; then
//! there is one submit and a deadline a little behind the kernel's own.
//!
//! Only the lower half of a transaction is compared: the kernel puts the number of its agent into
//! the upper half.

use core::fmt;
use std::time::{Duration, Instant};

use sa_wire::device_management::MGMT_CLASS_DEVICE;
use sa_wire::mad::MGMT_CLASS_SA;
use sa_wire::performance::MGMT_CLASS_PERFORMANCE;
use sa_wire::sa::SaMad;
use sa_wire::umad::{MAD_SIZE, QP1_QKEY, Slot, UmadHeader};
use sa_wire::{Lid, Sl};
use zerocopy::IntoBytes;

use crate::PortError;
use crate::arrival::MIN_REQUEST;

/// Sends requests and receives their replies. None of the calls but [`ClientPort::wait`] and
/// [`ClientPort::ask`] blocks.
///
/// Made for one thread; a program that asks from several has a client in each. What came is taken
/// in the order in which it came, which is not the order of requests.
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
            // No room is no failure: the transport makes some as its queue empties.
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
///
/// Where it is found is the caller's knowledge: over umad from sysfs
/// ([`UmadClient::sa`](crate::umad::UmadClient::sa)), over ibsim from the port's facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Destination {
    /// The port's LID, any of those that it owns.
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
///
/// By default three tries of a second each: longer than OpenSM's response time of 268 ms, and short
/// enough for somebody who waits.
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
///
/// A table may have megabytes, so the buffer is the caller's and stays as large as it has become.
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
///
/// Errors of the SA itself are none of these: they come as replies with a status.
#[derive(Debug)]
#[non_exhaustive]
pub enum AskError {
    /// Nobody answered within the patience.
    TimedOut {
        /// The LID that was asked.
        lid: Lid,
        /// How long and how often it was asked.
        patience: Patience,
    },
    /// The fabric could not deliver the request.
    Undeliverable {
        /// The LID that was asked.
        lid: Lid,
    },
    /// The transport itself failed.
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
///
/// Errors: the transport is gone. Arrivals of other transactions are lost: whoever has several
/// requests under way uses `take` itself.
fn take_matching<P: ClientPort + ?Sized>(
    port: &mut P,
    wanted: Option<u32>,
    deadline: Instant,
    reply: &mut Reply,
) -> Result<bool, PortError> {
    loop {
        // All that waits before the next sleep, as one wake-up may stand for several arrivals.
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

/// What the reply that came means: a reply, or that no more can come.
fn settle(
    to: &Destination,
    patience: Patience,
    by_transport: bool,
    reply: &Reply,
) -> Result<(), AskError> {
    match reply.header.status {
        0 => Ok(()),
        // A transport that resends returns the request when nobody has answered; one that does not,
        // when it cannot be delivered.
        _ if by_transport => Err(AskError::TimedOut {
            lid: to.lid,
            patience,
        }),
        _ => Err(AskError::Undeliverable { lid: to.lid }),
    }
}

/// False for what a client has no use for: requests of others, traps that a simulator hands over.
pub(crate) fn answers_something(slot: &Slot, mad_len: usize) -> bool {
    let mad = &SaMad::from_bytes(&slot.mad).mad;
    let ours = mad.is_response() || slot.header.status != 0;
    let asked = matches!(
        mad.mgmt_class,
        MGMT_CLASS_SA | MGMT_CLASS_DEVICE | MGMT_CLASS_PERFORMANCE
    );
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
