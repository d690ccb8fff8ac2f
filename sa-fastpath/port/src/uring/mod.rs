//! Packet files driven by io_uring: the kernel's umad, or any descriptor of 64 + 256 byte packets.
//!
//! Optional, never the default: a umad file has no batching for a ring to use, so every read and
//! write is one full pass through the kernel's MAD layer with a ring as without. `docs/performance.md`
//! has both costs.
//!
//! The descriptors must not block: a ring hands blocking reads of umad to kernel worker threads,
//! which was measured 2.7 times dearer. So reads that find nothing come back at once, and a
//! multishot poll tells when to try again. Files and buffers are registered once.
//!
//! A turn with a window of 8: eight reads are submitted by one system call; five bring requests,
//! three say EAGAIN; the five move together and are lent, their replies go out by a second call.
//! The window doubles while all reads bring something (to 64) and halves while fewer than a quarter
//! do (to 2).

mod ring;

use core::fmt;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use sa_wire::umad::{MAD_SIZE, Slot, UmadHeader};
use zerocopy::{FromBytes, IntoBytes};

use self::ring::{Ring, Write};
use crate::arrival::{Arrival, sort};
use crate::umad::sys::{self, RawFile, Read};
use crate::umad::{Agent, By, Umad, UmadError, address};
use crate::{BATCH, MadPort, PortCounters, PortError, PortStats, Verdict};

/// Who takes what is queued to the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Submit {
    /// The worker, by one system call for a batch.
    #[default]
    Worker,
    /// A thread of the kernel's that polls the queue (`IORING_SETUP_SQPOLL`) and sleeps when
    /// nothing came for a while. It wants a core of its own.
    Kernel,
}

/// A worker's port through io_uring.
///
/// Its slots are the ring's, registered with the kernel: none of them is lent while an operation is
/// in flight.
pub struct UringPort {
    ring: Ring,
    /// Receive and send agent, alive as long as the ring has their files; a plain packet
    /// descriptor has none.
    agents: Option<[Arc<Agent>; 2]>,
    /// So many of the ring's slots are out with the worker.
    lent: usize,
    /// How many reads to try at once: follows the load.
    window: usize,
    stats: Arc<PortStats>,
}

impl UringPort {
    /// Over an opened umad port. Errors: [`UringError`].
    pub fn over_umad(umad: &Umad) -> Result<Self, UringError> {
        Self::over_umad_by(umad, Submit::default())
    }

    /// The same, with a say in who submits. Errors: [`UringError`].
    pub fn over_umad_by(umad: &Umad, submit: Submit) -> Result<Self, UringError> {
        let agents = umad.agents()?;
        let duplicate = |agent: &Arc<Agent>| agent.file().duplicate();
        let files = [duplicate(&agents[0]), duplicate(&agents[1])];
        match files {
            [Ok(receive), Ok(send)] => Self::new([receive, send], Some(agents), submit),
            [Err(errno), _] | [_, Err(errno)] => Err(UmadError::Duplicate { errno }.into()),
        }
    }

    /// Over a descriptor whose packets are a umad header and a MAD; it is made non-blocking.
    /// Errors: [`UringError`].
    pub fn over_packets(packets: OwnedFd) -> Result<Self, UringError> {
        Self::over_packets_by(packets, Submit::default())
    }

    /// The same, with a say in who submits. Errors: [`UringError`].
    pub fn over_packets_by(packets: OwnedFd, submit: Submit) -> Result<Self, UringError> {
        let broken = |errno| UringError::Ring { errno };
        let receive = RawFile::from(packets);
        receive.set_nonblocking().map_err(broken)?;
        let send = receive.duplicate().map_err(broken)?;
        Self::new([receive, send], None, submit)
    }

    /// Registers both files, which are not closed while the ring has them.
    fn new(
        files: [RawFile; 2],
        agents: Option<[Arc<Agent>; 2]>,
        submit: Submit,
    ) -> Result<Self, UringError> {
        let ring = Ring::new(files, submit).map_err(|errno| UringError::Ring { errno })?;
        Ok(Self {
            ring,
            agents,
            lent: 0,
            window: MIN_WINDOW,
            stats: Arc::default(),
        })
    }

    /// What the port hid so far.
    pub fn counters(&self) -> PortCounters {
        self.stats.snapshot()
    }

    /// Waits for a request, at most `timeout`; for idle loops, not for the busy path.
    pub fn wait_readable(&self, timeout: Duration) -> Result<bool, PortError> {
        sys::poll_readable(self.ring.receiving().as_raw_fd(), timeout)
            .map_err(|errno| PortError::of("waiting for packets", errno))
    }

    /// Sorts what the reads brought and closes the gaps: a read may find nothing and its
    /// successor, a moment later, something.
    fn keep_requests(&mut self, count: usize) -> Result<(), PortError> {
        let mut long = None;
        for at in 0..count {
            let outcome = self.ring.result(at);
            match usize::try_from(outcome) {
                Ok(0) => return Err(PortError::of("reading packets", libc::EPIPE)),
                Ok(got) => self.keep(at, got),
                Err(_) => match -outcome {
                    libc::EAGAIN | libc::ECANCELED | libc::EINTR | libc::EOPNOTSUPP => {}
                    libc::ENOSPC => long = Some(at),
                    errno => return Err(PortError::of("reading packets", errno)),
                },
            }
        }
        // Behind the others: all reads that found it failed alike.
        long.map_or(Ok(()), |at| self.take_long(at))
    }

