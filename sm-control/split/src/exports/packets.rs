//! Packets that OpenSM reads and writes: of its own agent from the kernel, of the read agent and of
//! sapphired from here.
//!
//! A read that blocks cannot be left to the kernel, because what comes from sapphired would not end
//! it. It waits in poll for all three sources instead, with cancellation held off. OpenSM itself
//! polls before it reads, so that wait is for other programs' sake.
//!
//! Invariants: as in `exports`.

#![allow(unsafe_code)]

use libc::{c_int, c_void, size_t, ssize_t};

use super::{SPLIT, address, fault, long, quietly, refused};
use crate::split::{Source, Target};
use crate::sys::{self, next};

/// Where a read goes: to libc, or to [`split_read`]. So of the others below.
pub(crate) extern "C" fn where_read(fd: c_int, buffer: *mut c_void, count: size_t) -> usize {
    let is_its = SPLIT.is_of(fd) || SPLIT.is_watched(fd);
    let is_ours = is_its && !buffer.is_null() && isize::try_from(count).is_ok();
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
    // Of a simulated file only the kernel's part knows when there is something to wait for.
    if (!SPLIT.is_watched(fd) || quietly(false, || SPLIT.has_arrived()))
        // SAFETY: callers-buffer; it is only written to.
        && let Some(given) = unsafe { given(fd, buffer.cast(), count) }
    {
        return given;
    }
    // SAFETY: as-given, held-off.
    // WHY: this is what a preloaded library does; so below.
    let got = unsafe { real(fd, buffer, count) };
    if let Ok(length) = usize::try_from(got) {
        quietly((), || {
            // SAFETY: callers-buffer, and so many bytes of it libc has written.
            SPLIT.hears(unsafe { core::slice::from_raw_parts(buffer.cast(), length) });
        });
    }
    got
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
            // The kernel's own read gives EAGAIN then, as OpenSM expects.
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

/// To libc, or to [`split_write`] for OpenSM's file.
pub(crate) extern "C" fn where_write(fd: c_int, buffer: *const c_void, count: size_t) -> usize {
    let is_its = SPLIT.is_of(fd) || SPLIT.is_watched(fd);
    let is_ours = is_its && !buffer.is_null() && isize::try_from(count).is_ok();
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
