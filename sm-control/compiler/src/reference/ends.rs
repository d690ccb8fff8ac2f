//! Which ports a request is about.
//!
//! An end may be named by GID, by LID, by both or not at all, and what is not named stands for
//! everybody. Enumeration is OpenSM's: GUIDs in the order of its map, destinations outside and
//! sources inside, but for requests by LID on one side only.
//!
//! | source | destination | pairs |
//! |---|---|---|
//! | GID | GID | one |
//! | LID | GID | each GUID of the source port, aliases too |
//! | LID | LID | all GUIDs of one with all of the other |
//! | any | not named | with every GUID there is |
//! | not named | not named | every destination, for each every source |

use routing::EndPortIx;
use sa_wire::Gid;
use sa_wire::mad::Status;

use super::Reference;
use super::parameters::Place;
use super::request::Request;

/// A port by one of its GUIDs.
///
/// A port has several names where it has aliases; only the GUID in the record differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) guid: u64,
    pub(super) port: EndPortIx,
}

impl Name {
    /// One of the port's LIDs.
    pub(super) const fn at(self, lid: u16) -> Place {
        Place {
            port: self.port,
            lid,
            guid: self.guid,
        }
    }
}

/// How an end is named.
/// Aliases are not yet told apart from the port's own GUID here.
#[derive(Debug, Clone, Copy)]
enum End {
    /// Not named: everybody.
    Not,
    /// A port, by any of its LIDs; all its GUIDs are meant.
    ByLid(EndPortIx),
    /// A port by one GUID, which is the one that comes back.
    ByGid(Name),
}

/// The ends between which paths are wanted.
pub(super) struct Ends {
    source: End,
    destination: End,
}

/// What is gone through in one go: a search for one path ends with the first pair that has one.
pub(super) struct Pass {
    /// Gone through once.
    outer: Vec<Name>,
    /// Gone through for each of the outer ones.
    inner: Vec<Name>,
    /// The source is in the outer loop.
    from_outer: bool,
}

impl Pass {
    /// Source and destination.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (Name, Name)> {
        let Self { inner, outer, .. } = self;
        let pairs = outer
            .iter()
            .flat_map(move |outer| inner.iter().map(move |inner| (*outer, *inner)));
        pairs.map(|(outer, inner)| match self.from_outer {
            true => (outer, inner),
            false => (inner, outer),
        })
    }
}

impl Ends {
    /// None when something is named that does not exist, which is no error.
    /// Errors: GID and LID of one end name different ports. What does not exist counts first.
    ///
    /// All four are looked up before ends are compared.
    pub(super) fn find(
        reference: &Reference<'_>,
        request: &Request,
    ) -> Result<Option<Self>, Status> {
        let (Some(sgid), Some(slid), Some(dgid), Some(dlid)) = (
            known(request.sgid, |gid| reference.port_of_gid(gid)),
            known(request.slid, |lid| reference.port_of_lid(lid)),
            known(request.dgid, |gid| reference.port_towards(gid)),
            known(request.dlid, |lid| reference.port_of_lid(lid)),
        ) else {
            return Ok(None);
        };
        Ok(Some(Self {
            // The source first: where both ends contradict themselves, the status is the same.
            source: end(sgid, slid)?,
            destination: end(dgid, dlid)?,
        }))
    }

    /// One go, but for an end that is named by LID alone where nothing is said of the other: then
    /// one for each GUID of its port, and nothing is remembered from one to the next.
    pub(super) fn passes(&self, reference: &Reference<'_>) -> Vec<Pass> {
        let go = |outer, inner, from_outer| Pass {
            outer,
            inner,
            from_outer,
        };
        let (sources, destinations) = (
            reference.names(self.source),
            reference.names(self.destination),
        );
        match (self.source, self.destination) {
            (End::ByLid(_), End::Not) => sources
                .into_iter()
                .map(|source| go(vec![source], destinations.clone(), true))
                .collect(),
            (End::Not, End::ByLid(_)) => destinations
                .into_iter()
                .map(|destination| go(vec![destination], sources.clone(), false))
                .collect(),
            (End::ByLid(_), End::ByLid(_)) => vec![go(sources, destinations, true)],
            _ => vec![go(destinations, sources, false)],
        }
    }
}

/// Errors: GID and LID name different ports.
fn end(by_gid: Option<Name>, by_lid: Option<EndPortIx>) -> Result<End, Status> {
    match (by_gid, by_lid) {
        (Some(name), Some(port)) if name.port != port => Err(Status::REQ_INVALID),
        (Some(name), _) => Ok(End::ByGid(name)),
        (None, Some(port)) => Ok(End::ByLid(port)),
        (None, None) => Ok(End::Not),
    }
}

/// Looks up what is named: `None` when it does not exist, `Some(None)` when nothing is named.
fn known<T, F>(named: Option<T>, find: impl FnOnce(T) -> Option<F>) -> Option<Option<F>> {
    named.map_or(Some(None), |name| find(name).map(Some))
}

impl Reference<'_> {
    /// A port by a GUID.
    pub(super) fn name(&self, guid: u64) -> Option<Name> {
        let port = *self.by_guid.get(&guid)?;
        Some(Name { guid, port })
    }

    /// None for GIDs of other subnets and for groups.
    fn port_of_gid(&self, gid: Gid) -> Option<Name> {
        // Groups have no port, also where the subnet prefix looks like theirs.
        if gid.is_multicast() || !self.is_here(gid) {
            return None;
        }
        // Any GUID of a port will do, its aliases included; a CA's node GUID is none.
        self.name(gid.interface_id())
    }

    /// Of this subnet, by its prefix.
    pub(super) fn is_here(&self, gid: Gid) -> bool {
        gid.is_link_local() || gid.prefix() == self.options.prefix
    }

    /// The port with this GID, or the router on the way to it.
    ///
    /// The first route that fits the prefix counts, even if it leads nowhere.
    fn port_towards(&self, gid: Gid) -> Option<Name> {
        if self.is_here(gid) {
            return self.port_of_gid(gid);
        }
        let mut routes = self.inputs.off_subnet.prefix_routes.iter();
        let route = routes.find(|route| match route.prefix {
            Some(prefix) => prefix == gid.prefix(),
            None => true,
        })?;
        let routers = &self.inputs.off_subnet.routers;
        match route.router {
            // One that is not there, or is no router, is no reason to look for another.
            Some(guid) => {
                let name = self.name(guid.get())?;
                (routers.contains(&name.port) && self.is_own(name)).then_some(name)
            }
            None => {
                let mut in_order = self.in_order.iter();
                let is_router = |name: &&Name| routers.contains(&name.port) && self.is_own(**name);
                in_order.find(is_router).copied()
            }
        }
    }

    fn port_of_lid(&self, lid: u16) -> Option<EndPortIx> {
        self.by_lid.get(&lid).copied()
    }

    /// True for the port's own GUID.
    fn is_own(&self, name: Name) -> bool {
        self.inputs.topology.end_port(name.port).guid.get() == name.guid
    }

    /// Every GUID that is meant.
    fn names(&self, end: End) -> Vec<Name> {
        match end {
            End::Not => self.in_order.clone(),
            End::ByLid(port) => {
                let of_port = self.in_order.iter().filter(|name| name.port == port);
                of_port.copied().collect()
            }
            End::ByGid(name) => vec![name],
        }
    }
}
