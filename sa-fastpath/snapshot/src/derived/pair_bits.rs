//! Between which ends some rule may hold, whatever else a request says.
//!
//! Where groups are small most pairs of ports are in no rule at all. A bit for each pair of end
//! classes tells so, in a table that stays in the first caches, before anything else of a request
//! is classified.
//!
//! Example: 60 groups of hosts, 1,000 rules, each between two groups. A host is in one class of
//! sources and one of destinations, and 76 of 100 pairs of ports share no rule. For 531 classes on
//! each side the table is 531 rows of nine words, 37 KiB (ADR 16).
//!
//! How a bit comes about: rules that the source class satisfies and the destination class
//! satisfies, by the verified rule sets with their lists; if they share one, it is set. It says
//! "may" because service, P_Key and QoS class can still rule it out. A bit that is not set is
//! certain, so the default level needs no match at all.
//!
//! Made for each load, within milliseconds; kept only where it pays.

use crate::format::Sections;
use crate::format::policy_records::{ClassRecord, PolicyRecord, criterion};
use crate::format::records::PortRecord;

/// Of the whole table. Units: bits; 128 KiB.
const MOST: usize = 1 << 20;

/// Pairs of ports that are looked at to see whether it pays.
const SAMPLE: usize = 4096;

/// Of the sample: where rules are for more pairs, the look at the bit costs more than it saves
/// (measured).
const WORTH: usize = SAMPLE / 256 * 150;

/// A bit by class of the source, then of the destination.
///
/// Read by every request of a batch, so it is as small as it can be.
#[derive(Debug)]
pub struct PairBits {
    /// A row for each source class, rows one after another.
    words: Box<[u64]>,
    /// Words of a source class.
    stride: usize,
}

impl PairBits {
    /// None where there are too many classes, or rules for most pairs of ports.
    pub(crate) fn new(sections: &Sections, policy: &PolicyRecord) -> Option<Self> {
        let width = usize::try_from(policy.words)
            .ok()
            .filter(|words| *words > 0)?;
        // The guard behind the last rule is in every set, and would join all pairs.
        let rules = rules(sections, policy, width);
        let of = |rows: &[u64], at| RuleSets::new(sections, policy, (rows, at), &rules);
        let sources = of(&sections.source_sets, criterion::SOURCE)?;
        let destinations = of(&sections.destination_sets, criterion::DESTINATION)?;
        let stride = destinations.count().div_ceil(64);
        // A table that leaves the first caches costs more than the classification that it saves.
        let is_small = sources.count().saturating_mul(stride) <= MOST / 64;
        // Looked at last: the sample costs more than the numbers.
        (is_small && is_worth_it(sections, &sources, &destinations)).then(|| Self {
            words: met(&sources, &destinations, stride),
            stride,
        })
    }

    /// True when some rule may hold from one to the other.
    #[inline(always)]
    pub fn may_hold(&self, from: &PortRecord, to: &PortRecord) -> bool {
        let (source, destination) = (
            usize::from(from.source_class),
            usize::from(to.destination_class),
        );
        // A class out of range may be in a rule: the match then decides.
        let word = self.words.get(source * self.stride + destination / 64);
        word.is_none_or(|word| word >> (destination % 64) & 1 == 1)
    }
}

/// Places of rules, without the guard behind the last and without those that no rule has.
fn rules(sections: &Sections, policy: &PolicyRecord, width: usize) -> Vec<u64> {
    let rules = usize::try_from(policy.rules).unwrap_or(usize::MAX);
    let is_rule = |place: usize| match sections.rule_order.is_empty() {
        true => place < rules,
        false => {
            let rule = sections.rule_order.get(place);
            rule.is_some_and(|rule| usize::from(*rule) < rules)
        }
    };
    let bit = |word: usize, bit: usize| u64::from(is_rule(word * 64 + bit)) << bit;
    let word = |word: usize| (0..64).fold(0, |bits, at| bits | bit(word, at));
    (0..width).map(word).collect()
}

/// The rules that each class of one end satisfies.
struct RuleSets {
    /// Set after set, in the order of classes.
    words: Vec<u64>,
    /// Words of a set: those of the snapshot's rule sets.
    width: usize,
}

