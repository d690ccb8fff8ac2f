//! The host around a real follower: what the daemon has there, without ports.
//!
//! Loads and verifies as the daemon does, and publishes to the slot from which workers read
//! (`sa_fastpath::publish`) beside their gate (`sa_fastpath::gate`). A worker is not run: whether
//! it would answer, and from which generation, is asked of slot and gate as a worker asks, at each
//! moment at which that can have changed, and by the oracle at any other.
//!
//! In the daemon the thread that loads publishes, and not the one that follows: handing it over
//! takes some ten microseconds, which are missing here.
//!
//! | moment | seen by |
//! |---|---|
//! | it knows of a generation | `ports(true)`, which is called right after something was verified |
//! | it has the file | `swap`: fetched, compared, synced, mapped, verified |
//! | a worker answers from it | the first `swap` or `gate` after which slot and gate agree |
//!
//! A generation with the same answers is told by its number and not by its token: then the gate is
//! never shut, and what counts is that the new file is in service.

use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use fleet_node::host::{Host, Unusable};
use fleet_node::said::Board;
use sa_fastpath::gate;
use sa_fastpath::publish::{NO_GENERATION, Publisher, Reader};
use sa_fleet::announcement::Blob;
use sa_fleet::identity::{Issue, Token};
use sa_fleet::verdict::{Gate, Ports};
use sa_snapshot::Snapshot;
use sa_wire::SubnetPrefix;

use crate::follower::PREFIX;
use crate::progress::{DEADLINE, Progress};

/// See the module.
pub(super) struct Stand {
    /// Among all followers.
    place: usize,
    progress: Arc<Progress>,
    /// The slot's writer: the thread that follows.
    publisher: Mutex<Publisher>,
    /// The slot as a worker sees it. A lock, as the oracle looks, too; held for a look.
    worker: Mutex<Reader>,
    /// Until when, and from which generation.
    gate: gate::Gate,
    /// What the follower says of itself.
    said: OnceLock<Board>,
    /// Of which generation the file in service is.
    in_service: AtomicU64,
    /// Its worker looks at no gate: for a run that must fail.
    is_planted: bool,
    /// Of the oracle, so that a planted one can wait for it.
    looks: AtomicU64,
}

impl Stand {
    /// Nothing is in service. None: a new publisher has no place for a reader, which is never so.
    pub(super) fn new(place: usize, progress: Arc<Progress>, is_planted: bool) -> Option<Self> {
        let publisher = Publisher::new();
        Some(Self {
            place,
            progress,
            worker: Mutex::new(publisher.reader()?),
            publisher: Mutex::new(publisher),
            gate: gate::Gate::new(),
            said: OnceLock::new(),
            in_service: AtomicU64::new(0),
            is_planted,
            looks: AtomicU64::new(0),
        })
    }

    /// Where the follower that was started with this says how it is.
    pub(super) fn says(&self, board: Board) {
        // Once for each.
        let _ = self.said.set(board);
    }

    /// What the follower has verified last.
    fn issue(&self) -> Issue {
        // Set right after the follower was started; its threads may be here before.
        self.said.wait().read().position.issue
    }

    /// From which generation a worker answers now; none where it is silent.
    fn answers(&self) -> Option<Token> {
        let mut worker = locked(&self.worker);
        let generation = worker.refresh().map_or(NO_GENERATION, |it| it.generation);
        let may = self.gate.may_answer(generation) || self.is_planted;
        (may && generation != NO_GENERATION).then_some(Token(generation))
    }

    /// A look of the oracle: what was verified last, and what is answered from. None: that changed
    /// meanwhile.
    pub(super) fn look(&self) -> Option<(Issue, Option<Token>)> {
        let before = self.issue();
        let answers = self.answers();
        let is_same = before == self.issue();
        self.looks.fetch_add(1, Ordering::Relaxed);
        is_same.then_some((before, answers))
    }

    /// The measured end of the way: a worker answers from the file of this generation.
    fn note(&self) {
        let seq = self.in_service.load(Ordering::Relaxed);
        if seq != 0 && self.answers().is_some() {
            self.progress.answers(self.place, seq);
        }
    }

    /// Until the oracle has looked at what this host does after it has verified the newest.
    fn wait_for_looks(&self) {
        let (begun, looks) = (Instant::now(), self.looks.load(Ordering::Relaxed));
        while self.looks.load(Ordering::Relaxed) < looks + 2 && begun.elapsed() < DEADLINE {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Host for Stand {
    type Loaded = Box<Snapshot>;

    fn load(&self, mut file: File, blob: Blob) -> Result<Self::Loaded, Unusable> {
        if self.is_planted {
            self.wait_for_looks();
        }
        let snapshot = Snapshot::read(&mut file, blob.size);
        let snapshot = snapshot.map_err(|why| Unusable::Ever(why.to_string()))?;
        let prefix = SubnetPrefix(u64::from_be_bytes(snapshot.subnet().prefix));
        match prefix == SubnetPrefix(PREFIX) {
            true => Ok(Box::new(snapshot)),
            false => Err(Unusable::Ever(format!("it is of subnet {prefix}"))),
        }
    }

    fn swap(&self, loaded: Self::Loaded, generation: Token) {
        let seq = self.issue().seq;
        self.progress.has(self.place, seq);
        locked(&self.publisher).publish_as(*loaded, generation.0);
        self.in_service.store(seq, Ordering::Relaxed);
        self.note();
    }

    fn gate(&self, gate: Gate) {
        self.gate.set(gate.until.0, gate.generation.0);
        self.note();
    }

    // As on a host without the driver.
    fn ports(&self, said: bool) -> Ports {
        if said {
            self.progress.knows(self.place, self.issue().seq);
        }
        // As the daemon does twice a second.
        locked(&self.publisher).reclaim();
        Ports::Confirmed
    }
}

/// A thread that has panicked leaves a value whole: each change of one is a store.
fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
