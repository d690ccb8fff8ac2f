//! Whether rings can be where a configuration has them, and be answered.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use sa_fastpath::port::ring;
use sa_snapshot::Snapshot;
use thiserror::Error;

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
pub(crate) fn check(config: &Config) -> Result<(), RingSectionError> {
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
pub(crate) fn check_answers(config: &Config, snapshot: &Snapshot) -> Result<(), String> {
    let rings = config.ports.iter().enumerate();
    let mut muted = rings.filter_map(|(number, port)| match port {
        PortSection::Ring(section) => requester(number, section, snapshot).err(),
        PortSection::Ibsim { .. } | PortSection::Umad { .. } => None,
    });
    muted.next().map_or(Ok(()), Err)
}

/// The LID that those ask from who do not say theirs, or may not. Errors: in words, why a snapshot
/// answers nobody there.
pub(crate) fn requester(
    number: usize,
    section: &RingSection,
    snapshot: &Snapshot,
) -> Result<u16, String> {
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

/// The group that a section names, by number. Errors: in words, it is unknown here.
pub(crate) fn group(section: &RingSection) -> Result<Option<u32>, String> {
    section.group.as_deref().map(ring::group_id).transpose()
}
