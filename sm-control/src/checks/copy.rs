//! Whether a snapshot that was compiled elsewhere can be served.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use sa_answer::access::LAST_PUBLIC_KEY;
use sa_fabric::intake::{self, Intake, Kind};
use sa_snapshot::Snapshot;

use super::rings;
use crate::config::Config;
use crate::trial;

/// Reads a snapshot file into memory: it may be written over while it serves.
///
/// Errors, in words: it cannot be read, is damaged, or is open to others than root and this user,
/// who could send every connection of this host elsewhere.
pub(crate) fn read(config: &Config) -> Result<Snapshot, String> {
    trial::attempt(config)?;
    let path = &config.fabric.path;
    let at = |problem: &dyn core::fmt::Display| format!("{}: {problem}", path.display());
    let (file, about) = intake::open(path).map_err(|error| error.to_string())?;
    trusted(&about).map_err(|problem| at(&problem))?;
    let bytes = Intake::new(config.limits).read_open(Kind::Snapshot, path, (file, about));
    let bytes = bytes.map_err(|error| error.to_string())?;
    Snapshot::from_bytes(&bytes).map_err(|error| at(&error))
}

/// Errors: others may have written the file.
pub(crate) fn trusted(about: &Metadata) -> Result<(), String> {
    let own = rustix::process::geteuid().as_raw();
    if about.uid() != 0 && about.uid() != own {
        return Err(format!(
            "the file belongs to user {}, who could send every connection of this host elsewhere; \
             chown it to root or to the user of sapphired",
            about.uid()
        ));
    }
    if about.mode() & 0o022 != 0 {
        return Err("others than its owner may write the file; chmod go-w it".to_owned());
    }
    Ok(())
}

/// What a file holds, and what an operator should know of it, for `--check`. Errors: as [`read`];
/// clients of rings get no answer from it.
pub(crate) fn check(config: &Config) -> Result<(Vec<String>, String), String> {
    let path = &config.fabric.path;
    let snapshot = read(config)?;
    rings::check_answers(config, &snapshot)?;
    let warnings = secret(&snapshot, path).into_iter().collect();
    Ok((warnings, summary(&snapshot.info())))
}

/// What to say of a key in a copy.
pub(crate) fn secret(snapshot: &Snapshot, path: &Path) -> Option<String> {
    let is_secret = snapshot.subnet().sa_key > LAST_PUBLIC_KEY;
    is_secret.then(|| {
        format!(
            "{}: the SA's secret key is inside, which this host does not need; copy what `sapphire \
             snapshot export --public FILE -o COPY` writes instead, and change sa_key if others have \
             read this one",
            path.display()
        )
    })
}

/// What a snapshot holds, for people.
pub(crate) fn summary(info: &sa_snapshot::SnapshotInfo) -> String {
    format!(
        "a snapshot of {} switches and {} hosts, epoch {}, digest {:016x}",
        info.switches, info.hosts, info.epoch, info.digest
    )
}
