//! Torus and mesh fabrics to order, as ibsim net files with the matching `torus-2QoS.conf`.
//!
//! Ports are planned on the undamaged fabric, so that taking out a switch or a link moves nothing
//! else: two plans that differ only in damage describe one machine before and after a failure.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use thiserror::Error;

/// x, y, z.
pub type Coordinate = [u8; 3];

/// Units of node GUIDs: the first switch.
const SWITCH_GUIDS: u64 = 0x20_0000;
/// The first host; one every 16, port GUID one above the node's.
const HOST_GUIDS: u64 = 0x10_0000;

/// What to build.
#[derive(Debug, Clone)]
pub struct TorusSpec {
    /// Switches per axis; 1 for an axis that is not there. An axis of 2 is wired as a mesh.
    pub size: [u8; 3],
    /// Axes without the link that closes the ring.
    pub mesh: [bool; 3],
    /// Hosts per switch.
    pub hosts: u8,
    /// Parallel links per axis.
    pub parallel: [u8; 3],
    /// Switches left out, with their hosts.
    pub without_switches: BTreeSet<Coordinate>,
    /// Links left out, all parallel ones: from a switch in the plus direction of an axis.
    pub without_links: BTreeSet<(Coordinate, usize)>,
    /// Ports per switch.
    pub ports: u8,
    /// Switch whose links are the seed of the configuration.
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
    /// Place and port of the end on the minus side.
    pub from: (Coordinate, u8),
    /// Place and port of the end on the plus side.
    pub to: (Coordinate, u8),
}

/// A fabric that can be written as files.
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
    Link { axis: usize, plus: bool, nth: u8 },
    Host(u8),
}

/// Plans the fabric. Errors: [`GenerateError`].
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
        if at.iter().zip(spec.size).any(|(value, size)| *value >= size) {
            return Err(GenerateError::Outside(at[0], at[1], at[2]));
        }
    }
    if spec.without_switches.contains(&spec.origin) {
        let [x, y, z] = spec.origin;
        return Err(GenerateError::SeedMissing(x, y, z));
    }
    let hosts = coordinates(spec.size).count() * usize::from(spec.hosts);
    if hosts > 0x1_0000 {
        return Err(GenerateError::TooManyHosts(hosts));
    }
    let links: usize = spec
        .parallel
        .iter()
        .map(|links| usize::from(*links) * 2)
        .sum();
    let needed = links + usize::from(spec.hosts);
    if needed > usize::from(spec.ports)
        && port_plan(spec, spec.origin).len() > usize::from(spec.ports)
    {
        return Err(GenerateError::Ports {
            needed,
            ports: spec.ports,
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
        false => last,
    };
    let mut to = at;
    to[axis] = next;
    Some(to)
}

/// Port numbers by use, on the undamaged fabric.
fn port_plan(spec: &TorusSpec, at: Coordinate) -> BTreeMap<Use, u8> {
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
    uses.into_iter().zip(1..=u8::MAX).collect()
}

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

impl TorusPlan {
    /// The ibsim net file.
    pub fn net(&self) -> String {
        let mut wires: BTreeMap<Coordinate, BTreeMap<u8, String>> = BTreeMap::new();
        for link in &self.links {
            let ((from, near), (to, far)) = (link.from, link.to);
            let row = |port: u8, peer, peer_port| {
                format!("[{port}] \"{}\"[{peer_port}]", switch_name(peer))
            };
            wires
                .entry(from)
                .or_default()
                .insert(near, row(near, to, far));
            wires
                .entry(to)
                .or_default()
                .insert(far, row(far, from, near));
        }
        for host in &self.hosts {
            let row = format!("[{}] \"{}\"[1]", host.switch_port, host.name);
            wires
                .entry(host.coordinate)
                .or_default()
                .insert(host.switch_port, row);
        }
        let mut text = self.heading();
        for switch in &self.switches {
            let _ = writeln!(text, "switchguid=0x{:x}", switch.guid);
            let _ = writeln!(text, "Switch {} \"{}\"", self.spec.ports, switch.name);
            for row in wires
                .get(&switch.coordinate)
                .into_iter()
                .flat_map(BTreeMap::values)
            {
                text.push_str(row);
                text.push('\n');
            }
            text.push('\n');
        }
        for host in &self.hosts {
            let _ = writeln!(text, "caguid=0x{:x}\nHca 1 \"{}\"", host.guid, host.name);
            let peer = switch_name(host.coordinate);
            let _ = writeln!(text, "[1] \"{peer}\"[{}]\n", host.switch_port);
        }
        text
    }

    fn heading(&self) -> String {
        let spec = &self.spec;
        let [x, y, z] = spec.size;
        let mut text = format!("# torus {x} x {y} x {z}, {} hosts per switch", spec.hosts);
        for at in &spec.without_switches {
            let _ = write!(text, ", without {}", switch_name(*at));
        }
        for (at, axis) in &spec.without_links {
            let _ = write!(
                text,
                ", without {}:+{}",
                switch_name(*at),
                ["x", "y", "z"][*axis]
            );
        }
        text.push('\n');
        text
    }

    /// The matching `torus-2QoS.conf`.
    pub fn torus_conf(&self) -> String {
        let spec = &self.spec;
        let open = (0..3).all(|axis| spec.size[axis] == 1 || spec.is_open(axis));
        let mut text = String::from(if open { "mesh" } else { "torus" });
        for axis in 0..3 {
            let suffix = match spec.size[axis] {
                1 => "",
                _ if spec.is_open(axis) => "m",
                _ => "t",
            };
            let _ = write!(text, " {}{suffix}", spec.size[axis]);
        }
        text.push('\n');
        for axis in (0..3).filter(|axis| spec.size[*axis] > 1) {
            self.seed_lines(axis, &mut text);
        }
        text
    }

    fn seed_lines(&self, axis: usize, text: &mut String) {
        let spec = &self.spec;
        let name = ["x", "y", "z"][axis];
        let plus = neighbour(spec, spec.origin, axis, true);
        let minus = neighbour(spec, spec.origin, axis, false);
        let origin = self.guid(spec.origin);
        // A ring of four is itself a face, so both directions must be told apart.
        let ring_of_four = spec.size[axis] == 4 && !spec.is_open(axis);
        if let Some(to) = plus {
            let _ = writeln!(text, "{name}p_link 0x{origin:x} 0x{:x}", self.guid(to));
        }
        if let Some(to) = minus
            && (ring_of_four || plus.is_none())
        {
            let _ = writeln!(text, "{name}m_link 0x{origin:x} 0x{:x}", self.guid(to));
        }
        if spec.origin[axis] != 0 {
            let _ = writeln!(text, "{name}_dateline -{}", spec.origin[axis]);
        }
    }

    fn guid(&self, at: Coordinate) -> u64 {
        let [x, y, z] = at.map(u64::from);
        let [sx, sy, _] = self.spec.size.map(u64::from);
        SWITCH_GUIDS + x + sx * (y + sy * z)
    }
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
