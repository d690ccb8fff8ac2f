//! Ports that processes of this node reach through shared memory.

use core::sync::atomic::{AtomicBool, Ordering};
use std::collections::BTreeSet;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use sa_fastpath::port::ring::{self, ClientRings, Event, LateReplies, OwnLid, RingOptions};
use sa_snapshot::Snapshot;
use thiserror::Error;
use tracing::{debug, info, warn};

use crate::config::{Config, PortSection, RingSection};

/// A port that clients cannot be served on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RingSectionError {
    /// Two sections have one socket.
    #[error("port {number} (ring): {} is the socket of another [[port]] too", path.display())]
    Twice {
        /// Which, from 0.
        number: usize,
        /// The socket.
        path: PathBuf,
    },
    /// The socket cannot be there.
    #[error("port {number} (ring): {}: {problem}", path.display())]
    Path {
        /// Which, from 0.
        number: usize,
        /// The socket.
        path: PathBuf,
        /// Why not.
        problem: String,
    },
    /// The group is unknown here.
    #[error("port {number} (ring): {problem}")]
    Group {
        /// Which, from 0.
        number: usize,
        /// In words.
        problem: String,
    },
}

/// Whether this machine can do what the sections say. Errors: [`RingSectionError`].
pub(super) fn check(config: &Config) -> Result<(), RingSectionError> {
    let mut seen = BTreeSet::new();
    for (number, port) in config.ports.iter().enumerate() {
        let PortSection::Ring(section) = port else {
            continue;
        };
        let path = section.path.clone();
        if !seen.insert(path.clone()) {
            return Err(RingSectionError::Twice { number, path });
        }
        if let Err(problem) = place(&path) {
            return Err(RingSectionError::Path {
                number,
                path,
                problem,
            });
        }
        group(section).map_err(|problem| RingSectionError::Group { number, problem })?;
    }
    Ok(())
}

/// Bytes of the path of a socket.
const LONGEST: usize = 107;

/// Errors: in words, why no socket can be there.
fn place(path: &Path) -> Result<(), String> {
    if path.as_os_str().len() > LONGEST {
        return Err(format!("the path of a socket has at most {LONGEST} bytes"));
    }
    ring::check_place(path).map_err(|error| error.to_string())
}

/// Whether all clients of rings would be answered from a snapshot. Errors: in words, who would not.
pub(super) fn check_answers(config: &Config, snapshot: &Snapshot) -> Result<(), String> {
    let rings = config.ports.iter().enumerate();
    let mut muted = rings.filter_map(|(number, port)| match port {
        PortSection::Ring(section) => requester(number, section, snapshot).err(),
        PortSection::Ibsim { .. } | PortSection::Umad { .. } => None,
    });
    muted.next().map_or(Ok(()), Err)
}

/// The LID that those ask from who do not say theirs, or may not. Errors: in words, why a snapshot
/// answers nobody there.
fn requester(number: usize, section: &RingSection, snapshot: &Snapshot) -> Result<u16, String> {
    let silent = |why: String| {
        format!(
            "port {number} (ring {}): {why}: clients that do not say their LID, or may not, get no \
             answer",
            section.path.display()
        )
    };
    let Some(lid) = section.lid else {
        return snapshot.sm_lid().ok_or_else(|| {
            silent(
                "the snapshot does not say the LID of the SM; set `lid` in this [[port]] section"
                    .to_owned(),
            )
        });
    };
    match snapshot.port_by_lid(lid) {
        Some(_) => Ok(lid),
        None => Err(silent(format!(
            "lid = {lid} is of no port of the fabric; set that of a port, or remove it to take the \
             SM's"
        ))),
    }
}

fn group(section: &RingSection) -> Result<Option<u32>, String> {
    section.group.as_deref().map(ring::group_id).transpose()
}

/// A socket in service.
pub(super) struct Service {
    keeper: Option<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
    wake: UnixStream,
    own_lid: OwnLid,
    number: usize,
    section: RingSection,
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Listens. Errors: in words.
pub(super) fn open(
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
    let ring::Opened {
        port,
        replies,
        keeper,
        own_lid,
        wake,
    } = ring::open(&options)?;
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let thread = std::thread::Builder::new().name(format!("sa-ring-{number}"));
    let keeper = thread.spawn(move || keeper.run(&flag, &mut |event| log(number, &event)))?;
    info!(port = number, path = %section.path.display(), "listening for clients of rings");
    let service = Service {
        keeper: Some(keeper),
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
    pub(super) const fn port(&self) -> usize {
        self.number
    }

    /// Takes the LID of requests that do not say theirs from a snapshot. Gives why they get no
    /// answer, where they do not.
    pub(super) fn follow(&self, snapshot: &Snapshot) -> Option<String> {
        let lid = requester(self.number, &self.section, snapshot);
        self.own_lid.set(*lid.as_ref().unwrap_or(&0));
        lid.err()
    }
}

impl Drop for Service {
    /// Its clients are told, and the socket goes.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.wake.write(&[0]);
        if let Some(keeper) = self.keeper.take() {
            let _ = keeper.join();
        }
    }
}

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
        _ => {}
    }
}
