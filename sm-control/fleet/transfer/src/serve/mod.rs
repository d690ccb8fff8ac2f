//! The side that hands out: a leader or a relay, over HTTP/1.1.
//!
//! | request | answer |
//! |---|---|
//! | `GET /fleet/1/PREFIX/announcement?after=ERA.TERM.SEQ.BEAT` | the announcement, once there is a newer one; 204 where none came in [`LONGEST_HOLD`] |
//! | `GET /fleet/1/blob/DIGEST`, `DIGEST.zst`, `DIGEST.from.DIGEST.patch` | the bytes, or a part of them (Range, If-Range) |
//!
//! An announcement has three headers, in whole milliseconds: `sapphire-held`, how long the request was kept here, `sapphire-remaining`, how
//! long what it says may still be believed, as of the answer, and `sapphire-spread`, over how long those who ask here should spread their
//! fetches of large files. Who asks tells of itself in headers of the same request ([`children`]).

//!
//! **News leave before blobs**: a blob is begun when all polls that waited for the newest announcement have it. Of blobs there are
//! [`Limits::transfers`] on their way at once, the others wait in the order in which they came; one that is taken more slowly than
//! [`Limits::least_rate`] is cut off, so that a host that hangs keeps nobody's place.
//!
//! One thread, with tokio: ten thousand connections that wait are what an event loop is for.

mod asked;
mod blobs;
mod board;
pub mod children;
mod news;
mod pace;
mod range;
mod reply;

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use sa_fleet::offer::{LONGEST_HOLD, Offer};
use tokio::net::{TcpListener, TcpStream};

use self::asked::Asked;
use self::blobs::Gate;
use self::board::Board;
use self::children::Children;
use self::pace::Pace;
use self::reply::Reply;
use crate::shelf::Shelf;

/// How much is done at once, and for whom no longer.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Connections; more are closed at once.
    pub connections: usize,
    /// Blobs and patches on their way.
    pub transfers: usize,
    /// Bytes a second that a receiver has to take.
    pub least_rate: u64,
    /// For how long a slower one is borne with: what the kernel has room for is taken in no time, and says nothing.
    pub grace: Duration,
    /// How long a poll is kept without news: at most [`LONGEST_HOLD`].
    pub hold: Duration,
    /// How long the head of a request may take, also on a connection that is kept.
    pub head: Duration,
    /// Hosts that are remembered.
    pub children: usize,
    /// Bytes a second that this host's network may carry: what followers spread their fetches by.
    pub bandwidth: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 16_384,
            transfers: 64,
            least_rate: 64 << 10,
            grace: Duration::from_secs(5),
            hold: LONGEST_HOLD,
            head: Duration::from_secs(30),
            children: 20_000,
            bandwidth: 1_000_000_000,
        }
    }
}

/// What is handed out, and how much was.
#[derive(Debug)]
pub struct Desk {
    board: Board,
    /// Who asks here.
    pub children: Children,
    /// What was done.
    pub counts: Counts,
    shelf: Arc<Shelf>,
    gate: Gate,
    limits: Limits,
    /// Milliseconds.
    spread: AtomicU64,
}

/// Followers that all begin to fetch a large file at once wait for each other: no longer than this is that spread.
const LONGEST_SPREAD: Duration = Duration::from_secs(2);
/// Files up to this size are fetched at once: a connection costs as much.
const NOT_SPREAD: u64 = 64 << 10;

/// Since the start.
#[derive(Debug, Default)]
pub struct Counts {
    /// Connections that are open.
    pub connections: AtomicUsize,
    /// Those that were closed at once because there were too many.
    pub turned_away: AtomicU64,
    /// Polls that got an announcement.
    pub news: AtomicU64,
    /// Polls that got none in their time.
    pub no_news: AtomicU64,
    /// Blobs, packed blobs and patches that were begun.
    pub transfers: AtomicU64,
    /// Those that were cut off because they were taken too slowly.
    pub too_slow: AtomicU64,
    /// Bytes of blobs, packed blobs and patches.
    pub bytes: AtomicU64,
    /// Requests for what is not there, or that are none.
    pub refused: AtomicU64,
}

