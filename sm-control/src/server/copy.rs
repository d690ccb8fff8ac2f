//! A snapshot that was compiled elsewhere, put into service as it is.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use sa_fabric::intake::{self, Intake, Kind};
use sa_fastpath::access::LAST_PUBLIC_KEY;
use sa_snapshot::Snapshot;
use sa_source::When;
use tracing::{info, warn};

use super::Server;
use super::ring;
use super::sources::{self, Fingerprint};
use crate::config::Config;
use crate::trial;

impl Server<'_> {
    /// Reads the file and puts it into service; on failure the snapshot in service stays.
    pub(super) fn load_copy(&mut self, when: When, cause: &str) -> bool {
        let config = self.config;
        let look = || Fingerprint::of(config);
        let settled = sources::settled(look, || read(config));
        let (tried, snapshot) = settled.unzip();
        self.tried = tried;
        let snapshot = snapshot.unwrap_or_else(|| Err(super::UNSETTLED.to_owned()));
        match snapshot {
            Ok(snapshot) => {
                if when == When::Always || self.is_new(&snapshot) {
                    self.take_copy(snapshot, cause);
                }
                self.last_failure = None;
                true
            }
            Err(failure) => {
                self.report_failure(&failure, cause);
                false
            }
        }
    }

    fn is_new(&self, snapshot: &Snapshot) -> bool {
        let current = self.publisher.current();
        current.is_none_or(|current| current.snapshot.digest() != snapshot.digest())
    }

    fn take_copy(&mut self, snapshot: Snapshot, cause: &str) {
        let info = snapshot.info();
        if !self.loaded
            && let Some(warning) = secret(&snapshot, &self.config.fabric.path)
        {
            warn!("{warning}");
        }
        // What it was compiled from is not at hand.
        self.state.store(None);
        let epoch = self.put_into_service(snapshot, None, self.looked);
        info!(
            %epoch,
            cause,
            "{}",
            summary(&info)
        );
        self.loaded = true;
        self.board.loaded();
        self.remember();
        self.announce(epoch);
    }
}

/// Reads a snapshot file into memory: it may be written over while it serves.
///
/// Errors, in words: it cannot be read, is damaged, or is open to others than root and this user,
/// who could send every connection of this host elsewhere.
fn read(config: &Config) -> Result<Snapshot, String> {
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
pub(super) fn trusted(about: &Metadata) -> Result<(), String> {
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
pub(super) fn check(config: &Config) -> Result<(Vec<String>, String), String> {
    let path = &config.fabric.path;
    let snapshot = read(config)?;
    ring::check_answers(config, &snapshot)?;
    let warnings = secret(&snapshot, path).into_iter().collect();
    Ok((warnings, summary(&snapshot.info())))
}

/// What to say of a key in a copy.
fn secret(snapshot: &Snapshot, path: &Path) -> Option<String> {
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

fn summary(info: &sa_snapshot::SnapshotInfo) -> String {
    format!(
        "a snapshot of {} switches and {} hosts, epoch {}, digest {:016x}",
        info.switches, info.hosts, info.epoch, info.digest
    )
}
