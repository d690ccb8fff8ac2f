//! What goes into service, and what of it outlives a restart.
//!
//! The order of a publication is a promise to several threads. The state goes before the snapshot,
//! so that whoever has a snapshot finds what it was compiled from. The state directory notes the
//! epoch before anybody is answered from it, so that a crash never takes the epoch back. The
//! requesters of rings are taken from it before it serves, so that no client is judged by the
//! fabric before.
//!
//! ```text
//!  publish_parts   state slot <- parts                      before the snapshot
//!  put_into_service
//!    1  state directory: snapshot, mark                     waits 500 ms at most
//!    2  readings: epoch, when its sources were read
//!    3  rings: LID of the requester
//!    4  publisher: the one pointer                          from here on it answers
//!    5  status
//! ```

use std::sync::{Arc, PoisonError};
use std::time::Instant;

use sa_compiler::pipeline::{Stamp, unix_time};
use sa_compiler::state::FabricState;
use sa_fastpath::publish::{EpochId, NO_GENERATION, Publisher};
use sa_page::events::Level;
use sa_snapshot::{SharedBytes, Snapshot};
use thiserror::Error;
use tracing::{error, info, warn};

use super::aliases::Aliases;
use super::compiled::{Compiled, New, Outlook};
use super::history::{Before, History};
use super::reading::Readings;
use crate::config::{Config, Source};
use crate::server::STATE_FILE;
use crate::server::fleet::Followed;
use crate::server::operators::counts::Event;
use crate::server::operators::status::Status;
use crate::server::services::Rings;
use crate::server::state::{
    self, AliasesOfClients, BeforeInService, SetByClients, State, StateInService,
};
use crate::server::state_directory::{EarlierRun, Mark, StateDirectory};

/// Whoever else reads what goes into service, and what an earlier run left of it. Made at the start
/// and handed over.
pub(in crate::server) struct Outlets {
    /// The one slot that workers follow.
    pub(in crate::server) publisher: Publisher,
    pub(in crate::server) state: Arc<StateInService>,
    pub(in crate::server) before: Arc<BeforeInService>,
    pub(in crate::server) readings: Readings,
    /// Where the slow lane puts what clients have set.
    pub(in crate::server) aliases: Arc<AliasesOfClients>,
    /// Where it puts who is in which group.
    pub(in crate::server) groups: Arc<SetByClients>,
    /// To be told their requester.
    pub(in crate::server) rings: Rings,
    /// None without a directory, or where it cannot be used.
    pub(in crate::server) state_directory: Option<StateDirectory>,
}

/// What is in service, and the only hand that changes it.
pub(super) struct Publication {
    publisher: Publisher,
    state: Arc<StateInService>,
    before: Arc<BeforeInService>,
    readings: Readings,
    aliases: Aliases,
    rings: Rings,
    state_directory: Option<StateDirectory>,
    /// The way back.
    history: History,
    /// The snapshot in service comes from the sources, not from an earlier run.
    is_loaded: bool,
    status: Arc<Status>,
}

/// Why there is no way back.
#[derive(Debug, Error, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoRollback {
    #[error(
        "there is no snapshot to go back to: nothing else was in service since the daemon started"
    )]
    Nothing,
    /// Something was published since it was looked at.
    #[error("a rollback returns to epoch {now} by now; look at it again")]
    Another {
        /// What it would return to.
        now: EpochId,
    },
    /// Its alias GUIDs contradict it.
    #[error("the snapshot before cannot be used; see the log")]
    Unusable,
}

/// A rollback that was done. Two epochs, because a content never comes back under its old one.
pub(super) struct RolledBack {
    /// Under which the content was in service before.
    pub(super) of: EpochId,
    /// Under which it is now.
    pub(super) epoch: EpochId,
}

impl Publication {
    pub(super) fn new(config: &Config, outlets: Outlets, status: Arc<Status>) -> Self {
        Self {
            publisher: outlets.publisher,
            state: outlets.state,
            before: outlets.before,
            readings: outlets.readings,
            aliases: Aliases::new(outlets.aliases),
            rings: outlets.rings,
            state_directory: outlets.state_directory,
            history: History::new(config),
            is_loaded: false,
            status,
        }
    }

    /// True once the sources are in service; false with nothing or the snapshot of an earlier run.
    pub(super) const fn is_loaded(&self) -> bool {
        self.is_loaded
    }

    /// Whether a rollback holds: what reloads by itself must wait for an operator's reload.
    pub(super) const fn is_held(&self) -> bool {
        self.history.is_held()
    }

    /// Of the snapshot in service; none where there is none.
    pub(super) fn epoch(&self) -> Option<EpochId> {
        self.publisher.current().map(|current| current.epoch)
    }

