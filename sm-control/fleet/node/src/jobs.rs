//! What takes long: files that are fetched, verified and loaded, a thread for each.
//!
//! A job that nobody wants any more goes on until its time is over, and what comes of it is
//! dropped; so many may be on their way, and one more fails at once and is tried again later.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crossbeam_channel::Sender;
use fleet_transfer::fetch::{FetchError, Partial, Upstream};
use fleet_transfer::packed::{self, Expected};
use fleet_transfer::serve::Desk;
use fleet_transfer::shelf::{Item, Shelf, ShelfError};
use sa_fleet::announcement::{Blob, Delta};
use sa_fleet::follower::Outcome;
use sa_fleet::identity::Digest;

use crate::host::{Host, Unusable};

/// Jobs on their way at most, those included that nobody wants any more.
pub(crate) const MOST: usize = 8;

/// zstd's, where somebody waits for it.
pub(crate) const LEVEL: i32 = 3;

/// What is to be done.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Work {
    Load(Blob),
    Patch {
        upstream: usize,
        delta: Delta,
        blob: Blob,
    },
    Whole {
        upstream: usize,
        blob: Blob,
    },
}

/// How it ended.
pub(crate) struct End<L> {
    pub(crate) job: u64,
    pub(crate) work: Work,
    pub(crate) outcome: Outcome,
    /// Of a load that is done.
    pub(crate) loaded: Option<L>,
    /// For people, where it is not done.
    pub(crate) why: String,
}

/// Where an end is told, and as what.
pub(crate) type Teller<T, L> = (Sender<T>, fn(End<L>) -> T);

/// What jobs work with.
pub(crate) struct Jobs<H: Host, T> {
    shared: Arc<Shared<H>>,
    told: Sender<T>,
    tell: fn(End<H::Loaded>) -> T,
}

struct Shared<H> {
    host: Arc<H>,
    shelf: Arc<Shelf>,
    upstreams: Vec<Upstream>,
    /// Where this host hands on what it has; it has it packed then, too.
    desk: Option<Arc<Desk>>,
    /// What came of a file before its upstream was lost: it goes on from another.
    partial: Mutex<Option<Partial>>,
    running: AtomicUsize,
}

/// Why there is no file where one was to be.
enum Failure {
    Missing(String),
    Failed(String),
    Bad(String),
}

impl<H: Host, T: Send + 'static> Jobs<H, T> {
    pub(crate) fn new(
        host: Arc<H>,
        shelf: Arc<Shelf>,
        upstreams: Vec<Upstream>,
        desk: Option<Arc<Desk>>,
        (told, tell): Teller<T, H::Loaded>,
    ) -> Self {
        let shared = Shared {
            host,
            shelf,
            upstreams,
            desk,
            partial: Mutex::default(),
            running: AtomicUsize::new(0),
        };
        Self {
            shared: Arc::new(shared),
            told,
            tell,
        }
    }

    /// Begins it. Some: it ended at once.
    pub(crate) fn begin(&self, job: u64, work: Work) -> Option<End<H::Loaded>> {
        let (shared, told, tell) = (Arc::clone(&self.shared), self.told.clone(), self.tell);
        let begun = self.thread(move || {
            let end = shared.done(job, work);
            // Nobody follows any more.
            let _ = told.send(tell(end));
        });
        let why = begun.err()?.to_string();
        Some(End {
            job,
            work,
            outcome: Outcome::Failed,
            loaded: None,
            why,
        })
    }

    /// Removes all files that are about none of these, when there is time for it.
    pub(crate) fn tidy(&self, needed: BTreeSet<Digest>) {
        let shelf = Arc::clone(&self.shared.shelf);
        // Where no thread can be had, the next call tidies up.
        let _ = self.thread(move || {
            let _ = shelf.keep_only(&needed);
        });
    }

    /// A thread, if there are not too many. Errors: there are, or the system has none.
    fn thread(&self, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let running = Running::one_more(&self.shared)?;
        thread::Builder::new()
            .name("sa-fleet-job".into())
            .spawn(move || {
                work();
                drop(running);
            })?;
        Ok(())
    }
}

/// A place among the jobs.
struct Running<H>(Arc<Shared<H>>);

impl<H> Running<H> {
    fn one_more(shared: &Arc<Shared<H>>) -> io::Result<Self> {
        let place = Self(Arc::clone(shared));
        // Relaxed: it counts, and guards nothing.
        if shared.running.fetch_add(1, Ordering::Relaxed) >= MOST {
            return Err(io::Error::other("too many files are on their way already"));
        }
        Ok(place)
    }
}

impl<H> Drop for Running<H> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<H: Host> Shared<H> {
    fn done(&self, job: u64, work: Work) -> End<H::Loaded> {
        let done = match work {
            Work::Load(blob) => self.load(blob).map(Some),
            Work::Patch {
                upstream,
                delta,
                blob,
            } => self.patch(upstream, delta, blob).map(|()| None),
            Work::Whole { upstream, blob } => self.whole(upstream, blob).map(|()| None),
        };
        let (outcome, loaded, why) = match done {
            Ok(loaded) => (Outcome::Done, loaded, String::new()),
            Err(Failure::Missing(why)) => (Outcome::Missing, None, why),
            Err(Failure::Failed(why)) => (Outcome::Failed, None, why),
            Err(Failure::Bad(why)) => (Outcome::Bad, None, why),
        };
        End {
            job,
            work,
            outcome,
            loaded,
            why,
        }
    }

