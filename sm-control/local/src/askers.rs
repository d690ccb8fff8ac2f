//! Threads that ask SAs.

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

/// A question to the SA of a port.
pub struct Job {
    /// What it answers.
    pub key: Key,
    /// Number of the state of the fabric that it was asked in.
    pub generation: u64,
    /// Through which port.
    pub port: HostPort,
    /// The request.
    pub request: Box<Slot>,
}

/// What came of it.
pub struct Done {
    /// As in the job.
    pub key: Key,
    /// As in the job.
    pub generation: u64,
    /// None: the SA was silent, or busy.
    pub answer: Option<Result<PathRecord, Reason>>,
}

/// The threads; they end when this goes.
pub struct Askers {
    jobs: Option<Sender<Job>>,
    done: Receiver<Done>,
    threads: Vec<JoinHandle<()>>,
}

/// Questions that may wait for a thread, for each of them.
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

    /// False where too many wait.
    pub fn ask(&self, job: Job) -> bool {
        let jobs = self.jobs.as_ref();
        jobs.is_some_and(|jobs| jobs.try_send(job).is_ok())
    }

    /// What has come.
    pub fn done(&self) -> impl Iterator<Item = Done> {
        self.done.try_iter()
    }
}

impl Drop for Askers {
    fn drop(&mut self) {
        drop(self.jobs.take());
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

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
        let mut request = job.request.mad;
        stamp(&mut request);
        let reply = way.ask(&request).ok()?;
        Some(match record_of(&reply) {
            Err(_) if is_busy(&reply) => return None,
            record => record,
        })
    }
}

/// The SA asks for patience, which is the kernel's to have.
fn is_busy(reply: &[u8]) -> bool {
    use sa_wire::mad::{MadHeader, Status};
    use zerocopy::FromBytes;
    let header = MadHeader::ref_from_prefix(reply);
    header.is_ok_and(|(header, _)| header.status.get() == Status::BUSY.get())
}
