//! Which rules some request gets to, exactly.
//!
//! A request stands for a choice in each dimension: kind of source, kind of destination, and a number
//! for each [`Field`]; a number may be left out, and then only rules that do not ask for it hold. A rule is alive when choices that fit it leave no earlier rule: the
//! sets of earlier rules that the choices fit have nothing in common. Only choices whose set
//! contains no other choice's set matter, which keeps the numbers small.

use std::collections::HashSet;

use crate::lint::bits::Bits;
use crate::lint::classes::{End, Ends};
use crate::lint::rules::values::{cut, is_within, kinds, overlap};
use crate::model::criterion::{ByField, Field, Numbers};
use crate::model::{Policy, Rule, RuleIx};

/// What becomes of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Life {
    /// A request of this kind gets to it.
    Alive(Witness),
    /// No request fits it, whatever stands before.
    Never(Hopeless),
    /// Every request that fits it fits one of these before. Shape: ascending, not empty.
    Dead(Vec<RuleIx>),
    /// Too much work to tell.
    Undecided,
}

/// Why no request fits a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hopeless {
    /// No port is in its source groups.
    Source,
    /// No port is in its destination groups.
    Destination,
    /// All its numbers for this field are too large.
    Field(Field),
}

/// A request that gets to a rule.
/// Also what `levels` goes on from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Witness {
    /// Class of the source.
    pub source: usize,
    /// Class of the destination.
    pub destination: usize,
    /// The numbers that it names.
    pub values: Numbers,
}

impl Life {
    /// True unless it is known that no request gets to the rule.
    pub const fn may_be_alive(&self) -> bool {
        matches!(self, Self::Alive(_) | Self::Undecided)
    }
}

/// Steps, of a word each, for all rules together: about a second.
pub(in crate::lint) const BUDGET: u64 = 1 << 30;

/// Judges every rule. Shape: by rule.
pub(in crate::lint) fn lives(policy: &Policy, ends: &Ends, budget: u64) -> Vec<Life> {
    let mut judge = Judge {
        rules: &policy.rules,
        ends,
        fields: policy.rules.iter().map(fields_of).collect(),
        out: Bits::none(policy.rules.len()),
        left: budget,
        left_for_rule: 0,
    };
    let rules = 0..policy.rules.len();
    let lives = rules.map(|rule| {
        // One hard rule must not keep the others from being judged.
        judge.left_for_rule = budget / 16;
        let life = judge.life(rule);
        if !life.may_be_alive() {
            judge.out.insert(rule);
        }
        life
    });
    lives.collect()
}

/// A bit for each field that a rule asks for.
fn fields_of(rule: &Rule) -> u8 {
    let asked = rule.fields.iter().enumerate();
    asked.fold(0, |bits, (field, ranges)| {
        bits | u8::from(ranges.is_some()) << field
    })
}

/// All rules, what is known of them, and how much work is left.
struct Judge<'a> {
    rules: &'a [Rule],
    ends: &'a Ends,
    /// By rule, a bit for each field that it asks for.
    fields: Vec<u8>,
    /// Rules that nothing gets to. Where they would hold, another one does before.
    out: Bits,
    /// For all rules together; when it is used up, the rules behind are undecided.
    left: u64,
    left_for_rule: u64,
}

/// A choice in one dimension: the earlier rules that it fits, and what it is.
type Choice = (Bits, u64);

/// Dimensions: source, destination, then the fields.
const DIMENSIONS: usize = 2 + Field::COUNT;

/// The choice taken in each dimension; 0 where there is none to take.
type Picks = [u64; DIMENSIONS];

