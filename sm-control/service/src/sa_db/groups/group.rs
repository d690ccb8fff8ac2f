//! One group, and who is in it.
//!
//! JoinState has four bits: full member, non-member, send-only non-member, send-only full member. A
//! port may have several at once, by joining several times. The first and the last keep a group
//! alive; [`Group`] counts the members that have one of these, so that nobody goes over the members
//! to find out.

use std::collections::BTreeMap;

use sa_wire::records::{McMemberRecord, join_state};
use zerocopy::byteorder::big_endian::U64;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The states that keep a group alive.
const KEEPS: u8 = join_state::FULL | join_state::SEND_ONLY_FULL;

/// A group. The record is without members' components; those are in [`Member`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    /// What its maker asked for, completed. JoinState, PortGID, ProxyJoin and what is reserved are
    /// the maker's.
    pub(super) record: McMemberRecord,
    /// `partitions.conf` has it: it stays without members.
    pub(super) is_well_known: bool,
    /// Shape: by GUID, in the order of OpenSM's maps, in which tables list them.
    members: BTreeMap<u64, Member>,
    /// How many of them keep it alive.
    keepers: usize,
}

/// A port in a group. Shape: also what the journal has, 26 bytes, so its layout is part of the
/// journal's format.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub(super) struct Member {
    /// As it joined.
    pub(super) port_gid: [u8; 16],
    /// GUID of the port itself.
    pub(super) base: U64,
    /// The group's scope, and how the port joined.
    pub(super) scope_and_state: u8,
    /// 1 when another port made it a member.
    pub(super) proxy: u8,
}

impl Member {
    /// JoinState: the lower four bits.
    pub(super) const fn state(&self) -> u8 {
        self.scope_and_state & 0x0f
    }

    /// The part of its PortGID that names it within the group.
    pub(super) const fn guid(&self) -> u64 {
        sa_wire::Gid(self.port_gid).interface_id()
    }

    /// Whether the group lives because of it.
    const fn keeps(&self) -> bool {
        self.state() & KEEPS != 0
    }
}

/// Whether the first came, or the last went, of the members that keep a group alive. These are what
/// traps 66 and 67 tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// There was none before.
    Begins,
    /// There is none left.
    Ends,
    /// Neither.
    None,
}

impl Group {
    /// Without members.
    pub(super) const fn new(record: McMemberRecord, is_well_known: bool) -> Self {
        Self {
            record,
            is_well_known,
            members: BTreeMap::new(),
            keepers: 0,
        }
    }

    /// Whether somebody keeps it alive.
    pub(super) const fn is_kept(&self) -> bool {
        self.keepers > 0
    }

    /// How many members keep it alive.
    pub(super) const fn keepers(&self) -> usize {
        self.keepers
    }

    /// In the order of OpenSM's map.
    pub(super) fn members(&self) -> impl Iterator<Item = &Member> {
        self.members.values()
    }

    pub(super) fn member(&self, guid: u64) -> Option<&Member> {
        self.members.get(&order(guid))
    }

    /// Sets a member, new or not.
    pub(super) fn set(&mut self, member: Member) -> Turn {
        let old = self.members.insert(order(member.guid()), member);
        self.count(old.as_ref(), Some(&member))
    }

    /// Removes a member, if it is one.
    pub(super) fn remove(&mut self, guid: u64) -> Turn {
        let old = self.members.remove(&order(guid));
        self.count(old.as_ref(), None)
    }

    /// Keeps the count when a member changes from `old` to `new`, either of which may be absent.
    fn count(&mut self, old: Option<&Member>, new: Option<&Member>) -> Turn {
        let keeps = |member: Option<&Member>| member.is_some_and(Member::keeps);
        match (keeps(old), keeps(new)) {
            (false, true) => {
                self.keepers += 1;
                if self.keepers == 1 {
                    return Turn::Begins;
                }
            }
            (true, false) => {
                // Cannot go below 0: it was counted when it came.
                self.keepers -= 1;
                if self.keepers == 0 {
                    return Turn::Ends;
                }
            }
            _ => {}
        }
        Turn::None
    }
}

/// OpenSM's maps are ordered by GUIDs as they lie on the wire, read by a little-endian host: 0x0200
/// comes before 0x0001. Tables list members so, and clients have seen no other order.
const fn order(guid: u64) -> u64 {
    guid.swap_bytes()
}

const _: () = assert!(size_of::<Member>() == 26);
