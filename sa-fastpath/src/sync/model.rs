//! Stand-ins under loom, in the shape of what they stand for.
//!
//! None of them orders more than publication may count on: the count of [`Arc`] is relaxed, so that
//! what a thread did before it let go of a reference is ordered before the end of the value by the
//! protocol alone.

use core::ops::Deref;

pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};

/// A reference-counted value. Taking and dropping a reference are steps that other threads can come
/// between.
#[derive(Debug)]
pub struct Arc<T> {
    inner: std::sync::Arc<Counted<T>>,
}

#[derive(Debug)]
struct Counted<T> {
    count: AtomicU64,
    value: T,
}

impl<T> Arc<T> {
    /// The first reference.
    pub fn new(value: T) -> Self {
        let count = AtomicU64::new(1);
        let inner = std::sync::Arc::new(Counted { count, value });
        Self { inner }
    }
}

impl<T> Clone for Arc<T> {
    fn clone(&self) -> Self {
        self.inner.count.fetch_add(1, Ordering::Relaxed);
        let inner = std::sync::Arc::clone(&self.inner);
        Self { inner }
    }
}

impl<T> Drop for Arc<T> {
    fn drop(&mut self) {
        self.inner.count.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<T> Deref for Arc<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner.value
    }
}

/// Stands for arc-swap's pointer. That a reader can look at it without the lock, and see an old
/// value, is what `version` is for.
#[derive(Debug)]
pub(crate) struct Slot<T> {
    version: AtomicU64,
    current: loom::sync::Mutex<Option<Arc<T>>>,
}

impl<T> Slot<T> {
    /// A slot with nothing in it.
    pub(crate) fn empty() -> Self {
        Self {
            version: AtomicU64::new(0),
            current: loom::sync::Mutex::new(None),
        }
    }

    /// Puts a value in; the one before is dropped here.
    pub(crate) fn store(&self, value: Option<Arc<T>>) {
        let old = {
            let mut current = lock(&self.current);
            let version = self.version.load(Ordering::Relaxed);
            self.version.store(version + 1, Ordering::Relaxed);
            core::mem::replace(&mut *current, value)
        };
        drop(old);
    }

    fn load_full(&self) -> (u64, Option<Arc<T>>) {
        let current = lock(&self.current);
        (self.version.load(Ordering::Relaxed), current.clone())
    }
}

/// Stands for arc-swap's cache: a reference of its own, taken anew when the slot has changed.
#[derive(Debug)]
pub(crate) struct Cache<S, V> {
    slot: S,
    version: u64,
    held: V,
}

impl<S: Deref<Target = Slot<T>>, T> Cache<S, Option<Arc<T>>> {
    /// Takes what is there.
    pub(crate) fn new(slot: S) -> Self {
        let (version, held) = slot.load_full();
        Self {
            slot,
            version,
            held,
        }
    }

    /// The newest value that this thread sees. The new reference is taken before the old one goes.
    pub(crate) fn load(&mut self) -> &Option<Arc<T>> {
        if self.slot.version.load(Ordering::Relaxed) != self.version {
            (self.version, self.held) = self.slot.load_full();
        }
        &self.held
    }
}

/// A thread needs nothing of its own.
pub(crate) fn prepare_thread<T>(_: &Slot<T>) {}

fn lock<T>(mutex: &loom::sync::Mutex<T>) -> loom::sync::MutexGuard<'_, T> {
    match mutex.lock() {
        Ok(guard) => guard,
        // A model that panicked has failed already.
        Err(poisoned) => poisoned.into_inner(),
    }
}
