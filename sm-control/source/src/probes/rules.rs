//! Requests that single rules of a policy decide.
//!
//! Say that rule 3 is for paths from group S to group D with service ids 0x10 to 0x20. Then a
//! request is sought from a member of S to a member of D with service id 0x10 that rules 1 and 2 let
//! pass. First and last members are tried first, because groups are often written as ranges and
//! differ at their ends, then members by chance. A rule that others cover wholly finds none, and
//! needs none.

use std::collections::HashMap;

use policy::model::criterion::{ByField, Field};
use policy::model::{GroupIx, Rule};
use policy::{GroupResolver, Policy, Query, Ranges};
use sa_compiler::state::FabricState;

use super::{Dice, FULL, MOST, Probe};

/// Pairs of ports for each rule: its first, its last, two others. Units: pairs.
const PAIRS: usize = 4;

/// Pairs looked at for one that no rule before takes. Units: pairs.
const TRIES: usize = 24;

/// Requests for each rule of a policy, in the order of the rules.
///
/// Cost: each rule tries [`TRIES`] pairs, and each pair may be compared with all rules before it.
pub(super) fn by_rules_of(parts: &FabricState, policy: &Policy, dice: &mut Dice) -> Vec<Probe> {
    let resolver = GroupResolver::new(&parts.facts, &parts.partitions);
    // Each group once, as rules share them and a group may hold every port. One that does not fit
    // the fabric has no members here.
    let mut members: HashMap<GroupIx, Vec<usize>> = HashMap::new();
    for rule in &policy.rules {
        for group in rule.source.iter().chain(&rule.destination) {
            members.entry(group.value).or_insert_with(|| {
                let found = resolver.members(policy.group(group.value));
                found.unwrap_or_default()
            });
        }
    }
    let ground = SetupContext {
        policy,
        members,
        ports: parts.facts.len(),
    };
    // With very many rules each is looked at, but not whether those before it leave it anything.
    let judges = policy.rules.len() <= MOST / 2;
    let rules = policy.rules.iter().enumerate();
    let queries = rules.flat_map(|(place, rule)| ground.queries(place, rule, judges, dice));
    let probes = queries.filter_map(|query| Probe::of(&parts.subnet, &query));
    probes.collect()
}

/// A policy in a fabric: its rules, and the ports that its groups hold there.
struct SetupContext<'a> {
    /// Whose rules are asked for.
    policy: &'a Policy,
    /// Of the groups that rules name. Shape: ascending.
    members: HashMap<GroupIx, Vec<usize>>,
    /// How many there are: a rule without groups on one side is for all of them.
    ports: usize,
}

impl SetupContext<'_> {
    /// Requests that this rule decides, as far as some were found: [`PAIRS`] at most, after
    /// [`TRIES`] pairs at most. None for a rule whose groups are empty here. `judges`: whether
    /// rules before it are asked for what they take.
    fn queries(&self, place: usize, rule: &Rule, judges: bool, dice: &mut Dice) -> Vec<Query> {
        let (sources, destinations) = (self.ends(&rule.source), self.ends(&rule.destination));
        let (Some(sources), Some(destinations)) = (sources, destinations) else {
            return Vec::new();
        };
        let mut found: Vec<Query> = Vec::new();
        for nth in 0..TRIES {
            // The first and the last of each, then any.
            let end = |dice: &mut Dice, ends: &Ends| match nth {
                0 => ends.get(0),
                1 => ends.get(ends.count().saturating_sub(1)),
                _ => ends.get(dice.below(ends.count())),
            };
            let pair = end(dice, &sources).zip(end(dice, &destinations));
            // A path of a port to itself is loopback: it has no packet life time and its SL hardly
            // matters.
            let Some((source, destination)) = pair.filter(|(one, other)| one != other) else {
                continue;
            };
            let query = fields(rule, source, destination);
            let is_taken = judges && self.is_taken_before(place, &query);
            if !is_taken && !found.contains(&query) {
                found.push(query);
            }
            if found.len() == PAIRS {
                break;
            }
        }
        found
    }

    /// The ports that a rule's groups hold, of a rule without groups all; none where there are no
    /// such ports.
    fn ends(&self, groups: &[sa_text::Spanned<GroupIx>]) -> Option<Ends> {
        if groups.is_empty() {
            return Some(Ends::All(self.ports)).filter(|_| self.ports > 0);
        }
        let groups = groups
            .iter()
            .filter_map(|group| self.members.get(&group.value));
        let mut all: Vec<usize> = groups.flatten().copied().collect();
        all.sort_unstable();
        all.dedup();
        (!all.is_empty()).then_some(Ends::These(all))
    }

    /// Whether a rule before this place takes the request: then this rule does not decide it.
    /// Linear in the rules before.
    fn is_taken_before(&self, place: usize, query: &Query) -> bool {
        let rules = self.policy.rules.iter().take(place);
        let mut rules = rules.filter(|rule| fits(rule, query));
        rules.any(|rule| {
            self.is_in(&rule.source, query.source)
                && self.is_in(&rule.destination, query.destination)
        })
    }

    /// No groups hold everybody.
    fn is_in(&self, groups: &[sa_text::Spanned<GroupIx>], port: usize) -> bool {
        let mut members = groups
            .iter()
            .filter_map(|group| self.members.get(&group.value));
        groups.is_empty() || members.any(|members| members.binary_search(&port).is_ok())
    }
}

/// The ports that a rule can be about.
/// Ports on one side of a rule.
enum Ends {
    /// Every port, without a list of them.
    All(usize),
    These(Vec<usize>),
}

impl Ends {
    fn count(&self) -> usize {
        match self {
            Self::All(count) => *count,
            Self::These(ends) => ends.len(),
        }
    }

    fn get(&self, place: usize) -> Option<usize> {
        match self {
            Self::All(count) => (place < *count).then_some(place),
            Self::These(ends) => ends.get(place).copied(),
        }
    }
}

/// What a rule asks for, each at its least value.
///
/// Both ends count as named, as a request by LIDs names them.
fn fields(rule: &Rule, source: usize, destination: usize) -> Query {
    // Larger numbers than a request can name are not asked for.
    let least = |field: Field| {
        let (low, _) = rule.wanted(field)?.pairs().first()?;
        (*low <= field.last()).then_some(*low)
    };
    let query = Query {
        source,
        destination,
        source_named: true,
        destination_named: true,
        ..Query::default()
    };
    let query = query.with_numbers(&ByField::from_fn(least));
    // Rules name keys without the membership bit; a request returns the bit that it asked with, and
    // most clients ask with it set.
    let pkey = query.pkey.map(|base| base | FULL);
    Query { pkey, ..query }
}

/// Whether a rule holds for the fields of a request.
///
/// A rule that wants a field which the request does not name does not hold, whatever the number.
fn fits(rule: &Rule, query: &Query) -> bool {
    Field::ALL.into_iter().all(|field| {
        let is_asked = |ranges: &Ranges| {
            let number = field.matched(query);
            number.is_some_and(|number| ranges.contains(number))
        };
        rule.wanted(field).is_none_or(is_asked)
    })
}
