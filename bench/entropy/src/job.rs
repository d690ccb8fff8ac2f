//! A job: its hosts, who talks to whom, and how their flows get QPNs, ports and addresses.
//!
//! A pattern is who connects to whom, not a schedule: all flows are there at once and weigh the
//! same. That is the worst that a job does to links, and the part that labels can change.
//!
//! ```text
//! hosts  h0 h1 | h2 h3     hosts_per_leaf 2
//! leaf    L0   |  L1       switches of tier 0; ways[0] up from each
//! spine    S0 .. Sw        switches of tier 1; ways[1] up from each
//! ```

use super::flows::{PortUse, QpnUse};
use super::switch::{Address, HashKind};

/// Who talks to whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// The first host to the last one.
    OnePair,
    /// Everybody to everybody.
    AllToAll,
    /// Each host to the next.
    Ring,
    /// A binary tree, up and down.
    Tree,
    /// Host i with host i + n/2, both ways.
    Pairs,
    /// Everybody with the first host, both ways.
    Service,
}

impl Pattern {
    /// Pairs that connect: the active side first. Shape: indices of hosts, never equal.
    ///
    /// Lazily: all-to-all of 65,536 hosts has two thousand million pairs.
    pub fn pairs(self, hosts: u32) -> Box<dyn Iterator<Item = (u32, u32)>> {
        let others = 1..hosts;
        match self {
            // Nobody where there is one host: it would talk to itself.
            Self::OnePair => Box::new((1..hosts.min(2)).map(move |_| (0, hosts - 1))),
            Self::AllToAll => Box::new(others.flat_map(|to| (0..to).map(move |from| (from, to)))),
            Self::Ring => Box::new(
                (0..hosts)
                    .map(move |from| (from, (from + 1) % hosts))
                    .filter(|(from, to)| from != to),
            ),
            Self::Tree => Box::new(others.map(|child| (child, (child - 1) / 2))),
            Self::Pairs => {
                Box::new((0..hosts / 2).map(move |from| (from, from + hosts.div_ceil(2))))
            }
            Self::Service => Box::new(others.map(|client| (client, 0))),
        }
    }

    /// Whether data goes both ways on a connection.
    ///
    /// Loads are counted for each direction; a ring sends one way.
    pub const fn is_both_ways(self) -> bool {
        !matches!(self, Self::OnePair | Self::Ring)
    }
}

/// What runs.
///
/// Half a page of numbers, and an address per host.
#[derive(Debug, Clone)]
pub struct Job {
    /// Where each host is.
    pub hosts: Vec<Address>,
    /// Queue pairs of each connected pair.
    pub qps: u32,
    /// Who talks to whom.
    pub pattern: Pattern,
    /// How QPNs are handed out.
    pub qpns: QpnUse,
    /// How the CM's source ports are handed out.
    pub ports: PortUse,
    /// The CM's destination port.
    pub service: u16,
}

impl Job {
    /// How many hosts.
    pub fn host_count(&self) -> u32 {
        u32::try_from(self.hosts.len()).unwrap_or(u32::MAX)
    }

    /// How many flows there are, each direction for itself. Shape: saturates.
    pub fn flows(&self) -> u32 {
        let pairs = self.pattern.pairs(self.host_count()).count();
        let pairs = u32::try_from(pairs).unwrap_or(u32::MAX);
        let directions = if self.pattern.is_both_ways() { 2 } else { 1 };
        // Whoever asks compares it with a limit: too many is as good as 2^32.
        pairs.saturating_mul(self.qps).saturating_mul(directions)
    }
}

/// Whether the switches of different tiers mix alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seeds {
    /// The same hash with the same seed everywhere.
    Same,
    /// Each tier its own seed.
    ByTier,
}

/// What a job runs on: hosts below leaves, `ways` upwards from each switch, tier after tier.
///
/// A tree of equal switches; what is uneven in a real one is not modelled.
#[derive(Debug, Clone)]
pub struct Fabric {
    /// Equal paths at a switch, by tier from the leaves up.
    pub ways: Vec<u32>,
    /// Hosts below a leaf. Flows between them meet no choice.
    pub hosts_per_leaf: u32,
    /// Planes of leaves and spines; the QPs of a pair go round them.
    pub rails: u32,
    /// How switches choose.
    pub hash: HashKind,
    /// Whether tiers choose alike.
    pub seeds: Seeds,
    /// The seed of the lowest tier, where it is known; else each trial draws one.
    pub known_seed: Option<u64>,
}

impl Fabric {
    /// Choosing switches of each tier. Shape: as many as `ways`; saturates.
    pub fn switches(&self, hosts: u32) -> Vec<u32> {
        let leaves = hosts.div_ceil(self.hosts_per_leaf.max(1));
        let mut count = leaves.saturating_mul(self.rails);
        let mut all = Vec::with_capacity(self.ways.len());
        for (tier, ways) in self.ways.iter().enumerate() {
            all.push(count);
            // Way i of every leaf of a rail goes to the same spine.
            // Above the spines each switch has its own ways: a tier has as many as there are paths
            // to it.
            let above = if tier == 0 { self.rails } else { count };
            count = above.saturating_mul(*ways);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_connect_whom_they_should() {
        let pairs = |pattern: Pattern| pattern.pairs(5).collect::<Vec<_>>();
        assert_eq!(pairs(Pattern::OnePair), [(0, 4)]);
        assert_eq!(pairs(Pattern::AllToAll).len(), 10);
        assert_eq!(
            pairs(Pattern::Ring),
            [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]
        );
        assert_eq!(pairs(Pattern::Tree), [(1, 0), (2, 0), (3, 1), (4, 1)]);
        assert_eq!(pairs(Pattern::Pairs), [(0, 3), (1, 4)]);
        assert_eq!(pairs(Pattern::Service), [(1, 0), (2, 0), (3, 0), (4, 0)]);
        for pattern in [
            Pattern::OnePair,
            Pattern::Ring,
            Pattern::Pairs,
            Pattern::Tree,
        ] {
            assert_eq!(pattern.pairs(1).count(), 0);
        }
    }

    #[test]
    fn spines_are_shared_by_the_leaves_of_a_rail() {
        let fabric = Fabric {
            ways: vec![8, 4, 2],
            hosts_per_leaf: 16,
            rails: 2,
            hash: HashKind::Strong,
            seeds: Seeds::ByTier,
            known_seed: None,
        };
        assert_eq!(fabric.switches(40), [6, 16, 64]);
    }
}
