//! Checks before any switch is placed: size, VLs, port order, seeds.
//!
//! Everything that can be known before a cable is looked at. Kept apart from the search, because a
//! search with a wrong size or seed finds *some* torus and says nothing: what can be judged
//! beforehand must be.
//!
//! ```text
//! size       each radix 1 to 255
//! VLs        2 on every cable between switches; 4 and 8 for more (warnings below that)
//! order      port_order names no port that some switch lacks
//! seeds      every one of them well formed, one of them with all its switches
//! ```
//!
//! OpenSM stops at the first fault; here all are found, each with its place in torus-2QoS.conf.

use std::collections::{BTreeMap, HashMap};

use super::config::{Seed, SeedLink, TorusConfig};
use super::discover::Strays;
use crate::engine::torus::reason::{SeedNeed, TorusReason};
use crate::engine::torus::text::AbsentSeedSwitch;
use crate::engine::torus::warning::TorusWarning;
use crate::error::SwitchName;
use crate::placement::{Axis, Direction, Shape};
use crate::topology::{Peer, SwitchIx, Topology};

/// A configuration that fits the fabric.
/// The beginning of a search, which adds nothing to it.
pub(super) struct Setup {
    pub(super) shape: Shape,
    /// The first seed whose switches are all there.
    /// 0 is the first of the file. Which one was taken is told, because another seed may mean other
    /// coordinates.
    pub(super) seed: usize,
    /// Switches that every seed lacks; empty where one lacks none.
    pub(super) absent: Vec<AbsentSeedSwitch>,
    pub(super) vls: LeastVls,
    /// By GUID as configured, for which any 64 bits may stand.
    pub(super) switches: HashMap<u64, SwitchIx>,
}

/// The fewest data VLs.
/// One slow port decides for the whole fabric: SL2VL tables are the same everywhere.
#[derive(Debug, Clone, Copy)]
pub(in crate::engine) struct LeastVls {
    /// Over the ports between switches.
    /// 2 at least, or the fabric is refused.
    pub(in crate::engine) between_switches: u8,
    /// Over the end ports.
    /// Of CA and router ports and port 0; below 2 they have one QoS level.
    pub(in crate::engine) end_ports: u8,
}

/// Every reason why the configuration does not fit the fabric.
/// Source: OpenSM `osm_torus.c` (`verify_setup`), which stops at the first.
/// `strays` decides about seeds that lost a switch: torus-2QoS refuses them all, torus-proved goes
/// on with the one that lost least.
pub(super) fn verify(
    topology: &Topology,
    config: &TorusConfig,
    strays: Strays,
    warnings: &mut Vec<TorusWarning>,
) -> Result<Setup, Vec<TorusReason>> {
    let mut reasons = Vec::new();
    let shape = shape(config, &mut reasons);
    let vls = check_vls(topology, &mut reasons, warnings);
    check_port_order(topology, config, &mut reasons);
    let by_guid = topology
        .switch_ixs()
        .map(|ix| (topology.switch(ix).guid.get(), ix));
    let switches: HashMap<_, _> = by_guid.collect();
    let seed =
        shape.and_then(|shape| choose_seed(config, shape, &switches, &mut reasons, warnings));
    let mut missing = Vec::new();
    // Only if that is the sole reason: nothing else may be passed over for it.
    let seed = match reasons.as_mut_slice() {
        [TorusReason::NoUsableSeed { absent }] if strays == Strays::Place => {
            let seed = fullest_seed(config, absent);
            missing = std::mem::take(absent);
            reasons.clear();
            let absent = missing.clone();
            warnings.push(TorusWarning::PartialSeed { seed, absent });
            Some(seed)
        }
        _ => seed,
    };
    match (shape, seed) {
        (Some(shape), Some(seed)) if reasons.is_empty() => Ok(Setup {
            shape,
            seed,
            absent: missing,
            vls,
            switches,
        }),
        _ => Err(reasons),
    }
}

/// The shape as configured, if each axis has a radix that a fabric can have.
/// None as soon as one axis has none; the others are judged all the same.
fn shape(config: &TorusConfig, reasons: &mut Vec<TorusReason>) -> Option<Shape> {
    let mut radix = [0; 3];
    let mut missing = Vec::new();
    for axis in Axis::ALL {
        let wanted = config.radix[axis.index()];
        match u8::try_from(wanted) {
            Ok(0) => missing.push(axis),
            Ok(fits) => radix[axis.index()] = fits,
            Err(_) => reasons.push(TorusReason::RadixTooLarge {
                axis,
                radix: wanted,
            }),
        }
    }
    if !missing.is_empty() {
        reasons.push(TorusReason::RadixMissing { axes: missing });
    }
    radix.iter().all(|radix| *radix > 0).then_some(Shape {
        radix,
        mesh: config.mesh,
    })
}

