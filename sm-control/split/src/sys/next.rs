//! The functions that this library stands before: libc's own, found behind our symbols.
//!
//! `dlsym(RTLD_NEXT)` looks from this library on in the order of loading, so it finds what would have
//! been called without it: libc's function, or that of another preload library. Each is looked up
//! once, at its first call, and kept in an atomic; two threads that look at the same time find the
//! same. None means that libc is too old to have it, and then nobody can have called it by name.
//!
//! Invariants: as in `sys`.

#![allow(unsafe_code)]

use core::ffi::CStr;
use core::sync::atomic::{AtomicUsize, Ordering};

use libc::{c_int, c_uint, c_ulong, c_void, nfds_t, pollfd, size_t, ssize_t};

pub(crate) type Ioctl = unsafe extern "C" fn(c_int, c_ulong, *mut c_void) -> c_int;
pub(crate) type Read = unsafe extern "C" fn(c_int, *mut c_void, size_t) -> ssize_t;
pub(crate) type Write = unsafe extern "C" fn(c_int, *const c_void, size_t) -> ssize_t;
pub(crate) type Poll = unsafe extern "C" fn(*mut pollfd, nfds_t, c_int) -> c_int;
pub(crate) type Close = unsafe extern "C" fn(c_int) -> c_int;
pub(crate) type Dup = unsafe extern "C" fn(c_int) -> c_int;
pub(crate) type Dup2 = unsafe extern "C" fn(c_int, c_int) -> c_int;
pub(crate) type Dup3 = unsafe extern "C" fn(c_int, c_int, c_int) -> c_int;
pub(crate) type CloseRange = unsafe extern "C" fn(c_uint, c_uint, c_int) -> c_int;
pub(crate) type Fcntl = unsafe extern "C" fn(c_int, c_int, *mut c_void) -> c_int;

macro_rules! next {
    ($($function:ident $name:literal $type:ident)*) => { $(
        /// None: libc has no such function.
        pub(crate) fn $function() -> Option<$type> {
            static FOUND: AtomicUsize = AtomicUsize::new(0);
            let found = find(&FOUND, $name);
            // SAFETY: named-right; a null pointer is None.
            // WHY: this is how a preloaded library reaches what it replaces.
            unsafe { core::mem::transmute::<*mut c_void, Option<$type>>(found) }
        }
    )* };
}

next! {
    ioctl c"ioctl" Ioctl
    read c"read" Read
    write c"write" Write
    poll c"poll" Poll
    close c"close" Close
    dup c"dup" Dup
    dup2 c"dup2" Dup2
    dup3 c"dup3" Dup3
    close_range c"close_range" CloseRange
    fcntl c"fcntl" Fcntl
    fcntl64 c"fcntl64" Fcntl
}

/// The function behind ours, looked up once. Null where libc has none, and then looked up at each
/// call.
fn find(known: &AtomicUsize, name: &CStr) -> *mut c_void {
    // Relaxed: the address is the whole message.
    let found = known.load(Ordering::Relaxed);
    if found != 0 {
        return core::ptr::with_exposed_provenance_mut(found);
    }
    // SAFETY: c-string.
    // WHY: as above.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    known.store(found.expose_provenance(), Ordering::Relaxed);
    found
}
