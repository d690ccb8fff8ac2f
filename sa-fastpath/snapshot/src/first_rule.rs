//! The first rule that holds for the classes of a request, however many rules there are.
//!
//! A policy with few rules has one set of all rules for each class. One with many has its rules in
//! three parts: those that ask for ends only, those that are scanned, and those that a class's
//! list holds, which are read only when the request is of that class.
//!
//! A policy of 2,000 rules with 300 services takes 32 words a set; a scan of all would read 5 x 256
//! bytes. With lists a request reads one word of its service's list, the scanned words, and nothing
//! of other services.

use core::array;
use core::ops::Range;

use crate::format::Sections;
use crate::format::policy_records::{ClassRecord, PolicyRecord, RuleWordRecord, criterion};
use crate::format::rare_fields::{NONE_ASKED, RareClasses, RareField};

/// Words that are looked at together.
const STEP: usize = 4;

/// Words of rules that are scanned where the rest is by service id.
pub(crate) const SHORT_PASS_WORDS: usize = 6;

/// The rule sets of a request's classes.
///
/// Made for one match, and borrowed from the sections. All rows have the same number of words, or
/// are empty.
struct Rows<'a> {
    source: &'a [u64],
    destination: &'a [u64],
    qos_class: &'a [u64],
    pkey: &'a [u64],
    service: &'a [u64],
    /// By [`RareField`]; none where the policy does not ask for it.
    rare: [Option<&'a [u64]>; RareField::COUNT],
}

impl<'a> Rows<'a> {
    /// The rules of this word that are in all sets.
    ///
    /// Absent words count as empty, so no index has to be checked in the loops.
    #[inline(always)]
    fn common(&self, word: usize) -> u64 {
        let of = |row: &[u64]| row.get(word).copied().unwrap_or(0);
        let mut hits = of(self.source)
            & of(self.destination)
            & of(self.qos_class)
            & of(self.pkey)
            & of(self.service);
        for row in self.rare.into_iter().flatten() {
            hits &= of(row);
        }
        hits
    }

    /// Some words of all sets.
    #[inline(always)]
    fn within(&self, words: Range<usize>) -> Option<Self> {
        let part = |row: &'a [u64]| row.get(words.clone()).unwrap_or_default();
        Some(Self {
            rare: self.rare.map(|row| row.map(part)),
            source: self.source.get(words.clone())?,
            destination: self.destination.get(words.clone())?,
            qos_class: self.qos_class.get(words.clone())?,
            pkey: self.pkey.get(words.clone())?,
            service: self.service.get(words.clone())?,
        })
    }

    /// The first place that is in all sets.
    #[inline(always)]
    fn first(&self) -> Option<usize> {
        if self.rare.iter().all(Option::is_none) {
            return self.first_common();
        }
        let mut words = (0..self.source.len()).map(|word| (word, self.common(word)));
        let (word, hits) = words.find(|(_, hits)| *hits != 0)?;
        Some(word * 64 + bit(hits))
    }

    /// The first place that is in all sets but those of rare fields. Several words in one step,
    /// which the compiler turns to vector instructions.
    #[inline(always)]
    fn first_common(&self) -> Option<usize> {
        let (a, a_rest) = self.source.as_chunks::<STEP>();
        let (b, b_rest) = self.destination.as_chunks::<STEP>();
        let (c, c_rest) = self.qos_class.as_chunks::<STEP>();
        let (d, d_rest) = self.pkey.as_chunks::<STEP>();
        let (e, e_rest) = self.service.as_chunks::<STEP>();
        // Bits before the words that are looked at now.
        let mut base = 0;
        let steps = a.iter().zip(b).zip(c.iter().zip(d).zip(e));
        for ((a, b), ((c, d), e)) in steps {
            let hits: [u64; STEP] = array::from_fn(|n| a[n] & b[n] & c[n] & d[n] & e[n]);
            if let Some(place) = first_of_step(&hits) {
                return Some(base + place);
            }
            base += STEP * 64;
        }
        let rest = a_rest
            .iter()
            .zip(b_rest)
            .zip(c_rest.iter().zip(d_rest).zip(e_rest));
        for ((a, b), ((c, d), e)) in rest {
            let hits = a & b & c & d & e;
            if hits != 0 {
                return Some(base + bit(hits));
            }
            base += 64;
        }
        None
    }
}

