//! What must hold in rule sets, and in the index of rules where there is one.
//!
//! The rules of a policy are matched by bits: a set per value says which rules accept it, and the
//! lowest bit that is in the sets of all criteria is the rule. Small policies scan such sets in the
//! order of the rules, up to a guard bit. Large ones have an index: rules in an order of its own,
//! those that ask for ends only first, then the other rules that are scanned, then those found by
//! the lists of a class.
//!
//! What a wrong bit could do, and which check stops it:
//!
//! | damage | answer it would give | check |
//! |---|---|---|
//! | no guard bit | a search without an end | guard in every set |
//! | a place without a rule | a rule number beyond the table | sets within used places |
//! | rules of a list not ascending | a later rule before an earlier one | `list` |
//! | a wrong entry of first rules | another rule's level | worked out again |

use super::{Checked, check};
use crate::error::LoadError;
use crate::format::Sections;
use crate::format::policy_records::{ClassRecord, PolicyRecord, RuleWordRecord, criterion};
use crate::format::rare_fields::RareField;

/// How many classes each dimension has.
pub(super) struct SetCounts {
    pub(super) source: usize,
    pub(super) destination: usize,
    pub(super) qos_class: usize,
    pub(super) pkey: usize,
    pub(super) service: usize,
    /// By [`RareField`], 0 when no rule asks for it.
    pub(super) rare: [usize; RareField::COUNT],
}

/// Rule sets of one dimension.
type Named<'a> = (&'a [u64], &'static str);

/// Checks sets, lists and order of rules. The sets of a rare field that no rule asks for must be
/// empty, since nobody would read them. Errors: the first thing that does not hold.
pub(super) fn rule_sets(
    sections: &Sections,
    record: &PolicyRecord,
) -> Result<SetCounts, LoadError> {
    let mut sets: Vec<Option<Named<'_>>> = vec![
        Some((&sections.source_sets, "source sets")),
        Some((&sections.destination_sets, "destination sets")),
        Some((&sections.qos_class_sets, "QoS class sets")),
        Some((&sections.pkey_rule_sets, "P_Key rule sets")),
        Some((&sections.service_sets, "service sets")),
    ];
    for (field, rare) in RareField::ALL.into_iter().zip(&sections.rare) {
        let name = field.sets().name();
        let is_asked = record.semantics & field.asks() != 0;
        check(is_asked || rare.sets.is_empty(), name, "for no rule")?;
        sets.push(is_asked.then_some((&*rare.sets, name)));
    }
    let counts = match sections.rule_order.is_empty() {
        true => scanned(sections, record, &sets)?,
        false => Index::new(sections, record)?.check(&sets)?,
    };
    let count = |at: usize| counts.get(at).copied().unwrap_or(0);
    Ok(SetCounts {
        source: count(criterion::SOURCE),
        destination: count(criterion::DESTINATION),
        qos_class: count(criterion::QOS_CLASS),
        pkey: count(criterion::PKEY),
        service: count(criterion::SERVICE),
        rare: core::array::from_fn(|nth| count(criterion::RARE + nth)),
    })
}

/// Sets without an index: all rules in every set. Gives the number of sets by dimension, 0 for
/// those that no rule asks for. Errors: [`LoadError::Section`].
fn scanned(
    sections: &Sections,
    record: &PolicyRecord,
    sets: &[Option<Named<'_>>],
) -> Result<Vec<usize>, LoadError> {
    let (rules, words) = (index(record.rules), index(record.words));
    // One bit more than rules, for the guard.
    check(words == rules / 64 + 1, "policy", "words of a rule set")?;
    let no_lists = sections.policy_classes.is_empty()
        && sections.rule_words.is_empty()
        && sections.first_rules.is_empty();
    check(no_lists, "policy", "an index without an order of rules")?;
    let starts = record.class_starts.iter().all(|start| *start == 0);
    let parts = [
        record.ends_words,
        record.scanned_words,
        record.lists,
        record.pair_columns,
    ];
    let zero = starts && parts.iter().all(|part| *part == 0);
    check(zero, "policy", "parts of an index that is not there")?;
    let guard = 1u64 << (rules % 64);
    let count = |dimension: &Option<Named<'_>>| {
        let Some((sets, name)) = dimension else {
            return Ok(0);
        };
        let guarded = sets.chunks_exact(words).all(|set| {
            let last = set.last().copied().unwrap_or_default();
            // The guard ends every search, so it must be in every set, and nothing behind it.
            last & guard != 0 && last & !(guard | (guard - 1)) == 0
        });
        check(guarded, name, "guard bit")?;
        whole_sets(sets, words, name)
    };
    sets.iter().map(count).collect()
}

