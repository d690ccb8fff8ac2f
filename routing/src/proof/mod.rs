//! Proofs over finished tables, whoever made them: no credit loop, every pair reachable.
//!
//! A *channel* is a VL of a directed cable between switches. A packet that holds a channel may wait
//! for the next channel of its path; if such waits never close a cycle, no deadlock can come of
//! them. Every cable of a bundle counts by itself. Channels to end ports always drain and are left
//! out. Uses the forwarding tables, the SL2VL tables and the SLs of paths, and nothing of how they
//! came about: a defect of an engine must not hide itself.
//!
//! [`DependencyGraph`] takes unicast and multicast and finds a shortest cycle, which is a credit
//! loop that an operator can be shown. [`Judge`] says whose packets can close it. [`Proven`] goes
//! on from a proof after a small change, and [`reachability`] counts the pairs without a path. What
//! is found here is told, not mended.
//!
//! Source: Dally and Seitz, Deadlock-Free Message Routing in Multiprocessor Interconnection
//! Networks, 1987.
//!
//! # A cycle of four
//!
//! ```text
//! A ──> B      packets A to C hold the channel A-B and wait for B-C,
//! ^     |      packets B to D hold B-C and wait for C-D, C to A hold C-D and wait for D-A,
//! |     v      D to B hold D-A and wait for A-B.
//! D <── C      All buffers full: nobody ever moves. With the packets that cross D-A on a second VL
//!              from their first hop on, neither VL has a cycle.
//! ```
//!
//! # How the work is split
//!
//! | file | what |
//! |---|---|
//! | `channels`, `hops`, `sources` | the fabric in flat numbers: cables, turns, tables, where packets enter |
//! | `unicast`, `carrier`, `loads` | SLs carried along the columns of all LIDs |
//! | `straight` | the quick way where packets keep their VL |
//! | `multicast` | packets copied along groups' ports |
//! | `edges`, `graph`, `cycle` | dependencies by turn, and a shortest cycle among them |
//! | `judge` | whose packets close it |
//! | `groups` | trees of groups that close none with unicast |
//! | `proven` | going on from the proof before (ADR 18) |
//! | `mixture` | old and new tables together, while one is changed into the other |
//! | `reach` | pairs that no table connects |
//!
//! # What it does not cover
//!
//! Tables are those of one moment, but in [`mixture`], which looks at switches that change one by one. Packets are
//! believed to use the SL of their PathRecord. A host that takes in nothing spreads congestion,
//! which is no deadlock and not seen here.

mod carrier;
mod channels;
mod cycle;
mod edges;
mod graph;
mod groups;
mod hops;
mod judge;
mod levels;
mod loads;
pub mod mixture;
mod multicast;
mod proven;
mod reach;
mod sources;
mod straight;
mod unicast;

use std::fmt;

use sa_wire::{Lid, SlVlMask, Vl};

pub use self::graph::DependencyGraph;
pub use self::groups::{GroupKinds, GroupProof};
pub use self::judge::{Hosts, Judge, Loops};
pub use self::proven::{Next, Proven};
pub use self::reach::{LostPair, Reachability, reachability, reachability_surveyed};
use crate::error::SwitchName;
use crate::tables::Routes;
use crate::topology::{EndPortIx, SwitchIx, Topology};

/// A VL of a cable between switches, in one direction.
/// Names, not numbers: for people and for tests. Inside a graph channels are numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Channel {
    /// The switch that it leaves.
    pub switch: SwitchIx,
    /// The output port of that switch.
    pub port: u8,
    /// The virtual lane of the cable.
    /// As the packet travels on the cable: behind the switch's SL2VL table.
    pub vl: Vl,
}

/// The SLs that paths use.
/// More SLs than are really used make the proof stricter, never weaker.
#[derive(Clone, Copy)]
pub enum PathSls<'a> {
    /// What the engine of the routes gives: torus-2QoS one SL per level, a table one for each pair.
    /// Any SL where it gives none.
    /// Pairs whose SL is not known have no packets: whatever is proved says nothing of them.
    Engine,
    /// What the engine of the routes gives, and each of these where it leaves the SL to the policy.
    EngineOver(SlVlMask),
    /// Every path may use each of these.
    Any(SlVlMask),
    /// By switch of the source and of the destination.
    BySwitch(&'a (dyn Fn(SwitchIx, SwitchIx) -> SlVlMask + Sync)),
    /// By end port and LID; empty where there is no path.
    /// The slowest form, as nothing is shared between LIDs.
    ByPair(&'a (dyn Fn(EndPortIx, Lid) -> SlVlMask + Sync)),
}

impl fmt::Debug for PathSls<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine => f.write_str("Engine"),
            Self::EngineOver(sls) => f.debug_tuple("EngineOver").field(sls).finish(),
            Self::Any(sls) => f.debug_tuple("Any").field(sls).finish(),
            Self::BySwitch(_) => f.write_str("BySwitch(..)"),
            Self::ByPair(_) => f.write_str("ByPair(..)"),
        }
    }
}

/// A cycle of channels, each of which may wait for the next, the last for the first.
/// Begins at the lowest channel that lies on such a cycle, so that runs over one fabric tell the
/// same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreditLoop(pub Vec<Channel>);

impl CreditLoop {
    /// One channel per line, with the names of switches.
    /// Shape: a line ends each channel but the last.
    pub fn in_words(&self, topology: &Topology, routes: &Routes) -> String {
        let line = |channel: &Channel| {
            let at = routes
                .torus()
                .and_then(|torus| torus.coordinate(channel.switch));
            let switch = SwitchName::new(topology, channel.switch, at);
            format!("{switch} port {} VL {}", channel.port, channel.vl.get())
        };
        let lines: Vec<_> = self.0.iter().map(line).collect();
        lines.join("\n")
    }
}

/// A shortest credit loop of the unicast routes; none proves that they are free of deadlock.
/// Unicast alone; multicast can close a cycle with it, for which [`DependencyGraph`] takes both.
pub fn unicast_loop(topology: &Topology, routes: &Routes, sls: PathSls<'_>) -> Option<CreditLoop> {
    let mut graph = DependencyGraph::new(topology, routes);
    graph.add_unicast(topology, routes, sls);
    graph.shortest_loop()
}