/// The first place in words that are looked at together, none when all are empty.
#[inline(always)]
fn first_of_step(hits: &[u64; STEP]) -> Option<usize> {
    // One test for all of them: most steps find nothing.
    if hits.iter().fold(0, |some, word| some | word) == 0 {
        return None;
    }
    let mut words = hits.iter().enumerate();
    let (word, hits) = words.find(|(_, hits)| **hits != 0)?;
    Some(word * 64 + bit(*hits))
}

impl Sections {
    /// The place of the first rule that holds; the number of rules when none does.
    ///
    /// Shape: `classes` by dimension; `rare` as [`Self::rare_classes`] gives them.
    #[inline(always)]
    pub(crate) fn first_rule(
        &self,
        policy: &PolicyRecord,
        classes: [u16; 5],
        rare: RareClasses,
    ) -> u32 {
        let found = if self.rule_order.is_empty() {
            self.first_scanned(policy, classes, rare)
        } else if rare == NONE_ASKED {
            self.first_indexed(policy, classes)
        } else {
            self.first_indexed_rare(policy, classes, rare)
        };
        found.unwrap_or(policy.rules)
    }

    /// The classes of the numbers that a request names. Shape: both by [`RareField`].
    #[inline(always)]
    // One number more than a field has stands for "names none".
    pub(crate) fn rare_classes(&self, numbers: &[Option<u16>; RareField::COUNT]) -> RareClasses {
        RareField::ALL.map(|field| {
            let of_none = field.values();
            let at = numbers[field as usize].unwrap_or(of_none);
            self.rare[field as usize].map.get(usize::from(at)).copied()
        })
    }

    /// Every set has a guard bit behind the last rule.
    #[inline(always)]
    fn first_scanned(
        &self,
        policy: &PolicyRecord,
        classes: [u16; 5],
        rare: RareClasses,
    ) -> Option<u32> {
        let rare = rare.map(|class| class.map(u32::from));
        let rows = self.rows(policy, classes.map(u32::from), rare)?;
        rows.first().and_then(|place| u32::try_from(place).ok())
    }

    /// True where service ids alone have lists, no scanned rule asks for one, all other rows go by
    /// class, and few rules are scanned, so that `policy::by_service` tells the first rule.
    pub(crate) fn is_by_service(&self, policy: &PolicyRecord) -> bool {
        let [a, b, c, d, service, rare @ ..] = policy.class_starts;
        let by_class = |start: u32, end: u32| {
            let classes = self.policy_classes.get(index(start)..index(end));
            let mut numbered = (0u32..).zip(classes.unwrap_or_default());
            // Row = class, in order: so `by_service` can go without class records.
            numbered.all(|(class, record)| record.row == class)
        };
        let others = by_class(a, b) && by_class(b, c) && by_class(c, d) && by_class(d, service);
        // Those of rare fields that no rule asks for are 0.
        let end = rare.into_iter().find(|start| *start != 0);
        let end = end.map_or(self.policy_classes.len(), index);
        let services = self.policy_classes.get(index(service)..end);
        let one_row = services.is_some_and(|classes| classes.iter().all(|class| class.row == 0));
        let places = self.rule_order.chunks(64).zip(self.service_sets.iter());
        let holds_all = places.into_iter().all(|(places, word)| {
            let rules = places.iter().enumerate();
            let mut rules = rules.filter(|(_, rule)| u32::from(**rule) != policy.rules);
            rules.all(|(bit, _)| word >> bit & 1 == 1)
        });
        let by_lists = policy.lists == 1 << criterion::SERVICE && policy.ends_words == 0;
        let is_short = index(policy.scanned_words) == SHORT_PASS_WORDS;
        !self.rule_order.is_empty() && by_lists && others && one_row && holds_all && is_short
    }

