//! Of which ports an SA tells the SM's own port all that they have set.
//!
//! An SA shows groups, services and subscribers of a partition to its members alone, the key notwithstanding. What another SA has told
//! of a port is all only if no partition of that port was hidden; so it is judged by the P_Key tables that the sweep has found, which are
//! those of the SM before.
//!
//! ```text
//!  the SM's port: ffff 8001      a port: 7fff            seen
//!                                a port: 7fff 0001       seen
//!                                a port: 7fff 0002       not seen: it may be in groups of partition 2
//! ```

use std::collections::BTreeSet;

use sa_fabric::PortRef;
use sa_sm::model::Subnet;
use sa_wire::Pkey;

/// What is shown to the SM's port.
#[derive(Debug, Default)]
pub(crate) struct Sight {
    /// Base keys of partitions that it is a full member of: limited ones do not see each other.
    full: BTreeSet<u16>,
}

impl Sight {
    /// With the P_Keys that the SM's port holds. `allow_both_pkeys`: OpenSM shows by other rules then, and nothing counts as seen.
    pub(crate) fn of(found: &Subnet, allow_both_pkeys: bool) -> Self {
        let sm = found.sm().filter(|_| !allow_both_pkeys);
        let keys = sm.into_iter().flat_map(|sm| keys(found, sm));
        let full = keys.filter(|key| key & Pkey::FULL_BIT != 0);
        Self {
            full: full.map(base).collect(),
        }
    }

    /// True where nothing of this port was hidden. A port whose table is not known may be in anything.
    pub(crate) fn sees(&self, found: &Subnet, at: PortRef) -> bool {
        let mut keys = keys(found, at).peekable();
        keys.peek().is_some() && keys.all(|key| self.full.contains(&base(key)))
    }
}

/// The P_Keys that a port holds.
fn keys(found: &Subnet, at: PortRef) -> impl Iterator<Item = u16> {
    let node = found.node(at.node);
    let blocks = node.map(|node| node.tables.pkeys(at.port));
    let blocks = blocks.into_iter().flatten();
    let keys = blocks.flat_map(|data| data.as_chunks::<2>().0);
    let keys = keys.map(|key| u16::from_be_bytes(*key));
    keys.filter(|key| base(*key) != 0)
}

const fn base(key: u16) -> u16 {
    key & !Pkey::FULL_BIT
}
