//! The thread that answers the kernel.

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

/// What the service counts besides its [`Counters`].
#[derive(Debug, Default)]
pub struct ServiceCounts {
    /// Times that the kernel had no room to queue requests.
    pub overruns: AtomicU64,
    /// Datagrams that were too long.
    pub too_long: AtomicU64,
    /// Replies that the kernel did not take.
    pub unsent: AtomicU64,
    /// Answers of SAs that are kept.
    pub kept: AtomicU64,
    /// Other listeners.
    pub others: AtomicU64,
    /// Of the thread: it moves at least every second.
    pub turns: AtomicU64,
    /// The thread runs.
    pub is_served: AtomicBool,
}

/// How long the thread waits at most before it shows that it lives.
const LONGEST_REST: Duration = Duration::from_secs(1);

/// What the service is told at its start.
#[derive(Debug, Clone)]
pub struct Setting {
    /// How long the kernel shall wait for answers. Units: ms.
    pub timeout_ms: u32,
    /// Our own netlink address, so that others can be told.
    pub own_address: Option<u32>,
    /// Somebody else holds the socket too, so that requests wait for whoever comes next.
    pub is_passed: bool,
    /// How often ports are looked at.
    pub look: Duration,
}

/// The thread; it ends when this goes, and tells the kernel to wait as long as it used to.
pub struct Service {
    stop: Arc<AtomicBool>,
    wake: Wake,
    thread: Option<JoinHandle<()>>,
    counters: Arc<Counters>,
    counts: Arc<ServiceCounts>,
}

impl Service {
    /// Starts it. Errors: no thread.
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

    /// What was answered and refused.
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
        self.stop.store(true, Ordering::Relaxed);
        self.wake.up();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            error!(target: LOG, "the thread of the local service ended by a panic");
        }
    }
}

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

/// Requests are 160 bytes at most.
const DATAGRAM: usize = 4096;

/// Datagrams between two looks at the ports.
const BATCH: usize = 256;

/// Replies in one datagram. Units: bytes.
const MOST: usize = 4096;

/// How often others are looked for.
const OTHERS_PAUSE: Duration = Duration::from_secs(10);

/// Number of the messages that are not replies.
const OWN_SEQ: u32 = 0;

impl<C: Channel> Server<C> {
    fn run(mut self) {
        self.set_timeout(self.setting.timeout_ms);
        let result = self.serve();
        if let Err(error) = result {
            error!(target: LOG, "local service: {error}; the kernel asks the SA from now on");
        } else if !self.setting.is_passed && self.is_last() {
            self.set_timeout(DEFAULT_TIMEOUT_MS);
        }
        self.counts.is_served.store(false, Ordering::Relaxed);
    }

    /// Nobody else goes by what the kernel was told.
    fn is_last(&self) -> bool {
        let others = self
            .setting
            .own_address
            .and_then(|own| listeners(Some(own)));
        others.unwrap_or_default().is_empty()
    }

    fn serve(&mut self) -> io::Result<()> {
        let mut buffer = [0; DATAGRAM];
        self.look();
        while !self.stop.load(Ordering::Relaxed) {
            count(&self.counts.turns);
            if self.is_time_to_look() {
                self.look();
            }
            let has_more = self.drain(&mut buffer)?;
            self.finish_late();
            self.send();
            if !has_more {
                self.rest()?;
            }
        }
        self.part(&mut buffer)
    }

    /// Leaves no question behind that would have to wait for its time to run out.
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

    fn send(&mut self) {
        for datagram in self.replies.datagrams(MOST) {
            if let Err(error) = self.channel.send(datagram) {
                count(&self.counts.unsent);
                warn!(target: LOG, "local service: the kernel did not take a reply: {error}");
            }
        }
        self.replies.clear();
        if let Some(refusal) = self.agent.take_refusal() {
            let errno = io::Error::from_raw_os_error(refusal.errno);
            let what = match refusal.seq {
                OWN_SEQ => "how long to wait",
                _ => "a reply",
            };
            warn!(target: LOG, "local service: the kernel refused {what}: {errno}");
        }
    }

    fn is_time_to_look(&self) -> bool {
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

    /// Until there is something to do. Errors: the channel is of no use any more.
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
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let [_, bell] = ready;
        if bell.revents().contains(PollFlags::IN) {
            self.wake.heard();
        }
        Ok(())
    }

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

/// Whatever knows the paths.
struct Dynamic(Box<dyn Paths>);

impl Resolver for Dynamic {
    fn resolve(&mut self, question: &Resolve<'_>, records: &mut Records) -> Verdict {
        self.0.resolve(question, records)
    }

    fn gid_of(&mut self, question: &IpResolve) -> Result<Gid, Reason> {
        self.0.gid_of(question)
    }
}
