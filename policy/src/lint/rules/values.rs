//! Numbers that rules want of a field, compared.
//!
//! Ranges stay ranges: a service id has 64 bits, and nothing here goes over numbers one by one.
//!
//! ```text
//! own 10-40, others: a 15-20, b 18-99        kinds {} from 10, {a} from 15, {a,b} from 18,
//!                                            {b} from 21
//! ```

use crate::lint::bits::Bits;
use crate::model::Rule;
use crate::model::criterion::Field;
use crate::model::ranges::Ranges;

/// The ranges cut to what the field holds.
/// Nothing where all of it lies beyond.
pub(in crate::lint) fn cut(ranges: &Ranges, last: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
    let pairs = ranges
        .pairs()
        .iter()
        .take_while(move |(low, _)| *low <= last);
    pairs.map(move |(low, high)| (*low, (*high).min(last)))
}

/// True when some number is in both.
/// Cost: the shorter list times the log of the longer.
pub(in crate::lint) fn overlap(one: &Ranges, other: &Ranges, last: u64) -> bool {
    let (few, many) = if one.pairs().len() <= other.pairs().len() {
        (one, other)
    } else {
        (other, one)
    };
    cut(few, last).any(|range| parts_within(many, range).next().is_some())
}

/// True when every number of `inner` that the field holds is in `outer`.
/// Cost: the inner list times the log of the outer.
pub(in crate::lint) fn is_within(inner: &Ranges, outer: &Ranges, last: u64) -> bool {
    // Ranges are neither overlapping nor adjacent: one must hold all of another.
    cut(inner, last).all(|(low, high)| parts_within(outer, (low, high)).next() == Some((low, high)))
}

/// What of the ranges is in a range.
/// Begins by halves, so that long lists cost little.
fn parts_within(ranges: &Ranges, (low, high): (u64, u64)) -> impl Iterator<Item = (u64, u64)> + '_ {
    let pairs = ranges.pairs();
    let first = pairs.partition_point(|(_, end)| *end < low);
    let inside = pairs[first..]
        .iter()
        .take_while(move |(start, _)| *start <= high);
    inside.map(move |(start, end)| ((*start).max(low), (*end).min(high)))
}

/// Numbers of a rule's own that differ in which other rules hold for them, and these rules.
/// Shape: `others` are the rules in question.
/// Cost: O(ranges of the others within the rule's own), each with a copy of the set.
pub(in crate::lint) fn kinds(
    rules: &[Rule],
    field: Field,
    own: &Ranges,
    others: &Bits,
) -> Vec<(Bits, u64)> {
    let last = field.last();
    let mut always = others.clone();
    let mut ranges = Vec::new();
    for other in others.iter() {
        if let Some(wanted) = rules[other].wanted(field) {
            // It holds for some of the numbers only.
            always.remove(other);
            ranges.push((other, wanted));
        }
    }
    let mut kinds = Vec::new();
    for range in cut(own, last) {
        let mut turns = Vec::new();
        for (rule, ranges) in &ranges {
            for (low, high) in parts_within(ranges, range) {
                turns.push((low, true, *rule));
                if high < range.1 {
                    // Cannot wrap: `high` is below the end of the range at hand.
                    turns.push((high + 1, false, *rule));
                }
            }
        }
        turns.sort_unstable();
        let mut holding = always.clone();
        // The rule's own range may begin before any other rule's does.
        if turns.first().is_none_or(|(at, ..)| *at > range.0) {
            kinds.push((holding.clone(), range.0));
        }
        for here in turns.chunk_by(|one, other| one.0 == other.0) {
            for (_, holds, rule) in here {
                if *holds {
                    holding.insert(*rule)
                } else {
                    holding.remove(*rule)
                }
            }
            kinds.push((holding.clone(), here[0].0));
        }
    }
    kinds
}
