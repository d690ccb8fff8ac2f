//! Values that no rule of either policy tells apart.
//!
//! The same idea as the compiler's classes, on its own code and for two policies at once: a kind is
//! a set of rules of both.
//!
//! ```text
//! old: service id 1-9 -> a          kinds: not named (and all other numbers), 1 (to 4), 5 (to 9),
//! new: service id 5-20 -> a                10 (to 20): four requests stand for 2^64
//! ```

use std::collections::HashMap;

use sa_text::Spanned;

use crate::error::Error;
use crate::facts::PortFacts;
use crate::matching::groups::GroupResolver;
use crate::model::criterion::Field;
use crate::model::ranges::Ranges;
use crate::model::{GroupIx, Policy, Rule};
use crate::partitions::Partitions;

/// A set of rules. Shape: bit n % 64 of word n / 64 for rule n.
pub(super) type RuleSet = Vec<u64>;

/// The rules of the old and of the new policy that a value satisfies, those that do not ask
/// included.
/// Compared and hashed as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Satisfied {
    pub(super) old: RuleSet,
    /// By the new policy's, which are other rules with other numbers.
    pub(super) new: RuleSet,
}

impl Satisfied {
    /// The rules that both satisfy: a request gets what all its values leave.
    /// A request satisfies a rule if its ends and all its numbers do, hence the intersection.
    pub(super) fn and(&self, other: &Self) -> Self {
        let both = |one: &RuleSet, other: &RuleSet| {
            let words = one.iter().zip(other);
            words.map(|(a, b)| a & b).collect()
        };
        Self {
            old: both(&self.old, &other.old),
            new: both(&self.new, &other.new),
        }
    }
}

/// The rules of a policy for which this holds.
fn rule_set(policy: &Policy, holds: impl Fn(&Rule) -> bool) -> RuleSet {
    let mut set = vec![0; policy.rules.len().div_ceil(64)];
    for (at, rule) in policy.rules.iter().enumerate() {
        set[at / 64] |= u64::from(holds(rule)) << (at % 64);
    }
    set
}

/// Numbers of one field that satisfy the same rules.
/// With one number to show people.
#[derive(Debug, Clone)]
pub(super) struct ValueKind {
    /// One of them, the least but for 0; none for requests without the field.
    pub(super) value: Option<u64>,
    /// The same for every number of the kind.
    pub(super) rules: Satisfied,
}

/// All kinds of one field. Shape: first that of requests without it.
/// Cost: O(ranges x rules), of both policies.
pub(super) fn value_kinds(policies: (&Policy, &Policy), field: Field) -> Vec<ValueKind> {
    let rules = || policies.0.rules.iter().chain(&policies.1.rules);
    let pairs = rules()
        .filter_map(|rule| rule.wanted(field))
        .flat_map(Ranges::pairs);
    let mut turns: Vec<u64> = pairs
        .flat_map(|(low, high)| [Some(*low), high.checked_add(1)])
        .flatten()
        .filter(|turn| *turn <= field.last())
        .collect();
    // A turn is a number from which on a range begins to hold, or has ceased to: between two turns all are
    // alike.
    // 0 last: as an example any other number says more.
    turns.sort_unstable();
    turns.dedup();
    turns.push(0);
    let mut kinds: HashMap<Satisfied, usize> = HashMap::new();
    let mut list = Vec::new();
    for value in std::iter::once(None).chain(turns.into_iter().map(Some)) {
        let holds = |rule: &Rule| match (rule.wanted(field), value) {
            (None, _) => true,
            (Some(ranges), Some(value)) => ranges.contains(value),
            (Some(_), None) => false,
        };
        let rules = Satisfied {
            old: rule_set(policies.0, holds),
            new: rule_set(policies.1, holds),
        };
        // Numbered in the order in which they turn up, so that results repeat.
        let next = kinds.len();
        if *kinds.entry(rules.clone()).or_insert(next) == next {
            list.push(ValueKind { value, rules });
        }
    }
    list
}

/// Ports that satisfy the same rules as one end of a path.
#[derive(Debug, Clone)]
pub(super) struct PortKinds {
    /// By port: which kind it is of.
    pub(super) of: Vec<usize>,
    /// By kind: the rules whose groups at this end hold ports of the kind.
    pub(super) rules: Vec<Satisfied>,
}

/// Kinds of ports as sources or destinations. Errors: those of [`GroupResolver::members`].
/// `groups_of` gives the groups that a rule wants at the end in question.
pub(super) fn port_kinds(
    policies: (&Policy, &Policy),
    ports: &[PortFacts],
    partitions: &Partitions,
    groups_of: impl Fn(&Rule) -> &[Spanned<GroupIx>],
) -> Result<PortKinds, Error> {
    let resolver = GroupResolver::new(ports, partitions);
    let old = membership(policies.0, &resolver, ports.len())?;
    let new = membership(policies.1, &resolver, ports.len())?;
    // Ports in the same groups are looked at once, by reference to their first.
    let mut by_groups: HashMap<(&[bool], &[bool]), usize> = HashMap::new();
    let mut by_rules: HashMap<Satisfied, usize> = HashMap::new();
    let mut kinds = PortKinds {
        of: Vec::with_capacity(ports.len()),
        rules: Vec::new(),
    };
    let holds = |rule: &Rule, groups: &[bool]| {
        let wanted = groups_of(rule);
        wanted.is_empty() || wanted.iter().any(|group| groups[group.value.0 as usize])
    };
    for (old_groups, new_groups) in old.iter().zip(&new) {
        let kind = *by_groups
            .entry((old_groups, new_groups))
            .or_insert_with(|| {
                let rules = Satisfied {
                    old: rule_set(policies.0, |rule| holds(rule, old_groups)),
                    new: rule_set(policies.1, |rule| holds(rule, new_groups)),
                };
                let next = by_rules.len();
                *by_rules.entry(rules.clone()).or_insert_with(|| {
                    kinds.rules.push(rules);
                    next
                })
            });
        kinds.of.push(kind);
    }
    Ok(kinds)
}

/// By port, then by group of the policy.
/// A byte for each port and group: for one comparison that will do.
fn membership(
    policy: &Policy,
    resolver: &GroupResolver<'_>,
    ports: usize,
) -> Result<Vec<Vec<bool>>, Error> {
    let mut held = vec![vec![false; policy.groups.len()]; ports];
    for (at, group) in policy.groups.iter().enumerate() {
        for port in resolver.members(group)? {
            held[port][at] = true;
        }
    }
    Ok(held)
}
