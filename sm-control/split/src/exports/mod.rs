//! What becomes of OpenSM's calls. Those that may wait have their symbols in `stubs`, which jump to
//! where a `where_` function here says.
//!
//! [`packets`] reads and writes, [`poll`] waits, [`descriptors`] follows and guards the numbers of files;
//! here is the registration, with which all begins.
//!
//! errno is what the real call leaves, or untouched.
//!
//! Invariants that the blocks below name:
//! - *as-given*: arguments are handed on as they came;
//! - *callers-buffer*: the caller owns the bytes it points to for the time of the call, and they
//!   are as many as it says;
//! - *held-off*: this thread cannot be cancelled meanwhile, so that nothing here is unwound;
//! - *of-request*: the number of an ioctl states the size of its argument.

#![allow(unsafe_code)]

mod descriptors;
mod packets;
mod poll;

use core::hash::{BuildHasher, Hasher};
use core::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::collections::hash_map::RandomState;
use std::panic::{AssertUnwindSafe, catch_unwind};

use libc::{c_int, c_ulong, c_void, ssize_t};

use crate::registration::{ENABLE_PKEY, REGISTER, Registration, UNREGISTER};
use crate::serve::Server;
use crate::socket::Place;
use crate::split::{Kernel, Split};
use crate::sys::linux::Linux;
use crate::sys::{self, next};
use crate::{mad, registration};

pub(crate) use descriptors::where_close;
pub(crate) use packets::{where_read, where_write};
pub(crate) use poll::where_poll;

/// The state, for the life of the process: calls of OpenSM's may come at any time, also while it
/// ends.
static SPLIT: Split<Linux> = Split::new(Linux);

/// # Safety
/// As of libc.
// Not variadic, which Rust cannot define: on the systems that Linux runs on, the third argument of a
// variadic function is passed like that of any other.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ioctl(fd: c_int, request: c_ulong, argument: *mut c_void) -> c_int {
    let Some(real) = next::ioctl() else {
        return refused();
    };
    if let Some(length) = Registration::length(request)
        && !argument.is_null()
    {
        // SAFETY: of-request.
        // WHY: umad has no other interface.
        return unsafe { register(fd, request, argument.cast(), length) };
    }
    // Before the call: afterwards the kernel may give the agent's number to somebody else.
    if request == UNREGISTER && SPLIT.is_of(fd) && SPLIT.is_own() && !argument.is_null() {
        // SAFETY: of-request.
        // WHY: as above.
        let agent = unsafe { argument.cast::<u32>().read_unaligned() };
        quietly((), || SPLIT.closes(fd, Some(agent)));
    }
    // SAFETY: as-given.
    // WHY: this is what a preloaded library does; so below.
    let outcome = unsafe { real(fd, request, argument) };
    if request == ENABLE_PKEY && outcome >= 0 {
        LONG_HEADERS.store(fd, Ordering::Relaxed);
    }
    outcome
}

/// The last file whose headers were made 64 bytes.
static LONG_HEADERS: AtomicI32 = AtomicI32::new(-1);

/// # Safety
/// `argument` points to `length` bytes.
unsafe fn register(fd: c_int, request: c_ulong, argument: *mut u8, length: usize) -> c_int {
    let Some(real) = next::ioctl() else {
        return refused();
    };
    let mut asked = Registration {
        request,
        length,
        bytes: [0; registration::LONGEST],
    };
    // SAFETY: the caller's argument has `length` bytes, no more than there is room for.
    // WHY: as above.
    unsafe { argument.copy_to_nonoverlapping(asked.bytes.as_mut_ptr(), length) };
    if !quietly(false, || is_to_be_split(fd, &asked)) {
        // SAFETY: as-given.
        let outcome = unsafe { real(fd, request, argument.cast()) };
        // SAFETY: the kernel has written the agent's number there, the first of so many bytes.
        // WHY: as above.
        let agent = unsafe { argument.cast::<u32>().read_unaligned() };
        if outcome >= 0 {
            quietly((), || watch(fd, agent, &asked));
        }
        return outcome;
    }
    let mut answered = asked.without_reads();
    // SAFETY: as for the copy above; the kernel writes there too.
    // WHY: OpenSM reads its agent's number there.
    let outcome = unsafe {
        argument.copy_from_nonoverlapping(answered.bytes.as_ptr(), length);
        let outcome = real(fd, request, argument.cast());
        argument.copy_to_nonoverlapping(answered.bytes.as_mut_ptr(), length);
        outcome
    };
    if outcome >= 0 {
        quietly((), || {
            SPLIT.opened(fd, sys::umad_of(fd), answered.agent(), &asked);
            serve();
        });
    }
    outcome
}