    /// Counts what is in a slot; a request moves up behind the others.
    fn keep(&mut self, at: usize, got: usize) {
        let slots = self.ring.slots();
        let Some(slot) = slots.get_mut(at) else {
            return;
        };
        if let Some(rest) = slot.as_mut_bytes().get_mut(got..) {
            rest.fill(0);
        }
        match sort(slot, got.saturating_sub(HEADER)) {
            Arrival::Request => {
                let request = *slot;
                if let Some(place) = slots.get_mut(self.lent).filter(|_| self.lent != at) {
                    *place = request;
                }
                self.stats.received();
                self.lent += 1;
            }
            Arrival::Returned => self.stats.returned(),
            Arrival::Foreign => self.stats.foreign(),
            Arrival::Malformed => self.stats.malformed(),
        }
    }

    /// A request of more than one MAD stays at the head of umad's queue until it is read whole.
    /// This allocates, once per such request, which no client sends.
    fn take_long(&mut self, at: usize) -> Result<(), PortError> {
        self.ring.look_again();
        let told = self.ring.slots().get(at);
        let told = told.map_or(0, |slot| slot.header.length);
        let mut packet = vec![0; usize::try_from(told).unwrap_or(0).max(LONG)];
        match self.ring.receiving().read(&mut packet) {
            Read::Bytes(got) if got > size_of::<Slot>() => self.stats.oversized(),
            // Somebody took the long one; this is what was behind it.
            Read::Bytes(got) => self.keep_copy(&packet, got),
            // A still longer one came meanwhile: next time.
            Read::Nothing | Read::TooSmall => {}
            Read::Failed(errno) => return Err(PortError::of("reading packets", errno)),
        }
        Ok(())
    }

    /// What was read in place of a long request, as one of ordinary length.
    fn keep_copy(&mut self, packet: &[u8], got: usize) {
        let at = self.lent;
        if let (Some(slot), Ok((copy, _))) = (
            self.ring.slots().get_mut(at),
            Slot::read_from_prefix(packet),
        ) {
            *slot = copy;
            self.keep(at, got);
        }
    }

    /// Counts how the writes of a batch went. Errors: the device is gone.
    fn settle_writes(&mut self, writes: &[Write]) -> Result<usize, PortError> {
        let mut unsent = 0;
        for at in (0..writes.len()).filter(|at| writes.get(*at).is_some_and(Write::is_some)) {
            match self.ring.result(at) {
                0.. => self.stats.sent(),
                code if code == -libc::EINVAL => self.stats.duplicates(),
                code => {
                    if let gone @ PortError::Gone { .. } = PortError::of("writing packets", -code) {
                        return Err(gone);
                    }
                    self.stats.unsent();
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
        let is_released = |agents: &[Arc<Agent>; 2]| agents[0].is_released();
        if self.lent == 0 && self.agents.as_ref().is_some_and(is_released) {
            return Err(PortError::of("reading packets", libc::ENODEV));
        }
        let lent = self.lent;
        Ok(self.ring.slots().get_mut(..lent).unwrap_or_default())
    }

    fn wait(&mut self, most: Duration) -> Result<(), PortError> {
        self.wait_readable(most).map(drop)
    }

    fn stats(&self) -> Option<Arc<PortStats>> {
        Some(Arc::clone(&self.stats))
    }

    fn send(&mut self, verdicts: &[Verdict]) -> Result<usize, PortError> {
        let lent = core::mem::take(&mut self.lent).min(verdicts.len());
        let mut writes = [Write::NONE; BATCH];
        let ids = self.agents.as_ref();
        let ids = ids.map_or([0; 2], |[receive, send]| [receive.id(), send.id()]);
        let slots = self.ring.slots().iter_mut().take(lent);
        for ((slot, verdict), write) in slots.zip(verdicts).zip(&mut writes) {
            if let Verdict::Reply(mad_len) = *verdict {
                let by = address(slot);
                slot.header.agent = match by {
                    By::Owner => ids[0],
                    By::Anyone => ids[1],
                };
                *write = Write::new(packet_length(mad_len), by);
            }
        }
        let writes = writes.get(..lent).unwrap_or_default();
        if !writes.iter().any(Write::is_some) {
            return Ok(0);
        }
        self.ring.write(writes)?;
        self.settle_writes(writes)
    }
}

impl fmt::Debug for UringPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UringPort")
            .field("counters", &self.counters())
            .finish_non_exhaustive()
    }
}

/// Why a ring cannot be set up.
#[derive(Debug)]
#[non_exhaustive]
pub enum UringError {
    /// The kernel refuses io_uring.
    Ring {
        /// Of `io_uring_setup`, or of registering files and buffers.
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

/// What a packet has before its MAD. Units: bytes.
const HEADER: usize = size_of::<UmadHeader>();
/// A MAD header and an RMPP header.
const MIN_WRITE: usize = 36;
/// Reads that are tried at once while little comes.
const MIN_WINDOW: usize = 2;
/// Room for a request of more than one MAD. Units: bytes.
const LONG: usize = 64 * 1024;
