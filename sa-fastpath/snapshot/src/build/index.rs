//! Where each rule is looked for when there are too many for one pass over all.
//!
//! A rule that asks for something few others ask for goes to the lists of the classes that
//! satisfy it; what is left is scanned. So a match costs what the lists of its own classes hold,
//! whatever the number of rules.

use super::count32;
use crate::first_rule::SHORT_PASS_WORDS;
use crate::format::policy_records::{ClassRecord, RuleWordRecord, criterion};
use crate::policy::WIDTHS;

/// Up to this many rules, one pass over all of them is faster than an index (measured).
const SCANNED_RULES: usize = 255;

/// Up to this many rules, a short pass and few kinds of lists are faster than all kinds (measured):
/// each kind more is a branch in every match.
const FEW_RULES: usize = 1535;

/// Rules that a short pass may have.
const SHORT_PASS: usize = SHORT_PASS_WORDS * 64;

/// Table of first rules: entries at most. Two bytes each, so 2 MiB.
const PAIRS: usize = 1 << 20;

/// Table of first rules: entries at most where a pass over the rules is short: then the table pays
/// only while it stays in the first caches.
const FEW_PAIRS: usize = 1 << 13;

/// Table of first rules: up to so many words, a pass is short.
const PAIR_WORDS: usize = 8;

/// A rule is in the lists of fewer classes than 2 to the power of this.
const PLANES: usize = 6;

/// How many rules a list may have, in steps: lengths are rounded up to one of these.
const TIERS: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

/// Lists of ends longer than this are no better than a pass.
const END_RULES: u32 = 1;

/// Which lists a rule goes to where several are equally short.
fn preference() -> Vec<usize> {
    let rare = criterion::RARE..criterion::COUNT;
    let first = [criterion::SERVICE, criterion::QOS_CLASS];
    let last = [criterion::PKEY, criterion::DESTINATION, criterion::SOURCE];
    first.into_iter().chain(rare).chain(last).collect()
}

/// The index of a policy's rules.
pub(super) struct Index {
    /// Rule by place, the number of rules for none. Shape: 64 places for each word.
    pub(super) order: Vec<u16>,
    /// Words of rules that ask for ends only; see `PolicyRecord::ends_words`.
    pub(super) ends_words: usize,
    /// Words of rules that no list holds; see `PolicyRecord::scanned_words`.
    pub(super) scanned_words: usize,
    /// Words of a rule set.
    pub(super) words: usize,
    /// Classes and rule sets of each dimension, by its number.
    pub(super) dimensions: Vec<IndexedDimension>,
    /// Which dimensions have lists; see `PolicyRecord::lists`.
    pub(super) lists: u32,
    /// What class records do not hold of the lists, one after another.
    pub(super) rest: Vec<RuleWordRecord>,
    /// See `SectionId::FirstRules`; empty when there is no such table.
    pub(super) first_rules: Vec<u16>,
}

/// One dimension of an index.
pub(super) struct IndexedDimension {
    /// By class: its rule set, and the beginning of its list.
    pub(super) classes: Vec<ClassRecord>,
    /// Distinct rule sets one after another.
    pub(super) rows: Vec<u64>,
}

/// Where a rule is looked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Home {
    /// Among those that ask for ends only.
    Ends,
    /// Among those that are scanned.
    Scan,
    /// In the lists of this dimension.
    Lists(usize),
}

