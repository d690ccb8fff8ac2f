//! A snapshot that was compiled elsewhere, put into service as it is.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use sa_snapshot::Snapshot;
use tracing::info;

use super::Server;
use super::sources::{self, Fingerprint};
use crate::config::Config;
use crate::pipeline::When;

impl Server<'_> {
    /// Reads the file and puts it into service; on failure the snapshot in service stays.
    pub(super) fn load_copy(&mut self, when: When, cause: &str) -> bool {
        let config = self.config;
        let look = || Fingerprint::of(config);
        let settled = sources::settled(look, || read(&config.fabric.path));
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
        // What it was compiled from is not at hand.
        self.state.store(None);
        let epoch = self.put_into_service(snapshot, self.looked);
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
pub(super) fn read(path: &Path) -> Result<Snapshot, String> {
    let at = |problem: &dyn core::fmt::Display| format!("{}: {problem}", path.display());
    let mut file = File::open(path).map_err(|error| at(&error))?;
    let about = file.metadata().map_err(|error| at(&error))?;
    let own = rustix::process::geteuid().as_raw();
    if about.uid() != 0 && about.uid() != own {
        let problem = format!(
            "the file belongs to user {}, who could send every connection of this host elsewhere; \
             chown it to root or to the user of sapphired",
            about.uid()
        );
        return Err(at(&problem));
    }
    if about.mode() & 0o022 != 0 {
        return Err(at(
            &"others than its owner may write the file; chmod go-w it",
        ));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|error| at(&error))?;
    Snapshot::from_bytes(&bytes).map_err(|error| at(&error))
}

/// What a file holds, for `--check`. Errors: as [`read`].
pub(super) fn check(config: &Config) -> Result<String, String> {
    read(&config.fabric.path).map(|snapshot| summary(&snapshot.info()))
}

fn summary(info: &sa_snapshot::SnapshotInfo) -> String {
    format!(
        "a snapshot of {} switches and {} hosts, epoch {}, digest {:016x}",
        info.switches, info.hosts, info.epoch, info.digest
    )
}
