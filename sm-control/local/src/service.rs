//! The thread that answers the kernel.
//!
//! One turn of the thread, which poll ends by a datagram, a ring of [`Wake`] or a deadline:
//!
//! ```text
//!  look, if due ──> drain up to 256 datagrams ──> late answers ──> send ──> rest, if nothing waits
//! ```
//!
//! All replies of a turn are sent together at its end, several messages to a datagram: the kernel
//! walks over all messages of one. Nothing in a turn waits for the SA or reads sysfs;
//! [`super::watch`] and [`super::Askers`] do that in threads of their own.
//!
//! The kernel has one timeout for the whole host, and nobody sets it back when a socket closes. The
//! thread therefore sets its own at the start and Linux' default at the end, unless somebody else
//! relies on it by then.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use sa_wire::Gid;
use sa_wire::netlink_ls::{DEFAULT_TIMEOUT_MS, IpResolve, Resolve, write_set_timeout};
use tracing::{debug, error, warn};

use super::agent::{Agent, Counters, Reason, Records, Replies, Resolver, Verdict};
use super::others::{Listener, listeners};
use super::socket::{Channel, Received};
use super::watch::{Seen, View};
use super::{LOG, Late, Paths, Wake};

/// What the service counts besides its [`Counters`]. The thread writes, the metrics page reads; the
/// numbers are independent, so all accesses are relaxed.
#[derive(Debug, Default)]
pub struct ServiceCounts {
    /// Times that the kernel had no room to queue requests (ENOBUFS). It asked the SA for them, so
    /// this is a loss of speed and not of answers.
    pub overruns: AtomicU64,
    /// Datagrams longer than 4,096 bytes. Requests have 160 at most, so each of these is no
    /// request.
    pub too_long: AtomicU64,
    /// Datagrams of replies that could not be sent. Their queries wait for the kernel's timeout.
    pub unsent: AtomicU64,
    /// Answers of SAs that are kept, as of the last look. A level, not a sum.
    pub kept: AtomicU64,
    /// Other listeners of the group, as of the last look for them. Units: sockets. More than 0 is a
    /// fault of the host's setup.
    pub others: AtomicU64,
    /// Turns of the thread. It moves at least every second, so a number that stands still means a
    /// thread that hangs.
    pub turns: AtomicU64,
    /// True from the start until the thread ends, for whatever reason. False while the daemon runs
    /// means that the kernel asks the SA for everything.
    pub is_served: AtomicBool,
}

/// How long the thread waits at most before it shows that it lives, whatever `look_ms` says.
const LONGEST_REST: Duration = Duration::from_secs(1);

/// What the service is told at its start.
#[derive(Debug, Clone)]
pub struct Setting {
    /// How long the kernel shall wait for answers. Units: ms.
    pub timeout_ms: u32,
    /// Our own netlink address (`nl_pid`), by which we are told from other listeners. None on a
    /// socket pair, where there are no others.
    pub own_address: Option<u32>,
    /// A service manager holds the socket too. Requests then wait for whoever comes next, so the
    /// timeout is left as it is at the end.
    pub is_passed: bool,
    /// How often ports are looked at: `look_ms`. It also bounds how long an answer of the fabric
    /// before may be given.
    pub look: Duration,
}

/// Handle of the thread `sa-local`. Dropping it ends the thread: it refuses what still waits, and
/// tells the kernel to wait as long as it used to. The drop waits for that.
pub struct Service {
    stop: Arc<AtomicBool>,
    wake: Wake,
    thread: Option<JoinHandle<()>>,
    counters: Arc<Counters>,
    counts: Arc<ServiceCounts>,
}

impl Service {
    /// Starts the thread. `wake` must be the one that the askers of `paths` ring; `view` is read
    /// and never written here. Errors: no thread.
    pub fn start<C>(
        channel: C,
        paths: Box<dyn Paths>,
        view: View,
        wake: Wake,
        setting: Setting,
    ) -> io::Result<Self>
    where
        C: Channel + Send + 'static,
    {
        let stop = Arc::new(AtomicBool::new(false));
        let agent = Agent::new(Dynamic(paths));
        let counters = Arc::clone(agent.counters());
        let counts = Arc::new(ServiceCounts::default());
        let server = Server {
            channel,
            agent,
            view,
            seen: Arc::default(),
            looked: Instant::now(),
            replies: Replies::new(),
            wake: wake.clone(),
            stop: Arc::clone(&stop),
            counts: Arc::clone(&counts),
            setting,
            others: Vec::new(),
            looked_for_others: None,
        };
        // Before the thread runs: it may end, and store false, before this function goes on.
        counts.is_served.store(true, Ordering::Relaxed);
        let thread = std::thread::Builder::new().name("sa-local".into());
        let thread = thread.spawn(move || server.run())?;
        Ok(Self {
            stop,
            wake,
            thread: Some(thread),
            counters,
            counts,
        })
    }

