//! Cables that are pulled and plugged in, and nodes that start anew.
//!
//! | event | the ports | their switches |
//! |---|---|---|
//! | pulled | Down, polling | PortStateChange |
//! | plugged in | Init, trained; what was plugged in there before is pulled | PortStateChange |
//! | node off and on | its own as at power-on, then Init like those at the far ends | PortStateChange at the far ends |
//!
//! What an SM wrote stays but where a node starts anew: a link that comes back has its old MTU, VLs and tables.

use sa_fabric::{NodeIx, PortRef};

use super::{Device, Port, Switch};

/// Both ends go down.
pub(crate) fn pull(devices: &mut [Device], end: PortRef) {
    let Some(peer) = port(devices, end).and_then(|port| port.peer) else {
        return;
    };
    for at in [end, peer] {
        down(devices, at);
        if let Some(port) = port(devices, at) {
            port.peer = None;
        }
    }
}

/// Both ends come up in Init.
pub(crate) fn plug(devices: &mut [Device], one: PortRef, other: PortRef) {
    let are_there = one != other
        && [one, other]
            .into_iter()
            .all(|at| at.port != 0 && port(devices, at).is_some());
    if !are_there {
        return;
    }
    // A port has one cable.
    pull(devices, one);
    pull(devices, other);
    for (at, far) in [(one, other), (other, one)] {
        if let Some(port) = port(devices, at) {
            port.peer = Some(far);
        }
        up(devices, at);
    }
}

/// A node forgets what was written; its neighbours see their links go and come.
pub(crate) fn reboot(devices: &mut [Device], node: NodeIx) {
    let Some(device) = devices.get_mut(node.get()) else {
        return;
    };
    device.reset();
    // Port 0 has no cable.
    let ports = (1u8..).zip(device.ports.iter().skip(1));
    let linked: Vec<_> = ports
        .filter_map(|(own, port)| Some((own, port.peer?)))
        .collect();
    for (own, far) in linked {
        up(devices, PortRef { node, port: own });
        up(devices, far);
    }
}

/// A port loses its link; its switch tells that something has changed.
fn down(devices: &mut [Device], at: PortRef) {
    if let Some(port) = port(devices, at) {
        port.take_down();
    }
    note_change(devices, at);
}

/// A port gets one, the same way.
fn up(devices: &mut [Device], at: PortRef) {
    if let Some(port) = port(devices, at) {
        port.bring_up();
    }
    note_change(devices, at);
}

/// PortStateChange, on a switch.
pub(crate) fn note_change(devices: &mut [Device], at: PortRef) {
    let switch = devices
        .get_mut(at.node.get())
        .and_then(|it| it.switch.as_mut());
    if let Some(switch) = switch {
        switch.info.life_time_and_change |= Switch::PORT_STATE_CHANGE;
    }
}

/// None for a number that the node does not have.
fn port(devices: &mut [Device], at: PortRef) -> Option<&mut Port> {
    devices.get_mut(at.node.get())?.port_mut(at.port)
}