impl Judge<'_> {
    /// The cheap answers first: no request fits; one earlier rule holds wherever this one does. Only then are
    /// combinations of choices searched.
    fn life(&mut self, rule: usize) -> Life {
        if let Some(hopeless) = self.hopeless(rule) {
            return Life::Never(hopeless);
        }
        let Some(rivals) = self.rivals(rule) else {
            return Life::Undecided;
        };
        if let Some(first) = rivals.iter().find(|earlier| self.covers(*earlier, rule)) {
            return Life::Dead(vec![rule_ix(first)]);
        }
        let Some(choices) = self.choices(rule, &rivals) else {
            return Life::Undecided;
        };
        match self.search(&rivals, &choices) {
            Some(Found::Gap(picks)) => Life::Alive(self.witness(rule, &picks)),
            Some(Found::Covered(by)) => Life::Dead(by.into_iter().map(rule_ix).collect()),
            None => Life::Undecided,
        }
    }

    /// Why nothing fits the rule, whatever stands before it.
    fn hopeless(&self, rule: usize) -> Option<Hopeless> {
        let is_out = |field: &Field| {
            let ranges = self.rules[rule].wanted(*field);
            ranges.is_some_and(|ranges| cut(ranges, field.last()).next().is_none())
        };
        if self.ends.source.classes[rule].is_empty() {
            Some(Hopeless::Source)
        } else if self.ends.destination.classes[rule].is_empty() {
            Some(Hopeless::Destination)
        } else {
            Field::ALL.into_iter().find(is_out).map(Hopeless::Field)
        }
    }

    /// Earlier rules that can hold where this one does, even when fields it does not ask for are
    /// left out.
    fn rivals(&mut self, rule: usize) -> Option<Bits> {
        let Ends {
            source,
            destination,
            ..
        } = self.ends;
        let mut rivals = Bits::none(self.rules.len());
        let words = source.classes[rule].words() + 1;
        self.spend(rule * words)?;
        // Dead rules are left out: where one would hold, a rule before it does, which is looked at
        // anyway.
        for earlier in (0..rule).filter(|earlier| !self.out.contains(*earlier)) {
            let asks_no_more = self.fields[earlier] & !self.fields[rule] == 0;
            let meets = |end: &End| end.classes[earlier].meets(&end.classes[rule]);
            if asks_no_more && meets(source) && meets(destination) && self.overlaps(earlier, rule) {
                rivals.insert(earlier);
            }
        }
        Some(rivals)
    }

    /// The fields that both ask for have numbers in common.
    fn overlaps(&self, earlier: usize, rule: usize) -> bool {
        let [earlier, own] = [earlier, rule].map(|at| &self.rules[at]);
        let mut fields = Field::ALL.into_iter();
        fields.all(|field| match (earlier.wanted(field), own.wanted(field)) {
            (Some(earlier), Some(own)) => overlap(earlier, own, field.last()),
            _ => true,
        })
    }

    /// True when an earlier rule holds wherever this one does.
    fn covers(&self, earlier: usize, rule: usize) -> bool {
        let within = |end: &End| end.classes[rule].is_within(&end.classes[earlier]);
        let [other, own] = [earlier, rule].map(|at| &self.rules[at]);
        let mut fields = Field::ALL.into_iter();
        within(&self.ends.source)
            && within(&self.ends.destination)
            && fields.all(|field| match (other.wanted(field), own.wanted(field)) {
                (Some(other), Some(own)) => is_within(own, other, field.last()),
                (None, _) => true,
                (Some(_), None) => false,
            })
    }

    /// The choices that matter, by dimension.
    fn choices(&mut self, rule: usize, rivals: &Bits) -> Option<Vec<(usize, Vec<Choice>)>> {
        let mut choices = Vec::with_capacity(DIMENSIONS);
        let ends = [
            (&self.ends.source, self.rules[rule].source.is_empty()),
            (
                &self.ends.destination,
                self.rules[rule].destination.is_empty(),
            ),
        ];
        for (dimension, (end, is_free)) in ends.into_iter().enumerate() {
            let classes: Vec<usize> = match self.ends.in_none {
                // A port in no group leaves no more rules than any other port would.
                Some(in_none) if is_free => vec![in_none],
                _ => end.classes[rule].iter().collect(),
            };
            self.spend(classes.len() * rivals.words())?;
            let kinds = classes.into_iter().map(|class| {
                let number = u64::try_from(class).unwrap_or(u64::MAX);
                (end.rules[class].and(rivals), number)
            });
            choices.push((dimension, self.least(kinds.collect())?));
        }
        for field in Field::ALL {
            if let Some(own) = self.rules[rule].wanted(field) {
                let kinds = kinds(self.rules, field, own, rivals);
                self.spend(kinds.len() * rivals.words())?;
                choices.push((2 + field as usize, self.least(kinds)?));
            }
        }
        // Few choices first keep the fronts small for longest.
        choices.sort_by_key(|(_, choices)| choices.len());
        Some(choices)
    }

    /// Those whose set contains no other's, equal ones once.
    fn least<T>(&mut self, all: Vec<(Bits, T)>) -> Option<Vec<(Bits, T)>> {
        let mut seen = HashSet::new();
        let mut all = all;
        all.retain(|(set, _)| seen.insert(set.clone()));
        all.sort_by_cached_key(|(set, _)| set.count());
        let mut least: Vec<(Bits, T)> = Vec::new();
        for (set, what) in all {
            self.spend(least.len() * set.words())?;
            if !least.iter().any(|(smaller, _)| smaller.is_within(&set)) {
                least.push((set, what));
            }
        }
        Some(least)
    }

    /// Looks for choices that leave no rival: first by always taking the best, then all.
    fn search(&mut self, rivals: &Bits, choices: &[(usize, Vec<Choice>)]) -> Option<Found> {
        if let Some(picks) = greedy(rivals, choices) {
            return Some(Found::Gap(picks));
        }
        let mut fronts: Vec<(Bits, Picks)> = vec![(rivals.clone(), [0; DIMENSIONS])];
        for (dimension, choices) in choices {
            let mut next = Vec::new();
            self.spend(fronts.len() * choices.len() * rivals.words())?;
            for (left, picks) in &fronts {
                for (set, what) in choices {
                    let mut picks = *picks;
                    picks[*dimension] = *what;
                    next.push((left.and(set), picks));
                }
            }
            fronts = self.least(next)?;
        }
        let gap = fronts.iter().find(|(left, _)| left.is_empty());
        Some(match gap {
            Some((_, picks)) => Found::Gap(*picks),
            None => Found::Covered(cover(fronts)),
        })
    }

    /// The request that the choices stand for. It names no number that the rule does not ask for.
    fn witness(&self, rule: usize, picks: &Picks) -> Witness {
        let class = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let [source, destination, numbers @ ..] = *picks;
        let asked = &self.rules[rule].fields;
        let values =
            ByField::from_fn(|field| asked[field].as_ref().map(|_| numbers[field as usize]));
        Witness {
            source: class(source),
            destination: class(destination),
            values,
        }
    }

    /// None when there is no work left to spend.
    fn spend(&mut self, steps: usize) -> Option<()> {
        let steps = u64::try_from(steps).unwrap_or(u64::MAX);
        self.left_for_rule = self.left_for_rule.checked_sub(steps)?;
        self.left = self.left.checked_sub(steps)?;
        Some(())
    }
}

