//! What goes into service, and what of it outlives a restart.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use sa_answer::access::LAST_PUBLIC_KEY;
use sa_compiler::pipeline;
use sa_compiler::state::Parts;
use sa_fastpath::publish::EpochId;
use sa_snapshot::{SharedBytes, Snapshot};
use tracing::{error, info, warn};

use crate::config::{AccessRule, Source};
use crate::server::kept::Mark;
use crate::server::{STATE_FILE, Server, State};

impl Server<'_> {
    /// Serves the last good snapshot of an earlier run until the sources were read again.
    pub(in crate::server) fn warm_start(&mut self) {
        let Some(snapshot) = self.earlier.snapshot.take() else {
            return;
        };
        info!(
            file = STATE_FILE,
            "serving the last snapshot while sources are read"
        );
        // Beside OpenSM LIDs may have changed meanwhile: it is asked first, whatever was rolled back.
        if self.earlier.held && self.config.fabric.source != Source::OpenSm {
            self.hold();
            warn!(
                "a rollback had put it into service before the restart; it stays until `sapphire \
                 reload` or SIGHUP"
            );
        }
        let epoch = self.put_into_service(snapshot, None, Instant::now());
        self.remember();
        self.announce(epoch);
    }

    /// Puts a snapshot into service, with what it was compiled from, and when that was read.
    pub(in crate::server) fn publish(
        &mut self,
        parts: Arc<Parts>,
        snapshot: Snapshot,
        read_at: Instant,
    ) -> EpochId {
        let epoch = self.publisher.next_epoch().get();
        // Before the snapshot, so that whoever has that finds these.
        self.state.store(Some(Arc::new(State { epoch, parts })));
        let file = snapshot.shared_bytes();
        self.put_into_service(snapshot, Some(file), read_at)
    }

    /// The same of one that came from elsewhere; `file` is to be kept for a restart.
    pub(in crate::server) fn put_into_service(
        &mut self,
        snapshot: Snapshot,
        file: Option<SharedBytes>,
        read_at: Instant,
    ) -> EpochId {
        let epoch = self.publisher.next_epoch().get();
        if let Some(shelf) = &self.shelf {
            let mark = Mark {
                epoch,
                digest: snapshot.digest(),
                held: self.is_held(),
            };
            // Before anybody is answered from it: a crash must not take the epoch back.
            shelf.put(mark, file);
        }
        self.readings.began(epoch, read_at);
        self.follow_in_rings(&snapshot);
        let epoch = self.publisher.publish(snapshot);
        if let Some(current) = self.publisher.current() {
            self.board.published(epoch.get(), &current.snapshot);
        }
        epoch
    }

    /// Takes the requester of rings from a snapshot, before that is in service.
    fn follow_in_rings(&self, snapshot: &Snapshot) {
        let rings = self.rings.lock().unwrap_or_else(PoisonError::into_inner);
        for ring in rings.iter() {
            let muted = ring.follow(snapshot);
            if let Some(why) = &muted {
                error!("{why}");
            }
            self.board.mute(ring.port(), muted);
        }
    }

    /// A snapshot that has the alias GUIDs of the files, with those that clients have set besides.
    pub(in crate::server) fn with_aliases_of_clients(
        &mut self,
        parts: &Parts,
        snapshot: Snapshot,
    ) -> Snapshot {
        self.served_aliases = self.aliases.load_full();
        if self.served_aliases.is_empty() {
            return snapshot;
        }
        let now = pipeline::unix_time();
        self.with_all_aliases(parts, &snapshot, now)
            .unwrap_or(snapshot)
    }

    /// Publishes the snapshot in service again when clients have changed alias GUIDs.
    pub(in crate::server) fn follow_aliases(&mut self) {
        if self.served_aliases == self.aliases.load_full() {
            return;
        }
        let (Some(state), Some(current)) = (self.state.load_full(), self.publisher.current())
        else {
            return;
        };
        let (parts, current) = (Arc::clone(&state.parts), Arc::clone(current));
        let Some(read_at) = self.readings.of(current.epoch.get()) else {
            return;
        };
        self.served_aliases = self.aliases.load_full();
        let now = pipeline::unix_time();
        let Some(snapshot) = self.with_all_aliases(&parts, &current.snapshot, now) else {
            return;
        };
        let epoch = self.publish(parts, snapshot, read_at);
        info!(%epoch, aliases = self.served_aliases.len(), "alias GUIDs of clients");
    }

    /// What was in service before as the next one: with the alias GUIDs of now, and as old as it
    /// is. None as [`Self::with_all_aliases`].
    pub(in crate::server) fn renewed(
        &mut self,
        parts: &Parts,
        snapshot: &Snapshot,
    ) -> Option<Snapshot> {
        self.served_aliases = self.aliases.load_full();
        let built = snapshot.info().built_unix;
        self.with_all_aliases(parts, snapshot, built)
    }

    /// The same with the alias GUIDs of files and clients and no others. None, with the reason in
    /// the log, where they contradict the fabric.
    fn with_all_aliases(
        &self,
        parts: &Parts,
        snapshot: &Snapshot,
        built_unix: u64,
    ) -> Option<Snapshot> {
        let all: BTreeMap<u64, u64> = parts
            .aliases
            .iter()
            .chain(self.served_aliases.iter())
            .filter(|(_, port)| parts.subnet.by_guid(*port).is_some())
            .map(|(alias, port)| (alias.get(), port.get()))
            .collect();
        let all: Vec<(u64, u64)> = all.into_iter().collect();
        let epoch = self.publisher.next_epoch().get();
        let with = snapshot.with_aliases(&all, epoch, built_unix);
        with.inspect_err(|error| {
            error!("alias GUIDs that clients have set are not in service: {error}");
        })
        .ok()
    }

    /// Says so when the SA key is no secret.
    pub(in crate::server) fn judge_key(&self, key: u64) {
        if key > LAST_PUBLIC_KEY {
            return;
        }
        let but = match self.config.sa.access {
            AccessRule::OpenSm => "",
            AccessRule::Strict => " (access = \"strict\" does not trust it)",
        };
        warn!(
            "sa_key is {key}, which everybody knows: whoever sends it reads P_Key tables and what is \
             personal; set sa_key in opensm.conf{but}"
        );
    }
}
