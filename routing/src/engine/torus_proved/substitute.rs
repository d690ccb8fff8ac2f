//! Other neighbours for a seed that lost its own.
//!
//! A seed link whose neighbour is missing says nothing about its axis any more, unless the link the
//! other way is given too. Which neighbour of the common switch lies that way shows by trying: only
//! the right one lets every switch find its place.
//!
//! ```text
//! seed: xp_link A B    and B is missing:    B's place is +x of A, and stays empty
//! A's other neighbours C, D, E, F:          one of them is -x of A; each is tried as `xm_link`
//! ```
//!
//! Not a guess: a wrong neighbour leaves switches outside, which refuses it, and if two choices
//! succeed with different places, neither is taken. torus-2QoS refuses whenever every seed has lost
//! a switch; `next_seed` lines are what it offers instead.

use crate::engine::torus::discover::Strays;
use crate::engine::torus::reason::TorusReason;
use crate::engine::torus::{Found, Refused, TorusConfig, find};
use crate::placement::{Axis, Direction, Torus};
use crate::topology::{SwitchIx, Topology};

/// Finds the torus with the first seed that lets it, if no seed is whole.
/// Errors: as the seeds stand.
///
/// Seeds are tried in the order of the file. At most 6 neighbours on each of three axes make 216
/// placements of one seed.
pub(super) fn find_with_remains(
    topology: &Topology,
    config: &TorusConfig,
) -> Result<Found, Refused> {
    let refused = match find(topology, config, Strays::Place) {
        // Whole seeds, and every other fault, are settled as with torus-2QoS.
        Err(refused) if lacks_seed(&refused) => refused,
        other => return other,
    };
    for number in 0..config.seeds.len() {
        let found = variants(topology, config, number)
            .iter()
            .filter_map(|variant| find(topology, variant, Strays::Place).ok())
            .collect::<Vec<_>>();
        if let Some(only) = agreed(topology, found) {
            return Ok(only);
        }
    }
    Err(refused)
}

/// True when nothing is wrong but that every seed has lost a switch.
fn lacks_seed(refused: &Refused) -> bool {
    matches!(
        refused.reasons.as_slice(),
        [TorusReason::NoUsableSeed { .. }]
    )
}

/// The placement on which all agree that succeeded.
/// Coordinates are compared, since they decide SLs.
fn agreed(topology: &Topology, found: Vec<Found>) -> Option<Found> {
    let mut found = found.into_iter();
    let first = found.next()?;
    let is_same = |torus: &Torus| {
        let mut all = topology.switch_ixs();
        all.all(|ix| torus.coordinate(ix) == first.torus.coordinate(ix))
    };
    found.all(|other| is_same(&other.torus)).then_some(first)
}

/// One seed alone, with every choice of neighbours the other way.
/// A single one, the seed itself, where no axis has lost its link.
fn variants(topology: &Topology, config: &TorusConfig, number: usize) -> Vec<TorusConfig> {
    let alone = TorusConfig {
        seeds: vec![config.seeds[number].clone()],
        ..config.clone()
    };
    let by_guid = |guid| {
        let mut all = topology.switch_ixs();
        all.find(|ix| topology.switch(*ix).guid.get() == guid)
    };
    // Each axis that has lost its link multiplies the variants by its candidates.
    let mut all = vec![alone];
    for axis in Axis::ALL {
        all = all
            .into_iter()
            .flat_map(|variant| fill_axis(topology, variant, axis, &by_guid))
            .collect();
    }
    all
}

/// A configuration as it is where an axis has a whole link, or none at all; else one for each
/// neighbour that the other link may lead to.
fn fill_axis(
    topology: &Topology,
    config: TorusConfig,
    axis: Axis,
    by_guid: &impl Fn(u64) -> Option<SwitchIx>,
) -> Vec<TorusConfig> {
    let links = [axis.plus(), axis.minus()];
    let given = links
        .into_iter()
        .filter_map(|direction| Some((direction, config.seeds[0].link(direction)?)));
    let given: Vec<_> = given.collect();
    // With both links given one is enough; with none the axis has radix 1.
    let [(direction, link)] = given.as_slice() else {
        return vec![config];
    };
    let (common, is_there) = (by_guid(link.common), by_guid(link.neighbour).is_some());
    // Without the common switch there is nobody whose neighbours could be tried.
    let Some(common) = common.filter(|_| !is_there) else {
        return vec![config];
    };
    let mut neighbours: Vec<SwitchIx> = topology.cables(common).map(|(_, far, _)| far).collect();
    neighbours.sort_unstable();
    // Parallel cables lead to one neighbour.
    neighbours.dedup();
    let with = |far: SwitchIx| {
        let mut variant = config.clone();
        let mut other = *link;
        other.neighbour = topology.switch(far).guid.get();
        let opposite: Direction = direction.opposite();
        variant.seeds[0].links[usize::from(opposite.group())] = Some(other);
        variant
    };
    neighbours.into_iter().map(with).collect()
}
