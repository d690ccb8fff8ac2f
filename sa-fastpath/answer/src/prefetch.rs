//! Asking for memory before it is looked at.
//!
//! One use: `batch::find` asks for the slots some places ahead. They were written by another core
//! (a ring's client, the kernel's copy), so each of their lines takes about as long to come as an
//! answer takes to make. Prefetching tables as well was measured and gained little or lost (ADR 9).

/// Asks for the cache line at this address, which may be any, and goes on without it. Does nothing
/// where the target has no such hint.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
#[inline(always)]
pub(crate) fn prefetch(line: *const u8) {
    use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a hint: it reads nothing that is seen, writes nothing and never traps, whatever the
    // address.
    // WHY: the standard library has no safe function for it.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(line.cast()) }
}

/// Nothing: other targets have no hint that the standard library offers.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(crate) const fn prefetch(_line: *const u8) {}
