//! MultiPathRecord: paths between each of some sources and each of some destinations.
//! Source: OpenSM `osm_sa_multipath_record.c`.
//!
//! It differs from PathRecord in what can be named (GIDs only, in two lists), in NumbPath, which
//! counts for the whole reply, and in the statuses: one GID that nobody has refuses all. Each path
//! is worked out as for PathRecord; OpenSM does not ask the routing engine for the SL here, which
//! on a torus gives SLs that can lock it up, so we do (deviation 19).
//!
//! The order of refusals: no RMPP, wrong method, counts missing, bad codes, half a ServiceID,
//! nobody asks (silence), a GID of nobody, an empty list.
//!
//! ```text
//!  byte 5   reversible bit, NumbPath        15  SGIDCount       24..  SGIDs, 16 bytes each,
//!  byte 13  ServiceID, upper byte           16  DGIDCount             then DGIDs: 11 together
//!                                           17..23  ServiceID, the other seven bytes
//! ```

use routing::EndPortIx;
use sa_wire::Gid;
use sa_wire::mad::{BASE_VERSION, MGMT_CLASS_SA, SA_CLASS_VERSION, Status, method};
use sa_wire::path_record::PathRecord;
use sa_wire::rmpp::flag;
use sa_wire::sa::{AttributeId, SaMad};

use super::alternates::Diagonal;
use super::ends::Name;
use super::request::{Data, Request};
use super::{Reference, Reply};

/// GIDs of a request, sources and destinations together.
const MOST_GIDS: u8 = 11;
/// Paths for a request that names no number.
const MOST_PATHS: u8 = 127;

/// True for what is judged here.
pub(super) fn is_one(mad: &SaMad) -> bool {
    let header = &mad.mad;
    let version = (header.base_version, header.mgmt_class, header.class_version);
    let asked = [method::GET, method::GET_TABLE, method::GET_MULTI];
    version == (BASE_VERSION, MGMT_CLASS_SA, SA_CLASS_VERSION)
        && mad.attribute_id() == AttributeId::MULTI_PATH_RECORD
        && asked.contains(&header.method)
}

/// The ports of both lists.
///
/// GIDs that come twice are kept twice, and so are their paths.
struct Lists {
    /// In the order of the request.
    sources: Vec<Name>,
    destinations: Vec<Name>,
}

impl Reference<'_> {
    /// Of a request for alternate paths, those that were not chosen because they are longer; none
    /// for other requests.
    ///
    /// For comparisons: a snapshot without path lengths may choose this diagonal (deviation 21).
    pub fn longer_alternates(
        &self,
        requester_lid: u16,
        mad: &[u8; 256],
    ) -> Option<Vec<PathRecord>> {
        let mad = SaMad::from_bytes(mad);
        let requester = *self.by_lid.get(&requester_lid)?;
        if !is_one(mad) || !wants_alternates(mad) {
            return None;
        }
        self.multi_records(requester, mad, Diagonal::Longer).ok()
    }

    /// None: the requester is nobody.
    pub(super) fn multi_reply(&self, requester_lid: u16, mad: &SaMad) -> Option<Reply> {
        if let Err(status) = check(mad) {
            return Some(Reply::Error(status));
        }
        // Bad values are refused before anyone asks who sent them.
        if let Err(status) = self.multi_request(mad) {
            return Some(Reply::Error(status));
        }
        let requester = *self.by_lid.get(&requester_lid)?;
        Some(
            match self.multi_records(requester, mad, Diagonal::Shorter) {
                Ok(records) => Reply::Records(records),
                Err(status) => Reply::Error(status),
            },
        )
    }

    /// What the request asks of each path. Errors: bad codes, half a ServiceID.
    fn multi_request(&self, mad: &SaMad) -> Result<Request, Status> {
        Request::decode_multi(mad, self.options.max_rate_code, self.service_id_place(mad))
    }

    /// 127 at most where no number is named. Alternates know no partition gate.
    fn multi_records(
        &self,
        requester: EndPortIx,
        mad: &SaMad,
        diagonal: Diagonal,
    ) -> Result<Vec<PathRecord>, Status> {
        let request = self.multi_request(mad)?;
        let lists = self.lists(mad)?;
        let to = |source: &Name| {
            let source = *source;
            lists.destinations.iter().map(move |to| (source, *to))
        };
        self.all_sls_are_known(&request, lists.sources.iter().flat_map(to))?;
        if wants_alternates(mad) {
            return Ok(self.alternates(&request, &lists.sources, &lists.destinations, diagonal));
        }
        let most = usize::from(request.numb_path.unwrap_or(MOST_PATHS));
        let mut records = Vec::new();
        // First each pair's own paths, then those that labels add: a limit cuts the additions.
        for source in &lists.sources {
            for destination in &lists.destinations {
                let between = request.between(self.gid(source.guid), self.gid(destination.guid));
                records.extend(self.paths(&between, requester, *source, *destination));
            }
        }
        for source in &lists.sources {
            for destination in &lists.destinations {
                let between = request.between(self.gid(source.guid), self.gid(destination.guid));
                let pairs = self.lid_pairs(&between, requester, *source, *destination);
                records.extend(self.again(&between, pairs, *source, *destination));
            }
        }
        records.truncate(most);
        Ok(records)
    }

    /// Errors: a GID of nobody in either list, and then a list without any.
    fn lists(&self, mad: &SaMad) -> Result<Lists, Status> {
        let data = Data::of(mad);
        let sources = data.byte(15).min(MOST_GIDS);
        // Counts are cut to what fits a MAD: GIDs beyond it were not sent.
        let destinations = data.byte(16).min(MOST_GIDS - sources);
        let list = |first: u8, count: u8, is_source| {
            let gids = (first..first + count).map(|nth| data.gid(24 + 16 * usize::from(nth)));
            gids.map(|gid| self.listed(gid, is_source).ok_or(Status::REQ_INVALID_GID))
                .collect::<Result<Vec<_>, _>>()
        };
        let lists = Lists {
            sources: list(0, sources, true)?,
            destinations: list(sources, destinations, false)?,
        };
        if lists.sources.is_empty() || lists.destinations.is_empty() {
            return Err(Status::REQ_INVALID);
        }
        Ok(lists)
    }

    /// The port of a GID in a list; none for groups among the sources, for other subnets (prefix
    /// routes are not asked) and for GUIDs of nobody.
    fn listed(&self, gid: Gid, is_source: bool) -> Option<Name> {
        let is_group = is_source && gid.is_multicast();
        let is_here = !is_group && gid.prefix() == self.options.prefix;
        let name = self.name(gid.interface_id());
        name.filter(|_| gid.is_link_local() || is_here)
    }
}

/// What is refused before the fields are looked at.
fn check(mad: &SaMad) -> Result<(), Status> {
    // Even a request of one MAD is sent by RMPP.
    if mad.rmpp.flags() & flag::ACTIVE == 0 {
        return Err(Status::REQ_INVALID);
    }
    if mad.mad.method != method::GET_MULTI {
        return Err(Status::METHOD_ATTRIBUTE_NOT_SUPPORTED);
    }
    let data = Data::of(mad);
    if !(data.has(19) && data.has(20)) {
        return Err(Status::REQ_INSUFFICIENT_COMPONENTS);
    }
    Ok(())
}

/// Two of each, and two paths; whether the number counts is not asked.
fn wants_alternates(mad: &SaMad) -> bool {
    let data = Data::of(mad);
    (data.byte(15), data.byte(16), data.byte(5) & 0x7f) == (2, 2, 2)
}
