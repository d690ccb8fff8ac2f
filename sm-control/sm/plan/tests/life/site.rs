//! A fabric, what is plugged in and switched on of it, and the files of its operator.
//!
//! What should be so is kept here and brought about by [`Site::settle`], so that events may come in any order and all at once: a cable is in
//! where nobody has pulled it and both of its nodes are on.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use fabric_simulator::Simulator;
use routing::EngineKind;
use sa_compiler::pipeline::Inputs;
use sa_fabric::formats::net;
use sa_fabric::generate::{TorusSpec, named, plan};
use sa_fabric::{Fabric, NodeIx, PortRef};
use sa_wire::{Guid, Mlid, NodeType};
use tempfile::TempDir;

use crate::random::Random;

pub(crate) struct Site {
    pub(crate) fabric: Fabric,
    pub(crate) inputs: Inputs,
    /// Engines that an operator may name; the first is in force at the beginning.
    pub(crate) engines: Vec<Inputs>,
    folder: TempDir,
    /// Cables between switches.
    pub(crate) cables: Vec<(PortRef, PortRef)>,
    pub(crate) pulled: BTreeSet<usize>,
    pub(crate) off: BTreeSet<NodeIx>,
    /// Hosts that are there, with the switch port that each is plugged into.
    pub(crate) homes: BTreeMap<NodeIx, PortRef>,
    /// Switch ports that no host is plugged into.
    pub(crate) free: BTreeSet<PortRef>,
    /// Hosts that are nowhere.
    pub(crate) spare: BTreeSet<NodeIx>,
    pub(crate) sm: PortRef,
    pub(crate) members: BTreeMap<Mlid, BTreeSet<Guid>>,
    pub(crate) aliases: BTreeMap<Guid, Vec<u64>>,
    /// Everybody is in the default partition, as a full member.
    pub(crate) is_open: bool,
}

impl Site {
    /// 5x5x5 switches with a host each, by torus-2QoS with QoS.
    pub(crate) fn torus(size: [u8; 3]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let plan = plan(&TorusSpec::new(size, 1)).unwrap();
        let conf = folder.path().join("torus-2QoS.conf");
        fs::write(&conf, plan.torus_conf()).unwrap();
        let by = |engine, torus_conf| Inputs {
            engine: Some(engine),
            torus_conf,
            qos: Some(true),
            ..Inputs::default()
        };
        let engines = vec![
            by(EngineKind::Torus2Qos, Some(conf)),
            by(EngineKind::UpDown, None),
            by(EngineKind::DfssspNue, None),
        ];
        let fabric = net::parse(plan.net().as_bytes()).unwrap();
        Self::new(fabric, engines, folder)
    }

