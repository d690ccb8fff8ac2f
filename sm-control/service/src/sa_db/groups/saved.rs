//! Groups and members in the journal.
//!
//! | kind | key | value |
//! |---|---|---|
//! | group | MGID | its McMemberRecord |
//! | group | empty | the number that the next made-up MGID holds, 4 bytes big-endian |
//! | member | MGID, GUID | [`Member`], 26 bytes |
//!
//! Groups of `partitions.conf` are not written: the file has them. Their members are, and wait at a
//! start in a group without a record (MLID 0) until the file has been read.

use sa_wire::Mlid;
use sa_wire::records::{McMemberRecord, join_state};
use zerocopy::{FromBytes, IntoBytes};

use super::super::journal::{Journal, Kind};
use super::group::{Group, Member};
use super::{Groups, Mgid};

/// Key of the counter. No MGID is empty.
const NEXT_MGID: &[u8] = &[];

/// Groups that clients made; others are the file's.
pub(super) fn put_group(journal: &mut Journal, record: &McMemberRecord) {
    journal.put(Kind::Group, &record.mgid, record.as_bytes());
}

pub(super) fn delete_group(journal: &mut Journal, mgid: &Mgid) {
    journal.delete(Kind::Group, mgid);
}

/// Also of groups that are the file's.
pub(super) fn put_member(journal: &mut Journal, mgid: &Mgid, member: &Member) {
    journal.put(Kind::Member, &key(mgid, member.guid()), member.as_bytes());
}

pub(super) fn delete_member(journal: &mut Journal, mgid: &Mgid, guid: u64) {
    journal.delete(Kind::Member, &key(mgid, guid));
}

/// 0 is where a new database begins, and needs no entry.
pub(super) fn put_next_mgid(journal: &mut Journal, next: u32) {
    if next != 0 {
        journal.put(Kind::Group, NEXT_MGID, &next.to_be_bytes());
    }
}

/// Key of a member.
fn key(mgid: &Mgid, guid: u64) -> Vec<u8> {
    [&mgid[..], &guid.to_be_bytes()].concat()
}

/// Puts members that another SA has told into an empty journal, and their groups. `owner`: the port that a GUID belongs to, where
/// that is an alias. Errors: what a record has that no group or member can have.
pub(super) fn inherit(
    journal: &mut Journal,
    told: &[McMemberRecord],
    owner: impl Fn(u64) -> Option<u64>,
) -> Result<(), &'static str> {
    for record in told {
        let guid = record.port_gid().interface_id();
        // Who asks without the SA's key is told of no port.
        if guid == 0 {
            return Err("a member without a port, as for who lacks the SA's key");
        }
        let is_group = record.mgid[0] == 0xff && Mlid::new(record.mlid.get()).is_ok();
        if !is_group || record.join_state() == 0 {
            return Err("a group without a multicast address, or a member without a JoinState");
        }
        let member = Member {
            port_gid: record.port_gid,
            base: owner(guid).unwrap_or(guid).into(),
            scope_and_state: record.scope_and_state,
            proxy: record.is_proxy_join().into(),
        };
        // As a group of `partitions.conf` has it: who made the group is not told.
        let group = McMemberRecord {
            port_gid: [0; 16],
            scope_and_state: record.scope() << 4 | join_state::FULL,
            ..*record
        }
        .with_proxy_join(false);
        put_group(journal, &group);
        put_member(journal, &record.mgid, &member);
    }
    Ok(())
}

/// The groups of `known` that are the file's are not the journal's.
pub(super) fn leave_well_known(told: &mut Journal, known: &Groups) {
    for mgid in known.well_known().map(|(mgid, _)| mgid) {
        delete_group(told, mgid);
    }
}

/// What the journal has. Members of groups that it does not have are those of groups of
/// `partitions.conf`, which come without a record until that is read.
pub(super) fn restore(journal: &Journal) -> Groups {
    let mut groups = Groups::default();
    for (key, value) in journal.entries(Kind::Group) {
        if key == NEXT_MGID {
            groups.next_mgid = value
                .first_chunk()
                .map_or(0, |raw| u32::from_be_bytes(*raw));
        } else if let Ok(record) = McMemberRecord::read_from_bytes(value) {
            groups.all.insert(record.mgid, Group::new(record, false));
        }
    }
    for (key, value) in journal.entries(Kind::Member) {
        let (Some(mgid), Ok(member)) = (key.first_chunk(), Member::read_from_bytes(value)) else {
            continue;
        };
        let unread = McMemberRecord {
            mgid: *mgid,
            ..McMemberRecord::default()
        };
        let group = groups.all.entry(*mgid);
        group
            .or_insert_with(|| Group::new(unread, true))
            .set(member);
    }
    groups
}
