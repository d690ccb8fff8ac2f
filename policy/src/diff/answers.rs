//! Which pairs of ports get another level for which requests.

use std::collections::{BTreeMap, HashMap};

use super::kinds::{PortKinds, RuleSet, Satisfied, ValueKind, port_kinds, value_kinds};
use super::offer_with;
use crate::error::Error;
use crate::facts::PortFacts;
use crate::model::criterion::{ByField, Field, Query};
use crate::model::{LevelIx, Policy, Rule, RuleIx};
use crate::partitions::Partitions;
use sa_snapshot::model::FlowLabels;

/// What changes for pairs of different ports, source and destination named by the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answers {
    /// Ordered pairs of different ports.
    pub pairs: u64,
    /// Those for which some request gets another level.
    pub changed: u64,
    /// Kinds of requests that were looked at: values that no rule of either policy tells apart
    /// count once.
    pub requests: usize,
    /// False when there are too many kinds of requests to go through all; then those without
    /// fields, those with one field, and what each rule asks for were looked at, or a part of these; the
    /// counts are then lower bounds.
    pub complete: bool,
    /// From which level to which. Shape: most pairs first.
    pub transitions: Vec<Transition>,
}

/// Pairs of ports that get one level instead of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transition {
    /// In the old policy.
    pub old: LevelIx,
    /// In the new policy.
    pub new: LevelIx,
    /// Flow labels in the old and in the new policy, those of rules that have their own included.
    pub labels: (FlowLabels, FlowLabels),
    /// Ordered pairs of ports to which it happens for some request.
    pub pairs: u64,
    /// A pair to which it happens, and a request that shows it.
    pub example: Example,
}

/// A request that gets another level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Example {
    /// The ports of the pair, and the numbers that the request names.
    pub query: Query,
    /// The old rule; none for the default level.
    pub old: Option<RuleIx>,
    /// The new rule; none for the default level.
    pub new: Option<RuleIx>,
}

/// Steps that a comparison may take; a second or so.
const MOST_STEPS: usize = 1 << 28;

/// Compares two policies in one fabric. Shape: `partitions` belongs to the same `ports`.
///
/// Errors: those of [`crate::GroupResolver::members`].
pub fn answers(
    old: &Policy,
    new: &Policy,
    ports: &[PortFacts],
    partitions: &Partitions,
) -> Result<Answers, Error> {
    let policies = (old, new);
    let sources = port_kinds(policies, ports, partitions, |rule| &rule.source)?;
    let destinations = port_kinds(policies, ports, partitions, |rule| &rule.destination)?;
    let pairs = PairKinds::new(&sources, &destinations);
    let fields = Fields::new(policies);
    // Work is counted in words of rule sets, which is what takes the time.
    let words = old.rules.len().div_ceil(64) + new.rules.len().div_ceil(64) + 1;
    let most = MOST_STEPS / words / pairs.counts.len().max(1);
    let (requests, complete) = match fields.product() {
        Some(all) if all <= most => (fields.all(), true),
        _ => (spread(fields.telling(policies), most), false),
    };
    let mut changes = Changes::new(policies);
    for ((source, destination), pair) in &pairs.counts {
        let ends = sources.rules[*source].and(&destinations.rules[*destination]);
        changes.look_at(pair, &ends, &requests);
    }
    let count = ports.len() as u64;
    Ok(Answers {
        pairs: count * count.saturating_sub(1),
        changed: changes.changed,
        requests: requests.len(),
        complete,
        transitions: changes.into_transitions(),
    })
}

/// So many of the requests, evenly spread, the first among them.
fn spread(requests: Vec<Request>, most: usize) -> Vec<Request> {
    let step = requests.len().div_ceil(most.max(1)).max(1);
    requests.into_iter().step_by(step).collect()
}

/// Pairs of ports by the kinds of their ends.
struct PairKinds {
    counts: BTreeMap<(usize, usize), PairKind>,
}

/// Pairs whose ends are of two kinds.
#[derive(Clone, Copy)]
struct PairKind {
    /// Ordered pairs of different ports.
    count: u64,
    /// A pair whose two ports differ: source and destination.
    example: (usize, usize),
}

