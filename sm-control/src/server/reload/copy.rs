//! A snapshot that was compiled elsewhere, put into service as it is.

use sa_snapshot::Snapshot;
use sa_source::When;
use tracing::{info, warn};

use super::sources::{self, Fingerprint};
use crate::checks::copy::{read, secret, summary};
use crate::server::Server;

impl Server<'_> {
    /// Reads the file and puts it into service; on failure the snapshot in service stays.
    pub(in crate::server) fn load_copy(&mut self, when: When, cause: &str) -> bool {
        let config = self.config;
        let look = || Fingerprint::of(config);
        let settled = sources::settled(look, || read(config));
        let (tried, snapshot) = settled.unzip();
        self.tried = tried;
        let snapshot = snapshot.unwrap_or_else(|| Err(crate::server::UNSETTLED.to_owned()));
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
