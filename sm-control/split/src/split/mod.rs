//! The state of the split: OpenSM's agent, the read agent, and what is on its way between OpenSM
//! and sapphired.
//!
//! Nothing here makes a system call; [`Kernel`] does, so that tests run all of it against a kernel
//! of their own. The read methods are in one of three states:
//!
//! ```text
//!             opened                     lend: gate shut, file sent
//!  no port ──────────> Held <─────────────────────────────────────────> Lent
//!     ^                 ^ │         take back, hang-up, silence: gate open
//!     │          retry  │ │ file fails
//!     └── closes ──── Refused(errno)      returned by a daemon of the OpenSM before: Refused ──> Lent
//! ```
//!
//! *Held* and *Lent* differ in one thing only: whether the read agent's file is let through the
//! gate, an epoll that OpenSM's poll also waits for. The methods stay registered meanwhile, so the
//! kernel never refuses a Get.
//!
//! # Locks
//!
//! Packets take the lock of `state` alone. Registration, closing and the serving thread take
//! `agents` first, because they make system calls that take long in between and must not meet each
//! other there. The descriptors that every call of OpenSM's is compared with are atomics: a call
//! that is none of ours costs a load and takes no lock.
//!
//! | file | has |
//! |---|---|
//! | `agents` | registering, lending, taking back |
//! | `packets` | what OpenSM reads and writes |
//! | `daemon` | what the serving thread does for sapphired |
//! | `numbers` | which descriptors are OpenSM's, and which are ours |

mod agents;
mod daemon;
mod numbers;
mod packets;

use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::collections::VecDeque;
use std::os::fd::RawFd;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use split_protocol::{Frame, Reads};

pub(crate) use self::daemon::HangUp;
pub(crate) use self::packets::{Source, Target};
use crate::mad::PACKET_BYTES;
use crate::overheard::Overheard;
use crate::registration::Registration;
use crate::requests::Requests;
use crate::unanswered::Unanswered;

/// The system calls that the state needs. None is a cancellation point: threads of OpenSM make them with a
/// lock held, and one that ended there would keep the lock for ever.
pub(crate) trait Kernel {
    /// Opens the device of an open file once more, with headers of 64 bytes; reads never block.
    /// Errors: the errno.
    fn open_again(&self, fd: RawFd) -> Result<RawFd, i32>;
    /// Whether two open files are of one device.
    fn are_of_one_device(&self, fd: RawFd, other: RawFd) -> bool;
    /// Closes a file of this library's own, past the function that it puts before libc's.
    fn close(&self, fd: RawFd);
    /// Registers an agent, gives its number. Errors: the errno.
    fn register(&self, fd: RawFd, registration: &Registration) -> Result<u32, i32>;
    /// Gives an agent up. Errors: the errno.
    fn unregister(&self, fd: RawFd, agent: u32) -> Result<(), i32>;
    /// A descriptor that is readable while a file that it lets through is. Errors: the errno.
    fn gate(&self) -> Result<RawFd, i32>;
    /// Lets a file through a gate, or not any more.
    fn let_through(&self, gate: RawFd, fd: RawFd, lets: bool);
    /// A new bell. Errors: the errno.
    fn bell(&self) -> Result<RawFd, i32>;
    /// Makes a bell readable. Never blocks, is no cancellation point.
    fn ring(&self, bell: RawFd);
    /// Makes it silent again. As above.
    fn silence(&self, bell: RawFd);
    /// Since some moment, never going back.
    fn now(&self) -> Duration;
    /// One line for the operator, on OpenSM's standard error. Limited in number.
    fn say(&self, what: &str);
}

/// All there is of it. Threads of OpenSM and the thread that serves sapphired share it, in one
/// static for the life of the process.
#[derive(Debug)]
pub(crate) struct Split<K> {
    kernel: K,
    /// OpenSM's umad file, or -1: what every call of OpenSM's is compared with.
    file: AtomicI32,
    /// Other numbers of that file, or -1. OpenSM's libraries may duplicate it; the file ends with
    /// its last number.
    others: [AtomicI32; OTHERS],
    /// The process whose file it is: a child that it forks has the number too.
    owner: AtomicU32,
    /// The read agent's file, or -1.
    reader: AtomicI32,
    /// Lets that file through while OpenSM is to read from it. Made once, never closed. -1 before.
    gate: AtomicI32,
    /// Descriptors of the serving thread, or -1: by [`Guarded`].
    guarded: [AtomicI32; 2],
    /// Readable while packets wait for OpenSM. Made once, never closed. -1 before.
    arrivals: AtomicI32,
    /// Readable when the serving thread has something to do. As above.
    doorbell: AtomicI32,
    /// The kernel had packets when OpenSM last asked, and OpenSM has not read since.
    kernel_has: AtomicBool,
    /// The same of the read agent's file.
    reader_has: AtomicBool,
    /// Set(SMP)s that OpenSM has sent since it started: a sign that routes or ports change.
    programmed: AtomicU64,
    /// More of them than the daemon knows of.
    programs: AtomicBool,
    /// A simulated umad file, of which nothing can be split off, or -1: its SMPs are overheard.
    watched: AtomicI32,
    /// SMPs that came back to OpenSM.
    overheard: Overheard,
    /// Held while agents come and go, and longer than the other lock: only registration, closing
    /// and the serving thread take it, and always first.
    agents: Mutex<()>,
    state: Mutex<State>,
}