    /// In service; none where there is none.
    pub(super) fn snapshot(&self) -> Option<&Snapshot> {
        self.publisher.current().map(|current| &current.snapshot)
    }

    /// What the next snapshot is to be told from.
    pub(super) fn outlook(&self) -> Outlook {
        let current = self.publisher.current();
        Outlook {
            epoch: self.publisher.next_epoch(),
            digest: current.map(|current| current.snapshot.digest()),
        }
    }

    /// Frees what was in service and that nobody holds any more. Workers note the epoch that they
    /// hold; see ADR 8.
    pub(super) fn reclaim(&mut self) {
        self.publisher.reclaim();
    }

    /// Serves the last good snapshot of an earlier run until the sources were read; none where it
    /// left none that is to be trusted.
    pub(super) fn warm_start(&mut self, config: &Config, earlier: EarlierRun) -> Option<EpochId> {
        // What it was announced as is not known any more, so nobody could be answered from it.
        let is_followed = config.fabric.source == Source::Fleet;
        let snapshot = earlier.snapshot.filter(|_| !is_followed)?;
        info!(
            file = STATE_FILE,
            "serving the last snapshot while sources are read"
        );
        // Beside OpenSM LIDs may have changed meanwhile: it is asked first, whatever was rolled back.
        if earlier.held && config.fabric.source != Source::OpenSm {
            self.hold_next();
            warn!(
                "a rollback had put it into service before the restart; it stays until `sapphire \
                 reload` or SIGHUP"
            );
        }
        let epoch = self.put_into_service((snapshot, NO_GENERATION), None, Instant::now());
        self.tell_history();
        Some(epoch)
    }

    /// Puts what was compiled into service, from sources that were read at `read_at`. None where
    /// that is what is in service already: no new epoch then, and no reader notices.
    pub(super) fn publish(&mut self, compiled: Compiled, read_at: Instant) -> Option<EpochId> {
        let epoch = match compiled {
            Compiled::AsBefore => {
                self.confirm(read_at);
                return None;
            }
            Compiled::SameCopy => return None,
            Compiled::New(new) => self.publish_new(*new, read_at),
            Compiled::Copy(snapshot) => {
                // What it was compiled from is not at hand.
                self.state.store(None);
                self.put_into_service((*snapshot, NO_GENERATION), None, read_at)
            }
        };
        // From here on files are watched as the configuration has it.
        self.is_loaded = true;
        self.status.loaded();
        self.tell_history();
        Some(epoch)
    }

    /// Puts into service what the fleet has announced, as of its generation.
    pub(super) fn follow(&mut self, followed: Followed, read_at: Instant) -> EpochId {
        let Followed {
            snapshot,
            generation,
        } = followed;
        // What it was compiled from is not at hand.
        self.state.store(None);
        let epoch = self.put_into_service((*snapshot, generation), None, read_at);
        self.is_loaded = true;
        self.status.loaded();
        epoch
    }

    /// Publishes what was compiled, with the alias GUIDs of clients; the one in service becomes the
    /// one before.
    fn publish_new(&mut self, new: New, read_at: Instant) -> EpochId {
        let New {
            snapshot,
            parts,
            findings,
            ..
        } = new;
        let counts = &self.status.counts;
        counts.add_all(Event::EntryChanged, findings.entries_changed);
        let stamp = self.next_stamp(unix_time());
        let snapshot = self.aliases.added(&parts, snapshot, stamp);
        // Asked before the next is published: afterwards the one in service is that.
        let current = self.in_service();
        self.history.pass_on(current, &snapshot);
        self.publish_parts(parts, snapshot, read_at)
    }

    /// The fabric was still as the snapshot in service says at `read_at`, whoever manages it now.
    /// So a fabric that never changes does not grow old for the local service.
    fn confirm(&self, read_at: Instant) {
        // What was put back by hand is not what was read.
        if let Some(current) = self.publisher.current().filter(|_| !self.is_held()) {
            self.readings.began(current.epoch, read_at);
        }
    }

    /// Publishes the snapshot in service again when clients have changed alias GUIDs: a copy with
    /// other alias tables, not a compilation.
    pub(super) fn follow_aliases(&mut self) {
        if !self.aliases.have_changed() {
            return;
        }
        let (Some(state), Some(current)) = (self.state.load_full(), self.publisher.current())
        else {
            return;
        };
        let (parts, current) = (Arc::clone(&state.parts), Arc::clone(current));
        let Some(read_at) = self.readings.of(current.epoch) else {
            return;
        };
        let stamp = self.next_stamp(unix_time());
        let Some(snapshot) = self.aliases.renewed(&parts, &current.snapshot, stamp) else {
            return;
        };
        let epoch = self.publish_parts(parts, snapshot, read_at);
        info!(%epoch, aliases = self.aliases.count(), "alias GUIDs of clients");
    }

