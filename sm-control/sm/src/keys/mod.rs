//! Which M_Key a request carries.
//!
//! A port with a key answers a Set with another one by silence, and at protection levels 2 and 3 a Get too: a wrong key looks like a
//! device that is gone. So the key of a request is that of its target, and where that is not known the likely ones are tried, each with
//! the next try of the same request ([`crate::executor`]).
//!
//! ```text
//!  first contact: neighbors ──> who is behind this port ──> its key, the one before a change ─┐
//!                 a key that worked a moment ago where the first choice did not, configured ──┼──> 4 at most, in this order
//!                 keys that many ports are known to have ─────────────────────────────────────┘
//!  from then on:  the key that was answered to, and the one that PortInfo shows   (model: Port::m_key)
//! ```
//!
//! 0 is tried only where it is one of these: a port without a key looks at none.
//!
//! What is known outlives the process in three files, of which OpenSM has the first two under the same names and in the same format
//! ([`files`]):
//!
//! | file | what | written |
//! |---|---|---|
//! | `guid2mkey` | the key of each port | before a Set gives another one, with that one; after the sweep with what ports answer to |
//! | `neighbors` | which port is behind which | with it |
//! | `guid2mkey.before` | the key before, of ports that have not answered to the new one | before the first |
//!
//! A process that ends between a file and its Set, or between a Set and its answer, leaves both keys that the port may hold.
//!
//! With `m_key_lookup FALSE` all requests carry the configured key, whatever ports show.
//!
//! Source: IBA vol. 1, 14.2.4; OpenSM `osm_req.c`, `osm_db_pack.c`.

pub mod files;

use std::collections::{BTreeMap, BTreeSet};

use sa_wire::Guid;

use crate::executor::MOST_OTHER_KEYS;
use crate::model::{Node, Subnet};

/// A port by a name that lasts: the GUID of its end port (of a switch, of its port 0), and its number.
///
/// An index of the model would not do: nodes are numbered anew in each sweep, and files outlive the process.
pub type PortName = (Guid, u8);

/// Keys of ports, as far as they are known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keys {
    /// `m_key`; 0 for none.
    configured: u64,
    /// All requests carry the configured one.
    is_fixed: bool,
    /// By the GUID of the end port that holds it; none of them 0.
    /// Of ports that are away too, up to [`MOST_AWAY`].
    held: BTreeMap<Guid, u64>,
    /// Before a change that is not confirmed.
    /// [`Keys::give`] fills it, [`Keys::learn`] empties it.
    before: BTreeMap<Guid, u64>,
    /// Which port is at the far end of which, both ways.
    /// Kept when a cable is pulled: what comes back mostly comes back where it was.
    neighbors: BTreeMap<PortName, PortName>,
}

/// Ports that this remembers of nodes that are away.
///
/// The bound is on each table by itself. What is beyond it is forgotten all at once: choosing whom to forget would need an age for each.
pub const MOST_AWAY: usize = 0x1_0000;

impl Keys {
    /// What files of an earlier process say.
    ///
    /// Keys of 0 are dropped: they would be a candidate that says nothing, in place of one that might be right.
    pub fn remembered(
        held: BTreeMap<Guid, u64>,
        before: BTreeMap<Guid, u64>,
        neighbors: BTreeMap<PortName, PortName>,
    ) -> Self {
        let some =
            |keys: BTreeMap<Guid, u64>| keys.into_iter().filter(|(_, key)| *key != 0).collect();
        Self {
            held: some(held),
            before: some(before),
            neighbors,
            ..Self::default()
        }
    }

    /// `m_key` and `m_key_lookup` from now on. Ports keep their keys until they are given another one.
    ///
    /// `looks_up`: `m_key_lookup`. Nothing is sent: [`Self::give`] says which ports are to be told.
    pub const fn configure(&mut self, key: u64, looks_up: bool) {
        self.configured = key;
        self.is_fixed = !looks_up;
    }

    /// `m_key`.
    pub const fn configured(&self) -> u64 {
        self.configured
    }

    /// The key that all requests carry, whatever ports show.
    ///
    /// None where keys are looked up: then each request carries that of its target.
    pub fn fixed(&self) -> Option<u64> {
        self.is_fixed.then_some(self.configured)
    }

    /// True where any port has a key or is to have one: else there is nothing to write down.
    ///
    /// A subnet without keys writes no files and pays nothing for all this.
    pub fn matter(&self) -> bool {
        self.configured != 0 || !self.held.is_empty() || !self.before.is_empty()
    }

