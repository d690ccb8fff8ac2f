//! Reading beside an OpenSM that keeps the fabric: it leaves the SA's read methods to this daemon,
//! and answers what it alone knows.
//!
//! OpenSM runs with a preload library (`sm-control/split`); what is said between the two is in
//! `split-protocol`.
//!
//! One thread holds the connection ([`link`]), another looks every 10 ms how things stand: who the
//! master is by the port's own LIDs ([`its_port`]) and by a ping that only a master answers,
//! whether the workers turn ([`heartbeat`]), whether what is published is of the fabric as this
//! master knows it, and whether its answers agree. [`mastership`] judges what was seen, without a
//! clock or a socket of its own, and gives orders; the order that matters opens or shuts the
//! [`gate`], behind which the umad port is served.
//!
//! The rule behind all of it: a request is answered by exactly one of the two, or by neither for a
//! moment, after which its sender asks again. It is never answered from a fabric that OpenSM has
//! left behind. So opening takes every condition at once, and any one that fails shuts the gate.
//!
//! # A takeover, and its end
//!
//! ```text
//!  OpenSM starts        connected, reads Held           gate shut: OpenSM answers
//!  it answers the ping  became the master: generation 1, Invalidate
//!  the loader reads, compiles, publishes                published 1
//!  next look            all is well: Lend ──> Lent with the file ──> Open: this daemon answers
//!  OpenSM is killed     answering goes on for grace_ms, by the file that is here
//!  a new OpenSM starts  its own read agent is refused ──> HandOn ──> Lent: nothing was lost
//!  SIGTERM              withdraw, workers end, hang_up: OpenSM reads itself again
//! ```

mod ask;
mod gate;
mod heartbeat;
mod its_port;
mod leased;
mod link;
mod mastership;
mod subscription;
mod watch;

use core::fmt;
use core::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, bounded};
use sa_fastpath::stats::WorkerStats;
use sa_source::written::{Counts, Standing};
use tracing::error;

use super::ServerError;
use super::agreement::Doubts;
use crate::config::{Config, OpenSmSection, PortSection};

use self::heartbeat::Workers;
use self::watch::{Around, Watch};

pub(super) use self::ask::SocketAsk;
pub(super) use self::gate::Gate;
pub(super) use self::leased::Leased;
pub(super) use self::link::{Answer, Link};

/// Why the sources are to be read again. A change carries no data: whoever hears of it reads
/// everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// Nothing that was published counts any more.
    Invalid(&'static str),
    /// OpenSM reports a trap.
    Trap(u16),
    /// A device reports a trap, to the Subnet Manager of this process.
    Reported(u16),
    /// Another SM commands something, to the Subnet Manager of this process.
    Commanded,
    /// OpenSM has written to switches or ports.
    Programmed,
    /// Another OpenSM has taken over on this port, and has done its first sweep.
    Returned,
    /// The SM answers otherwise than what is in service.
    Differs,
    /// The SM answers as what was refused for its answers.
    Agrees,
}

// The words are those of the log and of the reason that operators see.
impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(reason) => f.write_str(reason),
            Self::Trap(number) => write!(f, "OpenSM reports trap {number}"),
            Self::Reported(number) => write!(f, "trap {number}"),
            Self::Commanded => f.write_str("another SM"),
            Self::Programmed => f.write_str("OpenSM has programmed the fabric"),
            Self::Returned => f.write_str("OpenSM was started again"),
            Self::Differs => f.write_str("the SM gives other answers than the snapshot in service"),
            Self::Agrees => f.write_str("the SM gives the answers that the sources lead to"),
        }
    }
}