/// What packets and frames go by, under one short lock.
#[derive(Debug)]
struct State {
    /// None before OpenSM registers for the SA, and after it has closed its file.
    port: Option<Port>,
    /// What sapphired asked OpenSM.
    requests: Requests,
    /// What OpenSM told sapphired, which has not answered.
    reports: Unanswered,
    /// For OpenSM to read.
    arrived: VecDeque<Arrived>,
    /// Whose turn it is when the kernel and sapphired both have something for OpenSM: one packet
    /// each, so that neither starves the other.
    kernels_turn: bool,
    /// It was the read agent's turn last, of the two files.
    readers_turn_was: bool,
    daemon: Option<Daemon>,
    /// When a daemon was last told what OpenSM programs.
    told: Duration,
    /// Of daemons so far: a reply that was asked for by one must not reach the next.
    daemons: u64,
}

/// OpenSM's registration for the SA.
#[derive(Debug)]
struct Port {
    /// OpenSM's umad file. Moves to another number of it when this one is closed.
    fd: RawFd,
    /// N of `umadN`; `u32::MAX` where it cannot be told.
    umad: u32,
    /// OpenSM's agent.
    agent: u32,
    /// That of the read agent, kept for every attempt to register it.
    registration: Registration,
    /// None while the kernel refuses it.
    reader: Option<Reader>,
    reads: Reads,
    /// When it was refused first, of attempts in a row: it decides how often it is tried.
    refused_at: Option<Duration>,
}

/// The read agent, on a file of its own: it is lent with the methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reader {
    fd: RawFd,
    agent: u32,
}

/// A packet for OpenSM to read, as it will find it in its buffer.
#[derive(Debug)]
struct Arrived {
    bytes: [u8; PACKET_BYTES],
    /// A whole MAD, or the head alone where a Report is handed back.
    length: usize,
}

/// The daemon that is connected, and what it has not read yet.
#[derive(Debug)]
struct Daemon {
    frames: VecDeque<Frame>,
    /// Of large frames in the queue. Units: bytes.
    bytes: usize,
    /// It is to be hung up on.
    over: bool,
    /// When it last said that it lives.
    beat: Duration,
}

/// What the serving thread has open for as long as it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guarded {
    Listener,
    Session,
}

/// Numbers of one file that are followed, besides the first. [`Split::duplicated`] says what
/// becomes of one more.
const OTHERS: usize = 4;

/// Packets that wait for OpenSM at most; it does not read if there are more. Each has 320 bytes, so
/// these are 1.3 MB.
const ARRIVED: usize = 4096;
/// Frames that wait for sapphired at most; it does not read if there are more. It is hung up on
/// then.
const FRAMES: usize = 8192;
/// Between attempts to get the read methods back: sooner at first, while a dead daemon's files
/// close.
const SOON: Duration = Duration::from_millis(2);
/// Between later attempts: somebody has the methods for good.
const LATER: Duration = Duration::from_millis(20);
/// How long it is "at first".
const AT_FIRST: Duration = Duration::from_secs(1);
/// What OpenSM programs within this time is one frame: a sweep writes thousands of blocks, and a
/// daemon needs to know that something changed, not how often.
const TOGETHER: Duration = Duration::from_millis(5);
/// Nothing to do for longer than this is not believed: the socket's name is looked at once a second
/// anyway.
const IDLE: Duration = Duration::from_secs(1);

impl<K> Split<K> {
    /// Without a port, bells or gate: those are made when OpenSM registers.
    pub(crate) const fn new(kernel: K) -> Self {
        Self {
            kernel,
            file: AtomicI32::new(-1),
            others: [const { AtomicI32::new(-1) }; OTHERS],
            owner: AtomicU32::new(0),
            reader: AtomicI32::new(-1),
            gate: AtomicI32::new(-1),
            guarded: [const { AtomicI32::new(-1) }; 2],
            arrivals: AtomicI32::new(-1),
            doorbell: AtomicI32::new(-1),
            kernel_has: AtomicBool::new(false),
            reader_has: AtomicBool::new(false),
            programmed: AtomicU64::new(0),
            programs: AtomicBool::new(false),
            watched: AtomicI32::new(-1),
            overheard: Overheard::new(),
            agents: Mutex::new(()),
            state: Mutex::new(State {
                port: None,
                requests: Requests::new(),
                reports: Unanswered::new(),
                arrived: VecDeque::new(),
                kernels_turn: false,
                readers_turn_was: false,
                daemon: None,
                told: Duration::ZERO,
                daemons: 0,
            }),
        }
    }

    /// Whether OpenSM serves the SA on this file.
    pub(crate) fn is_of(&self, fd: RawFd) -> bool {
        fd >= 0 && self.file.load(Ordering::Acquire) == fd
    }

    /// Whether OpenSM's SMPs come by this file, which is simulated.
    pub(crate) fn is_watched(&self, fd: RawFd) -> bool {
        fd >= 0 && self.watched.load(Ordering::Acquire) == fd
    }

    /// Readable while the read agent's file has something for OpenSM.
    pub(crate) fn gate(&self) -> RawFd {
        self.gate.load(Ordering::Acquire)
    }

    /// Readable while [`Self::read`] has something.
    pub(crate) fn arrivals(&self) -> RawFd {
        self.arrivals.load(Ordering::Acquire)
    }

    /// Readable when the serving thread has something to do.
    pub(crate) fn doorbell(&self) -> RawFd {
        self.doorbell.load(Ordering::Acquire)
    }
}

impl State {
    /// Whether another packet can wait for OpenSM. Without a port nobody reads.
    fn has_room(&self) -> bool {
        self.port.is_some() && self.arrived.len() < ARRIVED
    }
}

/// Who has the read methods when OpenSM serves no SA.
const NO_PORT: Reads = Reads::Refused(libc::ENODEV);

/// Nobody panics with a lock held; if somebody did, OpenSM is to go on.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
