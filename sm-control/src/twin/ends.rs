//! Which ports a request is about.

use routing::EndPortIx;
use sa_wire::Gid;
use sa_wire::mad::Status;

use super::Twin;
use super::request::Request;

/// The ports between which paths are wanted, in the order in which they are tried.
pub(super) struct Ends {
    sources: Vec<EndPortIx>,
    destinations: Vec<EndPortIx>,
}

impl Ends {
    /// None when something is named that does not exist, which is no error.
    /// Errors: GID and LID of one end name different ports. What does not exist counts first.
    pub(super) fn find(twin: &Twin<'_>, request: &Request) -> Result<Option<Self>, Status> {
        let (Some(sgid), Some(slid), Some(dgid), Some(dlid)) = (
            known(request.sgid, |gid| twin.port_of_gid(gid)),
            known(request.slid, |lid| twin.port_of_lid(lid)),
            known(request.dgid, |gid| twin.port_towards(gid)),
            known(request.dlid, |lid| twin.port_of_lid(lid)),
        ) else {
            return Ok(None);
        };
        Ok(Some(Self {
            sources: twin.candidates(sgid, slid)?,
            destinations: twin.candidates(dgid, dlid)?,
        }))
    }

    /// Source and destination. One destination after the other, for each all sources.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (EndPortIx, EndPortIx)> {
        let sources = &self.sources;
        self.destinations
            .iter()
            .flat_map(move |destination| sources.iter().map(move |source| (*source, *destination)))
    }
}

/// Looks up what is named: `None` when it does not exist, `Some(None)` when nothing is named.
fn known<T>(
    named: Option<T>,
    find: impl FnOnce(T) -> Option<EndPortIx>,
) -> Option<Option<EndPortIx>> {
    named.map_or(Some(None), |name| find(name).map(Some))
}

impl Twin<'_> {
    fn port_of_gid(&self, gid: Gid) -> Option<EndPortIx> {
        // Groups have no port, also where the subnet prefix looks like theirs.
        if gid.is_multicast() || !self.is_here(gid) {
            return None;
        }
        self.by_guid.get(&gid.interface_id()).copied()
    }

    /// Of this subnet, by its prefix.
    pub(super) fn is_here(&self, gid: Gid) -> bool {
        gid.is_link_local() || gid.prefix() == self.options.prefix
    }

    /// The port with this GID, or the router on the way to it.
    fn port_towards(&self, gid: Gid) -> Option<EndPortIx> {
        if self.is_here(gid) {
            return self.port_of_gid(gid);
        }
        let mut routes = self.inputs.beyond.prefix_routes.iter();
        let route = routes.find(|route| match route.prefix {
            Some(prefix) => prefix == gid.prefix(),
            None => true,
        })?;
        let routers = &self.inputs.beyond.routers;
        match route.router {
            // One that is not there, or is no router, is no reason to look for another.
            Some(guid) => {
                let port = self.by_guid.get(&guid.get())?;
                routers.contains(port).then_some(*port)
            }
            None => {
                let mut in_order = self.in_order.iter();
                in_order.find(|port| routers.contains(port)).copied()
            }
        }
    }

    fn port_of_lid(&self, lid: u16) -> Option<EndPortIx> {
        self.by_lid.get(&lid).copied()
    }

    /// The one port that is named in one way or two, or every port.
    fn candidates(
        &self,
        by_gid: Option<EndPortIx>,
        by_lid: Option<EndPortIx>,
    ) -> Result<Vec<EndPortIx>, Status> {
        match (by_gid, by_lid) {
            (Some(one), Some(other)) if one != other => Err(Status::REQ_INVALID),
            (Some(port), _) | (None, Some(port)) => Ok(vec![port]),
            (None, None) => Ok(self.in_order.clone()),
        }
    }
}
