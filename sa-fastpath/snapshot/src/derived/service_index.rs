//! Where in the table of service ids to look.
//!
//! The ids that rules name lie close together, and far apart from others: buckets of equal width
//! lie where most are, the first and the last take what lies outside. In a bucket there is mostly
//! one interval, or two.
//!
//! Example: rules name some TCP ports in RDMA CM's range (0x01060000 + port) and one id of SRP far
//! above. Buckets of equal width over all 2^64 ids would put the first lot into a single one. So
//! base and width are chosen for the densest part, and the far one lies in the last bucket.
//!
//! A look-up is a subtraction, a shift, a minimum and at most two comparisons. All shifts are tried
//! when a snapshot is taken up; the one with the fewest steps wins. Where nothing is told apart by
//! service ids the index is empty and a binary search serves.

/// Buckets at most; 8 KiB.
const MOST: usize = 4096;

/// Intervals of a bucket that are compared one by one.
const FEW: usize = 2;

/// For each bucket the intervals that start before its end.
#[derive(Debug, Default)]
pub(crate) struct ServiceIndex {
    /// Where the first bucket starts.
    base: u64,
    /// A bucket's width is 2 to the power of this.
    shift: u32,
    /// By bucket: intervals that start before it, and before its end.
    buckets: Box<[(u16, u16)]>,
}

impl ServiceIndex {
    /// Of ascending starts of intervals, the first of them 0.
    pub(crate) fn new(starts: &[u64]) -> Self {
        let fits = u16::try_from(starts.len()).is_ok();
        let found = best(starts.get(1..).unwrap_or_default()).filter(|_| fits);
        let Some((base, shift, buckets)) = found else {
            // No id, or more intervals than two bytes count: the search through all is as good.
            return Self::default();
        };
        let starts_before = |bucket: usize| {
            // In 128 bits, as the end of the last bucket may lie beyond all ids.
            let end = u128::from(base) + ((bucket as u128) << shift);
            let before = match bucket {
                // The first interval starts before every id.
                0 => 1,
                _ if bucket == buckets => starts.len(),
                _ => starts.partition_point(|start| u128::from(*start) < end),
            };
            u16::try_from(before).unwrap_or(u16::MAX)
        };
        let bounds = (0..buckets).map(|at| (starts_before(at), starts_before(at + 1)));
        Self {
            base,
            shift,
            buckets: bounds.collect(),
        }
    }

    /// How many of the starts lie at or before `id`: the same as a search through all.
    #[inline(always)]
    pub(crate) fn starts_up_to(&self, starts: &[u64], id: u64) -> usize {
        // Of an empty index this is the largest number, and no bucket is found.
        let last = self.buckets.len().wrapping_sub(1);
        // Ids before the base fall into the first bucket, those behind the last one into the last.
        let bucket = (id.saturating_sub(self.base) >> self.shift).min(last as u64);
        #[expect(clippy::cast_possible_truncation, reason = "at most MOST")]
        let bucket = self.buckets.get(bucket as usize);
        let Some((low, high)) = bucket else {
            return search(starts, id);
        };
        let (low, high) = (usize::from(*low), usize::from(*high));
        if high - low > FEW {
            return low + search(starts.get(low..high).unwrap_or_default(), id);
        }
        // Without a branch on what is found, which is as good as random.
        let passed = |at: usize| {
            let start = starts.get(at).copied().unwrap_or(u64::MAX);
            usize::from((at < high) & (start <= id))
        };
        low + passed(low) + passed(low + 1)
    }
}

/// Where buckets hold so many that going through them takes long.
#[cold]
#[inline(never)]
fn search(starts: &[u64], id: u64) -> usize {
    starts.partition_point(|start| *start <= id)
}

/// Base, shift and number of buckets that leave the least to search. None where there is nothing
/// to search.
fn best(starts: &[u64]) -> Option<(u64, u32, usize)> {
    // Twice as many buckets as ids, so that most hold one interval or none.
    let buckets = (starts.len() * 2).next_power_of_two().clamp(16, MOST);
    let shifts = (0..64u32).map(|shift| {
        let base = densest(starts, buckets, shift)?;
        Some((steps(starts, base, shift, buckets), base, shift))
    });
    let (_, base, shift) =
        shifts.min_by_key(|found| found.map_or(u64::MAX, |(steps, ..)| steps))??;
    Some((base, shift, buckets))
}

/// The start from which on the most lie within the buckets.
fn densest(starts: &[u64], buckets: usize, shift: u32) -> Option<u64> {
    let width = (buckets as u128) << shift;
    let (mut end, mut most) = (0, (0, None));
    // The end only moves forward: one pass over all starts for each shift.
    for (at, start) in starts.iter().enumerate() {
        let limit = u128::from(*start) + width;
        while starts
            .get(end)
            .is_some_and(|start| u128::from(*start) < limit)
        {
            end += 1;
        }
        if end - at > most.0 {
            most = (end - at, Some(*start));
        }
    }
    most.1
}

/// Steps of all searches for what lies at a start.
fn steps(starts: &[u64], base: u64, shift: u32, buckets: usize) -> u64 {
    let bucket = |start: &u64| (start.saturating_sub(base) >> shift).min(buckets as u64 - 1);
    let groups = starts.chunk_by(|a, b| bucket(a) == bucket(b));
    // Halving a group of n takes about log2 n steps, for each of its n starts.
    groups
        .map(|group| group.len() as u64 * u64::from(usize::BITS - group.len().leading_zeros()))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agrees(starts: &[u64]) {
        let index = ServiceIndex::new(starts);
        let near = |start: &u64| [start.saturating_sub(1), *start, start.saturating_add(1)];
        for id in starts.iter().flat_map(near).chain([u64::MAX, 1 << 63]) {
            let expected = starts.partition_point(|start| *start <= id);
            assert_eq!(index.starts_up_to(starts, id), expected, "{id:#x}");
        }
    }

    #[test]
    fn finds_what_a_search_through_all_finds() {
        agrees(&[0]);
        agrees(&[0, 1]);
        agrees(&[0, u64::MAX]);
        let block: Vec<u64> = (0..5000)
            .map(|n| if n == 0 { 0 } else { 0x10_0000 + n * 7 })
            .collect();
        agrees(&block);
        let mut blocks: Vec<u64> = vec![0, 1, 2, 3];
        blocks.extend((0..300).map(|n| 0x0106_0000 + n * 3));
        blocks.extend((0..300).map(|n| (1 << 60) + n * 65_537));
        blocks.extend((0..50).map(|n| u64::MAX - 500 + n * 10));
        agrees(&blocks);
    }

    #[test]
    fn most_searches_are_over_at_once() {
        let starts: Vec<u64> = (0..1000).map(|n| n * 4096).chain([1 << 63]).collect();
        let index = ServiceIndex::new(&starts);
        let widest = index.buckets.iter().map(|(low, high)| high - low).max();
        assert!(widest <= Some(2), "{widest:?}");
    }
}
