//! Multicast groups and ways to other subnets.
//!
//! Groups are sorted, as they are looked for by address. Routes are not: the first that fits
//! counts, so their order is their meaning.

use super::{Builder, limit};
use crate::error::BuildError;
use crate::format::layout::SectionId;
use crate::format::records::{GroupRecord, PrefixRouteRecord};
use crate::model::{GroupRow, PrefixRouteRow};

impl Builder<'_> {
    /// Lays the groups out in the order of their addresses. Errors: an address twice; more groups
    /// than multicast LIDs.
    pub(super) fn groups(&mut self) -> Result<(), BuildError> {
        limit("multicast groups", self.model.groups.len(), MOST_GROUPS)?;
        let mut groups: Vec<&GroupRow> = self.model.groups.iter().collect();
        groups.sort_by_key(|group| group.mgid.0);
        for pair in groups.windows(2) {
            if let [one, other] = pair
                && one.mgid == other.mgid
            {
                return Err(BuildError::DuplicateGroup(one.mgid));
            }
        }
        let records: Vec<GroupRecord> = groups.into_iter().map(group).collect();
        self.put(SectionId::Groups, &records);
        Ok(())
    }

    /// Lays the routes out in their own order, because the first that fits counts. Errors: a router
    /// that is no port of the model.
    pub(super) fn prefix_routes(&mut self) -> Result<(), BuildError> {
        let routes = &self.model.prefix_routes;
        let records: Result<Vec<_>, _> = routes.iter().map(|route| self.route(route)).collect();
        self.put(SectionId::PrefixRoutes, &records?);
        Ok(())
    }

    /// One route. A router that is not there stays in the table as 0: it ends the search, as in
    /// OpenSM.
    fn route(&self, route: &PrefixRouteRow) -> Result<PrefixRouteRecord, BuildError> {
        let router = match route.router {
            // A scan of all ports for each route: there are a handful.
            None => 0,
            Some(port) => self.place(port).ok_or(BuildError::Inconsistent {
                what: "the router of a prefix route",
            })?,
        };
        Ok(PrefixRouteRecord {
            prefix: route.prefix.map_or(0, |prefix| prefix.0).to_be_bytes(),
            router,
            reserved: [0; 3],
        })
    }

    /// Snapshot index + 1 of a port of the model.
    fn place(&self, port: usize) -> Option<u16> {
        let at = self.order.iter().position(|ix| *ix == port)?;
        u16::try_from(at + 1).ok()
    }
}

/// The record of a group, with fields cut to the bits that they have on the wire.
fn group(row: &GroupRow) -> GroupRecord {
    GroupRecord {
        mgid: row.mgid.0,
        q_key: row.q_key,
        flow_label: row.flow_label & 0x000f_ffff,
        mlid: row.mlid.get(),
        pkey: row.pkey.get(),
        mtu: row.mtu.code(),
        rate: row.rate.code(),
        packet_life: row.packet_life & 0x3f,
        sl: row.sl.get(),
        tclass: row.tclass,
        hop_limit: row.hop_limit,
        scope: row.scope & 0xf,
        reserved: 0,
    }
}

/// As many as there are multicast LIDs.
const MOST_GROUPS: usize = 0x3fff;
