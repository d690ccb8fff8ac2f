//! Fabrics to order, as ibsim net files: tori and meshes here, with the matching `torus-2QoS.conf`; other shapes in
//! files of their own, on a common [`Wiring`].
//!
//! Ports are planned on the undamaged fabric, so that taking out a switch or a link moves nothing
//! else: two plans that differ only in damage describe one machine before and after a failure.
//! GUIDs count all places, too, also those of switches that are left out.
//!
//! A plan of 2 x 2 x 1 with one host each:
//!
//! ```text
//!  switch  GUID       ports 1.. : +x or -x, +y or -y, host    host GUID (port GUID one more)
//!  S0_0_0  0x200000   1 -> S1_0_0   2 -> S0_1_0   3 -> H0_0_0_0   0x100000
//!  S1_0_0  0x200001   1 -> S0_0_0   2 -> S1_1_0   3 -> H1_0_0_0   0x100010
//! ```
//!
//! GUIDs are small and in the order of places so that people can read them in dumps; they are not
//! the order in which OpenSM goes through its maps, which is by reversed bytes.
//!
//! Users: `sapphire fabric`, tests and benchmarks. `text` writes the files of a torus.

mod dragonfly;
mod fat_tree;
mod hyperx;
mod named;
mod random;
mod text;
mod wiring;

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

pub use dragonfly::{DragonflySpec, dragonfly};
pub use fat_tree::{FatTreeSpec, fat_tree};
pub use hyperx::{HyperXSpec, hyperx};
pub use named::{NameError, named};
pub use random::{RandomSpec, random};
pub use wiring::Wiring;
use wiring::{MOST_NODES, MOST_PORTS};

/// x, y, z.
///
/// From 0; x varies fastest wherever places are listed.
pub type Coordinate = [u8; 3];

/// Units of node GUIDs: the first switch.
const SWITCH_GUIDS: u64 = 0x20_0000;
/// The first host; one every 16, port GUID one above the node's.
const HOST_GUIDS: u64 = 0x10_0000;

/// What to build.
///
/// Checked when it is planned, not when it is made.
#[derive(Debug, Clone)]
pub struct TorusSpec {
    /// Switches per axis; 1 for an axis that is not there. An axis of 2 is wired as a mesh: both
    /// links of its ring would lead to the same neighbour.
    pub size: [u8; 3],
    /// Axes without the link that closes the ring.
    pub mesh: [bool; 3],
    /// Hosts per switch.
    pub hosts: u8,
    /// Parallel links per axis and direction.
    pub parallel: [u8; 3],
    /// Switches left out, with their hosts.
    pub without_switches: BTreeSet<Coordinate>,
    /// Links left out, all parallel ones: from a switch in the plus direction of an axis (0 x, 1 y,
    /// 2 z).
    pub without_links: BTreeSet<(Coordinate, usize)>,
    /// Ports per switch.
    pub ports: u8,
    /// Switch whose links are the seed of the configuration: torus-2QoS begins there to find its
    /// axes.
    pub origin: Coordinate,
}

impl TorusSpec {
    /// An undamaged torus with single links on 36-port switches, or more ports when hosts need
    /// them.
    pub fn new(size: [u8; 3], hosts: u8) -> Self {
        Self {
            size,
            mesh: [false; 3],
            hosts,
            parallel: [1; 3],
            without_switches: BTreeSet::new(),
            without_links: BTreeSet::new(),
            ports: 36.max(hosts.saturating_add(6)),
            origin: [0; 3],
        }
    }

    /// An axis without a closing link.
    const fn is_open(&self, axis: usize) -> bool {
        self.mesh[axis] || self.size[axis] <= 2
    }
}

