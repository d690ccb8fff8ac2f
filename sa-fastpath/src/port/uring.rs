//! Packet files driven by io_uring: the kernel's umad, or any descriptor of 64 + 256 byte packets.
//!
//! Optional, never the default: a umad file has no batching for a ring to use, and the two were
//! measured equal under load (io_uring cost 17 % more with one request in flight).
//!
//! The descriptor must not block: a ring hands blocking reads of umad to kernel worker threads,
//! which was measured 2.7 times dearer. So reads run inline and fail with EAGAIN on an empty queue,
//! and a multishot poll tells when to try again.
//!
//! Invariants that the blocks below name:
//! - *quiet*: no read or write is in flight when `recv`, `send` or the constructor return; if the
//!   ring breaks before that is reached, the slots are never freed;
//! - *own-slots*: every buffer handed to the ring is a slot of this port, at most its 320 bytes,
//!   each in at most one operation.
#![allow(unsafe_code)]

use core::fmt;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use io_uring::{IoUring, cqueue, opcode, squeue, types};
use sa_wire::umad::{MAD_SIZE, Slot, UmadHeader};
use zerocopy::IntoBytes;

use super::umad::sys::{self, RawFile, Read};
use super::umad::{Arrival, PortCounters, Umad, UmadError, address_reply, sort};
use super::{BATCH, MadPort, PortError, Verdict};

/// A worker's port through io_uring.
pub struct UringPort {
    ring: IoUring,
    file: RawFile,
    /// Agent number in replies; a plain packet descriptor has none.
    agent: u32,
    /// [`BATCH`] slots; the first `lent` are out with the worker.
    slots: Box<[Slot]>,
    lent: usize,
    /// Result of the operation on each slot.
    results: [i32; BATCH],
    /// How many reads to try at once: follows the load.
    window: usize,
    poll: Poll,
    /// The ring failed with operations in flight.
    broken: bool,
    counters: PortCounters,
}

