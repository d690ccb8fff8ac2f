//! Which pairs of hosts a plan changes: their paths, their SLs.
//!
//! ```text
//!  rows of tables that differ, links that lead elsewhere ──> destinations ──> each switch: the same way as before?
//! ```
//!
//! Pairs are ordered, by base LIDs, of hosts that are there before and afterwards. A path is the switches and ports that it takes.
//! Paths are compared for all pairs; SLs, which cost an answer each, for as many as [`MOST_SLS`] allows, spread evenly.

use std::collections::{BTreeSet, HashMap};

use routing::{EndPortIx, Peer, SwitchIx, Topology};
use sa_compiler::state::FabricState;
use sa_wire::{Guid, Lid, NodeType, Sl};

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
    old: EndPortIx,
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

    fn compare_paths(&mut self, before: &FabricState, after: &FabricState, hosts: &[Host]) {
        let switches = Switches::new(before, after);
        let differing = switches.destinations();
        for to in hosts {
            let lids = [
                before.topology.end_port(to.old).lid,
                after.topology.end_port(to.new).lid,
            ];
            let [old, new] = lids;
            if old == new && !differing.contains(&new) && !switches.is_other_place(to) {
                continue;
            }
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

/// The switches of both, by their GUIDs.
struct Switches<'a> {
    before: &'a FabricState,
    after: &'a FabricState,
    /// Shape: by the number of afterwards; what it was before.
    old: Vec<Option<SwitchIx>>,
    /// The other way round.
    new: Vec<Option<SwitchIx>>,
}

impl<'a> Switches<'a> {
    fn new(before: &'a FabricState, after: &'a FabricState) -> Self {
        let by_guid = |topology: &Topology| -> HashMap<Guid, SwitchIx> {
            let all = topology.switch_ixs();
            all.map(|ix| (topology.switch(ix).guid, ix)).collect()
        };
        let in_other = |these: &Topology, others: &Topology| {
            let others = by_guid(others);
            let all = these.switch_ixs();
            all.map(|ix| others.get(&these.switch(ix).guid).copied())
                .collect()
        };
        Self {
            before,
            after,
            old: in_other(&after.topology, &before.topology),
            new: in_other(&before.topology, &after.topology),
        }
    }

    /// LIDs whose entries differ somewhere, or lead over a link that leads elsewhere now.
    fn destinations(&self) -> BTreeSet<Lid> {
        let mut differing = BTreeSet::new();
        for (new, old) in self.after.topology.switch_ixs().zip(&self.old) {
            let is = self.after.routes.lft(new);
            let was = old.map_or(&[][..], |old| self.before.routes.lft(old));
            let moved = self.moved_ports(*old, new);
            let longest = is.len().max(was.len());
            for (lid, at) in (0_u16..).zip(0..longest) {
                let (was, is) = (was.get(at), is.get(at));
                if was != is || is.is_some_and(|port| moved.contains(port)) {
                    differing.extend(Lid::new(lid).ok());
                }
            }
        }
        differing
    }

    /// Ports of a switch with another far end than before.
    fn moved_ports(&self, old: Option<SwitchIx>, new: SwitchIx) -> BTreeSet<u8> {
        let ports = 0..=u8::MAX;
        let ports = ports.zip(&self.after.topology.switch(new).ports);
        let moved = ports.filter(|(port, facts)| {
            let was = old.map(|old| self.before.topology.peer(old, *port));
            !was.is_some_and(|was| self.is_same_peer(was, facts.peer))
        });
        moved.map(|(port, _)| port).collect()
    }

    fn is_same_peer(&self, was: Peer, is: Peer) -> bool {
        let (before, after) = (&self.before.topology, &self.after.topology);
        match (was, is) {
            (Peer::Nothing, Peer::Nothing) => true,
            (
                Peer::Switch { switch, port },
                Peer::Switch {
                    switch: far,
                    port: far_port,
                },
            ) => self.old.get(far.index()) == Some(&Some(switch)) && port == far_port,
            (Peer::EndPort(was), Peer::EndPort(is)) => {
                before.end_port(was).guid == after.end_port(is).guid
            }
            _ => false,
        }
    }

    /// A host that hangs elsewhere than before.
    fn is_other_place(&self, host: &Host) -> bool {
        let was = self.before.topology.end_port(host.old).attached;
        let is = self.after.topology.end_port(host.new).attached;
        let is = is.and_then(|(at, port)| Some(((*self.old.get(at.index())?)?, port)));
        was != is
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Same,
    Other,
    Lost,
    Gained,
}

/// The ways to one destination, from each switch, found as they are asked for.
struct Walks<'a> {
    switches: &'a Switches<'a>,
    to: &'a Host,
    lids: [Lid; 2],
    /// Whether it arrives. Shape: before and afterwards, by switch.
    arrives: [Vec<Option<bool>>; 2],
    /// Whether all of the way is the same. Shape: by switch of afterwards.
    same: Vec<Option<bool>>,
}

impl<'a> Walks<'a> {
    fn new(switches: &'a Switches<'a>, to: &'a Host, lids: [Lid; 2]) -> Self {
        Self {
            switches,
            to,
            lids,
            arrives: [
                vec![None; switches.new.len()],
                vec![None; switches.old.len()],
            ],
            same: vec![None; switches.old.len()],
        }
    }

    fn of(&mut self, from: &Host) -> Verdict {
        let Switches { before, after, .. } = self.switches;
        let old = before.topology.end_port(from.old).attached;
        let new = after.topology.end_port(from.new).attached;
        let was = old.is_some_and(|(at, _)| self.arrives(0, at));
        let is = new.is_some_and(|(at, _)| self.arrives(1, at));
        match (was, is) {
            (true, false) => Verdict::Lost,
            (false, true) => Verdict::Gained,
            (false, false) => Verdict::Same,
            (true, true) => {
                let is_same = !self.switches.is_other_place(from)
                    && new.is_some_and(|(at, _)| self.is_same(at));
                if is_same {
                    Verdict::Same
                } else {
                    Verdict::Other
                }
            }
        }
    }

    /// What the entry of a switch leads to.
    fn next(&self, side: usize, at: SwitchIx) -> (Option<u8>, Peer) {
        let Switches { before, after, .. } = self.switches;
        let (parts, lid) = match side {
            0 => (before, self.lids[0]),
            _ => (after, self.lids[1]),
        };
        let port = parts.routes.output(at, lid);
        (
            port,
            port.map_or(Peer::Nothing, |port| parts.topology.peer(at, port)),
        )
    }

    fn arrives(&mut self, side: usize, from: SwitchIx) -> bool {
        let to = if side == 0 { self.to.old } else { self.to.new };
        let mut way = Vec::new();
        let mut at = from;
        let verdict = loop {
            let known = self
                .arrives
                .get_mut(side)
                .and_then(|it| it.get_mut(at.index()));
            let Some(known) = known else { break false };
            if let Some(known) = *known {
                break known;
            }
            // Until it is known: who comes here again goes in a circle.
            *known = Some(false);
            way.push(at);
            match self.next(side, at).1 {
                Peer::Switch { switch, .. } => at = switch,
                Peer::EndPort(end) => break end == to,
                Peer::Nothing => break false,
            }
        };
        for at in way {
            if let Some(known) = self
                .arrives
                .get_mut(side)
                .and_then(|it| it.get_mut(at.index()))
            {
                *known = Some(verdict);
            }
        }
        verdict
    }

    /// Of a way that arrives, both times.
    fn is_same(&mut self, from: SwitchIx) -> bool {
        let mut way = Vec::new();
        let mut at = from;
        let verdict = loop {
            let Some(known) = self.same.get_mut(at.index()) else {
                break false;
            };
            if let Some(known) = *known {
                break known;
            }
            *known = Some(false);
            way.push(at);
            let Some(Some(old)) = self.switches.old.get(at.index()) else {
                break false;
            };
            let (was, is) = (self.next(0, *old), self.next(1, at));
            if was.0 != is.0 || !self.switches.is_same_peer(was.1, is.1) {
                break false;
            }
            match is.1 {
                Peer::Switch { switch, .. } => at = switch,
                Peer::EndPort(_) => break true,
                Peer::Nothing => break false,
            }
        };
        for at in way {
            if let Some(known) = self.same.get_mut(at.index()) {
                *known = Some(verdict);
            }
        }
        verdict
    }
}
