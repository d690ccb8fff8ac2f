//! Which P_Key two ports share.
//!
//! Source: OpenSM `osm_pkey.c` (`osm_physp_find_common_pkey`, `osm_physp_share_this_pkey`).
//!
//! Two P_Keys match if their lower 15 bits are the same and at least one has the upper bit, full
//! membership. So 0x8001 matches 0x8001 and 0x0001, but 0x0001 does not match 0x0001.
//!
//! Which of several shared keys a path gets is the first in OpenSM's order of its P_Key map, which
//! compares keys as its host reads them from network byte order: by low byte, then by high byte. So
//! 0x8100 comes before 0x8001.
//!
//! With `allow_both_pkeys` a port may have 0x0001 and 0x8001 side by side; then equal keys are
//! looked for first, and after that full against limited members. Sets are ordered and without
//! duplicates, so each search is a walk over both in step, or a binary search.

use sa_wire::Pkey;

// Everything but the membership bit.
const BASE: u16 = 0x7fff;

/// Order of keys in a set. With `both`, keys of one base with different membership are different
/// keys; without, a base appears once.
pub(crate) const fn order(key: u16, both: bool) -> u16 {
    if both {
        key.swap_bytes()
    } else {
        (key & BASE).swap_bytes()
    }
}

/// A port's table as a set: ordered, and without `both` one entry per base, full before limited.
pub(crate) fn normalise(keys: &[Pkey], both: bool) -> Vec<u16> {
    let mut set: Vec<u16> = keys.iter().map(|key| key.get()).collect();
    // `Reverse` puts the full member first among keys of one base; dropping duplicates then keeps
    // it.
    set.sort_unstable_by_key(|key| (order(*key, both), core::cmp::Reverse(*key)));
    set.dedup_by_key(|key| order(*key, both));
    set
}

/// True when the keys name one partition and at least one is a full member's.
///
/// The specification's rule, and OpenSM's: two limited members never meet.
const fn matches(a: u16, b: u16) -> bool {
    (a ^ b) & BASE == 0 && (a | b) & Pkey::FULL_BIT != 0
}

/// The first key that source and destination share, as in the source's table; 0 for none.
pub(crate) fn first_shared(source: &[u16], destination: &[u16], both: bool) -> u16 {
    // Filters for the second and third pass.
    let any = |_: u16| true;
    let full = |key: u16| key & Pkey::FULL_BIT != 0;
    let limited = |key: u16| key & Pkey::FULL_BIT == 0;
    match merge(source, destination, |key| order(key, both), any, any) {
        // Equal keys come first, then full with limited members, then limited with full.
        0 if both => {
            let by_base = |key| order(key, false);
            match merge(source, destination, by_base, full, limited) {
                0 => merge(source, destination, by_base, limited, full),
                key => key,
            }
        }
        key => key,
    }
}

/// Walks both sets in step, passing over keys that a filter leaves out.
fn merge(
    source: &[u16],
    destination: &[u16],
    order: impl Fn(u16) -> u16,
    from_source: impl Fn(u16) -> bool,
    from_destination: impl Fn(u16) -> bool,
) -> u16 {
    let mut source = source
        .iter()
        .copied()
        .filter(|key| from_source(*key))
        .peekable();
    let mut destination = destination
        .iter()
        .copied()
        .filter(|key| from_destination(*key))
        .peekable();
    while let (Some(ours), Some(theirs)) = (source.peek(), destination.peek()) {
        if matches(*ours, *theirs) {
            return *ours;
        }
        let (ours, theirs) = (order(*ours), order(*theirs));
        // Equal keys that do not match (both limited) go on together.
        if ours <= theirs {
            source.next();
        }
        if theirs <= ours {
            destination.next();
        }
    }
    0
}

/// True when both sets hold this partition and at least one entry is a full member's.
pub(crate) fn share(source: &[u16], destination: &[u16], key: u16, both: bool) -> bool {
    match (entry(source, key, both), entry(destination, key, both)) {
        (Some(ours), Some(theirs)) => matches(ours, theirs),
        _ => false,
    }
}

