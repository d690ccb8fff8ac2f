//! Random regular fabrics: every switch has the same number of cables, to others that a seed decides.
//!
//! A ring with chords, which is connected and regular, is shuffled: two cables a-b and c-d become a-d and c-b, where neither is there
//! yet, ten times for every cable. Each such exchange keeps the number of cables of every switch, and enough of them
//! forget where they began. Why so: pairing ports at random fails for all but small numbers of cables, as hardly any pairing is free of
//! double cables.
//!
//! One seed gives one fabric for ever: the numbers come from a generator that is written down here.

use std::collections::BTreeSet;

use super::wiring::{Wiring, ports};
use super::{GenerateError, need};

/// What to build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RandomSpec {
    /// Switches: at least 4, as each has three cables or more.
    pub switches: u16,
    /// Cables of a switch to others.
    pub degree: u8,
    /// Hosts of a switch.
    pub hosts: u8,
    /// Which of all such fabrics.
    pub seed: u64,
}

/// Plans the fabric, which is connected. Errors: a number that fits none; more hosts than a subnet has LIDs.
pub fn random(spec: &RandomSpec) -> Result<Wiring, GenerateError> {
    let (switches, degree) = (usize::from(spec.switches), usize::from(spec.degree));
    need(switches > 3, "switches", "at least 4")?;
    need(
        (3..switches).contains(&degree),
        "degree",
        "3 to one less than there are switches",
    )?;
    need(
        (switches * degree).is_multiple_of(2),
        "degree",
        "even where the number of switches is odd, as a cable has two ends",
    )?;
    let needed = degree + usize::from(spec.hosts);
    let ports = ports(needed)?;
    let RandomSpec { hosts, seed, .. } = spec;
    let mut wiring = Wiring::new(format!(
        "random fabric of {switches} switches, {degree} cables and {hosts} hosts per switch, seed {seed}"
    ));
    let numbers: Vec<_> = (0..switches)
        .map(|number| wiring.add_switch(format!("S{number}"), ports))
        .collect::<Result<_, _>>()?;
    for (number, switch) in numbers.iter().enumerate() {
        wiring.add_hosts(&number.to_string(), *switch, *hosts)?;
    }
    for (one, other) in cables(switches, degree, *seed) {
        if let (Some(one), Some(other)) = (numbers.get(one), numbers.get(other)) {
            wiring.connect(*one, *other)?;
        }
    }
    Ok(wiring)
}

/// Cables in order, the smaller end first.
fn cables(switches: usize, degree: usize, seed: u64) -> BTreeSet<(usize, usize)> {
    let mut cables = ring_with_chords(switches, degree);
    let mut list: Vec<_> = cables.iter().copied().collect();
    let mut numbers = Numbers(seed);
    // Three cables a switch and more are all but always connected, so once is nearly always enough.
    for _ in 0..ROUNDS {
        for _ in 0..10 * list.len() {
            exchange(&mut numbers, &mut list, &mut cables);
        }
        if is_connected(switches, &cables) {
            return cables;
        }
    }
    ring_with_chords(switches, degree)
}

/// Shuffles that are tried; what they begin with is connected too.
const ROUNDS: usize = 100;

/// Every switch with the next ones to both sides, and with the opposite one where a cable is left.
fn ring_with_chords(switches: usize, degree: usize) -> BTreeSet<(usize, usize)> {
    let mut cables = BTreeSet::new();
    let sorted = |one: usize, other: usize| (one.min(other), one.max(other));
    for one in 0..switches {
        let further = (1..=degree / 2).map(|step| (one + step) % switches);
        cables.extend(further.map(|other| sorted(one, other)));
        if degree % 2 == 1 {
            cables.insert(sorted(one, (one + switches / 2) % switches));
        }
    }
    cables
}

/// Two cables exchange an end, where that gives two that are not there.
fn exchange(
    numbers: &mut Numbers,
    list: &mut [(usize, usize)],
    cables: &mut BTreeSet<(usize, usize)>,
) {
    let (first, second) = (numbers.below(list.len()), numbers.below(list.len()));
    let (Some(&(a, b)), Some(&(mut c, mut d))) = (list.get(first), list.get(second)) else {
        return;
    };
    if numbers.below(2) == 1 {
        (c, d) = (d, c);
    }
    let (one, two) = ((a.min(d), a.max(d)), (c.min(b), c.max(b)));
    let is_simple =
        a != d && c != b && one != two && !cables.contains(&one) && !cables.contains(&two);
    if !is_simple {
        return;
    }
    for (place, new) in [(first, one), (second, two)] {
        if let Some(cable) = list.get_mut(place) {
            cables.remove(cable);
            *cable = new;
            cables.insert(new);
        }
    }
}

fn is_connected(switches: usize, cables: &BTreeSet<(usize, usize)>) -> bool {
    let mut beside = vec![Vec::new(); switches];
    for &(one, other) in cables {
        for (from, to) in [(one, other), (other, one)] {
            if let Some(beside) = beside.get_mut(from) {
                beside.push(to);
            }
        }
    }
    let mut seen = vec![false; switches];
    let mut open = vec![0];
    while let Some(switch) = open.pop() {
        if let Some(seen) = seen.get_mut(switch)
            && !std::mem::replace(seen, true)
        {
            open.extend(beside.get(switch).into_iter().flatten());
        }
    }
    seen.iter().all(|seen| *seen)
}

/// SplitMix64. Source: Steele, Lea, Flood, Fast Splittable Pseudorandom Number Generators, 2014.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; 0 for a bound of 0. Not even to the last bit, which nothing here needs.
    fn below(&mut self, bound: usize) -> usize {
        let number = self.next() >> 1;
        usize::try_from(number).map_or(0, |number| number.checked_rem(bound).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_switch_has_its_cables_and_all_are_joined() {
        for (switches, degree, seed) in
            [(10, 3, 1), (33, 4, 2), (100, 11, 3), (6, 5, 4), (50, 3, 5)]
        {
            let cables = cables(switches, degree, seed);
            assert_eq!(cables.len(), switches * degree / 2);
            for switch in 0..switches {
                let own = cables
                    .iter()
                    .filter(|(one, other)| *one == switch || *other == switch);
                assert_eq!(own.count(), degree, "{switches} {degree}");
            }
            assert!(is_connected(switches, &cables));
        }
    }

    #[test]
    fn a_seed_gives_one_fabric_for_ever() {
        let spec = RandomSpec {
            switches: 12,
            degree: 3,
            hosts: 1,
            seed: 7,
        };
        let net = random(&spec).unwrap().net();
        assert_eq!(net, random(&spec).unwrap().net());
        assert_ne!(net, random(&RandomSpec { seed: 8, ..spec }).unwrap().net());
        let first: Vec<_> = cables(12, 3, 7).into_iter().take(3).collect();
        assert_eq!(first, FIRST);
    }

    /// Written down at its first run: another generator would give others.
    const FIRST: [(usize, usize); 3] = [(0, 2), (0, 6), (0, 8)];
}
