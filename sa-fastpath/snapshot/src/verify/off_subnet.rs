//! What must hold of multicast groups and prefix routes.
//!
//! Groups are found by halving, so their order is a promise. Fields must fit their bits on the
//! wire, because answers copy them there without a look.

use sa_wire::{Mlid, Mtu, Rate};

use super::{Checked, LONGEST_LIFE, check};
use crate::format::Sections;
use crate::format::records::{GroupRecord, PrefixRouteRecord, port_flags};

/// Groups in the order of their addresses, each with values that a group can have.
pub(super) fn groups(sections: &Sections) -> Checked {
    const NAME: &str = "multicast groups";
    let groups = &*sections.groups;
    let sorted = groups.is_sorted_by(|one, other| one.mgid < other.mgid);
    check(sorted, NAME, "not in order, or MGID twice")?;
    for group in groups {
        check(group.mgid[0] == 0xff, NAME, "not a multicast address")?;
        check(is_sound(group), NAME, "a value that no group has")?;
    }
    Ok(())
}

/// True for codes that exist and numbers within their bits.
fn is_sound(group: &GroupRecord) -> bool {
    Mlid::new(group.mlid).is_ok()
        && group.pkey & 0x7fff != 0
        && Mtu::from_code(group.mtu).is_ok()
        && Rate::from_code(group.rate).is_ok()
        && group.packet_life <= LONGEST_LIFE
        && group.sl < 16
        && group.flow_label < 1 << 20
        && group.scope < 16
        && group.reserved == 0
}

/// Routes lead to routers of this subnet, or nowhere.
pub(super) fn prefix_routes(sections: &Sections) -> Checked {
    const NAME: &str = "prefix routes";
    let is_sound = |route: &PrefixRouteRecord| {
        let router = usize::from(route.router).checked_sub(1);
        let port = router.map(|at| sections.ports.get(at));
        // 0 leads nowhere, which is allowed; anything else must be a router's port of this
        // snapshot.
        let is_router =
            port.is_none_or(|port| port.is_some_and(|port| port.flags & port_flags::ROUTER != 0));
        is_router && route.reserved == [0; 3]
    };
    check(
        sections.prefix_routes.iter().all(is_sound),
        NAME,
        "not to a router",
    )
}
