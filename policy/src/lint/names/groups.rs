//! Groups and the ports in them.
//!
//! Overlaps are counted by classes of ports: a class in groups A and B adds its ports to the pair,
//! so no port is compared with another.
//!
//! ```text
//! group rack1 {1,2,3}, group storage {3,4}      rules: source rack1 -> a, source storage -> b
//! finding: share 1 port, e.g. h3/P1; the first rule in the file counts for it
//! ```
//!
//! An overlap is no fault. It is told because the order of rules decides for the ports in it, and
//! whoever moves a rule should know that it matters.

use std::collections::{BTreeMap, BTreeSet};

use crate::lint::finding::{Finding, LintId};
use crate::lint::{Analysis, Fabric};
use crate::model::{Group, LevelIx, Policy, index};

/// Groups without any selector; with a fabric those without members are told as well.
pub(in crate::lint) fn without_members(policy: &Policy) -> Vec<Finding> {
    let groups = policy
        .groups
        .iter()
        .filter(|group| group.selectors.is_empty());
    let note = |group: &Group| {
        let sentence = format!("group '{}' names no ports", group.name.value);
        Finding::new(
            LintId::GROUP,
            group.name.span,
            sentence,
            "add port-guid, port-name, partition or node-type, or remove the group",
        )
    };
    groups.map(note).collect()
}

/// Pairs of groups that share ports, where rules for them give different levels.
/// Only where it matters: groups that share ports and lead to one level are fine.
pub(in crate::lint) fn overlaps(analysis: &Analysis<'_>, fabric: &Fabric<'_>) -> Vec<Finding> {
    let policy = analysis.policy;
    let given = Given::new(policy);
    let mut shared: Vec<_> = shared(analysis)
        .into_iter()
        .filter(|((one, other), _)| given.differ(*one, *other))
        .collect();
    // The largest first.
    // The count from above, so that the sort is ascending in all parts.
    shared.sort_by_key(|(pair, (count, _))| (usize::MAX - count, *pair));
    let note = |((one, other), (count, port)): ((usize, usize), (usize, usize))| {
        let (one, other) = (&policy.groups[one], &policy.groups[other]);
        let ports = if count == 1 { "port" } else { "ports" };
        let sentence = format!(
            "groups '{}' and '{}' share {count} {ports}, e.g. {}; rules for them give different \
             levels, and the first in the file counts",
            one.name.value,
            other.name.value,
            fabric.port_name(port)
        );
        let remedy = "make sure that the order of the rules is the intended one";
        let finding = Finding::new(LintId::OVERLAP, other.name.span, sentence, remedy);
        finding.and(one.name.span, "the other group")
    };
    shared.into_iter().map(note).collect()
}

/// Pairs of groups with ports in common: how many, and one of them.
/// Cost: for each class the square of its groups.
fn shared(analysis: &Analysis<'_>) -> BTreeMap<(usize, usize), (usize, usize)> {
    let mut shared = BTreeMap::new();
    for class in 0..analysis.classes.count() {
        let ports = analysis.classes.ports(class);
        let Some(first) = ports.first() else { continue };
        let held = analysis.classes.groups(class);
        for (at, one) in held.iter().enumerate() {
            for other in &held[at + 1..] {
                let entry = shared
                    .entry((index(*one), index(*other)))
                    .or_insert((0, *first));
                entry.0 += ports.len();
            }
        }
    }
    shared
}

/// Levels that rules give, by end and by the group they want there.
/// Sources apart from destinations: a group as source and another as destination never compete.
struct Given([Vec<BTreeSet<LevelIx>>; 2]);

impl Given {
    /// Goes over all rules once.
    fn new(policy: &Policy) -> Self {
        let mut given = [(); 2].map(|()| vec![BTreeSet::new(); policy.groups.len()]);
        for rule in &policy.rules {
            for (groups, of_end) in [&rule.source, &rule.destination]
                .into_iter()
                .zip(&mut given)
            {
                for group in groups {
                    of_end[index(group.value.0)].insert(rule.level.value);
                }
            }
        }
        Self(given)
    }

    /// True when rules want the two at the same end and give different levels.
    fn differ(&self, one: usize, other: usize) -> bool {
        self.0.iter().any(|of_end| {
            let (one, other) = (&of_end[one], &of_end[other]);
            // Two groups with one level each, the same, cannot differ.
            one.iter().any(|level| other.iter().any(|it| it != level))
        })
    }
}
