//! Handing snapshots from the slow path to the workers.
//!
//! One [`Publisher`], any number of [`Reader`]s, one pointer between them. Protocol:
//!
//! 1. `publish` puts the new snapshot into the slot and keeps a reference to the old one.
//! 2. A reader, at a batch boundary, takes the new reference, drops its reference to the old
//!    one, and only then stores the epoch it now holds (`Release`).
//! 3. `reclaim` frees an old snapshot once every reader has stored a newer epoch (`Acquire`).
//!
//! So the last reference is always the publisher's, and no worker ever runs a destructor.
//!
//! ```text
//!  time ──>            publish(B)                          reclaim
//!  publisher  slot=A ── slot=B, retired=[A] ─────────────── frees A: least epoch held is B's
//!  reader 1     holds A ────── batch ends, takes B, drops A, notes epoch(B) ──
//!  reader 2     holds A ───────────── empty turn: takes B, drops A, notes epoch(B) ──
//! ```
//!
//! Freeing hundreds of megabytes takes milliseconds and system calls, which a worker must never
//! spend. Crossbeam's epochs were passed over: there the last to leave runs the destructor, and
//! that may be a worker (ADR 8).
//!
//! The price: a reader that stops looking keeps every later snapshot alive. So idle workers look on
//! each empty turn, one that sleeps wakes after [`LONGEST_SLEEP`](crate::worker::LONGEST_SLEEP),
//! and a reader that ends gives its place back.
//!
//! `tests/publish_loom.rs` explores the protocol under every interleaving with at most three
//! preemptions; it says nothing of arc-swap's insides.

use crossbeam_utils::CachePadded;
pub use sa_snapshot::EpochId;
use sa_snapshot::Snapshot;

pub use crate::pretouch::Pretouch;
use crate::sync::{Arc, AtomicU64, Cache, Ordering, READERS, Slot, prepare_thread};

/// Readers that one publisher serves.
///
/// A scan of them all is part of each `reclaim`; a worker for each port of a host needs far fewer.
pub const MAX_READERS: usize = READERS;

/// What an unused reader place holds: newer than any epoch, so that `reclaim` need not tell used
/// places from others.
const NOBODY: u64 = u64::MAX;

/// The generation of a snapshot that no fleet has announced.
pub const NO_GENERATION: u64 = 0;

/// A snapshot in service.
// Aligned so that the reference count, which threads off the fast path write, shares no cache line
// (nor the one fetched with it) with what workers read in every batch.
#[derive(Debug)]
#[repr(align(128))]
pub struct Published<T = Snapshot> {
    /// Its number, by which readers say what they hold.
    pub epoch: EpochId,
    /// What it is called in the fleet, for [`crate::gate`]; [`NO_GENERATION`] where it is of none.
    pub generation: u64,
    /// What workers answer from.
    pub snapshot: T,
}

impl<T> AsRef<T> for Published<T> {
    fn as_ref(&self) -> &T {
        &self.snapshot
    }
}

/// What publisher and readers share.
struct Shared<T> {
    slot: Slot<Published<T>>,
    /// Epoch held by each reader, 0 before its first; [`NOBODY`] for unused places.
    held: [CachePadded<AtomicU64>; MAX_READERS],
}

/// The single writer. It keeps the last reference to every old snapshot, so that no worker frees
/// one.
///
/// Owned by the thread that loads fabrics. `retired` holds one snapshot for each publication that
/// some reader has not noticed yet.
pub struct Publisher<T = Snapshot> {
    shared: Arc<Shared<T>>,
    current: Option<Arc<Published<T>>>,
    /// Snapshots that readers may still hold, oldest first.
    retired: Vec<Arc<Published<T>>>,
    next: EpochId,
}

impl<T> Default for Publisher<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Publisher<T> {
    /// A publisher without a snapshot yet; epochs start at 1.
    pub fn new() -> Self {
        Self::starting_at(EpochId::FIRST)
    }

    /// A publisher whose first epoch is given, for a restart that goes on counting.
    pub fn starting_at(next: EpochId) -> Self {
        let held = core::array::from_fn(|_| CachePadded::new(AtomicU64::new(NOBODY)));
        let shared = Arc::new(Shared {
            slot: Slot::empty(),
            held,
        });
        Self {
            shared,
            current: None,
            retired: Vec::new(),
            next,
        }
    }

    /// The number that the next snapshot gets.
    pub const fn next_epoch(&self) -> EpochId {
        self.next
    }

    /// The snapshot in service.
    pub const fn current(&self) -> Option<&Arc<Published<T>>> {
        self.current.as_ref()
    }

