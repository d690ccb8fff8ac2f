//! From a path to everything that serves rings there.
//!
//! The caller gets five things, each for a thread of its own: the worker's port, the slow lane's
//! handle, the acceptor, the LID of the daemon's own port, and a socket to wake the acceptor by.
//! They end with their owners; the name of the socket goes with the acceptor.

use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;

use sa_ring::layout::{MAX_SLOTS, MIN_SLOTS};
use sa_wire::Lid;

use super::acceptor::{Acceptor, Limits};
use super::client_rings::ClientRings;
use super::exchange::Exchange;
use super::late::LateReplies;
use super::shares::RingShares;
use super::socket::{Listener, RingError};

/// How rings are served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RingOptions {
    /// The socket where clients connect; its directory must be safe, see
    /// [`check_place`](super::check_place).
    pub path: PathBuf,
    /// Who may connect, as of a file.
    pub mode: u32,
    /// Group of the socket; none: this process's.
    pub group: Option<u32>,
    /// The most slots of a ring; rounded up to a power of two.
    pub slots: u32,
    /// The most clients at a time.
    pub clients: usize,
    /// The most of one user, but for root and the daemon's own; none: as many as are left for
    /// others.
    pub clients_per_user: Option<usize>,
    /// Late replies that all users together may leave unread, and as much again for root and the
    /// daemon's user. Units: bytes.
    pub late: usize,
}

impl RingOptions {
    /// The owner's processes alone, 64 of them, a thousand slots each.
    pub const fn at(path: PathBuf) -> Self {
        Self {
            path,
            mode: 0o600,
            group: None,
            slots: 1024,
            clients: 64,
            clients_per_user: None,
            late: 32 << 20,
        }
    }
}

/// What serves a socket.
pub struct Opened {
    /// Requests and replies, for a worker.
    pub port: ClientRings,
    /// For the slow lane.
    pub replies: LateReplies,
    /// For a thread of its own.
    pub acceptor: Acceptor,
    /// For whoever knows the fabric.
    pub own_lid: OwnLid,
    /// Wakes the acceptor, so that it looks whether it shall stop.
    pub wake: UnixStream,
}

/// Which port requests come from that do not say it, or may not.
#[derive(Debug, Clone)]
pub struct OwnLid(Arc<Exchange>);

impl OwnLid {
    /// Sets it; none: such requests get no answer.
    pub fn set(&self, lid: Option<Lid>) {
        self.0.set_own_lid(lid.map_or(0, Lid::get));
    }
}

/// Makes the socket, and everything that serves those who connect to it. Errors: [`RingError`].
pub fn open(options: &RingOptions) -> Result<Opened, RingError> {
    let failed = |source| RingError::Os {
        path: options.path.clone(),
        what: "make a pair of sockets",
        source,
    };
    // A pair of sockets wakes a thread that waits in `poll` for others.
    let (woken, wake) = UnixStream::pair().map_err(failed)?;
    woken.set_nonblocking(true).map_err(failed)?;
    wake.set_nonblocking(true).map_err(failed)?;
    let listener = Listener::bind(&options.path, options.mode, options.group)?;
    let clients = options.clients.max(1);
    let slots = options
        .slots
        .clamp(MIN_SLOTS, MAX_SLOTS)
        .next_power_of_two();
    let exchange = Arc::new(Exchange::new(clients));
    let wake_too = wake.try_clone().map_err(failed)?;
    let (replies, late) = LateReplies::new(wake_too, Arc::clone(&exchange));
    let limits = Limits {
        slots,
        rings: RingShares::new(clients, options.clients_per_user),
        late: options.late,
    };
    Ok(Opened {
        port: ClientRings::new(Arc::clone(&exchange), clients),
        replies,
        own_lid: OwnLid(Arc::clone(&exchange)),
        acceptor: Acceptor::new(listener, woken, exchange, late, limits),
        wake,
    })
}