/// Errors: the section is not a whole number of sets. Gives how many there are.
fn whole_sets(sets: &[u64], words: usize, name: &'static str) -> Result<usize, LoadError> {
    let count = sets.len() / words.max(1);
    let whole = count >= 1 && count * words == sets.len();
    check(whole, name, "unexpected length").map(|()| count)
}

/// An index of rules, with the numbers of its record as indexes. Units: `rules` are rules; `words`,
/// `ends` and `scanned` are words of 64 places, each part within the next.
struct Index<'a> {
    /// Where sets, lists and the order of rules lie.
    sections: &'a Sections,
    /// The policy's own numbers, as the file has them.
    record: &'a PolicyRecord,
    /// How many rules; as an entry of the order it stands for "no rule".
    rules: usize,
    /// Words of every set.
    words: usize,
    /// Of these, words of rules for ends only.
    ends: usize,
    /// Of these, words of all rules that no list holds.
    scanned: usize,
    /// Places that a rule has, as bits.
    used: Vec<u64>,
}

impl<'a> Index<'a> {
    /// Checks the parts and that every rule has one place.
    fn new(sections: &'a Sections, record: &'a PolicyRecord) -> Result<Self, LoadError> {
        let (rules, words) = (index(record.rules), index(record.words));
        let (ends, scanned) = (index(record.ends_words), index(record.scanned_words));
        let parts = ends <= scanned && scanned <= words;
        check(parts, "policy", "parts of a rule set")?;
        let order = &*sections.rule_order;
        check(order.len() == words * 64, "rule order", "unexpected length")?;
        // Each rule once: a rule without a place would never match.
        let mut seen = vec![false; rules];
        let mut used = Vec::with_capacity(words);
        for places in order.chunks(64) {
            let mut bits = 0;
            for (bit, rule) in places
                .iter()
                .enumerate()
                .filter(|(_, r)| usize::from(**r) != rules)
            {
                let new = seen.get_mut(usize::from(*rule));
                let new = new.is_some_and(|seen| !core::mem::replace(seen, true));
                check(new, "rule order", "no rule, or one rule twice")?;
                bits |= 1 << bit;
            }
            used.push(bits);
        }
        check(
            seen.iter().all(|seen| *seen),
            "rule order",
            "a rule has no place",
        )?;
        // Within a part rules ascend, so that the lowest bit is the first rule.
        let ascending = |part: &[u16]| {
            let rules = part.iter().filter(|rule| usize::from(**rule) != rules);
            rules.is_sorted()
        };
        let (scan, _) = order.split_at_checked(scanned * 64).unwrap_or_default();
        let (by_ends, rest) = scan.split_at_checked(ends * 64).unwrap_or_default();
        let sorted = ascending(by_ends) && ascending(rest);
        check(sorted, "rule order", "scanned rules do not ascend")?;
        Ok(Self {
            sections,
            record,
            rules,
            words,
            ends,
            scanned,
            used,
        })
    }

