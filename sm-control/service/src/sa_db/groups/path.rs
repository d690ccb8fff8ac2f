//! Paths to groups. Source: OpenSM `osm_sa_path_record.c` (`pr_process_multicast`), but for the
//! flow label, which it leaves in its host's byte order.
//!
//! A path to a group is no path through the fabric: it is what the group's packets are like,
//! whoever sends. So it is made from the group's record alone, by the same function as for
//! snapshots ([`path_to_group`]).

use policy::model::ServiceIdEncoding;
use sa_answer::{group_suits, path_to_group};
use sa_compiler::state::FabricState;
use sa_snapshot::GroupRecord;
use sa_wire::mad::{Status, method};
use sa_wire::path_record::{PathCompMask, PathRecord};
use sa_wire::records::McMemberRecord;
use sa_wire::sa::{AttributeId, SaMad};
use sa_wire::{Gid, Mtu, Rate};
use zerocopy::{FromBytes, IntoBytes};

use super::super::{Answer, Asked};
use super::Groups;
use super::group::Group;

/// True for requests for the path to a group, known or not.
pub(in super::super) fn is_path_to_group(mad: &SaMad) -> bool {
    let mask = PathCompMask(mad.sa.component_mask.get());
    let record = PathRecord::ref_from_prefix(&mad.data);
    mad.attribute_id() == AttributeId::PATH_RECORD
        && matches!(mad.mad.method, method::GET | method::GET_TABLE)
        && mask.has(PathCompMask::DGID)
        && record.is_ok_and(|(record, _)| record.dgid().is_multicast())
}

/// The path, or none where the group is not there or not as asked.
pub(super) fn answer(groups: &Groups, asked: &Asked<'_>) -> Answer {
    let mask = PathCompMask(asked.mad.sa.component_mask.get());
    let Ok((record, _)) = PathRecord::ref_from_prefix(&asked.mad.data) else {
        return Answer::Refusal(Status::REQ_INVALID);
    };
    if let Err(status) = check(asked.parts, mask, record) {
        return Answer::Refusal(status);
    }
    let is_get = asked.mad.mad.method == method::GET;
    // GetTable with NumbPath 0 asks for no path, and gets none.
    let wants_none =
        !is_get && mask.has(PathCompMask::NUMB_PATH) && record.numb_path.numb_path() == 0;
    let group = groups.all.get(&record.dgid).filter(|_| !wants_none);
    let group = group.filter(|group| suits(asked, mask, record, group));
    let path = group.map(|group| path_to_group(&facts(&group.record), record));
    Answer::Records(path.map_or_else(Vec::new, |path| path.as_bytes().to_vec()))
}

/// Errors: the status for values that no path can have, and for half a service id. A policy in the
/// one-bit encoding of ServiceID knows no halves.
fn check(parts: &FabricState, mask: PathCompMask, record: &PathRecord) -> Result<(), Status> {
    let rates = Rate::SDR_1X.code()..=parts.options.max_rate_code();
    let bad_rate = mask.has_all(PathCompMask::RATE_PAIR) && !rates.contains(&record.rate.value());
    let is_mtu = Mtu::from_code(record.mtu.value()).is_ok();
    if bad_rate || (mask.has_all(PathCompMask::MTU_PAIR) && !is_mtu) {
        return Err(Status::REQ_INVALID);
    }
    let policy = parts.policy.as_ref().filter(|_| parts.options.qos);
    let has_one_bit = policy
        .is_some_and(|policy| policy.semantics.service_id_encoding == ServiceIdEncoding::LegacyB);
    let is_half = mask.has(PathCompMask::SERVICE_ID) && !mask.has_all(PathCompMask::SERVICE_ID);
    match is_half && !has_one_bit {
        true => Err(Status::REQ_INSUFFICIENT_COMPONENTS),
        false => Ok(()),
    }
}

/// The group is as asked, and the source one of its members where it is named. By SGID a member's
/// own GUID or alias counts; by SLID the port must be a member.
fn suits(asked: &Asked<'_>, mask: PathCompMask, record: &PathRecord, group: &Group) -> bool {
    let has_guid = || group.member(Gid(record.sgid).interface_id()).is_some();
    let has_lid = || {
        let end = asked.view.end_by_lid(record.slid.get().into());
        end.is_some_and(|end| {
            group
                .members()
                .any(|member| member.base.get() == end.guid.get())
        })
    };
    group_suits(&facts(&group.record), mask, record)
        && (!mask.has(PathCompMask::SGID) || has_guid())
        && (!mask.has(PathCompMask::SLID) || has_lid())
}

/// The group as snapshots have it, so that one function serves groups of `partitions.conf`, and
/// those of clients.
fn facts(group: &McMemberRecord) -> GroupRecord {
    GroupRecord {
        mgid: group.mgid,
        q_key: group.q_key.get(),
        flow_label: group.flow_label(),
        mlid: group.mlid.get(),
        pkey: group.pkey.get(),
        mtu: group.mtu.value(),
        rate: group.rate.value(),
        packet_life: group.packet_life.value(),
        sl: group.sl(),
        tclass: group.tclass,
        hop_limit: group.hop_limit(),
        scope: group.scope_and_state >> 4,
        reserved: 0,
    }
}
