//! A fabric with everything that answers depend on, compiled.

use std::path::Path;
use std::sync::Arc;

use routing::tables::{PathSlRule, PathSlTable};
use routing::{GivenSl2Vl, Routes, SwitchIx, Topology};
use sa_compiler::pipeline::{self, Inputs, OnPolicyError, PipelineError, Stamp};
use sa_compiler::state::FabricState;
use sa_fabric::Node;
use sa_fabric::formats::net;
use sa_snapshot::Snapshot;
use sa_snapshot::model::{PathSl, RateCaps};
use sa_tests::random::dialects;
use sa_tests::random::options::{self, Names};
use sa_tests::rng::Rng;
use sa_wire::{DataVls, Lmc, Mtu, NodeType, Rate, Sl, SlToVl};

use super::fabrics::{self, FabricFiles};

/// What a fabric looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Irregular, shortest paths or damaged tables.
    Graph,
    /// A torus, torus-2QoS.
    Torus,
    /// A line of 70 switches.
    Chain,
    /// A thousand hosts with a P_Key table of their own each.
    ManyTables,
    /// Few ports with many LIDs, so that a wildcard finds more than a reply may hold.
    ManyLids,
    /// As [`Self::Graph`], with SLs that an engine gives to pairs, some of them not known.
    PairSls,
}

/// Texts and choices; a world is made from nothing else.
#[derive(Debug, Clone)]
pub(crate) struct Recipe {
    pub(crate) net: String,
    pub(crate) torus_conf: Option<String>,
    pub(crate) partitions: Option<String>,
    pub(crate) policy: Option<String>,
    pub(crate) opensm_conf: Option<String>,
    pub(crate) prefix_routes: Option<String>,
    /// An `opensm-sa.dump` with alias GUIDs.
    pub(crate) aliases: Option<String>,
    pub(crate) qos: Option<bool>,
    pub(crate) lmc: Option<u8>,
    pub(crate) mtu: Option<Mtu>,
    pub(crate) vl_cap: Option<DataVls>,
    /// Seed of what no file can say: capabilities of single ports, tables that lead astray.
    pub(crate) alter: Option<u64>,
    /// Seed of what OpenSM's policies cannot say.
    pub(crate) dialect: Option<u64>,
    /// Seed of the SLs of pairs.
    pub(crate) sls: Option<u64>,
}

impl Recipe {
    pub(crate) fn new(rng: &mut Rng, kind: Kind) -> Self {
        let FabricFiles { net, torus_conf } = match kind {
            Kind::Graph | Kind::PairSls => fabrics::graph(rng),
            Kind::Torus => fabrics::torus(rng),
            Kind::Chain => fabrics::chain(rng),
            Kind::ManyTables => fabrics::many_hosts(rng, 1100),
            Kind::ManyLids => fabrics::many_hosts(rng, 9),
        };
        let names = names(&net);
        let partitions = match kind {
            Kind::ManyTables => Some(options::many_partitions(rng, &names)),
            Kind::ManyLids => None,
            _ if rng.one_in(4) => None,
            _ => Some(options::partitions(rng, &names)),
        };
        let lmc = match kind {
            Kind::ManyLids => Some(7),
            Kind::ManyTables => Some(0),
            _ => rng.one_in(3).then(|| rng.within(0, 2)),
        };
        Self {
            net,
            torus_conf,
            partitions,
            policy: (!rng.one_in(4)).then(|| options::policy(rng, &names)),
            opensm_conf: (!rng.one_in(4)).then(|| options::opensm_conf(rng)),
            prefix_routes: (!rng.one_in(3)).then(|| options::prefix_routes(rng, &names)),
            aliases: match kind {
                Kind::ManyLids => None,
                _ => rng.one_in(3).then(|| {
                    let often = rng.pick(&[1, 4, 12]);
                    options::aliases(rng, &names, often)
                }),
            },
            qos: rng.one_in(5).then(|| kind == Kind::Torus && rng.one_in(2)),
            lmc,
            mtu: rng
                .one_in(3)
                .then(|| Mtu::from_code(rng.within(1, 5)).unwrap()),
            vl_cap: rng
                .one_in(6)
                .then(|| DataVls::from_code(rng.within(1, 5)).unwrap()),
            alter: (!rng.one_in(3)).then(|| rng.number()),
            dialect: rng.one_in(2).then(|| rng.number()),
            sls: (kind == Kind::PairSls).then(|| rng.number()),
        }
    }

