//! Multicast forwarding tables, which change between two states of a fabric.

use std::sync::{Arc, PoisonError, RwLock};

use sa_wire::Lid;
use sa_wire::records::MulticastForwardingTableRecord;

/// What switches hold by now. Whoever programs them sets it; whoever answers looks at it.
#[derive(Debug, Default)]
pub struct MulticastTables(RwLock<Arc<Vec<MulticastForwardingTableRecord>>>);

impl MulticastTables {
    /// They hold this now. Shape: in any order.
    pub fn set(&self, mut tables: Vec<MulticastForwardingTableRecord>) {
        tables.sort_unstable_by_key(|it| (it.lid.get(), it.block(), it.position()));
        // Poisoned: somebody panicked while storing a pointer, which is whole all the same.
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(tables);
    }

    /// The tables of all switches. Shape: by LID, then block, then position.
    pub fn now(&self) -> Arc<Vec<MulticastForwardingTableRecord>> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Those of one switch.
    pub fn of(
        tables: &[MulticastForwardingTableRecord],
        lid: Lid,
    ) -> &[MulticastForwardingTableRecord] {
        let first = tables.partition_point(|it| it.lid.get() < lid.get());
        let own = tables.get(first..).unwrap_or_default();
        let end = own.partition_point(|it| it.lid.get() == lid.get());
        own.get(..end).unwrap_or_default()
    }
}