/// What the server has of it: two threads, the gate, and where changes come out.
pub(super) struct Beside {
    /// The connection, and what goes over it.
    pub(super) link: Arc<Link>,
    /// Read by the thread that loads.
    pub(super) changes: Receiver<Change>,
    /// What is said here comes out of `changes`: the comparison with the SM speaks by it too.
    pub(super) teller: Sender<Change>,
    /// Of the one umad port that OpenSM shares.
    gate: Arc<Gate>,
    /// Whose port OpenSM has; none where the configuration names none.
    device: Option<String>,
    /// Whether answers agreed when they were compared last.
    doubts: Arc<Doubts>,
    /// What the two threads tell each other.
    shared: Arc<Shared>,
    /// Looks, judges, acts.
    watch: Thread,
    /// Holds the connection.
    connection: Thread,
}

/// One that has not been waited for.
///
/// Taken out by the first who waits: a second one finds nothing to wait for.
type Thread = Mutex<Option<JoinHandle<()>>>;

/// What the thread that judges and the one that compiles tell each other. All accesses are SeqCst:
/// they are rare, and `generation` and `published` must not be seen in different orders by the two.
#[derive(Default)]
struct Shared {
    /// The daemon ends; the thread that judges sees it at its next look.
    stop: AtomicBool,
    /// Of the fabric as the present master knows it.
    generation: AtomicU64,
    /// One more than the generation of what was published last; 0: nothing yet. One more, because
    /// generations begin with 0.
    published: AtomicU64,
    /// As judged at the last look.
    is_master: AtomicBool,
    /// The OpenSM that is connected has answered as a master does.
    answers: AtomicBool,
    /// Of OpenSM's port; 0: not known.
    lid: AtomicU16,
    /// Of its SM; 0: not known.
    sm_lid: AtomicU16,
    /// Those who answer behind the gate.
    workers: Workers,
}

impl Shared {
    /// The master is on another port: the LID of the port's SM is known and is not its own.
    fn is_elsewhere(&self) -> bool {
        let sm_lid = self.sm_lid.load(Ordering::SeqCst);
        sm_lid != 0 && sm_lid != self.lid.load(Ordering::SeqCst)
    }
}

/// Starts connecting, where the configuration names an OpenSM. Errors: [`ServerError::Os`].
pub(super) fn start(config: &Config, doubts: &Arc<Doubts>) -> Result<Option<Beside>, ServerError> {
    let Some(section) = &config.opensm else {
        return Ok(None);
    };
    let device = config.ports.iter().find_map(PortSection::device);
    let device = device.map(str::to_owned);
    Beside::start(section, device, doubts).map(Some)
}

impl Beside {
    fn start(
        section: &OpenSmSection,
        device: Option<String>,
        doubts: &Arc<Doubts>,
    ) -> Result<Self, ServerError> {
        let (link, heard) = Link::new(&section.socket);
        let (link, gate) = (Arc::new(link), Arc::new(Gate::shut()));
        let shared = Arc::new(Shared::default());
        // So many at most: a change carries no data, so what finds no room is no loss.
        let (sender, changes) = bounded(64);
        let around = Around {
            link: Arc::clone(&link),
            gate: Arc::clone(&gate),
            shared: Arc::clone(&shared),
            changes: sender.clone(),
            doubts: Arc::clone(doubts),
        };
        let watch = Watch::new(around, heard, device.clone(), section.grace());
        let running = Arc::clone(&link);
        Ok(Self {
            // Both begin at once; without a connection the other just finds OpenSM away.
            connection: Mutex::new(Some(spawn("sa-opensm", move || running.run())?)),
            watch: Mutex::new(Some(spawn("sa-beside", move || watch.run())?)),
            link,
            gate,
            device,
            doubts: Arc::clone(doubts),
            changes,
            teller: sender,
            shared,
        })
    }

    /// The gate of a port that OpenSM shares: the umad port of its device. All other ports are
    /// served regardless of it.
    pub(super) fn gate_of(&self, section: &PortSection) -> Option<Arc<Gate>> {
        let is_its = match section {
            PortSection::Umad { device, .. } => *device == self.device,
            _ => false,
        };
        is_its.then(|| Arc::clone(&self.gate))
    }

