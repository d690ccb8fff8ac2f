//! What must hold of alias GUIDs.
//!
//! Lookups number GUIDs by `before`, and find a port's aliases by halving `aliases_by_port`. Both
//! could answer for another port if an order were wrong, so each number is worked out again here.
//! Cost: a binary search an alias.

use super::{Checked, check};
use crate::format::Sections;
use crate::format::records::{AliasRecord, port_flags};

/// Errors: aliases out of order, twice, of no port, or equal to a port's own GUID.
pub(super) fn aliases(sections: &Sections) -> Checked {
    const NAME: &str = "alias GUIDs";
    let aliases = &*sections.aliases;
    let sorted = aliases.is_sorted_by(|one, other| one.order() < other.order());
    check(sorted, NAME, "not in order, or GUID twice")?;
    let ports = &*sections.ports;
    for alias in aliases {
        let known = usize::from(alias.port) < ports.len();
        check(known && alias.order() != 0, NAME, "port or GUID")?;
        let order = alias.order();
        let before = ports.partition_point(|port| u64::from_le_bytes(port.guid) < order);
        check(
            // The place among the ports follows from the GUIDs, and is kept so that numbering needs
            // no search.
            usize::from(alias.before) == before,
            NAME,
            "out of place among the ports",
        )?;
        let own = ports
            .get(before)
            .is_some_and(|port| port.guid == alias.guid);
        check(!own, NAME, "the GUID of a port")?;
    }
    by_port(sections)
}

/// Each alias once, those of a port together and in order; their ports and no others are flagged.
fn by_port(sections: &Sections) -> Checked {
    const NAME: &str = "aliases by port";
    let places = &*sections.aliases_by_port;
    check(
        places.len() == sections.aliases.len(),
        NAME,
        "unexpected length",
    )?;
    let alias = |place: &u32| -> Option<&AliasRecord> {
        let place = usize::try_from(*place).ok()?;
        sections.aliases.get(place)
    };
    check(
        places.iter().all(|place| alias(place).is_some()),
        NAME,
        "out of range",
    )?;
    let key = |place: &u32| (alias(place).map(|alias| alias.port), *place);
    check(
        places.is_sorted_by(|one, other| key(one) < key(other)),
        NAME,
        "not in order",
    )?;
    let mut owners = places.iter().filter_map(|place| Some(alias(place)?.port));
    let mut next = owners.next();
    for (ix, port) in (0u16..).zip(sections.ports.iter()) {
        let has_some = next == Some(ix);
        while next == Some(ix) {
            next = owners.next();
        }
        let flagged = port.flags & port_flags::ALIASES != 0;
        check(flagged == has_some, "ports", "alias flag")?;
    }
    Ok(())
}
