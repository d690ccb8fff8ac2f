//! Rules and levels that nothing gets to.
//!
//! A rule that nothing gets to is a mistake in most policies, and the commonest one: rules are tried in
//! order, and an earlier, wider one took its requests. What is found is exact ([`shadow`]): a rule is called
//! dead only if no request whatever gets to it.
//!
//! ```text
//! line 12  service-id 1-100          -> bulk
//! line 20  service-id 50, source g   -> fast     dead: line 12 holds wherever this one does
//! ```
//!
//! Which advice is given depends on what the rules before give: with the same level the dead rule
//! is superfluous, with another one somebody gets a level that was not meant for them.

pub(in crate::lint) mod fields;
pub(in crate::lint) mod shadow;
pub(in crate::lint) mod values;

use std::fmt::Write;

use sa_text::{Severity, Spanned};

use crate::lint::Analysis;
use crate::lint::finding::{Finding, LintId};
use crate::lint::rules::shadow::{Hopeless, Life};
use crate::model::criterion::Field;
use crate::model::{GroupIx, LevelIx, LevelKey, Origin, Policy, Rule, RuleIx};
use crate::partitions::Membership;

/// Rules that no request gets to.
/// One finding for each, at the rule, with the rules that hold before it.
pub(in crate::lint) fn dead(analysis: &Analysis<'_>) -> Vec<Finding> {
    let policy = analysis.policy;
    let rules = policy.rules.iter().zip(&analysis.lives).enumerate();
    let mut found = Vec::new();
    for (at, (rule, life)) in rules {
        match life {
            Life::Dead(by) => {
                let everywhere = matches!(analysis.anywhere.get(at), Some(Life::Dead(_)));
                found.push(shadowed(policy, rule, by, everywhere));
            }
            Life::Never(why) => found.push(hopeless(rule, *why)),
            Life::Alive(_) | Life::Undecided => {}
        }
    }
    found.extend(undecided(analysis));
    found
}

/// A rule that earlier ones leave nothing to. Shape: `everywhere` where that holds in any fabric.
/// Shape: `by` ascending; the sentence names a few, the related places as many.
fn shadowed(policy: &Policy, rule: &Rule, by: &[RuleIx], everywhere: bool) -> Finding {
    let place = if everywhere { "" } else { "in this fabric " };
    // Then removing it changes nothing, which is the better advice.
    let same_level = by
        .iter()
        .all(|by| policy.rule(*by).level.value == rule.level.value);
    let sentence = match by {
        [one] if is_same(policy.rule(*one), rule) => {
            format!(
                "this rule asks for the same as the one on line {}",
                line(policy, *one)
            )
        }
        [one] => format!(
            "no request gets to this rule: {place}the one on line {} holds wherever this one does",
            line(policy, *one)
        ),
        several => format!(
            "no request gets to this rule: {place}those on lines {} together hold wherever this \
             one does",
            lines(policy, several)
        ),
    };
    let remedy = if same_level {
        "remove it: what stands before gives the same level"
    } else {
        "move it before the other, ask for less in the other, or remove it"
    };
    let finding = Finding::new(LintId::SHADOWED, rule.span, sentence, remedy);
    by.iter().take(SHOWN).fold(finding, |finding, by| {
        finding.and(policy.rule(*by).span, "holds before")
    })
}

/// Rules that a sentence names.
const SHOWN: usize = 8;

/// Where a rule begins.
/// Of the block's first word, from 1.
fn line(policy: &Policy, rule: RuleIx) -> u32 {
    policy.rule(rule).span.start.line
}

/// The first few lines, and how many more there are.
/// Cut after [`SHOWN`], with how many more there are.
fn lines(policy: &Policy, rules: &[RuleIx]) -> String {
    let shown = rules.iter().take(SHOWN);
    let words: Vec<_> = shown.map(|rule| line(policy, *rule).to_string()).collect();
    let mut text = words.join(", ");
    if let Some(more) = rules.len().checked_sub(SHOWN + 1) {
        let _ = write!(text, " and {} more", more + 1);
    }
    text
}

/// True when both ask for the same.
/// By what they ask, not by level: copies are the commonest slip.
fn is_same(one: &Rule, other: &Rule) -> bool {
    let groups = |groups: &[Spanned<GroupIx>]| {
        let mut places: Vec<_> = groups.iter().map(|group| group.value).collect();
        places.sort_unstable();
        places.dedup();
        places
    };
    groups(&one.source) == groups(&other.source)
        && groups(&one.destination) == groups(&other.destination)
        && Field::ALL
            .iter()
            .all(|field| one.wanted(*field) == other.wanted(*field))
}

/// A rule that nothing fits whatever stands before it.
/// Never a matter of other rules, so moving it is no advice.
fn hopeless(rule: &Rule, why: Hopeless) -> Finding {
    let of_no_port = |end| (format!("no port is in its {end} groups"), FILL.to_owned());
    let (sentence, remedy) = match why {
        Hopeless::Source => of_no_port("source"),
        Hopeless::Destination => of_no_port("destination"),
        Hopeless::Field(field) => {
            let (plural, last) = (field.name().to_owned() + "es", field.last());
            (
                format!("all its {plural} are over {last}"),
                format!("choose {plural} from 0 to {last}"),
            )
        }
    };
    let sentence = format!("no request can match this rule: {sentence}");
    Finding::new(LintId::NEVER_MATCHES, rule.span, sentence, remedy)
}

/// Advice for groups without ports.
const FILL: &str = "correct the members of the groups, or remove the rule";

