//! Reading a snapshot once before workers do.
//!
//! A snapshot that was just made may lie in the caches of the core that made it, or in none; then
//! the first queries after a change would pay for it. The cache that cores share is what this
//! fills, so it runs off the workers.
//!
//! Cost: one read per 64 bytes of the snapshot, on the thread that publishes. It is a trait so that
//! the loom tests can publish a number instead of a snapshot.

use core::hint::black_box;

use sa_snapshot::Snapshot;

/// What can be published.
pub trait Pretouch {
    /// Reads all that answers may need.
    fn pretouch(&self);
}

impl Pretouch for Snapshot {
    fn pretouch(&self) {
        let lines = self.as_bytes().chunks(LINE);
        let read = lines.fold(0, |all, line| all ^ line.first().copied().unwrap_or(0));
        // Without it the compiler may drop reads whose result nobody uses.
        black_box(read);
    }
}

/// A cache line: one read brings all of it. Units: bytes.
const LINE: usize = 64;
