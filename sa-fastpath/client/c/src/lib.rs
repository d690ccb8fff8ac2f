//! The client of a ring for C: see `include/sapphire_sa.h`, which says what each call does.
//!
//! Why a layer of its own: C has no lifetimes, so what a call leaves for its caller (the text of an
//! error, a late reply) is kept in the handle until the next call of the same kind. What C is told,
//! numbers and structs, is in `values`
//! and `queries`; many paths at once are in `resolve`. Slots are those of the ring itself: batch calls copy nothing.
//!
//! Invariants that the blocks below name:
//! - *caller*: pointers that are not null point to what the header says, for as long as the call
//!   takes, and nobody else uses a client meanwhile;
//! - *boxed*: a client was made by `sa_client_connect` and not closed since.

#![allow(unsafe_code)]

mod queries;
mod resolve;
mod values;

use core::ffi::{CStr, c_char, c_int};
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use sa_wire::path_record::PathRecord;

use self::values::{ARGUMENT, ROOM, SaPath, words};
use sa_client::{Client, Error, Options, Slot, request, state};

/// What C holds: the client, and what its last calls left for the caller to look at.
///
/// Made by [`sa_client_connect`] on the heap, so that C holds one pointer; freed by
/// [`sa_client_close`].
struct Handle {
    /// The client, as Rust programs have it.
    client: Client,
    /// Of the last call that failed; empty before.
    error: CString,
    /// The last late reply, which C looks at until it asks for the next.
    late: Vec<u8>,
}

/// Null where the path is null or nobody serves there; the reason is then in `error`, cut off to
/// its room. The client is on the heap until [`sa_client_close`].
#[unsafe(no_mangle)]
unsafe extern "C" fn sa_client_connect(
    path: *const c_char,
    slots: u32,
    error: *mut c_char,
    error_size: usize,
) -> *mut Handle {
    // No words without a path: the caller has passed nothing to say something about.
    if path.is_null() {
        return core::ptr::null_mut();
    }
    // SAFETY: caller.
    // WHY: C has no other strings.
    let path = unsafe { CStr::from_ptr(path) };
    let path = Path::new(OsStr::from_bytes(path.to_bytes()));
    let options = Options {
        slots,
        ..Options::default()
    };
    match Client::connect_with(path, options) {
        Ok(client) => Box::into_raw(Box::new(Handle {
            client,
            error: CString::default(),
            late: Vec::new(),
        })),
        Err(cause) => {
            let words = words(&cause);
            let bytes = words.as_bytes_with_nul();
            if !error.is_null() && error_size > 0 {
                // Cut off where there is less room, with its end in any case.
                let count = bytes.len().min(error_size);
                // SAFETY: caller: there are `error_size` bytes; the last one is made zero.
                // WHY: C has no other way to get words.
                unsafe {
                    core::ptr::copy_nonoverlapping(bytes.as_ptr().cast(), error, count);
                    error.add(count - 1).write(0);
                }
            }
            core::ptr::null_mut()
        }
    }
}

/// Frees the client and leaves the daemon. Null is allowed, as for `free`; a second time is not, as
/// nothing tells a pointer that was freed.
#[unsafe(no_mangle)]
unsafe extern "C" fn sa_client_close(client: *mut Handle) {
    if !client.is_null() {
        // SAFETY: boxed, and not used afterwards by the caller.
        // WHY: C cannot drop.
        drop(unsafe { Box::from_raw(client) });
    }
}

/// The handle stays, so that C need not put another pointer wherever it keeps the client.
#[unsafe(no_mangle)]
unsafe extern "C" fn sa_client_reconnect(client: *mut Handle) -> c_int {
    // SAFETY: caller, boxed.
    // WHY: C has no references.
    let Some(handle) = (unsafe { client.as_mut() }) else {
        return ARGUMENT;
    };
    let done = handle.client.reconnect();
    handle.note(done).1
}

/// The only call of its kind that makes a system call: it asks whether the socket is still open.
#[unsafe(no_mangle)]
unsafe extern "C" fn sa_client_check(client: *mut Handle) -> c_int {
    // SAFETY: caller, boxed.
    // WHY: C has no references.
    let Some(handle) = (unsafe { client.as_mut() }) else {
        return ARGUMENT;
    };
    let done = handle.client.check();
    handle.note(done).1
}

/// Never null: a client without an error has an empty text.
#[unsafe(no_mangle)]
unsafe extern "C" fn sa_client_error(client: *const Handle) -> *const c_char {
    // SAFETY: caller, boxed.
    // WHY: C has no references.
    match unsafe { client.as_ref() } {
        Some(handle) => handle.error.as_ptr(),
        None => c"no client".as_ptr(),
    }
}

/// Null is ignored, as there is nobody to tell of it.
#[unsafe(no_mangle)]
unsafe extern "C" fn sa_client_set_timeout(client: *mut Handle, milliseconds: u32) {
    // SAFETY: caller, boxed.
    // WHY: C has no references.
    if let Some(handle) = unsafe { client.as_mut() } {
        let timeout = Duration::from_millis(milliseconds.into());
        handle.client.set_timeout(timeout);
    }
}

