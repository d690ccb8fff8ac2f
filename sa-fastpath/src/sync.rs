//! What publication and the gate are made of: atomics, reference counts, the slot and a reader's
//! view of it.
//!
//! Under `cfg(loom)` they are stand-ins whose interleavings loom explores; `tests/publish_loom.rs`
//! and `tests/gate_loom.rs` say what that proves.
//!
//! No other file of this crate names an atomic that these depend on, so loom sees the whole
//! protocol. Queues ([`crate::punt`]) and counters are outside: they guard nothing but themselves.

#[cfg(loom)]
mod model;

#[cfg(loom)]
pub(crate) use self::model::{Arc, AtomicU64, Cache, Ordering, Slot, prepare_thread};

#[cfg(not(loom))]
pub(crate) use {
    arc_swap::{ArcSwapOption as Slot, Cache},
    core::sync::atomic::{AtomicU64, Ordering},
    std::sync::Arc,
};

/// Readers that one publisher serves.
#[cfg(not(loom))]
pub(crate) const READERS: usize = 256;
/// Each place is an atomic that reclaiming reads, and so a branch of the model.
#[cfg(loom)]
pub(crate) const READERS: usize = 3;

/// Has arc-swap allocate what it keeps for each thread that takes references from a slot.
#[cfg(not(loom))]
pub(crate) fn prepare_thread<T>(slot: &Slot<T>) {
    // Taking one reference, even of an empty slot, is what makes arc-swap's node for the thread.
    drop(slot.load());
}
