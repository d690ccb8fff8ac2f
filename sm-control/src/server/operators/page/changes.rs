//! What a policy would change, as the page shows it: the comparison is the compiler's
//! ([`PolicyChange`]), as in `sapphire policy check`.

use policy::Policy;
use policy::diff::{GroupChange, Transition};
use sa_compiler::policy_change::{Ground, PolicyChange, is_small, level_in_words};
use sa_compiler::state::FabricState;
use sa_fabric::display::first_few;
use sa_page::policy::{Change, Transition as Shown};

/// Changes of level that are shown.
const SHOWN: usize = 100;

/// In place of the policy in force. Errors: why it is not compared, in a sentence.
pub(super) fn of(parts: &FabricState, new: &Policy) -> Result<Change, String> {
    if !parts.options.qos {
        return Err("QoS is off, so no policy is in force: pairs were not compared.".to_owned());
    }
    let old = parts.policy.as_ref().ok_or(
        "There is no policy in force to compare with: pairs get the SL of their partition now.",
    )?;
    if !is_small(old, new, parts.facts.len()) {
        return Err(
            "There are too many groups for a comparison here; sapphire policy check --diff makes it."
                .to_owned(),
        );
    }
    let change = PolicyChange::between(old, new, Some(Ground::from(parts)));
    Ok(shown(&change.map_err(|error| error.message())?))
}

fn shown(change: &PolicyChange<'_>) -> Change {
    let levels = change.levels.iter().map(|level| {
        let of = |words: &Option<String>| words.clone().unwrap_or_else(|| "nothing".to_owned());
        let how = format!("{} → {}", of(&level.old), of(&level.new));
        ("level", level.name.clone(), level.fate.word(), how)
    });
    let groups = change.groups.iter().map(|group| {
        let how = members(change, group);
        ("group", group.name.clone(), group.fate.word(), how)
    });
    let named = levels.chain(groups).collect();
    let rules = (change.old.rules.len(), change.new.rules.len());
    let Some(answers) = &change.answers else {
        return Change {
            named,
            rules,
            ..Change::default()
        };
    };
    let transitions = answers.transitions.iter().take(SHOWN);
    Change {
        named,
        rules,
        pairs: answers.pairs,
        changed: answers.changed,
        requests: answers.requests,
        complete: answers.complete,
        transitions: transitions.map(|one| transition(change, one)).collect(),
        more_transitions: answers.transitions.len().saturating_sub(SHOWN),
    }
}

fn members(change: &PolicyChange<'_>, group: &GroupChange) -> String {
    let side = |word: &str, ports: &[usize]| match ports {
        [] => None,
        ports => Some(format!(
            "{} {word}: {}",
            ports.len(),
            first_few(&change.names(ports))
        )),
    };
    let sides = [side("come", &group.gained), side("go", &group.lost)];
    let sides: Vec<_> = sides.into_iter().flatten().collect();
    sides.join("; ")
}

fn transition(change: &PolicyChange<'_>, one: &Transition) -> Shown {
    let (old, new) = (change.old, change.new);
    let example = &one.example;
    let query = &example.query;
    Shown {
        pairs: one.pairs,
        old: level_in_words(old, one.old, one.labels.0),
        new: level_in_words(new, one.new, one.labels.1),
        example: (change.name(query.source), change.name(query.destination)),
        asked: change.asked(query),
        old_line: example.old.map(|rule| old.rule(rule).span.start.line),
        new_line: example.new.map(|rule| new.rule(rule).span.start.line),
    }
}
