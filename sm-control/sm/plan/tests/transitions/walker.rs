//! Walks of all pairs over what devices hold at one moment.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fabric_simulator::Simulator;
use sa_fabric::{Fabric, NodeIx, PortRef};
use sa_wire::NodeType;

/// Where packets from a switch to a LID end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Delivered,
    Lost,
    Circle,
}

/// All pairs of a switch and a LID. Shape: by switch, then by LID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Walk {
    pub(crate) ends: Vec<Vec<End>>,
}

/// Who is who; stays the same while cables and LIDs do.
pub(crate) struct Walker {
    switches: Vec<NodeIx>,
    /// By LID: the end port that owns it.
    owners: Vec<Option<PortRef>>,
}

impl Walker {
    /// After LIDs are there.
    pub(crate) fn new(fabric: &Fabric, simulator: &Simulator) -> Self {
        let nodes = (0..).map(NodeIx).zip(fabric.nodes());
        let mut walker = Self {
            switches: Vec::new(),
            owners: vec![None; 1],
        };
        for (node, it) in nodes {
            let is_switch = it.kind == NodeType::Switch;
            walker.switches.extend(is_switch.then_some(node));
            let ports = if is_switch {
                0..=0
            } else {
                1..=it.port_count()
            };
            for at in ports.map(|port| PortRef { node, port }) {
                for lid in simulator.lids(at).into_iter().flatten().map(usize::from) {
                    walker.owners.resize(walker.owners.len().max(lid + 1), None);
                    walker.owners[lid] = Some(at);
                }
            }
        }
        walker
    }

    pub(crate) fn switches(&self) -> &[NodeIx] {
        &self.switches
    }

    /// By LID.
    pub(crate) fn owners(&self) -> &[Option<PortRef>] {
        &self.owners
    }

    pub(crate) fn walk(&self, simulator: &Simulator) -> Walk {
        let ends = self.switches.iter().map(|from| {
            let lids = self.owners.iter().enumerate();
            let end = |(lid, owner): (usize, &Option<PortRef>)| match owner {
                Some(owner) => self.follow(simulator, *from, u16::try_from(lid).unwrap(), *owner),
                None => End::Lost,
            };
            lids.map(end).collect()
        });
        Walk {
            ends: ends.collect(),
        }
    }

    /// One packet.
    fn follow(&self, simulator: &Simulator, from: NodeIx, lid: u16, owner: PortRef) -> End {
        let mut here = from;
        for _ in 0..=self.switches.len() {
            let at = PortRef {
                node: here,
                port: 0,
            };
            if at == owner {
                return End::Delivered;
            }
            let Some(out) = simulator.entry(here, lid) else {
                return End::Lost;
            };
            match simulator.active_peer(PortRef { port: out, ..at }) {
                Some(far) if far == owner => return End::Delivered,
                Some(far) if self.switches.contains(&far.node) => here = far.node,
                _ => return End::Lost,
            }
        }
        End::Circle
    }
}

impl Walk {
    fn at(&self, switch: usize, lid: usize) -> End {
        let end = self.ends[switch].get(lid);
        end.copied().unwrap_or(End::Lost)
    }
}

/// What went wrong in a change, moment by moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Harm {
    /// Pairs whose packets went in a circle, counted at each moment.
    pub(crate) circles: usize,
    /// Pairs without a path, that had one before and have one afterwards, counted at each moment.
    pub(crate) holes: usize,
    /// The same of LIDs that the plan takes paths from.
    pub(crate) drained: usize,
    /// Moments at which packets could wait for each other for ever.
    pub(crate) loops: usize,
}

/// Judges all moments: the first is before the change, the last after it. `drained`: LIDs that may be without a path.
pub(crate) fn judge(moments: &[Walk], drained: &BTreeSet<usize>) -> Harm {
    let (Some(first), Some(last)) = (moments.first(), moments.last()) else {
        return Harm::default();
    };
    let mut harm = Harm::default();
    for walk in moments {
        for (switch, ends) in walk.ends.iter().enumerate() {
            for (lid, end) in ends.iter().enumerate() {
                let is_meant = [first, last]
                    .iter()
                    .all(|walk| walk.at(switch, lid) == End::Delivered);
                harm.circles += usize::from(*end == End::Circle);
                let is_hole = usize::from(is_meant && *end == End::Lost);
                match drained.contains(&lid) {
                    true => harm.drained += is_hole,
                    false => harm.holes += is_hole,
                }
            }
        }
    }
    harm
}

/// Pairs of a switch, as it is counted in a walk, and a LID, and for how long at least they had no path.
pub(crate) type Lost = BTreeMap<(usize, usize), Duration>;

/// Pairs that had no path at some moment, and had one at the first and the last. Of these LIDs alone. `times`: of the moments.
pub(crate) fn lost(moments: &[Walk], times: &[Duration], lids: &BTreeSet<usize>) -> Lost {
    let (Some(first), Some(last)) = (moments.first(), moments.last()) else {
        return Lost::new();
    };
    let mut since: BTreeMap<(usize, usize), Duration> = BTreeMap::new();
    let mut lost = Lost::new();
    for (walk, now) in moments.iter().zip(times) {
        for (switch, ends) in walk.ends.iter().enumerate() {
            for lid in lids {
                let pair = (switch, *lid);
                let is_meant = [first, last]
                    .iter()
                    .all(|walk| walk.at(switch, *lid) == End::Delivered);
                if is_meant && ends.get(*lid) != Some(&End::Delivered) {
                    let since = since.entry(pair).or_insert(*now);
                    lost.insert(pair, now.saturating_sub(*since));
                }
            }
        }
    }
    lost
}
