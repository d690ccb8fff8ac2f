//! What a port that joins can do, and who may act for it.
//!
//! The port is the one that PortGID names, which need not be the requester: one port may join for
//! another that shares a partition with it (a *proxy* join). Such a membership can be changed by
//! whoever is in the group's partition; a port's own only by itself.

use sa_fabric::PortRef;
use sa_wire::mad::Status;
use sa_wire::records::McMemberRecord;
use sa_wire::{Guid, Pkey};

use super::super::Asked;
use super::super::aliases::Aliases;
use super::group::Member;
use super::request::{Rates, Request};
use crate::records::View;

/// NeighborMTU of a switch's port 0, as ibsim has it. Units: code.
const PORT0_MTU: u8 = 1;

/// A port that joins. Made for each request from the fabric as it is now.
#[derive(Debug, Clone, Copy)]
pub(super) struct Port {
    pub(super) at: PortRef,
    pub(super) guid: Guid,
    /// NeighborMTU. Units: code.
    pub(super) mtu: u8,
    /// Rate of its link. Units: code, which does not follow the speeds.
    pub(super) rate: u8,
    /// Another port asks for it.
    pub(super) is_proxied: bool,
}

impl Port {
    /// The port that PortGID names. Errors: the status when it names none, or the requester may
    /// not know it.
    pub(super) fn named(
        asked: &Asked<'_>,
        aliases: &Aliases,
        request: &Request,
    ) -> Result<Self, Status> {
        has_prefix(asked, request)?;
        let view = &asked.view;
        let at = aliases.port(asked.parts, request.record.port_gid().interface_id());
        let end = at.and_then(|at| view.end(at)).ok_or(Status::REQ_INVALID)?;
        if !view.related(end.at, view.requester) {
            return Err(Status::REQ_INVALID);
        }
        Ok(Self {
            at: end.at,
            guid: end.guid,
            mtu: neighbor_mtu(view, end.at),
            rate: view.fabric().link(end.at).rate().code(),
            is_proxied: end.at != view.requester,
        })
    }

    /// The port can take what a group sends: neither its MTU nor its rate is less than the group's.
    pub(super) fn can_join(&self, group: &McMemberRecord) -> bool {
        self.mtu >= group.mtu.value() && Rates::rank(self.rate) >= Rates::rank(group.rate.value())
    }
}

/// Errors: the status for a PortGID of another subnet.
pub(super) fn has_prefix(asked: &Asked<'_>, request: &Request) -> Result<(), Status> {
    let prefix = request.record.port_gid().prefix();
    match prefix == asked.parts.options.subnet_prefix {
        true => Ok(()),
        false => Err(Status::REQ_INVALID_GID),
    }
}

/// The lesser of the capabilities of both ends, which is what an SM sets. Units: code.
fn neighbor_mtu(view: &View<'_>, at: PortRef) -> u8 {
    if view.is_switch(at.node) {
        return PORT0_MTU;
    }
    let own = view.fabric().mtu_cap(at);
    let peer = view.peer(at);
    peer.map_or(own, |peer| view.fabric().mtu_cap(peer).min(own))
        .code()
}

/// A port has the P_Key, as a full or a limited member. What is no P_Key everybody has.
///
/// With `allow_both_pkeys` only limited members have it: OpenSM looks for that P_Key alone then,
/// so that who is a full member only is refused.
pub(super) fn has_pkey(view: &View<'_>, at: PortRef, pkey: u16) -> bool {
    let base = pkey & !Pkey::FULL_BIT;
    let ignored = match view.parts.options.allow_both_pkeys {
        true => 0,
        false => Pkey::FULL_BIT,
    };
    let table = view.pkey_table(at);
    base == 0 || table.iter().any(|key| key & !ignored == base)
}

/// The requester may change this membership: it is its own, or another port's that somebody else
/// made a member, and the requester is in the group's partition.
pub(super) fn may_change(asked: &Asked<'_>, group: &McMemberRecord, member: &Member) -> bool {
    let view = &asked.view;
    if member.proxy != 0 {
        return has_pkey(view, view.requester, group.pkey.get());
    }
    let own = view.guid(view.requester).map(Guid::get);
    let prefix = sa_wire::Gid(member.port_gid).prefix();
    own == Some(member.base.get()) && prefix == asked.parts.options.subnet_prefix
}