/// What the poll request told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Poll {
    armed: bool,
    /// Something may wait.
    readable: bool,
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
        let ring = IoUring::new(ENTRIES).map_err(|cause| UringError::Ring {
            errno: cause.raw_os_error().unwrap_or(0),
        })?;
        Ok(Self {
            ring,
            file,
            agent,
            slots: vec![Slot::EMPTY; BATCH].into_boxed_slice(),
            lent: 0,
            results: [0; BATCH],
            window: MIN_WINDOW,
            poll: Poll {
                armed: false,
                readable: false,
            },
            broken: false,
            counters: PortCounters::default(),
        })
    }

    /// What the port hid so far.
    pub fn counters(&self) -> &PortCounters {
        &self.counters
    }

    /// Waits for a request, at most `timeout`; for idle loops, not for the busy path.
    pub fn wait_readable(&self, timeout: Duration) -> Result<bool, PortError> {
        sys::poll_readable(self.file.as_raw_fd(), timeout).map_err(|errno| PortError::Os {
            what: "waiting for packets",
            errno,
        })
    }

    /// Keeps one multishot poll in the ring, and takes what it told.
    fn refresh_poll(&mut self) -> Result<(), PortError> {
        let Self { ring, poll, .. } = self;
        for event in ring.completion() {
            poll.note(&event);
        }
        if self.poll.armed {
            return Ok(());
        }
        let watch = opcode::PollAdd::new(self.fd(), POLLIN).multi(true).build();
        // SAFETY: a poll has no buffer.
        // WHY: the ring's interface has no safe way to submit.
        let pushed = unsafe { self.ring.submission().push(&watch.user_data(POLL)) };
        pushed.map_err(|_| PortError::Os {
            what: "queueing a poll",
            errno: libc::EBUSY,
        })?;
        // Whatever came before the poll was there is found by trying.
        self.poll = Poll {
            armed: true,
            readable: true,
        };
        self.enter(0)
    }

    /// Queues an operation on each slot of `which` and waits for all of them; their results are
    /// in `results`.
    fn run(&mut self, which: Which, count: usize) -> Result<usize, PortError> {
        let fd = self.fd();
        let mut queued = 0;
        for (at, slot) in self.slots.iter_mut().enumerate().take(count) {
            let Some(entry) = which.entry(fd, at, slot, &self.results) else {
                continue;
            };
            // SAFETY: own-slots; quiet: the loop below, or `broken`, outlives the operation.
            // WHY: submission of owned buffers is what a ring is.
            let pushed = unsafe { self.ring.submission().push(&entry) };
            pushed.map_err(|_| PortError::Os {
                what: "queueing",
                errno: libc::EBUSY,
            })?;
            queued += 1;
        }
        self.broken = queued > 0;
        let mut open = queued;
        while open > 0 {
            self.enter(open)?;
            for event in self.ring.completion() {
                if event.user_data() == POLL {
                    self.poll.note(&event);
                    continue;
                }
                open = open.saturating_sub(1);
                if event.result() == -libc::EAGAIN && which == Which::Reads {
                    self.poll.readable = false;
                }
                let at = usize::try_from(event.user_data()).unwrap_or(BATCH);
                if let Some(place) = self.results.get_mut(at) {
                    *place = event.result();
                }
            }
        }
        self.broken = false;
        Ok(queued)
    }

    /// Hands the queue to the kernel and waits for `want` completions.
    fn enter(&self, want: usize) -> Result<(), PortError> {
        loop {
            match self.ring.submit_and_wait(want) {
                Ok(_) => return Ok(()),
                Err(cause) => match cause.raw_os_error() {
                    Some(libc::EINTR | libc::EAGAIN | libc::EBUSY) => {}
                    errno => {
                        return Err(PortError::Os {
                            what: "entering io_uring",
                            errno: errno.unwrap_or(0),
                        });
                    }
                },
            }
        }
    }

    /// Sorts what the reads brought and closes the gaps: a read may find nothing and its
    /// successor, a moment later, something.
    fn keep_requests(&mut self, count: usize) -> Result<(), PortError> {
        for at in 0..count {
            let outcome = self.results.get(at).copied().unwrap_or(0);
            let Some(slot) = self.slots.get_mut(at) else {
                break;
            };
            let got = match usize::try_from(outcome) {
                Ok(0) => return Err(PortError::Closed),
                Ok(got) => got,
                Err(_) if outcome == -libc::EAGAIN || outcome == -libc::EINTR => continue,
                Err(_) if outcome == -libc::ENOSPC => {
                    let need = usize::try_from(slot.header.length).unwrap_or(0);
                    self.skip_long(need);
                    continue;
                }
                Err(_) => {
                    return Err(PortError::Os {
                        what: "reading",
                        errno: -outcome,
                    });
                }
            };
            if let Some(rest) = slot.as_mut_bytes().get_mut(got..) {
                rest.fill(0);
            }
            match sort(slot, got.saturating_sub(HEADER)) {
                Arrival::Request => {
                    let request = *slot;
                    if let Some(place) = self.slots.get_mut(self.lent) {
                        *place = request;
                    }
                    self.counters.received += 1;
                    self.lent += 1;
                }
                Arrival::Returned => self.counters.returned += 1,
                Arrival::Foreign => self.counters.foreign += 1,
                Arrival::Malformed => self.counters.malformed += 1,
            }
        }
        Ok(())
    }

    /// A request of more than one MAD stays at the head of umad's queue until it is read whole.
    /// This allocates, once per such request, which no client sends.
    fn skip_long(&mut self, need: usize) {
        let mut message = vec![0; need.max(MAD_SIZE) + HEADER];
        if let Read::Bytes(_) = self.file.read(&mut message) {
            self.counters.oversized += 1;
        }
    }

    fn settle_writes(&mut self, verdicts: &[Verdict]) -> Result<usize, PortError> {
        let mut unsent = 0;
        for (outcome, verdict) in self.results.iter().zip(verdicts) {
            let Verdict::Reply(_) = verdict else { continue };
            match *outcome {
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

    fn fd(&self) -> types::Fd {
        types::Fd(self.file.as_raw_fd())
    }
}

impl MadPort for UringPort {
    fn recv(&mut self) -> Result<&mut [Slot], PortError> {
        self.lent = 0;
        self.refresh_poll()?;
        if self.poll.readable {
            let count = self.window;
            self.run(Which::Reads, count)?;
            self.keep_requests(count)?;
            self.window = match self.lent {
                full if full >= count => (2 * count).min(BATCH),
                few if few < count / 4 => (count / 2).max(MIN_WINDOW),
                _ => count,
            };
        }
        Ok(self.slots.get_mut(..self.lent).unwrap_or_default())
    }

    fn send(&mut self, verdicts: &[Verdict]) -> Result<usize, PortError> {
        let lent = core::mem::take(&mut self.lent).min(verdicts.len());
        let replies = self
            .slots
            .iter_mut()
            .zip(&mut self.results)
            .zip(verdicts)
            .take(lent);
        for ((slot, length), verdict) in replies {
            *length = match verdict {
                Verdict::Reply(mad_len) => packet_length(*mad_len),
                Verdict::Silence | Verdict::Punted => 0,
            };
            address_reply(&mut slot.header);
            slot.header.agent = self.agent;
        }
        self.run(Which::Writes, lent)?;
        self.settle_writes(verdicts.get(..lent).unwrap_or_default())
    }
}

impl Drop for UringPort {
    fn drop(&mut self) {
        if self.broken {
            // quiet: the kernel may still write to them.
            core::mem::forget(core::mem::take(&mut self.slots));
        }
    }
}

impl fmt::Debug for UringPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UringPort")
            .field("counters", &self.counters)
            .finish_non_exhaustive()
    }
}

