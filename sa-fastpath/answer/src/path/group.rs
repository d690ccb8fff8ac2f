//! The path to a multicast group.
//!
//! A Get of a path with a multicast GID as destination gets the group as a path: the MLID as DLID,
//! and MTU, rate, SL and the rest as the group was made with. One path a group; the slow lane
//! answers.

use sa_snapshot::{GroupRecord, Snapshot};
use sa_wire::Sl;
use sa_wire::path_record::{
    FlowWord, NumbPathByte, PathCompMask, PathRecord, QosClassSl, SelectedValue,
};

use super::query::{Enough, PathQuery};

/// The path to the multicast group that the query names; none when there is no such group, or not
/// as the query wants it.
///
/// The record is the query's own with what the group says put in, so that SGID, SLID, service id
/// and preference come back as they were sent. MTU, rate, life time, raw traffic and reversibility
/// asked for do not count. Who asks does not either. Groups have no members here (those that join
/// tell OpenSM), so nothing is found for a source that is named.
/// Source: OpenSM `osm_sa_path_record.c` (`pr_process_multicast`), but for the flow label, which
/// it leaves in its host's byte order.
pub fn group_path(snapshot: &Snapshot, query: &PathQuery) -> Option<PathRecord> {
    let group = snapshot.group(&query.record.dgid)?;
    let wants_none = query.enough == Enough::After(0);
    let names_member = query.mask.has(PathCompMask::SGID.union(PathCompMask::SLID));
    let is_it = !wants_none && !names_member && group_suits(group, query.mask, &query.record);
    is_it.then(|| path_to_group(group, &query.record))
}

/// The record that was asked for, with what the group says.
pub fn path_to_group(group: &GroupRecord, asked: &PathRecord) -> PathRecord {
    PathRecord {
        dlid: group.mlid.into(),
        flow: FlowWord::new(group.flow_label, hop_limit(group)),
        tclass: group.tclass,
        numb_path: NumbPathByte::new(1),
        pkey: group.pkey.into(),
        qos_class_sl: QosClassSl::new(0, Sl::from_low_bits(group.sl)),
        mtu: SelectedValue::exactly(group.mtu),
        rate: SelectedValue::exactly(group.rate),
        packet_life: SelectedValue::exactly(group.packet_life),
        ..*asked
    }
}

/// True when the group is as it is asked for; whom the source names is not looked at.
///
/// Only what stands in both the request and the group is compared. Selectors of MTU, rate and life
/// time are not looked at, because OpenSM does not.
pub fn group_suits(group: &GroupRecord, mask: PathCompMask, asked: &PathRecord) -> bool {
    let same = [
        (PathCompMask::DLID, asked.dlid.get() == group.mlid),
        (PathCompMask::PKEY, asked.pkey.get() == group.pkey),
        (PathCompMask::SL, asked.qos_class_sl.sl().get() == group.sl),
        (
            PathCompMask::FLOW_LABEL,
            asked.flow.flow_label() == group.flow_label,
        ),
        (
            PathCompMask::HOP_LIMIT,
            asked.flow.hop_limit() == group.hop_limit,
        ),
        (PathCompMask::TCLASS, asked.tclass == group.tclass),
    ];
    same.iter().all(|(bits, same)| !mask.has(*bits) || *same)
}

/// Groups that reach beyond the subnet have the highest, whatever was said when they were made.
const fn hop_limit(group: &GroupRecord) -> u8 {
    const LINK_LOCAL: u8 = 2;
    if group.mgid[1] & 0xf == LINK_LOCAL {
        group.hop_limit
    } else {
        u8::MAX
    }
}
