//! What `--check` tries of a umad port's device files.
//!
//! | file | tried by | needed |
//! |---|---|---|
//! | `/sys/class/infiniband_mad/umadN` | reading: which device and port it is | always |
//! | `/dev/infiniband/umadN` | opening it for reading and writing | always |
//! | `/dev/infiniband/issmN` | asking the system whether this user may | where IsSM is to be set: by an SM, or with `announce_sm` |
//!
//! The umad file is opened, which changes nothing. The issm file is not, as that would set IsSM on
//! the port and take it from who has it: the system only says whether this user may.

use std::fs::OpenOptions;
use std::io;

use rustix::fs::{Access, access};
use sa_port::umad;
use thiserror::Error;

/// Why a umad port cannot be attached on this host.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DeviceProblem {
    /// This host's devices cannot be listed.
    #[error(transparent)]
    Devices(#[from] umad::UmadError),
    /// A device has no such port.
    #[error(
        "no umad port {}/{port}; this host shows {}",
        device.as_deref().unwrap_or("any device"),
        if shown.is_empty() { "none" } else { shown.as_str() }
    )]
    NoPort {
        /// None for any.
        device: Option<String>,
        /// From 1.
        port: u8,
        /// Those that there are, for people.
        shown: String,
    },
    /// A device file cannot be opened.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// IsSM cannot be set.
    #[error(
        "{path}: {source}; it sets IsSM on the port: let this user read and write it, or say announce_sm = false"
    )]
    Announce {
        /// Which.
        path: String,
        /// What the system says.
        source: io::Error,
    },
}

/// Tries the port that a start would take: its umad file, and where it `announces` an SM the issm
/// file. Errors: [`DeviceProblem`].
pub(in crate::server) fn try_device(
    device: Option<&str>,
    port: u8,
    announces: bool,
) -> Result<(), DeviceProblem> {
    let found = umad::find(device, Some(port)).map_err(|error| named(error, port))?;
    let path = found.path();
    let opened = OpenOptions::new().read(true).write(true).open(&path);
    opened.map_err(|source| DeviceProblem::File { path, source })?;
    if announces {
        let path = found.issm_path();
        let allowed = access(path.as_str(), Access::READ_OK | Access::WRITE_OK);
        allowed.map_err(|errno| DeviceProblem::Announce {
            path,
            source: errno.into(),
        })?;
    }
    Ok(())
}

/// A port that is not there, in the words of a check.
fn named(error: umad::UmadError, port: u8) -> DeviceProblem {
    match error {
        umad::UmadError::NoSuchPort { device, found, .. } => DeviceProblem::NoPort {
            device,
            port,
            shown: found.join(", "),
        },
        other => DeviceProblem::Devices(other),
    }
}
