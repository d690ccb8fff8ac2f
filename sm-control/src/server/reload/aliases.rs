//! Alias GUIDs that clients have set, in the snapshots that go into service.
//!
//! The files name some, and those are compiled in. Clients set others at any time, which the state
//! store of the slow lane keeps; a snapshot gets them by a copy with other alias tables, which
//! takes a fraction of a compilation.
//!
//! ```text
//!  files name   7 -> port a            compiled in: snapshot 3
//!  a client sets 9 -> port a           snapshot 4: a copy of 3 with both
//!  a client deletes it                 snapshot 5: a copy of 4 with 7 alone
//!  files change                        snapshot 6: compiled, then a copy with what clients have now
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use sa_compiler::pipeline::Stamp;
use sa_compiler::state::FabricState;
use sa_snapshot::Snapshot;
use sa_wire::Guid;
use tracing::error;

use crate::server::state::AliasesOfClients;

/// Which of them are to be in service, and which are. The files' own are not in here: those are
/// compiled in.
pub(super) struct Aliases {
    set: Arc<AliasesOfClients>,
    served: Arc<Vec<(Guid, Guid)>>,
}

impl Aliases {
    /// None is in service yet. `set`: where the slow lane puts them.
    pub(super) fn new(set: Arc<AliasesOfClients>) -> Self {
        let served = Arc::default();
        Self { set, served }
    }

    /// Clients have changed them since a snapshot took them. One comparison of two lists.
    pub(super) fn have_changed(&self) -> bool {
        self.served != self.set.load_full()
    }

    /// How many are in service.
    pub(super) fn count(&self) -> usize {
        self.served.len()
    }

    /// A snapshot of the sources, with those of clients.
    pub(super) fn added(
        &mut self,
        parts: &FabricState,
        snapshot: Snapshot,
        stamp: Stamp,
    ) -> Snapshot {
        self.served = self.set.load_full();
        if self.served.is_empty() {
            return snapshot;
        }
        self.all(parts, &snapshot, stamp).unwrap_or(snapshot)
    }

    /// A snapshot that was in service before, with those of the files and of clients as they are
    /// now. None, with the reason in the log, where they contradict the fabric.
    pub(super) fn renewed(
        &mut self,
        parts: &FabricState,
        snapshot: &Snapshot,
        stamp: Stamp,
    ) -> Option<Snapshot> {
        self.served = self.set.load_full();
        self.all(parts, snapshot, stamp)
    }

    /// The snapshot with the aliases of files and clients. Those of ports that are not in the
    /// fabric are left out: their ports may come back.
    fn all(&self, parts: &FabricState, snapshot: &Snapshot, stamp: Stamp) -> Option<Snapshot> {
        let all: BTreeMap<Guid, Guid> = parts
            .aliases
            .iter()
            .chain(self.served.iter())
            .filter(|(_, port)| parts.subnet.by_guid(*port).is_some())
            .copied()
            // Sorted, each once: where both name one alias, the client's word is the later one.
            .collect();
        let all: Vec<(Guid, Guid)> = all.into_iter().collect();
        let with = snapshot.with_aliases(&all, stamp.epoch, stamp.built_unix);
        with.inspect_err(|error| {
            error!("alias GUIDs that clients have set are not in service: {error}");
        })
        .ok()
    }
}
