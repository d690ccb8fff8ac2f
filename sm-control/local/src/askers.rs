//! Threads that ask SAs, for [`super::proxy`].
//!
//! A request to an SA waits for a reply, and the thread that hears the kernel must not. So jobs go
//! through a bounded queue to a few threads, and what came of them through another queue back, with
//! a ring of the bell:
//!
//! ```text
//!  Proxy ──ask──> jobs, 64 for each thread ──> asker 1..n ──umad──> SA
//!    ^                                             │
//!    └────────── done, and Wake::up <──────────────┘
//! ```
//!
//! An asker keeps one open way to the SA of each port. It opens another when anything about the
//! port changed, for the SM may have moved and the address with it.

use std::collections::HashMap;
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender};
use sa_source::Ask;
use sa_wire::path_record::PathRecord;
use sa_wire::umad::Slot;

use super::agent::Reason;
use super::key::Key;
use super::ports::HostPort;
use super::request::record_of;
use super::served::stamp;
use super::wake::Wake;
use super::watch::Ways;

/// A question to the SA of a port. It goes to the SA even when the kernel has been refused
/// meanwhile: the answer is then there for the next who asks.
pub struct Job {
    /// What it answers, for the cache.
    pub key: Key,
    /// Number of the state of the ports that it was asked in. An answer of another generation is
    /// not believed.
    pub generation: u64,
    /// Through which port, in the state that it had then.
    pub port: HostPort,
    /// The request, without a transaction. In a box: a slot has 320 bytes, and these wait in a
    /// queue.
    pub request: Box<Slot>,
}

/// What came of a job. Each job comes back as one of these, unless its thread ends.
pub struct Done {
    /// As in the job.
    pub key: Key,
    /// As in the job.
    pub generation: u64,
    /// What the SA said, a failure included. None where it was silent or busy: that is no answer,
    /// and is not kept.
    pub answer: Option<Result<PathRecord, Reason>>,
}

/// The threads `sa-asker`. They end when this goes, each after the question that it has in hand;
/// those in the queue are asked too, which takes as long as the SA does.
pub struct Askers {
    /// None only while it is dropped: closing the queue is what ends the threads.
    jobs: Option<Sender<Job>>,
    done: Receiver<Done>,
    threads: Vec<JoinHandle<()>>,
}

/// Questions that may wait for a thread, for each of them. At an answer a millisecond the last of
/// 64 comes after 64 ms, when the default budget of 50 ms is over; a longer queue would only hold
/// questions that are refused before they are asked.
const WAITING: usize = 64;

impl Askers {
    /// So many threads, which wake the agent when they are done. Errors: no thread.
    pub fn start(count: u32, ways: &Ways, wake: &Wake) -> std::io::Result<Self> {
        let count = usize::try_from(count).unwrap_or(1).max(1);
        let (jobs, taken) = crossbeam_channel::bounded::<Job>(WAITING * count);
        let (tell, done) = crossbeam_channel::unbounded();
        let threads = (0..count).map(|_| {
            let mut asker = Asker {
                ways: Ways::clone(ways),
                open: HashMap::new(),
            };
            let (taken, tell, wake) = (taken.clone(), tell.clone(), wake.clone());
            let thread = std::thread::Builder::new().name("sa-asker".into());
            thread.spawn(move || {
                for job in taken {
                    // Nobody takes it while the service ends.
                    let _ = tell.send(asker.answer(&job));
                    wake.up();
                }
            })
        });
        Ok(Self {
            threads: threads.collect::<std::io::Result<_>>()?,
            jobs: Some(jobs),
            done,
        })
    }

    /// Gives a job to the next free thread. False where too many wait, and then nothing happened.
    /// Never waits.
    pub fn ask(&self, job: Job) -> bool {
        let jobs = self.jobs.as_ref();
        jobs.is_some_and(|jobs| jobs.try_send(job).is_ok())
    }

    /// What has come since the last call, in the order in which the SA answered.
    pub fn done(&self) -> impl Iterator<Item = Done> {
        self.done.try_iter()
    }
}

impl Drop for Askers {
    fn drop(&mut self) {
        // The queue must close before the threads are waited for, or they would wait for it.
        drop(self.jobs.take());
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// The state of one thread.
struct Asker {
    ways: Ways,
    /// By device and port, each with the state that it was opened in.
    open: HashMap<(String, u8), (HostPort, Box<dyn Ask>)>,
}

impl Asker {
    fn answer(&mut self, job: &Job) -> Done {
        Done {
            key: job.key,
            generation: job.generation,
            answer: self.ask(job),
        }
    }

    /// Asks the SA and waits. None: silent, or busy.
    fn ask(&mut self, job: &Job) -> Option<Result<PathRecord, Reason>> {
        let name = (job.port.device.clone(), job.port.port);
        // Another SM has another address.
        if self
            .open
            .get(&name)
            .is_some_and(|(port, _)| *port != job.port)
        {
            self.open.remove(&name);
        }
        let (_, way) = self.open.entry(name).or_insert_with(|| {
            let way = (self.ways)(&job.port.device, job.port.port);
            (job.port.clone(), way)
        });
        // Stamped only now: a transaction must be this request's own, and jobs are made in another
        // thread.
        let mut request = job.request.mad;
        stamp(&mut request);
        let reply = way.ask(&request).ok()?;
        Some(match record_of(&reply) {
            Err(_) if is_busy(&reply) => return None,
            record => record,
        })
    }
}

/// The SA asks for patience (status BUSY, IBA volume 1, MAD status field). That is the kernel's to
/// have: it repeats its request, which an agent has no time for.
fn is_busy(reply: &[u8]) -> bool {
    use sa_wire::mad::{MadHeader, Status};
    use zerocopy::FromBytes;
    let header = MadHeader::ref_from_prefix(reply);
    header.is_ok_and(|(header, _)| header.status.get() == Status::BUSY.get())
}
