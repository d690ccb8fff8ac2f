//! What becomes of OpenSM's calls. The symbols themselves are in `stubs`.
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

use core::hash::{BuildHasher, Hasher};
use core::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::collections::hash_map::RandomState;
use std::panic::{AssertUnwindSafe, catch_unwind};

use libc::{c_int, c_uint, c_ulong, c_void, nfds_t, pollfd, size_t, ssize_t};

use crate::registration::{ENABLE_PKEY, REGISTER, Registration, UNREGISTER};
use crate::serve::Server;
use crate::socket::Place;
use crate::split::{Kernel, Source, Split, Target};
use crate::sys::{self, Linux, next};
use crate::{mad, registration, stubs};

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
        return unsafe { real(fd, request, argument.cast()) };
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
    let seed = RandomState::new().build_hasher().finish();
    let why_not = if SPLIT.is_taken() {
        "OpenSM serves the SA on two ports: one is split"
    } else if !sys::is_real(fd) {
        "OpenSM's port is simulated: no read methods can be split off"
    } else if asked.request == REGISTER && LONG_HEADERS.load(Ordering::Relaxed) != fd {
        "OpenSM's libibumad is too old: no read methods can be split off"
    } else if SPLIT.prepare(seed).is_err() {
        "no more files can be opened: no read methods can be split off"
    } else {
        return true;
    };
    Linux.say(why_not);
    false
}