/// Writes to `path` only where there is a record. GIDs are 16 bytes each, as on the wire.
#[unsafe(no_mangle)]
unsafe extern "C" fn sa_client_path_record(
    client: *mut Handle,
    sgid: *const [u8; 16],
    dgid: *const [u8; 16],
    path: *mut SaPath,
) -> c_int {
    // SAFETY: caller, boxed.
    // WHY: C has no references.
    let arguments = unsafe { (client.as_mut(), sgid.as_ref(), dgid.as_ref()) };
    let (Some(handle), Some(sgid), Some(dgid)) = arguments else {
        return ARGUMENT;
    };
    let found = handle.client.path_record(*sgid, *dgid);
    // SAFETY: caller.
    // WHY: as above.
    unsafe { handle.give(found, path) }
}

/// LIDs are numbers of the host, as in the rest of the interface.
#[unsafe(no_mangle)]
unsafe extern "C" fn sa_client_path_record_by_lid(
    client: *mut Handle,
    slid: u16,
    dlid: u16,
    path: *mut SaPath,
) -> c_int {
    // SAFETY: caller, boxed.
    // WHY: C has no references.
    let Some(handle) = (unsafe { client.as_mut() }) else {
        return ARGUMENT;
    };
    let found = handle.client.path_record_by_lid(slid, dlid);
    // SAFETY: caller.
    // WHY: as above.
    unsafe { handle.give(found, path) }
}

/// `reply_size` is in and out: the room, then the length of the reply, also where that was too long
/// for the room. 0 says that a reply came, whatever status the SA gave in it.
#[unsafe(no_mangle)]
unsafe extern "C" fn sa_client_ask(
    client: *mut Handle,
    lid: u16,
    mad: *const u8,
    length: usize,
    reply: *mut u8,
    reply_size: *mut usize,
) -> c_int {
    // SAFETY: caller, boxed.
    // WHY: C has no references.
    let (handle, size) = unsafe { (client.as_mut(), reply_size.as_mut()) };
    let (Some(handle), Some(size), false) = (handle, size, mad.is_null()) else {
        return ARGUMENT;
    };
    // SAFETY: caller: there are `length` bytes.
    // WHY: as above.
    let mad = unsafe { core::slice::from_raw_parts(mad, length) };
    let answer = handle.client.ask(lid, mad);
    let answer = match handle.note(answer) {
        (Some(answer), _) => answer,
        (None, code) => return code,
    };
    // Written even if the reply does not fit: the caller learns how much room it needs.
    let room = core::mem::replace(size, answer.len());
    if answer.len() > room || reply.is_null() {
        return ROOM;
    }
    // SAFETY: caller: there are `room` bytes, and the answer has no more.
    // WHY: as above.
    unsafe { core::ptr::copy_nonoverlapping(answer.as_ptr(), reply, answer.len()) };
    0
}

/// The slots are lent until they are published; fewer than wanted at the end of the ring. C must
/// not write to more than `count` of them.
#[unsafe(no_mangle)]
unsafe extern "C" fn sa_client_claim(
    client: *mut Handle,
    wanted: usize,
    count: *mut usize,
) -> *mut Slot {
    // SAFETY: caller, boxed.
    // WHY: C has no references.
    let (Some(handle), Some(count)) = (unsafe { (client.as_mut(), count.as_mut()) }) else {
        return core::ptr::null_mut();
    };
    let slots = handle.client.claim(wanted);
    *count = slots.len();
    if slots.is_empty() {
        return core::ptr::null_mut();
    }
    slots.as_mut_ptr()
}

/// The position of the first request, which a late reply names again; 0 for null.
#[unsafe(no_mangle)]
unsafe extern "C" fn sa_client_publish(client: *mut Handle, count: usize) -> u64 {
    // SAFETY: caller, boxed.
    // WHY: C has no references.
    let handle = unsafe { client.as_mut() };
    handle.map_or(0, |handle| handle.client.publish(count))
}

/// Slots to read until they are released. Null and 0 where none came back yet.
#[unsafe(no_mangle)]
unsafe extern "C" fn sa_client_replies(client: *mut Handle, count: *mut usize) -> *const Slot {
    // SAFETY: caller, boxed.
    // WHY: C has no references.
    let (Some(handle), Some(count)) = (unsafe { (client.as_mut(), count.as_mut()) }) else {
        return core::ptr::null();
    };
    let slots = handle.client.replies();
    *count = slots.len();
    if slots.is_empty() {
        return core::ptr::null();
    }
    slots.as_ptr()
}

/// Position of the first slot of [`sa_client_replies`]; 0 for null.
#[unsafe(no_mangle)]
unsafe extern "C" fn sa_client_first_reply(client: *const Handle) -> u64 {
    // SAFETY: caller, boxed.
    // WHY: C has no references.
    let handle = unsafe { client.as_ref() };
    handle.map_or(0, |handle| handle.client.first_reply())
}

