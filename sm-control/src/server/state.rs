//! What a snapshot was compiled from, shared by the thread that loads with those that answer.
//!
//! The snapshot itself goes by the publisher of the fast path. What it came from is for the slow lane,
//! for the comparison with the SM and for the shadow, and goes by a slot of its own, filled before the
//! snapshot is published: whoever holds a snapshot finds the state of the same epoch, or none while
//! the next is about to come, and never another's.
//!
//! ```text
//!  loader:     state slot <- (8, parts)     publisher <- snapshot 8
//!  a reader in between, with snapshot 7: what it got before for 7 it keeps; asking now it gets none
//!  a reader afterwards, with snapshot 8: (8, parts)
//! ```

use std::sync::Arc;

use arc_swap::{ArcSwap, ArcSwapOption};
use sa_compiler::state::FabricState;
use sa_snapshot::EpochId;
use sa_wire::Guid;

/// The fabric, policy and tables that a snapshot was compiled from. It is far larger than the
/// snapshot, so who needs it only for a moment must not keep it.
pub(super) struct State {
    /// The snapshot's.
    pub(super) epoch: EpochId,
    pub(super) parts: Arc<FabricState>,
}

/// The newest [`State`]; empty where the snapshot in service was compiled elsewhere or by an earlier run.
pub(super) type StateInService = ArcSwapOption<State>;

/// What the snapshot of that epoch was compiled from; none while the newest is another's. Epochs
/// are compared, never pointers: the two slots are swapped one after the other.
pub(super) fn state_of(newest: &StateInService, epoch: EpochId) -> Option<Arc<State>> {
    newest.load_full().filter(|state| state.epoch == epoch)
}

/// Alias GUIDs that clients have set, each with the GUID of its port. Shape: ascending.
pub(super) type AliasesOfClients = ArcSwap<Vec<(Guid, Guid)>>;
