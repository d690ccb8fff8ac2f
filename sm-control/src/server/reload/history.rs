//! The way back: the snapshot that was in service before, and whether an operator has gone back to
//! it.
//!
//! ```text
//!  publish A, B, C        before: B            in service: C
//!  rollback               before: C            in service: B again, under a new epoch, held
//!  rollback               before: B            in service: C again: back and forth
//!  reload                 before: B or C       in service: D, not held
//! ```
//!
//! One step back, not a list: a snapshot and the state that it was compiled from take most of a
//! daemon's memory. A snapshot that says the same as the one before takes no step, so that a reload
//! without a change does not make a rollback pointless.

use std::sync::Arc;
use std::time::Instant;

use sa_compiler::state::FabricState;
use sa_fastpath::publish::Published;
use sa_snapshot::{EpochId, Snapshot};
use sa_wire::Guid;
use tracing::info;

use crate::config::Config;
use crate::server::operators::status::Rollback;

/// A snapshot that was in service, with what it was compiled from, and how old that was.
#[derive(Clone)]
pub(super) struct Before {
    pub(super) published: Arc<Published>,
    pub(super) parts: Arc<FabricState>,
    pub(super) read_at: Instant,
}

/// What a rollback returns to, and what holds it.
pub(super) struct History {
    before: Option<Before>,
    /// Epoch that a rollback put into service, while it holds; none in ordinary times.
    held: Option<EpochId>,
    /// Somebody could ask for a rollback: else nothing is kept, which takes memory.
    is_kept: bool,
}

impl History {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            before: None,
            held: None,
            is_kept: config.control.is_some()
                || config
                    .http
                    .as_ref()
                    .is_some_and(|http| http.token_file.is_some()),
        }
    }

    /// Whether a rollback holds: what reloads by itself must wait for an operator's reload.
    pub(super) const fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// A rollback puts this epoch into service next.
    pub(super) const fn hold(&mut self, epoch: EpochId) {
        self.held = Some(epoch);
    }

    /// What a rollback returns to; none where nothing was in service before.
    pub(super) const fn before(&self) -> Option<&Before> {
        self.before.as_ref()
    }

    /// A snapshot of the sources goes into service in place of `current`, which becomes the one
    /// before, unless both say the same.
    pub(super) fn pass_on(&mut self, current: Option<Before>, next: &Snapshot) {
        if self.held.take().is_some() {
            info!("the rollback ends: the sources are in service again");
        }
        // Without a control socket or a token nobody could ask for it, and it would take as much memory as
        // what is in service.
        if !self.is_kept {
            return;
        }
        if let Some(current) = current
            && !is_same(&current.published.snapshot, next)
        {
            self.before = Some(current);
        }
    }

    /// The one before is in service again, in place of `current`.
    pub(super) fn exchange(&mut self, current: Option<Before>) {
        self.before = current;
    }

    /// What operators see of it.
    pub(super) fn shown(&self) -> Rollback {
        let before = self.before.as_ref();
        Rollback {
            previous: before.map(|before| before.published.epoch),
            held: self.held,
        }
    }
}

/// Whether two snapshots hold the same but for their stamps: epoch and time are put into a copy,
/// and the bytes compared.
fn is_same(one: &Snapshot, other: &Snapshot) -> bool {
    // Most that differ do so in length, and a copy of a large snapshot costs milliseconds.
    if one.as_bytes().len() != other.as_bytes().len() {
        return false;
    }
    let aliases = one.aliases().map(|alias| {
        let guid = Guid::new(u64::from_be_bytes(alias.guid)).ok()?;
        Some((guid, one.port(alias.port).guid()?))
    });
    let Some(aliases) = aliases.collect::<Option<Vec<(Guid, Guid)>>>() else {
        return false;
    };
    let info = other.info();
    let stamped = one.with_aliases(&aliases, info.epoch, info.built_unix);
    stamped.is_ok_and(|stamped| stamped.as_bytes() == other.as_bytes())
}
