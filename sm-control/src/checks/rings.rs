//! Whether rings can be where a configuration has them, and be answered.
//!
//! Two kinds of question. Where the socket is to be depends on this machine ([`check`]). Who is
//! answered depends on the snapshot: a client may say which LID it asks from, or the section says
//! it, or it is the SM's. Where none of these is in the fabric, its requests get no answer, and the
//! start says so instead of leaving clients to wonder ([`requester`]).
//!
//! | the section | the snapshot | clients that say no LID |
//! |---|---|---|
//! | `lid = 5` | has a port with LID 5 | ask as LID 5 |
//! | `lid = 5` | has none | get no answer: [`NoRequester::NoPort`] |
//! | no `lid` | says where the SM is | ask as the SM |
//! | no `lid` | does not | get no answer: [`NoRequester::NoSm`] |

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use sa_port::ring;
use sa_snapshot::Snapshot;
use sa_wire::Lid;
use thiserror::Error;

use super::control_socket::LONGEST;
use crate::config::{Config, RingSection};

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
        problem: RingPlaceError,
    },
    /// The group is unknown here.
    #[error("port {number} (ring): {said}")]
    Group {
        /// Which, from 0.
        number: usize,
        /// As the system's user database says it.
        said: String,
    },
}

/// Why the socket of a ring cannot be somewhere.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RingPlaceError {
    /// The path does not fit into the address of a socket.
    #[error("the path of a socket has at most {LONGEST} bytes")]
    TooLong,
    /// The directory will not do.
    #[error(transparent)]
    Ring(#[from] ring::RingError),
}

/// Whether this machine can do what the sections say. Errors: [`RingSectionError`], the first.
pub(crate) fn check(config: &Config) -> Result<(), RingSectionError> {
    let mut seen = BTreeSet::new();
    for (number, port) in config.ports.iter().enumerate() {
        let Some(section) = port.ring() else {
            continue;
        };
        let path = section.path.clone();
        // The second would take the name from the first.
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
        group(section).map_err(|said| RingSectionError::Group { number, said })?;
    }
    Ok(())
}

/// Errors: why no socket can be there.
fn place(path: &Path) -> Result<(), RingPlaceError> {
    if path.as_os_str().len() > LONGEST {
        return Err(RingPlaceError::TooLong);
    }
    Ok(ring::check_place(path)?)
}

/// Why clients of a ring that do not say their LID, or may not, get no answer from a snapshot.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[error(
    "port {number} (ring {}): {why}: clients that do not say their LID, or may not, get no answer",
    path.display()
)]
pub struct Unanswered {
    /// Which `[[port]]`, from 0.
    pub number: usize,
    /// The socket.
    pub path: PathBuf,
    /// What the snapshot lacks.
    pub why: NoRequester,
}

/// Why there is no LID to take for that of a client.
#[derive(Debug, Error, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoRequester {
    /// The SM's is not known.
    #[error("the snapshot does not say the LID of the SM; set `lid` in this [[port]] section")]
    NoSm,
    /// The one that is configured is of no port.
    #[error(
        "lid = {lid} is of no port of the fabric; set that of a port, or remove it to take the SM's"
    )]
    NoPort {
        /// As it is configured, which may be no unicast LID.
        lid: u16,
    },
}

/// Whether all clients of rings would be answered from a snapshot. Errors: the first who would not.
pub(crate) fn check_answers(config: &Config, snapshot: &Snapshot) -> Result<(), Unanswered> {
    let rings = config.ports.iter().enumerate();
    let mut muted =
        rings.filter_map(|(number, port)| requester(number, port.ring()?, snapshot).err());
    muted.next().map_or(Ok(()), Err)
}

/// The LID that those ask from who do not say theirs, or may not. Errors: why a snapshot answers
/// nobody there.
pub(crate) fn requester(
    number: usize,
    section: &RingSection,
    snapshot: &Snapshot,
) -> Result<Lid, Unanswered> {
    let lid = match section.lid {
        None => snapshot.sm_lid().ok_or(NoRequester::NoSm),
        Some(lid) => {
            let found = Lid::new(lid).ok();
            let found = found.filter(|lid| snapshot.port_by_lid(lid.get()).is_some());
            found.ok_or(NoRequester::NoPort { lid })
        }
    };
    lid.map_err(|why| Unanswered {
        number,
        path: section.path.clone(),
        why,
    })
}

/// The group that a section names, by number. Errors: in the system's words, it is unknown here.
pub(crate) fn group(section: &RingSection) -> Result<Option<u32>, String> {
    section.group.as_deref().map(ring::group_id).transpose()
}