impl Index {
    /// None when a pass over all rules is faster. Shape: the sets of each dimension by class,
    /// dimensions by their number, those that no rule asks for empty.
    pub(super) fn new(dimensions: &[&[Vec<u64>]], rules: usize) -> Option<Self> {
        if rules <= SCANNED_RULES {
            return None;
        }
        let criteria: Vec<Criterion> = dimensions
            .iter()
            .map(|sets| Criterion::new(sets, rules))
            .collect();
        let homes = match rules {
            ..=FEW_RULES => few_homes(&criteria, rules),
            _ => homes(&criteria, rules, &preference()),
        };
        let (mut order, ends_words, mut scanned_words) = order(&homes);
        if rules <= FEW_RULES && ends_words == 0 {
            scanned_words = widen(&mut order, scanned_words, rules);
        }
        let words = order.len() / 64;
        // A scan of more than half of the words gains too little to pay for the lists.
        if scanned_words - ends_words > words / 2 {
            return None;
        }
        let mut rest = Vec::new();
        let indexed: Vec<IndexedDimension> = dimensions
            .iter()
            .enumerate()
            .map(|(at, sets)| Layout::new(&homes, &order, sets, at).dimension(sets, &mut rest))
            .collect();
        let lists = (0u32..)
            .zip(&indexed)
            .filter(|(_, dimension)| dimension.classes.iter().any(|class| class.bits != 0))
            .fold(0, |bits, (at, _)| bits | 1 << at);
        let mut index = Self {
            order,
            ends_words,
            scanned_words,
            words,
            dimensions: indexed,
            lists,
            rest,
            first_rules: Vec::new(),
        };
        index.tabulate_pairs(rules);
        Some(index)
    }

    /// Works out the first rule of those for ends only, for each pair of end classes, where that
    /// table is not too large for what it saves.
    fn tabulate_pairs(&mut self, rules: usize) {
        // Two look-ups become one, whatever the number of such rules.
        let [source, destination, ..] = self.dimensions.as_slice() else {
            return;
        };
        let most = match self.ends_words {
            ..=PAIR_WORDS => FEW_PAIRS,
            _ => PAIRS,
        };
        let pairs = source.classes.len() * destination.classes.len();
        if self.ends_words == 0 || pairs > most {
            return;
        }
        let row = |dimension: &IndexedDimension, class: &ClassRecord| -> Vec<u64> {
            let start = usize::try_from(class.row).unwrap_or(usize::MAX) * self.words;
            let row = dimension.rows.get(start..start + self.ends_words);
            row.unwrap_or_default().to_vec()
        };
        let none = u16::try_from(rules).unwrap_or(u16::MAX);
        let mut table = Vec::new();
        let destinations: Vec<Vec<u64>> = destination
            .classes
            .iter()
            .map(|class| row(destination, class))
            .collect();
        for class in &source.classes {
            let source = row(source, class);
            table.extend(destinations.iter().map(|destination| {
                let both = source.iter().zip(destination).map(|(a, b)| a & b);
                let first = both.enumerate().find(|(_, bits)| *bits != 0);
                let place = first.map(|(word, bits)| word * 64 + bits.trailing_zeros() as usize);
                let rule = place.and_then(|place| self.order.get(place));
                rule.copied().unwrap_or(none)
            }));
        }
        self.first_rules = table;
    }
}

/// By rule, where there are few: lists of as few kinds as leave a short pass, those that take the
/// most rules first. What asks for ends only is scanned with the rest.
fn few_homes(criteria: &[Criterion], rules: usize) -> Vec<Home> {
    let preference = preference();
    let mut chosen: Vec<usize> = Vec::new();
    loop {
        let found = homes(criteria, rules, &chosen);
        let is_listed = |home: &&Home| **home > Home::Scan;
        let listed = found.iter().filter(is_listed).count();
        let with = |at: usize| {
            let mut more = chosen.clone();
            more.push(at);
            homes(criteria, rules, &more)
                .iter()
                .filter(is_listed)
                .count()
        };
        let others = preference.iter().filter(|at| !chosen.contains(at));
        let gains = others.map(|at| (with(*at), *at)).rev();
        // The first in the order of preference among those that gain the most.
        let best = gains.max_by_key(|(listed, _)| *listed);
        match best {
            Some((most, at)) if rules - listed > SHORT_PASS && most > listed => chosen.push(at),
            _ => {
                let scanned = |home: Home| if home == Home::Ends { Home::Scan } else { home };
                return found.into_iter().map(scanned).collect();
            }
        }
    }
}

