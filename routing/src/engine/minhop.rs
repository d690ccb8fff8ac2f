//! Shortest paths in any fabric.
//!
//! The rule, which is OpenSM's, per switch and by itself: LIDs are taken in turn (`order`); each leaves by a port
//! that lies on a shortest path to the destination's switch; among those by the one that has the
//! fewest LIDs of hosts so far; among equals by the lowest number. LIDs of switches do not count:
//! they see management traffic only. Several LIDs of a port go by different switches (`siblings`). Credit loops are possible,
//! which `proof` finds.
//!
//! The ports on shortest paths are worked out once per destination switch, not per LID, and
//! destination switches with the same ones share a `rounds::Round`, which knows the next port.
//!
//! # An example
//!
//! Leaf S with three cables up, hosts behind other leaves at equal distance over each of them:
//!
//! ```text
//! LID      4    6    7    8    5      (5 is a switch's port 0)
//! port     1    2    3    1    2
//! counted  yes  yes  yes  yes  no
//! ```
//!
//! LID 5 takes port 2, the lowest of those with the fewest, and is not counted. That hosts are spread evenly matters for bandwidth; a management LID would only shift
//! them.
//!
//! # What it does not do
//!
//! It knows no SLs (SL2VL tables stay as configured) and makes no multicast tree. Their order
//! decides who gets which cable, so one cable that fails changes entries all over the fabric:
//! nothing is taken over from earlier routes.

mod order;
mod rounds;
mod siblings;

use self::order::{Turn, turns};
use self::rounds::{MOST_CABLES, Rounds};
use self::siblings::Siblings;
use super::{Engine, Needs, Request};
use crate::error::Refusal;
use crate::kind::EngineKind;
use crate::shortest::distances::Distances;
use crate::shortest::{self, Shortest};
use crate::tables::sl2vl::Sl2Vl;
use crate::tables::{EngineFacts, Lft, NO_PATH, Routes};
use crate::topology::{SwitchIx, Topology, count32};
use crate::watch::Stretch;

/// Shortest paths, spread evenly; see the module.
pub(super) struct MinHop;

impl Engine for MinHop {
    fn needs(&self) -> Needs {
        Needs::Nothing
    }

    fn route(&self, request: &Request<'_>) -> Result<Routes, Refusal> {
        let topology = request.topology;
        Ok(request.watch.share(|share| route_watched(topology, share)))
    }
}

/// Routes any fabric. LIDs that cannot be reached stay without entry.
pub fn route(topology: &Topology) -> Routes {
    route_watched(topology, Stretch::nobody())
}

/// [`route`], which says how much of it is done.
fn route_watched(topology: &Topology, share: Stretch<'_>) -> Routes {
    let lft = match shortest::most_cables(topology) {
        // The width of the sets is chosen once, so that the inner loops are made for it.
        0..=64 => tables::<1>(topology, share),
        65..=128 => tables::<2>(topology, share),
        _ => tables::<4>(topology, share),
    };
    let facts = EngineFacts {
        keeps_configured_sl2vl: true,
        ..EngineFacts::default()
    };
    Routes {
        facts,
        ..Routes::new(
            topology,
            EngineKind::MinHop,
            lft,
            Sl2Vl::configured(topology),
        )
    }
}

/// Forwarding tables where no switch has more than 64 times `WORDS` cables.
/// Cost: O(switches x LIDs) to fill, after O(switches^2) for distances. Threads take runs of rows.
fn tables<const WORDS: usize>(topology: &Topology, share: Stretch<'_>) -> Lft {
    let distances = Distances::measure_watched(topology, share.cut(0..10));
    let done = share.cut(10..100).count(topology.switches.len());
    let turns = turns(topology);
    let stride = usize::from(topology.max_lid()) + 1;
    let fill = |first, rows: &mut [u8]| {
        let mut spread = Spread::<WORDS>::new(topology, &distances);
        for (switch, row) in (count32(first)..).zip(rows.chunks_mut(stride)) {
            row.fill(NO_PATH);
            spread.fill(SwitchIx(switch), &turns, row);
            done.add(1);
        }
    };
    Lft::filled(topology, topology.max_lid(), fill).0
}

/// Spreads LIDs over the cables, in one switch after the other.
/// One per thread, taken from switch to switch: its tables are as long as there are switches.
struct Spread<'a, const WORDS: usize> {
    topology: &'a Topology,
    shortest: Shortest<'a, WORDS>,
    rounds: Rounds<WORDS>,
    siblings: Siblings,
}

impl<'a, const WORDS: usize> Spread<'a, WORDS> {
    /// Reused from switch to switch, so that nothing is allocated for each.
    fn new(topology: &'a Topology, distances: &'a Distances) -> Self {
        Self {
            topology,
            shortest: Shortest::new(distances, topology.switches.len()),
            rounds: Rounds::new(),
            siblings: Siblings::new(topology.end_ports.len()),
        }
    }

    /// Fills the table of a switch, which has no entries yet.
    fn fill(&mut self, from: SwitchIx, turns: &[Turn], row: &mut [u8]) {
        let cables = self.topology.cables(from);
        let (ports, far): (Vec<u8>, Vec<_>) = cables.map(|(port, far, _)| (port, far)).unzip();
        self.rounds.reset(self.shortest.from(from, &far));
        self.siblings.reset();
        let mut used = [0; MOST_CABLES];
        for turn in turns {
            let entry = &mut row[usize::from(turn.lid)];
            // Its own hosts and port 0: nothing to choose.
            if turn.switch == from {
                *entry = turn.port;
                continue;
            }
            let round = self.rounds.to(turn.switch);
            let cable = match turn.sibling {
                None => round.next(&used),
                Some(end) => self.siblings.next(end, round, &far, &used),
            };
            // Not reached: the entry stays without a path.
            let Some(cable) = cable else {
                continue;
            };
            *entry = ports[cable];
            // Counted by LID: a port with LMC 2 weighs as much as four hosts.
            if turn.port != 0 {
                used[cable] += 1;
                round.remove(cable);
            }
        }
    }
}