    /// Writes the texts into a directory, for the compiler or to be looked at.
    pub(crate) fn write(&self, directory: &Path) -> Inputs {
        let put = |name: &str, text: &Option<String>| {
            let path = directory.join(name);
            text.as_ref().map(|text| {
                std::fs::write(&path, text).unwrap();
                path
            })
        };
        std::fs::write(directory.join("net"), &self.net).unwrap();
        Inputs {
            fabric: directory.join("net"),
            torus_conf: put("torus-2QoS.conf", &self.torus_conf),
            partitions: put("partitions.conf", &self.partitions),
            policy: put("policy.conf", &self.policy),
            opensm_conf: put("opensm.conf", &self.opensm_conf),
            is_q_given: true,
            prefix_routes: put("prefix-routes.conf", &self.prefix_routes),
            aliases: put("opensm-sa.dump", &self.aliases),
            on_policy_error: OnPolicyError::None,
            qos: self.qos,
            lmc: self.lmc.map(|lmc| Lmc::new(lmc).unwrap()),
            mtu: self.mtu,
            vl_cap: self.vl_cap,
            ..Inputs::default()
        }
    }
}

/// Who is in a net file.
fn names(net: &str) -> Names {
    let fabric = net::parse(net.as_bytes()).unwrap_or_else(|error| panic!("{error:?}\n{net}"));
    let guids = |nodes: &mut dyn Iterator<Item = &Node>| {
        let ports = nodes.flat_map(|node| &node.ports);
        let guids = ports.filter_map(|port| port.guid);
        guids.map(|guid| guid.get()).collect()
    };
    let mut routers = fabric.nodes().iter();
    let mut routers = routers
        .by_ref()
        .filter(|node| node.kind == NodeType::Router);
    Names {
        guids: guids(&mut fabric.nodes().iter()),
        routers: guids(&mut routers),
        nodes: fabric
            .nodes()
            .iter()
            .map(|node| node.description.clone())
            .collect(),
    }
}

/// What is asked.
pub(crate) struct World {
    pub(crate) recipe: Recipe,
    pub(crate) parts: FabricState,
    pub(crate) snapshot: Snapshot,
}

impl World {
    /// Compiles. None where the inputs are refused, which happens to some tori.
    pub(crate) fn new(recipe: Recipe) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let inputs = recipe.write(directory.path());
        let compiled = match pipeline::compile(&inputs, Stamp::default()) {
            Ok(compiled) => compiled,
            Err(PipelineError::Refused(_)) => return None,
            Err(error) => panic!("{error}\n{recipe:#?}"),
        };
        let (mut parts, mut snapshot) = (compiled.parts, compiled.snapshot);
        if let Some(seed) = recipe.alter {
            alter(&mut Rng::new(seed), &mut parts);
        }
        if let (Some(seed), Some(policy)) = (recipe.dialect, &mut parts.policy) {
            dialects::change(&mut Rng::new(seed), policy);
        }
        if let Some(seed) = recipe.sls {
            let table = sls(&mut Rng::new(seed), &parts.topology);
            let rule = PathSlRule::Table(Arc::new(table));
            parts.routes = parts.routes.with_path_sl(rule);
        }
        if recipe.alter.is_some() || recipe.dialect.is_some() || recipe.sls.is_some() {
            snapshot = pipeline::build(&parts, Vec::new(), Stamp::default()).unwrap();
        }
        Some(Self {
            recipe,
            parts,
            snapshot,
        })
    }
}

