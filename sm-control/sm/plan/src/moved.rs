//! Hosts that are elsewhere than before, or gone, as the proof over a change takes them.
//!
//! ```text
//!  before: by port GUID, switch and port ──┐
//!                                          ├──> ports, LIDs and end ports of the new compilation
//!  now: the same ──────────────────────────┘
//! ```

use std::collections::HashMap;

use routing::SwitchIx;
use routing::proof::mixture::Moved;
use sa_compiler::state::FabricState;
use sa_wire::{Guid, NodeType};

/// Of hosts that were in service `before`. What was at a switch that is gone left with it.
pub(crate) fn since(before: Option<&FabricState>, parts: &FabricState) -> Moved {
    let mut moved = Moved::default();
    let Some(before) = before else {
        return moved;
    };
    let (old, new) = (&before.topology, &parts.topology);
    let switches = new.switch_ixs().map(|ix| (new.switch(ix).guid, ix));
    let switches: HashMap<Guid, SwitchIx> = switches.collect();
    let ends = new.end_port_ixs().map(|ix| (new.end_port(ix).guid, ix));
    let ends: HashMap<Guid, _> = ends.collect();
    let hosts = old.end_port_ixs().map(|ix| old.end_port(ix));
    for host in hosts.filter(|it| it.node_type != NodeType::Switch) {
        let was = host.attached.and_then(|(switch, port)| {
            let switch = switches.get(&old.switch(switch).guid)?;
            Some((*switch, port))
        });
        let Some(was) = was else {
            continue;
        };
        let end = ends.get(&host.guid).copied();
        let now = end.and_then(|end| new.end_port(end).attached);
        if now == Some(was) {
            continue;
        }
        moved.ports.entry(was.0).or_default().push(was.1);
        let first = host.lid.get();
        let lids = (0..1_u16 << host.lmc.get()).map(|more| first.saturating_add(more));
        moved.lids.extend(lids.map(|lid| (lid, was.0)));
        moved.ends.extend(end.map(|end| (end, was.0)));
    }
    moved
}