/// The fewest data VLs, between switches and at end ports, and what they rule out.
/// Cables inside a switch or to nothing do not count; a fabric without any has 15.
fn check_vls(
    topology: &Topology,
    reasons: &mut Vec<TorusReason>,
    warnings: &mut Vec<TorusWarning>,
) -> LeastVls {
    let between = topology.switch_ixs().flat_map(|ix| {
        let ports = (0..=u8::MAX).zip(&topology.switch(ix).ports);
        let inner = ports.filter(|(_, port)| matches!(port.peer, Peer::Switch { .. }));
        inner.map(move |(number, port)| (port.data_vls.get(), ix, number))
    });
    // Which of several equal ports is named: the first in the fabric's order.
    let least = between.min_by_key(|(vls, ..)| *vls);
    if let Some((have, switch, port)) = least.filter(|(vls, ..)| *vls < 2) {
        let switch = SwitchName::new(topology, switch, None);
        reasons.push(TorusReason::TooFewVls { switch, port, have });
    }
    let between_switches = least.map_or(MOST_DATA_VLS, |(vls, ..)| vls);
    let ends = topology.end_ports.iter().map(|end| end.data_vls.get());
    let end_ports = ends.min().unwrap_or(MOST_DATA_VLS);
    // Bit 1 of a VL, which turns against the order need, takes four VLs.
    if between_switches < 4 {
        warnings.push(TorusWarning::NoFailedSwitchSupport {
            have: between_switches,
        });
    }
    // Bit 2, the QoS level, takes eight.
    if between_switches < 8 {
        warnings.push(TorusWarning::OneLevelBetweenSwitches {
            have: between_switches,
        });
    }
    if end_ports < 2 {
        warnings.push(TorusWarning::OneLevelAtEndPorts { have: end_ports });
    }
    LeastVls {
        between_switches,
        end_ports,
    }
}

/// What OpenSM starts from before it has seen a port.
/// So a fabric without ports of a kind gets no warning about that kind.
const MOST_DATA_VLS: u8 = 15;

/// As many entries of the order as a switch has ports must name ports that it has. Holds for all
/// switches, also for those that find no place.
///
/// An order of `1 2 3 40` refuses a fabric with switches of 36 ports: 40 stands among the first 37.
/// The default order never does.
fn check_port_order(topology: &Topology, config: &TorusConfig, reasons: &mut Vec<TorusReason>) {
    if config.port_order.is_empty() {
        return;
    }
    let order = config.full_port_order();
    // By port and size of switch, which most have in common.
    // One reason for all switches of a size, not one for each of a thousand.
    let mut lacking: BTreeMap<(u32, usize), Vec<SwitchIx>> = BTreeMap::new();
    for ix in topology.switch_ixs() {
        let count = topology.switch(ix).ports.len();
        let is_absent = |port: &&u32| usize::try_from(**port).is_ok_and(|port| port >= count);
        if let Some(port) = order.iter().take(count).find(is_absent) {
            lacking.entry((*port, count - 1)).or_default().push(ix);
        }
    }
    reasons.extend(
        lacking
            .into_iter()
            .map(|((port, ports), switches)| TorusReason::PortOrder {
                switch: SwitchName::new(topology, switches[0], None),
                others: switches.len() - 1,
                ports,
                port,
            }),
    );
}