/// More than came back counts as all that did.
#[unsafe(no_mangle)]
unsafe extern "C" fn sa_client_release(client: *mut Handle, count: usize) {
    // SAFETY: caller, boxed.
    // WHY: C has no references.
    if let Some(handle) = unsafe { client.as_mut() } {
        handle.client.release(count);
    }
}

/// Requests whose slots were not released; 0 for null.
#[unsafe(no_mangle)]
unsafe extern "C" fn sa_client_in_flight(client: *const Handle) -> u64 {
    // SAFETY: caller, boxed.
    // WHY: C has no references.
    let handle = unsafe { client.as_ref() };
    handle.map_or(0, |handle| handle.client.in_flight())
}

/// The bytes lie in the handle until the next such call. Length 0 with a position says that there
/// will be no reply to that request; null that none has come.
#[unsafe(no_mangle)]
unsafe extern "C" fn sa_client_late_reply(
    client: *mut Handle,
    position: *mut u64,
    length: *mut usize,
) -> *const u8 {
    // SAFETY: caller, boxed.
    // WHY: C has no references.
    let arguments = unsafe { (client.as_mut(), position.as_mut(), length.as_mut()) };
    let (Some(handle), Some(position), Some(length)) = arguments else {
        return core::ptr::null();
    };
    let Some(late) = handle.client.late_reply() else {
        return core::ptr::null();
    };
    // Kept until the next call: C gets a pointer into it.
    handle.late = late.mad;
    *position = late.position;
    *length = handle.late.len();
    handle.late.as_ptr()
}

/// Writes a whole request into a slot that was claimed: reserved bytes are zero, length and state
/// right.
#[unsafe(no_mangle)]
unsafe extern "C" fn sa_slot_path_by_lids(slot: *mut Slot, transaction: u64, slid: u16, dlid: u16) {
    // SAFETY: caller.
    // WHY: C has no references.
    if let Some(slot) = unsafe { slot.as_mut() } {
        fill(slot, transaction, request::path_by_lids(slid, dlid));
    }
}

/// As by LIDs; asks for one reversible path.
#[unsafe(no_mangle)]
unsafe extern "C" fn sa_slot_path_by_gids(
    slot: *mut Slot,
    transaction: u64,
    sgid: *const [u8; 16],
    dgid: *const [u8; 16],
) {
    // SAFETY: caller.
    // WHY: C has no references.
    let arguments = unsafe { (slot.as_mut(), sgid.as_ref(), dgid.as_ref()) };
    if let (Some(slot), Some(sgid), Some(dgid)) = arguments {
        fill(slot, transaction, request::path_by_gids(*sgid, *dgid));
    }
}

/// The path in a slot that came back: of a slot without a reply `SA_ERROR_NO_REPLY`, of an error
/// reply the SA's status.
#[unsafe(no_mangle)]
unsafe extern "C" fn sa_slot_path(slot: *const Slot, path: *mut SaPath) -> c_int {
    // SAFETY: caller.
    // WHY: C has no references.
    let Some(slot) = (unsafe { slot.as_ref() }) else {
        return ARGUMENT;
    };
    let found = match slot.state {
        state::REPLY => request::path_of(slot.reply().unwrap_or_default()),
        _ => Err(Error::NoReply),
    };
    match found {
        Ok(record) => {
            // SAFETY: caller.
            // WHY: as above.
            unsafe { put(&record, path) }
        }
        Err(error) => error.code(),
    }
}

/// A request of the client's own in a slot, with this transaction.
fn fill(slot: &mut Slot, transaction: u64, mut mad: [u8; request::PATH_REQUEST]) {
    request::set_transaction(&mut mad, transaction);
    // LID 0: the daemon takes its own port for the requester.
    slot.put(0, &mad);
}

impl Handle {
    /// Remembers what was wrong. Gives the value, and what C is told.
    fn note<T>(&mut self, done: Result<T, Error>) -> (Option<T>, c_int) {
        match done {
            Ok(value) => (Some(value), 0),
            Err(error) => {
                self.error = words(&error);
                (None, error.code())
            }
        }
    }

    /// # Safety
    /// `path` is null or points to a path.
    unsafe fn give(&mut self, found: Result<PathRecord, Error>, path: *mut SaPath) -> c_int {
        match self.note(found) {
            // SAFETY: the caller's obligation.
            // WHY: C has no references.
            (Some(record), _) => unsafe { put(&record, path) },
            (None, code) => code,
        }
    }
}

/// # Safety
/// `path` is null or points to a path.
unsafe fn put(record: &PathRecord, path: *mut SaPath) -> c_int {
    if path.is_null() {
        return ARGUMENT;
    }
    // SAFETY: the caller's obligation.
    // WHY: C has no references.
    unsafe { path.write(SaPath::of(record)) };
    0
}