/// The two kinds of operation on slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    Reads,
    /// Their lengths wait in `results`; 0 is none.
    Writes,
}

impl Which {
    fn entry(
        self,
        fd: types::Fd,
        at: usize,
        slot: &mut Slot,
        lengths: &[i32; BATCH],
    ) -> Option<squeue::Entry> {
        let tag = u64::try_from(at).ok()?;
        let bytes = slot.as_mut_bytes();
        let whole = u32::try_from(bytes.len()).ok()?;
        let entry = match self {
            Self::Reads => opcode::Read::new(fd, bytes.as_mut_ptr(), whole)
                .offset(AT_POSITION)
                .build(),
            Self::Writes => {
                let length = u32::try_from(*lengths.get(at)?).ok()?.min(whole);
                if length == 0 {
                    return None;
                }
                opcode::Write::new(fd, bytes.as_ptr(), length)
                    .offset(AT_POSITION)
                    .build()
            }
        };
        Some(entry.user_data(tag))
    }
}

impl Poll {
    fn note(&mut self, event: &cqueue::Entry) {
        if event.user_data() == POLL {
            self.readable = true;
            self.armed = cqueue::more(event.flags());
        }
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

/// A connected pair of packet sockets, one for a port and one for its far end.
/// Errors: the operating system's.
pub fn packet_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    sys::packet_pair().map_err(io::Error::from_raw_os_error)
}

/// Header and MAD, at least what the kernel takes.
fn packet_length(mad_len: u16) -> i32 {
    let mad_len = usize::from(mad_len).clamp(MIN_WRITE, MAD_SIZE);
    i32::try_from(HEADER + mad_len).unwrap_or(0)
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
/// A whole batch and the poll.
const ENTRIES: u32 = 128;
const MIN_WINDOW: usize = 2;
/// "Where the file is", for descriptors that have no position.
const AT_POSITION: u64 = u64::MAX;
/// User data of the poll; slots use their index.
const POLL: u64 = u64::MAX;
const POLLIN: u32 = 1;
