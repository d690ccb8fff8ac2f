//! Who may ask for what.
//!
//! OpenSM answers everybody; so does [`Access::OpenSm`]. [`Access::Strict`] leaves requesters
//! without the SA's key what clients need for themselves, and keeps quiet to the rest. Source: the
//! enhanced trust model that other SAs offer: Get, Set and Delete of MCMemberRecord and
//! ServiceRecord, Get of PathRecord, GetTable of PathRecord with both ends, MultiPathRecord, Get of
//! ClassPortInfo, Set of InformInfo but for security traps; each for the requester itself.

use sa_snapshot::{PortIx, Snapshot};
use sa_wire::Gid;
use sa_wire::mad::method;
use sa_wire::multipath_record::{MultiPathCompMask, MultiPathRequest};
use sa_wire::path_record::{PathCompMask, PathRecord};
use sa_wire::records::{InformInfo, McMemberCompMask, McMemberRecord, ServiceRecord};
use sa_wire::sa::{AttributeId, SaMad};
use sa_wire::umad::Slot;
use zerocopy::FromBytes;

/// Who may ask for what.
/// It is looked at before anything is answered, and says yes or no: what it refuses gets no reply,
/// so that nobody learns from an error what there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Access {
    /// Everybody for everything; the key opens P_Key tables and what is personal.
    #[default]
    OpenSm,
    /// Requesters without the SA's key may ask about themselves only: for paths of which one end is
    /// theirs, for their own memberships and services; see the module.
    Strict,
}

impl Access {
    /// True when the request may be answered. A key that everybody knows, 0 or 1, is taken out of
    /// it where it is not to be trusted, so that all who see the request later take it for one
    /// without a key.
    #[inline(always)]
    pub fn admits(self, snapshot: &Snapshot, request: &mut Slot) -> bool {
        match self {
            Self::OpenSm => true,
            Self::Strict => admits_strictly(snapshot, request),
        }
    }
}

/// Keys up to this one are known to everybody: 0 is none, 1 is the default.
pub const LAST_PUBLIC_KEY: u64 = 1;

/// Out of line, so that where everybody may ask for everything a worker pays for one comparison.
#[cold]
#[inline(never)]
fn admits_strictly(snapshot: &Snapshot, request: &mut Slot) -> bool {
    let requester_lid = request.header.lid.get();
    // The SA's own key opens everything, unless it is one that everybody knows.
    let mad = SaMad::from_bytes_mut(&mut request.mad);
    let (key, own) = (mad.sa.sm_key.get(), snapshot.subnet().sa_key);
    if key == own && own > LAST_PUBLIC_KEY {
        return true;
    }
    if key == own {
        mad.sa.sm_key = 0.into();
    }
    // Strange requesters, responses and so on are dropped by whoever answers, for their own reason.
    if mad.mad.method & method::RESPONSE_BIT != 0 {
        return true;
    }
    let Some(requester) = snapshot.port_by_lid(requester_lid) else {
        return true;
    };
    let asked = Asked {
        snapshot,
        requester,
        mad,
    };
    asked.is_for_itself()
}

/// A request, who asks it, and the snapshot that says what belongs to whom.
struct Asked<'a> {
    snapshot: &'a Snapshot,
    requester: PortIx,
    mad: &'a SaMad,
}

