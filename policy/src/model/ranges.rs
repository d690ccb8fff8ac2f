//! Sets of numbers as disjoint inclusive ranges.
//!
//! `22-25, 24-30, 31` is kept as `22-31`. OpenSM merges so, too, hence the order of a list and the
//! way it is cut never matter; what an author wrote is found by place, not here.
//!
//! A vector and not a bit set: service ids and GUIDs have 64 bits. Both ends are included, because
//! the largest number is one that policies name (`0-0xffffffffffffffff`), and an end behind it
//! would not fit.

/// A set of numbers. Shape: inclusive ranges, ascending, neither overlapping nor adjacent.
/// 16 bytes a range. Empty for a set without numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    /// Sorts and merges; the bounds of a pair may stand in either order, as in OpenSM.
    /// Cost: sorting, O(n log n).
    pub fn new(pairs: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let ordered = pairs.into_iter().map(|(a, b)| (a.min(b), a.max(b)));
        let mut pairs: Vec<(u64, u64)> = ordered.collect();
        pairs.sort_unstable();
        let mut merged: Vec<(u64, u64)> = Vec::with_capacity(pairs.len());
        for (low, high) in pairs {
            match merged.last_mut() {
                // Overlapping or adjacent. `low - 1` cannot wrap: behind another range `low` is
                // above 0.
                Some(last) if low <= last.1 || low - 1 == last.1 => last.1 = last.1.max(high),
                _ => merged.push((low, high)),
            }
        }
        Self(merged)
    }

    /// The set of one number.
    pub fn single(value: u64) -> Self {
        Self(vec![(value, value)])
    }

    /// True when `value` is in the set.
    /// Cost: O(log n).
    pub fn contains(&self, value: u64) -> bool {
        let after = self.0.partition_point(|(low, _)| *low <= value);
        // Only the last range that begins at or below the value can hold it.
        after > 0 && self.0[after - 1].1 >= value
    }

    /// The ranges, inclusive. Shape: ascending, neither overlapping nor adjacent.
    pub fn pairs(&self) -> &[(u64, u64)] {
        &self.0
    }

    /// True when no number is in the set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the numbers of `other`.
    /// Several lines of one keyword add up.
    pub fn extend(&mut self, other: &Self) {
        *self = Self::new(self.0.iter().chain(&other.0).copied());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_and_adjacent_ranges_merge() {
        let set = Ranges::new([(10, 5), (11, 11), (20, 30), (25, 26), (32, 32)]);
        assert_eq!(set.pairs(), [(5, 11), (20, 30), (32, 32)]);
        let all = Ranges::new([(0, u64::MAX), (u64::MAX, u64::MAX), (0, 0)]);
        assert_eq!(all.pairs(), [(0, u64::MAX)]);
    }

    #[test]
    fn membership_includes_both_bounds() {
        let set = Ranges::new([(5, 11), (20, 30)]);
        for (value, inside) in [(4, false), (5, true), (11, true), (12, false), (19, false)] {
            assert_eq!(set.contains(value), inside, "{value}");
        }
        assert!(set.contains(30) && !set.contains(31) && !Ranges::default().contains(0));
    }
}
