//! Followers that are connections: they wait, fetch, and wait again, and look at nothing.
//!
//! ```text
//!  GET announcement?after=1.1.6.1  ──── held until there is news ────>  announcement 1.1.7.1
//!  GET blob/NEW.from.OLD.patch     ───────────────────────────────────>  bytes, which are dropped
//!  GET announcement?after=1.1.7.1  ──── ...
//! ```
//!
//! All are tasks of one thread, some kB each. A beat is news without anything to fetch.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use fleet_tls::Tls;
use sa_fleet::identity::Position;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::progress::Progress;
use crate::words::Words;

/// Of no fabric.
pub(crate) const PREFIX: u64 = 0xfe80_0000_0000_0000;

/// Whom all follow.
#[derive(Clone)]
pub(crate) struct Whom {
    /// Of the leader.
    pub(crate) address: SocketAddr,
    /// Where it speaks TLS.
    pub(crate) tls: Option<Tls>,
    /// How its announcements are to be read.
    pub(crate) words: Arc<Words>,
    /// Where it is noted how far each is.
    pub(crate) progress: Arc<Progress>,
}

/// Follows for ever. A connection that breaks is counted, and not made again: the run fails by it.
pub(crate) async fn follow(whom: Whom, place: usize) {
    if let Err(error) = connect(&whom, place).await {
        whom.progress.broke(error.to_string());
    }
}

/// Errors: of [`run`], and of the handshake.
async fn connect(whom: &Whom, place: usize) -> io::Result<()> {
    let stream = TcpStream::connect(whom.address).await?;
    match &whom.tls {
        None => run(stream, place, whom).await,
        Some(tls) => {
            let connecting = TlsConnector::from(tls.client());
            let stream = connecting.connect(whom.address.ip().into(), stream).await?;
            run(stream, place, whom).await
        }
    }
}

/// A connection, of either kind.
trait Stream: AsyncRead + AsyncWrite + Unpin {}

impl<S: AsyncRead + AsyncWrite + Unpin> Stream for S {}

/// Errors: the connection broke, or what came is no answer of a leader.
async fn run(mut stream: impl Stream, place: usize, whom: &Whom) -> io::Result<()> {
    let progress = &whom.progress;
    let mut buffer = Vec::with_capacity(4 << 10);
    let (mut after, mut held) = (Position::default(), None);
    loop {
        let path = format!("{PREFIX:016x}/announcement?after={after}");
        ask(&mut stream, &path, place).await?;
        let length = head(&mut stream, &mut buffer).await?;
        if length == 0 {
            continue;
        }
        let body = take(&mut stream, &mut buffer, length).await?;
        let told = whom.words.read(&body, held)?;
        after = told.position;
        progress.knows(place, after.issue.seq);
        // A beat has nothing that would be fetched.
        if told.blob != held {
            ask(&mut stream, &format!("blob/{}", told.fetched), place).await?;
            let length = head(&mut stream, &mut buffer).await?;
            skip(&mut stream, &mut buffer, length).await?;
            held = told.blob;
        }
        progress.has(place, after.issue.seq);
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