/// A spec that cannot be built.
///
/// Found before anything is planned.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GenerateError {
    /// An axis of no switches.
    #[error("axis {0} has size 0; use 1 for an axis that is not there")]
    EmptyAxis(char),
    /// Not enough ports.
    #[error("a switch needs {needed} ports for its links and hosts, but has {ports}")]
    Ports {
        /// How many it needs.
        needed: usize,
        /// How many it has.
        ports: u8,
    },
    /// A coordinate outside the torus.
    #[error("{0},{1},{2} lies outside the torus")]
    Outside(u8, u8, u8),
    /// More hosts than GUIDs set aside for them.
    #[error("{0} hosts are more than the 65536 that can be numbered")]
    TooManyHosts(usize),
    /// The seed switch was taken out.
    #[error("the seed switch {0},{1},{2} is left out; choose another origin")]
    SeedMissing(u8, u8, u8),
    /// A number that fits no such fabric.
    #[error("{what} must be {expected}")]
    Number {
        /// Which.
        what: &'static str,
        /// What it must be.
        expected: &'static str,
    },
    /// More nodes than a subnet has LIDs for.
    #[error("switches and hosts are more than the 49151 that a subnet has LIDs for")]
    TooManyNodes,
    /// Damage to a switch that is not there.
    #[error("there is no switch {0}")]
    NoSuchSwitch(String),
    /// Damage to a cable that is not there.
    #[error("no cable is at port {port} of {switch}")]
    NoSuchCable {
        /// The name of the switch.
        switch: String,
        /// Its port.
        port: u8,
    },
}

/// Errors: `Number`, unless the condition holds.
const fn need(
    holds: bool,
    what: &'static str,
    expected: &'static str,
) -> Result<(), GenerateError> {
    if holds {
        Ok(())
    } else {
        Err(GenerateError::Number { what, expected })
    }
}

/// A planned switch.
#[derive(Debug, Clone)]
pub struct PlannedSwitch {
    /// `S<x>_<y>_<z>`
    pub name: String,
    /// Node GUID.
    pub guid: u64,
    /// Its place.
    pub coordinate: Coordinate,
}

/// A planned host.
#[derive(Debug, Clone)]
pub struct PlannedHost {
    /// `H<x>_<y>_<z>_<n>`
    pub name: String,
    /// Node GUID; the port GUID is one more.
    pub guid: u64,
    /// Place of its switch.
    pub coordinate: Coordinate,
    /// Port of its switch.
    pub switch_port: u8,
}

/// A cable between switches.
#[derive(Debug, Clone)]
pub struct PlannedLink {
    /// Place and port of the end on the minus side: the switch whose plus port it is.
    pub from: (Coordinate, u8),
    /// Place and port of the end on the plus side.
    pub to: (Coordinate, u8),
}

/// A fabric that can be written as files.
///
/// Plain lists: tests take what they need without reading the files back.
#[derive(Debug, Clone)]
pub struct TorusPlan {
    /// What it was made from.
    pub spec: TorusSpec,
    /// x runs fastest.
    pub switches: Vec<PlannedSwitch>,
    /// In the order of their switches.
    pub hosts: Vec<PlannedHost>,
    /// In the order of their minus ends.
    pub links: Vec<PlannedLink>,
}

/// What a port of a switch is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Use {
    /// One of the parallel links of an axis in a direction.
    Link { axis: usize, plus: bool, nth: u8 },
    /// The nth host of the switch.
    Host(u8),
}

/// Plans the fabric. Errors: [`GenerateError`].
///
/// Cost: for each link the ports of both its ends are planned.
pub fn plan(spec: &TorusSpec) -> Result<TorusPlan, GenerateError> {
    check(spec)?;
    let mut plan = TorusPlan {
        spec: spec.clone(),
        switches: vec![],
        hosts: vec![],
        links: vec![],
    };
    let mut host_guid = HOST_GUIDS;
    for (coordinate, guid) in coordinates(spec.size).zip(SWITCH_GUIDS..) {
        // Counted for every place: a switch that is left out keeps the GUIDs of its hosts free.
        let hosts = host_guid;
        host_guid += u64::from(spec.hosts) * 0x10;
        if spec.without_switches.contains(&coordinate) {
            continue;
        }
        let ports = port_plan(spec, coordinate);
        plan.switches.push(PlannedSwitch {
            name: switch_name(coordinate),
            guid,
            coordinate,
        });
        plan_hosts(&mut plan, coordinate, hosts, &ports);
        plan_links(&mut plan, coordinate, &ports);
    }
    Ok(plan)
}

