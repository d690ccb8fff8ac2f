//! Many paths at once for C: `sa_client_resolve` and `sa_end_parse` of the header.
//!
//! A program and the library may be of different versions, so the structs of the program are read and
//! written by the sizes that it names, as bytes. What a newer program wishes and this library does
//! not know is refused, not left out.
//!
//! Invariants that the blocks below name are those of the crate's root, and
//! - *sized*: `count` structs of the size that the program has named lie behind each other.

#![allow(unsafe_code)]

use core::ffi::{CStr, c_char, c_int};
use std::ffi::CString;

use sa_client::Error;
use sa_client::query::{End, PathQuery};
use sa_client::resolve::Answer;

use super::Handle;
use super::queries::{SaAnswer, SaBulk, SaEnd, SaPathQuery};
use super::values::{ARGUMENT, SaPath};

/// 0 where every request has an answer of the SA; what is in `answers` for each, the header says.
#[unsafe(no_mangle)]
unsafe extern "C" fn sa_client_resolve(
    client: *mut Handle,
    queries: *const u8,
    count: usize,
    answers: *mut u8,
    bulk: *mut SaBulk,
) -> c_int {
    // SAFETY: caller, boxed.
    // WHY: C has no references.
    let Some(handle) = (unsafe { client.as_mut() }) else {
        return ARGUMENT;
    };
    if bulk.is_null() || (count > 0 && (queries.is_null() || answers.is_null())) {
        return handle.refuse("a null pointer");
    }
    // SAFETY: caller: every version of the struct begins with its size.
    // WHY: what lies behind it is known afterwards.
    if unsafe { bulk.cast::<u32>().read() } != size(size_of::<SaBulk>()) {
        return handle.refuse("struct sa_bulk of another version: begin with SA_BULK_INIT");
    }
    // SAFETY: caller, and of this size.
    // WHY: C has no references.
    let bulk = unsafe { &mut *bulk };
    // SAFETY: caller, sized.
    // WHY: C has no slices.
    let (read, options) = (
        unsafe { asked(queries, count, bulk.query_size) },
        bulk.bulk(),
    );
    let stride = usize::try_from(bulk.answer_size).unwrap_or(0);
    let (queries, options) = match (read, options) {
        (Ok(queries), Ok(options)) if stride >= size_of::<SaAnswer>() => (queries, options),
        (Err(words), _) | (_, Err(words)) => return handle.refuse(&words),
        _ => return handle.refuse("struct sa_answer of another version: begin with SA_BULK_INIT"),
    };
    let (found, summary) = match handle.client.resolve(&queries, options) {
        Ok(done) => done,
        Err(error) => return handle.note::<()>(Err(error)).1,
    };
    bulk.tell(&summary);
    for (nth, answer) in found.iter().enumerate() {
        // SAFETY: caller, sized.
        // WHY: as above; the place may be larger than what this version writes.
        unsafe {
            let place = answers.add(nth * stride);
            place.write_bytes(0, stride);
            place.cast::<SaAnswer>().write_unaligned(given(answer));
        }
    }
    if summary.unanswered == 0 {
        return 0;
    }
    let trouble = summary.trouble.unwrap_or(Error::TimedOut);
    handle.note::<()>(Err(trouble)).1
}

/// Reads a LID, GUID or GID as `End` does.
#[unsafe(no_mangle)]
unsafe extern "C" fn sa_end_parse(end: *mut SaEnd, text: *const c_char) -> c_int {
    if end.is_null() || text.is_null() {
        return ARGUMENT;
    }
    // SAFETY: caller.
    // WHY: C has no other strings.
    let text = unsafe { CStr::from_ptr(text) };
    let Some(Ok(found)) = text.to_str().ok().map(str::parse::<End>) else {
        return ARGUMENT;
    };
    // SAFETY: caller.
    // WHY: C has no references.
    unsafe { end.write(SaEnd::of(found)) };
    0
}

/// The requests, checked before any is sent. Errors: which is none, and why, in words.
///
/// # Safety
/// Sized.
unsafe fn asked(first: *const u8, count: usize, stride: u32) -> Result<Vec<PathQuery>, String> {
    let own = size_of::<SaPathQuery>();
    let stride = usize::try_from(stride).unwrap_or(0);
    if stride < own {
        return Err("struct sa_path_query of another version: begin with SA_BULK_INIT".to_owned());
    }
    let one = |nth: usize| {
        // SAFETY: the caller's obligation.
        // WHY: C has no slices.
        let (known, more) = unsafe {
            let at = first.add(nth * stride);
            let more = core::slice::from_raw_parts(at.add(own), stride - own);
            (at.cast::<SaPathQuery>().read_unaligned(), more)
        };
        if more.iter().any(|byte| *byte != 0) {
            return Err("a wish that this version of the library does not know".to_owned());
        }
        known.query()
    };
    (0..count)
        .map(|nth| one(nth).map_err(|words| format!("query {nth}: {words}")))
        .collect()
}

/// For C: a path of zeros where there is none.
fn given(answer: &Answer) -> SaAnswer {
    let (status, path) = match answer {
        Answer::Found(record) => (0, SaPath::of(record)),
        Answer::Refused(status) => (Error::Status(*status).code(), SaPath::NONE),
        Answer::None => (Error::TimedOut.code(), SaPath::NONE),
    };
    SaAnswer {
        status,
        reserved: 0,
        path,
    }
}

impl Handle {
    /// What the program has done wrong, in words.
    fn refuse(&mut self, words: &str) -> c_int {
        self.error = CString::new(words).unwrap_or_default();
        ARGUMENT
    }
}

/// As C's structs have it.
fn size(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(0)
}
