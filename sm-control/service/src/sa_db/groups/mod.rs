//! Multicast groups and their members. Source: OpenSM `osm_sa_mcmember_record.c`,
//! `osm_multicast.c`.
//!
//! A group is an MGID with what its packets are like (Q_Key, MLID, MTU, rate, SL, P_Key and so on),
//! and the ports in it. Set joins, and makes the group where it is not there; Delete leaves, and
//! ends the group with its last full member.
//!
//! | file | has |
//! |---|---|
//! | `request` | which components count, and whether a group is as asked |
//! | `port` | what the joining port can do, and who may act for it |
//! | `join`, `make`, `mgid` | joining; the record and the address of a new group |
//! | `leave` | leaving, and the end of a group |
//! | `query`, `path` | which groups and members there are; PathRecords to a group |
//! | `fabric` | what a changed fabric does |
//! | `saved` | the journal |
//!
//! Groups of `partitions.conf` are *well known*: they are there without members, and their record
//! is the file's whatever clients ask. All others live as long as somebody keeps them alive, which
//! full members and send-only full members do, non-members and send-only members do not.
//!
//! What it does not do: multicast forwarding tables. The trees are the SM's; this SA keeps who is
//! in, and tells it ([`Groups::memberships`]).

mod fabric;
mod group;
mod join;
mod leave;
mod make;
mod memberships;
mod mgid;
mod path;
mod port;
mod query;
mod request;
mod saved;

use std::collections::BTreeMap;

use sa_wire::Pkey;
use sa_wire::mad::{Status, method};
use sa_wire::path_record::PathRecord;
use sa_wire::records::McMemberRecord;
use zerocopy::{FromBytes, IntoBytes};

use self::group::Group;
use self::memberships::Told;
use self::request::Request;
use super::aliases::Aliases;
use super::{Answer, Asked, Effects, Journal, is_request};
use sa_answer::whole::MAX_BYTES;
use sa_compiler::state::FabricState;

pub use self::memberships::Memberships;
pub(super) use self::path::is_path_to_group;

/// Address of a group. Shape: as on the wire, whose order is that of tables.
type Mgid = [u8; 16];

/// All groups of the subnet.
#[derive(Debug, Default)]
pub(super) struct Groups {
    all: BTreeMap<Mgid, Group>,
    /// Goes into the next MGID that is made up, so that one is not given twice soon after its group
    /// ended.
    next_mgid: u32,
    /// Who is in which MLID, as far as it was told.
    told: Told,
}

impl Groups {
    /// Groups that clients made, and members. Those of groups of `partitions.conf` wait for
    /// [`Self::fabric_changed`].
    pub(super) fn restore(journal: &Journal) -> Self {
        saved::restore(journal)
    }

    /// Puts what another SA has told of members into an empty journal. Errors: what is wrong with it.
    pub(super) fn inherit(
        journal: &mut Journal,
        told: &[McMemberRecord],
        owner: impl Fn(u64) -> Option<u64>,
    ) -> Result<(), &'static str> {
        saved::inherit(journal, told, owner)
    }

    /// Takes groups that `partitions.conf` has out of what another SA has told.
    pub(super) fn leave_well_known(&self, told: &mut Journal) {
        saved::leave_well_known(told, self);
    }

    /// Groups and members are those of the journal now. Groups of `partitions.conf` stay as that has them.
    pub(super) fn become_those_of(&mut self, journal: &Journal) {
        let before = core::mem::replace(self, Self::restore(journal));
        for (mgid, old) in before.well_known() {
            let new = || Group::new(old.record, true);
            let group = self.all.entry(*mgid).or_insert_with(new);
            (group.record, group.is_well_known) = (old.record, true);
        }
        self.told = before.told;
        self.told.note_all();
    }

    /// Those of `partitions.conf`, as far as it was read.
    fn well_known(&self) -> impl Iterator<Item = (&Mgid, &Group)> {
        let is_read = |group: &Group| group.is_well_known && group.record.mlid.get() != 0;
        self.all.iter().filter(move |(_, group)| is_read(group))
    }

    /// True for a request for the path to a group of a partition that the requester is not in. Only
    /// the strict rule asks: OpenSM tells everybody.
    pub(super) fn hides(&self, asked: &Asked<'_>) -> bool {
        let wanted = PathRecord::ref_from_prefix(&asked.mad.data);
        let group = wanted.ok().and_then(|(path, _)| self.all.get(&path.dgid));
        let is_held = |pkey: u16| {
            let own = asked.view.pkey_table(asked.view.requester);
            own.iter().any(|key| (key ^ pkey) & !Pkey::FULL_BIT == 0)
        };
        group.is_some_and(|group| !is_held(group.record.pkey.get()))
    }

    /// Answers a request for MCMemberRecords. The order of refusals: method, then
    /// components.
    pub(super) fn respond(
        &mut self,
        asked: &Asked<'_>,
        aliases: &Aliases,
        effects: &mut Effects<'_>,
    ) -> Answer {
        let asks = asked.mad.mad.method;
        if !is_request(asks) {
            return Answer::Silence;
        }
        if !matches!(
            asks,
            method::GET | method::GET_TABLE | method::SET | method::DELETE
        ) {
            return Answer::Refusal(Status::METHOD_ATTRIBUTE_NOT_SUPPORTED);
        }
        let request = match Request::decode(asked) {
            Ok(request) => request,
            Err(status) => return Answer::Refusal(status),
        };
        match asks {
            method::SET => one(self.join(asked, aliases, &request, effects)),
            method::DELETE => one(self.leave(asked, &request, effects)),
            _ => match self.query(asked, &request) {
                // All members of all groups, for those who have the key, may be longer than any
                // reply.
                records if records.len() > MAX_BYTES => Answer::Refusal(Status::NO_RESOURCES),
                records => Answer::Records(records),
            },
        }
    }

    /// The path to a group, asked for as [`is_path_to_group`] has it.
    pub(super) fn path(&self, asked: &Asked<'_>) -> Answer {
        path::answer(self, asked)
    }

    /// Takes the groups of `partitions.conf` anew, and lets go of members whose ports are gone.
    pub(super) fn fabric_changed(&mut self, parts: &FabricState, effects: &mut Effects<'_>) {
        fabric::settle(self, parts, effects);
    }

    /// True when a port is a member of some group by this GUID. O(groups).
    pub(super) fn has_member(&self, guid: u64) -> bool {
        let mut groups = self.all.values();
        groups.any(|group| group.member(guid).is_some())
    }
}

/// The answer to a Set or Delete, which has one record.
fn one(result: Result<McMemberRecord, Status>) -> Answer {
    match result {
        Ok(record) => Answer::Records(record.as_bytes().to_vec()),
        Err(status) => Answer::Refusal(status),
    }
}
