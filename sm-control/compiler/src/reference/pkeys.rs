//! P_Key tables and what two of them have in common. Source: OpenSM `osm_pkey.c`.
//!
//! OpenSM keeps the keys of a port in a map by base, in network byte order read as a number of the
//! host. On x86 the low byte decides first: 0x0100 goes before 0x0001, and the default partition
//! 0x7fff comes last. So two hosts that share the default partition and another one get a path in
//! the other one.
//!
//! What comes back is the entry of the source with its membership bit, so the ways there and back
//! may name different keys: 0x8001 from the full member, 0x0001 from the limited one.

use std::collections::BTreeMap;

use policy::Ranges;
use sa_wire::Pkey;

const FULL: u16 = 0x8000;
const BASE: u16 = 0x7fff;

/// The P_Keys of a port in the order in which OpenSM's maps hold them: by the wire's bytes read
/// as a little-endian number.
#[derive(Debug, Clone)]
pub(super) struct PkeyTable {
    /// By base, or with `allow_both` by the whole P_Key; byte-swapped.
    keys: BTreeMap<u16, u16>,
    /// The option of OpenSM, by which a port may hold both keys of a partition.
    allow_both: bool,
}

impl PkeyTable {
    pub(super) fn new(pkeys: impl IntoIterator<Item = Pkey>, allow_both: bool) -> Self {
        let raw = pkeys.into_iter().map(Pkey::get);
        let key = |pkey: u16| if allow_both { pkey } else { pkey & BASE };
        // Where a table has both keys and the option is off, the later one counts.
        let keys = raw.map(|pkey| (key(pkey).swap_bytes(), pkey)).collect();
        Self { keys, allow_both }
    }

    /// Such a port is not judged at the gate.
    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The first P_Key by which two ports may talk, as this port holds it.
    ///
    /// With `allow_both`, a full and a limited P_Key of one base stand at different places, so
    /// that going through both tables at once misses them; OpenSM looks for them afterwards.
    pub(super) fn common_with(&self, other: &Self) -> Option<u16> {
        let same = merge(self.entries(), other.entries());
        if same.is_some() || !self.allow_both {
            return same;
        }
        let full = |table: &Self| table.bases_where(|pkey| pkey & FULL != 0);
        let limited = |table: &Self| table.bases_where(|pkey| pkey & FULL == 0);
        // Full here and limited there first, as OpenSM's two passes.
        merge(full(self), limited(other)).or_else(|| merge(limited(self), full(other)))
    }

    /// Both ports are in the partition of `pkey`, one of them as a full member.
    ///
    /// The membership bit of `pkey` does not count.
    pub(super) fn both_hold(&self, other: &Self, pkey: u16) -> bool {
        match (self.get(pkey), other.get(pkey)) {
            (Some(mine), Some(theirs)) => match_up(mine, theirs),
            _ => false,
        }
    }

    /// The least of these bases by which two ports may talk.
    ///
    /// As numbers, not in the order of maps: OpenSM goes through the policy's ranges.
    pub(super) fn common_of(&self, other: &Self, bases: &Ranges) -> Option<u16> {
        let mine = self.keys.values().map(|pkey| pkey & BASE);
        let wanted = mine.filter(|base| bases.contains(u64::from(*base)));
        wanted.filter(|base| self.both_hold(other, *base)).min()
    }

    /// The entry for the partition of `pkey`, the full one if there are two.
    fn get(&self, pkey: u16) -> Option<u16> {
        let at = |key: u16| self.keys.get(&key.swap_bytes()).copied();
        if self.allow_both {
            at(pkey | FULL).or_else(|| at(pkey & BASE))
        } else {
            at(pkey & BASE)
        }
    }

    /// Key and P_Key, in order.
    fn entries(&self) -> Vec<(u16, u16)> {
        self.keys.iter().map(|(key, pkey)| (*key, *pkey)).collect()
    }

    /// Byte-swapped base and P_Key of some entries, in order.
    fn bases_where(&self, chosen: impl Fn(u16) -> bool) -> Vec<(u16, u16)> {
        let entries = self.keys.values().copied().filter(|pkey| chosen(*pkey));
        entries
            .map(|pkey| ((pkey & BASE).swap_bytes(), pkey))
            .collect()
    }
}

/// Goes through two ordered tables at once and gives the first entry of the first that fits the
/// entry of the second beside it.
///
/// The two sides move by key, so that entries of one base stand beside each other.
fn merge(mine: Vec<(u16, u16)>, theirs: Vec<(u16, u16)>) -> Option<u16> {
    let (mut mine, mut theirs) = (mine.into_iter().peekable(), theirs.into_iter().peekable());
    while let (Some((my_key, pkey)), Some((their_key, their_pkey))) = (mine.peek(), theirs.peek()) {
        if match_up(*pkey, *their_pkey) {
            return Some(*pkey);
        }
        let order = my_key.cmp(their_key);
        if order.is_le() {
            mine.next();
        }
        if order.is_ge() {
            theirs.next();
        }
    }
    None
}

/// The same partition, and not two limited members of it.
const fn match_up(one: u16, other: u16) -> bool {
    one & BASE == other & BASE && (one | other) & FULL != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(pkeys: &[u16], allow_both: bool) -> PkeyTable {
        PkeyTable::new(pkeys.iter().map(|raw| Pkey::new(*raw).unwrap()), allow_both)
    }

    #[test]
    fn the_low_byte_decides_first_and_the_default_comes_last() {
        let all = table(&[0xffff, 0x8001, 0x8100], false);
        assert_eq!(all.common_with(&all), Some(0x8100));
        assert_eq!(
            table(&[0xffff, 0x8001], false).common_with(&all),
            Some(0x8001)
        );
    }

    #[test]
    fn limited_members_pass_each_other_by() {
        let limited = table(&[0x7fff, 0x0001], false);
        assert_eq!(limited.common_with(&limited), None);
        assert_eq!(
            limited.common_with(&table(&[0xffff, 0x0001], false)),
            Some(0x7fff)
        );
        assert!(!limited.both_hold(&limited, 0x8001));
    }

    #[test]
    fn full_and_limited_of_one_partition_are_found_afterwards() {
        // The limited 0x0001 sorts before 0x0002, the full 0x8001 behind it.
        let one = table(&[0x0001, 0x0002], true);
        let other = table(&[0x0002, 0x8001], true);
        assert_eq!(one.common_with(&other), Some(0x0001));
        assert_eq!(other.common_with(&one), Some(0x8001));
        let both = table(&[0x0001, 0x8001], true);
        assert_eq!(both.common_with(&both), Some(0x8001));
        assert!(both.both_hold(&table(&[0x0001], true), 0x0001));
    }

    #[test]
    fn the_least_base_of_a_level_counts() {
        let table = table(&[0x8100, 0x8001, 0xffff], false);
        let wanted = Ranges::new([(0, 0), (1, 0x7fff)]);
        assert_eq!(table.common_of(&table, &wanted), Some(0x0001));
        assert_eq!(table.common_of(&table, &Ranges::single(5)), None);
    }
}
