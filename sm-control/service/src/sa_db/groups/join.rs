//! Joining a group, which makes it if it is not there.
//!
//! The order of the checks decides which status a client gets:
//!
//! 1. the port that PortGID names is there and in sight,
//! 2. a P_Key that is asked for names a partition,
//! 3. the group is as asked, or can be made,
//! 4. its MTU and rate are as asked, and the port can take them,
//! 5. JoinState is not 0, and the port is in the group's partition,
//! 6. an old membership may be changed by this requester.
//!
//! ```text
//!  Set, MGID ff12:401b:ffff::ffff:ffff, PortGID fe80::5, JoinState 1
//!    no such group, P_Key, Q_Key, SL, FlowLabel, TClass in the mask ──> made, MLID 0xc000, member 1
//!  the same again             ──> the same reply, nothing changes
//!  JoinState 4 by the same    ──> state 5: both
//!  a port of MTU 1024 to a group of MTU 2048                         ──> refused
//! ```

use sa_wire::Pkey;
use sa_wire::mad::Status;
use sa_wire::path_record::SelectedValue;
use sa_wire::records::{McMemberCompMask, McMemberRecord};

use super::super::aliases::Aliases;
use super::super::{Asked, Effects, Event};
use super::Groups;
use super::group::{Group, Member, Turn};
use super::port::{Port, has_pkey, may_change};
use super::request::Request;
use super::saved;

impl Groups {
    /// Makes a port a member. The record of the reply. Nothing changes unless all checks pass.
    /// Errors: the status of the refusal.
    pub(super) fn join(
        &mut self,
        asked: &Asked<'_>,
        aliases: &Aliases,
        request: &Request,
        effects: &mut Effects<'_>,
    ) -> Result<McMemberRecord, Status> {
        let port = Port::named(asked, aliases, request)?;
        // 0 and 0x8000 name no partition.
        let is_no_key = request.record.pkey.get() & !Pkey::FULL_BIT == 0;
        if request.mask.has(McMemberCompMask::PKEY) && is_no_key {
            return Err(Status::REQ_INVALID);
        }
        // Copied, because making a group changes the map.
        let found = self.all.get(&request.record.mgid).map(|group| group.record);
        let record = match found {
            Some(record) if request.suits(&record) => record,
            Some(_) => return Err(Status::REQ_INVALID),
            // The record alone: the group is added only when the port may join it.
            None => self.make(asked, request, &port)?,
        };
        let is_able = request.fits(&record) && port.can_join(&record);
        let is_in = has_pkey(&asked.view, port.at, record.pkey.get());
        if !is_able || request.record.join_state() == 0 || !is_in {
            return Err(Status::REQ_INVALID);
        }
        let old = self.all.get(&record.mgid);
        let old = old.and_then(|group| group.member(request.record.port_gid().interface_id()));
        if old.is_some_and(|member| !may_change(asked, &record, member)) {
            return Err(Status::REQ_INVALID);
        }
        let member = member(request, &port, &record, old);
        self.add(&record, member, effects);
        Ok(reply(&request.record, &record, &member))
    }

    /// Adds the member, and the group where it is new.
    fn add(&mut self, record: &McMemberRecord, member: Member, effects: &mut Effects<'_>) {
        let next_mgid = self.next_mgid;
        let group = self.all.entry(record.mgid).or_insert_with(|| {
            saved::put_group(effects.journal, record);
            // With the group that it was used for: a counter without its group would be lost work,
            // a group without its counter a second group of this address.
            saved::put_next_mgid(effects.journal, next_mgid);
            Group::new(*record, false)
        });
        saved::put_member(effects.journal, &record.mgid, &member);
        self.told.note(record.mlid.get());
        if group.set(member) == Turn::Begins {
            effects.events.push(Event::GroupMade {
                mgid: record.mgid(),
                base: record.pkey.get() & !Pkey::FULL_BIT,
            });
        }
    }
}

/// A member as it is now: who joins again keeps the states that it had and gets those that it asks
/// for.
fn member(request: &Request, port: &Port, group: &McMemberRecord, old: Option<&Member>) -> Member {
    let asked = request.record.join_state();
    match old {
        Some(old) => Member {
            scope_and_state: old.scope_and_state | asked,
            ..*old
        },
        None => Member {
            port_gid: request.record.port_gid,
            base: port.guid.get().into(),
            scope_and_state: group.scope() << 4 | asked,
            proxy: port.is_proxied.into(),
        },
    }
}

/// The request's record with what the group says. Selectors are "exactly", as OpenSM's replies have
/// them.
fn reply(asked: &McMemberRecord, group: &McMemberRecord, member: &Member) -> McMemberRecord {
    let exactly = |value: SelectedValue| SelectedValue::exactly(value.value());
    McMemberRecord {
        mgid: group.mgid,
        q_key: group.q_key,
        mlid: group.mlid,
        mtu: exactly(group.mtu),
        tclass: group.tclass,
        pkey: group.pkey,
        rate: exactly(group.rate),
        packet_life: exactly(group.packet_life),
        sl_flow_hop: group.sl_flow_hop,
        scope_and_state: member.scope_and_state,
        ..*asked
    }
}