/// What a port is in one partition.
///
/// A byte for each distinct table: the default partition is asked about so often that its answer is
/// kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Membership {
    /// No member at all.
    None = 0,
    /// By a key without the upper bit.
    Limited = 1,
    /// By a key with the upper bit, which meets both.
    Full = 2,
}

impl Membership {
    /// By a set that has each base once.
    pub(crate) fn in_default(set: &[u16]) -> Self {
        match entry(set, BASE, false) {
            None => Self::None,
            Some(key) if key & Pkey::FULL_BIT == 0 => Self::Limited,
            Some(_) => Self::Full,
        }
    }

    /// True when both are members, at least one a full member.
    #[inline(always)]
    pub(crate) const fn share(self, other: Self) -> bool {
        // 2 x 1 and more: full with full, full with limited; never limited with limited.
        self as u8 * other as u8 >= 2
    }
}

/// True when a key names the default partition.
#[inline(always)]
pub(crate) const fn is_default(key: u16) -> bool {
    key & BASE == BASE
}

/// The set's entry for a partition; with `both`, full before limited.
fn entry(set: &[u16], key: u16, both: bool) -> Option<u16> {
    let find = |wanted| {
        // A key of either membership has the same place, unless both may be there.
        let at = set
            .binary_search_by_key(&order(wanted, both), |held| order(*held, both))
            .ok()?;
        set.get(at).copied()
    };
    find(key | Pkey::FULL_BIT).or_else(|| find(key & BASE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(keys: &[u16]) -> Vec<u16> {
        let keys: Vec<Pkey> = keys.iter().map(|key| Pkey::new(*key).unwrap()).collect();
        normalise(&keys, false)
    }

    #[test]
    fn the_default_partition_comes_last() {
        let both_ports = set(&[0xffff, 0x8001, 0x8100]);
        assert_eq!(first_shared(&both_ports, &both_ports, false), 0x8100);
    }

    #[test]
    fn membership_of_the_default_partition_says_what_a_search_says() {
        let tables: [&[u16]; 6] = [
            &[],
            &[0x8001],
            &[0x7fff],
            &[0xffff],
            &[0x0001, 0x7fff, 0xffff],
            &[0x7ffe, 0xfffe, 0x7fff],
        ];
        let sets = tables.map(set);
        for (one, other) in sets.iter().flat_map(|a| sets.iter().map(move |b| (a, b))) {
            let [ours, theirs] = [one, other].map(|set| Membership::in_default(set));
            for key in [0xffff, 0x7fff] {
                assert!(is_default(key));
                let searched = share(one, other, key, false);
                assert_eq!(ours.share(theirs), searched, "{one:x?} {other:x?}");
            }
        }
    }

    #[test]
    fn two_limited_members_share_nothing() {
        let (full, limited) = (set(&[0x8001]), set(&[0x0001]));
        assert_eq!(first_shared(&limited, &limited, false), 0);
        assert_eq!(first_shared(&full, &limited, false), 0x8001);
        assert_eq!(
            first_shared(&limited, &full, false),
            0x0001,
            "the source's own entry"
        );
    }

    #[test]
    fn a_requested_key_is_compared_by_base() {
        let (full, limited) = (set(&[0x8001]), set(&[0x0001]));
        assert!(share(&full, &limited, 0x0001, false) && share(&full, &limited, 0x8001, false));
        assert!(!share(&limited, &limited, 0x0001, false));
        assert!(
            !share(&full, &full, 0x8000, false),
            "base 0 is no partition"
        );
    }

    #[test]
    fn with_both_kinds_of_entry_full_meets_limited_in_a_later_pass() {
        let keys = |raw: &[u16]| {
            let keys: Vec<Pkey> = raw.iter().map(|key| Pkey::new(*key).unwrap()).collect();
            normalise(&keys, true)
        };
        let (both, limited) = (keys(&[0x8005, 0x0005]), keys(&[0x0005]));
        assert_eq!(both.len(), 2);
        assert_eq!(first_shared(&both, &limited, true), 0x8005);
        assert_eq!(first_shared(&limited, &both, true), 0x0005);
    }
}
