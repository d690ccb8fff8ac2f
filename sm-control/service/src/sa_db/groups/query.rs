//! Which groups and members there are.
//!
//! What a requester gets depends on trust. Without the key a group is one record in which no member
//! shows, or, where the request names a PortGID, the record of that member without its GID. With
//! the key each member has a record of its own. Groups of partitions that the requester is not in
//! are left out for both.
//!
//! ```text
//!  GetTable, no key       group G: MGID, MLID, ..; PortGID 0, JoinState 0
//!  GetTable, key          group G with member 1, group G with member 2, ..
//!  Get, PortGID p         group G, if p is a member; the GID itself only with the key
//! ```

use sa_wire::records::{McMemberCompMask, McMemberRecord};
use zerocopy::IntoBytes;

use super::super::Asked;
use super::Groups;
use super::group::{Group, Member};
use super::port::has_pkey;
use super::request::Request;

impl Groups {
    /// The records that fit. Shape: by MGID; of each group one record, or, for those who have the
    /// key and name no port, one for each member. O(groups + members).
    pub(super) fn query(&self, asked: &Asked<'_>, request: &Request) -> Vec<u8> {
        // By MGID the one group is looked up instead of compared with all.
        let named = self.all.get(&request.record.mgid).into_iter();
        let by_mgid = request.mask.has(McMemberCompMask::MGID);
        let all = self.all.values().filter(|_| !by_mgid);
        let groups = named.filter(|_| by_mgid).chain(all);
        let mut bytes = Vec::new();
        for group in groups.filter(|group| is_wanted(asked, request, group)) {
            for record in records(asked, request, group) {
                bytes.extend_from_slice(record.as_bytes());
            }
        }
        bytes
    }
}

/// The group is in a partition of the requester's and as asked.
fn is_wanted(asked: &Asked<'_>, request: &Request, group: &Group) -> bool {
    let (own, its) = (&request.record, &group.record);
    let has_mlid = !request.mask.has(McMemberCompMask::MLID) || own.mlid == its.mlid;
    let is_proxy = own.is_proxy_join() == its.is_proxy_join();
    has_mlid
        && has_pkey(&asked.view, asked.view.requester, its.pkey.get())
        && request.suits(its)
        && (!request.mask.has(McMemberCompMask::PROXY_JOIN) || is_proxy)
        && request.fits(its)
}

/// What of a group is told.
fn records(asked: &Asked<'_>, request: &Request, group: &Group) -> Vec<McMemberRecord> {
    let wanted = |state: u8| states_agree(request, state);
    if request.mask.has(McMemberCompMask::PORT_GID) {
        let member = group.member(request.record.port_gid().interface_id());
        // A member that was named is shown as such, though not its GID.
        let member = member.filter(|member| wanted(member.scope_and_state));
        let record = member.map(|member| of_member(group, member));
        return record
            .map(|record| shown(asked, record))
            .into_iter()
            .collect();
    }
    if asked.is_trusted {
        let members = group.members();
        return members
            .filter(|member| wanted(member.scope_and_state))
            .map(|member| of_member(group, member))
            .collect();
    }
    let is_wanted = wanted(group.record.scope_and_state);
    is_wanted
        .then(|| shown(asked, group.record))
        .into_iter()
        .collect()
}

/// Scope and JoinState, as far as they are asked for.
fn states_agree(request: &Request, state: u8) -> bool {
    let bits = |bits, mask| if request.mask.has(bits) { mask } else { 0 };
    let mask = bits(McMemberCompMask::SCOPE, 0xf0) | bits(McMemberCompMask::JOIN_STATE, 0x0f);
    (request.record.scope_and_state ^ state) & mask == 0
}

/// The group's record with the components of a member.
fn of_member(group: &Group, member: &Member) -> McMemberRecord {
    McMemberRecord {
        port_gid: member.port_gid,
        scope_and_state: member.scope_and_state,
        ..group.record
    }
    .with_proxy_join(member.proxy != 0)
}

/// Who is a member is for those who have the key.
fn shown(asked: &Asked<'_>, record: McMemberRecord) -> McMemberRecord {
    if asked.is_trusted {
        return record;
    }
    McMemberRecord {
        port_gid: [0; 16],
        ..record
    }
    .with_join_state(0)
    .with_proxy_join(false)
}
