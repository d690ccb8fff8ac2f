//! The numbers of OpenSM's files: which are its umad file, which are ours and not to be closed.
//!
//! `close` runs with cancellation held off, since it is a cancellation point that takes our locks
//! first. dup, dup2, dup3 and fcntl only tell the split what became of a number. close_range is
//! done in pieces, around the descriptors of this library.
//!
//! Invariants: as in `exports`.

#![allow(unsafe_code)]

use libc::{c_int, c_uint, c_void};

use super::{SPLIT, address, quietly, refused};
use crate::sys::{self, next};

/// To libc, unless the number is OpenSM's file or one of ours.
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
    // Before the call, like a close: afterwards the number is the new file's.
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

/// `number` is about to become `fd` once more: what it was is closed by that, without a call of
/// close.
fn is_overwritten(fd: c_int, number: c_int) {
    if fd != number && SPLIT.is_taken() && SPLIT.is_number_of(number) && SPLIT.is_own() {
        SPLIT.closes(number, None);
    }
}

/// A number was made of another; failed calls give -1, which is nobody's.
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
    // Ascending and without repeats, as `own_numbers` gives them.
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