/// Says how many rules were left open, at the first of them.
/// Info: nothing is known to be wrong.
fn undecided(analysis: &Analysis<'_>) -> Option<Finding> {
    let rules = analysis.policy.rules.iter().zip(&analysis.lives);
    let mut open = rules.filter(|(_, life)| **life == Life::Undecided);
    let (first, _) = open.next()?;
    let count = 1 + open.count();
    let sentence = format!(
        "{count} rules, this one the first, have too many combinations before them to tell whether \
         a request gets to them"
    );
    let remedy = "merge rules whose criteria differ in one thing alone";
    Some(Finding::new(LintId::SHADOWED, first.span, sentence, remedy).with(Severity::Info))
}

/// Levels that are written and that no request gets.
pub(in crate::lint) fn unreachable_levels(analysis: &Analysis<'_>) -> Vec<Finding> {
    let policy = analysis.policy;
    let mut referred = vec![None; policy.levels.len()];
    for (rule, life) in policy.rules.iter().zip(&analysis.lives) {
        // None: no rule names it; false: all that do are dead.
        let of_level = &mut referred[usize::from(rule.level.value.0)];
        *of_level = Some(of_level.unwrap_or(false) || life.may_be_alive());
    }
    let mut found = Vec::new();
    for (at, level) in policy.levels.iter().enumerate() {
        let is_default = usize::from(policy.default_level.0) == at;
        // Made levels come with their rules, and the default needs none.
        if level.origin != Origin::Written || is_default || has_double(policy, at) {
            continue;
        }
        let (sentence, remedy) = match referred[at] {
            Some(true) => continue,
            Some(false) => (
                format!(
                    "no request gets level '{}': none gets to its rules",
                    level.title()
                ),
                "mend or move the rules that give it, or remove it",
            ),
            None => (
                format!("no rule gives level '{}'", level.title()),
                "add a rule for it, or remove it",
            ),
        };
        found.push(Finding::new(
            LintId::LEVEL_UNREACHABLE,
            level.key.span,
            sentence,
            remedy,
        ));
    }
    found
}

/// True when rules mean an earlier level by this one's name or number, which is told already.
/// By name without regard to case, or by `sn`.
fn has_double(policy: &Policy, at: usize) -> bool {
    let own = &policy.levels[at].key.value;
    let same = |other: &LevelKey| match (own, other) {
        (LevelKey::Sn { sn, .. }, LevelKey::Sn { sn: other, .. }) => sn == other,
        // Positions never meet: each level has its own.
        _ => own
            .name()
            .zip(other.name())
            .is_some_and(|(own, other)| own.eq_ignore_ascii_case(other)),
    };
    policy.levels[..at]
        .iter()
        .any(|level| same(&level.key.value))
}

/// Rules whose P_Keys the ports they are for do not share.
/// A path needs a partition that both ends share, one of them as a full member; a P_Key in the rule
/// that no such pair shares leads to no answer.
pub(in crate::lint) fn contradictions(analysis: &Analysis<'_>) -> Vec<Finding> {
    let Some(fabric) = &analysis.fabric else {
        return Vec::new();
    };
    let policy = analysis.policy;
    let partitions = fabric.view.partitions;
    let best = best_memberships(analysis);
    let mut found = Vec::new();
    for (rule, life) in policy.rules.iter().zip(&analysis.lives) {
        let (Some(bases), true) = (&rule.fields[Field::Pkey], life.may_be_alive()) else {
            continue;
        };
        // The widest membership that any port of the groups has: if that does not do, none does.
        let best_of = |groups: &[Spanned<GroupIx>], partition: usize| {
            let classes =
                (0..analysis.classes.count()).filter(|c| analysis.classes.fits(*c, groups));
            classes.filter_map(|class| best[class][partition]).max()
        };
        let is_shared = |partition: usize| {
            let ends = best_of(&rule.source, partition).zip(best_of(&rule.destination, partition));
            let limited = (Membership::Limited, Membership::Limited);
            ends.is_some_and(|ends| ends != limited)
        };
        if !partitions.find_bases(bases).into_iter().any(is_shared) {
            let sentence = "its source and destination share none of the P_Keys it asks for: \
                            requests that match it get no path";
            found.push(Finding::new(
                LintId::NEVER_MATCHES,
                bases.span,
                sentence,
                "correct the P_Keys, the groups, or the members of the partition",
            ));
        }
    }
    found
}

/// By class, then by partition.
/// None for a class without any member. Cost: O(ports x their partitions).
fn best_memberships(analysis: &Analysis<'_>) -> Vec<Vec<Option<Membership>>> {
    let Some(fabric) = &analysis.fabric else {
        return Vec::new();
    };
    let partitions = fabric.view.partitions;
    let mut best = vec![vec![None; partitions.list().len()]; analysis.classes.count()];
    for port in 0..fabric.view.ports.len() {
        let of_class = &mut best[analysis.classes.of_port(port)];
        for (partition, how) in partitions.held_by(port) {
            of_class[partition] = of_class[partition].max(Some(how));
        }
    }
    best
}

/// Levels that some request may get. Shape: ascending.
pub(in crate::lint) fn levels_in_use(analysis: &Analysis<'_>) -> Vec<LevelIx> {
    let policy = analysis.policy;
    let rules = policy.rules.iter().zip(&analysis.lives);
    let given = rules.filter(|(_, life)| life.may_be_alive());
    let mut levels: Vec<_> = given.map(|(rule, _)| rule.level.value).collect();
    levels.push(policy.default_level);
    levels.sort_unstable();
    levels.dedup();
    levels
}