    /// Gives the number of classes by dimension, 0 for those that no rule asks for.
    fn check(&self, sets: &[Option<Named<'a>>]) -> Result<Vec<usize>, LoadError> {
        let classes = &*self.sections.policy_classes;
        let starts = self.record.class_starts.map(index);
        let mut rest = sets.iter().zip(starts);
        let rest_is_zero = rest.all(|(asked, start)| asked.is_some() || start == 0);
        check(rest_is_zero, "policy", "classes of nothing")?;
        let dimensions = (0u32..).zip(sets).zip(starts);
        let asked = dimensions.filter_map(|((at, sets), start)| Some((at, (*sets)?, start)));
        let ends = asked.clone().skip(1).map(|(_, _, start)| start);
        let ends = ends.chain([classes.len()]);
        let (mut counts, mut expected, mut begin) = (vec![0; sets.len()], 0, 0);
        let mut known = 0;
        // One after another without gaps: each class's list begins where the one before ends.
        for ((at, (sets, name), start), end) in asked.zip(ends) {
            check(
                start == begin && begin < end,
                "policy",
                "class records out of place",
            )?;
            let rows = self.rows(sets, name, at)?;
            let of_dimension = classes.get(begin..end).unwrap_or_default();
            for class in of_dimension {
                let place = index(class.start) == expected && index(class.row) < rows;
                check(place, "policy classes", "list or set out of place")?;
                expected += index(class.len);
                self.list(class)?;
            }
            let has_lists = self.record.lists >> at & 1 == 1;
            check(
                has_lists == of_dimension.iter().any(|class| class.bits != 0),
                "policy",
                "which dimensions have lists",
            )?;
            counts[index(at)] = of_dimension.len();
            known |= 1 << at;
            begin = end;
        }
        let unknown = self.record.lists & !known == 0;
        check(unknown, "policy", "lists of nothing")?;
        let all = expected == self.sections.rule_words.len();
        check(all, "rule lists", "unexpected length")?;
        self.first_rules(sets, &counts)?;
        Ok(counts)
    }

    /// Gives the number of sets: only places with a rule, and of the rules that ask for ends only
    /// all, unless it is an end's.
    fn rows(&self, sets: &[u64], name: &'static str, at: u32) -> Result<usize, LoadError> {
        let count = whole_sets(sets, self.words, name)?;
        let is_end = index(at) == criterion::SOURCE || index(at) == criterion::DESTINATION;
        for set in sets.chunks_exact(self.words) {
            let known = set
                .iter()
                .zip(&self.used)
                .all(|(set, used)| set & !used == 0);
            check(known, name, "a place without a rule")?;
            // A rule for ends only must hold for every P_Key, service and class.
            let by_ends = set.iter().zip(&self.used).take(self.ends);
            let all = is_end || by_ends.into_iter().all(|(set, used)| set == used);
            check(all, name, "a rule that asks for ends only asks for more")?;
        }
        Ok(count)
    }

    /// Rules ascend along a list, and all lie behind those that are scanned.
    fn list(&self, class: &ClassRecord) -> Checked {
        const NAME: &str = "rule lists";
        let start = index(class.start);
        let rest = self
            .sections
            .rule_words
            .get(start..start + index(class.len));
        let Some(rest) = rest else {
            return check(false, NAME, "out of range");
        };
        if class.bits == 0 {
            let empty = class.word == 0 && rest.is_empty();
            return check(empty, "policy classes", "a list without a beginning");
        }
        // The bits of the class's own word come before those of the rest.
        let mut least = self.word(class.word, class.bits, 0)?.1;
        for RuleWordRecord { bits, word, first } in rest {
            let (lowest, next) = self.word(*word, *bits, least)?;
            check(lowest == *first, NAME, "first of some rules")?;
            least = next;
        }
        Ok(())
    }

    /// The first rule and the one behind the last of a word in a list, none below `least`.
    fn word(&self, word: u32, bits: u64, least: u32) -> Result<(u32, u32), LoadError> {
        const NAME: &str = "rule lists";
        let word = index(word);
        let used = self.used.get(word).copied().unwrap_or_default();
        let inside = word >= self.scanned && bits != 0 && bits & !used == 0;
        check(inside, NAME, "a place that is not in lists")?;
        let (mut first, mut next, mut rest) = (None, least, bits);
        while rest != 0 {
            let place = word * 64 + rest.trailing_zeros() as usize;
            let rule = self.sections.rule_order.get(place).copied();
            let rule = rule.map_or(u32::MAX - 1, u32::from);
            check(rule >= next, NAME, "rules do not ascend")?;
            first = first.or(Some(rule));
            next = rule + 1;
            rest &= rest - 1;
        }
        Ok((first.unwrap_or(next), next))
    }

    /// The table agrees with the sets.
    fn first_rules(&self, sets: &[Option<Named<'a>>], counts: &[usize]) -> Checked {
        const NAME: &str = "first rules";
        let table = &*self.sections.first_rules;
        let ([Some(source), Some(destination), ..], [sources, destinations, ..]) = (sets, counts)
        else {
            return check(false, NAME, "no ends");
        };
        let columns = index(self.record.pair_columns);
        if columns == 0 {
            return check(table.is_empty(), NAME, "without columns");
        }
        let shape = columns == *destinations && table.len() == sources * destinations;
        check(shape, NAME, "unexpected length")?;
        let rows = |(sets, _): &Named<'a>, start: usize, count: usize| -> Vec<&'a [u64]> {
            let classes = self.sections.policy_classes.get(start..start + count);
            let classes = classes.unwrap_or_default().iter();
            let row = |class: &ClassRecord| {
                let start = index(class.row) * self.words;
                sets.get(start..start + self.ends).unwrap_or_default()
            };
            classes.map(row).collect()
        };
        let by_source = rows(source, 0, *sources);
        let by_destination = rows(destination, *sources, *destinations);
        let none = u16::try_from(self.rules).unwrap_or(u16::MAX);
        for (source, firsts) in by_source.iter().zip(table.chunks_exact(columns)) {
            for (destination, first) in by_destination.iter().zip(firsts) {
                let place = first_common(source, destination);
                let rule = place.and_then(|place| self.sections.rule_order.get(place));
                check(
                    rule.copied().unwrap_or(none) == *first,
                    NAME,
                    "a wrong rule",
                )?;
            }
        }
        Ok(())
    }
}

/// The first place in both sets, none where they share no rule.
fn first_common(one: &[u64], other: &[u64]) -> Option<usize> {
    let both = one.iter().zip(other).map(|(a, b)| a & b);
    let (word, bits) = both.enumerate().find(|(_, bits)| *bits != 0)?;
    Some(word * 64 + bits.trailing_zeros() as usize)
}

/// A number of the file as an index; more than any table has where it is none.
fn index(value: u32) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}
