//! The local service under load: an emulated kernel asks over a socket pair, an agent answers.
//!
//! [`drive`] is the kernel's side alone, for whatever serves the other end; [`measure`] puts an
//! [`Agent`] with a given resolver there, in a plain loop: read what waits, answer in few
//! datagrams, sleep when nothing waits.
//!
//! The path of a question: the kernel (here emulated, with its own rules of what it accepts) sends
//! a RESOLVE, the agent finds a record in the snapshot and replies, the kernel takes the reply. A
//! socket pair stands for the netlink socket: the same system calls and datagrams, without
//! privileges.
//!
//! How many queries wait at a time decides on the figure: with one, each costs two switches between
//! threads; with many, a datagram carries several replies.

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use kernel_emulator::link::{AgentEnd, KernelEnd, pair};
use kernel_emulator::{Asked, Flavour, Kernel, Outcome};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use sa_fastpath::affinity;
use sa_local::agent::{Agent, Replies, Resolver};
use sa_local::socket::{Channel, Received};
use sa_wire::netlink_ls::Resolve;
use thiserror::Error;

use crate::clock::thread_cpu_time;
use crate::latency::Latency;

/// How to load.
///
/// Cores may be the same: then kernel and agent take turns, as on a busy host.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Queries that wait at a time. Shape: fewer than the socket holds, about 270.
    pub window: usize,
    /// How long to ask.
    pub time: Duration,
    /// Core of the agent.
    pub agent_core: Option<usize>,
    /// Core of the kernel's side.
    pub kernel_core: Option<usize>,
}

/// What a load showed.
///
/// Of a run in which every query ended; others are an error.
#[derive(Debug, Clone)]
pub struct Report {
    /// Queries that ended.
    pub queries: u64,
    /// Those that were answered by a record.
    pub accepted: u64,
    /// Those after which the SA is asked.
    pub refused: u64,
    /// From the first question to the last answer.
    pub time: Duration,
    /// From question to answer.
    pub latency: Latency,
    /// CPU time of the agent's thread; zero from [`drive`].
    pub agent_cpu: Duration,
}

/// Why nothing was measured.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NetlinkError {
    /// The pair, or poll.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// No memory for a histogram.
    #[error("no memory for a histogram")]
    NoHistogram,
    /// The agent's thread panicked.
    #[error("the agent's thread panicked")]
    Panicked,
    /// A query failed or was lost: the run is void.
    #[error("a query ended as {0:?}: the run is void")]
    Void(Outcome),
    /// The window is larger than the socket.
    #[error("the socket has no room for a window of {0}")]
    Window(usize),
}

impl Report {
    /// Units: queries per second.
    #[expect(clippy::cast_precision_loss, reason = "a rate needs no more digits")]
    pub fn rate(&self) -> f64 {
        self.queries as f64 / self.time.as_secs_f64()
    }

    /// CPU time of the agent per query. Units: ns.
    #[expect(clippy::cast_precision_loss, reason = "a mean needs no more digits")]
    pub fn agent_ns(&self) -> f64 {
        self.agent_cpu.as_secs_f64() * 1e9 / self.queries as f64
    }
}

/// Loads an agent with this resolver; `queries` are asked in turn. Errors: [`NetlinkError`].
pub fn measure<R: Resolver + Send>(
    resolver: R,
    queries: &[Resolve<'_>],
    plan: &Plan,
) -> Result<Report, NetlinkError> {
    let (kernel_end, agent_end) = pair()?;
    std::thread::scope(|scope| {
        let agent = scope.spawn(|| serve(resolver, agent_end, plan.agent_core));
        let report = drive(kernel_end, queries, plan);
        // The kernel's end is closed by now: the agent has left.
        let agent_cpu = agent.join().map_err(|_| NetlinkError::Panicked)?;
        Ok(Report {
            agent_cpu,
            ..report?
        })
    })
}

/// Asks over this end until the plan's time is over and every query has ended. Errors:
/// [`NetlinkError`].
pub fn drive(end: KernelEnd, queries: &[Resolve<'_>], plan: &Plan) -> Result<Report, NetlinkError> {
    plan.kernel_core.map(affinity::pin);
    let mut load = Load {
        kernel: Kernel::new(Flavour::V6_1, end),
        queries: queries.iter().cycle(),
        report: Report {
            queries: 0,
            accepted: 0,
            refused: 0,
            time: Duration::ZERO,
            latency: Latency::new().ok_or(NetlinkError::NoHistogram)?,
            agent_cpu: Duration::ZERO,
        },
    };
    let start = Instant::now();
    while start.elapsed() < plan.time {
        load.ask(plan.window)?;
        load.answers()?;
    }
    // The last window counts too: its answers are on the way.
    while load.kernel.waiting() > 0 {
        load.answers()?;
    }
    load.report.time = start.elapsed();
    Ok(load.report)
}

/// The kernel's side of a run.
struct Load<'a> {
    kernel: Kernel<KernelEnd>,
    queries: std::iter::Cycle<std::slice::Iter<'a, Resolve<'a>>>,
    report: Report,
}

impl Load<'_> {
    /// Keeps `window` queries waiting. Errors: the kernel could not send, as the socket is full.
    fn ask(&mut self, window: usize) -> Result<(), NetlinkError> {
        while self.kernel.waiting() < window {
            let Some(query) = self.queries.next() else {
                return Ok(());
            };
            match self.kernel.ask(query, Instant::now()) {
                Asked::Waiting(_) => {}
                _ => return Err(NetlinkError::Window(window)),
            }
        }
        Ok(())
    }

    /// Waits for some.
    ///
    /// Errors: a query ended otherwise than by a record or by a refusal, or in the socket.
    fn answers(&mut self) -> Result<(), NetlinkError> {
        if self.kernel.drain(Instant::now)? == 0 {
            wait(self.kernel.listener())?;
        }
        // Queries whose time is over end here: they make the run void.
        self.kernel.tick(Instant::now());
        while let Some(finished) = self.kernel.finished() {
            self.report.queries += 1;
            self.report.latency.record(finished.waited);
            match finished.outcome {
                Outcome::Accepted(_) => self.report.accepted += 1,
                // What a kernel does after a refusal: it asks the SA itself.
                Outcome::FallbackToSa => self.report.refused += 1,
                other => return Err(NetlinkError::Void(other)),
            }
        }
        Ok(())
    }
}

