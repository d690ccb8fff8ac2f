//! What a snapshot was compiled from, shared by the thread that loads with those that answer.
//!
//! The snapshot itself goes by the publisher of the fast path. What it came from is for the slow
//! lane, for the comparison with the SM and for the shadow, and goes by a slot of its own, filled
//! before the snapshot is published: whoever holds a snapshot finds the state of the same epoch, or
//! none while the next is about to come, and never another's.
//!
//! ```text
//!  loader:     state slot <- (8, parts)     publisher <- snapshot 8
//!  a reader in between, with snapshot 7: what it got before for 7 it keeps; asking now it gets none
//!  a reader afterwards, with snapshot 8: (8, parts)
//! ```

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use arc_swap::{ArcSwap, ArcSwapOption};
use crossbeam_channel::{Receiver, Sender, bounded};
use sa_compiler::state::FabricState;
use sa_fastpath::publish::Published;
use sa_service::sa_db::{AliasTables, Memberships};
use sa_snapshot::EpochId;
use sa_wire::Guid;

use super::succession::Succession;

/// The fabric, policy and tables that a snapshot was compiled from. It is far larger than the
/// snapshot, so who needs it only for a moment must not keep it.
pub(super) struct State {
    /// The snapshot's.
    pub(super) epoch: EpochId,
    pub(super) parts: Arc<FabricState>,
}

/// The newest [`State`]; empty where the snapshot in service was compiled elsewhere or by an
/// earlier run.
pub(super) type StateInService = ArcSwapOption<State>;

/// What a rollback returns to, for who looks at it for a moment. The loader alone keeps it alive.
pub(super) struct Before {
    pub(super) published: Weak<Published>,
    pub(super) parts: Weak<FabricState>,
}

/// Empty where there is nothing to return to.
pub(super) type BeforeInService = ArcSwapOption<Before>;

/// What the snapshot of that epoch was compiled from; none while the newest is another's. Epochs
/// are compared, never pointers: the two slots are swapped one after the other.
pub(super) fn state_of(newest: &StateInService, epoch: EpochId) -> Option<Arc<State>> {
    newest.load_full().filter(|state| state.epoch == epoch)
}

/// Alias GUIDs that clients have set, each with the GUID of its port. Shape: ascending.
pub(super) type AliasesOfClients = ArcSwap<Vec<(Guid, Guid)>>;

/// What clients have set that devices are programmed for: members of multicast groups, alias GUIDs.
/// The slow lane tells, the thread that loads follows.
pub(super) struct SetByClients {
    members: ArcSwapOption<Memberships>,
    aliases: ArcSwapOption<AliasTables>,
    /// An earlier process has left what clients set.
    are_restored: AtomicBool,
    /// How it comes from one master to the next.
    succession: Arc<Succession>,
    tell: Sender<()>,
    told: Receiver<()>,
}

/// Nothing is known, and nobody was told.
impl Default for SetByClients {
    fn default() -> Self {
        // One that waits stands for all that changed meanwhile.
        let (tell, told) = bounded(1);
        Self {
            members: ArcSwapOption::empty(),
            aliases: ArcSwapOption::empty(),
            are_restored: AtomicBool::new(false),
            succession: Arc::default(),
            tell,
            told,
        }
    }
}

impl SetByClients {
    /// Members of groups are these now. Never waits.
    pub(super) fn set_members(&self, members: Arc<Memberships>) {
        self.members.store(Some(members));
        self.tell();
    }

    /// The GUIDs of ports are these now. Never waits.
    pub(super) fn set_aliases(&self, aliases: Arc<AliasTables>) {
        self.aliases.store(Some(aliases));
        self.tell();
    }

    /// How it comes from one master to the next.
    pub(super) const fn succession(&self) -> &Arc<Succession> {
        &self.succession
    }

    /// Whoever follows looks again.
    pub(super) fn tell(&self) {
        // Full: whoever follows has not looked yet, and will find these.
        let _ = self.tell.try_send(());
    }

    /// What clients had set in an earlier process is here again, so nobody has to be asked for it.
    pub(super) fn restored(&self) {
        // Relaxed: set before any other thread has this.
        self.are_restored.store(true, Ordering::Relaxed);
    }

    /// Whether [`Self::restored`] was said.
    pub(super) fn are_restored(&self) -> bool {
        self.are_restored.load(Ordering::Relaxed)
    }

    /// The GUIDs of ports with aliases, by place. None until they are known.
    pub(super) fn aliases(&self) -> Option<Arc<AliasTables>> {
        self.aliases.load_full()
    }

    /// None until they are known: those of `partitions.conf` come with the first snapshot.
    pub(super) fn members(&self) -> Option<Arc<Memberships>> {
        self.members.load_full()
    }

    /// Where changes are told.
    pub(super) fn changes(&self) -> Receiver<()> {
        self.told.clone()
    }
}
