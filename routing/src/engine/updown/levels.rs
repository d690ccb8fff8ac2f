//! How high each switch is: by roots that are named, or by the way to the hosts.
//!
//! The first of these that says something decides:
//!
//! | known | a switch is the higher |
//! |---|---|
//! | roots that are named | the fewer steps it is from one of them |
//! | steps to the nearest host, where cables lead from level to level | the more steps those are |
//! | roots that are found (OpenSM's rule) | the fewer steps it is from one of them |
//! | nothing | the fewer steps it is from the switch that is nearest to all hosts |
//!
//! Found roots come after levels because a top switch that lacks one cable is none by OpenSM's rule,
//! and what is no root counts as a leaf. They help where hosts are on top switches as well.
//! Heights decide only how good paths are, never whether there are any: see `order`.

use super::cabling::Cabling;
use crate::shortest::distances::{Distances, UNREACHABLE};
use crate::topology::{SwitchIx, Topology, count32};

/// Not reached.
const FAR: u32 = u32::MAX;

/// By switch: how many steps it is above the lowest. Roots that are empty are looked for.
pub(in crate::engine) fn heights(topology: &Topology, roots: &[SwitchIx]) -> Vec<u32> {
    // Measured only where levels are not told by the tree itself: it is the dearer way.
    let cabling = Cabling::new(topology);
    of_tree(topology, &cabling, roots).unwrap_or_else(|| {
        let centre = centre(&cabling, &Distances::measure(topology));
        below(
            &cabling,
            &centre.map_or_else(Vec::new, |centre| vec![centre]),
        )
    })
}

/// The same for trees only: where nothing tells the levels, a switch is the higher the more steps
/// it is from the nearest host, whatever cables then join.
pub(in crate::engine) fn heights_of_tree(topology: &Topology, roots: &[SwitchIx]) -> Vec<u32> {
    let cabling = Cabling::new(topology);
    of_tree(topology, &cabling, roots).unwrap_or_else(|| above_hosts(&cabling))
}

/// None where there are no levels and no roots.
fn of_tree(topology: &Topology, cabling: &Cabling, roots: &[SwitchIx]) -> Option<Vec<u32>> {
    if !roots.is_empty() {
        return Some(below(cabling, roots));
    }
    let heights = above_hosts(cabling);
    // Levels hold only where cables lead from level to level: else a height would mean nothing.
    if is_sorted(cabling, &heights) {
        return Some(heights);
    }
    let found = roots_by_histogram(cabling, &Distances::measure(topology));
    (!found.is_empty()).then(|| below(cabling, &found))
}

/// By switch: steps to the nearest host; 0 where none is reached.
fn above_hosts(cabling: &Cabling) -> Vec<u32> {
    let all = (0..count32(cabling.switches())).map(SwitchIx);
    let with_hosts: Vec<_> = all.filter(|switch| cabling.hosts(switch.0) > 0).collect();
    let mut heights = steps_from(cabling, &with_hosts);
    // What no host reaches is as low as a leaf: nothing comes down from it.
    for height in heights.iter_mut().filter(|height| **height == FAR) {
        *height = 0;
    }
    heights
}

/// The switches from which nine in ten hosts are equally far, and nowhere else more than one in
/// twenty.
/// Source: OpenSM `osm_ucast_updn.c` (`updn_find_root_nodes_by_min_hop`).
fn roots_by_histogram(cabling: &Cabling, distances: &Distances) -> Vec<SwitchIx> {
    let switches = || (0..count32(cabling.switches())).map(SwitchIx);
    let all: u32 = switches().map(|switch| cabling.hosts(switch.0)).sum();
    let is_root = |switch: &SwitchIx| {
        let mut hosts = [0_u32; UNREACHABLE as usize];
        for (far, hops) in switches().zip(distances.from(*switch)) {
            if let Some(bar) = hosts.get_mut(usize::from(*hops)) {
                *bar += cabling.hosts(far.0);
            }
        }
        // In whole numbers: more than 90 and more than 5 of a hundred.
        // As OpenSM's rule has it, with its own shares.
        let over = |share: u32| hosts.iter().filter(|bar| **bar * 100 > all * share).count();
        over(90) == 1 && over(5) == 1
    };
    switches().filter(is_root).collect()
}

/// By switch: steps from the nearest of these.
fn steps_from(cabling: &Cabling, from: &[SwitchIx]) -> Vec<u32> {
    let mut steps = vec![FAR; cabling.switches()];
    let mut front: Vec<u32> = from.iter().map(|switch| switch.0).collect();
    for here in &front {
        steps[*here as usize] = 0;
    }
    let mut done = 0;
    while let Some(here) = front.get(done).copied() {
        done += 1;
        for bundle in cabling.leaving(here) {
            if steps[bundle.far as usize] == FAR {
                steps[bundle.far as usize] = steps[here as usize] + 1;
                front.push(bundle.far);
            }
        }
    }
    steps
}

/// By switch: height where roots are the highest. Parts without a root are all as high as the
/// lowest.
fn below(cabling: &Cabling, roots: &[SwitchIx]) -> Vec<u32> {
    let steps = steps_from(cabling, roots);
    let most = steps
        .iter()
        .filter(|steps| **steps != FAR)
        .max()
        .copied()
        .unwrap_or(0);
    steps
        .iter()
        // A part without a root has no steps: the least height, so that it is nowhere above.
        .map(|steps| most.saturating_sub(*steps))
        .collect()
}

/// True where there are several levels, and no cable joins two switches of one level.
///
/// A fabric of one level has no order by heights, whatever its cables are.
fn is_sorted(cabling: &Cabling, heights: &[u32]) -> bool {
    heights.iter().any(|height| *height != 0)
        && (0..count32(heights.len())).all(|switch| {
            let own = heights[switch as usize];
            let mut near = cabling.leaving(switch).iter();
            near.all(|bundle| heights[bundle.far as usize] != own)
        })
}

/// The switch from which hosts are nearest on the whole; the first of equals, none of none.
/// Hosts that it does not reach are as far as can be, so that it lies in the largest part.
fn centre(cabling: &Cabling, distances: &Distances) -> Option<SwitchIx> {
    let switches = || (0..count32(cabling.switches())).map(SwitchIx);
    let sum = |from: &SwitchIx| -> u64 {
        let hops = switches().zip(distances.from(*from));
        hops.map(|(far, hops)| u64::from(cabling.hosts(far.0)) * u64::from(*hops))
            .sum()
    };
    switches().min_by_key(sum)
}
