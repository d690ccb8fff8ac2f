//! How many paths between hosts lead over each link.
//!
//! Paths are not walked one by one. What all switches hold for one LID is a tree towards it, so
//! that the sources are summed up from its leaves, once per LID:
//!
//! ```text
//! hosts      2    3    1               order, nearest to the destination first:  D B A C
//! switch     A ──>B──> D  <── C        from its end:  C gives 1 to D, A gives 2 to B,
//!                                      B gives 2 + 3 = 5 to D
//! ```
//!
//! Cost: O(LIDs of hosts x switches).

use crate::parallel;
use crate::paths::columns::{self, Columns};
use crate::quality::links::Links;
use crate::tables::{Lft, Routes};
use crate::topology::{LidMap, SwitchIx, Topology, count32};

/// How paths between hosts share the links.
///
/// A path leads from a CA or router port to a LID of another one; a port with LMC 2 is the end of
/// four from each host. A link is one direction of a cable between two switches.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Loads {
    /// Links in the fabric.
    pub links: usize,
    /// Those that no path uses.
    pub unused: usize,
    /// The most paths over one link.
    pub most: u64,
    /// Paths over a link, those that are unused included. 0 where there is no link.
    pub mean: f64,
}

/// Counts the paths over every link. Paths that do not arrive count nowhere.
pub fn loads(topology: &Topology, routes: &Routes) -> Loads {
    let links = Links::new(topology);
    let paths = paths(topology, &links, routes.lfts());
    summary(topology, &links, &paths)
}

/// By number of the link: paths over it.
pub(crate) fn paths(topology: &Topology, links: &Links, lft: &Lft) -> Vec<u64> {
    let (hosts, lids) = (hosts_on(topology), LidMap::new(topology));
    let parts = parallel::over_queue(columns::blocks(lft), lft.size(), |blocks| {
        let mut counter = Counter::new(links, &hosts);
        let mut columns = Columns::default();
        for block in blocks {
            columns.load(lft, block);
            for lid in columns.lids() {
                let owner = lids.at(lid).map(|end| topology.end_port(end));
                let at = owner.and_then(|end| end.attached);
                // Port 0 is no host.
                if let Some((switch, port)) = at.filter(|(_, port)| *port != 0) {
                    counter.add(columns.column(lid), switch, port);
                }
            }
        }
        counter.paths
    });
    // In whole numbers, so that the order of the workers does not matter.
    let mut all = vec![0; links.numbers()];
    for part in &parts {
        for (all, paths) in all.iter_mut().zip(part) {
            *all += paths;
        }
    }
    all
}

/// By switch: CA and router ports plugged into it.
fn hosts_on(topology: &Topology) -> Vec<u32> {
    let count = |switch| count32(topology.hosts(switch).count());
    topology.switch_ixs().map(count).collect()
}

/// The figures of all links.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of paths stay below 2^53: 65,536^2 paths of 64 hops"
)]
fn summary(topology: &Topology, links: &Links, paths: &[u64]) -> Loads {
    let all = topology.switch_ixs().flat_map(|switch| {
        let cables = topology.cables(switch);
        cables.filter_map(move |(port, ..)| links.behind(switch, port))
    });
    let mut loads = Loads {
        links: links.count(),
        ..Loads::default()
    };
    let mut sum = 0;
    for paths in all.map(|link| paths[link.number as usize]) {
        loads.unused += usize::from(paths == 0);
        loads.most = loads.most.max(paths);
        sum += paths;
    }
    loads.mean = sum as f64 / loads.links.max(1) as f64;
    loads
}

/// What is known of a switch for the LID at hand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// Not looked at.
    Unknown,
    /// Packets from here do not arrive, or nobody knows yet.
    Lost,
    /// They do.
    Arrives,
}

/// Counts paths LID by LID. One per thread.
struct Counter<'a> {
    links: &'a Links,
    /// By switch: hosts on it.
    hosts: &'a [u32],
    /// By number of the link: paths so far.
    paths: Vec<u64>,
    /// By switch.
    marks: Vec<Mark>,
    /// By switch: number of the link by which it sends, and where that leads.
    next: Vec<(u32, SwitchIx)>,
    /// By switch: paths that come by it.
    through: Vec<u32>,
    /// Switches from which packets arrive, each behind the one that it sends to.
    order: Vec<SwitchIx>,
    /// Switches on the way that is being followed.
    trail: Vec<SwitchIx>,
}

impl<'a> Counter<'a> {
    fn new(links: &'a Links, hosts: &'a [u32]) -> Self {
        Self {
            links,
            hosts,
            paths: vec![0; links.numbers()],
            marks: vec![Mark::Unknown; hosts.len()],
            next: vec![(0, SwitchIx(0)); hosts.len()],
            through: vec![0; hosts.len()],
            order: Vec::new(),
            trail: Vec::new(),
        }
    }

    /// Adds the paths to a LID behind a port of a switch.
    fn add(&mut self, column: &[u8], to: SwitchIx, port: u8) {
        if column[to.index()] != port {
            return;
        }
        self.marks.fill(Mark::Unknown);
        self.marks[to.index()] = Mark::Arrives;
        self.order.clear();
        // Only switches with hosts begin paths.
        for (switch, hosts) in (0..).map(SwitchIx).zip(self.hosts) {
            if *hosts > 0 {
                self.follow(column, switch);
            }
        }
        self.through.copy_from_slice(self.hosts);
        for switch in self.order.iter().rev() {
            let (link, far) = self.next[switch.index()];
            let paths = self.through[switch.index()];
            self.paths[link as usize] += u64::from(paths);
            self.through[far.index()] += paths;
        }
    }

    /// Follows the way from a switch up to one that is known, and marks what lies on it.
    fn follow(&mut self, column: &[u8], from: SwitchIx) {
        let mut here = from;
        while self.marks[here.index()] == Mark::Unknown {
            // Stays so where the way is a cycle or ends before the destination.
            self.marks[here.index()] = Mark::Lost;
            let Some(link) = self.links.behind(here, column[here.index()]) else {
                break;
            };
            self.next[here.index()] = (link.number, link.far);
            self.trail.push(here);
            here = link.far;
        }
        let arrives = self.marks[here.index()] == Mark::Arrives;
        while let Some(switch) = self.trail.pop() {
            if arrives {
                self.marks[switch.index()] = Mark::Arrives;
                self.order.push(switch);
            }
        }
    }
}