/// Gives the thread's CPU time when the other end is gone.
fn serve<R: Resolver>(resolver: R, mut end: AgentEnd, core: Option<usize>) -> Duration {
    core.map(affinity::pin);
    let start = thread_cpu_time();
    let (mut agent, mut replies) = (Agent::new(resolver), Replies::new());
    while turn(&mut agent, &mut end, &mut replies).is_ok() {}
    thread_cpu_time().saturating_sub(start)
}

/// One turn of the agent: reads until nothing waits or a batch is full, then sends all replies.
fn turn<R: Resolver>(
    agent: &mut Agent<R>,
    end: &mut AgentEnd,
    replies: &mut Replies,
) -> io::Result<()> {
    let mut buffer = [0; 4096];
    replies.clear();
    while replies.len() < BATCH {
        match end.receive(&mut buffer)? {
            Received::Datagram { length, sender } => {
                agent.turn(buffer.get(..length).unwrap_or(&[]), sender, replies);
            }
            Received::Nothing if replies.is_empty() => wait(end)?,
            Received::Nothing => break,
            // No question that this kernel asks is that long, and a query that is lost ends the run
            // as void.
            Received::TooLong | Received::Overrun => {}
        }
    }
    replies
        .datagrams(MOST)
        .try_for_each(|datagram| end.send(datagram))
}

/// A second at most, so that a test without answers ends.
fn wait(end: &impl AsFd) -> io::Result<()> {
    let mut ends = [PollFd::new(end, PollFlags::IN)];
    poll(
        &mut ends,
        Some(&Timespec {
            tv_sec: 1,
            tv_nsec: 0,
        }),
    )?;
    Ok(())
}

/// Requests between two sends.
const BATCH: usize = 64;

/// Replies in one datagram. Units: bytes.
const MOST: usize = 8192;

#[cfg(test)]
mod tests {
    use sa_local::agent::{Reason, Records, Verdict};
    use sa_wire::Gid;
    use sa_wire::netlink_ls::{IpResolve, PathFlags, PathUse};
    use sa_wire::path_record::PathRecord;

    use super::*;

    struct Grants;

    impl Resolver for Grants {
        fn resolve(&mut self, question: &Resolve<'_>, records: &mut Records) -> Verdict {
            let flags = PathFlags::for_main(question.path_use);
            records.push(flags, PathRecord::default()).unwrap();
            Verdict::Resolved
        }

        fn gid_of(&mut self, _: &IpResolve) -> Result<Gid, Reason> {
            Err(Reason::UnknownAddress)
        }
    }

    #[test]
    fn every_query_is_answered() {
        let query = Resolve {
            seq: 0,
            device: b"mlx5_0",
            port: 1,
            path_use: PathUse::All,
            service_id: None,
            dgid: Some(Gid([1; 16])),
            sgid: None,
            tclass: None,
            pkey: None,
            qos_class: None,
        };
        let plan = Plan {
            window: 8,
            time: Duration::from_millis(20),
            agent_core: None,
            kernel_core: None,
        };
        let report = measure(Grants, &[query], &plan).unwrap();
        assert!(report.queries > 0);
        assert_eq!((report.queries, report.refused), (report.accepted, 0));
        assert_eq!(report.latency.samples(), report.queries);
    }
}