    fn load(&self, blob: Blob) -> Result<H::Loaded, Failure> {
        // What is not what its name says was removed by this: it is fetched again.
        let file = self
            .shelf
            .verified(expected(blob))
            .map_err(|why| match &why {
                ShelfError::Unsound { .. } => Failure::Missing(why.to_string()),
                ShelfError::Read { why: source, .. }
                    if source.kind() == io::ErrorKind::NotFound =>
                {
                    Failure::Missing(why.to_string())
                }
                _ => Failure::Failed(why.to_string()),
            })?;
        self.host.load(file, blob).map_err(|why| match why {
            Unusable::Now(why) => Failure::Failed(why),
            Unusable::Ever(why) => Failure::Bad(why),
        })
    }

    fn patch(&self, upstream: usize, delta: Delta, blob: Blob) -> Result<(), Failure> {
        let (from, to) = (delta.from, blob.digest);
        let base = self.base(from)?;
        let item = Item::Patch { to, from };
        let mut partial = self.fetched(upstream, item, u64::from(delta.size))?;
        partial
            .put(&self.shelf, Some(&base), expected(blob))
            .map_err(of_put)?;
        self.hand_on(blob, &mut partial)
    }

    /// The file that a patch is applied to.
    fn base(&self, from: Digest) -> Result<Vec<u8>, Failure> {
        let item = Item::Blob(from);
        let opened = self.shelf.open_item(item);
        // Without it the whole file is fetched.
        let (_, size) = opened.map_err(|why| Failure::Missing(why.to_string()))?;
        let read = self.shelf.read(item, size);
        read.map_err(|why| Failure::Missing(why.to_string()))
    }

    fn whole(&self, upstream: usize, blob: Blob) -> Result<(), Failure> {
        // zstd adds some bytes to what does not pack at all.
        let most = blob.size + blob.size / 128 + 4096;
        let packed = self.fetched(upstream, Item::Packed(blob.digest), most);
        let mut partial = match packed {
            Err(Failure::Missing(_)) => {
                self.fetched(upstream, Item::Blob(blob.digest), blob.size)?
            }
            other => other?,
        };
        partial
            .put(&self.shelf, None, expected(blob))
            .map_err(of_put)?;
        self.hand_on(blob, &mut partial)
    }

    /// Bytes as they come, going on from where another upstream was lost.
    fn fetched(&self, upstream: usize, item: Item, most: u64) -> Result<Partial, Failure> {
        let upstream = self.upstreams.get(upstream);
        let upstream = upstream.ok_or_else(|| Failure::Failed("no such upstream".to_owned()))?;
        let before = self.kept().take().filter(|it| it.item() == item);
        let mut partial = match before {
            Some(partial) => partial,
            None => {
                Partial::new(&self.shelf, item).map_err(|why| Failure::Failed(why.to_string()))?
            }
        };
        match upstream.download(&mut partial, most) {
            Ok(()) => Ok(partial),
            Err(FetchError::Status { status: 404, .. }) => Err(Failure::Missing(format!(
                "{}: has no such file",
                upstream.url()
            ))),
            // It sends something else than was announced: none of it is of use.
            Err(why @ FetchError::Odd { .. }) => Err(Failure::Bad(why.to_string())),
            Err(why) => {
                *self.kept() = Some(partial);
                Err(Failure::Failed(why.to_string()))
            }
        }
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Option<Partial>> {
        self.partial.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What came, as it came, for those who ask here; then the whole packed. That either fails is no
    /// reason not to use the file: they fetch it as it is.
    fn hand_on(&self, blob: Blob, came: &mut Partial) -> Result<(), Failure> {
        let Some(desk) = &self.desk else {
            return Ok(());
        };
        let is_packed = matches!(came.item(), Item::Packed(_));
        if matches!(came.item(), Item::Packed(_) | Item::Patch { .. }) {
            let _ = came.keep(&self.shelf);
        }
        desk.has_more();
        if is_packed {
            return Ok(());
        }
        let read = self.shelf.read(Item::Blob(blob.digest), blob.size);
        let bytes = read.map_err(|why| Failure::Failed(why.to_string()))?;
        if let Ok(packed) = packed::pack(&bytes, None, LEVEL) {
            let _ = self.shelf.put(Item::Packed(blob.digest), &packed);
            desk.has_more();
        }
        Ok(())
    }
}

fn of_put(why: ShelfError) -> Failure {
    match why {
        ShelfError::Unsound { .. } => Failure::Bad(why.to_string()),
        _ => Failure::Failed(why.to_string()),
    }
}

fn expected(blob: Blob) -> Expected {
    Expected {
        digest: blob.digest,
        size: blob.size,
    }
}
