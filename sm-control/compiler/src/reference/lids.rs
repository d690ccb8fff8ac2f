//! Which LIDs of two ports make paths, and in which order: first those that share as few links as
//! possible, then the rest.
//!
//! With LMC 1 on both sides, LIDs 2..3 and 12..13: first 2-12 and 3-13 (preference 0), then 2-13
//! and 3-12 (preference 2). Equal offsets take different ways where the routing engine gives each
//! LID of a range its own; the rest crosses them.
//!
//! Offsets count from the beginning of the range in use: a LID that the request names is a range of
//! its own. Source: OpenSM `osm_sa_path_record.c`, `pr_rcv_process_pair`.

use core::ops::RangeInclusive;

/// LIDs of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LidPair {
    pub(super) slid: u16,
    pub(super) dlid: u16,
    /// 0 or 2; OpenSM never gives 1.
    pub(super) preference: u8,
}

/// Every pair: those at equal places of both ranges, then source by source the others.
pub(super) fn pairs(
    slids: RangeInclusive<u16>,
    dlids: RangeInclusive<u16>,
) -> impl Iterator<Item = LidPair> {
    let equal = slids.clone().zip(dlids.clone());
    let equal = equal.map(|(slid, dlid)| LidPair {
        slid,
        dlid,
        preference: 0,
    });
    // Source by source, as OpenSM advances the destination first.
    let unequal = (0_u16..).zip(slids).flat_map(move |(place, slid)| {
        let others = (0..)
            .zip(dlids.clone())
            .filter(move |(other, _)| *other != place);
        others.map(move |(_, dlid)| LidPair {
            slid,
            dlid,
            preference: 2,
        })
    });
    equal.chain(unequal)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(slids: RangeInclusive<u16>, dlids: RangeInclusive<u16>) -> Vec<(u16, u16, u8)> {
        pairs(slids, dlids)
            .map(|pair| (pair.slid, pair.dlid, pair.preference))
            .collect()
    }

    #[test]
    fn equal_places_come_first() {
        let expected = [(2, 12, 0), (3, 13, 0), (2, 13, 2), (3, 12, 2)];
        assert_eq!(listed(2..=3, 12..=13), expected);
    }

    #[test]
    fn a_named_lid_has_place_zero() {
        assert_eq!(listed(3..=3, 12..=13), [(3, 12, 0), (3, 13, 2)]);
        assert_eq!(listed(2..=3, 13..=13), [(2, 13, 0), (3, 13, 2)]);
    }
}