/// Starts the thread that talks to sapphired, once. Not sooner: OpenSM may fork before it registers.
fn serve() {
    static STARTED: AtomicBool = AtomicBool::new(false);
    if STARTED.swap(true, Ordering::Relaxed) {
        return;
    }
    let place = Place::of_environment();
    let path = place.path.display().to_string();
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

extern "C" fn forked() {
    SPLIT.forked();
}

/// Where a read goes: to libc, or to [`split_read`]. So of the others below.
pub(crate) extern "C" fn where_read(fd: c_int, buffer: *mut c_void, count: size_t) -> usize {
    let is_ours = SPLIT.is_of(fd) && !buffer.is_null() && isize::try_from(count).is_ok();
    address(
        is_ours,
        split_read as *const (),
        next::read().map(|real| real as *const ()),
    )
}

/// # Safety
/// As of libc's read; the file is OpenSM's.
unsafe extern "C" fn split_read(fd: c_int, buffer: *mut c_void, count: size_t) -> ssize_t {
    let Some(real) = next::read() else {
        return long(refused());
    };
    let _held_off = sys::HeldOff::new();
    // SAFETY: callers-buffer; it is only written to.
    if let Some(given) = unsafe { given(fd, buffer.cast(), count) } {
        return given;
    }
    // SAFETY: as-given, held-off.
    // WHY: this is what a preloaded library does; so below.
    unsafe { real(fd, buffer, count) }
}

/// What a read gives that the kernel has nothing to do with.
///
/// # Safety
/// `buffer` has `count` bytes.
unsafe fn given(fd: c_int, buffer: *mut u8, count: usize) -> Option<ssize_t> {
    loop {
        let source = quietly(Source::Kernel, || {
            fault::here("read");
            // SAFETY: the caller's; the kernel's part would write there, too.
            SPLIT.read(unsafe { core::slice::from_raw_parts_mut(buffer, count) })
        });
        match source {
            Source::Given(length) => return ssize_t::try_from(length).ok(),
            Source::TooSmall => {
                sys::set_errno(libc::EINVAL);
                return Some(-1);
            }
            Source::Kernel => return None,
            // SAFETY: the caller's.
            Source::Reader(reader) => match unsafe { of_reader(reader, buffer, count) } {
                Some(given) => return Some(given),
                // Somebody else has the methods by now, or nobody.
                None => continue,
            },
            Source::Nothing if sys::is_nonblocking(fd) => return None,
            Source::Nothing => {}
        }
        let mut all = [
            sys::asked(fd, false),
            sys::asked(SPLIT.arrivals(), false),
            sys::asked(SPLIT.gate(), false),
        ];
        let real = next::poll()?;
        // SAFETY: of three elements.
        if unsafe { real(all.as_mut_ptr(), 3, -1) } < 0 {
            return Some(-1);
        }
        let [kernel, _, reader] = all;
        SPLIT.polled(kernel.revents != 0, reader.revents != 0);
    }
}

/// Reads a packet of the read agent's as if it were OpenSM's. None: there is none.
///
/// # Safety
/// `buffer` has `count` bytes.
unsafe fn of_reader(reader: c_int, buffer: *mut u8, count: usize) -> Option<ssize_t> {
    let real = next::read()?;
    let errno = sys::errno();
    // SAFETY: the caller's; this file never blocks.
    let got = unsafe { real(reader, buffer.cast(), count) };
    let Ok(length) = usize::try_from(got) else {
        return match sys::errno() {
            // OpenSM asks again with more room.
            libc::ENOSPC => {
                SPLIT.polled(false, true);
                Some(got)
            }
            error => {
                sys::set_errno(errno);
                if !matches!(error, libc::EAGAIN | libc::EINTR) {
                    quietly((), || SPLIT.reader_fails(error));
                }
                None
            }
        };
    };
    quietly((), || {
        // SAFETY: the caller's, and so many bytes of it the kernel has written.
        SPLIT.was_read(unsafe { core::slice::from_raw_parts_mut(buffer, length) });
    });
    Some(got)
}

pub(crate) extern "C" fn where_write(fd: c_int, buffer: *const c_void, count: size_t) -> usize {
    let is_ours = SPLIT.is_of(fd) && !buffer.is_null() && isize::try_from(count).is_ok();
    address(
        is_ours,
        split_write as *const (),
        next::write().map(|real| real as *const ()),
    )
}

/// # Safety
/// As of libc's write; the file is OpenSM's.
unsafe extern "C" fn split_write(fd: c_int, buffer: *const c_void, count: size_t) -> ssize_t {
    let Some(real) = next::write() else {
        return long(refused());
    };
    let _held_off = sys::HeldOff::new();
    let target = quietly(Target::Kernel, || {
        fault::here("write");
        // SAFETY: callers-buffer.
        SPLIT.write(unsafe { core::slice::from_raw_parts(buffer.cast(), count) })
    });
    match target {
        // SAFETY: as-given.
        Target::Kernel => unsafe { real(fd, buffer, count) },
        Target::Done => ssize_t::try_from(count).unwrap_or(-1),
        Target::As(file, agent) => {
            let place: *mut u32 = buffer.cast_mut().cast();
            // SAFETY: callers-buffer, of a whole head at least. libibumad has just written this
            // very field (`umad_send`), so it can be written to.
            // WHY: a copy of a table would cost OpenSM more than the kernel's.
            unsafe {
                let own = place.read_unaligned();
                place.write_unaligned(agent);
                let sent = real(file, buffer, count);
                place.write_unaligned(own);
                // The read agent was given up meanwhile.
                match sent < 0 && matches!(sys::errno(), libc::EIO | libc::EINVAL | libc::EBADF) {
                    true => real(fd, buffer, count),
                    false => sent,
                }
            }
        }
    }
}

pub(crate) extern "C" fn where_poll(fds: *mut pollfd, count: nfds_t, _timeout: c_int) -> usize {
    // SAFETY: callers-buffer.
    let is_ours = unsafe { place(fds, count) }.is_some();
    let libcs = next::poll().map(|real| real as *const ());
    address(is_ours, stubs::split_poll as *const (), libcs)
}

/// With as many descriptors a poll can be OpenSM's for packets: it asks about one.
const POLLED: usize = 4;

/// Of `fds` the place of the file that packets are waited for on. None: the call is not for us.
///
/// # Safety
/// `fds` are `count`.
unsafe fn place(fds: *mut pollfd, count: nfds_t) -> Option<usize> {
    let count = usize::try_from(count)
        .ok()
        .filter(|count| *count <= POLLED)?;
    if fds.is_null() || !SPLIT.is_taken() {
        return None;
    }
    // SAFETY: the caller's.
    let fds = unsafe { core::slice::from_raw_parts(fds, count) };
    let wants = |fd: &pollfd| SPLIT.is_of(fd.fd) && fd.events & libc::POLLIN != 0;
    fds.iter().position(wants)
}

/// A poll of OpenSM's on its way. The stub reads the first four.
#[repr(C)]
pub(crate) struct Poll {
    fds: *mut pollfd,
    count: u64,
    timeout: c_int,
    real: Option<next::Poll>,
    /// As OpenSM gave them.
    given: *mut pollfd,
    given_count: usize,
    place: usize,
    /// With our bell and the read agent's file behind the last.
    asked: [pollfd; POLLED + 2],
}

/// Room for a [`Poll`] on the stack. Shape: a multiple of 16.
pub(crate) const POLL_BYTES: usize = 128;
const _: () = assert!(size_of::<Poll>() <= POLL_BYTES && align_of::<Poll>() <= 16);
const _: () = assert!(core::mem::offset_of!(Poll, count) == 8);
const _: () = assert!(core::mem::offset_of!(Poll, timeout) == 16);
const _: () = assert!(core::mem::offset_of!(Poll, real) == 24);

/// # Safety
/// [`where_poll`] has said that the call is ours; `poll` has room for it.
pub(crate) unsafe extern "C" fn before_poll(
    fds: *mut pollfd,
    count: nfds_t,
    timeout: c_int,
    poll: *mut Poll,
) {
    let own = Poll {
        fds,
        count,
        timeout,
        real: next::poll(),
        given: fds,
        given_count: 0,
        place: 0,
        asked: [sys::asked(-1, false); POLLED + 2],
    };
    // SAFETY: the caller's; nothing in it is to be dropped.
    let poll = unsafe {
        poll.write(own);
        &mut *poll
    };
    // SAFETY: callers-buffer.
    let place = unsafe { place(fds, count) };
    let given_count = usize::try_from(count).unwrap_or(usize::MAX);
    // Closed meanwhile: then it is libc's alone.
    let rest = poll.asked.get_mut(given_count..);
    let (Some(place), Some([bell, reader, ..])) = (place, rest) else {
        return;
    };
    *bell = sys::asked(SPLIT.arrivals(), false);
    *reader = sys::asked(SPLIT.gate(), false);
    // SAFETY: callers-buffer, and there is room for so many.
    unsafe { fds.copy_to_nonoverlapping(poll.asked.as_mut_ptr(), given_count) };
    let has_arrived = || {
        fault::here("poll");
        SPLIT.has_arrived()
    };
    if quietly(false, has_arrived) {
        poll.timeout = 0;
    }
    poll.fds = poll.asked.as_mut_ptr();
    poll.count = count + 2;
    (poll.given_count, poll.place) = (given_count, place);
}

/// # Safety
/// `poll` is as [`before_poll`] left it.
pub(crate) unsafe extern "C" fn after_poll(outcome: c_int, poll: *mut Poll) -> c_int {
    // SAFETY: the caller's.
    let poll = unsafe { &*poll };
    if outcome < 0 || poll.given_count == 0 {
        return outcome;
    }
    let behind = |nth: usize| {
        let asked = poll.asked.get(poll.given_count + nth);
        asked.is_some_and(|asked| asked.revents != 0)
    };
    let (arrived, reader_has) = (behind(0), behind(1));
    let mut ready = 0;
    for (at, answered) in poll.asked.iter().enumerate().take(poll.given_count) {
        let mut revents = answered.revents;
        if at == poll.place {
            SPLIT.polled(revents & !libc::POLLOUT != 0, reader_has);
            let has_more = arrived || reader_has;
            revents |= if has_more { libc::POLLIN } else { 0 };
        }
        // SAFETY: callers-buffer.
        unsafe { (*poll.given.add(at)).revents = revents };
        ready += c_int::from(revents != 0);
    }
    ready
}

pub(crate) extern "C" fn where_close(fd: c_int) -> usize {
    let libcs = next::close().map(|real| real as *const ());
    let is_ours = SPLIT.is_taken() && (SPLIT.is_number_of(fd) || SPLIT.is_ours(fd));
    address(is_ours, split_close as *const (), libcs)
}

/// # Safety
/// As of libc's close; the file is OpenSM's.
unsafe extern "C" fn split_close(fd: c_int) -> c_int {
    let Some(real) = next::close() else {
        return refused();
    };
    let _held_off = sys::HeldOff::new();
    let is_done = quietly(false, || {
        // A child closes what it got from OpenSM; a number of our own is not OpenSM's to close.
        SPLIT.is_own()
            && (SPLIT.is_ours(fd) || {
                SPLIT.closes(fd, None);
                false
            })
    });
    if is_done {
        sys::set_errno(libc::EBADF);
        return -1;
    }
    // SAFETY: as-given, held-off.
    unsafe { real(fd) }
}

/// # Safety
/// As of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn dup(fd: c_int) -> c_int {
    let Some(real) = next::dup() else {
        return refused();
    };
    // SAFETY: as-given.
    // WHY: this is what a preloaded library does; so below.
    let number = unsafe { real(fd) };
    quietly((), || duplicated(fd, number));
    number
}

