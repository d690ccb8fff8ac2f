//! What a changed fabric does to groups.
//!
//! Called with every snapshot that comes into service. First the groups of `partitions.conf` are
//! taken anew, then members whose ports are gone leave, then groups that nobody keeps alive end. In
//! this order a group that the file has just dropped lives on by its members, and one that it has
//! just added takes the members over that a client's group of this address had.
//!
//! ```text
//!  partitions.conf before: A, B      now: A, C      clients' groups: C (2 members), D
//!  A: record anew                    B: not well known any more; journal, if it has full members
//!  C: well known now; out of the journal, members stay           D: untouched
//! ```

use std::collections::BTreeMap;

use policy::partitions::MulticastGroup;
use sa_compiler::state::FabricState;
use sa_wire::path_record::SelectedValue;
use sa_wire::records::{McMemberRecord, join_state};
use sa_wire::{Guid, Mlid, Pkey};

use super::super::Effects;
use super::group::Group;
use super::{Groups, Mgid, saved};

/// Brings the groups in line with the fabric and its partitions.
pub(super) fn settle(groups: &mut Groups, parts: &FabricState, effects: &mut Effects<'_>) {
    groups.told.note_all();
    // First: a group of the file must not end because its last member went.
    take_well_known(groups, parts, effects);
    let gone: Vec<(Mgid, u64)> = groups
        .all
        .iter()
        .flat_map(|(mgid, group)| {
            let lost = group.members().filter(|member| {
                let base = Guid::new(member.base.get()).ok();
                base.is_none_or(|guid| parts.subnet.by_guid(guid).is_none())
            });
            lost.map(|member| (*mgid, member.guid()))
        })
        .collect();
    // Collected first: leaving may end the group that is being walked.
    for (mgid, guid) in gone {
        groups.drop_member(&mgid, guid, effects);
    }
    drop_lost(groups, effects);
}

/// The groups of `partitions.conf` are as that says, whoever is in them: an operator who changes
/// the file changes groups in use.
fn take_well_known(groups: &mut Groups, parts: &FabricState, effects: &mut Effects<'_>) {
    let listed = parts.partitions.multicast_groups();
    let listed: BTreeMap<Mgid, McMemberRecord> = listed
        .iter()
        .zip(&parts.off_subnet.mlids)
        .map(|(group, mlid)| (group.mgid.0, record(group, *mlid, parts)))
        .collect();
    for (mgid, group) in &mut groups.all {
        // One that is no longer listed lives on while somebody keeps it alive.
        if group.is_well_known && !listed.contains_key(mgid) {
            group.is_well_known = false;
            // One that waited for the file has no record to write.
            let is_read = group.record.mlid.get() != 0;
            if is_read && group.is_kept() {
                saved::put_group(effects.journal, &group.record);
            }
        }
    }
    for (mgid, record) in listed {
        let group = groups
            .all
            .entry(mgid)
            .or_insert_with(|| Group::new(record, true));
        // From now on the file has it; in the journal it would come back after the file dropped it.
        if !group.is_well_known {
            saved::delete_group(effects.journal, &mgid);
        }
        group.is_well_known = true;
        group.record = record;
    }
}

/// Takes away what is no group: nobody keeps it alive, or nobody knows any more what it was
/// (members that waited for a group that the file no longer has).
fn drop_lost(groups: &mut Groups, effects: &mut Effects<'_>) {
    let is_lost = |group: &Group| !group.is_kept() || group.record.mlid.get() == 0;
    let all = groups.all.iter();
    let lost = all.filter(|(_, group)| !group.is_well_known && is_lost(group));
    let lost: Vec<Mgid> = lost.map(|(mgid, _)| *mgid).collect();
    for mgid in lost {
        groups.clear(&mgid, effects);
    }
}

/// The record of a group of the file, which no client made.
fn record(group: &MulticastGroup, mlid: Mlid, parts: &FabricState) -> McMemberRecord {
    let flow = group.flow_label << 8 | u32::from(group.hop_limit);
    McMemberRecord {
        mgid: group.mgid.0,
        q_key: group.q_key.into(),
        mlid: mlid.get().into(),
        mtu: SelectedValue::exactly(group.mtu.code()),
        tclass: group.tclass,
        pkey: (group.base | Pkey::FULL_BIT).into(),
        rate: SelectedValue::exactly(group.rate.code()),
        packet_life: SelectedValue::exactly(parts.options.subnet_timeout),
        sl_flow_hop: (u32::from(group.sl.get()) << 28 | flow).into(),
        scope_and_state: group.scope << 4 | join_state::FULL,
        ..McMemberRecord::default()
    }
}
