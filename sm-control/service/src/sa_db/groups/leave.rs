//! Leaving a group, which vanishes when nobody keeps it alive.
//!
//! A Delete names states, not only a port: a port that is full member and send-only member may give
//! up one of both. What is left may still end the membership: a port with nothing but a state that
//! keeps no group alive stays only as long as the group does.
//!
//! ```text
//!  member FULL|SEND_ONLY, leaves FULL, another full member is there  -> stays, SEND_ONLY
//!  member FULL|SEND_ONLY, leaves FULL, it was the last               -> goes, the group ends
//! ```

use sa_wire::Pkey;
use sa_wire::mad::Status;
use sa_wire::path_record::SelectedValue;
use sa_wire::records::{McMemberRecord, join_state};

use super::super::{Asked, Effects, Event};
use super::group::{Group, Member, Turn};
use super::port::{has_prefix, may_change};
use super::request::Request;
use super::{Groups, Mgid, saved};

impl Groups {
    /// Takes states from a member, or all of it. The record of the reply has the states that are
    /// left, 0 where the membership ended. Errors: the status of the refusal, and nothing changes.
    pub(super) fn leave(
        &mut self,
        asked: &Asked<'_>,
        request: &Request,
        effects: &mut Effects<'_>,
    ) -> Result<McMemberRecord, Status> {
        has_prefix(asked, request)?;
        let invalid = Status::REQ_INVALID;
        let group = self.all.get(&request.record.mgid).ok_or(invalid)?;
        let guid = request.record.port_gid().interface_id();
        let member = *group.member(guid).ok_or(invalid)?;
        let states = request.record.join_state();
        // Who gives up a state that it has not gives up nothing.
        let has_all = states != 0 && states & !member.state() == 0;
        if !has_all || !may_change(asked, &group.record, &member) {
            return Err(invalid);
        }
        let left = left(group, &member, states);
        match left {
            0 => self.drop_member(&request.record.mgid, guid, effects),
            _ => self.change_member(&request.record.mgid, left, member, effects),
        }
        let exactly = |value: SelectedValue| SelectedValue::exactly(value.value());
        Ok(McMemberRecord {
            mtu: exactly(request.record.mtu),
            rate: exactly(request.record.rate),
            packet_life: exactly(request.record.packet_life),
            scope_and_state: member.scope_and_state & 0xf0 | left,
            ..request.record
        })
    }

    /// Leaves a member with fewer states.
    fn change_member(&mut self, mgid: &Mgid, left: u8, old: Member, effects: &mut Effects<'_>) {
        let Some(group) = self.all.get_mut(mgid) else {
            return;
        };
        let member = Member {
            scope_and_state: old.scope_and_state & 0xf0 | left,
            ..old
        };
        saved::put_member(effects.journal, mgid, &member);
        let turn = group.set(member);
        self.after(mgid, turn, effects);
    }

    /// Removes a member, and the group if nobody keeps it alive.
    pub(super) fn drop_member(&mut self, mgid: &Mgid, guid: u64, effects: &mut Effects<'_>) {
        let Some(group) = self.all.get_mut(mgid) else {
            return;
        };
        saved::delete_member(effects.journal, mgid, guid);
        self.told.note(group.record.mlid.get());
        let turn = group.remove(guid);
        self.after(mgid, turn, effects);
    }

    /// Ends the group where the last member that kept it alive has gone, and says so to
    /// subscribers.
    fn after(&mut self, mgid: &Mgid, turn: Turn, effects: &mut Effects<'_>) {
        let Some(group) = self.all.get(mgid).filter(|_| turn == Turn::Ends) else {
            return;
        };
        effects.events.push(Event::GroupGone {
            mgid: group.record.mgid(),
            base: group.record.pkey.get() & !Pkey::FULL_BIT,
        });
        self.clear(mgid, effects);
    }

    /// Takes away a group that nobody keeps alive, with whoever is left in it. One of
    /// `partitions.conf` stays, without members.
    pub(super) fn clear(&mut self, mgid: &Mgid, effects: &mut Effects<'_>) {
        let Some(group) = self.all.get_mut(mgid) else {
            return;
        };
        self.told.note(group.record.mlid.get());
        for member in group.members() {
            saved::delete_member(effects.journal, mgid, member.guid());
        }
        if group.is_well_known {
            *group = Group::new(group.record, true);
        } else {
            saved::delete_group(effects.journal, mgid);
            self.all.remove(mgid);
        }
    }
}

/// The states of a member that are left; 0 when it is to go.
fn left(group: &Group, member: &Member, states: u8) -> u8 {
    let left = member.state() & !states;
    // FULL is bit 0, so this is 1 for a member that the count of keepers has for it: `> full` means
    // somebody else.
    let full = usize::from(member.state() & join_state::FULL);
    match left & join_state::FULL != 0 || group.keepers() > full {
        true => left,
        false => 0,
    }
}