    /// Who lends that port its methods; it is told whose worker answers there.
    ///
    /// A worker is noted as it is named, so that the heartbeat counts it from the first look on.
    pub(super) fn lender_of(
        &self,
        section: &PortSection,
        worker: &Arc<WorkerStats>,
    ) -> Option<Arc<Link>> {
        self.gate_of(section)?;
        self.shared.workers.add(Arc::clone(worker));
        Some(Arc::clone(&self.link))
    }

    /// Reads the fabric from OpenSM.
    pub(super) fn ask(&self) -> SocketAsk {
        let (link, shared) = (Arc::clone(&self.link), Arc::clone(&self.shared));
        SocketAsk::new(link, shared, self.device.clone())
    }

    /// What operators see of it, by name.
    pub(super) fn facts(&self) -> Vec<(&'static str, String)> {
        let opensm = self.link.connected().map_or_else(
            || "away".to_owned(),
            |opensm| format!("process {} on umad{}", opensm.pid, opensm.umad),
        );
        let overheard = match self.link.heard_so_far().0 {
            Standing::Whole => "all since the last reading".to_owned(),
            Standing::Reading => "the SA is being read".to_owned(),
            Standing::Behind(why) => format!("in doubt: {why}"),
        };
        vec![
            ("opensm", opensm),
            ("standing", self.describe().to_owned()),
            ("overheard", overheard),
        ]
    }

    /// What was overheard of OpenSM's SMPs so far.
    pub(super) fn overheard(&self) -> Counts {
        self.link.heard_so_far().1
    }

    /// True when requests come here.
    pub(super) fn is_serving(&self) -> bool {
        self.gate.is_open()
    }

    /// True when there is a master to ask: OpenSM on this port answers as one, or another port's
    /// does.
    pub(super) fn can_ask(&self) -> bool {
        let is_here = self.is_master() && self.shared.answers.load(Ordering::SeqCst);
        is_here || self.shared.is_elsewhere()
    }

    /// True when OpenSM on this port is the master, as far as can be known.
    pub(super) fn is_master(&self) -> bool {
        self.shared.is_master.load(Ordering::SeqCst)
    }

    /// To be told to [`Self::published`] when what is read from now on is in service.
    ///
    /// Read before the sources are, so that a change in between makes what was read too old.
    pub(super) fn generation(&self) -> u64 {
        self.shared.generation.load(Ordering::SeqCst)
    }

    /// What was read while this was the generation is in service.
    pub(super) fn published(&self, generation: u64) {
        self.shared
            .published
            .store(generation + 1, Ordering::SeqCst);
    }

    /// In words, for people.
    ///
    /// For the status; programs go by other fields.
    fn describe(&self) -> &'static str {
        match (self.is_master(), self.gate.is_open()) {
            (true, true) => "answering beside the master",
            (true, false) if self.doubts.is_in_doubt() => {
                "OpenSM is the master, and gives other answers than the snapshot"
            }
            (true, false) => "OpenSM is the master; the fabric is being read",
            (false, _) => "passive: OpenSM here is not the master, or away",
        }
    }

    /// From now on the gate stays shut. The thread that judges ends first, or it would open it
    /// again.
    pub(super) fn withdraw(&self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        end(&self.watch);
        self.gate.set(false);
    }

    /// Once no port has the methods any more. OpenSM takes them back when the connection ends, so
    /// this must come last.
    pub(super) fn hang_up(&self) {
        self.link.stop();
        end(&self.connection);
    }
}

/// Waits for a thread, once.
///
/// A second call finds nothing, and is none the worse for it.
fn end(thread: &Thread) {
    let thread = thread.lock().unwrap_or_else(PoisonError::into_inner).take();
    if thread.is_some_and(|thread| thread.join().is_err()) {
        error!("a thread beside OpenSM ended by a panic");
    }
}

/// A thread beside OpenSM. Errors: [`ServerError::Os`].
fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, ServerError> {
    let thread = std::thread::Builder::new().name(name.into()).spawn(run);
    thread.map_err(|source| ServerError::Os {
        what: "start the threads beside OpenSM",
        source,
    })
}
