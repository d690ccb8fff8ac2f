//! Packet files driven by io_uring: the kernel's umad, or any descriptor of 64 + 256 byte packets.
//!
//! Optional, never the default: a umad file has no batching for a ring to use, and the two were
//! measured equal under load (io_uring cost 17 % more with one request in flight).
//!
//! The descriptor must not block: a ring hands blocking reads of umad to kernel worker threads,
//! which was measured 2.7 times dearer. So reads that find nothing come back at once, and a
//! multishot poll tells when to try again.

mod ring;

use core::fmt;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use sa_wire::umad::{MAD_SIZE, Slot, UmadHeader};
use zerocopy::IntoBytes;

use self::ring::Ring;
use super::umad::sys::{self, RawFile, Read};
use super::umad::{Arrival, PortCounters, Umad, UmadError, address_reply, sort};
use super::{BATCH, MadPort, PortError, Verdict};

/// A worker's port through io_uring.
pub struct UringPort {
    ring: Ring,
    /// Agent number in replies; a plain packet descriptor has none.
    agent: u32,
    /// So many of the ring's slots are out with the worker.
    lent: usize,
    /// How many reads to try at once: follows the load.
    window: usize,
    counters: PortCounters,
}

impl UringPort {
    /// Over an opened umad port. Errors: [`UringError`].
    pub fn over_umad(umad: &Umad) -> Result<Self, UringError> {
        let (file, agent) = umad.packets()?;
        Self::new(file, agent)
    }

    /// Over a descriptor whose packets are a umad header and a MAD; it is made non-blocking.
    /// Errors: [`UringError`].
    pub fn over_packets(packets: OwnedFd) -> Result<Self, UringError> {
        let file = RawFile::from(packets);
        file.set_nonblocking()
            .map_err(|errno| UringError::Ring { errno })?;
        Self::new(file, 0)
    }

    fn new(file: RawFile, agent: u32) -> Result<Self, UringError> {
        let ring = Ring::new(file).map_err(|errno| UringError::Ring { errno })?;
        Ok(Self {
            ring,
            agent,
            lent: 0,
            window: MIN_WINDOW,
            counters: PortCounters::default(),
        })
    }

    /// What the port hid so far.
    pub fn counters(&self) -> &PortCounters {
        &self.counters
    }

    /// Waits for a request, at most `timeout`; for idle loops, not for the busy path.
    pub fn wait_readable(&self, timeout: Duration) -> Result<bool, PortError> {
        sys::poll_readable(self.ring.file().as_raw_fd(), timeout).map_err(|errno| PortError::Os {
            what: "waiting for packets",
            errno,
        })
    }

    /// Sorts what the reads brought and closes the gaps: a read may find nothing and its
    /// successor, a moment later, something.
    fn keep_requests(&mut self, count: usize) -> Result<(), PortError> {
        for at in 0..count {
            let outcome = self.ring.result(at);
            match usize::try_from(outcome) {
                Ok(0) => return Err(PortError::Closed),
                Ok(got) => self.keep(at, got),
                Err(_) => match -outcome {
                    libc::EAGAIN | libc::ECANCELED | libc::EINTR | libc::EOPNOTSUPP => {}
                    libc::ENOSPC => self.skip_long(at),
                    errno if gone(errno) => return Err(PortError::Closed),
                    errno => {
                        return Err(PortError::Os {
                            what: "reading packets",
                            errno,
                        });
                    }
                },
            }
        }
        Ok(())
    }

    fn keep(&mut self, at: usize, got: usize) {
        let Self {
            ring,
            lent,
            counters,
            ..
        } = self;
        let slots = ring.slots();
        let Some(slot) = slots.get_mut(at) else {
            return;
        };
        if let Some(rest) = slot.as_mut_bytes().get_mut(got..) {
            rest.fill(0);
        }
        match sort(slot, got.saturating_sub(HEADER)) {
            Arrival::Request => {
                let request = *slot;
                if let Some(place) = slots.get_mut(*lent).filter(|_| *lent != at) {
                    *place = request;
                }
                counters.received += 1;
                *lent += 1;
            }
            Arrival::Returned => counters.returned += 1,
            Arrival::Foreign => counters.foreign += 1,
            Arrival::Malformed => counters.malformed += 1,
        }
    }

