//! Ports that processes of this node reach through shared memory.
//!
//! A socket in the file system is where they connect, and its mode and group say who may. The
//! thread behind it takes clients in, checks whom the kernel says they are, and gives each a ring;
//! requests then go by memory alone. A client that breaks the rules of its ring is cut off, and the
//! log says who.
//!
//! What the memory of a ring looks like is `sa-ring`'s, how requests are taken from it `sa-port`'s;
//! `docs/ring.md` is for those who write a client. Here is only what the daemon adds: a socket with
//! a mode, a thread, a log, and the LID that counts where a client says none.

use core::sync::atomic::{AtomicBool, Ordering};
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::JoinHandle;

use sa_port::ring::{self, ClientRings, Event, LateReplies, OwnLid, RingOptions};
use sa_snapshot::Snapshot;
use tracing::{debug, info, warn};

use crate::checks::rings::{Unanswered, group, requester};
use crate::config::RingSection;

/// A socket in service. Dropped at the end of the daemon: clients are told, and the socket's name
/// goes.
pub(in crate::server) struct Service {
    /// Joined when this is dropped.
    acceptor: Option<JoinHandle<()>>,
    /// Tells the acceptor to end; seen when it is woken.
    stop: Arc<AtomicBool>,
    /// A byte in here ends the acceptor's poll.
    wake: UnixStream,
    /// The LID that requests count as coming from where a client does not say its own, or may not.
    own_lid: OwnLid,
    /// Of its section, from 0.
    number: usize,
    /// What the operator wrote; see `follow`.
    section: RingSection,
}

/// In words: shown and never matched on.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Listens, and starts the thread that takes clients in. Gives the port for a worker and the slow
/// lane's way out. Errors: in words.
///
/// Nobody is served before a worker turns the port; clients that come earlier have a ring and wait.
pub(in crate::server) fn open(
    number: usize,
    section: &RingSection,
) -> Result<(ClientRings, LateReplies, Service), Failure> {
    let options = RingOptions {
        path: section.path.clone(),
        mode: section.mode.0,
        group: group(section)?,
        slots: section.slots,
        clients: section.clients.into(),
        clients_per_user: section.clients_per_user.map(usize::from),
        late: usize::from(section.late_mib) << 20,
    };
    // The LID is not known yet: the first snapshot gives it, see `follow`.
    let ring::Opened {
        port,
        replies,
        acceptor,
        own_lid,
        wake,
    } = ring::open(&options)?;
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let thread = std::thread::Builder::new().name(format!("sa-ring-{number}"));
    let acceptor = thread.spawn(move || acceptor.run(&flag, &mut |event| log(number, &event)))?;
    info!(port = number, path = %section.path.display(), "listening for clients of rings");
    let service = Service {
        acceptor: Some(acceptor),
        stop,
        wake,
        own_lid,
        number,
        section: section.clone(),
    };
    Ok((port, replies, service))
}

impl Service {
    /// The number of its port.
    pub(in crate::server) const fn port(&self) -> usize {
        self.number
    }

    /// Takes the LID of requests that do not say theirs from a snapshot. Gives why they get no
    /// answer, where they do not: without a LID they are nobody's.
    ///
    /// Told at every new snapshot, as an SM may give another LID.
    pub(in crate::server) fn follow(&self, snapshot: &Snapshot) -> Option<Unanswered> {
        let lid = requester(self.number, &self.section, snapshot);
        self.own_lid.set(lid.as_ref().ok().copied());
        lid.err()
    }
}

impl Drop for Service {
    /// Its clients are told, and the socket goes.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // After the flag: who is woken must see it.
        let _ = self.wake.write(&[0]);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

/// One line for each event. Comings and goings of clients are for debugging; refusals and breaches
/// are not.
fn log(port: usize, event: &Event) {
    match event {
        Event::Arrived {
            peer,
            slots,
            names_lids,
        } => debug!(
            port,
            client = peer.client,
            pid = peer.pid,
            uid = peer.uid,
            slots,
            names_lids,
            "a client has a ring"
        ),
        Event::Refused { peer, words } => {
            warn!(
                port,
                pid = peer.pid,
                uid = peer.uid,
                "client refused: {words}"
            );
        }
        Event::Parted {
            peer,
            why: ring::Parting::Left,
        } => debug!(
            port,
            client = peer.client,
            pid = peer.pid,
            "a client has left"
        ),
        Event::Parted { peer, why } => warn!(
            port,
            client = peer.client,
            pid = peer.pid,
            uid = peer.uid,
            "client cut off: {why}"
        ),
        Event::Failed(error) => warn!(port, "clients cannot be served now: {error}"),
        // Kinds of events that are added later are not worth a line until somebody says so.
        _ => {}
    }
}
