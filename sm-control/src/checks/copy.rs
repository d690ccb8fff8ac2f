//! Whether a snapshot that was compiled elsewhere can be served.
//!
//! A snapshot file decides where every connection of a host goes, and it comes by whatever
//! distributes files. So two questions come before its content: could anybody but root and this
//! user have written it, and does it fit into memory? Then the snapshot's own verification decides,
//! as at every load. Trust is judged on the open file, not on its name.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sa_answer::access::LAST_PUBLIC_KEY;
use sa_compiler::watch::Watch;
use sa_fabric::intake::{self, Intake, Kind, ReadError};
use sa_snapshot::{EpochId, LoadError, Snapshot};
use sa_text::Remark;
use thiserror::Error;

use super::rings::{self, Unanswered};
use crate::config::Config;
use crate::trial::{self, TrialError};

/// A snapshot that was compiled elsewhere and cannot be served.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CopyError {
    /// It takes more memory than is left.
    #[error(transparent)]
    Trial(#[from] TrialError),
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Others could have written it.
    #[error("{}: {source}", path.display())]
    Untrusted {
        /// Which file.
        path: PathBuf,
        /// Who.
        source: Untrusted,
    },
    /// It is no snapshot, or a damaged one.
    #[error("{}: {source}", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        source: LoadError,
    },
    /// Clients of a ring get no answer from it.
    #[error(transparent)]
    Ring(#[from] Unanswered),
}

/// A file that others than root and this user may have written: whoever does could send every
/// connection of this host elsewhere.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Untrusted {
    /// It is another user's.
    #[error(
        "the file belongs to user {uid}, who could send every connection of this host elsewhere; \
         chown it to root or to the user of sapphired"
    )]
    Foreign {
        /// Whose.
        uid: u32,
    },
    /// Its group or everybody may write it.
    #[error("others than its owner may write the file; chmod go-w it")]
    Writable,
}

/// Reads a snapshot file into memory: it may be written over while it serves.
///
/// Errors: it cannot be read, is damaged, or is open to others than root and this user.
pub(crate) fn read(config: &Config) -> Result<Snapshot, CopyError> {
    // By its size alone: nothing of an untrusted file is parsed before it is trusted.
    trial::attempt(config, Watch::default())?;
    let path = &config.fabric.path;
    // Opened once: what is judged is what is read.
    let (file, about) = intake::open(path)?;
    trusted(&about).map_err(|source| CopyError::Untrusted {
        path: path.clone(),
        source,
    })?;
    let bytes = Intake::new(config.limits).read_open(Kind::Snapshot, path, (file, about))?;
    Snapshot::from_bytes(&bytes).map_err(|source| CopyError::Damaged {
        path: path.clone(),
        source,
    })
}

/// Errors: others may have written the file. The directory is not judged: who can replace the file
/// there owns it then, which shows here.
pub(crate) fn trusted(about: &Metadata) -> Result<(), Untrusted> {
    let own = rustix::process::geteuid().as_raw();
    let uid = about.uid();
    if uid != 0 && uid != own {
        return Err(Untrusted::Foreign { uid });
    }
    if about.mode() & 0o022 != 0 {
        return Err(Untrusted::Writable);
    }
    Ok(())
}

/// What a file holds, and what an operator should know of it, for `--check`. Errors: as [`read`];
/// clients of rings get no answer from it.
pub(crate) fn check(config: &Config) -> Result<(Vec<Remark>, String), CopyError> {
    let path = &config.fabric.path;
    let snapshot = read(config)?;
    rings::check_answers(config, &snapshot)?;
    let warnings = secret(&snapshot, path).into_iter().collect();
    Ok((warnings, summary(&snapshot.info())))
}

/// What to say of a key in a copy: a host needs no SA key to answer its kernel. None where there is
/// no secret in it.
pub(crate) fn secret(snapshot: &Snapshot, path: &Path) -> Option<Remark> {
    let is_secret = snapshot.subnet().sa_key > LAST_PUBLIC_KEY;
    is_secret.then(|| {
        let text = "the SA's secret key is inside, which this host does not need; copy what \
                    `sapphire snapshot export --public FILE -o COPY` writes instead, and change \
                    sa_key if others have read this one";
        Remark::warning("secret-key-in-copy", text).in_file(path)
    })
}

/// What a snapshot holds, for people.
pub(crate) fn summary(info: &sa_snapshot::SnapshotInfo) -> String {
    format!(
        "a snapshot of {} switches and {} hosts, epoch {}, digest {:016x}",
        info.switches,
        info.hosts,
        EpochId::raw(info.epoch),
        info.digest
    )
}
