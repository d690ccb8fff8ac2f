//! The way back to the snapshot before.

use core::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::Instant;

use sa_compiler::state::Parts;
use sa_fastpath::publish::Published;
use sa_snapshot::Snapshot;
use tracing::{info, warn};

use crate::server::operators::board::History;
use crate::server::operators::control::Refusal;
use crate::server::{Server, State};

/// A snapshot that was in service, with what it was compiled from.
pub(in crate::server) struct Before {
    published: Arc<Published>,
    parts: Arc<Parts>,
    read_at: Instant,
}

/// What a rollback returns to, and what holds it.
#[derive(Default)]
pub(in crate::server) struct Past {
    before: Option<Before>,
    /// Epoch in service since a rollback.
    held: Option<u64>,
}

impl Server<'_> {
    /// Whether a rollback holds: what reloads by itself must wait for an operator's reload.
    pub(in crate::server) const fn is_held(&self) -> bool {
        self.past.held.is_some()
    }

    /// Holds what goes into service next.
    pub(in crate::server) fn hold(&mut self) {
        self.past.held = Some(self.publisher.next_epoch().get());
    }

    /// To be called before a snapshot of the sources goes into service: the one in service becomes
    /// the one before, unless they say the same.
    pub(in crate::server) fn pass_on(&mut self, next: &Snapshot) {
        if self.past.held.take().is_some() {
            info!("the rollback ends: the sources are in service again");
        }
        // Nobody could ask for it.
        if self.config.control.is_none() {
            return;
        }
        if let Some(before) = self.in_service()
            && !is_same(&before.published.snapshot, next)
        {
            self.past.before = Some(before);
        }
    }

    /// Puts the snapshot before into service, under a new epoch; the one in service becomes the one
    /// before. Gives both epochs, old content first. Errors: there is none.
    pub(in crate::server) fn roll_back(&mut self) -> Result<(u64, u64), Refusal> {
        let before = self.past.before.as_ref();
        let before = before.ok_or_else(|| Refusal::failed(NO_WAY_BACK))?;
        let (returned, parts) = (Arc::clone(&before.published), Arc::clone(&before.parts));
        let read_at = before.read_at;
        let current = self.in_service();
        let snapshot = self
            .renewed(&parts, &returned.snapshot)
            .ok_or_else(|| Refusal::failed("the snapshot before cannot be used; see the log"))?;
        // First, so that the state directory says so.
        self.hold();
        let epoch = self.publish(parts, snapshot, read_at).get();
        self.past.before = current;
        self.board.counts.rollbacks.fetch_add(1, Ordering::Relaxed);
        self.remember();
        let of = returned.epoch.get();
        warn!(
            epoch,
            of, "rolled back; automatic reloads wait until `sapphire reload` or SIGHUP"
        );
        Ok((of, epoch))
    }

    /// Writes up what may be rolled back.
    pub(in crate::server) fn remember(&self) {
        let before = self.past.before.as_ref();
        self.board.remember(History {
            previous: before.map(|before| before.published.epoch.get()),
            held: self.past.held,
        });
    }

    fn in_service(&self) -> Option<Before> {
        let state: Arc<State> = self.state.load_full()?;
        let published = Arc::clone(self.publisher.current()?);
        let read_at = self.readings.of(state.epoch)?;
        (published.epoch.get() == state.epoch).then(|| Before {
            published,
            read_at,
            parts: Arc::clone(&state.parts),
        })
    }
}

/// Whether two snapshots hold the same but for their stamps.
fn is_same(one: &Snapshot, other: &Snapshot) -> bool {
    if one.as_bytes().len() != other.as_bytes().len() {
        return false;
    }
    let aliases: Vec<(u64, u64)> = one
        .aliases()
        .map(|alias| (u64::from_be_bytes(alias.guid), one.port(alias.port).guid()))
        .collect();
    let info = other.info();
    let stamped = one.with_aliases(&aliases, info.epoch, info.built_unix);
    stamped.is_ok_and(|stamped| stamped.as_bytes() == other.as_bytes())
}

const NO_WAY_BACK: &str = "there is no snapshot to go back to: nothing else was in service since \
                           the daemon started";
