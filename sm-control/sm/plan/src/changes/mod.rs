//! Which pairs of hosts a plan changes: their paths, their SLs.
//!
//! ```text
//!  rows of tables that differ, links that lead elsewhere ──> destinations ──> each switch: the same way as before?
//! ```
//!
//! | a pair | counts as |
//! |---|---|
//! | other switches, other ports of a switch, another port of a host | a path that changes |
//! | a host with another LID, over the same ports | the same path |
//! | no way afterwards | lost |
//! | a host that is new or gone | nothing: nobody has a path to lose |
//!
//! Pairs are ordered, by base LIDs, of hosts that are there before and afterwards. A path is the switches and ports that it takes.
//! Paths are compared for all pairs; SLs, which cost an answer each, for as many as [`MOST_SLS`] allows, spread evenly.

mod switches;
mod walks;

use std::collections::HashMap;

use routing::{EndPortIx, Topology};
use sa_compiler::state::FabricState;
use sa_wire::{Guid, Lid, NodeType, Sl};

use self::switches::Switches;
use self::walks::{Verdict, Walks};

/// Ordered pairs of hosts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PairChanges {
    /// All that there are.
    pub pairs: u64,
    /// Their packets take other switches or ports.
    pub paths: u64,
    /// They had a path, and have none.
    pub lost: u64,
    /// They had none, and have one.
    pub gained: u64,
    /// Of [`Self::sls_compared`], those that are answered with another SL.
    pub sls: u64,
    /// Pairs whose SLs were compared; fewer than all where the subnet is large.
    pub sls_compared: u64,
}

/// Pairs whose SLs are compared, at most. Some 100 ns each, twice.
pub const MOST_SLS: u64 = 1 << 24;

/// A host, as it is numbered before and afterwards.
#[derive(Debug, Clone, Copy)]
struct Host {
    /// Before.
    old: EndPortIx,
    /// Afterwards.
    new: EndPortIx,
}

impl PairChanges {
    /// Compares two states of a subnet. `sls`: what is answered to a request by LIDs, before and afterwards; none: no path.
    /// Cost: as many walks as destinations differ, each over all switches.
    pub fn new(
        before: &FabricState,
        after: &FabricState,
        sls: (
            impl Fn(Lid, Lid) -> Option<Sl>,
            impl Fn(Lid, Lid) -> Option<Sl>,
        ),
    ) -> Self {
        let hosts = hosts(&before.topology, &after.topology);
        let count = hosts.len() as u64;
        let mut found = Self {
            pairs: count * count.saturating_sub(1),
            ..Self::default()
        };
        found.compare_paths(before, after, &hosts);
        found.compare_sls(before, after, &hosts, sls);
        found
    }

    /// Walks to the destinations that the change can concern; all others are as they were.
    fn compare_paths(&mut self, before: &FabricState, after: &FabricState, hosts: &[Host]) {
        let switches = Switches::new(before, after);
        let differing = switches.destinations();
        for to in hosts {
            let lids = [
                before.topology.end_port(to.old).lid,
                after.topology.end_port(to.new).lid,
            ];
            let [old, new] = lids;
            // No entry for it, and no cable on the way, is other than before.
            if old == new && !differing.contains(&new) && !switches.is_other_place(to) {
                continue;
            }
            // One for all sources: what is found on the way of one is known to the next.
            let mut walks = Walks::new(&switches, to, lids);
            for from in hosts.iter().filter(|from| from.new != to.new) {
                match walks.of(from) {
                    Verdict::Same => {}
                    Verdict::Other => self.paths += 1,
                    Verdict::Lost => self.lost += 1,
                    Verdict::Gained => self.gained += 1,
                }
            }
        }
    }

    /// Asks for the SLs of pairs as a client would, of both snapshots. Cost: two answers a pair.
    fn compare_sls(
        &mut self,
        before: &FabricState,
        after: &FabricState,
        hosts: &[Host],
        (old, new): (
            impl Fn(Lid, Lid) -> Option<Sl>,
            impl Fn(Lid, Lid) -> Option<Sl>,
        ),
    ) {
        // Every so many sources, so that all parts of a subnet have some.
        let step = (self.pairs / MOST_SLS).saturating_add(1);
        let step = usize::try_from(step).unwrap_or(usize::MAX);
        for from in hosts.iter().step_by(step) {
            for to in hosts.iter().filter(|to| to.new != from.new) {
                let lid = |ix| before.topology.end_port(ix).lid;
                let was = old(lid(from.old), lid(to.old));
                let lid = |ix| after.topology.end_port(ix).lid;
                let is = new(lid(from.new), lid(to.new));
                self.sls_compared += 1;
                // A path that comes or goes is counted as that.
                self.sls += u64::from(was.is_some() && is.is_some() && was != is);
            }
        }
    }
}

/// CA and router ports with LIDs that are in both.
fn hosts(before: &Topology, after: &Topology) -> Vec<Host> {
    let old: HashMap<Guid, EndPortIx> = before
        .end_port_ixs()
        .map(|ix| (before.end_port(ix).guid, ix))
        .collect();
    let new = after.end_port_ixs().filter(|ix| {
        let end = after.end_port(*ix);
        end.node_type != NodeType::Switch && end.attached.is_some()
    });
    new.filter_map(|new| {
        let old = *old.get(&after.end_port(new).guid)?;
        Some(Host { old, new })
    })
    .collect()
}
