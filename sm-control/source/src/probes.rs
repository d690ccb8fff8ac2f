//! Which paths an SA is asked for, to see whether it goes by the same policy as a snapshot.
//!
//! Pairs at random show differences that many paths have. A rule may be about one pair, so every
//! rule and every partition has requests of its own, and what tells two policies apart is asked
//! for in so many words.

use std::collections::HashMap;

use policy::diff;
use policy::model::criterion::{ByField, Field, Numbers};
use policy::model::{GroupIx, Rule};
use policy::{GroupResolver, Policy, Query, Ranges};
use sa_compiler::state::FabricState;
use sa_fabric::Subnet;
use sa_wire::mad::method;
use sa_wire::path_record::{PathCompMask, PathRecord};
use sa_wire::request;
use sa_wire::umad::Slot;

/// How many paths are asked for, and which.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampling {
    /// Pairs at random; 0: nothing at all is asked.
    pub pairs: u32,
    /// Another number gives other pairs.
    pub seed: u64,
}

/// A request for a path by LIDs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// Source.
    pub slid: u16,
    /// Destination.
    pub dlid: u16,
    /// What else the request names; a P_Key with its membership bit.
    pub numbers: Numbers,
}

/// Of the rules, whatever they are: so many requests at most.
const MOST: usize = 2048;

/// Pairs of ports for each rule.
const PAIRS: usize = 4;

/// Pairs looked at for one that no rule before takes. Units: pairs.
const TRIES: usize = 24;

impl Probe {
    /// From one LID to another, with no more.
    pub fn pair(slid: u16, dlid: u16) -> Self {
        Self {
            slid,
            dlid,
            numbers: Numbers::default(),
        }
    }

    fn of(subnet: &Subnet, query: &Query) -> Option<Self> {
        let ends = subnet.end_ports();
        Some(Self {
            slid: ends.get(query.source)?.lid.get(),
            dlid: ends.get(query.destination)?.lid.get(),
            numbers: query.numbers(),
        })
    }

    /// As `requester` asks.
    pub fn request(&self, requester: u16) -> Slot {
        let mut record = PathRecord {
            slid: self.slid.into(),
            dlid: self.dlid.into(),
            ..PathRecord::default()
        };
        let named = self.numbers.write(&mut record);
        let mask = PathCompMask::SLID | PathCompMask::DLID | named;
        request::path_request(requester, method::GET, mask, &record)
    }

    /// What it asks for besides the pair, for people; empty where nothing.
    pub fn in_words(&self) -> String {
        let named = self.numbers.named();
        let words: Vec<String> = named
            .map(|(field, number)| field.with(number).to_string())
            .collect();
        words.join(", ")
    }
}

/// What to ask for a snapshot of these parts: what tells its policy from each of `others` first,
/// then a few requests for every rule of each and for every partition, then pairs at random.
pub fn probes(parts: &FabricState, others: &[&Policy], sampling: Sampling) -> Vec<Probe> {
    if sampling.pairs == 0 {
        return Vec::new();
    }
    let mut dice = Dice(sampling.seed);
    let own = parts.policy.as_ref();
    let mut all = Vec::new();
    for other in others {
        all.extend(own.into_iter().flat_map(|own| telling(parts, own, other)));
    }
    let mut by_rules = by_partitions(parts);
    for policy in others.iter().copied().chain(own) {
        by_rules.extend(by_rules_of(parts, policy, &mut dice));
    }
    // A part of very many, another one each time.
    while by_rules.len() > MOST {
        let place = dice.below(by_rules.len());
        by_rules.swap_remove(place);
    }
    all.extend(by_rules);
    let pairs = (0..sampling.pairs).filter_map(|_| random_pair(&parts.subnet, &mut dice));
    all.extend(pairs.map(|(slid, dlid)| Probe::pair(slid, dlid)));
    all
}

/// One request for each kind of difference between two policies.
pub fn telling(parts: &FabricState, own: &Policy, other: &Policy) -> Vec<Probe> {
    if own == other {
        return Vec::new();
    }
    let found = diff::answers(other, own, &parts.facts, &parts.partitions);
    // A policy that does not fit this fabric tells nothing here.
    let transitions = found.map_or_else(|_| Vec::new(), |found| found.transitions);
    let queries = transitions.iter().map(|change| change.example.query);
    queries
        .filter_map(|query| Probe::of(&parts.subnet, &query))
        .collect()
}

/// The first and the last two members of each partition, by its P_Key.
fn by_partitions(parts: &FabricState) -> Vec<Probe> {
    let count = parts.facts.len();
    let mut all = Vec::new();
    for (place, partition) in parts.partitions.list().iter().enumerate() {
        let is_in = |port: &usize| parts.partitions.membership(*port, place).is_some();
        let first: Vec<usize> = (0..count).filter(is_in).take(2).collect();
        let last: Vec<usize> = (0..count).rev().filter(is_in).take(2).collect();
        for ends in [first, last] {
            if let [source, destination] = ends.as_slice() {
                let query = Query {
                    source: *source,
                    destination: *destination,
                    pkey: Some(partition.base | FULL),
                    ..Query::default()
                };
                all.extend(Probe::of(&parts.subnet, &query));
            }
        }
    }
    all.truncate(MOST / 4);
    all
}

/// The bit of a P_Key that says full member.
const FULL: u16 = 0x8000;

fn by_rules_of(parts: &FabricState, policy: &Policy, dice: &mut Dice) -> Vec<Probe> {
    let resolver = GroupResolver::new(&parts.facts, &parts.partitions);
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

/// A policy in a fabric.
struct SetupContext<'a> {
    policy: &'a Policy,
    /// Shape: ascending.
    members: HashMap<GroupIx, Vec<usize>>,
    ports: usize,
}

impl SetupContext<'_> {
    /// Requests that this rule decides, as far as some were found.
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

    fn is_taken_before(&self, place: usize, query: &Query) -> bool {
        let rules = self.policy.rules.iter().take(place);
        let mut rules = rules.filter(|rule| fits(rule, query));
        rules.any(|rule| {
            self.is_in(&rule.source, query.source)
                && self.is_in(&rule.destination, query.destination)
        })
    }

    fn is_in(&self, groups: &[sa_text::Spanned<GroupIx>], port: usize) -> bool {
        let mut members = groups
            .iter()
            .filter_map(|group| self.members.get(&group.value));
        groups.is_empty() || members.any(|members| members.binary_search(&port).is_ok())
    }
}

/// The ports that a rule can be about.
enum Ends {
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
    let pkey = query.pkey.map(|base| base | FULL);
    Query { pkey, ..query }
}

/// Whether a rule holds for the fields of a request.
fn fits(rule: &Rule, query: &Query) -> bool {
    Field::ALL.into_iter().all(|field| {
        let is_asked = |ranges: &Ranges| {
            let number = field.matched(query);
            number.is_some_and(|number| ranges.contains(number))
        };
        rule.wanted(field).is_none_or(is_asked)
    })
}

/// Any two LIDs of the ports' ranges.
fn random_pair(subnet: &Subnet, dice: &mut Dice) -> Option<(u16, u16)> {
    let ends = subnet.end_ports();
    let mut lid = || {
        let end = ends.get(dice.below(ends.len()))?;
        let offset = dice.below(end.lmc.lids().into());
        end.lids().nth(offset)
    };
    Some((lid()?, lid()?))
}

/// SplitMix64: good enough to pick pairs.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        let folded = usize::try_from((mixed ^ mixed >> 31) >> 32).unwrap_or(0);
        folded.checked_rem(most).unwrap_or(0)
    }
}
