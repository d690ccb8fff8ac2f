//! Fabrics made on the spot: tori with damage, and irregular graphs.

use std::collections::BTreeSet;
use std::fmt::Write;

use routing::{Topology, TorusConfig};
use sa_rig::rng::Rng;
use sa_snapshot::model::Capacity;
use sa_wire::{Mtu, RateRank, SlToVl};

use super::build::FabricBuilder;

/// A torus as it was built, before anything fails.
#[derive(Debug, Clone)]
pub(crate) struct TorusSpec {
    pub(crate) radix: [u8; 3],
    pub(crate) mesh: [bool; 3],
    /// Parallel cables by axis.
    pub(crate) parallel: [u8; 3],
    pub(crate) hosts: u8,
    pub(crate) ports: u8,
    /// Place of the seed switch.
    pub(crate) origin: [u8; 3],
    /// Random port numbers, if any.
    pub(crate) shuffle: Option<u64>,
    pub(crate) missing_switches: Vec<[u8; 3]>,
    /// Place, axis, and which of the parallel cables in the plus direction (none: all).
    pub(crate) missing_cables: Vec<([u8; 3], usize, Option<u8>)>,
    pub(crate) lmc: u8,
    pub(crate) op_vls: u8,
    pub(crate) port_order: Vec<u8>,
}

impl TorusSpec {
    pub(crate) fn new(radix: [u8; 3]) -> Self {
        Self {
            radix,
            mesh: [false; 3],
            parallel: [1; 3],
            hosts: 1,
            ports: 36,
            origin: [0; 3],
            shuffle: None,
            missing_switches: Vec::new(),
            missing_cables: Vec::new(),
            lmc: 0,
            op_vls: 4,
            port_order: Vec::new(),
        }
    }

    pub(crate) fn is_open(&self, axis: usize) -> bool {
        self.mesh[axis] || self.radix[axis] == 2
    }

    pub(crate) fn guid(&self, at: [u8; 3]) -> u64 {
        let [x, y, z] = at.map(u64::from);
        let [w, d, _] = self.radix.map(u64::from);
        0x20_0000 + x + w * (y + d * z)
    }

    pub(crate) fn places(&self) -> Vec<[u8; 3]> {
        let [w, d, h] = self.radix;
        (0..h)
            .flat_map(|z| (0..d).flat_map(move |y| (0..w).map(move |x| [x, y, z])))
            .collect()
    }

    pub(crate) fn is_missing(&self, at: [u8; 3]) -> bool {
        self.missing_switches.contains(&at)
    }

    /// The neighbour in the plus direction; none at an open end.
    pub(crate) fn next(&self, mut at: [u8; 3], axis: usize) -> Option<[u8; 3]> {
        if self.radix[axis] == 1 || (self.is_open(axis) && at[axis] + 1 == self.radix[axis]) {
            return None;
        }
        at[axis] = (at[axis] + 1) % self.radix[axis];
        Some(at)
    }