    /// A reader of its own for one worker; none when all [`MAX_READERS`] places are taken.
    pub fn reader(&self) -> Option<Reader<T>> {
        // An exchange, because two threads may ask for a reader at once. 0 keeps everything alive
        // until the first refresh: the cache made below may hold a snapshot that is replaced before
        // this reader notes it.
        let free = |place: &CachePadded<AtomicU64>| {
            place
                .compare_exchange(NOBODY, 0, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
        };
        let index = self.shared.held.iter().position(free)?;
        let source = SharedSlot(Arc::clone(&self.shared));
        let place = Place {
            shared: Arc::clone(&self.shared),
            index,
        };
        Some(Reader {
            cache: Cache::new(source),
            place,
        })
    }

    /// Puts a snapshot of no fleet into service; workers see it at their next batch. Returns its
    /// number.
    ///
    /// Reads it through first, so that they find it in the cache that cores share.
    pub fn publish(&mut self, snapshot: T) -> EpochId
    where
        T: Pretouch,
    {
        self.publish_as(snapshot, NO_GENERATION)
    }

    /// The same of a generation that a fleet has announced: a worker gets both at once, and whoever
    /// has a [`crate::gate`] answers from it while that is open for this generation.
    pub fn publish_as(&mut self, snapshot: T, generation: u64) -> EpochId
    where
        T: Pretouch,
    {
        snapshot.pretouch();
        let epoch = self.next;
        self.next = epoch.next();
        let published = Arc::new(Published {
            epoch,
            generation,
            snapshot,
        });
        // The store comes before the old one is retired: while it is in the slot a reader could
        // still take it.
        self.shared.slot.store(Some(Arc::clone(&published)));
        // The publisher's own reference moves to `retired`, so `reclaim` drops the last one, here
        // or later, on this thread.
        self.retired.extend(self.current.replace(published));
        self.reclaim();
        epoch
    }

    /// Frees the retired snapshots that no reader can hold any more. Returns how many are left.
    pub fn reclaim(&mut self) -> usize {
        // Pairs with the `Release` store in `Place::note`.
        let held = self
            .shared
            .held
            .iter()
            .map(|place| place.load(Ordering::Acquire));
        let oldest = held.min().unwrap_or(NOBODY);
        // A reader that noted epoch n may still be answering from n, so n itself stays.
        self.retired
            .retain(|published| published.epoch.get() >= oldest);
        self.retired.len()
    }

    /// How many old snapshots wait for their readers.
    pub fn retired(&self) -> usize {
        self.retired.len()
    }
}

/// Lets the cache look at the slot inside the shared part.
struct SharedSlot<T>(Arc<Shared<T>>);

impl<T> core::ops::Deref for SharedSlot<T> {
    type Target = Slot<Published<T>>;

    fn deref(&self) -> &Self::Target {
        &self.0.slot
    }
}

/// One worker's view of the slot.
pub struct Reader<T = Snapshot> {
    /// Before `place`: its reference goes first when the reader is dropped, as in the protocol.
    cache: Cache<SharedSlot<T>, Option<Arc<Published<T>>>>,
    place: Place<T>,
}

/// Where a reader notes the epoch it holds; given back on drop.
struct Place<T> {
    shared: Arc<Shared<T>>,
    index: usize,
}

impl<T> Place<T> {
    /// Says which epoch this reader holds from now on, as a number: [`NOBODY`] is none.
    #[inline(always)]
    fn note(&self, epoch: u64) {
        // Read before written: the line stays shared with the publisher's core while nothing
        // changes, which is nearly every turn.
        if let Some(held) = self.shared.held.get(self.index)
            && held.load(Ordering::Relaxed) != epoch
        {
            // Permission to free what came before; pairs with `Publisher::reclaim`.
            held.store(epoch, Ordering::Release);
        }
    }
}

impl<T> Drop for Place<T> {
    fn drop(&mut self) {
        self.note(NOBODY);
    }
}

impl<T> Reader<T> {
    /// Makes the calling thread ready to take new snapshots: the first time that a thread takes one
    /// allocates. For threads that must not later.
    pub fn prepare_thread(&self) {
        prepare_thread(&self.place.shared.slot);
    }

    /// The newest snapshot, for one batch. Call on every turn, empty ones too: an idle reader must
    /// not keep an old snapshot from being freed.
    #[inline(always)]
    pub fn refresh(&mut self) -> Option<&Published<T>> {
        self.refresh_shared().map(|published| &**published)
    }

    /// The same, to be kept beyond the batch: for work that goes on while newer snapshots come, off
    /// the fast path, as whoever drops the last reference frees it.
    #[inline(always)]
    pub fn refresh_shared(&mut self) -> Option<&Arc<Published<T>>> {
        let published = self.cache.load().as_ref();
        self.place
            .note(EpochId::raw(published.map(|published| published.epoch)));
        published
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Pretouch for i32 {
        fn pretouch(&self) {}
    }

    #[test]
    fn a_retired_snapshot_waits_for_its_readers() {
        let mut publisher = Publisher::new();
        let mut reader = publisher.reader().unwrap();
        assert!(reader.refresh().is_none());
        publisher.publish(1);
        assert_eq!(reader.refresh().unwrap().snapshot, 1);
        publisher.publish(2);
        assert_eq!(publisher.retired(), 1, "the reader still holds the first");
        assert_eq!(reader.refresh().unwrap().snapshot, 2);
        assert_eq!(publisher.reclaim(), 0);
    }

    #[test]
    fn a_reader_that_never_looked_holds_nothing_old() {
        let mut publisher = Publisher::new();
        let reader = publisher.reader().unwrap();
        publisher.publish(1);
        publisher.publish(2);
        assert_eq!(
            publisher.retired(),
            1,
            "it may be taking the first right now"
        );
        drop(reader);
        assert_eq!(publisher.reclaim(), 0);
    }

    #[test]
    fn a_generation_comes_with_its_snapshot() {
        let mut publisher = Publisher::new();
        let mut reader = publisher.reader().unwrap();
        publisher.publish(1);
        assert_eq!(reader.refresh().unwrap().generation, NO_GENERATION);
        publisher.publish_as(2, 7);
        let published = reader.refresh().unwrap();
        assert_eq!((published.snapshot, published.generation), (2, 7));
    }

    /// Nor does what they read with the reference count, which others write.
    #[test]
    fn readers_share_no_cache_line() {
        let line = 64;
        assert_eq!(size_of::<CachePadded<AtomicU64>>() % line, 0);
        assert!(align_of::<Shared<u8>>() >= line);
        assert!(align_of::<Published<u8>>() >= line);
    }

    #[test]
    fn places_are_reused_and_bounded() {
        let publisher = Publisher::<u8>::new();
        let readers: Vec<_> = core::iter::from_fn(|| publisher.reader()).collect();
        assert_eq!(readers.len(), MAX_READERS);
        drop(readers);
        assert!(publisher.reader().is_some());
    }
}