impl PairKinds {
    /// Counts pairs without going over them: products of the numbers of ports, less the ports that would be
    /// paired with themselves.
    fn new(sources: &PortKinds, destinations: &PortKinds) -> Self {
        let mut both: HashMap<(usize, usize), u64> = HashMap::new();
        for kinds in sources.of.iter().zip(&destinations.of) {
            *both.entry((*kinds.0, *kinds.1)).or_default() += 1;
        }
        let (from, to) = (ports_by_kind(sources), ports_by_kind(destinations));
        let mut counts = BTreeMap::new();
        for (source, those) in from.iter().enumerate() {
            for (destination, others) in to.iter().enumerate() {
                let itself = both.get(&(source, destination)).copied().unwrap_or(0);
                let count = those.len() as u64 * others.len() as u64 - itself;
                if let Some(example) = different(those, others) {
                    counts.insert((source, destination), PairKind { count, example });
                }
            }
        }
        Self { counts }
    }
}

/// Shape: by kind, ports ascending.
fn ports_by_kind(kinds: &PortKinds) -> Vec<Vec<usize>> {
    let mut ports = vec![Vec::new(); kinds.rules.len()];
    for (port, kind) in kinds.of.iter().enumerate() {
        ports[*kind].push(port);
    }
    ports
}

/// The first two that differ.
fn different(those: &[usize], others: &[usize]) -> Option<(usize, usize)> {
    let mut pairs = those
        .iter()
        .take(2)
        .flat_map(|one| others.iter().take(2).map(|other| (*one, *other)));
    pairs.find(|(one, other)| one != other)
}

/// A kind of request beside its ends.
struct Request {
    query: Query,
    rules: Satisfied,
}

/// Kinds of values by field. Shape: those of a field that is not named first, never empty.
struct Fields(ByField<Vec<ValueKind>>);

/// A kind for each field.
type Kinds<'a> = ByField<&'a ValueKind>;

impl Fields {
    /// The kinds of numbers that either policy tells apart.
    fn new(policies: (&Policy, &Policy)) -> Self {
        Self(ByField::from_fn(|field| value_kinds(policies, field)))
    }

    /// How many combinations there are; none when they are countless.
    fn product(&self) -> Option<usize> {
        let mut kinds = self.0.iter();
        kinds.try_fold(1, |product: usize, kinds| product.checked_mul(kinds.len()))
    }

    /// All combinations. Shape: as many as [`Self::product`] says.
    fn all(&self) -> Vec<Request> {
        let mut all = vec![self.absent()];
        for field in Field::ALL {
            all = all
                .into_iter()
                .flat_map(|kinds| self.each(field, kinds))
                .collect();
        }
        all.iter().map(request).collect()
    }

    /// Combinations that differ in one field.
    fn each<'a>(&'a self, field: Field, kinds: Kinds<'a>) -> impl Iterator<Item = Kinds<'a>> {
        self.0[field].iter().map(move |kind| {
            let mut kinds = kinds;
            kinds[field] = kind;
            kinds
        })
    }

    /// Requests without fields, those with one, and what each rule asks for.
    fn telling(&self, (old, new): (&Policy, &Policy)) -> Vec<Request> {
        let mut requests = vec![request(&self.absent())];
        for field in Field::ALL {
            let named = self.each(field, self.absent()).skip(1);
            requests.extend(named.map(|kinds| request(&kinds)));
        }
        let rules = old.rules.iter().chain(&new.rules);
        requests.extend(rules.map(|rule| self.asked_by(rule)));
        requests
    }

    /// No field is named.
    fn absent(&self) -> Kinds<'_> {
        ByField::from_fn(|field| &self.0[field][0])
    }

    /// The request with the least value of each of the rule's criteria, and nothing else.
    fn asked_by(&self, rule: &Rule) -> Request {
        let pick = |field: Field| {
            let kinds = &self.0[field];
            let wanted = |kind: &&ValueKind| match (rule.wanted(field), kind.value) {
                (None, value) => value.is_none(),
                (Some(ranges), Some(value)) => ranges.contains(value),
                (Some(_), None) => false,
            };
            kinds.iter().find(wanted).unwrap_or(&kinds[0])
        };
        request(&ByField::from_fn(pick))
    }
}

