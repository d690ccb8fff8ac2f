//! The side that hands out: a leader or a relay, over HTTP/1.1.
//!
//! | request | answer |
//! |---|---|
//! | `GET /fleet/1/PREFIX/announcement?after=ERA.TERM.SEQ.BEAT` | the announcement, once there is a newer one; 204 where none came in [`LONGEST_HOLD`] |
//! | `GET /fleet/1/blob/DIGEST`, `DIGEST.zst`, `DIGEST.from.DIGEST.patch` | the bytes, or a part of them (Range, If-Range) |
//! | `GET /fleet/1/root/VERSION` | the root file of this version with its signatures ([`crate::roots`]) |
//!
//! An announcement has three headers, in whole milliseconds: `sapphire-held`, how long the request
//! was kept here, `sapphire-remaining`, how long what it says may still be believed, as of the
//! answer, and `sapphire-spread`, over how long those who ask here should spread their fetches of
//! large files. Who asks tells of itself in headers of the same request ([`children`]).

//!
//! **News leave before blobs**: a blob is begun when all polls that waited for the newest
//! announcement have it. Of blobs there are [`Limits::transfers`] on their way at once, the others
//! wait in the order in which they came; one that is taken more slowly than [`Limits::least_rate`]
//! is cut off, so that a host that hangs keeps nobody's place.
//!
//! Under TLS ([`fleet_tls`]) all of this is the same, once a handshake is done: within a time, so
//! many at once, and no place for who says nothing.
//!
//! One thread, with tokio: ten thousand connections that wait are what an event loop is for. HTTP
//! is done here, with httparse, and not by hyper, which keeps buffers for each connection: 17 kB
//! measured, 170 MB for ten thousand that wait, where this needs some 2 kB. What is taken is GET
//! without a body, and nothing else, so little of HTTP is left to get wrong.

mod asked;
mod blobs;
mod board;
pub mod children;
mod coming;
mod connection;
mod handshake;
mod head;
mod news;
mod range;
mod reply;
mod wire;

use std::future::Future;
use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fleet_tls::Tls;
use sa_fleet::identity::{Digest, Position};
use sa_fleet::offer::{LONGEST_HOLD, Offer};
use tokio::net::TcpListener;

use self::asked::Asked;
use self::blobs::{Gate, Sending};
use self::board::Board;
use self::children::Children;
use self::coming::Coming;
use self::handshake::Handshakes;
use self::head::Head;
use self::reply::{Refusal, Reply};
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
    /// For how long a slower one is borne with: what the kernel has room for is taken in no time,
    /// and says nothing.
    pub grace: Duration,
    /// How long a poll is kept without news: at most [`LONGEST_HOLD`].
    pub hold: Duration,
    /// How long the head of a request may take, also on a connection that is kept.
    pub head: Duration,
    /// Handshakes of TLS at once; the others wait in their order.
    pub handshakes: usize,
    /// Those of them that one address may have, so that no stranger alone keeps all others out.
    pub handshakes_of_one: usize,
    /// How long the first byte, and then the handshake, may take.
    pub handshake: Duration,
    /// How long a connection under TLS is kept: who asks shows its certificate again after that,
    /// and so does who is asked.
    pub shown: Duration,
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
            handshakes: 256,
            handshakes_of_one: 32,
            handshake: Duration::from_secs(5),
            shown: Duration::from_secs(3600),
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
    coming: Coming,
    handshakes: Handshakes,
    limits: Limits,
    /// Milliseconds.
    spread: AtomicU64,
    /// The newest that anybody says it has seen.
    claimed: Mutex<Position>,
    /// The newest root file that this host goes by, packed with its signatures.
    root: Mutex<Option<(u32, Arc<[u8]>)>>,
}