    /// torus-2QoS.conf, with the datelines at coordinate 0 of the places.
    pub(crate) fn config_text(&self) -> String {
        let mut text = String::from("torus");
        for axis in 0..3 {
            let suffix = if self.mesh[axis] { "m" } else { "" };
            write!(text, " {}{suffix}", self.radix[axis]).unwrap();
        }
        text.push('\n');
        let base = self.origin;
        for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
            let radix = self.radix[axis];
            if radix == 1 {
                continue;
            }
            let mut plus = base;
            plus[axis] = (base[axis] + 1) % radix;
            let mut minus = base;
            minus[axis] = (base[axis] + radix - 1) % radix;
            let has_plus = !self.is_open(axis) || base[axis] + 1 < radix;
            if has_plus {
                writeln!(
                    text,
                    "{name}p_link {:#x} {:#x}",
                    self.guid(base),
                    self.guid(plus)
                )
                .unwrap();
            }
            if !has_plus || (radix == 4 && !self.is_open(axis)) {
                writeln!(
                    text,
                    "{name}m_link {:#x} {:#x}",
                    self.guid(base),
                    self.guid(minus)
                )
                .unwrap();
            }
            if base[axis] != 0 {
                writeln!(text, "{name}_dateline -{}", base[axis]).unwrap();
            }
        }
        if !self.port_order.is_empty() {
            let order: Vec<_> = self.port_order.iter().map(u8::to_string).collect();
            writeln!(text, "port_order {}", order.join(" ")).unwrap();
        }
        text
    }

    pub(crate) fn config(&self) -> TorusConfig {
        TorusConfig::parse(&self.config_text()).unwrap()
    }

    pub(crate) fn fabric(&self) -> FabricBuilder {
        let mut random = Rng::new(self.shuffle.unwrap_or(0));
        let mut fabric = FabricBuilder {
            lmc: self.lmc,
            op_vls: self.op_vls,
            ..Default::default()
        };
        // Ports are dealt out on the whole torus, so that damage moves none.
        let mut free: std::collections::BTreeMap<[u8; 3], Vec<u8>> = self
            .places()
            .into_iter()
            .map(|at| {
                let mut ports: Vec<u8> = (1..=self.ports).rev().collect();
                if self.shuffle.is_some() {
                    random.shuffle(&mut ports);
                }
                (at, ports)
            })
            .collect();
        for at in self.places() {
            if !self.is_missing(at) {
                let [x, y, z] = at;
                fabric.switch(self.guid(at), self.ports, &format!("S{x}_{y}_{z}"));
            }
        }
        for at in self.places() {
            for axis in 0..3 {
                let Some(next) = self.next(at, axis) else {
                    continue;
                };
                for number in 0..self.parallel[axis] {
                    let near = free.get_mut(&at).unwrap().pop().unwrap();
                    let far = free.get_mut(&next).unwrap().pop().unwrap();
                    let is_cut = self.missing_cables.iter().any(|(place, cut, which)| {
                        *place == at && *cut == axis && which.is_none_or(|it| it == number)
                    });
                    if !is_cut && !self.is_missing(at) && !self.is_missing(next) {
                        fabric.cable((self.guid(at), near), (self.guid(next), far));
                    }
                }
            }
        }
        let mut guid = 0x10_0000;
        for at in self.places() {
            for _ in 0..self.hosts {
                let port = free.get_mut(&at).unwrap().pop().unwrap();
                guid += 0x10;
                if !self.is_missing(at) {
                    fabric.host(guid, 1, guid + 1, &format!("H{guid:x}"));
                    fabric.cable((guid, 1), (self.guid(at), port));
                }
            }
        }
        fabric
    }

    pub(crate) fn topology(&self) -> Topology {
        self.fabric().build()
    }
}

/// A random torus: some shape, parallel cables, ports, seed and a little damage.
pub(crate) fn random_torus(seed: u64, most_switches: u32) -> TorusSpec {
    let mut random = Rng::new(seed);
    let mut spec = loop {
        let radix = [0; 3].map(|_: u8| {
            let choices = [1, 1, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 8];
            choices[random.below(choices.len())]
        });
        let switches: u32 = radix.iter().map(|radix| u32::from(*radix)).product();
        if (2..=most_switches).contains(&switches) {
            break TorusSpec::new(radix);
        }
    };
    for axis in 0..3 {
        spec.mesh[axis] = random.below(5) == 0;
        spec.parallel[axis] = 1 + random.below(5) / 3;
        spec.origin[axis] = u8::try_from(random.below(u64::from(spec.radix[axis]))).unwrap();
    }
    spec.hosts = random.below(3);
    spec.lmc = random.below(6) / 4;
    spec.op_vls = [2, 3, 4, 4, 4][random.below(5)];
    spec.shuffle = (random.below(3) > 0).then(|| random.number());
    if random.below(4) == 0 {
        spec.port_order = (0..5).map(|_| 1 + random.below(36)).collect();
    }
    damage(&mut spec, &mut random);
    spec
}