/// Errors: what can only be wrong with the numbers. That links have ends follows from how they are
/// planned.
fn check(spec: &TorusSpec) -> Result<(), GenerateError> {
    for (axis, size) in ['x', 'y', 'z'].iter().zip(spec.size) {
        if size == 0 {
            return Err(GenerateError::EmptyAxis(*axis));
        }
    }
    let named = spec
        .without_switches
        .iter()
        .chain(spec.without_links.iter().map(|(at, _)| at));
    for at in named.chain([&spec.origin]) {
        // Also the origin: a seed outside would give a configuration that names no switch.
        if at.iter().zip(spec.size).any(|(value, size)| *value >= size) {
            return Err(GenerateError::Outside(at[0], at[1], at[2]));
        }
    }
    if spec.without_switches.contains(&spec.origin) {
        let [x, y, z] = spec.origin;
        return Err(GenerateError::SeedMissing(x, y, z));
    }
    let hosts = coordinates(spec.size).count() * usize::from(spec.hosts);
    let places = coordinates(spec.size).count() - spec.without_switches.len();
    if places * (1 + usize::from(spec.hosts)) > MOST_NODES {
        return Err(GenerateError::TooManyNodes);
    }
    // GUIDs of hosts are 16 apart, from 0x100000 up to those of switches at 0x200000.
    if hosts > 0x1_0000 {
        return Err(GenerateError::TooManyHosts(hosts));
    }
    let links: usize = spec
        .parallel
        .iter()
        .map(|links| usize::from(*links) * 2)
        .sum();
    let needed = links + usize::from(spec.hosts);
    // The quick sum counts both directions of every axis; an open end or a missing axis needs
    // fewer, so the seed switch is planned for certain.
    let most = spec.ports.min(MOST_PORTS);
    if needed > usize::from(most) && uses(spec, spec.origin).len() > usize::from(most) {
        return Err(GenerateError::Ports {
            needed,
            ports: most,
        });
    }
    Ok(())
}

/// All places, x fastest.
fn coordinates(size: [u8; 3]) -> impl Iterator<Item = Coordinate> {
    let [sx, sy, sz] = size;
    (0..sz).flat_map(move |z| (0..sy).flat_map(move |y| (0..sx).map(move |x| [x, y, z])))
}

/// The neighbour on an axis; none past the end of an open one.
///
/// An axis of one switch has no links, not even to itself.
fn neighbour(spec: &TorusSpec, at: Coordinate, axis: usize, plus: bool) -> Option<Coordinate> {
    let size = spec.size[axis];
    if size == 1 {
        return None;
    }
    let (value, last) = (at[axis], size - 1);
    let open = spec.is_open(axis);
    let next = match plus {
        true if value < last => value + 1,
        false if value > 0 => value - 1,
        _ if open => return None,
        true => 0,
        // Around the ring, which is closed here.
        false => last,
    };
    let mut to = at;
    to[axis] = next;
    Some(to)
}

/// What the ports of a switch are for, on the undamaged fabric.
///
/// First x, y, z with plus before minus, then hosts: the same number means the same on every inner
/// switch.
fn uses(spec: &TorusSpec, at: Coordinate) -> Vec<Use> {
    let mut uses = Vec::new();
    for axis in 0..3 {
        for nth in 0..spec.parallel[axis] {
            for plus in [true, false] {
                if neighbour(spec, at, axis, plus).is_some() {
                    uses.push(Use::Link { axis, plus, nth });
                }
            }
        }
    }
    uses.extend((0..spec.hosts).map(Use::Host));
    uses
}

/// Port numbers by use.
fn port_plan(spec: &TorusSpec, at: Coordinate) -> BTreeMap<Use, u8> {
    // `check` has refused more uses than ports.
    uses(spec, at).into_iter().zip(1..=MOST_PORTS).collect()
}

