//! Which rule each pair of ports gets, for requests of one kind.
//!
//! Beside [`super::classes`], which knows any request, this looks at requests of one kind: with their numbers
//! fixed, ports that the remaining rules do not tell apart are one kind, fewer than there are classes.
//!
//! ```text
//! request: P_Key 0x123         rules left by the numbers: 2, 5, 9 (9 has no ends: none behind counts)
//! kinds                        source {2,9} destination {9}; source {9} destination {5,9}; ..
//! first(a, b)                  the least rule in a's source set and b's destination set
//! ```

use std::collections::HashMap;

use crate::lint::Analysis;
use crate::lint::bits::Bits;
use crate::model::criterion::{Field, Numbers};
use crate::model::ranges::Ranges;
use crate::partitions::{Membership, Partitions};

/// Ports that rules do not tell apart and that belong to the same partitions.
/// Lives for one kind of request.
#[derive(Debug)]
pub(super) struct Kind {
    /// Rules that hold for them as source.
    source: Bits,
    /// Rules that hold for them as destination.
    destination: Bits,
    /// Which set of partitions.
    pub(super) held: usize,
    /// The ports of this kind. Shape: ascending, never empty.
    pub(super) ports: Vec<usize>,
}

impl Kind {
    /// The first rule that holds from these ports to others.
    pub(super) fn first(&self, to: &Self) -> Option<usize> {
        self.source.first_common(&to.destination)
    }

    /// How many ordered pairs of different ports there are.
    /// Within one kind a port is no partner of itself.
    pub(super) fn pairs(&self, to: &Self) -> u64 {
        let count = |kind: &Self| u64::try_from(kind.ports.len()).unwrap_or(u64::MAX);
        // The same value and not only an equal one: kinds differ by ports as well.
        let others = if std::ptr::eq(self, to) {
            count(to) - 1
        } else {
            count(to)
        };
        count(self).saturating_mul(others)
    }

    /// One such pair; none when there is none.
    pub(super) fn example(&self, to: &Self) -> Option<(usize, usize)> {
        let from = *self.ports.first()?;
        let to = to.ports.iter().find(|port| **port != from)?;
        Some((from, *to))
    }
}

/// Partitions that ports belong to, each set of them once.
/// Fabrics have few different sets, whatever the number of ports.
#[derive(Debug)]
pub struct HeldSets {
    /// By port: the number of its set.
    of_port: Vec<usize>,
    /// By number; partitions ascending, as `share` searches them.
    sets: Vec<Vec<(usize, Membership)>>,
}

impl HeldSets {
    /// Of so many ports.
    pub fn new(ports: usize, partitions: &Partitions) -> Self {
        let mut numbers: HashMap<Vec<(usize, Membership)>, usize> = HashMap::new();
        let mut sets = Vec::new();
        let number = |port| {
            let held: Vec<_> = partitions.held_by(port).collect();
            let next = sets.len();
            let number = *numbers.entry(held.clone()).or_insert(next);
            if number == next {
                sets.push(held);
            }
            number
        };
        let of_port = (0..ports).map(number).collect();
        Self { of_port, sets }
    }

    /// How many different sets there are.
    pub fn count(&self) -> usize {
        self.sets.len()
    }

    /// Number of a port's set.
    pub fn of_port(&self, port: usize) -> usize {
        self.of_port[port]
    }

    /// True when ports with these sets may talk: one of the two is a full member.
    /// Cost: O(partitions of one x log those of the other).
    pub fn share(&self, one: usize, other: usize) -> bool {
        let (one, other) = (&self.sets[one], &self.sets[other]);
        one.iter().any(|(partition, how)| {
            let meets = other.binary_search_by_key(partition, |(at, _)| *at);
            let limited = Membership::Limited;
            meets.is_ok_and(|at| (*how, other[at].1) != (limited, limited))
        })
    }
}

/// Rules whose numbers fit a request with these.
pub(super) fn satisfied(analysis: &Analysis<'_>, values: &Numbers) -> Bits {
    let rules = &analysis.policy.rules;
    let mut set = Bits::none(rules.len());
    for (at, rule) in rules.iter().enumerate() {
        let mut fields = Field::ALL.into_iter();
        let fits = fields.all(|field| {
            let holds = |ranges: &Ranges| values[field].is_some_and(|value| ranges.contains(value));
            rule.wanted(field).is_none_or(holds)
        });
        // One that nothing gets to makes no difference.
        // Kept out, they cannot make two kinds of ports that are alike.
        if fits && analysis.lives[at].may_be_alive() {
            set.insert(at);
        }
    }
    set
}

/// The kinds of ports there are for requests that fit these rules by their numbers. `wanted` says
/// which ports matter.
pub(super) fn kinds(
    analysis: &Analysis<'_>,
    rules: &Bits,
    held: &HeldSets,
    wanted: impl Fn(usize) -> bool,
) -> Vec<Kind> {
    // Fewer rules make fewer kinds, and the answer is the same.
    let rules = up_to_catch_all(analysis, rules);
    let ends = &analysis.ends;
    let sets = (0..analysis.classes.count()).map(|class| {
        (
            ends.source.rules[class].and(&rules),
            ends.destination.rules[class].and(&rules),
        )
    });
    let sets: Vec<_> = sets.collect();
    let mut numbers: HashMap<(&Bits, &Bits, usize), usize> = HashMap::new();
    let mut kinds: Vec<Kind> = Vec::new();
    for port in (0..held.of_port.len()).filter(|port| wanted(*port)) {
        let (source, destination) = &sets[analysis.classes.of_port(port)];
        // Ports in other partitions may not talk to the same ports, whatever the rules.
        let held = held.of_port[port];
        let next = kinds.len();
        let number = *numbers.entry((source, destination, held)).or_insert(next);
        if number == next {
            kinds.push(Kind {
                source: source.clone(),
                destination: destination.clone(),
                held,
                ports: Vec::new(),
            });
        }
        kinds[number].ports.push(port);
    }
    kinds
}

/// Behind a rule that holds for all ports none counts.
fn up_to_catch_all(analysis: &Analysis<'_>, rules: &Bits) -> Bits {
    let mut kept = Bits::none(analysis.policy.rules.len());
    for rule in rules.iter() {
        // The catch-all itself counts: it is what all others get.
        kept.insert(rule);
        let written = &analysis.policy.rules[rule];
        if written.source.is_empty() && written.destination.is_empty() {
            break;
        }
    }
    kept
}
