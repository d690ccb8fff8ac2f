//! Which core each worker runs on.
//!
//! A worker spins, so where it runs matters: alone on its core, away from the core's sibling, and
//! on the NUMA node of its HCA, whose memory it reads at every packet. Cores that are named are
//! taken as they are; for the others a free one is chosen on the node that `numa` says. What the
//! machine cannot do is an error for `--check`, and at a start a warning: a machine that changed
//! must not silence the SA.
//!
//! ```text
//!  node 0: cores 0-3, node 1: cores 4-7, threads of one core: (0,2) (1,3) (4,6) (5,7)
//!  numa = "local", devices of two ports on node 1
//!  port 0 -> 4: free, its sibling 6 too
//!  port 1 -> 5: free, its sibling 7 too; 6 would share a core with port 0
//! ```
//!
//! It decides and pins nothing: whoever starts a worker asks for its core.
#![cfg_attr(
    not(feature = "daemon"),
    allow(
        dead_code,
        reason = "a check needs the plan, and only the daemon follows it"
    )
)]

use std::fmt::Write;

use sa_fastpath::affinity;
use sa_fastpath::topology::Topology;
use thiserror::Error;
use tracing::warn;

use crate::config::{Config, Numa, PortSection, WorkersSection};

/// A `[workers]` section that this machine cannot do.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlacementError {
    /// No core has this number.
    #[error(
        "[workers] cores: there is no core {core}; this machine has {online}: name one of them, or \
         leave cores empty"
    )]
    NoCore {
        /// As configured.
        core: usize,
        /// As in `0-3,8`.
        online: String,
    },
    /// It is there, but not for this process.
    #[error(
        "[workers] cores: core {core} is not for this process, which may use {ours}; what decides \
         is taskset, a cgroup's cpuset, or CPUAffinity= of its service"
    )]
    NotOurs {
        /// As configured.
        core: usize,
        /// As in `0-3,8`.
        ours: String,
    },
    /// No node has this number.
    #[error("[workers] numa: there is no NUMA node {node}; this machine has {nodes}")]
    NoNode {
        /// As configured.
        node: u32,
        /// As in `0-3,8`.
        nodes: String,
    },
    /// It is there, but none of its cores is for this process.
    #[error(
        "[workers] numa: none of the cores {cores} of NUMA node {node} is for this process, which \
         may use {ours}"
    )]
    NodeNotOurs {
        /// As configured.
        node: u32,
        /// As in `0-3,8`.
        cores: String,
        /// As in `0-3,8`.
        ours: String,
    },
}

/// Hands out cores, in the order of the ports. The same machine and configuration give the same
/// cores at each start.
///
/// A port without a core in the configuration gets one as its worker starts, so the order of starts
/// is part of the plan.
pub(crate) struct Placement<'a> {
    workers: &'a WorkersSection,
    machine: Machine,
    /// Cores that are configured, from the beginning on, and those handed out since: a chosen core
    /// is never one that a later port names.
    taken: Vec<usize>,
}

/// What there is to place workers on. A value, so that tests bring machines that nobody has.
///
/// Read once at the start: a machine whose cores come and go is asked again by a restart only.
#[derive(Debug, Clone)]
struct Machine {
    topology: Topology,
    /// Cores that this process may use.
    ours: Vec<usize>,
}

/// Whether this machine can do what `[workers]` says. Gives what an operator should know of it, one
/// sentence each. Errors: [`PlacementError`].
pub(crate) fn check(config: &Config) -> Result<Vec<String>, PlacementError> {
    let placement = Placement::new(config);
    match placement.refusal() {
        Some(refusal) => Err(refusal),
        None => Ok(placement.remarks(&config.ports)),
    }
}

impl<'a> Placement<'a> {
    /// For the ports of a configuration.
    pub(crate) fn new(config: &'a Config) -> Self {
        let machine = Machine {
            topology: Topology::read(),
            ours: affinity::cores(),
        };
        Self::on(machine, &config.workers, config.ports.len())
    }

    /// For a machine that is given.
    fn on(machine: Machine, workers: &'a WorkersSection, ports: usize) -> Self {
        // Of cores that are named, only those of ports that there are: the others are free for choice.
        let taken = workers.cores.iter().copied().take(ports).collect();
        Self {
            workers,
            machine,
            taken,
        }
    }

    /// What is wrong and what is remarkable, for the log of a start: an error there would leave a
    /// fabric without answers because a machine changed. `--check` makes errors of the former.
    pub(crate) fn complain(&self, ports: &[PortSection]) {
        if let Some(refusal) = self.refusal() {
            warn!("{refusal}");
        }
        for remark in self.remarks(ports) {
            warn!("{remark}");
        }
    }

