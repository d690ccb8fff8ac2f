//! Classes of numbers that requests name.
//!
//! A sweep over all numbers of a field, from 0 on: at each number where the range of some rule begins or
//! ends, the set of rules that hold changes, and so does the class. Cost: the number of ranges times the
//! words of a set, however wide ranges are.
//!
//! ```text
//! rule 0: 10-20     rule 1: 15-30     rule 2: any
//! 0      10      15      21      31
//! {2}    {0,2}   {0,1,2} {1,2}   {2}          five intervals, four classes
//! ```

use sa_snapshot::model::{Dimension, ServiceIntervals};

use super::sets::{Interner, RuleSet, empty_set, insert, remove};
use crate::error::Error;
use crate::model::Rule;
use crate::model::criterion::Field;
use crate::model::ranges::Ranges;

/// A class for each number of the field, and behind them one for "not named".
/// For fields of up to 16 bits. The last entry, one beyond the largest number, is "not named".
pub(super) fn array(rules: &[Rule], field: Field) -> Result<Dimension<Vec<u16>>, Error> {
    let classes = Classes::sweep(rules, field)?;
    let values = usize::try_from(field.last()).map_or(usize::MAX, |last| last.saturating_add(1));
    let mut map = Vec::with_capacity(values + 1);
    let starts = classes
        .starts
        .iter()
        .skip(1)
        .copied()
        .chain([values as u64]);
    for (class, end) in classes.classes.iter().zip(starts) {
        // Up to where the next interval begins; the last one runs to the end.
        map.resize(usize::try_from(end).unwrap_or(values), *class);
    }
    map.push(classes.absent);
    Ok(Dimension {
        map,
        sets: classes.sets,
    })
}

/// A class for each interval of all 64-bit numbers, and one for "not named".
/// For the service id, of which no table by value could be made.
pub(super) fn intervals(
    rules: &[Rule],
    field: Field,
) -> Result<Dimension<ServiceIntervals>, Error> {
    let classes = Classes::sweep(rules, field)?;
    Ok(Dimension {
        map: ServiceIntervals {
            starts: classes.starts,
            classes: classes.classes,
            absent: classes.absent,
        },
        sets: classes.sets,
    })
}

/// Intervals of numbers that satisfy the same rules.
/// Both shapes are made of it.
struct Classes {
    /// Ascending, the first is 0.
    starts: Vec<u64>,
    /// By interval; neighbours differ.
    classes: Vec<u16>,
    /// Of requests that leave the field out: only rules that do not ask for it.
    absent: u16,
    /// By class, class 0 being that of requests without the field.
    sets: Vec<RuleSet>,
}

/// From this number on a rule begins or ceases to hold.
/// Sorted by number, then by rule; the order among rules at one number does not matter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    /// The first number for which it is so.
    at: u64,
    /// Its place in the policy, which is its bit in the sets.
    rule: usize,
    /// From here on; false where its range has ended before.
    holds: bool,
}

impl Classes {
    /// Goes over all numbers of a field and keeps the set of rules that hold.
    fn sweep(rules: &[Rule], field: Field) -> Result<Self, Error> {
        let mut interner = Interner::new(field.name());
        let mut holding = empty_set(rules.len());
        for (at, _) in rules
            .iter()
            .enumerate()
            .filter(|(_, rule)| rule.wanted(field).is_none())
        {
            insert(&mut holding, at);
        }
        // Class 0 always: the rules that hold for whatever is asked, or not asked.
        let absent = interner.class(&holding)?;
        let turns = turns(rules, field);
        let (mut starts, mut classes) = (Vec::new(), Vec::new());
        // Numbers below the first range satisfy what a request without the field does.
        if turns.first().is_none_or(|turn| turn.at > 0) {
            starts.push(0);
            classes.push(absent);
        }
        // All that changes at one number changes before a class is made of it.
        for here in turns.chunk_by(|one, other| one.at == other.at) {
            for turn in here {
                if turn.holds {
                    insert(&mut holding, turn.rule)
                } else {
                    remove(&mut holding, turn.rule)
                }
            }
            let class = interner.class(&holding)?;
            // Two rules that swap at one number may leave the set as it was.
            if classes.last() != Some(&class) {
                starts.push(here[0].at);
                classes.push(class);
            }
        }
        Ok(Self {
            starts,
            classes,
            absent,
            sets: interner.into_sets(),
        })
    }
}

/// Ascending. A rule's ranges are apart, so that it never ceases and begins at one number.
fn turns(rules: &[Rule], field: Field) -> Vec<Turn> {
    let last = field.last();
    let mut turns = Vec::new();
    for (rule, wanting) in rules.iter().enumerate() {
        let pairs = wanting.wanted(field).map_or(&[][..], Ranges::pairs).iter();
        // Ranges beyond the field's largest number are met by no request.
        for (low, high) in pairs.filter(|(low, _)| *low <= last) {
            turns.push(Turn {
                at: *low,
                rule,
                holds: true,
            });
            // One that reaches the end never ceases; `high + 1` could wrap there.
            if *high < last {
                turns.push(Turn {
                    at: high + 1,
                    rule,
                    holds: false,
                });
            }
        }
    }
    turns.sort_unstable();
    turns
}