    /// What was answered and refused, of this thread. Stays readable after the thread ended.
    pub const fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// What else happened.
    pub const fn counts(&self) -> &Arc<ServiceCounts> {
        &self.counts
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // The flag before the bell: who is woken must find it set. A poll that has not begun yet
        // sees the bell, which stays until it is heard.
        self.stop.store(true, Ordering::Relaxed);
        self.wake.up();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            error!(target: LOG, "the thread of the local service ended by a panic");
        }
    }
}

/// The state of the thread. It moves into the thread whole; only what is in an `Arc` or [`Wake`] is
/// shared.
struct Server<C> {
    channel: C,
    agent: Agent<Dynamic>,
    view: View,
    /// What the paths were told last, and when.
    seen: Arc<Vec<Seen>>,
    looked: Instant,
    replies: Replies,
    wake: Wake,
    stop: Arc<AtomicBool>,
    counts: Arc<ServiceCounts>,
    setting: Setting,
    others: Vec<Listener>,
    looked_for_others: Option<Instant>,
}

/// Room for a received datagram. Units: bytes. Requests have 160 at most; the rest is for
/// acknowledgements, which carry a copy of our message.
const DATAGRAM: usize = 4096;

/// Datagrams between two looks at the ports. It bounds how long a flood of questions can be
/// answered from ports that have changed, and how long replies wait to be sent.
const BATCH: usize = 256;

/// The longest datagram of replies, unless one reply is longer. Units: bytes. A refusal has 16, one
/// record 92, three records 244.
const MOST: usize = 4096;

/// How often others are looked for. Reading `/proc/net/netlink` costs a line for each netlink
/// socket of the host, and a second agent is a matter of setup.
const OTHERS_PAUSE: Duration = Duration::from_secs(10);

/// nlmsg_seq of SET_TIMEOUT, the one message that is no reply. The kernel counts its queries from
/// 1, so an acknowledgement with 0 is about this one, but for the one query in 2^32 on which the
/// counter wraps.
const OWN_SEQ: u32 = 0;

impl<C: Channel> Server<C> {
    /// The thread's life. An error of the channel ends it for good; the kernel then finds no
    /// listener and asks the SA without waiting.
    fn run(mut self) {
        self.set_timeout(self.setting.timeout_ms);
        let result = self.serve();
        if let Err(error) = result {
            error!(target: LOG, "local service: {error}; the kernel asks the SA from now on");
        // With a broken channel there is nothing to say it by.
        } else if !self.setting.is_passed && self.is_last() {
            self.set_timeout(DEFAULT_TIMEOUT_MS);
        }
        self.counts.is_served.store(false, Ordering::Relaxed);
    }

    /// True where nobody else goes by what the kernel was told: there is one timeout for the whole
    /// host.
    fn is_last(&self) -> bool {
        let others = self
            .setting
            .own_address
            .and_then(|own| listeners(Some(own)));
        others.unwrap_or_default().is_empty()
    }

    /// Turns until it is told to stop. Errors: the channel is of no use any more.
    fn serve(&mut self) -> io::Result<()> {
        let mut buffer = [0; DATAGRAM];
        self.look();
        while !self.stop.load(Ordering::Relaxed) {
            count(&self.counts.turns);
            if self.is_time_to_look() {
                self.look();
            }
            // Looked first: a question must not meet ports that are known to be out of date.
            let has_more = self.drain(&mut buffer)?;
            self.finish_late();
            self.send();
            if !has_more {
                self.rest()?;
            }
        }
        self.part(&mut buffer)
    }

    /// Leaves no question behind that would have to wait for its time to run out: those that were
    /// put off are refused, and those that have arrived are answered from no ports, which is a
    /// refusal too.
    fn part(&mut self, buffer: &mut [u8; DATAGRAM]) -> io::Result<()> {
        self.agent.resolver().0.look(&[]);
        while self.drain(buffer)? {}
        self.finish_late();
        self.send();
        Ok(())
    }