/// By rule. `preference`: the kinds of lists, as [`preference`] orders them.
fn homes(criteria: &[Criterion], rules: usize, preference: &[usize]) -> Vec<Home> {
    // Half as many rules as a scan has words cost about as much as the scan.
    let longest = u32::try_from(rules / 128).unwrap_or(u32::MAX).max(8);
    let home = |rule: usize| {
        let lists = preference.iter().filter_map(|at| {
            let is_end = *at == criterion::SOURCE || *at == criterion::DESTINATION;
            let most = if is_end { END_RULES } else { longest };
            let length = criteria.get(*at)?.list_length(rule)?;
            (length <= most).then_some((length, *at))
        });
        // Equally short lists go by preference: what requests name most often comes first.
        match lists.min_by_key(|(length, _)| *length) {
            Some((_, at)) => Home::Lists(at),
            None => {
                let said = criteria.iter().skip(criterion::QOS_CLASS);
                match said
                    .into_iter()
                    .any(|criterion| holds(&criterion.asking, rule))
                {
                    true => Home::Scan,
                    false => Home::Ends,
                }
            }
        }
    };
    (0..rules).map(home).collect()
}

/// Rules by place, those of one home together in their order; words of those for ends, and of all
/// that are scanned.
fn order(homes: &[Home]) -> (Vec<u16>, usize, usize) {
    let none = u16::try_from(homes.len()).unwrap_or(u16::MAX);
    let rules = |wanted: fn(&Home) -> bool| {
        let numbered = homes.iter().zip(0u16..);
        numbered.filter(move |(home, _)| wanted(home))
    };
    let mut order: Vec<u16> = Vec::with_capacity(homes.len() + 128);
    let pad = |order: &mut Vec<u16>| {
        order.resize(order.len().next_multiple_of(64), none);
        order.len() / 64
    };
    // Rules of one home lie together, so that a pass over one home is over whole words.
    order.extend(rules(|home| *home == Home::Ends).map(|(_, rule)| rule));
    let ends = pad(&mut order);
    order.extend(rules(|home| *home == Home::Scan).map(|(_, rule)| rule));
    let scanned = pad(&mut order);
    let mut listed: Vec<(&Home, u16)> = rules(|home| *home > Home::Scan).collect();
    listed.sort_unstable();
    order.extend(listed.iter().map(|(_, rule)| *rule));
    pad(&mut order);
    (order, ends, scanned)
}

/// Makes a pass and the sets as long as there is a match of its own for. Gives the words of the
/// pass.
fn widen(order: &mut Vec<u16>, scanned_words: usize, rules: usize) -> usize {
    let none = u16::try_from(rules).unwrap_or(u16::MAX);
    let missing = SHORT_PASS_WORDS.saturating_sub(scanned_words);
    let words = order.len() / 64 + missing;
    let Some(width) = WIDTHS.iter().find(|width| words <= **width) else {
        return scanned_words;
    };
    let at = scanned_words * 64;
    order.splice(at..at, core::iter::repeat_n(none, missing * 64));
    order.resize(width * 64, none);
    scanned_words + missing
}

/// How the rules that ask for one thing share its classes.
struct Criterion {
    /// Rules that some class does not satisfy.
    asking: Vec<u64>,
    /// Rules that few classes satisfy.
    narrow: Vec<u64>,
    /// Narrow rules that share a class with more than the tier's number of them.
    crowded: [Vec<u64>; TIERS.len()],
}

impl Criterion {
    /// Shape: a set for each class, as many words as all rules need.
    fn new(sets: &[Vec<u64>], rules: usize) -> Self {
        let asking = asking(sets, rules);
        let narrow = narrow(sets, &asking);
        let crowded = crowded(sets, &narrow);
        Self {
            asking,
            narrow,
            crowded,
        }
    }

    /// Rules at most in a list that has this one, rounded up; none when it should be in no list.
    fn list_length(&self, rule: usize) -> Option<u32> {
        let mut tiers = TIERS.iter().zip(&self.crowded);
        let fits = tiers.find(|(_, crowded)| !holds(crowded, rule));
        fits.filter(|_| holds(&self.narrow, rule))
            .map(|(tier, _)| *tier)
    }
}