/// # Safety
/// As of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn dup2(fd: c_int, number: c_int) -> c_int {
    let Some(real) = next::dup2() else {
        return refused();
    };
    quietly((), || is_overwritten(fd, number));
    // SAFETY: as-given.
    let number = unsafe { real(fd, number) };
    quietly((), || duplicated(fd, number));
    number
}

/// # Safety
/// As of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn dup3(fd: c_int, number: c_int, flags: c_int) -> c_int {
    let Some(real) = next::dup3() else {
        return refused();
    };
    quietly((), || is_overwritten(fd, number));
    // SAFETY: as-given.
    let number = unsafe { real(fd, number, flags) };
    quietly((), || duplicated(fd, number));
    number
}

/// `number` is about to become `fd` once more: what it was is closed by that.
fn is_overwritten(fd: c_int, number: c_int) {
    if fd != number && SPLIT.is_taken() && SPLIT.is_number_of(number) && SPLIT.is_own() {
        SPLIT.closes(number, None);
    }
}

fn duplicated(fd: c_int, number: c_int) {
    if SPLIT.is_taken() && SPLIT.is_number_of(fd) && SPLIT.is_own() {
        SPLIT.duplicated(fd, number);
    }
}

/// # Safety
/// As of libc.
// As for ioctl.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fcntl(fd: c_int, what: c_int, argument: *mut c_void) -> c_int {
    // SAFETY: the caller's.
    unsafe { duplicating(next::fcntl(), fd, what, argument) }
}