impl Desk {
    /// Hands out of this directory. Nothing is announced yet.
    pub fn new(shelf: Arc<Shelf>, limits: Limits) -> Self {
        Self {
            board: Board::default(),
            children: Children::new(limits.children),
            counts: Counts::default(),
            shelf,
            gate: Gate::new(limits.transfers),
            limits,
            spread: AtomicU64::new(0),
        }
    }

    /// From now on this is the newest announcement of a subnet; polls that wait for one get it, and blobs are begun after that. None: there is
    /// nothing to say of it, and polls wait.
    pub fn announce(&self, prefix: u64, offer: Option<Offer>) {
        let is_news = offer.is_some();
        self.board.put(prefix, offer, |polls| {
            if is_news {
                self.gate.has_news(polls);
            }
        });
    }

    /// What is announced of a subnet now.
    pub fn announced(&self, prefix: u64) -> Option<Offer> {
        self.board.newest(prefix)
    }

    /// A blob of so many bytes, or a patch, is what most who ask here will fetch next: sets how far they spread that.
    pub fn will_be_fetched(&self, bytes: u64) {
        let hosts = self.counts.connections.load(Ordering::Relaxed) as u64;
        let milliseconds =
            bytes.saturating_mul(hosts).saturating_mul(1000) / self.limits.bandwidth.max(1);
        let spread = match bytes > NOT_SPREAD {
            true => Duration::from_millis(milliseconds).min(LONGEST_SPREAD),
            false => Duration::ZERO,
        };
        let spread = u64::try_from(spread.as_millis()).unwrap_or_default();
        self.spread.store(spread, Ordering::Relaxed);
    }

    fn spread(&self) -> Duration {
        Duration::from_millis(self.spread.load(Ordering::Relaxed))
    }

    /// The answer to one request. Requests that cannot be understood get a status and a line that says what is.
    async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        pace: Arc<Pace>,
    ) -> Response<Reply> {
        match Asked::of(&request) {
            Ok(Asked::News { prefix, after }) => {
                self.children.saw(prefix, request.headers());
                drop(request);
                news::answer(&self, prefix, after).await
            }
            Ok(Asked::Item(item)) => blobs::answer(self, item, request.headers(), pace).await,
            Err(refusal) => {
                self.counts.refused.fetch_add(1, Ordering::Relaxed);
                refusal.into_response()
            }
        }
    }
}

/// Serves until `ends` is ready; connections end with the runtime. Errors: none of a connection; those of accepting are waited out.
pub async fn serve(listener: TcpListener, desk: Arc<Desk>, ends: impl Future<Output = ()>) {
    tokio::pin!(ends);
    loop {
        let accepted = tokio::select! {
            () = &mut ends => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, from)) => admit(stream, from, &desk),
            // No descriptors, no memory: those that are open will give some back.
            Err(error) if is_shortage(&error) => {
                tokio::time::sleep(Duration::from_millis(50)).await
            }
            // Of one connection, which is gone.
            Err(_) => {}
        }
    }
}

fn is_shortage(error: &io::Error) -> bool {
    use rustix::io::Errno;
    [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM]
        .iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// Takes a connection on, or closes it where there are enough.
fn admit(stream: TcpStream, _from: SocketAddr, desk: &Arc<Desk>) {
    let open = desk.counts.connections.fetch_add(1, Ordering::Relaxed);
    let place = Place(Arc::clone(desk));
    if open >= desk.limits.connections {
        desk.counts.turned_away.fetch_add(1, Ordering::Relaxed);
        return;
    }
    tokio::spawn(async move {
        // Short answers to who waits: none is held back to fill a packet.
        let _ = stream.set_nodelay(true);
        connection(stream, &place.0).await;
    });
}

/// A connection that counts as open.
struct Place(Arc<Desk>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.counts.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Until it is closed from there, breaks the protocol, or takes a blob too slowly.
async fn connection(stream: TcpStream, desk: &Arc<Desk>) {
    let pace = Arc::<Pace>::default();
    let service = service_fn(|request| {
        let answer = Arc::clone(desk).answer(request, Arc::clone(&pace));
        async { Ok::<_, Infallible>(answer.await) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(desk.limits.head)
        .max_buf_size(16 << 10)
        .serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        // What breaks a connection is the other side's business; it comes again.
        _ = served => {}
        () = pace.is_too_slow(desk.limits.least_rate, desk.limits.grace) => {
            desk.counts.too_slow.fetch_add(1, Ordering::Relaxed);
        }
    }
}
