//! On which level a switch stands: how many steps above the switches with hosts.
//!
//! ```text
//! level 2      T     T      two steps from the nearest host
//! level 1    M   M M   M
//! level 0    L   L L   L    with hosts
//! ```
//!
//! Hosts alone would mislead: a leaf may stand idle, and a switch above the leaves may have the host of the SM. So
//!
//! * where no two switches with many hosts are joined, as in every tree, one with few hosts that is joined with one of many is
//!   none of the leaves;
//! * switches that are wired alike are judged together: they have at least half of all their neighbours in common, as all
//!   leaves of a pod have and all tops that lead to the same middle switches. Most of them decide for all.
//!
//! Nothing here knows names: a fabric whose leaves are called spines is drawn by its cables.

use super::wires::Wires;

/// Level of each switch, 0 for those with hosts. A switch that no cable joins to any of these is on level 0 too.
///
/// Cost: a breadth-first search, and a look at all pairs of switches with a neighbour in common.
pub(super) fn levels(wires: &Wires) -> Vec<usize> {
    let is_leaf = leaves(wires);
    let leaves = (0..wires.len()).filter(|switch| is_leaf[*switch]);
    let steps = wires.distances(leaves);
    steps.into_iter().map(|steps| steps.unwrap_or(0)).collect()
}

/// By switch: whether it is a leaf, as most of its kind are.
fn leaves(wires: &Wires) -> Vec<bool> {
    let has_hosts = with_hosts(wires);
    let kinds = alike(wires);
    // By kind: switches with hosts, and all.
    let mut votes = vec![(0, 0); wires.len()];
    for (switch, kind) in kinds.iter().enumerate() {
        votes[*kind].0 += usize::from(has_hosts[switch]);
        votes[*kind].1 += 1;
    }
    let judged = kinds.iter().enumerate().map(|(switch, kind)| {
        let (with_hosts, all) = votes[*kind];
        match (2 * with_hosts).cmp(&all) {
            std::cmp::Ordering::Less => false,
            std::cmp::Ordering::Equal => has_hosts[switch],
            std::cmp::Ordering::Greater => true,
        }
    });
    let judged: Vec<_> = judged.collect();
    if judged.contains(&true) {
        return judged;
    }
    // Few hosts anywhere: each switch that has one counts.
    wires.hosts.iter().map(|hosts| *hosts > 0).collect()
}

/// Switches with hosts, but for those above leaves that have a few.
///
/// Many: more than a quarter of what the middle one has.
fn with_hosts(wires: &Wires) -> Vec<bool> {
    let mut counts: Vec<_> = wires
        .hosts
        .iter()
        .copied()
        .filter(|hosts| *hosts > 0)
        .collect();
    counts.sort_unstable();
    let middle = counts.get(counts.len() / 2).copied().unwrap_or(0);
    let has_many = |switch: usize| 4 * wires.hosts[switch] > middle;
    let is_tree = !wires
        .links()
        .any(|(one, other, _)| has_many(one) && has_many(other));
    let is_leaf = (0..wires.len()).map(|switch| {
        let is_above = is_tree && !has_many(switch) && wires.neighbours(switch).any(has_many);
        wires.hosts[switch] > 0 && !is_above
    });
    is_leaf.collect()
}

/// Kind of each switch: switches of one kind are wired alike, or like others that are. Shape: numbers below the number
/// of switches.
pub(super) fn alike(wires: &Wires) -> Vec<usize> {
    let mut kinds = vec![usize::MAX; wires.len()];
    // How many neighbours a switch shares with the one at hand.
    let mut shared = vec![0; wires.len()];
    let mut found = 0;
    for start in 0..wires.len() {
        if kinds[start] != usize::MAX {
            continue;
        }
        kinds[start] = found;
        let mut open = vec![start];
        while let Some(here) = open.pop() {
            for other in like(wires, here, &mut shared) {
                if kinds[other] == usize::MAX {
                    kinds[other] = found;
                    open.push(other);
                }
            }
        }
        found += 1;
    }
    kinds
}

/// Switches that share at least half of all neighbours. `shared` is all 0, before and after.
///
/// Half of all: of three neighbours each two shared ones do, of two each both.
fn like(wires: &Wires, here: usize, shared: &mut [usize]) -> Vec<usize> {
    let mut seen = Vec::new();
    for other in wires
        .neighbours(here)
        .flat_map(|near| wires.neighbours(near))
    {
        if shared[other] == 0 {
            seen.push(other);
        }
        shared[other] += 1;
    }
    let degree = |switch: usize| wires.near[switch].len();
    let all = |other: usize| degree(here) + degree(other) - shared[other];
    let found = seen
        .iter()
        .copied()
        .filter(|other| *other != here && 2 * shared[*other] >= all(*other))
        .collect();
    seen.iter().for_each(|other| shared[*other] = 0);
    found
}