    /// Three levels, by the fat tree's engine.
    pub(crate) fn fat_tree(word: &str) -> Self {
        let text = named(word).unwrap().unwrap().net();
        let by = |engine| Inputs {
            engine: Some(engine),
            ..Inputs::default()
        };
        let engines = [
            EngineKind::FatTree,
            EngineKind::UpDown,
            EngineKind::DfssspNue,
        ];
        let fabric = net::parse(text.as_bytes()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        Self::new(fabric, engines.map(by).into(), folder)
    }

    fn new(fabric: Fabric, engines: Vec<Inputs>, folder: TempDir) -> Self {
        let is_switch = |at: PortRef| fabric.node(at.node).kind == NodeType::Switch;
        let all: Vec<_> = fabric.cabled().filter(|(one, far)| one < far).collect();
        let (cables, edges): (Vec<_>, Vec<_>) = all
            .into_iter()
            .partition(|(one, far)| is_switch(*one) && is_switch(*far));
        let home = |(one, far): (PortRef, PortRef)| match is_switch(one) {
            true => (far.node, one),
            false => (one.node, far),
        };
        let homes: BTreeMap<_, _> = edges.into_iter().map(home).collect();
        let node = *homes.keys().next().unwrap();
        let mut site = Self {
            sm: PortRef { node, port: 1 },
            inputs: engines[0].clone(),
            fabric,
            engines,
            folder,
            cables,
            pulled: BTreeSet::new(),
            off: BTreeSet::new(),
            homes,
            free: BTreeSet::new(),
            spare: BTreeSet::new(),
            members: BTreeMap::new(),
            aliases: BTreeMap::new(),
            is_open: true,
        };
        // Some are bought later.
        let hosts: Vec<_> = site.homes.keys().copied().skip(1).collect();
        for host in hosts.iter().step_by(hosts.len() / 5) {
            site.take_away(*host);
        }
        site.inputs.partitions = Some(site.path("partitions.conf"));
        site.inputs.policy = Some(site.path("qos-policy.conf"));
        site.write("partitions.conf", OPEN);
        site.write("qos-policy.conf", &policy(0, 15));
        site
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Names another engine; files stay.
    pub(crate) fn set_engine(&mut self, nth: usize) {
        let (partitions, policy) = (self.inputs.partitions.take(), self.inputs.policy.take());
        self.inputs = Inputs {
            partitions,
            policy,
            ..self.engines[nth].clone()
        };
    }

    pub(crate) fn take_away(&mut self, host: NodeIx) {
        self.free.extend(self.homes.remove(&host));
        self.spare.insert(host);
    }

    /// Plugs a host in, or into another port.
    pub(crate) fn put(&mut self, host: NodeIx, at: PortRef) {
        self.free.extend(self.homes.remove(&host));
        self.spare.remove(&host);
        self.free.remove(&at);
        self.homes.insert(host, at);
    }

    /// Hosts that are there and switched on, but for that of the Subnet Manager.
    pub(crate) fn hosts(&self) -> Vec<NodeIx> {
        let all = self.homes.keys().copied();
        all.filter(|host| *host != self.sm.node && !self.off.contains(host))
            .collect()
    }

    /// Switches that are on, but for that of the Subnet Manager.
    pub(crate) fn switches(&self) -> Vec<NodeIx> {
        let own = self.homes[&self.sm.node].node;
        let all = (0..).map(NodeIx).zip(self.fabric.nodes());
        let switches = all.filter(|(at, node)| {
            node.kind == NodeType::Switch && *at != own && !self.off.contains(at)
        });
        switches.map(|(at, _)| at).collect()
    }

    /// Nothing is pulled or off.
    pub(crate) fn is_whole(&self) -> bool {
        self.pulled.is_empty() && self.off.is_empty()
    }

    pub(crate) fn guid(&self, host: NodeIx) -> Guid {
        self.fabric
            .port(PortRef {
                node: host,
                port: 1,
            })
            .guid
            .unwrap()
    }

    /// Plugs and pulls what is other than it should be.
    pub(crate) fn settle(&self, simulator: &mut Simulator) {
        let is_on = |at: PortRef| !self.off.contains(&at.node);
        let cables = self.cables.iter().enumerate();
        let cables = cables.map(|(nth, (one, far))| (*one, *far, !self.pulled.contains(&nth)));
        let homes = self.homes.iter();
        let homes = homes.map(|(node, at)| {
            (
                PortRef {
                    node: *node,
                    port: 1,
                },
                *at,
                true,
            )
        });
        let all: Vec<_> = cables.chain(homes).collect();
        let is_in =
            |(one, far, is_in): &(PortRef, PortRef, bool)| *is_in && is_on(*one) && is_on(*far);
        for cable in all.iter().filter(|cable| !is_in(cable)) {
            if simulator.peer(cable.0) == Some(cable.1) {
                simulator.unplug(cable.0);
            }
        }
        for host in &self.spare {
            simulator.unplug(PortRef {
                node: *host,
                port: 1,
            });
        }
        for cable in all.iter().filter(|cable| is_in(cable)) {
            if simulator.peer(cable.0) != Some(cable.1) {
                simulator.plug(cable.0, cable.1);
            }
        }
    }

    /// A file of partitions in which some hosts are in one of their own.
    pub(crate) fn partitions(&self, random: &mut Random) -> String {
        let hosts = self.hosts();
        let some = hosts.iter().filter(|_| random.one_of(3));
        let some: Vec<String> = some
            .map(|host| format!("{:#x}=full", self.guid(*host).get()))
            .collect();
        format!("{OPEN}Blue=0x0101 : {};\n", some.join(", "))
    }

    /// Hosts hear each other in a partition of their own alone.
    pub(crate) fn all_in_blue(&self) -> String {
        format!("{CLOSED}Blue=0x0101 : ALL=full;\n")
    }
}

/// Everybody hears everybody.
pub(crate) const OPEN: &str = "Default=0x7fff, ipoib : ALL=full;\n";
/// Hosts hear the Subnet Manager alone.
pub(crate) const CLOSED: &str = "Default=0x7fff, ipoib : ALL=limited, SELF=full;\n";

/// A policy of one level.
pub(crate) fn policy(sl: u8, life: u8) -> String {
    format!(
        "qos-levels\n qos-level\n  name: DEFAULT\n  sl: {sl}\n  packet-life: {life}\n end-qos-level\nend-qos-levels\n"
    )
}
