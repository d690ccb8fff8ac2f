//! How many forwarding entries one routing changes of another.

use std::collections::HashMap;
use std::ptr;

use sa_wire::{Guid, Lid};

use super::routes::Routes;
use crate::parallel;
use crate::topology::{EndPort, SwitchIx, Topology};

/// Forwarding entries that differ between two routings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ChangedEntries {
    /// How many, in switches that are in both fabrics and for LIDs that are in use afterwards: an entry
    /// for a host that is gone changes nothing for anybody.
    pub entries: u64,
    /// Switches that have some.
    pub switches: usize,
}

/// Counts what one routing changes of another. Switches are told by their GUIDs.
/// Cost: O(switches x LIDs) on all cores; nothing for tables that lie in the same memory.
pub fn changed_entries(
    before: (&Topology, &Routes),
    after: (&Topology, &Routes),
) -> ChangedEntries {
    let lids: Vec<usize> = after
        .0
        .end_ports
        .iter()
        .flat_map(EndPort::lids)
        .map(Lid::index)
        .collect();
    let common = common_switches(before.0, after.0);
    let work = common.len() * lids.len();
    let parts = parallel::over_range(common.len(), work, |range| {
        let mut found = ChangedEntries::default();
        for (old, new) in &common[range] {
            let (was, is) = (before.1.lft(*old), after.1.lft(*new));
            // Far quicker than entry by entry, and nearly all tables are equal.
            if ptr::eq(was, is) || was == is {
                continue;
            }
            // A LID that one of the tables does not reach differs from one that it has.
            let differ = lids.iter().filter(|lid| was.get(**lid) != is.get(**lid));
            let changed = differ.count();
            found.entries += changed as u64;
            found.switches += usize::from(changed > 0);
        }
        found
    });
    parts
        .iter()
        .fold(ChangedEntries::default(), |sum, part| ChangedEntries {
            entries: sum.entries + part.entries,
            switches: sum.switches + part.switches,
        })
}

/// Switches that are in both, by their indices: those shift when a switch is gone.
fn common_switches(before: &Topology, after: &Topology) -> Vec<(SwitchIx, SwitchIx)> {
    let old = before.switch_ixs();
    let old: HashMap<Guid, SwitchIx> = old.map(|ix| (before.switch(ix).guid, ix)).collect();
    let new = after.switch_ixs();
    new.filter_map(|new| Some((*old.get(&after.switch(new).guid)?, new)))
        .collect()
}