    /// Puts the snapshot before into service, under a new epoch; the one in service becomes the one
    /// before. It keeps its age, and has the alias GUIDs of now. Errors: [`NoRollback`].
    ///
    /// `to`: the epoch that it is to return to, where who orders it has seen that.
    pub(super) fn roll_back(&mut self, to: Option<EpochId>) -> Result<RolledBack, NoRollback> {
        let before = self.history.before().cloned().ok_or(NoRollback::Nothing)?;
        if to.is_some_and(|to| to != before.published.epoch) {
            return Err(NoRollback::Another {
                now: before.published.epoch,
            });
        }
        let current = self.in_service();
        let Before {
            published,
            parts,
            read_at,
        } = before;
        let stamp = self.next_stamp(published.snapshot.info().built_unix);
        let snapshot = self.aliases.renewed(&parts, &published.snapshot, stamp);
        let snapshot = snapshot.ok_or(NoRollback::Unusable)?;
        // First, so that the state directory says so.
        self.hold_next();
        let epoch = self.publish_parts(parts, snapshot, read_at);
        // Only now: a rollback that failed must leave the way back as it was.
        self.history.exchange(current);
        self.status.counts.add(Event::RolledBack);
        self.tell_history();
        let of = published.epoch;
        let words = format!("rolled back to what was epoch {of}, as epoch {epoch}");
        self.status.happening.tell(Level::Warning, words);
        warn!(
            epoch = epoch.get(),
            of = of.get(),
            "rolled back; automatic reloads wait until `sapphire reload` or SIGHUP"
        );
        Ok(RolledBack { of, epoch })
    }

    /// Tells others what a rollback returns to by now.
    fn tell_history(&self) {
        let before = self.history.before().map(|before| {
            Arc::new(state::Before {
                published: Arc::downgrade(&before.published),
                parts: Arc::downgrade(&before.parts),
            })
        });
        self.before.store(before);
        self.status.remember(self.history.shown());
    }

    /// Lets the state directory finish what it is writing, for a moment.
    pub(super) fn close(self) {
        if let Some(directory) = self.state_directory {
            directory.close();
        }
    }

    /// The next epoch is that of a rollback.
    fn hold_next(&mut self) {
        self.history.hold(self.publisher.next_epoch());
    }

    /// Number and time of the snapshot that is published next.
    fn next_stamp(&self, built_unix: u64) -> Stamp {
        let epoch = Some(self.publisher.next_epoch());
        Stamp { epoch, built_unix }
    }

    /// The snapshot in service and what it was compiled from, as a rollback would need both. None
    /// where it is not known what it was compiled from.
    fn in_service(&self) -> Option<Before> {
        let state: Arc<State> = self.state.load_full()?;
        let published = Arc::clone(self.publisher.current()?);
        let read_at = self.readings.of(state.epoch)?;
        (published.epoch == state.epoch).then(|| Before {
            published,
            read_at,
            parts: Arc::clone(&state.parts),
        })
    }

    /// Puts a snapshot into service that was compiled here.
    fn publish_parts(
        &mut self,
        parts: Arc<FabricState>,
        snapshot: Snapshot,
        read_at: Instant,
    ) -> EpochId {
        let epoch = self.publisher.next_epoch();
        self.state.store(Some(Arc::new(State { epoch, parts })));
        // Shared with the snapshot that goes into service: the disk needs no copy of its own.
        let file = snapshot.shared_bytes();
        self.put_into_service((snapshot, NO_GENERATION), Some(file), read_at)
    }

    /// `file`: to be kept for a restart; none where it is there already, or belongs elsewhere.
    fn put_into_service(
        &mut self,
        (snapshot, generation): (Snapshot, u64),
        file: Option<SharedBytes>,
        read_at: Instant,
    ) -> EpochId {
        let epoch = self.publisher.next_epoch();
        if let Some(directory) = &self.state_directory {
            let mark = Mark {
                epoch,
                digest: snapshot.digest(),
                held: self.is_held(),
            };
            directory.put(mark, file);
        }
        self.readings.began(epoch, read_at);
        self.follow_in_rings(&snapshot);
        let epoch = self.publisher.publish_as(snapshot, generation);
        if let Some(current) = self.publisher.current() {
            self.status.published(epoch, &current.snapshot);
        }
        epoch
    }

    /// Takes the requester of rings from a snapshot, before that is in service. One that answers
    /// nobody is published all the same: fabric ports need it.
    fn follow_in_rings(&self, snapshot: &Snapshot) {
        let rings = self.rings.lock().unwrap_or_else(PoisonError::into_inner);
        for ring in rings.iter() {
            let muted = ring.follow(snapshot).map(|why| why.to_string());
            if let Some(why) = &muted {
                error!("{why}");
            }
            self.status.mute(ring.port(), muted);
        }
    }
}