/// Changes what no file can say.
fn alter(rng: &mut Rng, parts: &mut FabricState) {
    let often = rng.pick(&[2, 6, 40]);
    change_capacities(rng, &mut parts.topology, often);
    for caps in &mut parts.rate_caps {
        if rng.one_in(3) {
            *caps = RateCaps {
                extended_speeds: rng.one_in(2),
                width_2x: rng.one_in(2),
                hdr: rng.one_in(2),
                ndr: rng.one_in(2),
            };
        }
    }
    if parts.routes.torus().is_none() && rng.one_in(2) {
        parts.routes = astray(rng, &parts.topology, &parts.routes);
    }
}

/// SLs by switches or by pairs; a few of them are the policy's, a few or none not known.
fn sls(rng: &mut Rng, topology: &Topology) -> PathSlTable {
    let unknown = rng.pick(&[0, 1, 1, 20]);
    let kinds = rng.within(1, 5);
    let seed = rng.number();
    let sl = |from: u32, to: u32| {
        let (from, to) = (from % u32::from(kinds), to % u32::from(kinds));
        let mut rng = Rng::new(seed ^ u64::from(from << 8 | to));
        match rng.within(0, 100) {
            case if case < unknown => PathSl::Unknown,
            case if case < unknown + 20 => PathSl::Policy,
            _ => PathSl::Given(Sl::from_low_bits(rng.within(0, 15))),
        }
    };
    let given = |from: SwitchIx, to: SwitchIx| match sl(from.0, to.0) {
        PathSl::Given(sl) => Some(sl),
        _ => (unknown == 0).then(Sl::default),
    };
    match rng.one_in(3) {
        true => PathSlTable::by_switch(topology, given),
        false => PathSlTable::by_pair(topology, |from, lid| sl(from.0, u32::from(lid.get()))),
    }
}

fn change_capacities(rng: &mut Rng, topology: &mut Topology, often: usize) {
    let switches = topology
        .switches
        .iter_mut()
        .flat_map(|switch| &mut switch.ports);
    let ports = switches.map(|port| &mut port.capacity);
    let ends = topology.end_ports.iter_mut().map(|port| &mut port.capacity);
    for capacity in ports.chain(ends) {
        if rng.one_in(often) {
            capacity.mtu = Mtu::from_code(rng.within(1, 5)).unwrap();
        }
        if rng.one_in(often) {
            capacity.rate = Rate::from_code(rng.within(2, 24)).unwrap().rank();
        }
    }
}

/// The same routes with some forwarding entries changed and some SL2VL tables replaced.
fn astray(rng: &mut Rng, topology: &Topology, routes: &Routes) -> Routes {
    let often = rng.pick(&[4, 20, 100]);
    let mut lfts: Vec<Vec<u8>> = topology
        .switch_ixs()
        .map(|switch| routes.lft(switch).to_vec())
        .collect();
    for (lft, switch) in lfts.iter_mut().zip(&topology.switches) {
        let ports = u8::try_from(switch.ports.len() - 1).unwrap();
        for entry in lft {
            if rng.one_in(often) {
                *entry = if rng.one_in(3) {
                    routing::NO_PATH
                } else {
                    rng.within(0, ports)
                };
            }
        }
    }
    let mut sl2vl = GivenSl2Vl::default();
    for switch in topology.switch_ixs() {
        let ports = u8::try_from(topology.switch(switch).ports.len() - 1).unwrap();
        for _ in 0..rng.below(8) {
            let row = (
                switch,
                rng.within(0, ports),
                rng.within(0, ports),
                table(rng),
            );
            sl2vl.switches.push(row);
        }
    }
    for end in topology.end_port_ixs() {
        // A switch's own table stands among those of the switches.
        if topology.end_port(end).port_number > 0 && rng.one_in(8) {
            sl2vl.end_ports.push((end, table(rng)));
        }
    }
    routing::engine::files::route(topology, &lfts, &sl2vl).unwrap()
}

fn table(rng: &mut Rng) -> SlToVl {
    let often = rng.pick(&[2, 6, 16]);
    SlToVl(std::array::from_fn(|_| {
        if rng.one_in(often) {
            15
        } else {
            rng.within(0, 14)
        }
    }))
}