    /// The key of each port that is known to have one, or is about to get it.
    pub const fn held(&self) -> &BTreeMap<Guid, u64> {
        &self.held
    }

    /// The key before, of ports that have not confirmed another one.
    pub const fn before(&self) -> &BTreeMap<Guid, u64> {
        &self.before
    }

    /// Who is at the far end of whom.
    pub const fn neighbors(&self) -> &BTreeMap<PortName, PortName> {
        &self.neighbors
    }

    /// The end port at the far end of a port, as it was when it was last seen.
    ///
    /// What is behind it now may be another one: the key of this is the first guess, not a fact.
    pub fn behind(&self, port: PortName) -> Option<Guid> {
        self.neighbors.get(&port).map(|(guid, _)| *guid)
    }

    /// Keys to try on an end port, in this order. `lately`: one that somebody answered to a moment ago. `common`:
    /// [`Self::common`]. Shape: at least one, none twice, no more than a request can carry.
    pub fn candidates(&self, port: Option<Guid>, lately: Option<u64>, common: &[u64]) -> Vec<u64> {
        if self.is_fixed {
            return vec![self.configured];
        }
        // Best first: each wrong one costs a whole timeout, as a port with another key is silent.
        let of = |keys: &BTreeMap<Guid, u64>| port.and_then(|port| keys.get(&port)).copied();
        let all = of(&self.held).into_iter().chain(of(&self.before));
        let all = all.chain(lately).chain([self.configured]);
        let mut keys = Vec::new();
        for key in all.chain(common.iter().copied()) {
            // One goes with the request itself, the others ride along in `other_keys`.
            if !keys.contains(&key) && keys.len() <= MOST_OTHER_KEYS {
                keys.push(key);
            }
        }
        keys
    }

    /// Two keys that most ports are known to have had, for a port of which nothing is known.
    ///
    /// Where all ports have one key that is the first of them; more than two would push out what is known of the port itself.
    pub fn common(&self) -> Vec<u64> {
        let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
        for key in self.held.values().chain(self.before.values()) {
            *counts.entry(*key).or_default() += 1;
        }
        let mut keys: Vec<(usize, u64)> = counts
            .into_iter()
            .map(|(key, count)| (count, key))
            .collect();
        // Reversed, so it is also the greater key of two that are as frequent: no answer depends on the order of GUIDs.
        // The most frequent first; of equals always the same.
        keys.sort_unstable_by(|one, other| other.cmp(one));
        keys.into_iter().take(2).map(|(_, key)| key).collect()
    }

    /// Ports are about to get the configured key: to be written down before the first Set. False where none is.
    ///
    /// What a port is known to hold becomes its `before` here, and stays there until the port has answered to the new one
    /// ([`Self::learn`]): a Set whose answer is lost leaves either key in the port.
    pub fn give(&mut self, subnet: &Subnet) -> bool {
        // A port that loses its key is asked by the old one until it has answered without.
        if self.configured == 0 || self.is_fixed {
            return false;
        }
        let mut is_other = false;
        for (_, port) in subnet.end_ports() {
            let Some(guid) = port.guid else { continue };
            // What it answered to outweighs what a file said of it.
            if let Some(key) = port.known_m_key().filter(|key| *key != 0) {
                self.held.insert(guid, key);
                self.before.remove(&guid);
            }
            if self.held.get(&guid) == Some(&self.configured) {
                continue;
            }
            is_other = true;
            // A port of which nothing was known has no key before: it may hold none, and 0 is not kept.
            if let Some(old) = self.held.insert(guid, self.configured) {
                self.before.insert(guid, old);
            }
        }
        is_other
    }

    /// What ports answered to in a sweep, and who is behind whom. Of ports whose key nobody can tell, and of those that are away, what
    /// was known stays.
    ///
    /// With it `before` of a port ends, as its answer shows which of two keys it took.
    pub fn learn(&mut self, subnet: &Subnet) {
        for (_, port) in subnet.end_ports() {
            let (Some(guid), Some(key)) = (port.guid, port.known_m_key()) else {
                continue;
            };
            // It answered, so which of both it was is known.
            self.before.remove(&guid);
            match key {
                // No key: nothing to write down, and nothing to try.
                0 => self.held.remove(&guid),
                key => self.held.insert(guid, key),
            };
        }
        for found in subnet.nodes() {
            for (number, port) in found.ports() {
                let far = port.peer.and_then(|far| {
                    let guid = end_guid(subnet.node(far.node)?, far.port)?;
                    Some((guid, far.port))
                });
                if let (Some(near), Some(far)) = (end_guid(found, number), far) {
                    self.neighbors.insert((near, number), far);
                }
            }
        }
        // Last: what this sweep has added counts too.
        self.forget_those_away(subnet);
    }