    /// By the index, where rules ask for no rare field, as in nearly every policy: what is compiled
    /// for these does not look for rare fields again in each list.
    #[inline(never)]
    fn first_indexed(&self, policy: &PolicyRecord, classes: [u16; 5]) -> Option<u32> {
        self.first_by_index(policy, classes, NONE_ASKED)
    }

    /// By the index, where they do.
    #[inline(never)]
    fn first_indexed_rare(
        &self,
        policy: &PolicyRecord,
        classes: [u16; 5],
        rare: RareClasses,
    ) -> Option<u32> {
        self.first_by_index(policy, classes, rare)
    }

    /// Rules for ends alone, then the scanned ones, then the lists of the request's
    /// classes. Each part is passed over where nothing in it can come before the best so far.
    #[inline(always)]
    fn first_by_index(
        &self,
        policy: &PolicyRecord,
        classes: [u16; 5],
        rare: RareClasses,
    ) -> Option<u32> {
        let [a, b, c, d, e, starts @ ..] = policy.class_starts;
        // A class that the policy does not have means damage that `verify` would have found.
        let [source, destination, qos_class, pkey, service] = classes;
        let records = [
            self.class(a, source)?,
            self.class(b, destination)?,
            self.class(c, qos_class)?,
            self.class(d, pkey)?,
            self.class(e, service)?,
        ];
        let of_field = |at: usize| self.class(starts[at], rare[at]?);
        let by_rare: [_; RareField::COUNT] = array::from_fn(of_field);
        let sets = records.map(|record| record.row);
        let rare = by_rare.map(|record| record.map(|record| record.row));
        let rows = self.rows(policy, sets, rare)?;
        let mut best = self.first_by_ends(policy, (source, destination), &rows)?;
        // Without a scanned part, as where all rules are in lists, there is nothing to look at.
        if policy.scanned_words != policy.ends_words {
            best = self.first_of_rest(policy, &rows, best)?;
        }
        // The dimension that requests name most often comes first, so that later lists are cut off
        // early.
        let [source, destination, qos_class, pkey, service] = records;
        let holds = |at: usize| policy.lists >> at & 1 == 1;
        if holds(criterion::SERVICE) {
            best = self.first_in_list(service, &rows, best);
        }
        if holds(criterion::QOS_CLASS) {
            best = self.first_in_list(qos_class, &rows, best);
        }
        if holds(criterion::PKEY) {
            best = self.first_in_list(pkey, &rows, best);
        }
        if holds(criterion::DESTINATION) {
            best = self.first_in_list(destination, &rows, best);
        }
        if holds(criterion::SOURCE) {
            best = self.first_in_list(source, &rows, best);
        }
        // Not a fold, which the compiler calls instead of taking it in.
        for record in by_rare.into_iter().flatten() {
            best = self.first_in_list(record, &rows, best);
        }
        Some(best)
    }

    /// The record of a class, `start` being where its dimension begins.
    #[inline(always)]
    fn class(&self, start: u32, class: u16) -> Option<&ClassRecord> {
        self.policy_classes.get(index(start) + usize::from(class))
    }

    /// Among the rules that ask for ends only.
    #[inline(always)]
    fn first_by_ends(
        &self,
        policy: &PolicyRecord,
        (source, destination): (u16, u16),
        rows: &Rows<'_>,
    ) -> Option<u32> {
        if policy.pair_columns != 0 {
            // Both look-ups in one, where the table of pairs exists.
            let row = usize::from(source) * index(policy.pair_columns);
            let first = self.first_rules.get(row + usize::from(destination))?;
            return Some(u32::from(*first));
        }
        let words = ..index(policy.ends_words);
        let place = first_common(rows.source.get(words)?, rows.destination.get(words)?);
        Some(place.map_or(policy.rules, |place| self.rule_at(place)))
    }

    /// Among the rules that are scanned, if it comes before `best`.
    #[inline(always)]
    fn first_of_rest(&self, policy: &PolicyRecord, rows: &Rows<'_>, best: u32) -> Option<u32> {
        let (first, end) = (index(policy.ends_words), index(policy.scanned_words));
        let place = rows.within(first..end)?.first();
        let rule = place.map_or(u32::MAX, |place| self.rule_at(first * 64 + place));
        Some(best.min(rule))
    }

