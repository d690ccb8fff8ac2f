//! Bytes of blobs: after the news, so many at once, each as fast as it is taken.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::head::Head;
use super::range::{self, Part};
use super::reply::{
    NOT_FOUND, OK, PARTIAL_CONTENT, RANGE_NOT_SATISFIABLE, Refusal, Reply, SERVICE_UNAVAILABLE,
};
use super::wire::{self, Wire};
use super::{Desk, Limits};
use crate::shelf::Item;

/// Bytes that are read and given to a connection at once.
const CHUNK: usize = 64 << 10;

/// What is no longer goes out in one piece with its head: a patch, mostly. Two pieces are two
/// packets, and wake who asked twice. Units: bytes.
const WITH_HEAD: u64 = 16 << 10;

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
    /// `transfers`: how many files may be on their way at once.
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

/// A part of a file that is to go out.
#[derive(Debug)]
pub(super) struct Sending {
    file: File,
    at: u64,
    end: u64,
    /// Given back when the last byte was taken, or the connection is gone.
    _permit: OwnedSemaphorePermit,
}

impl Sending {
    /// All bytes, where they are few: to be sent behind the head, after which [`Self::send`] has
    /// nothing left. Empty where there are more. Errors: as there, of the file.
    pub(super) fn with_head(&mut self) -> io::Result<Vec<u8>> {
        match self.end - self.at {
            1..=WITH_HEAD => self.next(),
            _ => Ok(Vec::new()),
        }
    }

    /// Sends it. Errors: the connection is gone, it takes less than it has to, or the file is
    /// shorter than it was; in each case the connection has to be closed, as the other side waits
    /// for more.
    pub(super) async fn send(mut self, stream: &mut impl Wire, desk: &Desk) -> io::Result<()> {
        let Limits {
            least_rate, grace, ..
        } = desk.limits;
        let begun = Instant::now();
        let mut sent = 0;
        while self.at < self.end {
            let chunk = self.next()?;
            // Counted over the whole, so that a pause is made up for by what was faster before.
            sent += chunk.len() as u64;
            let time = Duration::from_millis(sent.saturating_mul(1000) / least_rate.max(1));
            let until = begun + grace + time;
            match tokio::time::timeout_at(until, wire::write(stream, &chunk)).await {
                Ok(written) => written?,
                Err(_) => {
                    desk.counts.too_slow.fetch_add(1, Ordering::Relaxed);
                    return Err(io::ErrorKind::TimedOut.into());
                }
            }
            desk.counts
                .bytes
                .fetch_add(chunk.len() as u64, Ordering::Relaxed);
        }
        Ok(())
    }

    /// The next bytes. Errors: the file cannot be read, or has become shorter, which a file under a
    /// digest never should.
    fn next(&mut self) -> io::Result<Vec<u8>> {
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        let mut chunk = vec![0; left.min(CHUNK)];
        let read = self.file.read_at(&mut chunk, self.at)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        chunk.truncate(read);
        self.at += read as u64;
        Ok(chunk)
    }
}

/// The head of the answer, and the bytes or the part of them that is asked for.
pub(super) async fn answer(desk: &Desk, item: Item, head: &Head) -> (Reply, Option<Sending>) {
    desk.gate.after_news().await;
    let (permit, file, size) = match opened(desk, item).await {
        Ok(opened) => opened,
        Err(refusal) => return (refusal, None),
    };
    // Names are digests, so a name is as good a tag as any.
    let tag = format!("\"{}\"", item.path_name());
    let (at, end) = match range::of(head, size, &tag) {
        Part::Whole => (0, size),
        Part::From(at, end) => (at, end),
        Part::Nothing => {
            let range = ("content-range", format!("bytes */{size}"));
            return (Reply::new(RANGE_NOT_SATISFIABLE, 0, &[range]), None);
        }
    };
    desk.counts.transfers.fetch_add(1, Ordering::Relaxed);
    let mut fields = vec![
        ("accept-ranges", "bytes".to_owned()),
        (
            "cache-control",
            "public, max-age=31536000, immutable".to_owned(),
        ),
        ("etag", tag),
    ];
    let mut status = OK;
    if (at, end) != (0, size) {
        status = PARTIAL_CONTENT;
        fields.push(("content-range", format!("bytes {at}-{}/{size}", end - 1)));
    }
    let sending = Sending {
        file,
        at,
        end,
        _permit: permit,
    };
    (Reply::new(status, end - at, &fields), Some(sending))
}

/// A place among the transfers, and the file with its size, for which is waited where it is on its
/// way. Errors: it is not there, or not yet, or cannot be opened.
async fn opened(desk: &Desk, item: Item) -> Result<(OwnedSemaphorePermit, File, u64), Reply> {
    let mut wait = desk.coming.wait();
    loop {
        let Ok(permit) = Arc::clone(&desk.gate.transfers).acquire_owned().await else {
            return Err(Reply::new(SERVICE_UNAVAILABLE, 0, &[]));
        };
        let is_expected = wait.is_expected(item);
        // Opened only now: thousands may wait, and each would have a descriptor.
        let error = match desk.shelf.open_item(item) {
            Ok((file, size)) => return Ok((permit, file, size)),
            Err(error) => error,
        };
        if error.kind() != io::ErrorKind::NotFound || !is_expected {
            return Err(not_opened(desk, &error));
        }
        // Others may have the place meanwhile.
        drop(permit);
        if !wait.for_more().await {
            return Err(not_opened(desk, &io::ErrorKind::TimedOut.into()));
        }
    }
}

/// Not there, or not now: the first is for ever, as names are digests, and the other is worth
/// another try.
fn not_opened(desk: &Desk, error: &io::Error) -> Reply {
    desk.counts.refused.fetch_add(1, Ordering::Relaxed);
    let (status, words) = match error.kind() {
        io::ErrorKind::NotFound => (NOT_FOUND, "no such blob or patch is here\n"),
        io::ErrorKind::TimedOut => (SERVICE_UNAVAILABLE, "it is on its way here still\n"),
        // No descriptors, or the disk: another upstream may have it, and so may this one later.
        _ => (SERVICE_UNAVAILABLE, "it cannot be opened now\n"),
    };
    Refusal { status, words }.into_reply()
}