    /// The core of a port, by its number and, where it has one, the name of its device. None: any.
    /// A core that is handed out stays taken.
    pub(crate) fn core(&mut self, number: usize, device: Option<&str>) -> Option<usize> {
        // Named: taken as it is, also where it is not ours. That was complained of before.
        if let Some(core) = self.workers.cores.get(number) {
            return Some(*core);
        }
        let near = match self.workers.numa {
            Numa::Off => return None,
            Numa::Node(node) => Some(node),
            // No device, no node to be near: then any core does.
            Numa::Local => self.machine.topology.node_of_device(device?),
        };
        let core = self.free(near);
        match core {
            // Kept: two ports of one node must not get the same core.
            Some(core) => self.taken.push(core),
            None => warn!(
                port = number,
                "no core is left for the worker near its device; it runs on any"
            ),
        }
        core
    }

    /// A core of this node (or any, when none is named) that nobody has; better one whose siblings
    /// nobody has either, and better not the first, which interrupts and housekeeping prefer. None
    /// where all are taken.
    fn free(&self, node: Option<u32>) -> Option<usize> {
        let topology = &self.machine.topology;
        let near = |core: &usize| node.is_none_or(|node| topology.cores_of(node).contains(core));
        let is_taken = |core: &usize| self.taken.contains(core);
        let cores = self.machine.ours.iter().copied();
        // Only ours: a core of another cpuset would be refused when the worker is pinned.
        let free = cores.filter(|core| near(core) && !is_taken(core));
        free.min_by_key(|core| {
            let beside = topology.siblings(*core).iter().any(is_taken);
            // In this order of importance; the last makes the choice the same at each start.
            (beside, *core == 0, *core)
        })
    }

    /// The first thing that this machine cannot do.
    ///
    /// Cores before nodes, as they stand in the section.
    fn refusal(&self) -> Option<PlacementError> {
        let Machine { topology, ours } = &self.machine;
        for core in &self.workers.cores {
            let core = *core;
            // Ours are online, so this is the whole question.
            if ours.contains(&core) {
                continue;
            }
            return Some(if topology.online().contains(&core) {
                let ours = ranges(ours);
                PlacementError::NotOurs { core, ours }
            } else {
                let online = ranges(topology.online());
                PlacementError::NoCore { core, online }
            });
        }
        let Numa::Node(node) = self.workers.numa else {
            return None;
        };
        if !topology.nodes().any(|one| one == node) {
            let nodes: Vec<usize> = topology
                .nodes()
                .filter_map(|node| usize::try_from(node).ok())
                .collect();
            let nodes = ranges(&nodes);
            return Some(PlacementError::NoNode { node, nodes });
        }
        let cores = topology.cores_of(node);
        let none = !cores.iter().any(|core| ours.contains(core));
        none.then(|| PlacementError::NodeNotOurs {
            node,
            cores: ranges(cores),
            ours: ranges(ours),
        })
    }

    /// What works and is worse than it could be: shared cores, threads of one core, a far NUMA
    /// node.
    fn remarks(&self, ports: &[PortSection]) -> Vec<String> {
        let topology = &self.machine.topology;
        let cores = &self.workers.cores;
        let mut all = Vec::new();
        if cores.len() > ports.len() {
            all.push(format!(
                "[workers] cores names {} cores for {} ports; the last ones are not used",
                // No error: a configuration may be shared by machines with fewer ports.
                cores.len(),
                ports.len()
            ));
        }
        // Only cores that are named: chosen ones are near and apart by themselves.
        let placed: Vec<(usize, usize)> = (0..ports.len()).zip(cores.iter().copied()).collect();
        for (place, (port, core)) in placed.iter().enumerate() {
            // Each pair once.
            for (other, its) in placed.iter().take(place) {
                if its == core {
                    all.push(format!(
                        "[workers] cores: ports {other} and {port} share core {core}; workers that \
                         spin keep it from each other"
                    ));
                } else if topology.siblings(*core).contains(its) {
                    all.push(format!(
                        "[workers] cores: cores {its} and {core} of ports {other} and {port} are \
                         threads of one physical core; each slows the other down"
                    ));
                }
            }
            // None for a ring, and where sysfs tells no node.
            let device = ports.get(*port).and_then(PortSection::device);
            let near = device.and_then(|device| topology.node_of_device(device));
            if let (Some(near), Some(node)) = (near, topology.node_of(*core))
                && near != node
            {
                all.push(format!(
                    "[workers] cores: core {core} of port {port} is of NUMA node {node}, its device \
                     of {near}; cores {} are nearer",
                    ranges(topology.cores_of(near))
                ));
            }
        }
        all
    }
}

