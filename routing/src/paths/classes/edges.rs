//! The ends of paths: end ports and the switch ports they are plugged into.
//!
//! Kept apart from classes because they go by port and not by pair: a host with a slow cable would
//! otherwise make a class of its own with everybody.

use sa_snapshot::model::Capacity;
use sa_wire::SlVlMask;

use crate::tables::{Qos, Routes};
use crate::topology::{EndPortIx, Peer, SwitchIx, Topology};

/// The part of its paths that depends on an end port alone.
/// An answer takes the least of two of these and a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortEdge {
    /// The switch it is or is plugged into.
    pub switch: Option<SwitchIx>,
    /// What a path to itself has.
    pub own: Capacity,
    /// Least of the port and the switch port it is plugged into.
    pub edge: Capacity,
    /// SLs it lets out. For a switch: on the path to itself; on others the class tells.
    pub sl_out: SlVlMask,
    /// SLs that the switch port facing it lets out from any input; what single inputs drop is in
    /// the classes. For a switch: all.
    /// Split so because single inputs that drop more are rare, and most ports have one value for
    /// all.
    pub sl_in: SlVlMask,
}

/// Of every end port, by index.
/// With QoS off all SLs are carried. Cost: O(ports^2) of each switch's tables.
pub fn port_edges(topology: &Topology, routes: &Routes, qos: Qos) -> Vec<PortEdge> {
    topology
        .end_port_ixs()
        .map(|end| edge(topology, routes, qos, end))
        .collect()
}

fn edge(topology: &Topology, routes: &Routes, qos: Qos, end: EndPortIx) -> PortEdge {
    let port = topology.end_port(end);
    let own = port.capacity;
    let alone = PortEdge {
        switch: port.attached.map(|(switch, _)| switch),
        own,
        edge: own,
        sl_out: SlVlMask::ALL,
        sl_in: SlVlMask::ALL,
    };
    let is_judged = qos == Qos::On;
    match port.attached {
        Some((switch, 0)) if is_judged => PortEdge {
            sl_out: routes.sl2vl(switch, 0, 0).carried(),
            ..alone
        },
        // Port 0 has no cable; its classes tell the rest.
        Some((_, 0)) => alone,
        None if is_judged => PortEdge {
            sl_out: routes.end_port_sl2vl(end).carried(),
            ..alone
        },
        None => alone,
        Some((switch, facing)) => {
            // Both ends of the host's cable.
            let edge = own.min(topology.switch(switch).ports[usize::from(facing)].capacity);
            if !is_judged {
                return PortEdge { edge, ..alone };
            }
            let sl_out = routes.end_port_sl2vl(end).carried();
            let sl_in = let_out(topology, routes, switch, facing);
            PortEdge {
                edge,
                sl_out,
                sl_in,
                ..alone
            }
        }
    }
}

/// SLs that a switch port lets out, wherever they come in.
/// A union: what some input may send.
pub(super) fn let_out(
    topology: &Topology,
    routes: &Routes,
    switch: SwitchIx,
    output: u8,
) -> SlVlMask {
    let inputs = inputs(topology, switch);
    SlVlMask(inputs.fold(0, |all, input| {
        all | routes.sl2vl(switch, input, output).carried().0
    }))
}

/// Port 0 and the ports with a cable.
/// A port without a cable lets nothing in.
pub(super) fn inputs(topology: &Topology, switch: SwitchIx) -> impl Iterator<Item = u8> + '_ {
    let ports = (0..=u8::MAX).zip(&topology.switch(switch).ports);
    ports
        .filter(|(number, port)| *number == 0 || port.peer != Peer::Nothing)
        .map(|(it, _)| it)
}