    /// A request of more than one MAD stays at the head of umad's queue until it is read whole.
    /// This allocates, once per such request, which no client sends.
    fn skip_long(&mut self, at: usize) {
        let told = self
            .ring
            .slots()
            .get(at)
            .map_or(0, |slot| slot.header.length);
        let need = usize::try_from(told).unwrap_or(0).max(LONG);
        if let Read::Bytes(_) = self.ring.file().read(&mut vec![0; need]) {
            self.counters.oversized += 1;
        }
    }

    fn settle_writes(&mut self, lengths: &[u32]) -> Result<usize, PortError> {
        let mut unsent = 0;
        for (at, _) in lengths
            .iter()
            .enumerate()
            .filter(|(_, length)| **length > 0)
        {
            match self.ring.result(at) {
                0.. => self.counters.sent += 1,
                code if code == -libc::EINVAL => self.counters.duplicates += 1,
                code if gone(-code) => return Err(PortError::Closed),
                _ => {
                    self.counters.unsent += 1;
                    unsent += 1;
                }
            }
        }
        Ok(unsent)
    }
}

impl MadPort for UringPort {
    fn recv(&mut self) -> Result<&mut [Slot], PortError> {
        self.lent = 0;
        if self.ring.is_readable()? {
            let count = self.window;
            self.ring.read(count)?;
            self.keep_requests(count)?;
            self.window = match self.lent {
                full if full >= count => (2 * count).min(BATCH),
                few if few < count / 4 => (count / 2).max(MIN_WINDOW),
                _ => count,
            };
        }
        let lent = self.lent;
        Ok(self.ring.slots().get_mut(..lent).unwrap_or_default())
    }

    fn wait(&mut self, most: Duration) -> Result<(), PortError> {
        self.wait_readable(most).map(drop)
    }

    fn send(&mut self, verdicts: &[Verdict]) -> Result<usize, PortError> {
        let lent = core::mem::take(&mut self.lent).min(verdicts.len());
        let mut lengths = [0; BATCH];
        let slots = self.ring.slots().iter_mut().take(lent);
        for ((slot, verdict), length) in slots.zip(verdicts).zip(&mut lengths) {
            address_reply(&mut slot.header);
            slot.header.agent = self.agent;
            *length = match verdict {
                Verdict::Reply(mad_len) => packet_length(*mad_len),
                Verdict::Silence | Verdict::Punted => 0,
            };
        }
        let lengths = lengths.get(..lent).unwrap_or_default();
        if lengths.iter().all(|length| *length == 0) {
            return Ok(0);
        }
        self.ring.write(lengths)?;
        self.settle_writes(lengths)
    }
}

impl fmt::Debug for UringPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UringPort")
            .field("counters", &self.counters)
            .finish_non_exhaustive()
    }
}

/// Why a ring cannot be set up.
#[derive(Debug)]
#[non_exhaustive]
pub enum UringError {
    /// The kernel refuses io_uring.
    Ring {
        /// Of `io_uring_setup`.
        errno: i32,
    },
    /// The umad port cannot be driven this way.
    Umad(UmadError),
}

impl fmt::Display for UringError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ring { errno } => {
                let cause = io::Error::from_raw_os_error(*errno);
                let advice = match *errno {
                    libc::ENOSYS => "this kernel has none",
                    libc::EPERM | libc::EACCES => {
                        "it is switched off (sysctl kernel.io_uring_disabled) or filtered"
                    }
                    libc::ENOMEM => "raise LimitMEMLOCK",
                    _ => "use the plain umad port",
                };
                write!(f, "io_uring: {cause}; {advice}")
            }
            Self::Umad(cause) => cause.fmt(f),
        }
    }
}

impl core::error::Error for UringError {}

impl From<UmadError> for UringError {
    fn from(cause: UmadError) -> Self {
        Self::Umad(cause)
    }
}

/// Header and MAD, at least what the kernel takes.
fn packet_length(mad_len: u16) -> u32 {
    let mad_len = usize::from(mad_len).clamp(MIN_WRITE, MAD_SIZE);
    u32::try_from(HEADER + mad_len).unwrap_or(0)
}

fn gone(errno: i32) -> bool {
    matches!(
        errno,
        libc::EIO | libc::ENODEV | libc::EBADF | libc::EPIPE | libc::ECONNRESET | libc::ENOTCONN
    )
}

const HEADER: usize = size_of::<UmadHeader>();
/// A MAD header and an RMPP header.
const MIN_WRITE: usize = 36;
const MIN_WINDOW: usize = 2;
/// Room for a request of more than one MAD. Units: bytes.
const LONG: usize = 64 * 1024;
