//! `sapphire route --quality`: how evenly the tables use the links, as figures.

use routing::quality::{bandwidth, loads};
use sa_compiler::state::FabricState;
use serde::Serialize;

/// Figures of the tables; see [`routing::quality`].
#[derive(Debug, Serialize)]
pub(super) struct Quality {
    /// Cables between switches, each direction by itself.
    links: usize,
    /// Those that no path between hosts uses.
    links_unused: usize,
    /// The most paths between hosts over one link.
    paths_most: u64,
    /// Paths over a link, those that are unused included.
    paths_mean: f64,
    /// Share of a link's bandwidth that a host has while all send, 0 to 1.
    bandwidth_mean: f64,
    /// The same in the worst permutation.
    bandwidth_least: f64,
    /// Random permutations of the hosts that the last two are over.
    permutations: u32,
    /// Where they were drawn from.
    seed: u64,
}

impl Quality {
    /// Of routes as they were compiled.
    pub(super) fn new(parts: &FabricState, permutations: u32, seed: u64) -> Self {
        let loads = loads(&parts.topology, &parts.routes);
        let bandwidth = bandwidth(&parts.topology, &parts.routes, permutations, seed);
        Self {
            links: loads.links,
            links_unused: loads.unused,
            paths_most: loads.most,
            paths_mean: loads.mean,
            bandwidth_mean: bandwidth.mean,
            bandwidth_least: bandwidth.least,
            permutations,
            seed,
        }
    }

    /// Two lines for people.
    pub(super) fn print(&self) {
        let (most, mean, links) = (self.paths_most, self.paths_mean, self.links);
        let unused = match self.links_unused {
            0 => String::new(),
            some => format!(", {some} unused"),
        };
        outln!("paths_per_link   most {most}, mean {mean:.2} over {links} links{unused}");
        let (mean, least, drawn) = (self.bandwidth_mean, self.bandwidth_least, self.permutations);
        outln!("bandwidth        mean {mean:.3}, least {least:.3} over {drawn} permutations");
    }
}
