//! Waiting for packets: OpenSM's poll, which must also end when sapphired has something for it.
//!
//! OpenSM asks about one descriptor. It is replaced by three: its own, the bell of sapphired's
//! packets, and the gate, which is readable while the read agent's file is and OpenSM has the
//! methods. What is ready in the latter two is told as readable of the first.
//!
//! ```text
//!  asked by OpenSM    | 7 IN        |
//!  asked of libc      | 7 IN        | bell IN | gate IN |
//!  libc says          |             |         | IN      |
//!  told to OpenSM     | 7 IN        |
//! ```
//!
//! The wait itself must be without a frame of Rust's on the stack (see `stubs`), so there is a part
//! before it, a part after it, and assembly in between that hands a [`Poll`] from one to the other.
//!
//! Invariants: as in `exports`.

#![allow(unsafe_code)]

use core::arch::naked_asm;

use libc::{c_int, nfds_t, pollfd};

use super::{SPLIT, address, fault, quietly};
use crate::sys::{self, next};

/// To libc, unless OpenSM's file is among the first few and to be read.
pub(crate) extern "C" fn where_poll(fds: *mut pollfd, count: nfds_t, _timeout: c_int) -> usize {
    // SAFETY: callers-buffer.
    let is_ours = unsafe { place(fds, count) }.is_some();
    let libcs = next::poll().map(|real| real as *const ());
    address(is_ours, split_poll as *const (), libcs)
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

/// A poll of OpenSM's on its way, on the stack of its thread. The stub reads the first four by
/// their offsets, which are asserted below.
#[repr(C)]
struct Poll {
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
const POLL_BYTES: usize = 128;
const _: () = assert!(size_of::<Poll>() <= POLL_BYTES && align_of::<Poll>() <= 16);
const _: () = assert!(core::mem::offset_of!(Poll, count) == 8);
const _: () = assert!(core::mem::offset_of!(Poll, timeout) == 16);
const _: () = assert!(core::mem::offset_of!(Poll, real) == 24);

/// # Safety
/// [`where_poll`] has said that the call is ours; `poll` has room for it.
unsafe extern "C" fn before_poll(fds: *mut pollfd, count: nfds_t, timeout: c_int, poll: *mut Poll) {
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
unsafe extern "C" fn after_poll(outcome: c_int, poll: *mut Poll) -> c_int {
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

/// A poll of OpenSM's for packets, in a frame that may be unwound while libc waits: [`before_poll`], libc's with what that says, [`after_poll`].
///
/// # Safety
/// As of libc's poll.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn split_poll(fds: *mut pollfd, count: nfds_t, timeout: c_int) -> c_int {
    naked_asm!(
        ".cfi_startproc",
        // With the return address, a multiple of 16.
        "sub rsp, {bytes} + 8",
        ".cfi_adjust_cfa_offset {bytes} + 8",
        "mov rcx, rsp",
        "call {before}",
        "mov rdi, [rsp]",
        "mov rsi, [rsp + 8]",
        "mov edx, [rsp + 16]",
        "call [rsp + 24]",
        "mov edi, eax",
        "mov rsi, rsp",
        "call {after}",
        "add rsp, {bytes} + 8",
        ".cfi_adjust_cfa_offset -({bytes} + 8)",
        "ret",
        ".cfi_endproc",
        bytes = const POLL_BYTES,
        before = sym before_poll,
        after = sym after_poll,
    )
}

/// As above.
///
/// # Safety
/// As above.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C" fn split_poll(fds: *mut pollfd, count: nfds_t, timeout: c_int) -> c_int {
    naked_asm!(
        ".cfi_startproc",
        "stp x29, x30, [sp, #-16]!",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset x29, -16",
        ".cfi_offset x30, -8",
        "sub sp, sp, #{bytes}",
        ".cfi_adjust_cfa_offset {bytes}",
        "mov x3, sp",
        "bl {before}",
        "ldp x0, x1, [sp]",
        "ldr w2, [sp, #16]",
        "ldr x16, [sp, #24]",
        "blr x16",
        "mov x1, sp",
        "bl {after}",
        "add sp, sp, #{bytes}",
        ".cfi_adjust_cfa_offset -{bytes}",
        "ldp x29, x30, [sp], #16",
        ".cfi_def_cfa_offset 0",
        ".cfi_restore x29",
        ".cfi_restore x30",
        "ret",
        ".cfi_endproc",
        bytes = const POLL_BYTES,
        before = sym before_poll,
        after = sym after_poll,
    )
}
