//! Bytes of blobs: after the news, so many at once, each as fast as it is taken.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use hyper::header::{ACCEPT_RANGES, CACHE_CONTROL, CONTENT_RANGE, ETAG, HeaderValue};
use hyper::{HeaderMap, Response, StatusCode};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use super::Desk;
use super::pace::Pace;
use super::range::{self, Part};
use super::reply::{Refusal, Reply};
use crate::shelf::Item;

/// Bytes that are read and given to a connection at once.
const CHUNK: usize = 64 << 10;

/// Blobs wait for news no longer than that, should a poll hang.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// In which order things leave.
#[derive(Debug)]
pub(super) struct Gate {
    /// In the order in which they came.
    transfers: Arc<Semaphore>,
    /// Polls that have waited for news which is there now, and have not got it yet.
    behind: AtomicUsize,
    through: Notify,
}

/// A poll that waits.
#[derive(Debug)]
pub(super) struct Waiting<'a>(&'a Gate);

impl Gate {
    pub(super) fn new(transfers: usize) -> Self {
        Self {
            transfers: Arc::new(Semaphore::new(transfers)),
            behind: AtomicUsize::new(0),
            through: Notify::new(),
        }
    }

    /// For a poll that has to wait; dropped when it has its answer, or its connection is gone.
    pub(super) const fn waiting(&self) -> Waiting<'_> {
        Waiting(self)
    }

    /// There is news for so many that wait.
    pub(super) fn has_news(&self, polls: usize) {
        self.behind.fetch_max(polls, Ordering::Relaxed);
    }

    /// Ready when those have it.
    async fn after_news(&self) {
        let all = async {
            loop {
                // Made first, so that nothing is missed between the look and the wait.
                let through = self.through.notified();
                if self.behind.load(Ordering::Relaxed) == 0 {
                    return;
                }
                through.await;
            }
        };
        // Else a poll that does not end would keep all blobs back.
        if tokio::time::timeout(LONGEST_WAIT, all).await.is_err() {
            self.behind.store(0, Ordering::Relaxed);
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let left = |behind: usize| behind.checked_sub(1);
        let before = self
            .0
            .behind
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, left);
        if before == Ok(1) {
            self.0.through.notify_waiters();
        }
    }
}

/// A part of a file on its way.
#[derive(Debug)]
pub(super) struct Sending {
    file: File,
    at: u64,
    end: u64,
    desk: Arc<Desk>,
    pace: Arc<Pace>,
    /// Given back when the last byte was taken, or the connection is gone.
    _permit: OwnedSemaphorePermit,
}

impl Sending {
    /// The next bytes; none when all were sent, or the file cannot be read.
    pub(super) fn next(&mut self) -> Option<Bytes> {
        let most = usize::try_from(self.left()).map_or(CHUNK, |left| left.min(CHUNK));
        let mut chunk = vec![0; most];
        let read = self
            .file
            .read_at(&mut chunk, self.at)
            .ok()
            .filter(|read| *read > 0)?;
        chunk.truncate(read);
        self.at += read as u64;
        self.pace.took(read as u64);
        self.desk
            .counts
            .bytes
            .fetch_add(read as u64, Ordering::Relaxed);
        Some(chunk.into())
    }

    pub(super) const fn left(&self) -> u64 {
        self.end - self.at
    }

    pub(super) const fn is_over(&self) -> bool {
        self.at == self.end
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        self.pace.end();
    }
}

/// Answers with the bytes, or with the part of them that is asked for.
pub(super) async fn answer(
    desk: Arc<Desk>,
    item: Item,
    headers: &HeaderMap,
    pace: Arc<Pace>,
) -> Response<Reply> {
    let Ok((file, size)) = desk.shelf.open_item(item) else {
        desk.counts.refused.fetch_add(1, Ordering::Relaxed);
        return Refusal {
            status: StatusCode::NOT_FOUND,
            words: "no such blob or patch is here\n",
        }
        .into_response();
    };
    // Names are digests, so a name is as good a tag as any.
    let tag = format!("\"{}\"", item.path_name());
    let (at, end) = match range::of(headers, size, &tag) {
        Part::Whole => (0, size),
        Part::From(at, end) => (at, end),
        Part::Nothing => return nothing_there(size),
    };
    desk.gate.after_news().await;
    let Ok(permit) = Arc::clone(&desk.gate.transfers).acquire_owned().await else {
        return Reply::head(StatusCode::SERVICE_UNAVAILABLE, Reply::empty());
    };
    desk.counts.transfers.fetch_add(1, Ordering::Relaxed);
    pace.begin();
    let is_part = (at, end) != (0, size);
    let sending = Sending {
        file,
        at,
        end,
        desk,
        pace,
        _permit: permit,
    };
    let status = if is_part {
        StatusCode::PARTIAL_CONTENT
    } else {
        StatusCode::OK
    };
    let mut response = Reply::head(status, Reply::File(sending));
    let headers = response.headers_mut();
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(
        CACHE_CONTROL,
        HeaderValue::from_static("public, max-age=31536000, immutable"),
    );
    let mut put = |name, text: String| {
        if let Ok(value) = HeaderValue::try_from(text) {
            headers.insert(name, value);
        }
    };
    put(ETAG, tag);
    if is_part {
        put(CONTENT_RANGE, format!("bytes {at}-{}/{size}", end - 1));
    }
    response
}

fn nothing_there(size: u64) -> Response<Reply> {
    let mut response = Reply::head(StatusCode::RANGE_NOT_SATISFIABLE, Reply::empty());
    if let Ok(value) = HeaderValue::try_from(format!("bytes */{size}")) {
        response.headers_mut().insert(CONTENT_RANGE, value);
    }
    response
}