/// How a search ended.
enum Found {
    /// These choices fit no rival.
    Gap(Picks),
    /// All choices fit one of these.
    Covered(Vec<usize>),
}

/// The choices that leave the fewest rivals one after the other, if they leave none in the end.
fn greedy(rivals: &Bits, choices: &[(usize, Vec<Choice>)]) -> Option<Picks> {
    let mut left = rivals.clone();
    let mut picks = [0; DIMENSIONS];
    for (dimension, choices) in choices {
        let leaving = choices.iter().map(|(set, what)| (left.and(set), *what));
        let (best, what) = leaving.min_by_key(|(set, _)| set.count())?;
        picks[*dimension] = what;
        left = best;
    }
    left.is_empty().then_some(picks)
}

/// Few rules of which each set has one, ascending.
fn cover(mut sets: Vec<(Bits, Picks)>) -> Vec<usize> {
    let mut cover = Vec::new();
    while let Some((first, _)) = sets.first() {
        let hits = |rule: usize| sets.iter().filter(|(set, _)| set.contains(rule)).count();
        // Of equal ones the earliest.
        let Some(best) = first
            .iter()
            .max_by_key(|rule| (hits(*rule), usize::MAX - rule))
        else {
            break;
        };
        sets.retain(|(set, _)| !set.contains(best));
        cover.push(best);
    }
    cover.sort_unstable();
    cover
}

/// The number of rules is limited to what fits.
fn rule_ix(at: usize) -> RuleIx {
    RuleIx(u16::try_from(at).unwrap_or(u16::MAX))
}
