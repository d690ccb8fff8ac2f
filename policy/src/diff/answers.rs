//! Which pairs of ports get another level for which requests.

use std::collections::{BTreeMap, HashMap};

use super::kinds::{PortKinds, RuleSet, Satisfied, ValueKind, port_kinds, value_kinds};
use super::offer_with;
use crate::error::Error;
use crate::facts::PortFacts;
use crate::matching::interpret::Query;
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
    /// One of them.
    pub example: Example,
}

/// A request that gets another level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Example {
    /// Ports and fields.
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
    /// One of them.
    example: (usize, usize),
}

impl PairKinds {
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

/// Kinds of values by field.
struct Fields {
    qos_class: Vec<ValueKind>,
    tclass: Vec<ValueKind>,
    service_id: Vec<ValueKind>,
    pkey: Vec<ValueKind>,
}

fn qos_class(rule: &Rule) -> Option<&crate::Ranges> {
    rule.qos_class.as_ref().map(|ranges| &ranges.value)
}

fn tclass(rule: &Rule) -> Option<&crate::Ranges> {
    rule.tclass.as_ref().map(|ranges| &ranges.value)
}

fn service_id(rule: &Rule) -> Option<&crate::Ranges> {
    rule.service_id.as_ref().map(|ranges| &ranges.value)
}

fn pkey(rule: &Rule) -> Option<&crate::Ranges> {
    rule.pkey.as_ref().map(|ranges| &ranges.value)
}

impl Fields {
    fn new(policies: (&Policy, &Policy)) -> Self {
        Self {
            qos_class: value_kinds(policies, qos_class, 0xfff),
            tclass: value_kinds(policies, tclass, 0xff),
            service_id: value_kinds(policies, service_id, u64::MAX),
            pkey: value_kinds(policies, pkey, 0x7fff),
        }
    }

    /// How many combinations there are; none when they are countless.
    fn product(&self) -> Option<usize> {
        let lengths = [&self.qos_class, &self.tclass, &self.service_id, &self.pkey];
        lengths
            .iter()
            .try_fold(1, |product: usize, kinds| product.checked_mul(kinds.len()))
    }

    /// All combinations.
    fn all(&self) -> Vec<Request> {
        let mut requests = Vec::new();
        for class in &self.qos_class {
            for tclass in &self.tclass {
                for service in &self.service_id {
                    requests.extend(
                        self.pkey
                            .iter()
                            .map(|pkey| request([class, tclass, service, pkey])),
                    );
                }
            }
        }
        requests
    }

    /// Requests without fields, those with one, and what each rule asks for.
    fn telling(&self, (old, new): (&Policy, &Policy)) -> Vec<Request> {
        let [class, tclass, service, pkey] = self.absent();
        let mut requests = vec![request([class, tclass, service, pkey])];
        let rest = |kinds: &'_ [ValueKind]| kinds[1..].to_vec();
        for kind in rest(&self.qos_class) {
            requests.push(request([&kind, tclass, service, pkey]));
        }
        for kind in rest(&self.tclass) {
            requests.push(request([class, &kind, service, pkey]));
        }
        for kind in rest(&self.service_id) {
            requests.push(request([class, tclass, &kind, pkey]));
        }
        for kind in rest(&self.pkey) {
            requests.push(request([class, tclass, service, &kind]));
        }
        let rules = old.rules.iter().chain(&new.rules);
        requests.extend(rules.map(|rule| self.asked_by(rule)));
        requests
    }

    fn absent(&self) -> [&ValueKind; 4] {
        [
            &self.qos_class[0],
            &self.tclass[0],
            &self.service_id[0],
            &self.pkey[0],
        ]
    }

    /// The request with the least value of each of the rule's criteria, and nothing else.
    fn asked_by(&self, rule: &Rule) -> Request {
        let pick = |kinds: &'_ [ValueKind], ranges: Option<&crate::Ranges>| {
            let wanted = |kind: &&ValueKind| match (ranges, kind.value) {
                (None, value) => value.is_none(),
                (Some(ranges), Some(value)) => ranges.contains(value),
                (Some(_), None) => false,
            };
            kinds.iter().find(wanted).unwrap_or(&kinds[0]).clone()
        };
        let kinds = [
            pick(&self.qos_class, qos_class(rule)),
            pick(&self.tclass, tclass(rule)),
            pick(&self.service_id, service_id(rule)),
            pick(&self.pkey, pkey(rule)),
        ];
        request(kinds.each_ref())
    }
}

fn request([class, tclass, service, pkey]: [&ValueKind; 4]) -> Request {
    let narrow = |value: u64| u16::try_from(value).unwrap_or(u16::MAX);
    let rules = class.rules.and(&tclass.rules);
    Request {
        query: Query {
            qos_class: class.value.map(narrow),
            tclass: tclass.value.and_then(|value| u8::try_from(value).ok()),
            service_id: service.value,
            pkey: pkey.value.map(narrow),
            source_named: true,
            destination_named: true,
            ..Query::default()
        },
        rules: rules.and(&service.rules).and(&pkey.rules),
    }
}

/// A level, and the flow labels of who gets it.
type Got = (LevelIx, FlowLabels);

/// What was found so far.
struct Changes<'a> {
    policies: (&'a Policy, &'a Policy),
    /// What each level gives but for flow labels, in words.
    offers: (Vec<String>, Vec<String>),
    changed: u64,
    transitions: BTreeMap<(Got, Got), Transition>,
}

impl<'a> Changes<'a> {
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

    fn is_the_same(&self, ((old, old_labels), (new, new_labels)): (Got, Got)) -> bool {
        let offers = (
            &self.offers.0[usize::from(old.0)],
            &self.offers.1[usize::from(new.0)],
        );
        offers.0 == offers.1 && old_labels == new_labels
    }

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

fn got(policy: &Policy, rule: Option<RuleIx>) -> Got {
    let level = rule.map_or(policy.default_level, |rule| policy.rule(rule).level.value);
    (level, policy.flow_labels(rule, level))
}