/// Whether this registration is the one to take apart. Says once why not, where an operator could
/// expect it.
fn is_to_be_split(fd: c_int, asked: &Registration) -> bool {
    if !asked.is_of_an_sa() {
        return false;
    }
    if cfg!(panic = "abort") {
        Linux.say(
            "this library was built to abort where it fails, and OpenSM with it: it does nothing; \
             build it with --profile split",
        );
        return false;
    }
    fault::here("ioctl");
    let why_not = if SPLIT.is_taken() {
        // The first port that registers is the one; OpenSM serves one fabric by one port.
        "OpenSM serves the SA on two ports: one is split"
    } else if !sys::is_real(fd) {
        "OpenSM's port is simulated: no read methods can be split off"
    } else if asked.request == REGISTER && LONG_HEADERS.load(Ordering::Relaxed) != fd {
        "OpenSM's libibumad is too old: no read methods can be split off"
    } else if SPLIT.prepare(seed()).is_err() {
        "no more files can be opened: no read methods can be split off"
    } else {
        return true;
    };
    Linux.say(why_not);
    false
}

/// Overhears an SA's SMPs on a simulated port, for tests of what follows from them.
fn watch(fd: c_int, agent: u32, asked: &Registration) {
    let is_simulated = asked.is_of_an_sa() && !SPLIT.is_taken() && !sys::is_real(fd);
    if is_simulated && SPLIT.prepare(seed()).is_ok() {
        SPLIT.watches(fd, agent, asked);
        serve();
    }
}

/// By which transactions of requests are chosen.
fn seed() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Starts the thread that talks to sapphired, once. Not sooner: OpenSM may fork before it registers.
fn serve() {
    static STARTED: AtomicBool = AtomicBool::new(false);
    // Relaxed: nothing is read by this flag but whether a thread was started.
    if STARTED.swap(true, Ordering::Relaxed) {
        return;
    }
    let place = Place::of_environment();
    let path = place.path.display().to_string();
    // The default hook prints several lines each time; `say` prints one, and only so many a minute.
    std::panic::set_hook(Box::new(|about| {
        let about = about.to_string().replace('\n', " ");
        Linux.say(&format!("a defect, without which OpenSM goes on: {about}"));
    }));
    sys::at_fork(forked);
    let outcome = sys::spawn(move || {
        let mut server = Server::new(&SPLIT, place);
        loop {
            quietly((), || server.turn());
        }
    });
    match outcome {
        Ok(()) => Linux.say(&format!(
            "read methods of the SA can be split off; socket {path}"
        )),
        Err(error) => {
            STARTED.store(false, Ordering::Relaxed);
            Linux.say(&format!(
                "no thread can be started, so OpenSM keeps the read methods: {error}"
            ));
        }
    }
}

/// Called by libc in every child, before fork returns there.
extern "C" fn forked() {
    SPLIT.forked();
}

/// Where a call goes. Without libc's function, to one that says so.
fn address(is_ours: bool, ours: *const (), libcs: Option<*const ()>) -> usize {
    extern "C" fn missing() -> ssize_t {
        long(refused())
    }
    let libcs = libcs.unwrap_or(missing as *const ());
    let goes_to = if is_ours { ours } else { libcs };
    goes_to.expose_provenance()
}

/// Does what OpenSM must not notice: errno stays, and if it ever panics, it gives `otherwise`.
fn quietly<T>(otherwise: T, what: impl FnOnce() -> T) -> T {
    let errno = sys::errno();
    let outcome = catch_unwind(AssertUnwindSafe(what)).unwrap_or(otherwise);
    sys::set_errno(errno);
    outcome
}

/// Failures on purpose, in builds for the tests of this library alone.
mod fault {
    /// Panics three times where `SAPPHIRE_SPLIT_FAULT` names this call.
    #[cfg(feature = "fault")]
    #[allow(clippy::panic, reason = "that is what it is for")]
    pub(in crate::exports) fn here(call: &str) {
        use core::sync::atomic::{AtomicU32, Ordering};
        static FAULTS: AtomicU32 = AtomicU32::new(0);
        let is_named = std::env::var("SAPPHIRE_SPLIT_FAULT").is_ok_and(|named| named == call);
        if is_named && FAULTS.fetch_add(1, Ordering::Relaxed) < 3 {
            panic!("a fault in {call}, as the environment says");
        }
    }

    #[cfg(not(feature = "fault"))]
    pub(in crate::exports) const fn here(_: &str) {}
}

/// There is no function of libc's to go on to: as if the system had no such call.
fn refused() -> c_int {
    sys::set_errno(libc::ENOSYS);
    -1
}

/// A result as functions with `ssize_t` give it.
fn long(value: c_int) -> ssize_t {
    ssize_t::try_from(value).unwrap_or(-1)
}

const _: () = assert!(mad::HEAD_BYTES >= size_of::<u32>());