impl Asked<'_> {
    /// Whether the request is one that clients need for themselves, and is about the requester.
    fn is_for_itself(&self) -> bool {
        const GET: u8 = method::GET;
        const SET: u8 = method::SET;
        const DELETE: u8 = method::DELETE;
        match (self.mad.attribute_id(), self.mad.mad.method) {
            (AttributeId::CLASS_PORT_INFO, GET) => true,
            (AttributeId::PATH_RECORD, GET) => self.path(false),
            (AttributeId::PATH_RECORD, method::GET_TABLE) => self.path(true),
            (AttributeId::MULTI_PATH_RECORD, method::GET_MULTI) => self.multi_path(),
            // Whose membership or service it is must be the requester's own business.
            (AttributeId::MC_MEMBER_RECORD, GET) => {
                !self.names(McMemberCompMask::PORT_GID) || self.is_own(self.member_port_gid())
            }
            (AttributeId::MC_MEMBER_RECORD, SET | DELETE) => self.is_own(self.member_port_gid()),
            (AttributeId::SERVICE_RECORD, GET) => true,
            (AttributeId::SERVICE_RECORD, SET | DELETE) => self.is_own(self.service_gid()),
            (AttributeId::INFORM_INFO, SET) => !self.is_about_security(),
            _ => false,
        }
    }

    /// One end is the requester; all that are named and in the subnet share a partition with it.
    fn path(&self, needs_both: bool) -> bool {
        let mask = PathCompMask(self.mad.sa.component_mask.get());
        let Ok((record, _)) = PathRecord::ref_from_prefix(&self.mad.data) else {
            return false;
        };
        let named = |bits| mask.has(bits);
        let has_source = named(PathCompMask::SGID | PathCompMask::SLID);
        let has_destination = named(PathCompMask::DGID | PathCompMask::DLID);
        if needs_both && !(has_source && has_destination) {
            return false;
        }
        let by_gid = |bits, gid: Gid| named(bits).then(|| self.by_gid(gid)).flatten();
        let by_lid = |bits, lid| {
            named(bits)
                .then(|| self.snapshot.port_by_lid(lid))
                .flatten()
        };
        let ends = [
            by_gid(PathCompMask::SGID, record.sgid()),
            by_lid(PathCompMask::SLID, record.slid.get()),
            by_gid(PathCompMask::DGID, record.dgid()),
            by_lid(PathCompMask::DLID, record.dlid.get()),
        ];
        if named(PathCompMask::DGID) && record.dgid().is_multicast() {
            let [by_sgid, by_slid, ..] = ends;
            return self.group(record) && (!has_source || self.takes_part(&[by_sgid, by_slid]));
        }
        self.takes_part(&ends)
    }

    /// A path to a group of a partition that the requester is in; unknown groups get their answer
    /// elsewhere.
    fn group(&self, record: &PathRecord) -> bool {
        let held = self.snapshot.pkeys(self.requester);
        let group = self.snapshot.group(&record.dgid);
        group.is_none_or(|group| held.iter().any(|key| (key ^ group.pkey) & BASE == 0))
    }

    /// The requester is among the ends, and shares a partition with all others that are known here.
    fn multi_path(&self) -> bool {
        let mask = MultiPathCompMask(self.mad.sa.component_mask.get());
        let Ok(request) = MultiPathRequest::parse(&self.mad.data) else {
            return true;
        };
        // What is malformed is refused by whoever answers.
        let Ok(lists) = request.gids(mask) else {
            return true;
        };
        let mut takes_part = false;
        let all = lists.sgids.iter().chain(lists.dgids);
        for port in all.filter_map(|gid| self.by_gid(Gid(*gid))) {
            takes_part |= port == self.requester;
            if !self.snapshot.share_partition(self.requester, port) {
                return false;
            }
        }
        takes_part
    }

    /// True when one of the ends is the requester's.
    fn takes_part(&self, ends: &[Option<PortIx>]) -> bool {
        let mut ends = ends.iter().flatten();
        ends.any(|end| *end == self.requester)
    }

    /// The port with this GID, by its own GUID or an alias.
    fn by_gid(&self, gid: Gid) -> Option<PortIx> {
        let named = self.snapshot.named_port(gid.interface_id());
        named.map(|named| named.port)
    }

    /// True when the request names one of these components of an MCMemberRecord.
    const fn names(&self, components: McMemberCompMask) -> bool {
        McMemberCompMask(self.mad.sa.component_mask.get()).has(components)
    }

    /// Who is to join or leave. Shape: wire bytes; none for a request that is cut off.
    fn member_port_gid(&self) -> Option<[u8; 16]> {
        let record = McMemberRecord::ref_from_prefix(&self.mad.data).ok();
        record.map(|(record, _)| record.port_gid)
    }

    /// Who offers the service. Shape: wire bytes; none for a request that is cut off.
    fn service_gid(&self) -> Option<[u8; 16]> {
        let record = ServiceRecord::ref_from_prefix(&self.mad.data).ok();
        record.map(|(record, _)| record.gid)
    }

    /// True when the GID, if there is one, is the requester's own or one of its aliases.
    fn is_own(&self, gid: Option<[u8; 16]>) -> bool {
        gid.is_some_and(|gid| self.by_gid(Gid(gid)) == Some(self.requester))
    }

    /// Of type Security, or one of the traps about keys.
    fn is_about_security(&self) -> bool {
        const SECURITY: u16 = 2;
        let Ok((info, _)) = InformInfo::ref_from_prefix(&self.mad.data) else {
            return false;
        };
        info.trap_type.get() == SECURITY || (256..=259).contains(&info.trap_number.get())
    }
}

/// The P_Key without the membership bit.
const BASE: u16 = 0x7fff;
