//! Which paths an SA is asked for, to see whether it goes by the same policy as a snapshot.
//!
//! Pairs at random show differences that many paths have. A rule may be about one pair, so every
//! rule and every partition has requests of its own, and what tells two policies apart is asked for
//! in so many words. In this order:
//!
//! | # | requests | how many |
//! |---|---|---|
//! | 1 | one example of each change that the comparison of two policies finds | one a kind of change |
//! | 2 | first two and last two members of each partition, with its P_Key | 512 at most |
//! | 3 | for each rule of the policies pairs that this rule decides | 4 a rule |
//! | 4 | pairs of LIDs at random | as configured |
//!
//! 2 and 3 together are cut to 2,048, by chance, so that another part is asked for the next time.
//!
//! A rule's own request names all that the rule asks for, each number at its least value, between
//! members of its groups, and such that no rule before it takes the request: the first match wins,
//! and a probe that an earlier rule decides would say nothing of this one.
//!
//! What it cannot know: policies that it was not handed. `SaReader` hands in the last few.

mod rules;

use policy::diff;
use policy::model::criterion::Numbers;
use policy::{Policy, Query};
use sa_compiler::state::FabricState;
use sa_fabric::Subnet;
use sa_wire::Lid;
use sa_wire::mad::method;
use sa_wire::path_record::{PathCompMask, PathRecord};
use sa_wire::request;
use sa_wire::umad::Slot;

use self::rules::by_rules_of;

/// How many paths are asked for, and which.
///
/// From the configuration (`samples`) and the stamp of the compilation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampling {
    /// Pairs at random; 0: nothing at all is asked, rules included.
    pub pairs: u32,
    /// Another number gives other pairs.
    pub seed: u64,
}

/// A request for a path by LIDs.
///
/// By LIDs and not by GIDs, so that each LID of an LMC range can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// Source.
    pub slid: Lid,
    /// Destination.
    pub dlid: Lid,
    /// What else the request names; a P_Key with its membership bit.
    pub numbers: Numbers,
}

/// Of the rules, whatever they are: so many requests at most. At the 275 us that OpenSM took for
/// one over the simulator they are asked within a second.
const MOST: usize = 2048;

impl Probe {
    /// From one LID to another, with no more.
    pub fn pair(slid: Lid, dlid: Lid) -> Self {
        Self {
            slid,
            dlid,
            numbers: Numbers::default(),
        }
    }

    /// The request by LIDs for a query between ports; none where it names a port that the subnet
    /// lacks.
    fn of(subnet: &Subnet, query: &Query) -> Option<Self> {
        let ends = subnet.end_ports();
        Some(Self {
            slid: ends.get(query.source)?.lid,
            dlid: ends.get(query.destination)?.lid,
            numbers: query.numbers(),
        })
    }

    /// As `requester` asks.
    pub fn request(&self, requester: Option<Lid>) -> Slot {
        let mut record = PathRecord {
            slid: self.slid.get().into(),
            dlid: self.dlid.get().into(),
            ..PathRecord::default()
        };
        let named = self.numbers.write(&mut record);
        let mask = PathCompMask::SLID | PathCompMask::DLID | named;
        request::path_request(Lid::raw(requester), method::GET, mask, &record)
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
    // One for all: the same seed gives the same requests in the same order.
    let mut dice = Dice(sampling.seed);
    let own = parts.policy.as_ref();
    let mut all = Vec::new();
    for other in others {
        all.extend(own.into_iter().flat_map(|own| telling(parts, own, other)));
    }
    // Rules of other policies too: where one of them is in force, its rules decide pairs that are
    // nothing special here.
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

/// One request for each kind of difference between two policies: the example that `policy::diff`
/// names for it. Empty for equal policies.
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
///
/// First and last, as port facts are in the order of GUIDs: members that were listed in ranges are
/// apart there.
fn by_partitions(parts: &FabricState) -> Vec<Probe> {
    let count = parts.facts.len();
    let mut all = Vec::new();
    for (place, partition) in parts.partitions.list().iter().enumerate() {
        // Either membership counts: two limited members get no path, and the SA must say so as
        // well.
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
    // 32,767 partitions are possible, and rules are to have the larger part.
    all.truncate(MOST / 4);
    all
}

/// The bit of a P_Key that says full member.
const FULL: u16 = 0x8000;

/// Any two LIDs of the ports' ranges, switches included. None in a fabric without end ports.
fn random_pair(subnet: &Subnet, dice: &mut Dice) -> Option<(Lid, Lid)> {
    let ends = subnet.end_ports();
    let mut lid = || {
        let end = ends.get(dice.below(ends.len()))?;
        let offset = dice.below(end.lmc.lids().into());
        end.lids().nth(offset)
    };
    Some((lid()?, lid()?))
}

/// SplitMix64: good enough to pick pairs, the same on every machine. The number is its whole state.
struct Dice(u64);

impl Dice {
    /// A number from 0 up to below `most`; 0 where `most` is 0. The slight preference for small
    /// numbers that a remainder has does not matter here.
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        // The upper half, whose bits are mixed best, fits any `usize`.
        let folded = usize::try_from((mixed ^ mixed >> 31) >> 32).unwrap_or(0);
        folded.checked_rem(most).unwrap_or(0)
    }
}