    /// Among the rules of a list, if it comes before `best`. Most lists have one word or none, for
    /// which there is no branch.
    #[inline(always)]
    fn first_in_list(&self, class: &ClassRecord, rows: &Rows<'_>, best: u32) -> u32 {
        let hits = class.bits & rows.common(index(class.word));
        let best = best.min(self.rule_of(class.word, hits));
        if class.len == 0 {
            return best;
        }
        self.first_in_rest(class, |word| rows.common(index(word)), best)
    }

    /// Among the rules that the rest of a list holds. `common`: the rules of a word that are in all
    /// sets.
    #[inline(always)]
    pub(crate) fn first_in_rest(
        &self,
        class: &ClassRecord,
        common: impl Fn(u32) -> u64,
        best: u32,
    ) -> u32 {
        let start = index(class.start);
        let list = self.rule_words.get(start..start + index(class.len));
        for RuleWordRecord { bits, word, first } in list.unwrap_or_default() {
            // Lists ascend by rule, so what follows comes later still.
            if *first > best {
                break;
            }
            let hits = bits & common(*word);
            if hits != 0 {
                return best.min(self.rule_of(*word, hits));
            }
        }
        best
    }

    /// The first of some rules of a word; more than any for none.
    #[inline(always)]
    fn rule_of(&self, word: u32, hits: u64) -> u32 {
        // `& 63`, as a word without hits has 64 trailing zeros, which is no bit; the result is then
        // not used.
        let rule = self.rule_at(index(word) * 64 + (bit(hits) & 63));
        if hits == 0 { u32::MAX } else { rule }
    }

    /// The rule at a place of the sets, more than any for a place without one.
    #[inline(always)]
    fn rule_at(&self, place: usize) -> u32 {
        let rule = self.rule_order.get(place);
        rule.map_or(u32::MAX, |rule| u32::from(*rule))
    }

    /// The rule sets of these classes; none where a class is not of the policy.
    #[inline(always)]
    fn rows(
        &self,
        policy: &PolicyRecord,
        at: [u32; 5],
        rare: [Option<u32>; RareField::COUNT],
    ) -> Option<Rows<'_>> {
        let words = index(policy.words);
        let [source, destination, qos_class, pkey, service] = at;
        let of_field = |nth: usize| {
            let sets = &self.rare[nth].sets;
            rare[nth].map(|at| row(sets, at, words).unwrap_or_default())
        };
        Some(Rows {
            source: row(&self.source_sets, source, words)?,
            destination: row(&self.destination_sets, destination, words)?,
            qos_class: row(&self.qos_class_sets, qos_class, words)?,
            pkey: row(&self.pkey_rule_sets, pkey, words)?,
            service: row(&self.service_sets, service, words)?,
            rare: array::from_fn(of_field),
        })
    }
}

/// One set of a section.
#[inline(always)]
fn row(sets: &[u64], at: u32, words: usize) -> Option<&[u64]> {
    let start = index(at) * words;
    sets.get(start..start + words)
}

/// The first place that is in both sets, as in [`Rows::first_common`].
#[inline(always)]
fn first_common(one: &[u64], other: &[u64]) -> Option<usize> {
    let ((one, one_rest), (other, other_rest)) =
        (one.as_chunks::<STEP>(), other.as_chunks::<STEP>());
    let mut base = 0;
    for (one, other) in one.iter().zip(other) {
        let hits: [u64; STEP] = array::from_fn(|n| one[n] & other[n]);
        if let Some(place) = first_of_step(&hits) {
            return Some(base + place);
        }
        base += STEP * 64;
    }
    for (one, other) in one_rest.iter().zip(other_rest) {
        if one & other != 0 {
            return Some(base + bit(one & other));
        }
        base += 64;
    }
    None
}

/// The lowest bit that is set.
#[inline(always)]
const fn bit(hits: u64) -> usize {
    hits.trailing_zeros() as usize
}

/// A number of the file as an index; more than any table has where it is none.
#[inline(always)]
fn index(value: u32) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}