/// Hosts of a switch, by number.
fn plan_hosts(plan: &mut TorusPlan, at: Coordinate, first: u64, ports: &BTreeMap<Use, u8>) {
    for (nth, guid) in (0..plan.spec.hosts).zip((first..).step_by(0x10)) {
        let [x, y, z] = at;
        plan.hosts.push(PlannedHost {
            name: format!("H{x}_{y}_{z}_{nth}"),
            guid,
            coordinate: at,
            switch_port: ports.get(&Use::Host(nth)).copied().unwrap_or(0),
        });
    }
}

/// The links of a switch in plus directions; those in minus directions are planned by its
/// neighbours.
fn plan_links(plan: &mut TorusPlan, at: Coordinate, ports: &BTreeMap<Use, u8>) {
    for axis in 0..3 {
        let Some(to) = neighbour(&plan.spec, at, axis, true) else {
            continue;
        };
        let gone = plan.spec.without_switches.contains(&to)
            || plan.spec.without_links.contains(&(at, axis));
        if gone {
            continue;
        }
        let far = port_plan(&plan.spec, to);
        for nth in 0..plan.spec.parallel[axis] {
            let near = ports.get(&Use::Link {
                axis,
                plus: true,
                nth,
            });
            let far = far.get(&Use::Link {
                axis,
                plus: false,
                nth,
            });
            if let (Some(near), Some(far)) = (near, far) {
                plan.links.push(PlannedLink {
                    from: (at, *near),
                    to: (to, *far),
                });
            }
        }
    }
}

fn switch_name([x, y, z]: Coordinate) -> String {
    format!("S{x}_{y}_{z}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torus_has_three_links_per_switch() {
        let plan = plan(&TorusSpec::new([5, 4, 3], 2)).unwrap();
        assert_eq!(plan.switches.len(), 60);
        assert_eq!(plan.hosts.len(), 120);
        assert_eq!(plan.links.len(), 180);
    }

    #[test]
    fn damage_moves_no_port_and_no_guid() {
        let whole = plan(&TorusSpec::new([4, 4, 4], 1)).unwrap();
        let mut spec = TorusSpec::new([4, 4, 4], 1);
        spec.without_switches.insert([1, 2, 3]);
        spec.without_links.insert(([0, 0, 0], 0));
        let damaged = plan(&spec).unwrap();
        assert_eq!(damaged.switches.len(), 63);
        assert_eq!(damaged.links.len(), whole.links.len() - 6 - 1);
        let whole_net = whole.net();
        let missing = damaged
            .net()
            .lines()
            .skip(1)
            .filter(|line| !whole_net.contains(line))
            .count();
        assert_eq!(missing, 0);
    }

    #[test]
    fn an_axis_of_two_is_a_mesh() {
        let plan = plan(&TorusSpec::new([2, 5, 4], 1)).unwrap();
        let conf = plan.torus_conf();
        assert!(conf.starts_with("torus 2m 5t 4t\n"), "{conf}");
        assert!(conf.contains("zm_link"), "radix 4 needs both seeds: {conf}");
    }

    #[test]
    fn a_torus_is_no_larger_than_a_subnet_and_a_switch_no_larger_than_its_port_numbers() {
        let hosts = |hosts| plan(&TorusSpec::new([4, 4, 4], hosts));
        assert_eq!(hosts(248).unwrap().hosts.len(), 64 * 248);
        let error = |needed| GenerateError::Ports { needed, ports: 254 };
        assert_eq!(hosts(249).unwrap_err(), error(255));
        assert_eq!(hosts(255).unwrap_err(), error(261));
        // 49,151 LIDs: 24,389 switches with a host each, and no fewer than 27,000.
        assert!(plan(&TorusSpec::new([29, 29, 29], 1)).is_ok());
        let large = plan(&TorusSpec::new([30, 30, 30], 1));
        assert_eq!(large.unwrap_err(), GenerateError::TooManyNodes);
    }

    #[test]
    fn impossible_wishes_are_refused() {
        assert_eq!(
            plan(&TorusSpec::new([0, 2, 2], 1)).unwrap_err(),
            GenerateError::EmptyAxis('x')
        );
        let mut spec = TorusSpec::new([3, 3, 3], 1);
        spec.without_switches.insert([3, 0, 0]);
        assert_eq!(plan(&spec).unwrap_err(), GenerateError::Outside(3, 0, 0));
    }
}