/// Rules that ask for this criterion at all: some class does not satisfy them.
fn asking(sets: &[Vec<u64>], rules: usize) -> Vec<u64> {
    let mut asking = vec![0; rules.div_ceil(64)];
    for set in sets {
        for (asking, word) in asking.iter_mut().zip(set) {
            *asking |= !word;
        }
    }
    // Behind the last rule there is nothing that could ask.
    if let Some(last) = asking.last_mut().filter(|_| !rules.is_multiple_of(64)) {
        *last &= (1 << (rules % 64)) - 1;
    }
    asking
}

/// Those of the rules that fewer classes than 2^[`PLANES`] satisfy, counted for 64 rules at a time.
fn narrow(sets: &[Vec<u64>], asking: &[u64]) -> Vec<u64> {
    let mut counters = vec![[0u64; PLANES]; asking.len()];
    let mut narrow = asking.to_vec();
    for set in sets {
        // Counts in bit planes, 64 rules at a time: a plane for each bit of the counter, so that
        // classes times rules are never looked at one by one.
        for ((counter, narrow), word) in counters.iter_mut().zip(&mut narrow).zip(set) {
            let mut carry = word & *narrow;
            for plane in counter {
                if carry == 0 {
                    break;
                }
                (*plane, carry) = (*plane ^ carry, *plane & carry);
            }
            *narrow &= !carry;
        }
    }
    narrow
}

/// By tier: rules that share some class with more narrow rules than the tier allows.
fn crowded(sets: &[Vec<u64>], narrow: &[u64]) -> [Vec<u64>; TIERS.len()] {
    let mut crowded = core::array::from_fn(|_| vec![0; narrow.len()]);
    for set in sets {
        let both = || set.iter().zip(narrow).map(|(word, narrow)| word & narrow);
        let count: u32 = both().map(u64::count_ones).sum();
        let exceeded = TIERS.iter().zip(&mut crowded);
        for (_, crowded) in exceeded.filter(|(tier, _)| count > **tier) {
            for (crowded, word) in crowded.iter_mut().zip(both()) {
                *crowded |= word;
            }
        }
    }
    crowded
}

/// How the sets of one dimension are laid out.
struct Layout {
    /// Place of each rule in the order of the index.
    places: Vec<usize>,
    /// Rules that this dimension's lists hold.
    listed: Vec<u64>,
    /// A rule set with every rule but those that the row tells apart.
    template: Vec<u64>,
    /// Rules that the row tells apart: those that ask for it and are in no list of it.
    told_apart: Vec<u64>,
}

impl Layout {
    /// Places and lists of one dimension, its number being `at`.
    fn new(homes: &[Home], order: &[u16], sets: &[Vec<u64>], at: usize) -> Self {
        let mut places = vec![0; homes.len()];
        for (place, rule) in order.iter().enumerate() {
            if let Some(of_rule) = places.get_mut(usize::from(*rule)) {
                *of_rule = place;
            }
        }
        let mut listed = vec![0; homes.len().div_ceil(64)];
        for (rule, _) in homes
            .iter()
            .enumerate()
            .filter(|(_, home)| **home == Home::Lists(at))
        {
            insert(&mut listed, rule);
        }
        let mut told_apart = asking(sets, homes.len());
        for (told_apart, listed) in told_apart.iter_mut().zip(&listed) {
            *told_apart &= !listed;
        }
        let mut template = vec![0; order.len() / 64];
        for (rule, place) in places.iter().enumerate() {
            if !holds(&told_apart, rule) {
                insert(&mut template, *place);
            }
        }
        Self {
            places,
            listed,
            template,
            told_apart,
        }
    }

