//! Destinations that are no port of the subnet: multicast groups, and routers to other subnets.
//!
//! Asked by the slow lane alone, so searching is good enough: groups by halving, routes one after
//! another, as their order is their meaning.

use crate::Snapshot;
use crate::format::records::{GroupRecord, PortIx};

impl Snapshot {
    /// The multicast groups. Shape: in the order of their MGIDs' bytes.
    pub fn groups(&self) -> &[GroupRecord] {
        &self.sections.groups
    }

    /// The multicast group with this address.
    pub fn group(&self, mgid: &[u8; 16]) -> Option<&GroupRecord> {
        let groups = self.groups();
        let at = groups.binary_search_by(|group| group.mgid.cmp(mgid)).ok()?;
        groups.get(at)
    }

    /// The router port through which packets to another subnet leave; none when no route fits its
    /// prefix (wire bytes), or the first that does leads nowhere.
    /// Source: OpenSM `osm_sa_path_record.c` (`find_router`).
    pub fn router_to(&self, prefix: [u8; 8]) -> Option<PortIx> {
        let routes = &*self.sections.prefix_routes;
        // The first that fits counts, even if it leads nowhere: as in OpenSM.
        let route = routes
            .iter()
            .find(|route| route.prefix == ANY || route.prefix == prefix)?;
        route.router.checked_sub(1).map(PortIx)
    }
}

/// A prefix that stands for any: no subnet has it.
const ANY: [u8; 8] = [0; 8];