/// # Safety
/// As of libc.
// As for ioctl.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fcntl64(fd: c_int, what: c_int, argument: *mut c_void) -> c_int {
    // SAFETY: the caller's.
    unsafe { duplicating(next::fcntl64(), fd, what, argument) }
}

/// # Safety
/// As of libc's fcntl.
unsafe fn duplicating(
    real: Option<next::Fcntl>,
    fd: c_int,
    what: c_int,
    argument: *mut c_void,
) -> c_int {
    let Some(real) = real else {
        return refused();
    };
    // SAFETY: as-given.
    let number = unsafe { real(fd, what, argument) };
    if matches!(what, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC) {
        quietly((), || duplicated(fd, number));
    }
    number
}

/// # Safety
/// As of libc.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    let Some(real) = next::close_range() else {
        return refused();
    };
    let only_marks = flags & libc::CLOSE_RANGE_CLOEXEC as c_int != 0;
    let is_ours = quietly(false, || SPLIT.is_taken() && SPLIT.is_own() && !only_marks);
    if !is_ours {
        // SAFETY: as-given.
        return unsafe { real(first, last, flags) };
    }
    // What this library needs for itself stays: between those, everything goes.
    let mut from = Some(first);
    let numbers = |fd: c_int| c_uint::try_from(fd).ok();
    for ours in quietly(Vec::new(), || SPLIT.own_numbers(first, last)) {
        let Some((start, number)) = from.zip(numbers(ours)) else {
            break;
        };
        if start < number {
            // SAFETY: as-given, but for its part.
            unsafe { real(start, number - 1, flags) };
        }
        from = number.checked_add(1);
    }
    match from.filter(|from| *from <= last) {
        // SAFETY: as above.
        Some(from) => unsafe { real(from, last, flags) },
        None => 0,
    }
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
    pub(super) fn here(call: &str) {
        use core::sync::atomic::{AtomicU32, Ordering};
        static FAULTS: AtomicU32 = AtomicU32::new(0);
        let is_named = std::env::var("SAPPHIRE_SPLIT_FAULT").is_ok_and(|named| named == call);
        if is_named && FAULTS.fetch_add(1, Ordering::Relaxed) < 3 {
            panic!("a fault in {call}, as the environment says");
        }
    }

    #[cfg(not(feature = "fault"))]
    pub(super) const fn here(_: &str) {}
}

fn refused() -> c_int {
    sys::set_errno(libc::ENOSYS);
    -1
}

fn long(value: c_int) -> ssize_t {
    ssize_t::try_from(value).unwrap_or(-1)
}

const _: () = assert!(mad::HEAD_BYTES >= size_of::<u32>());