    /// End ports of the subnet that do not hold the configured key, or of which it is not known; then those that are away and
    /// hold another one.
    ///
    /// Once both lists are empty nobody needs the key before the last change any more.
    pub fn unconfirmed(&self, subnet: &Subnet) -> Unconfirmed {
        let mut unconfirmed = Unconfirmed::default();
        let mut seen = BTreeSet::new();
        for (_, port) in subnet.end_ports() {
            let Some(guid) = port.guid else { continue };
            seen.insert(guid);
            let is_sure = port.known_m_key() == Some(self.configured);
            // Without a key nothing tells a port that has none from one that hides it, until a Set is not answered.
            let is_hidden = self.configured == 0 && port.known_m_key().is_none();
            if !is_sure && !is_hidden {
                unconfirmed.there.push(guid);
            }
        }
        // Those that are away cannot be asked; they hold what they last answered to.
        let others = self.held.iter().filter(|(_, key)| **key != self.configured);
        let away = others
            .map(|(guid, _)| *guid)
            .filter(|guid| !seen.contains(guid));
        unconfirmed.away.extend(away);
        unconfirmed
    }

    /// This must not grow with every port that ever was there.
    ///
    /// A fabric where hosts are replaced for years would fill memory and files with keys of ports that never come back.
    fn forget_those_away(&mut self, subnet: &Subnet) {
        let most = |there: usize| there.saturating_add(MOST_AWAY);
        let ports: BTreeSet<Guid> = subnet
            .end_ports()
            .filter_map(|(_, port)| port.guid)
            .collect();
        // All that are away go, not the oldest: no age is kept.
        for keys in [&mut self.held, &mut self.before] {
            if keys.len() > most(ports.len()) {
                keys.retain(|guid, _| ports.contains(guid));
            }
        }
        let links = subnet
            .nodes()
            .iter()
            .map(|node| usize::from(node.port_count()))
            .sum();
        if self.neighbors.len() > most(links) {
            self.neighbors.retain(|(guid, _), _| ports.contains(guid));
        }
    }
}

/// Ports that do not hold the configured key.
///
/// Shape: `there` in the order of the model, `away` by GUID; no GUID is in both.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unconfirmed {
    /// GUIDs of end ports that a sweep found.
    pub there: Vec<Guid>,
    /// Of those that it did not find.
    pub away: Vec<Guid>,
}

/// The GUID of the end port that a port belongs to.
///
/// None where the port is not there, or its node did not tell a GUID for it.
pub(crate) fn end_guid(node: &Node, port: u8) -> Option<Guid> {
    node.port(node.end_port(port))?.guid
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guid(raw: u64) -> Guid {
        Guid::new(raw).unwrap()
    }

    #[test]
    fn what_is_known_of_a_port_comes_before_what_is_likely() {
        let held = BTreeMap::from([(guid(1), 7), (guid(2), 7), (guid(3), 8)]);
        let before = BTreeMap::from([(guid(1), 5)]);
        let mut keys = Keys::remembered(held, before, BTreeMap::new());
        keys.configure(9, true);
        let common = keys.common();
        assert_eq!(common, [7, 8]);
        assert_eq!(keys.candidates(Some(guid(1)), None, &common), [7, 5, 9, 8]);
        assert_eq!(keys.candidates(Some(guid(4)), Some(8), &common), [8, 9, 7]);
        assert_eq!(keys.candidates(None, None, &common), [9, 7, 8]);
        keys.configure(9, false);
        assert_eq!(keys.candidates(Some(guid(1)), Some(8), &common), [9]);
    }

    #[test]
    fn no_request_gets_more_keys_than_it_can_carry() {
        let held = BTreeMap::from([(guid(1), 1), (guid(2), 2), (guid(3), 3)]);
        let before = BTreeMap::from([(guid(1), 4)]);
        let keys = Keys::remembered(held, before, BTreeMap::new());
        let all = keys.candidates(Some(guid(1)), Some(5), &[6, 7, 8]);
        assert_eq!(all, [1, 4, 5, 0]);
    }
}
