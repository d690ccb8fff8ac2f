//! Second GUIDs of ports. A path is its ports'; which GUIDs its record names is the request's and
//! the order's business.
//!
//! The order of all GUIDs is `Guid::map_order`, whether they are ports' own or aliases.
//!
//! Example: ports A and B in this order, B with aliases x and y, x before B and y behind it. The
//! order of all is A, x, B, y; numbers 0 to 3. `before` of x is 1 (A), of y 2 (A and B). So the nth
//! GUID is an alias if some alias has place + before = n, else the port with number n less the
//! aliases before it.
//!
//! None of this is on the fast path: snapshots with aliases answer such requests in the slow lane.

use crate::Snapshot;
use crate::format::records::{AliasRecord, PortIx, port_flags};

/// A port by one of its GUIDs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedPort {
    /// The port that has it.
    pub port: PortIx,
    /// Its own GUID or an alias, wire bytes.
    pub guid: [u8; 8],
}

impl Snapshot {
    /// True when some port has a second GUID.
    #[inline(always)]
    pub fn has_aliases(&self) -> bool {
        !self.sections.aliases.is_empty()
    }

    /// True when this port has a second GUID.
    #[inline]
    pub fn is_aliased(&self, port: PortIx) -> bool {
        self.port(port).flags & port_flags::ALIASES != 0
    }

    /// The port that has this GUID (host order) as its second.
    pub fn alias(&self, guid: u64) -> Option<PortIx> {
        let aliases = &*self.sections.aliases;
        // Kept in the order of wire bytes read as little-endian, which is how `swap_bytes` has it.
        let wanted = guid.swap_bytes();
        let at = aliases
            .binary_search_by_key(&wanted, AliasRecord::order)
            .ok()?;
        aliases.get(at).map(|alias| PortIx(alias.port))
    }

    /// Every second GUID, in order.
    pub fn aliases(&self) -> impl Iterator<Item = NamedPort> {
        self.sections.aliases.iter().map(AliasRecord::named)
    }

    /// The second GUIDs of a port, in order.
    pub fn aliases_of(&self, port: PortIx) -> impl Iterator<Item = NamedPort> {
        let places = self.alias_places(port).iter();
        places.filter_map(|place| Some(self.alias_at(*place)?.named()))
    }

    /// A port by this GUID (host order), its own or an alias.
    #[inline]
    pub fn named_port(&self, guid: u64) -> Option<NamedPort> {
        let port = self.port_by_guid(guid).or_else(|| self.alias(guid))?;
        Some(NamedPort {
            port,
            guid: guid.to_be_bytes(),
        })
    }

    /// A port by its own GUID.
    #[inline]
    pub fn named_by_itself(&self, port: PortIx) -> NamedPort {
        NamedPort {
            port,
            guid: self.port(port).guid,
        }
    }

    /// How many GUIDs there are.
    pub fn guid_count(&self) -> u64 {
        (self.port_count() + self.sections.aliases.len()) as u64
    }

    /// The GUID with this place in the order of all.
    pub fn nth_guid(&self, nth: u64) -> Option<NamedPort> {
        // An alias comes behind the ports before it and the aliases before it.
        let aliases = &*self.sections.aliases;
        // Both ends of the search are places among aliases.
        let (mut low, mut high) = (0, aliases.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let alias = aliases.get(middle)?;
            // place + before grows with the place, so halving finds it.
            match (middle as u64 + u64::from(alias.before)).cmp(&nth) {
                core::cmp::Ordering::Less => low = middle + 1,
                core::cmp::Ordering::Equal => return Some(alias.named()),
                core::cmp::Ordering::Greater => high = middle,
            }
        }
        let port = self.nth_port(nth.checked_sub(low as u64)?)?;
        Some(self.named_by_itself(port))
    }

    /// How many GUIDs a port has.
    pub fn guid_count_of(&self, port: PortIx) -> u64 {
        1 + self.alias_places(port).len() as u64
    }

    /// The GUID of a port with this place in the order of its own.
    pub fn nth_guid_of(&self, port: PortIx, nth: u64) -> Option<NamedPort> {
        let places = self.alias_places(port);
        // Those before the port's own GUID; its own comes then, and the others behind it.
        let earlier = places.partition_point(|place| {
            self.alias_at(*place)
                .is_some_and(|alias| alias.before <= port.0)
        });
        let place = match nth.cmp(&(earlier as u64)) {
            core::cmp::Ordering::Less => nth,
            core::cmp::Ordering::Equal => return Some(self.named_by_itself(port)),
            core::cmp::Ordering::Greater => nth - 1,
        };
        let place = places.get(usize::try_from(place).ok()?)?;
        Some(self.alias_at(*place)?.named())
    }

    /// Places of a port's aliases among all.
    fn alias_places(&self, port: PortIx) -> &[u32] {
        let places = &*self.sections.aliases_by_port;
        let owner = |place: &u32| self.alias_at(*place).map_or(u16::MAX, |alias| alias.port);
        let start = places.partition_point(|place| owner(place) < port.0);
        let rest = places.get(start..).unwrap_or_default();
        let len = rest.partition_point(|place| owner(place) == port.0);
        rest.get(..len).unwrap_or_default()
    }

    /// The record at a place among all aliases.
    fn alias_at(&self, place: u32) -> Option<&AliasRecord> {
        self.sections.aliases.get(usize::try_from(place).ok()?)
    }
}

impl AliasRecord {
    /// The alias with its port.
    const fn named(&self) -> NamedPort {
        NamedPort {
            port: PortIx(self.port),
            guid: self.guid,
        }
    }
}