    /// True where more waits. Errors: the channel is of no use any more.
    fn drain(&mut self, buffer: &mut [u8; DATAGRAM]) -> io::Result<bool> {
        for _ in 0..BATCH {
            match self.channel.receive(buffer)? {
                Received::Datagram { length, sender } => {
                    let datagram = buffer.get(..length).unwrap_or_default();
                    self.agent.turn(datagram, sender, &mut self.replies);
                }
                Received::TooLong => count(&self.counts.too_long),
                Received::Overrun => count(&self.counts.overruns),
                Received::Nothing => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Answers the questions that were put off and whose answers have come, or whose time is over.
    fn finish_late(&mut self) {
        for late in self.agent.resolver().0.late(Instant::now()) {
            let Late {
                seq,
                path_use,
                records,
            } = late;
            let records = records.as_ref().map_err(|reason| *reason);
            self.agent.finish(seq, path_use, records, &mut self.replies);
        }
    }

    /// Sends what the turn has written. A reply that is not taken is not tried again: the query is
    /// answered by the kernel's timeout, and later replies must not wait behind it.
    fn send(&mut self) {
        for datagram in self.replies.datagrams(MOST) {
            if let Err(error) = self.channel.send(datagram) {
                count(&self.counts.unsent);
                warn!(target: LOG, "local service: the kernel did not take a reply: {error}");
            }
        }
        self.replies.clear();
        // Told here and not where it is heard: a burst of refusals is one line for each turn.
        if let Some(refusal) = self.agent.take_refusal() {
            let errno = io::Error::from_raw_os_error(refusal.errno);
            let what = match refusal.seq {
                OWN_SEQ => "how long to wait",
                _ => "a reply",
            };
            warn!(target: LOG, "local service: the kernel refused {what}: {errno}");
        }
    }

    /// True when the watcher has put a new list in place, or `look` has passed. The first makes a
    /// change count at once, the second is for the snapshot's file and the metrics.
    fn is_time_to_look(&self) -> bool {
        // The watcher stores a new list only where something differs, so one pointer says it.
        let is_new = !Arc::ptr_eq(&self.view.load(), &self.seen);
        is_new || self.looked.elapsed() >= self.setting.look
    }

    /// At the ports; the paths look for a new snapshot there, too.
    fn look(&mut self) {
        self.looked = Instant::now();
        self.seen = self.view.load_full();
        self.agent.resolver().0.look(&self.seen);
        let kept = self.agent.resolver().0.kept();
        let kept = u64::try_from(kept).unwrap_or(u64::MAX);
        self.counts.kept.store(kept, Ordering::Relaxed);
        if self
            .looked_for_others
            .is_none_or(|then| then.elapsed() >= OTHERS_PAUSE)
        {
            self.looked_for_others = Some(Instant::now());
            self.look_for_others();
        }
    }

    /// Counts the other listeners of the group, and warns once about each that is new.
    fn look_for_others(&mut self) {
        let Some(own) = self.setting.own_address else {
            return;
        };
        let others = listeners(Some(own)).unwrap_or_default();
        let number = u64::try_from(others.len()).unwrap_or(u64::MAX);
        self.counts.others.store(number, Ordering::Relaxed);
        for other in others.iter().filter(|other| !self.others.contains(other)) {
            warn!(
                target: LOG, "{other} answers the kernel's path queries too, and whoever is first is believed: \
                 stop one of both (ibacm: systemctl disable --now ibacm.service ibacm.socket)"
            );
        }
        self.others = others;
    }

    /// Waits until there is something to do: a datagram, the bell, the next deadline of a question
    /// that was put off, or the next look. Errors: the channel is of no use any more.
    fn rest(&mut self) -> io::Result<()> {
        let late = self.agent.resolver().0.next();
        let late = late.map(|next| next.saturating_duration_since(Instant::now()));
        let pause = self.setting.look.min(LONGEST_REST);
        let pause = late.map_or(pause, |late| late.min(pause));
        let pause = Timespec::try_from(pause).ok();
        let mut ready = [
            PollFd::new(&self.channel, PollFlags::IN),
            PollFd::new(&self.wake, PollFlags::IN),
        ];
        match poll(&mut ready, pause.as_ref()) {
            // A signal is no failure: the loop looks at everything again anyway.
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let [_, bell] = ready;
        if bell.revents().contains(PollFlags::IN) {
            self.wake.heard();
        }
        Ok(())
    }

    /// Tells the kernel how long to wait for answers. It clamps the value to 100 to 200,000 ms. It
    /// is set once, before any question is read: Linux 6.1 moves the deadlines of waiting queries
    /// by milliseconds counted as jiffies.
    fn set_timeout(&mut self, milliseconds: u32) {
        let mut message = [0; 64];
        let written = write_set_timeout(&mut message, OWN_SEQ, milliseconds, true);
        let datagram = written.ok().and_then(|length| message.get(..length));
        match self.channel.send(datagram.unwrap_or_default()) {
            Ok(()) => debug!(target: LOG, milliseconds, "local service: the kernel waits so long"),
            Err(error) => warn!(
                target: LOG, "local service: the kernel cannot be told how long to wait: {error}; is this the \
                 initial network namespace, and CAP_NET_ADMIN there?"
            ),
        }
    }
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// The paths as a [`Resolver`]: an agent is generic over its resolver, which the daemon chooses at
/// run time.
struct Dynamic(Box<dyn Paths>);

impl Resolver for Dynamic {
    fn resolve(&mut self, question: &Resolve<'_>, records: &mut Records) -> Verdict {
        self.0.resolve(question, records)
    }

    fn gid_of(&mut self, question: &IpResolve) -> Result<Gid, Reason> {
        self.0.gid_of(question)
    }
}
