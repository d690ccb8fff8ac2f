//! Switches of a subnet before and after a change, and which LIDs the change can concern at all.
//!
//! Numbers of switches are of one state alone, as each is made anew; what stays is the node GUID.
//!
//! ```text
//!  an entry that is other      ──┐
//!  a port with another far end ──┴──> the LIDs behind it: only these are walked
//! ```

use std::collections::{BTreeSet, HashMap};

use routing::{Peer, SwitchIx, Topology};
use sa_compiler::state::FabricState;
use sa_wire::{Guid, Lid};

use super::Host;

/// The switches of both, by their GUIDs.
pub(super) struct Switches<'a> {
    /// In service.
    pub(super) before: &'a FabricState,
    /// Planned.
    pub(super) after: &'a FabricState,
    /// Shape: by the number of afterwards; what it was before.
    pub(super) old: Vec<Option<SwitchIx>>,
    /// The other way round.
    pub(super) new: Vec<Option<SwitchIx>>,
}

impl<'a> Switches<'a> {
    /// Lays two states side by side. Cost: once over the switches of both.
    pub(super) fn new(before: &'a FabricState, after: &'a FabricState) -> Self {
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
    pub(super) fn destinations(&self) -> BTreeSet<Lid> {
        let mut differing = BTreeSet::new();
        for (new, old) in self.after.topology.switch_ixs().zip(&self.old) {
            let is = self.after.routes.lft(new);
            let was = old.map_or(&[][..], |old| self.before.routes.lft(old));
            // A table may stay as it is while what it leads to does not.
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

    /// What was at a port is what is at it now: by GUID and port, not by number.
    pub(super) fn is_same_peer(&self, was: Peer, is: Peer) -> bool {
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
    pub(super) fn is_other_place(&self, host: &Host) -> bool {
        let was = self.before.topology.end_port(host.old).attached;
        let is = self.after.topology.end_port(host.new).attached;
        let is = is.and_then(|(at, port)| Some(((*self.old.get(at.index())?)?, port)));
        was != is
    }
}