/// As in `0-3,8`, the way that the kernel writes sets of cores. Shape: ascending.
fn ranges(numbers: &[usize]) -> String {
    let mut text = String::new();
    let mut rest = numbers;
    while let Some(first) = rest.first() {
        let run = (*first..).zip(rest).take_while(|(a, b)| a == *b).count();
        let last = first + run - 1;
        let comma = if text.is_empty() { "" } else { "," };
        // Writing to a `String` cannot fail.
        let _ = match run {
            1 => write!(text, "{comma}{first}"),
            _ => write!(text, "{comma}{first}-{last}"),
        };
        rest = rest.get(run..).unwrap_or_default();
    }
    if text.is_empty() {
        text.push_str("none");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOML: &str = r#"
        [fabric]
        source = "files"
        path = "net"
        [[port]]
        transport = "umad"
        device = "mlx5_0"
        [[port]]
        transport = "umad"
        device = "mlx5_1"
        [[port]]
        transport = "ibsim"
        node = "H"
        [workers]
    "#;

    fn config(workers: &str) -> Config {
        Config::parse(&format!("{TOML}{workers}")).unwrap()
    }

    /// Two nodes of two physical cores with two threads each; `mlx5_0` is near the second.
    fn machine(name: &str, ours: &[usize]) -> (tempfile::TempDir, Machine) {
        let sys = tempfile::Builder::new().prefix(name).tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = sys.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("devices/system/cpu/online", "0-7\n");
        write("devices/system/node/online", "0-1\n");
        write("devices/system/node/node0/cpulist", "0-1,4-5\n");
        write("devices/system/node/node1/cpulist", "2-3,6-7\n");
        for core in 0..8 {
            let threads = format!("{},{}\n", core % 4, core % 4 + 4);
            let name = format!("devices/system/cpu/cpu{core}/topology/thread_siblings_list");
            write(&name, &threads);
        }
        write("class/infiniband/mlx5_0/device/numa_node", "1\n");
        write("class/infiniband/mlx5_1/device/numa_node", "-1\n");
        let topology = Topology::under(sys.path());
        let ours = ours.to_vec();
        (sys, Machine { topology, ours })
    }

    #[test]
    fn workers_go_near_their_devices() {
        let (_sys, machine) = machine("near", &[0, 1, 2, 3, 4, 5, 6, 7]);
        let config = config("numa = \"local\"");
        let mut placement = Placement::on(machine.clone(), &config.workers, 3);
        assert_eq!(placement.core(0, Some("mlx5_0")), Some(2));
        assert_eq!(placement.core(1, Some("mlx5_0")), Some(3));
        assert_eq!(placement.core(2, Some("mlx5_1")), Some(1), "anywhere but 0");
        assert_eq!(placement.core(3, Some("mlx5_0")), Some(6), "a sibling");
        assert_eq!(placement.core(4, Some("mlx5_0")), Some(7));
        assert_eq!(placement.core(5, Some("mlx5_0")), None);
        assert_eq!(placement.core(6, None), None, "no device, no place");
        let config = self::config("numa = 0\ncores = [1]");
        let mut placement = Placement::on(machine, &config.workers, 3);
        assert_eq!(placement.core(0, Some("mlx5_0")), Some(1), "as configured");
        assert_eq!(placement.core(1, None), Some(4), "not beside core 1");
        assert_eq!(placement.core(2, None), Some(5));
        assert_eq!(placement.core(3, None), Some(0));
    }

    #[test]
    fn cores_that_cannot_be_are_refused() {
        let (_sys, machine) = machine("refused", &[0, 1]);
        let said = |workers: &str| {
            let config = config(workers);
            let placement = Placement::on(machine.clone(), &config.workers, config.ports.len());
            placement.refusal().map(|error| error.to_string())
        };
        assert_eq!(said(""), None);
        assert_eq!(said("cores = [0, 1]"), None);
        let missing = said("cores = [0, 9]").unwrap();
        assert!(missing.starts_with("[workers] cores: there is no core 9; this machine has 0-7"));
        let foreign = said("cores = [3]").unwrap();
        assert!(foreign.contains("core 3 is not for this process, which may use 0-1"));
        let node = said("numa = 2").unwrap();
        assert!(node.contains("there is no NUMA node 2; this machine has 0-1"));
        let node = said("numa = 1").unwrap();
        assert!(node.contains("none of the cores 2-3,6-7 of NUMA node 1"));
    }

    #[test]
    fn what_slows_workers_down_is_said() {
        let (_sys, machine) = machine("remarks", &[0, 1, 2, 3, 4, 5, 6, 7]);
        let said = |workers: &str| {
            let config = config(workers);
            let placement = Placement::on(machine.clone(), &config.workers, config.ports.len());
            placement.remarks(&config.ports)
        };
        assert_eq!(said("cores = [2, 1]"), Vec::<String>::new());
        let shared = said("cores = [2, 3, 2]");
        assert!(matches!(&shared[..], [one] if one.contains("ports 0 and 2 share core 2")));
        let siblings = said("cores = [2, 6]");
        assert!(matches!(&siblings[..], [one] if one.contains("cores 2 and 6 of ports 0 and 1")));
        let far = said("cores = [0]");
        assert!(
            matches!(&far[..], [one] if one.contains("node 0, its device of 1; cores 2-3,6-7"))
        );
        let many = said("cores = [2, 1, 3, 0]");
        assert!(matches!(&many[..], [one] if one.contains("4 cores for 3 ports")));
    }

    #[test]
    fn ranges_are_short() {
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
        assert_eq!(ranges(&[]), "none");
    }
}
