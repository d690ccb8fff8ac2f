//! Partitions: which P_Keys ports have and share.
//!
//! Three ways to the same answer, by how many distinct P_Key tables a fabric has: one (every pair
//! shares the same key), up to 1,024 (a matrix of two bytes a pair), more (both tables are walked
//! through). The usual fabric has a handful.
//!
//! A port with an empty table may see and be seen by everybody, but shares no key, and so gets no
//! path but for raw traffic.

use sa_wire::Pkey;

use crate::format::records::{PortIx, PortRecord};
use crate::{Snapshot, pkeys};

impl Snapshot {
    /// True when the two ports may see each other: one port, or a port without P_Keys, or a shared
    /// P_Key.
    #[inline(always)]
    pub fn share_partition(&self, a: PortIx, b: PortIx) -> bool {
        if a == b {
            return true;
        }
        self.share_partition_between(self.port(a), self.port(b))
    }

    /// As [`Self::share_partition`], for ports that were looked up and are not the same.
    #[inline(always)]
    pub fn share_partition_between(&self, a: &PortRecord, b: &PortRecord) -> bool {
        let (a, b) = (a.pkey_set, b.pkey_set);
        // A shared key first, as nearly all pairs have one.
        self.first_shared(a, b) != 0 || self.pkey_set(a).is_empty() || self.pkey_set(b).is_empty()
    }

    /// The first P_Key that both share, as in the source's table; 0 for none.
    #[inline(always)]
    pub fn shared_pkey(&self, source: PortIx, destination: PortIx) -> u16 {
        self.shared_pkey_between(self.port(source), self.port(destination))
    }

    /// True when both hold this partition, at least one as a full member.
    #[inline]
    pub fn share_pkey(&self, source: PortIx, destination: PortIx, pkey: u16) -> bool {
        self.share_pkey_between(self.port(source), self.port(destination), pkey)
    }

    /// As [`Self::share_pkey`], for ports that were looked up. The default partition, which nearly
    /// every request names, is not searched for. Out of line, as most answers do without.
    #[inline(never)]
    pub fn share_pkey_between(&self, from: &PortRecord, to: &PortRecord, pkey: u16) -> bool {
        let in_default = |port: &PortRecord| {
            let known = self.derived.in_default.get(usize::from(port.pkey_set));
            known.filter(|_| pkeys::is_default(pkey))
        };
        // Both, or neither: without the table of memberships, or for another partition, the sets
        // are searched.
        if let (Some(from), Some(to)) = (in_default(from), in_default(to)) {
            return from.share(*to);
        }
        let (source, destination) = (self.pkey_set(from.pkey_set), self.pkey_set(to.pkey_set));
        pkeys::share(source, destination, pkey, self.subnet.allow_both_pkeys == 1)
    }

    /// As [`Self::shared_pkey`], for ports that were looked up.
    #[inline(always)]
    pub fn shared_pkey_between(&self, from: &PortRecord, to: &PortRecord) -> u16 {
        // 0 is no key: several tables, or one whose members are all limited.
        match self.derived.only_pkey {
            0 => self.first_shared(from.pkey_set, to.pkey_set),
            pkey => pkey,
        }
    }

    /// From the matrix of distinct tables, 0 for none.
    #[inline(always)]
    fn first_shared(&self, source: u16, destination: u16) -> u16 {
        let sets = self.sections.pkey_sets.len();
        let at = usize::from(source) * sets + usize::from(destination);
        match self.sections.pkey_matrix.get(at) {
            Some(pkey) => *pkey,
            // No matrix, or a set that another snapshot made.
            None => self.merge_sets(source, destination),
        }
    }

    /// What the matrix would hold, were there not too many sets for one.
    #[inline(never)]
    fn merge_sets(&self, source: u16, destination: u16) -> u16 {
        let both = self.subnet.allow_both_pkeys == 1;
        pkeys::first_shared(self.pkey_set(source), self.pkey_set(destination), both)
    }

    /// A distinct P_Key table, ordered.
    #[inline(always)]
    pub(crate) fn pkey_set(&self, set: u16) -> &[u16] {
        let record = self.sections.pkey_sets.get(usize::from(set));
        record.map_or(&[], |record| self.sections.pkeys_of(record))
    }

    /// The P_Key table of a port, ordered as `Pkey::map_order`.
    pub fn pkeys(&self, port: PortIx) -> &[u16] {
        self.pkey_set(self.port(port).pkey_set)
    }

    /// The SL of a partition, 0 when it is unknown.
    #[inline(always)]
    pub fn partition_sl(&self, pkey: u16) -> u8 {
        // The membership bit is no part of the partition.
        let base = usize::from(pkey & !Pkey::FULL_BIT);
        self.sections.partition_sls.get(base).copied().unwrap_or(0)
    }
}
