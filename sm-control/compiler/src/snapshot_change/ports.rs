//! Ports of two snapshots, by GUID.

use std::collections::BTreeMap;

use sa_snapshot::{PortIx, PortRecord, Snapshot};
use sa_wire::Guid;

/// How the ports differ. Shape: each list in the order of GUIDs.
#[derive(Debug, Default)]
pub struct Ports {
    /// Only the new snapshot has them.
    pub added: Vec<Guid>,
    /// Only the old one.
    pub removed: Vec<Guid>,
    /// Another base LID: port, before, now.
    pub lids: Vec<(Guid, u16, u16)>,
    /// Another LMC.
    pub lmcs: Vec<Guid>,
    /// Another P_Key table.
    pub partitions: Vec<Guid>,
    /// Another MTU or rate of the port or of its link.
    pub links: Vec<Guid>,
}

impl Ports {
    /// The second with the first.
    pub(super) fn compare(old: &Snapshot, new: &Snapshot) -> Self {
        let (was, is) = (by_guid(old), by_guid(new));
        let only = |these: &ByGuid<'_>, those: &ByGuid<'_>| -> Vec<Guid> {
            let ports = these.keys().copied();
            ports.filter(|port| !those.contains_key(port)).collect()
        };
        let mut found = Self {
            added: only(&is, &was),
            removed: only(&was, &is),
            ..Self::default()
        };
        for (guid, (then, before)) in &was {
            if let Some((now, after)) = is.get(guid) {
                // Sets have other numbers in another snapshot: what is in them counts.
                let is_moved = old.pkeys(*then) != new.pkeys(*now);
                found.compare_port(*guid, before, after, is_moved);
            }
        }
        found
    }

    fn compare_port(&mut self, guid: Guid, old: &PortRecord, new: &PortRecord, is_moved: bool) {
        if old.lid != new.lid {
            self.lids.push((guid, old.lid, new.lid));
        }
        if old.lmc() != new.lmc() {
            self.lmcs.push(guid);
        }
        if is_moved {
            self.partitions.push(guid);
        }
        if (old.own, old.edge) != (new.own, new.edge) {
            self.links.push(guid);
        }
    }
}

type ByGuid<'a> = BTreeMap<Guid, (PortIx, &'a PortRecord)>;

/// All ports, switches too.
fn by_guid(snapshot: &Snapshot) -> ByGuid<'_> {
    let ports = snapshot.ports();
    ports
        .filter_map(|(ix, port)| Some((port.guid()?, (ix, port))))
        .collect()
}