/// A request that names one number of each kind, and the rules that its numbers satisfy in both policies.
fn request(kinds: &Kinds<'_>) -> Request {
    let mut query = Query {
        source_named: true,
        destination_named: true,
        ..Query::default()
    };
    let [first, others @ ..] = Field::ALL;
    first.ask(&mut query, kinds[first].value);
    let mut rules = kinds[first].rules.clone();
    for field in others {
        field.ask(&mut query, kinds[field].value);
        rules = rules.and(&kinds[field].rules);
    }
    Request { query, rules }
}

/// A level, and the flow labels of who gets it.
type Got = (LevelIx, FlowLabels);

/// What was found so far.
struct Changes<'a> {
    policies: (&'a Policy, &'a Policy),
    /// What each level gives but for flow labels, in words.
    offers: (Vec<String>, Vec<String>),
    /// Pairs, each once, however many of its requests change.
    changed: u64,
    transitions: BTreeMap<(Got, Got), Transition>,
}

impl<'a> Changes<'a> {
    /// Words of all levels are made once: they are compared for every kind of request.
    fn new(policies: (&'a Policy, &'a Policy)) -> Self {
        let offers = |policy: &Policy| {
            let levels = policy.levels.iter();
            levels
                .map(|level| offer_with(level, FlowLabels::None))
                .collect()
        };
        Self {
            policies,
            offers: (offers(policies.0), offers(policies.1)),
            changed: 0,
            transitions: BTreeMap::new(),
        }
    }

    /// All kinds of requests for the pairs of one kind. A pair counts once for each change of level, however
    /// many requests show it.
    fn look_at(&mut self, pair: &PairKind, ends: &Satisfied, requests: &[Request]) {
        let mut seen = Vec::new();
        for request in requests {
            let old = first_of_both(&ends.old, &request.rules.old);
            let new = first_of_both(&ends.new, &request.rules.new);
            let got = (got(self.policies.0, old), got(self.policies.1, new));
            if self.is_the_same(got) || seen.contains(&got) {
                continue;
            }
            seen.push(got);
            let found = Example {
                query: Query {
                    source: pair.example.0,
                    destination: pair.example.1,
                    ..request.query
                },
                old,
                new,
            };
            let transition = self.transitions.entry(got).or_insert(Transition {
                old: got.0.0,
                new: got.1.0,
                labels: (got.0.1, got.1.1),
                pairs: 0,
                example: found,
            });
            transition.pairs += pair.count;
        }
        if !seen.is_empty() {
            self.changed += pair.count;
        }
    }

    /// True where both policies give the same in the end, under whatever name.
    fn is_the_same(&self, ((old, old_labels), (new, new_labels)): (Got, Got)) -> bool {
        let offers = (
            &self.offers.0[usize::from(old.0)],
            &self.offers.1[usize::from(new.0)],
        );
        offers.0 == offers.1 && old_labels == new_labels
    }

    /// The most frequent first; equal ones in the order of their levels, so that reports are the same each
    /// time.
    fn into_transitions(self) -> Vec<Transition> {
        let mut list: Vec<Transition> = self.transitions.into_values().collect();
        list.sort_by_key(|transition| std::cmp::Reverse(transition.pairs));
        list
    }
}

/// The first rule in both sets.
fn first_of_both(one: &RuleSet, other: &RuleSet) -> Option<RuleIx> {
    let words = one.iter().zip(other).map(|(a, b)| a & b);
    let (at, word) = words.enumerate().find(|(_, word)| *word != 0)?;
    let rule = at as u64 * 64 + u64::from(word.trailing_zeros());
    u16::try_from(rule).ok().map(RuleIx)
}

/// What a rule gives; without one, the default.
fn got(policy: &Policy, rule: Option<RuleIx>) -> Got {
    let level = rule.map_or(policy.default_level, |rule| policy.rule(rule).level.value);
    (level, policy.flow_labels(rule, level))
}
