//! The symbols that OpenSM calls instead of libc's.
//!
//! OpenSM ends its threads by pthread_cancel, which unwinds whatever is on the stack of a thread that
//! waits in poll, read or write. Rust's frames may not be unwound that way (where panics abort, it
//! aborts), so while libc waits there are none: a stub asks where a call is to go and jumps there.
//! Calls that have nothing to do with us go straight on to libc. Of the others, read, write and
//! close run with cancellation held off, for they do not wait; poll waits in a frame of its own
//! (`exports/poll.rs`), between a part before and a part after.
//!
//! ```text
//!  OpenSM: call read ──> stub: saves the arguments ──> where_read ──> restores them ──> jmp ──> libc's read
//!                                                           └── OpenSM's file ──> split_read
//! ```
//!
//! A jump and not a call: libc's function finds the stack as OpenSM left it, and returns to OpenSM.
//! The notes for unwinding (`.cfi_`) are for debuggers and for a cancellation while a `where_`
//! function runs, which waits for nothing.

#![allow(unsafe_code)]

use core::arch::naked_asm;

use libc::{c_int, c_void, nfds_t, pollfd, size_t, ssize_t};

use crate::exports::{where_close, where_poll, where_read, where_write};

/// Asks `$where` with the arguments where to go, and goes there with them.
#[cfg(target_arch = "x86_64")]
macro_rules! go {
    ($where:ident) => {
        naked_asm!(
            ".cfi_startproc",
            "push rdi",
            ".cfi_adjust_cfa_offset 8",
            "push rsi",
            ".cfi_adjust_cfa_offset 8",
            "push rdx",
            ".cfi_adjust_cfa_offset 8",
            "call {to}",
            "pop rdx",
            ".cfi_adjust_cfa_offset -8",
            "pop rsi",
            ".cfi_adjust_cfa_offset -8",
            "pop rdi",
            ".cfi_adjust_cfa_offset -8",
            "jmp rax",
            ".cfi_endproc",
            to = sym $where,
        )
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! go {
    ($where:ident) => {
        naked_asm!(
            ".cfi_startproc",
            "stp x29, x30, [sp, #-48]!",
            ".cfi_def_cfa_offset 48",
            ".cfi_offset x29, -48",
            ".cfi_offset x30, -40",
            "stp x0, x1, [sp, #16]",
            "str x2, [sp, #32]",
            "bl {to}",
            "mov x16, x0",
            "ldp x0, x1, [sp, #16]",
            "ldr x2, [sp, #32]",
            "ldp x29, x30, [sp], #48",
            ".cfi_def_cfa_offset 0",
            ".cfi_restore x29",
            ".cfi_restore x30",
            "br x16",
            ".cfi_endproc",
            to = sym $where,
        )
    };
}

/// # Safety
/// As of libc.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn read(fd: c_int, buffer: *mut c_void, count: size_t) -> ssize_t {
    go!(where_read)
}

/// # Safety
/// As of libc.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn write(fd: c_int, buffer: *const c_void, count: size_t) -> ssize_t {
    go!(where_write)
}

/// # Safety
/// As of libc.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn poll(fds: *mut pollfd, count: nfds_t, timeout: c_int) -> c_int {
    go!(where_poll)
}

/// # Safety
/// As of libc.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn close(fd: c_int) -> c_int {
    go!(where_close)
}