/// A bad seed refuses everything, also behind a good one. Links between the switches of a seed are
/// not looked at.
/// A file without a seed is judged as one with an empty seed: it lacks a link on every axis.
fn choose_seed(
    config: &TorusConfig,
    shape: Shape,
    switches: &HashMap<u64, SwitchIx>,
    reasons: &mut Vec<TorusReason>,
    warnings: &mut Vec<TorusWarning>,
) -> Option<usize> {
    let none = [Seed::default()];
    let seeds = if config.seeds.is_empty() {
        &none
    } else {
        config.seeds.as_slice()
    };
    let faults = reasons.len();
    let mut absent = Vec::new();
    let mut chosen = None;
    for (number, seed) in seeds.iter().enumerate() {
        check_seed(number, seed, shape, reasons);
        let missing = absent_switches(number, seed, shape, switches);
        // What earlier seeds lack is told; what later ones lack does not matter any more.
        if chosen.is_none() {
            if missing.is_empty() {
                chosen = Some(number);
            }
            absent.extend(missing);
        }
    }
    match chosen {
        // Seeds that are ill formed were told already: that they are of no use follows.
        None if reasons.len() == faults => reasons.push(TorusReason::NoUsableSeed { absent }),
        Some(seed) if seed > 0 => warnings.push(TorusWarning::BackupSeed { seed, absent }),
        _ => {}
    }
    chosen
}

/// The first seed that lacks the fewest switches.
/// Counted by switches named, each once.
fn fullest_seed(config: &TorusConfig, absent: &[AbsentSeedSwitch]) -> usize {
    let lacks = |seed: &usize| absent.iter().filter(|it| it.seed == *seed).count();
    (0..config.seeds.len()).min_by_key(lacks).unwrap_or(0)
}

/// Whether a seed has a link on each axis, all of them from one switch.
///
/// A closed ring of four needs links both ways, since it looks like a face (see `fingerprint`).
fn check_seed(number: usize, seed: &Seed, shape: Shape, reasons: &mut Vec<TorusReason>) {
    for axis in Axis::ALL
        .into_iter()
        .filter(|axis| shape.radix_of(*axis) > 1)
    {
        let lacks = |direction: Direction| seed.link(direction).is_none();
        let missing = |need| TorusReason::SeedLinkMissing {
            seed: number,
            line: seed.line,
            axis,
            need,
        };
        if shape.radix_of(axis) == 4 && !shape.is_mesh(axis) {
            let both = [axis.plus(), axis.minus()]
                .into_iter()
                .filter(|it| lacks(*it));
            reasons.extend(both.map(|direction| missing(SeedNeed::RingOfFour(direction))));
            compare(number, seed, axis.plus(), axis.minus(), reasons);
        } else if lacks(axis.plus()) && lacks(axis.minus()) {
            reasons.push(missing(SeedNeed::Either));
        }
    }
    // y and z are not compared with each other.
    for other in [Axis::Z, Axis::Y] {
        if shape.radix_of(other) > 1 {
            let pairs = [
                (Axis::X.plus(), other.plus()),
                (Axis::X.plus(), other.minus()),
                (Axis::X.minus(), other.plus()),
                (Axis::X.minus(), other.minus()),
            ];
            let mut differing = Vec::new();
            for (first, second) in pairs {
                compare(number, seed, first, second, &mut differing);
            }
            // All four pairs differ together as a rule, and one message is enough.
            reasons.extend(differing.into_iter().next());
        }
    }
}

/// Two links of a seed must start at one switch.
/// Says nothing where one of the two is not given.
fn compare(
    number: usize,
    seed: &Seed,
    first: Direction,
    second: Direction,
    reasons: &mut Vec<TorusReason>,
) {
    let (Some(a), Some(b)) = (seed.link(first), seed.link(second)) else {
        return;
    };
    if a.common != b.common {
        reasons.push(TorusReason::SeedSwitchesDiffer {
            seed: number,
            line: b.line,
            first,
            first_guid: a.common,
            second,
            second_guid: b.common,
        });
    }
}

/// Switches of a seed's links along existing axes that the fabric lacks.
/// Each GUID once per seed, with the first line that names it.
fn absent_switches(
    number: usize,
    seed: &Seed,
    shape: Shape,
    switches: &HashMap<u64, SwitchIx>,
) -> Vec<AbsentSeedSwitch> {
    let given = seed
        .given()
        .filter(|(direction, _)| shape.radix_of(direction.axis) > 1);
    let ends = given.flat_map(
        |(
            _,
            SeedLink {
                common,
                neighbour,
                line,
            },
        )| { [(common, line), (neighbour, line)] },
    );
    let mut absent: Vec<AbsentSeedSwitch> = Vec::new();
    for (guid, line) in ends.filter(|(guid, _)| !switches.contains_key(guid)) {
        if absent.iter().all(|known| known.guid != guid) {
            absent.push(AbsentSeedSwitch {
                seed: number,
                guid,
                line,
            });
        }
    }
    absent
}