impl RuleSets {
    /// Shape: `rows` of `rules.len()` words. None where classes and rows do not fit together.
    fn new(
        sections: &Sections,
        policy: &PolicyRecord,
        (rows, criterion): (&[u64], usize),
        rules: &[u64],
    ) -> Option<Self> {
        let width = rules.len();
        let row = |at: usize| rows.get(at * width..(at + 1) * width);
        let masked = |row: &[u64]| -> Vec<u64> {
            let both = row.iter().zip(rules);
            both.map(|(row, rules)| row & rules).collect()
        };
        if sections.rule_order.is_empty() {
            return Some(Self {
                // Where the next criterion begins, this one ends: source and destination come
                // first.
                words: rows.chunks_exact(width).flat_map(masked).collect(),
                width,
            });
        }
        let place = |at: usize| usize::try_from(*policy.class_starts.get(at)?).ok();
        let classes = place(criterion)?..place(criterion + 1)?;
        let classes = sections.policy_classes.get(classes)?;
        // A row holds all rules of its criterion's lists, as only a class's own list tells those
        // apart.
        let mut listed = vec![0; width];
        for class in classes {
            list(sections, class, &mut listed);
        }
        let mut words = Vec::with_capacity(classes.len() * width);
        for class in classes {
            let mut own = vec![0; width];
            list(sections, class, &mut own);
            let row = masked(row(usize::try_from(class.row).ok()?)?);
            let told = row.iter().zip(&listed).zip(&own);
            words.extend(told.map(|((row, listed), own)| row & !listed | own));
        }
        Some(Self { words, width })
    }

    /// How many classes there are.
    fn count(&self) -> usize {
        self.words.len() / self.width
    }

    /// The set of each class, in the order of classes.
    fn iter(&self) -> impl Iterator<Item = &[u64]> {
        self.words.chunks_exact(self.width)
    }

    /// The set of a class; empty for one that there is not.
    fn of(&self, class: u16) -> &[u64] {
        let start = usize::from(class) * self.width;
        let set = self.words.get(start..start + self.width);
        set.unwrap_or_default()
    }
}

/// Adds the rules of a class's list.
fn list(sections: &Sections, class: &ClassRecord, to: &mut [u64]) {
    let index = |value: u32| usize::try_from(value).unwrap_or(usize::MAX);
    let mut add = |word: u32, bits: u64| {
        if let Some(to) = to.get_mut(index(word)) {
            *to |= bits;
        }
    };
    add(class.word, class.bits);
    let start = index(class.start);
    let rest = sections.rule_words.get(start..start + index(class.len));
    for record in rest.unwrap_or_default() {
        add(record.word, record.bits);
    }
}

/// By a sample of pairs of ports, always the same.
fn is_worth_it(sections: &Sections, sources: &RuleSets, destinations: &RuleSets) -> bool {
    let ports = &*sections.ports;
    // Two multipliers without a common factor with most lengths: pairs are spread over all ports,
    // and the same for the same fabric.
    let scatter = |nth: usize, by: usize| nth.wrapping_mul(by) % ports.len().max(1);
    let meet = |nth: usize| {
        let (from, to) = (scatter(nth, 40_503), scatter(nth, 30_011));
        let (Some(from), Some(to)) = (ports.get(from), ports.get(to)) else {
            return false;
        };
        let source = sources.of(from.source_class).iter();
        let mut both = source.zip(destinations.of(to.destination_class));
        both.any(|(source, destination)| source & destination != 0)
    };
    (0..SAMPLE).filter(|nth| meet(*nth)).count() < WORTH
}

/// The bits. By way of the destinations that satisfy each rule, as a class satisfies few of them.
fn met(sources: &RuleSets, destinations: &RuleSets, stride: usize) -> Box<[u64]> {
    let mut by_rule = vec![0u64; destinations.width * 64 * stride];
    for (class, set) in destinations.iter().enumerate() {
        for rule in members(set) {
            // Rule by rule a row of destination classes, of which the union is taken below.
            if let Some(word) = by_rule.get_mut(rule * stride + class / 64) {
                *word |= 1 << (class % 64);
            }
        }
    }
    let mut words = vec![0; sources.count() * stride];
    for (row, set) in words.chunks_exact_mut(stride.max(1)).zip(sources.iter()) {
        for rule in members(set) {
            let reached = by_rule.get(rule * stride..(rule + 1) * stride);
            for (word, reached) in row.iter_mut().zip(reached.unwrap_or_default()) {
                *word |= reached;
            }
        }
    }
    words.into()
}

/// The places in a set.
fn members(set: &[u64]) -> impl Iterator<Item = usize> {
    set.iter().enumerate().flat_map(|(word, bits)| {
        let some = |bits: u64| (bits != 0).then_some(bits);
        let left = core::iter::successors(some(*bits), move |bits| some(bits & (bits - 1)));
        left.map(move |bits| word * 64 + bits.trailing_zeros() as usize)
    })
}