/// A few missing switches and cables, or none. Seeds stay.
fn damage(spec: &mut TorusSpec, random: &mut Rng) {
    let places = spec.places();
    let any = |random: &mut Rng| places[random.below(places.len())];
    let kind = random.below(6);
    let near_seed = |at: [u8; 3]| {
        let far = (0..3)
            .filter(|axis| at[*axis] != spec.origin[*axis])
            .count();
        far <= 1
    };
    let mut gone = Vec::new();
    if kind == 1 || kind == 2 {
        let at = any(random);
        if !near_seed(at) {
            gone.push(at);
            for _ in 0..random.below(3) {
                let mut at = gone[gone.len() - 1];
                at[2] = (at[2] + 1) % spec.radix[2];
                if !near_seed(at) && !gone.contains(&at) {
                    gone.push(at);
                }
            }
        }
    }
    if kind == 5 {
        gone.extend((0..2).map(|_| any(random)).filter(|at| !near_seed(*at)));
    }
    spec.missing_switches = gone
        .into_iter()
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    if (2..=4).contains(&kind) {
        for _ in 0..1 + random.below(3) {
            let axis: usize = random.below(3);
            let which = (random.below(2) == 0).then_some(0);
            spec.missing_cables.push((any(random), axis, which));
        }
    }
}

/// An irregular fabric: some switches, cables at random, hosts here and there, links of different
/// speed, and, with `drops`, SL2VL tables that drop some SLs.
pub(crate) fn random_graph(seed: u64, drops: bool) -> FabricBuilder {
    let mut random = Rng::new(seed);
    let mut fabric = FabricBuilder {
        op_vls: 4,
        ..Default::default()
    };
    fabric.lmc = random.below(3);
    let switches = 1 + random.below(9);
    let guid = |switch: u64| 0x20_0000 + switch;
    let mut free: Vec<Vec<u8>> = vec![(1..=12).rev().collect(); usize::try_from(switches).unwrap()];
    for switch in 0..switches {
        fabric.switch(guid(switch), 12, &format!("sw{switch}"));
    }
    for _ in 0..random.below(switches * 3 + 1) {
        let (a, b) = (random.below(switches), random.below(switches));
        join(&mut fabric, &mut free, a, b, guid);
    }
    for host in 0..1 + random.below(8) {
        let node = 0x10_0000 + host * 0x10;
        for port in 1..=1 + random.below(2) {
            fabric.host(node, port, node + u64::from(port), &format!("h{host}"));
            let switch = random.below(switches + 1);
            let at = usize::try_from(switch).ok().and_then(|ix| free.get_mut(ix));
            if let Some(number) = at.and_then(Vec::pop) {
                fabric.cable((node, port), (guid(switch), number));
            }
        }
    }
    vary(&mut fabric, &mut random, drops);
    fabric
}

fn join(
    fabric: &mut FabricBuilder,
    free: &mut [Vec<u8>],
    a: u64,
    b: u64,
    guid: impl Fn(u64) -> u64,
) {
    let (near, far) = (usize::try_from(a).unwrap(), usize::try_from(b).unwrap());
    if let Some(port) = free[near].pop() {
        match free[far].pop() {
            Some(far_port) => fabric.cable((guid(a), port), (guid(b), far_port)),
            None => free[near].push(port),
        }
    }
}

/// Gives ports different MTUs, rates and tables.
pub(crate) fn vary(fabric: &mut FabricBuilder, random: &mut Rng, drops: bool) {
    let varied = random.below(3);
    let ports: Vec<(u64, u8)> = fabric
        .nodes
        .iter()
        .flat_map(|(guid, node)| (0..=node.ports).map(|port| (*guid, port)))
        .collect();
    for at in ports {
        if varied > 0 && random.below(3) < varied {
            let mtu = Mtu::from_code(3 + random.below(3)).unwrap();
            let rank = 3 + random.below(3);
            let rate = RateRank::from_raw(rank).unwrap();
            fabric.capacities.insert(at, Capacity { mtu, rate });
        }
        if drops && random.below(3) == 0 {
            let table = SlToVl([0; 16].map(|_: u8| [0, 1, 2, 15][random.below(4)]));
            fabric.sl2vl.insert(at, table);
        }
    }
}
