//! What a port hides, counted; and the counter that one thread writes.
//!
//! One row of names makes struct, methods and list (`counts!`), so that a new counter cannot be
//! left out of any. Counters of one handle lie on cache lines of their own: workers of several
//! ports do not slow each other down.

use core::ops::AddAssign;
use core::sync::atomic::{AtomicU64, Ordering};

use crossbeam_utils::CachePadded;

/// A counter that one thread writes and others read.
///
/// Readers may see a value that is some additions old, and never one that was not there.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds. Only for the owning thread: a plain load and store, no locked instruction.
    #[inline(always)]
    pub fn add(&self, amount: u64) {
        // Relaxed: a number for people, that nothing is ordered by.
        self.0.store(
            self.0.load(Ordering::Relaxed).wrapping_add(amount),
            Ordering::Relaxed,
        );
    }

    /// Sets. Only for the owning thread.
    #[inline(always)]
    pub fn set(&self, value: u64) {
        // Written only if it changes, so that the line stays shared with whoever reads it.
        if self.0.load(Ordering::Relaxed) != value {
            self.0.store(value, Ordering::Relaxed);
        }
    }

    /// The value, possibly a little old.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What a port hid. Units: MADs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PortCounters {
    /// Requests that were lent to a worker.
    pub received: u64,
    /// Replies that were handed to the transport.
    pub sent: u64,
    /// Dropped on arrival: another class (traps, SMInfo), or a response.
    pub foreign: u64,
    /// Dropped on arrival: too short to be a MAD.
    pub malformed: u64,
    /// Requests of more than one MAD; see [`UmadPort::oversized`](crate::umad::UmadPort::oversized).
    pub oversized: u64,
    /// Replies that came back undeliverable.
    pub returned: u64,
    /// Replies that the kernel refused with EINVAL: the same transaction is already being
    /// answered (a client's retransmission), or the address is none.
    pub duplicates: u64,
    /// Replies dropped for want of room.
    pub unsent: u64,
    /// Arrivals dropped for want of room while a reply was being sent (ibsim only).
    pub overflow: u64,
}

/// The counters of one handle, which alone adds to them; others read.
///
/// Shared by `Arc` between the worker's port and whoever shows metrics; handles of one port have
/// each their own, which are added up.
#[derive(Debug, Default)]
pub struct PortStats {
    inner: CachePadded<Inner>,
}

/// One counter for each field of [`PortCounters`], on cache lines of its own.
#[derive(Debug, Default)]
struct Inner {
    received: Counter,
    sent: Counter,
    foreign: Counter,
    malformed: Counter,
    oversized: Counter,
    returned: Counter,
    duplicates: Counter,
    unsent: Counter,
    overflow: Counter,
}

macro_rules! counts {
    ($($name:ident)*) => {
        impl PortStats {
            $(
                #[inline(always)]
                pub(crate) fn $name(&self) {
                    self.inner.$name.add(1);
                }
            )*

            /// All counters, each read once.
            pub fn snapshot(&self) -> PortCounters {
                PortCounters { $($name: self.inner.$name.get(),)* }
            }
        }

        impl PortCounters {
            /// All of them with their names. Shape: in the order of the fields.
            pub const fn each(&self) -> [(&'static str, u64); [$(stringify!($name)),*].len()] {
                [$((stringify!($name), self.$name)),*]
            }
        }

        impl AddAssign for PortCounters {
            fn add_assign(&mut self, other: Self) {
                $(self.$name = self.$name.wrapping_add(other.$name);)*
            }
        }
    };
}

counts! { received sent foreign malformed oversized returned duplicates unsent overflow }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_have_names_and_add_up() {
        let stats = PortStats::default();
        stats.received();
        stats.duplicates();
        let mut sum = stats.snapshot();
        sum += stats.snapshot();
        let counted: Vec<_> = sum.each().into_iter().filter(|(_, n)| *n > 0).collect();
        assert_eq!(counted, [("received", 2), ("duplicates", 2)]);
    }
}