/// Followers that all begin to fetch a large file at once wait for each other: no longer than this
/// is that spread.
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
            coming: Coming::default(),
            handshakes: Handshakes::new(limits.handshakes, limits.handshakes_of_one),
            limits,
            spread: AtomicU64::new(0),
            claimed: Mutex::default(),
            root: Mutex::default(),
        }
    }

    /// From now on this is the newest announcement of a subnet; polls that wait for one get it, and
    /// blobs are begun after that. None: there is nothing to say of it, and polls wait.
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

    /// Files of this blob are on their way to the shelf: who asks for one of them waits for it, for
    /// two seconds at most. None: what is not there now is not awaited. Before the announcement of
    /// it, or who hears of that asks too early.
    pub fn expects(&self, blob: Option<Digest>) {
        self.coming.expects(blob);
    }

    /// One of them is on the shelf.
    pub fn has_more(&self) {
        self.coming.has_more();
    }

    /// A blob of so many bytes, or a patch, is what most who ask here will fetch next: sets how far
    /// they spread that.
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

    /// Nobody has signed it: it is worth a look of a person.
    fn claims(&self, position: Position) {
        let mut claimed = self.claimed.lock().unwrap_or_else(PoisonError::into_inner);
        *claimed = position.max(*claimed);
    }

    /// The newest position that anybody who asked said it has seen.
    pub fn claimed(&self) -> Position {
        *self.claimed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer_root(&self, version: u32) -> Reply {
        match self.root(version) {
            Some(packed) => Reply::with_body(reply::OK, &packed, &[]),
            None => {
                self.counts.refused.fetch_add(1, Ordering::Relaxed);
                let words = "there is no root file of this version here\n";
                let status = reply::NOT_FOUND;
                Refusal { status, words }.into_reply()
            }
        }
    }

    /// From now on this is the root file for who asks for this version: hosts with an older one
    /// take it if its signatures let them.
    pub fn has_root(&self, version: u32, packed: Arc<[u8]>) {
        let mut root = self.root.lock().unwrap_or_else(PoisonError::into_inner);
        *root = Some((version, packed));
    }

    /// As [`Self::has_root`] has set it. None: another version, or none.
    fn root(&self, version: u32) -> Option<Arc<[u8]>> {
        let root = self.root.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, packed) = root.as_ref().filter(|(of, _)| *of == version)?;
        Some(Arc::clone(packed))
    }

    /// As [`Self::will_be_fetched`] has set it; nothing before.
    fn spread(&self) -> Duration {
        Duration::from_millis(self.spread.load(Ordering::Relaxed))
    }

    /// The answer to one request, and the file behind it.
    async fn answer(&self, head: &Head) -> (Reply, Option<Sending>) {
        match Asked::of(head) {
            Ok(Asked::News { prefix, after }) => {
                self.children.saw(prefix, &head.told);
                self.claims(after);
                (news::answer(self, prefix, after).await, None)
            }
            Ok(Asked::Item(item)) => blobs::answer(self, item, head).await,
            Ok(Asked::Root(version)) => (self.answer_root(version), None),
            Err(refusal) => {
                self.counts.refused.fetch_add(1, Ordering::Relaxed);
                (refusal.into_reply(), None)
            }
        }
    }
}

/// Serves until `ends` is ready; connections end with the runtime. `tls`: nothing else is spoken
/// then. Errors: none of a connection; those of accepting are waited out.
pub async fn serve(
    listener: TcpListener,
    desk: Arc<Desk>,
    tls: Option<Tls>,
    ends: impl Future<Output = ()>,
) {
    tokio::pin!(ends);
    loop {
        let accepted = tokio::select! {
            () = &mut ends => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, from)) => connection::admit(stream, from, &desk, tls.as_ref()),
            // No descriptors, no memory: those that are open will give some back.
            Err(error) if is_shortage(&error) => {
                tokio::time::sleep(Duration::from_millis(50)).await
            }
            // Of one connection, which is gone.
            Err(_) => {}
        }
    }
}

/// Whether it is this host that cannot take more, and not a connection that has gone.
fn is_shortage(error: &io::Error) -> bool {
    use rustix::io::Errno;
    [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM]
        .iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}
