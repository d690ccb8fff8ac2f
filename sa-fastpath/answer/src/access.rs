//! Who may ask for what.
//!
//! OpenSM answers everybody; so does [`Access::OpenSm`]. [`Access::Strict`] leaves requesters
//! without the SA's key what clients need for themselves, and keeps quiet to the rest. Source: the
//! enhanced trust model that other SAs offer: Get, Set and Delete of MCMemberRecord and
//! ServiceRecord, Get of PathRecord, GetTable of PathRecord with both ends, MultiPathRecord, Get of
//! ClassPortInfo, Set of InformInfo but for security traps; each for the requester itself.
//!
//! How the strict rule goes, in this order:
//!
//! 1. The SA's own key, if it is not one that everybody knows, opens everything.
//! 2. A public key is blanked, so that no later code takes its sender for trusted.
//! 3. Responses and requests of unknown LIDs pass: whoever answers drops them, for a reason of its
//!    own that is counted as such.
//! 4. What is left must be a request of the list above, about the requester itself.
//!
//! Example: LID 5 asks Get(PathRecord) from 7 to 9. Neither end is its own, so there is no reply
//! and `access` is counted. The same request with one end 5 is answered.
//!
//! The worker calls [`Access::admits`] before the answer, and the slow lane for requests that RMPP
//! has put together. What depends on state that clients have set, such as groups that they made,
//! the database of that state checks itself (ADR 7).

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
    ///
    /// Cost: a comparison for [`Access::OpenSm`]; else up to four look-ups of ports for a
    /// PathRecord, or one for each GID of a MultiPathRecord. Allocates nothing.
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
    // 0 and 1 are excluded even where the operator has set 1 as the key: OpenSM's default is no
    // secret.
    if key == own && own > LAST_PUBLIC_KEY {
        return true;
    }
    if key == own {
        mad.sa.sm_key = 0.into();
    }
    // Strange requesters, responses and so on are dropped by whoever answers, for their own reason.
    // Only the bit is asked and not the class: what is of another class is dropped by its reader
    // too.
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
            // A Get of services names no port that could be somebody else's, and clients cannot do
            // without.
            (AttributeId::SERVICE_RECORD, GET) => true,
            (AttributeId::SERVICE_RECORD, SET | DELETE) => self.is_own(self.service_gid()),
            (AttributeId::INFORM_INFO, SET) => !self.is_about_security(),
            _ => false,
        }
    }

    /// One end is the requester; all that are named and in the subnet share a partition with it.
    ///
    /// One end is enough: a client that asks as destination wants to know how it is reached. A Get
    /// may leave the other end open, a table may not, as it would list whom the requester can see.
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
        // An end may be named by GID and by LID. Where they contradict each other, either may be
        // the requester's: the contradiction itself is refused by whoever answers.
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
        // A group that the snapshot does not know may be one that clients made: the slow lane has
        // it.
        group.is_none_or(|group| held.iter().any(|key| (key ^ group.pkey) & BASE == 0))
    }

    /// The requester is among the ends, and shares a partition with all others that are known here.
    fn multi_path(&self) -> bool {
        let mask = MultiPathCompMask(self.mad.sa.component_mask.get());
        let Ok(request) = MultiPathRequest::parse(&self.mad.data) else {
            return true;
        };
        // Nothing can leak from a request that is refused as malformed.
        // What is malformed is refused by whoever answers.
        let Ok(lists) = request.gids(mask) else {
            return true;
        };
        let mut takes_part = false;
        let all = lists.sgids.iter().chain(lists.dgids);
        for port in all.filter_map(|gid| self.by_gid(Gid(*gid))) {
            takes_part |= port == self.requester;
            // Whether the ends share one among themselves is judged pair by pair, by the answer.
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
        // Too short to hold the record: nothing is said about security then.
        let Ok((info, _)) = InformInfo::ref_from_prefix(&self.mad.data) else {
            // 256 to 259: bad M_Key, bad P_Key, bad Q_Key and bad switch P_Key (IBA vol. 1, table
            // of traps).
            return false;
        };
        info.trap_type.get() == SECURITY || (256..=259).contains(&info.trap_number.get())
    }
}

/// The P_Key without the membership bit.
const BASE: u16 = 0x7fff;
