//! Why a query gets the level it gets, as values; rendering is for others.
//!
//! Built on the interpreter's own judge, so that an explanation cannot differ from the answer that
//! it explains. It goes on behind the rule that decides: that a later one would hold too is what a
//! reader wants to know who expected that one.
//!
//! ```text
//! rule in line 12   the source is in none of its groups
//! rule in line 20   holds: level `bulk`
//! rule in line 31   would hold too
//! ```

use std::fmt;

use crate::facts::PortFacts;
use crate::matching::interpret::{Chosen, Judge};
use crate::model::criterion::{Criterion, Query};
use crate::model::{GroupIx, Policy, RuleIx};
use crate::partitions::Partitions;

/// The way to a level.
/// As long as there are rules; made for one query at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The rule that holds first, and its level; what [`crate::interpret()`] says.
    pub chosen: Chosen,
    /// Line of the rule from 1; none for the default level.
    /// Of a line of `qos-ulps` that line.
    pub line: Option<u32>,
    /// Rules before the chosen one, all of them when none is chosen, and why each fails.
    pub missed: Vec<Missed>,
    /// Rules behind the chosen one that would hold too.
    /// Ascending. Empty where the default level is given.
    pub also: Vec<RuleIx>,
    /// Groups that the source is in.
    /// All groups of the policy, not only those that rules name.
    pub source_groups: Vec<GroupIx>,
    /// Groups that the destination is in.
    pub destination_groups: Vec<GroupIx>,
}

/// A rule that does not hold.
/// Its `Display` is half a sentence, to be put behind the rule's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missed {
    /// The rule that does not hold.
    pub rule: RuleIx,
    /// Its line from 1.
    pub line: u32,
    /// The first of its criteria that fails.
    pub criterion: Criterion,
    /// Why that criterion fails.
    pub reason: Reason,
}

/// Why a criterion fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The request does not name the field.
    Absent,
    /// The port is in none of the rule's groups.
    NotInGroups,
    /// The request names this value, which is not among the rule's.
    /// As requested, with the membership bit of a P_Key.
    Other(u64),
}

/// Goes through all rules.
///
/// Shape: as for [`crate::matching::interpret::interpret`], whose answer `chosen` is.
/// Cost: O(rules x groups x ports) at worst: names are looked for among all ports.
pub fn explain(
    policy: &Policy,
    ports: &[PortFacts],
    partitions: &Partitions,
    query: &Query,
) -> Explanation {
    // The interpreter's own, so that both always agree.
    let judge = Judge {
        policy,
        ports,
        partitions,
    };
    let mut explanation = Explanation {
        chosen: Chosen {
            rule: None,
            level: policy.default_level,
        },
        // Stays so for the default level, which no line of a rule gives.
        line: None,
        missed: Vec::new(),
        also: Vec::new(),
        source_groups: groups_of(&judge, query.source),
        destination_groups: groups_of(&judge, query.destination),
    };
    for (at, rule) in (0..).map(RuleIx).zip(&policy.rules) {
        let line = rule.span.start.line;
        match (judge.first_failure(rule, query), explanation.chosen.rule) {
            (None, None) => {
                explanation.chosen.rule = Some(at);
                explanation.chosen.level = rule.level.value;
                explanation.line = Some(line);
            }
            (None, Some(_)) => explanation.also.push(at),
            (Some(criterion), None) => explanation.missed.push(Missed {
                rule: at,
                line,
                criterion,
                reason: judge.reason(criterion, query),
            }),
            // A rule behind the decision that does not hold says nothing.
            (Some(_), Some(_)) => {}
        }
    }
    explanation
}

/// Ascending. Members are looked up one by one, which is slow and shares nothing with the compiler.
fn groups_of(judge: &Judge<'_>, port: usize) -> Vec<GroupIx> {
    let all = (0..).map(GroupIx).zip(&judge.policy.groups);
    all.map(|(at, _)| at)
        .filter(|at| judge.is_in(port, *at))
        .collect()
}

impl Judge<'_> {
    /// Why a criterion that failed did: the request does not name it, or names something else.
    fn reason(&self, criterion: Criterion, query: &Query) -> Reason {
        let required = self.policy.semantics.endpoint_mask_required;
        let named = match criterion {
            Criterion::Source if required && !query.source_named => None,
            Criterion::Destination if required && !query.destination_named => None,
            // The end counts although the request may not name it: its port is in no group.
            Criterion::Source | Criterion::Destination => return Reason::NotInGroups,
            Criterion::Field(field) => field.asked(query),
        };
        named.map_or(Reason::Absent, Reason::Other)
    }
}

impl fmt::Display for Missed {
    /// Why the rule does not hold.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let criterion = self.criterion;
        match self.reason {
            Reason::Absent => write!(f, "the request names no {criterion}"),
            Reason::NotInGroups => write!(f, "the {criterion} is in none of its groups"),
            Reason::Other(value) => write!(f, "{criterion} 0x{value:x} is not among its values"),
        }
    }
}
