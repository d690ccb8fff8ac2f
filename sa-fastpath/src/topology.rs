//! Which cores this machine has and what lies near which: what Linux says under `/sys`.
//!
//! What cannot be read is taken for a plain machine: one node, no siblings.
//!
//! What is read, all of it text of one line:
//!
//! ```text
//!  devices/system/cpu/online                              0-7
//!  devices/system/node/online                             0-1
//!  devices/system/node/node0/cpulist                      0-1,4-5
//!  devices/system/cpu/cpu1/topology/thread_siblings_list  1,5
//!  class/infiniband/mlx5_0/device/numa_node               1      (-1: unknown)
//! ```
//!
//! A worker belongs on a core of the node that its device is attached to, and on a physical core
//! that it shares with no other worker; the daemon decides, this file only tells. Read at the start
//! of the daemon, never by a worker.

use std::path::{Path, PathBuf};

/// Cores, nodes of memory, and devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    /// Where the files lie: `/sys`, or a tree that a test has made.
    sys: PathBuf,
    /// Ascending; empty where the file is missing.
    online: Vec<usize>,
    /// Ascending. Shape: at least one that has cores.
    nodes: Vec<Node>,
}

/// A node of memory with the cores near it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Node {
    number: u32,
    cores: Vec<usize>,
}

impl Topology {
    /// What this machine has, read once; empty where Linux says nothing.
    pub fn read() -> Self {
        Self::under(Path::new("/sys"))
    }

    /// What a tree of files says that is laid out as `/sys` is.
    pub fn under(sys: &Path) -> Self {
        let online = list(&sys.join("devices/system/cpu/online")).unwrap_or_default();
        let nodes = sys.join("devices/system/node");
        let numbers = list(&nodes.join("online")).unwrap_or_default();
        let mut nodes: Vec<Node> = numbers
            .into_iter()
            .filter_map(|number| {
                let cores = list(&nodes.join(format!("node{number}/cpulist")))?;
                let number = u32::try_from(number).ok()?;
                Some(Node { number, cores })
            })
            .collect();
        // A kernel without NUMA has no such directory, and some containers hide the lists: all
        // cores are near then.
        if nodes.iter().all(|node| node.cores.is_empty()) {
            nodes = vec![Node {
                number: 0,
                cores: online.clone(),
            }];
        }
        Self {
            sys: sys.into(),
            online,
            nodes,
        }
    }

    /// The cores that run, ascending; none where the system does not say.
    pub fn online(&self) -> &[usize] {
        &self.online
    }

    /// The numbers of the memory nodes, ascending.
    pub fn nodes(&self) -> impl Iterator<Item = u32> {
        self.nodes.iter().map(|node| node.number)
    }

    /// The cores of a node, ascending; none of a node that is not there.
    pub fn cores_of(&self, node: u32) -> &[usize] {
        let found = self.nodes.iter().find(|one| one.number == node);
        found.map_or(&[], |node| node.cores.as_slice())
    }

    /// The node that a core belongs to.
    pub fn node_of(&self, core: usize) -> Option<u32> {
        let has = |node: &&Node| node.cores.contains(&core);
        self.nodes.iter().find(has).map(|node| node.number)
    }

    /// The threads of the physical core that a core is one of, itself among them.
    pub fn siblings(&self, core: usize) -> Vec<usize> {
        let name = format!("devices/system/cpu/cpu{core}/topology/thread_siblings_list");
        list(&self.sys.join(name)).unwrap_or_else(|| vec![core])
    }

    /// The node near an InfiniBand device, by its name as in `mlx5_0`; none when the system does
    /// not say, as on machines with one node.
    pub fn node_of_device(&self, device: &str) -> Option<u32> {
        // A name is one part of a path.
        if device.contains('/') {
            return None;
        }
        let name = format!("class/infiniband/{device}/device/numa_node");
        let text = std::fs::read_to_string(self.sys.join(name)).ok()?;
        // `-1` does not parse as a node's number, which gives none.
        // -1: unknown.
        text.trim().parse().ok()
    }
}

/// A file that holds a list as in `0-3,8`.
fn list(path: &Path) -> Option<Vec<usize>> {
    parse(std::fs::read_to_string(path).ok()?.trim())
}

/// A list of numbers and ranges such as `0-3,8`. None where it is none.
fn parse(text: &str) -> Option<Vec<usize>> {
    let mut all = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if last >= MOST {
            return None;
        }
        all.extend(first..=last);
    }
    Some(all)
}

/// More than any kernel has, so that a file of nonsense takes no memory.
const MOST: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree of files under the system's directory for such; gone with the value.
    struct Sys(PathBuf);

    impl Sys {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let name = format!("sapphire-{name}-{}", std::process::id());
            let root = std::env::temp_dir().join(name);
            for (path, text) in files {
                let path = root.join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
            Self(root)
        }
    }

    impl Drop for Sys {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn two_nodes_with_siblings_and_a_device() {
        let sys = Sys::new(
            "two-nodes",
            &[
                ("devices/system/cpu/online", "0-7\n"),
                (
                    "devices/system/cpu/cpu1/topology/thread_siblings_list",
                    "1,5\n",
                ),
                ("devices/system/node/online", "0-1\n"),
                ("devices/system/node/node0/cpulist", "0-1,4-5\n"),
                ("devices/system/node/node1/cpulist", "2-3,6-7\n"),
                ("class/infiniband/mlx5_0/device/numa_node", "1\n"),
                ("class/infiniband/mlx5_1/device/numa_node", "-1\n"),
            ],
        );
        let topology = Topology::under(&sys.0);
        assert_eq!(topology.online(), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert!(topology.nodes().eq([0, 1]));
        assert_eq!(topology.cores_of(1), [2, 3, 6, 7]);
        assert_eq!(topology.node_of(4), Some(0));
        assert_eq!(topology.node_of(9), None);
        assert_eq!(topology.siblings(1), [1, 5]);
        assert_eq!(topology.siblings(0), [0], "not said");
        assert_eq!(topology.node_of_device("mlx5_0"), Some(1));
        assert_eq!(topology.node_of_device("mlx5_1"), None);
        assert_eq!(topology.node_of_device("mlx5_9"), None);
    }

    #[test]
    fn a_machine_that_says_nothing_of_nodes_is_one_node() {
        let sys = Sys::new("no-nodes", &[("devices/system/cpu/online", "0,2\n")]);
        let topology = Topology::under(&sys.0);
        assert!(topology.nodes().eq([0]));
        assert_eq!(topology.cores_of(0), [0, 2]);
        assert_eq!(parse("0-99999999999"), None);
        assert_eq!(parse("x"), None);
        assert_eq!(parse(""), Some(vec![]));
    }
}