    /// Class records and distinct rule sets; what a class record has no room for goes to `rest`.
    fn dimension(&self, sets: &[Vec<u64>], rest: &mut Vec<RuleWordRecord>) -> IndexedDimension {
        let keys: Vec<Vec<u64>> = sets.iter().map(|set| and(set, &self.told_apart)).collect();
        // Where a class's row has the class's own number, `ByService` finds it without reading the
        // class record.
        let by_class = self.places.len() <= FEW_RULES && self.listed.iter().all(|word| *word == 0);
        let (distinct, row_of) = match by_class {
            true => (
                keys.iter().collect(),
                (0..=u16::MAX).take(keys.len()).collect(),
            ),
            false => intern(&keys),
        };
        let mut rows = Vec::with_capacity(distinct.len() * self.template.len());
        for key in distinct {
            let start = rows.len();
            rows.extend_from_slice(&self.template);
            for rule in members(key) {
                let place = self.places.get(rule).copied().unwrap_or_default();
                insert(rows.get_mut(start..).unwrap_or_default(), place);
            }
        }
        let mut classes = Vec::with_capacity(sets.len());
        for (set, row) in sets.iter().zip(row_of) {
            let start = rest.len();
            let first = self.list(set, rest);
            classes.push(ClassRecord {
                bits: first.map_or(0, |first| first.bits),
                word: first.map_or(0, |first| first.word),
                start: count32(start),
                len: count32(rest.len() - start),
                row: u32::from(row),
            });
        }
        IndexedDimension { classes, rows }
    }

    /// The rules of a class that this dimension's lists hold: gives the first word and adds the
    /// others to `rest`. Places of such rules ascend as the rules do.
    fn list(&self, set: &[u64], rest: &mut Vec<RuleWordRecord>) -> Option<RuleWordRecord> {
        let mut words: Vec<RuleWordRecord> = Vec::new();
        for rule in members(&and(set, &self.listed)) {
            let place = self.places.get(rule).copied().unwrap_or_default();
            let word = count32(place / 64);
            let bits = 1 << (place % 64);
            let first = count32(rule);
            match words.last_mut() {
                Some(last) if last.word == word => last.bits |= bits,
                _ => words.push(RuleWordRecord { bits, word, first }),
            }
        }
        // Most lists have one word: it lies in the class record, and then nothing else is read.
        rest.extend(words.iter().skip(1));
        words.first().copied()
    }
}

/// Each distinct set once, in the order in which they are first seen, and by class which it is.
fn intern(keys: &[Vec<u64>]) -> (Vec<&Vec<u64>>, Vec<u16>) {
    let mut sorted: Vec<(&Vec<u64>, usize)> = keys.iter().zip(0..).collect();
    sorted.sort_unstable();
    let mut first_of = vec![0; keys.len()];
    for equal in sorted.chunk_by(|(a, _), (b, _)| a == b) {
        let first = equal.first().map_or(0, |(_, at)| *at);
        for (_, at) in equal {
            if let Some(first_of) = first_of.get_mut(*at) {
                *first_of = first;
            }
        }
    }
    let (mut distinct, mut row_of): (Vec<&Vec<u64>>, Vec<u16>) = (Vec::new(), Vec::new());
    for ((at, key), first) in keys.iter().enumerate().zip(first_of) {
        let row = match row_of.get(first) {
            Some(row) if first < at => *row,
            _ => {
                distinct.push(key);
                u16::try_from(distinct.len() - 1).unwrap_or(u16::MAX)
            }
        };
        row_of.push(row);
    }
    (distinct, row_of)
}

/// The members of both sets.
fn and(one: &[u64], other: &[u64]) -> Vec<u64> {
    one.iter().zip(other).map(|(a, b)| a & b).collect()
}

/// The places in a set, ascending.
fn members(set: &[u64]) -> impl Iterator<Item = usize> + '_ {
    set.iter().enumerate().flat_map(|(word, bits)| {
        let bits = core::iter::successors(Some(*bits), |bits| Some(bits & bits.wrapping_sub(1)));
        let bits = bits.take_while(|bits| *bits != 0);
        bits.map(move |bits| word * 64 + bits.trailing_zeros() as usize)
    })
}

/// True when a place is in a set.
fn holds(set: &[u64], bit: usize) -> bool {
    set.get(bit / 64)
        .is_some_and(|word| word >> (bit % 64) & 1 == 1)
}

/// Puts a place into a set; nothing where the set is too short.
fn insert(set: &mut [u64], bit: usize) {
    if let Some(word) = set.get_mut(bit / 64) {
        *word |= 1 << (bit % 64);
    }
}
