//! What the policy that was read changes, for requests of every kind: the comparison is the
//! compiler's ([`PolicyChange`]).
//!
//! Pairs of hosts are compared by one kind of request ([`sa_compiler::snapshot_change`]); a rule
//! for a service or a QoS class changes nothing of that, so policies are compared as well.

use policy::Policy;
use policy::diff::Transition;
use sa_compiler::policy_change::{Ground, PolicyChange, is_small, level_in_words};
use sa_compiler::state::FabricState;

use crate::server::operators::control::{DryRunReport, LevelTransition, PolicyReport};

/// Sentences, and changes of level, that are told.
const LISTED: usize = 100;

/// Writes it into the report, or why it is not known.
pub(super) fn tell(
    report: &mut DryRunReport,
    before: Option<&FabricState>,
    after: Option<&FabricState>,
) {
    let (Some(before), Some(after)) = (before, after) else {
        let why =
            "the policies: one of the two snapshots was compiled elsewhere or by an earlier run";
        report.not_compared.push(why.to_owned());
        return;
    };
    let (old, new) = (in_force(before), in_force(after));
    if old == new {
        return;
    }
    let mut told = PolicyReport {
        rules_before: old.map(|policy| policy.rules.len()),
        rules: new.map(|policy| policy.rules.len()),
        changes: Vec::new(),
        pairs_changed: None,
        complete: None,
        transitions: Vec::new(),
    };
    if let (Some(old), Some(new)) = (old, new) {
        match compared(old, new, after) {
            Ok(change) => told.fill(&change),
            Err(why) => report.not_compared.push(why),
        }
    }
    report.policy = Some(told);
}

/// Without QoS none is.
fn in_force(parts: &FabricState) -> Option<&Policy> {
    parts.policy.as_ref().filter(|_| parts.options.qos)
}

/// Errors: why not, in a sentence.
fn compared<'a>(
    old: &'a Policy,
    new: &'a Policy,
    fabric: &'a FabricState,
) -> Result<PolicyChange<'a>, String> {
    if !is_small(old, new, fabric.facts.len()) {
        return Err(
            "the policies: there are too many groups for it here; sapphire policy check --diff compares them"
                .to_owned(),
        );
    }
    let change = PolicyChange::between(old, new, Some(Ground::from(fabric)));
    // The one before may name what the fabric has not any more.
    change.map_err(|error| format!("the policies: {}", error.message()))
}

impl PolicyReport {
    fn fill(&mut self, change: &PolicyChange<'_>) {
        let of = |words: &Option<String>| words.clone().unwrap_or_else(|| "nothing".to_owned());
        let levels = change.levels.iter().map(|level| {
            let (old, new) = (of(&level.old), of(&level.new));
            format!("level {} {}: {old} -> {new}", level.name, level.fate.word())
        });
        let groups = change.groups.iter().map(|group| {
            let (come, go) = (group.gained.len(), group.lost.len());
            format!(
                "group {} {}: {come} ports come, {go} go",
                group.name,
                group.fate.word()
            )
        });
        self.changes = levels.chain(groups).take(LISTED).collect();
        if let Some(answers) = &change.answers {
            self.pairs_changed = Some(answers.changed);
            self.complete = Some(answers.complete);
            let transitions = answers.transitions.iter().take(LISTED);
            self.transitions = transitions.map(|it| transition(change, it)).collect();
        }
    }
}

fn transition(change: &PolicyChange<'_>, it: &Transition) -> LevelTransition {
    let query = &it.example.query;
    LevelTransition {
        pairs: it.pairs,
        old: level_in_words(change.old, it.old, it.labels.0),
        new: level_in_words(change.new, it.new, it.labels.1),
        source: change.name(query.source),
        destination: change.name(query.destination),
        asked: change.asked(query),
    }
}
