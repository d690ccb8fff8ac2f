//! Which process a client belongs to: the one that connected, and not its children.
//!
//! A page that the kernel empties in children (`MADV_WIPEONFORK`) tells them apart at the cost of
//! one load. Invariant that the blocks below name:
//! - *page*: `mark` is the start of an anonymous page of this value alone, readable and writable
//!   from `new` until `Drop`.
//!
//! Why a page and not a process number: asking for the number is a system call on every look. The
//! kernel empties this page in every child, whatever library or language makes it.
//!
//! A look costs a load of a line that nobody writes. Where the kernel is older than 4.14 the number
//! serves.

#![allow(unsafe_code)]

use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, Ordering};
use std::io;

/// The process that made it.
#[derive(Debug)]
pub(crate) struct Home {
    mark: NonNull<AtomicU32>,
    /// Of the process that made it, where the kernel (before 4.14) empties no pages.
    pid: Option<u32>,
}

// SAFETY: page: what is reached are atomics, and the page stays until the value goes.
// WHY: a client may be handed from thread to thread.
unsafe impl Send for Home {}
// SAFETY: as above.
unsafe impl Sync for Home {}

/// In the page, where it was not emptied.
const HERE: u32 = 1;
/// More is never touched. Units: bytes; the kernel rounds up to a page.
const SIZE: usize = size_of::<AtomicU32>();

impl Home {
    /// This process. Errors: there is no memory.
    pub(crate) fn new() -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let how = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping at a place of the kernel's choice touches no other memory.
        // WHY: only the kernel knows of every fork, whatever library or language does it.
        let base = unsafe { libc::mmap(core::ptr::null_mut(), SIZE, access, how, -1, 0) };
        let mark = match NonNull::new(base.cast::<AtomicU32>()) {
            Some(mark) if mark.as_ptr().cast() != libc::MAP_FAILED => mark,
            _ => return Err(io::Error::last_os_error()),
        };
        // SAFETY: page.
        // WHY: as above.
        let is_emptied = unsafe { libc::madvise(base, SIZE, libc::MADV_WIPEONFORK) } == 0;
        let home = Self {
            mark,
            pid: (!is_emptied).then(std::process::id),
        };
        // Relaxed: nobody else knows the page yet.
        home.mark().store(HERE, Ordering::Relaxed);
        Ok(home)
    }

    /// False in a child of the process that made it.
    #[inline(always)]
    pub(crate) fn is_here(&self) -> bool {
        // Relaxed: a process has but one thread after a fork, and the kernel wrote before it.
        let is_marked = self.mark().load(Ordering::Relaxed) == HERE;
        is_marked && self.pid.is_none_or(|pid| pid == std::process::id())
    }

    /// The word in the page that children find empty.
    #[inline(always)]
    const fn mark(&self) -> &AtomicU32 {
        // SAFETY: page; pages are aligned, and any bytes are a number.
        // WHY: as above.
        unsafe { self.mark.as_ref() }
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // SAFETY: page; nobody borrows it any more.
        // WHY: the mapping is this value's, also in a child, which has its own copy.
        unsafe { libc::munmap(self.mark.as_ptr().cast(), SIZE) };
    }
}
