//! The same for C: see `include/sapphire_sa.h`, which says what each call does.
//!
//! Invariants that the blocks below name:
//! - *caller*: pointers that are not null point to what the header says, for as long as the call
//!   takes, and nobody else uses a client meanwhile;
//! - *boxed*: a client was made by `sa_client_connect` and not closed since.

#![allow(unsafe_code)]

use core::ffi::{CStr, c_char, c_int};
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use sa_wire::path_record::PathRecord;
use zerocopy::IntoBytes;

use super::{Client, Error, Options, request, state};
use sa_ring::layout::Slot;

/// What C holds: the client, and what its last calls left for the caller to look at.
struct Handle {
    client: Client,
    error: CString,
    late: Vec<u8>,
}

/// A path for C.
#[repr(C)]
struct SaPath {
    dgid: [u8; 16],
    sgid: [u8; 16],
    dlid: u16,
    slid: u16,
    pkey: u16,
    sl: u8,
    mtu: u8,
    rate: u8,
    packet_life: u8,
    hop_limit: u8,
    tclass: u8,
    flow_label: u32,
    reversible: u8,
    reserved: [u8; 7],
    record: [u8; 64],
}

const _: () = assert!(size_of::<SaPath>() == 120 && core::mem::offset_of!(SaPath, record) == 56);

const ARGUMENT: c_int = -5;
const ROOM: c_int = -8;
const FORKED: c_int = -9;

#[unsafe(no_mangle)]
unsafe extern "C" fn sa_client_connect(
    path: *const c_char,
    slots: u32,
    error: *mut c_char,
    error_size: usize,
) -> *mut Handle {
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

#[unsafe(no_mangle)]
unsafe extern "C" fn sa_client_close(client: *mut Handle) {
    if !client.is_null() {
        // SAFETY: boxed, and not used afterwards by the caller.
        // WHY: C cannot drop.
        drop(unsafe { Box::from_raw(client) });
    }
}

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

#[unsafe(no_mangle)]
unsafe extern "C" fn sa_client_error(client: *const Handle) -> *const c_char {
    // SAFETY: caller, boxed.
    // WHY: C has no references.
    match unsafe { client.as_ref() } {
        Some(handle) => handle.error.as_ptr(),
        None => c"no client".as_ptr(),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sa_client_set_timeout(client: *mut Handle, milliseconds: u32) {
    // SAFETY: caller, boxed.
    // WHY: C has no references.
    if let Some(handle) = unsafe { client.as_mut() } {
        let timeout = Duration::from_millis(milliseconds.into());
        handle.client.set_timeout(timeout);
    }
}

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
    let room = core::mem::replace(size, answer.len());
    if answer.len() > room || reply.is_null() {
        return ROOM;
    }
    // SAFETY: caller: there are `room` bytes, and the answer has no more.
    // WHY: as above.
    unsafe { core::ptr::copy_nonoverlapping(answer.as_ptr(), reply, answer.len()) };
    0
}

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

#[unsafe(no_mangle)]
unsafe extern "C" fn sa_client_publish(client: *mut Handle, count: usize) -> u64 {
    // SAFETY: caller, boxed.
    // WHY: C has no references.
    let handle = unsafe { client.as_mut() };
    handle.map_or(0, |handle| handle.client.publish(count))
}

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

#[unsafe(no_mangle)]
unsafe extern "C" fn sa_client_first_reply(client: *const Handle) -> u64 {
    // SAFETY: caller, boxed.
    // WHY: C has no references.
    let handle = unsafe { client.as_ref() };
    handle.map_or(0, |handle| handle.client.first_reply())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sa_client_release(client: *mut Handle, count: usize) {
    // SAFETY: caller, boxed.
    // WHY: C has no references.
    if let Some(handle) = unsafe { client.as_mut() } {
        handle.client.release(count);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sa_client_in_flight(client: *const Handle) -> u64 {
    // SAFETY: caller, boxed.
    // WHY: C has no references.
    let handle = unsafe { client.as_ref() };
    handle.map_or(0, |handle| handle.client.in_flight())
}

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
    handle.late = late.mad;
    *position = late.position;
    *length = handle.late.len();
    handle.late.as_ptr()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sa_slot_path_by_lids(slot: *mut Slot, transaction: u64, slid: u16, dlid: u16) {
    // SAFETY: caller.
    // WHY: C has no references.
    if let Some(slot) = unsafe { slot.as_mut() } {
        fill(slot, transaction, request::path_by_lids(slid, dlid));
    }
}

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
        Err(error) => code(&error),
    }
}

/// A request of the client's own in a slot, with this transaction.
fn fill(slot: &mut Slot, transaction: u64, mut mad: [u8; request::PATH_REQUEST]) {
    request::set_transaction(&mut mad, transaction);
    slot.put(0, &mad);
}

impl Handle {
    /// Remembers what was wrong. Gives the value, and what C is told.
    fn note<T>(&mut self, done: Result<T, Error>) -> (Option<T>, c_int) {
        match done {
            Ok(value) => (Some(value), 0),
            Err(error) => {
                self.error = words(&error);
                (None, code(&error))
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

impl SaPath {
    /// The fields of a path in host order, as the header file has them.
    fn of(record: &PathRecord) -> Self {
        let mut whole = [0; 64];
        whole.copy_from_slice(record.as_bytes());
        Self {
            dgid: record.dgid,
            sgid: record.sgid,
            dlid: record.dlid.get(),
            slid: record.slid.get(),
            pkey: record.pkey.get(),
            sl: record.qos_class_sl.sl().get(),
            mtu: record.mtu.value(),
            rate: record.rate.value(),
            packet_life: record.packet_life.value(),
            hop_limit: record.flow.hop_limit(),
            tclass: record.tclass,
            flow_label: record.flow.flow_label(),
            reversible: record.numb_path.reversible().into(),
            reserved: [0; 7],
            record: whole,
        }
    }
}

/// The error's text for `sa_client_error`.
fn words(error: &Error) -> CString {
    CString::new(error.to_string()).unwrap_or_default()
}

/// The number of an error; the header file has a name for each.
const fn code(error: &Error) -> c_int {
    match error {
        Error::Connect { .. } | Error::NoDaemon { .. } => -1,
        Error::Version { .. } | Error::Refused { .. } | Error::Memory { .. } => -2,
        Error::Closed(_) => -3,
        Error::InFlight => -4,
        Error::Length(_) => ARGUMENT,
        Error::TimedOut => -6,
        Error::NoReply | Error::NoRecord => -7,
        Error::Forked => FORKED,
        Error::Status(status) => status.get() as c_int,
    }
}
