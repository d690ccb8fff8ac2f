//! Followers: connections that wait, fetch, and wait again.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use fleet_tls::Tls;
use fleet_transfer::clocks;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio_rustls::TlsConnector;

use crate::Failure;
use crate::leader::PREFIX;

/// What all followers have reached, by the number of the generation.
#[derive(Debug)]
pub(crate) struct Progress {
    followers: usize,
    /// Of each follower, when it knew of the newest; then when it had it.
    knew: Vec<AtomicU64>,
    had: Vec<AtomicU64>,
    next: AtomicUsize,
    /// How many have what was announced last; even and odd generations apart, as the next begins
    /// when all have the one before.
    have: [AtomicUsize; 2],
    changed: Notify,
    failed: AtomicUsize,
    why: OnceLock<String>,
}

impl Progress {
    /// Nobody knows anything yet.
    pub(crate) fn new(followers: usize) -> Self {
        let times = || (0..followers).map(|_| AtomicU64::new(0)).collect();
        Self {
            followers,
            knew: times(),
            had: times(),
            next: AtomicUsize::new(0),
            have: Default::default(),
            changed: Notify::new(),
            failed: AtomicUsize::new(0),
            why: OnceLock::new(),
        }
    }

    /// When each knew of the newest, by CLOCK_BOOTTIME.
    pub(crate) fn knew(&self) -> Vec<u64> {
        self.knew
            .iter()
            .map(|at| at.load(Ordering::Relaxed))
            .collect()
    }

    /// When each had it.
    pub(crate) fn had(&self) -> Vec<u64> {
        self.had
            .iter()
            .map(|at| at.load(Ordering::Relaxed))
            .collect()
    }

    /// Ready when all have it. Errors: not in that time, with the first reason that a connection
    /// broke.
    pub(crate) async fn all_have(&self, seq: u64, within: Duration) -> Result<(), Failure> {
        let count = self.count(seq);
        let wait = async {
            loop {
                let changed = self.changed.notified();
                if count.load(Ordering::Relaxed) >= self.followers {
                    return;
                }
                changed.await;
            }
        };
        if tokio::time::timeout(within, wait).await.is_err() {
            let (came, all) = (count.load(Ordering::Relaxed), self.followers);
            let broke = self.failed.load(Ordering::Relaxed);
            let why = self.why.get().map_or("", String::as_str);
            let words = format!(
                "generation {seq}: {came} of {all} followers, {broke} connections broke: {why}"
            );
            return Err(words.into());
        }
        count.store(0, Ordering::Relaxed);
        Ok(())
    }

    /// One more follower has it.
    fn reached(&self, seq: u64) {
        if self.count(seq).fetch_add(1, Ordering::Relaxed) + 1 >= self.followers {
            self.changed.notify_waiters();
        }
    }

    fn count(&self, seq: u64) -> &AtomicUsize {
        let [even, odd] = &self.have;
        match seq.is_multiple_of(2) {
            true => even,
            false => odd,
        }
    }
}

/// Follows for ever. A connection that breaks is counted, and not made again: the run fails by it.
pub(crate) async fn follow(address: SocketAddr, tls: Option<Tls>, progress: Arc<Progress>) {
    let place = progress.next.fetch_add(1, Ordering::Relaxed);
    if let Err(error) = connect(address, tls, place, &progress).await {
        progress.failed.fetch_add(1, Ordering::Relaxed);
        // The first says why the run fails.
        let _ = progress.why.set(error.to_string());
    }
}

/// Errors: of [`run`], and of the handshake.
async fn connect(
    address: SocketAddr,
    tls: Option<Tls>,
    place: usize,
    progress: &Progress,
) -> io::Result<()> {
    let stream = TcpStream::connect(address).await?;
    match tls {
        None => run(stream, place, progress).await,
        Some(tls) => {
            let connecting = TlsConnector::from(tls.client());
            let stream = connecting.connect(address.ip().into(), stream).await?;
            run(stream, place, progress).await
        }
    }
}

/// A connection, of either kind.
trait Stream: AsyncRead + AsyncWrite + Unpin {}

impl<S: AsyncRead + AsyncWrite + Unpin> Stream for S {}

/// Errors: the connection broke, or what came is no answer of a leader.
async fn run(mut stream: impl Stream, place: usize, progress: &Progress) -> io::Result<()> {
    let mut buffer = Vec::with_capacity(4 << 10);
    // Before the first announcement nothing is known.
    let mut after: Option<u64> = None;
    loop {
        let position = after.map_or_else(|| "0.0.0.0".to_owned(), |seq| format!("1.1.{seq}.1"));
        ask(
            &mut stream,
            &format!("{PREFIX:016x}/announcement?after={position}"),
            place,
        )
        .await?;
        let length = head(&mut stream, &mut buffer).await?;
        if length == 0 {
            continue;
        }
        let body = take(&mut stream, &mut buffer, length).await?;
        let seq = after.map_or(0, |seq| seq + 1);
        if let Some(knew) = progress.knew.get(place) {
            knew.store(clocks::now().0, Ordering::Relaxed);
        }
        let name = body
            .get(..64)
            .and_then(|name| std::str::from_utf8(name).ok());
        let name = name.ok_or(io::ErrorKind::InvalidData)?.to_owned();
        // The first one is of nothing: all are there when all have it.
        if seq > 0 {
            ask(&mut stream, &format!("blob/{name}"), place).await?;
            let length = head(&mut stream, &mut buffer).await?;
            skip(&mut stream, &mut buffer, length).await?;
            if let Some(had) = progress.had.get(place) {
                had.store(clocks::now().0, Ordering::Relaxed);
            }
        }
        progress.reached(seq);
        after = Some(seq);
    }
}

/// Sends a request as a follower of the daemon sends it, with the fields by which the leader knows
/// who asks.
async fn ask(stream: &mut impl Stream, what: &str, place: usize) -> io::Result<()> {
    let request = format!(
        "GET /fleet/1/{what} HTTP/1.1\r\nhost: leader\r\nsapphire-node: n{place}\r\nsapphire-state: fresh\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    stream.flush().await
}

/// Takes the head of an answer, and says how long its body is. What has come of the body is in the
/// buffer.
async fn head(stream: &mut impl Stream, buffer: &mut Vec<u8>) -> io::Result<usize> {
    buffer.clear();
    loop {
        if stream.read_buf(buffer).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let end = buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n");
        if let Some(end) = end {
            let head =
                String::from_utf8_lossy(buffer.get(..end).unwrap_or_default()).to_ascii_lowercase();
            buffer.drain(..end + 4);
            if !head.starts_with("http/1.1 20") {
                return Err(io::Error::other(head));
            }
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "));
            return Ok(length
                .and_then(|length| length.trim().parse().ok())
                .unwrap_or(0));
        }
    }
}

/// The body, which is short.
async fn take(
    stream: &mut impl Stream,
    buffer: &mut Vec<u8>,
    length: usize,
) -> io::Result<Vec<u8>> {
    while buffer.len() < length {
        if stream.read_buf(buffer).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(buffer.drain(..length).collect())
}

/// The body, which nobody reads.
async fn skip(stream: &mut impl Stream, buffer: &mut Vec<u8>, length: usize) -> io::Result<()> {
    let mut left = length.saturating_sub(buffer.len());
    while left > 0 {
        buffer.clear();
        match stream.read_buf(buffer).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => left = left.saturating_sub(read),
        }
    }
    Ok(())
}
