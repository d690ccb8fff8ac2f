//! Where an SMP ends up.
//!
//! A directed route needs links that are trained, whatever their state; a LID needs tables, and
//! links that are Active. The way back of a directed route is noted in the SMP on the way out.
//!
//! | what is on the way | directed route | LID |
//! |---|---|---|
//! | link in Init or Armed | passes | lost |
//! | switch | by the next port of the route | by its forwarding table |
//! | CA or router between the ends | lost | lost |
//! | switch with this LID on its port 0 | goes on | arrives |
//! | a circle of tables | cannot be: a route has 63 hops | lost after 64 hops |
//!
//! Data VLs, credits and P_Keys play no part: SMPs have a VL of their own.
//!
//! Nothing is changed here but the SMP's own return path: a walk that is lost leaves no trace.

use sa_fabric::PortRef;
use sa_wire::NodeType;
use sa_wire::smp::Smp;

use crate::device::{Device, LINK_UP, PortState};

/// The port at which it came in (of a switch reached by LID, port 0), after so many hops.
///
/// Shape: `hops` is 0 for an SMP to the sender's own node.
pub(crate) struct Walked {
    /// Where it is.
    pub(crate) at: PortRef,
    /// Cables that it took.
    pub(crate) hops: u32,
}

/// Hops after which a packet by LID is lost: tables may lead in circles.
///
/// One more than a directed route may have.
const MOST_HOPS_BY_LID: u32 = 64;

/// Follows an SMP; `lid` is where it is sent to, unless it has a directed route. `None`: it is lost.
pub(crate) fn to(devices: &[Device], from: PortRef, lid: u16, smp: &mut Smp) -> Option<Walked> {
    if smp.is_directed() {
        directed(devices, from, smp)
    } else {
        by_lid(devices, from, lid)
    }
}

/// Port by port of its route; the way back is noted as it goes. None: it is lost.
///
/// Source: IBA vol. 1, 14.2.2: a node that is passed notes the port at which the SMP came in.
fn directed(devices: &[Device], from: PortRef, smp: &mut Smp) -> Option<Walked> {
    let path = smp.path()?.to_vec();
    let (mut at, mut hops) = (from, 0);
    for (place, out) in path.iter().enumerate() {
        // Between the ends only switches pass it on.
        let node = devices.get(at.node.get())?;
        let passes = node.kind == NodeType::Switch || (place == 0 && *out == at.port);
        *smp.return_path.get_mut(place)? = at.port;
        at = passes.then(|| trained_far_end(node, *out)).flatten()?;
        hops += 1;
    }
    *smp.return_path.get_mut(path.len())? = at.port;
    Some(Walked { at, hops })
}

/// The far end of a port whose link is up physically.
///
/// PortState does not count: SMPs by directed route pass a link in Init.
fn trained_far_end(node: &Device, port: u8) -> Option<PortRef> {
    let port = node.port(port)?;
    let is_up = port.physical() == LINK_UP;
    port.peer.filter(|_| is_up)
}

/// By the forwarding tables. None: it is lost, at a table or link without a way, or in a circle.
fn by_lid(devices: &[Device], from: PortRef, lid: u16) -> Option<Walked> {
    let (mut at, mut hops) = (from, 0);
    // Who has the LID may be the sender itself.
    while !owns(devices, at, lid)? {
        let node = devices.get(at.node.get())?;
        let out = match node.kind {
            NodeType::Switch => node.switch.as_ref()?.entry(lid)?,
            NodeType::Ca | NodeType::Router if hops == 0 => at.port,
            NodeType::Ca | NodeType::Router => return None,
        };
        // Entries for port 0 of a switch with another LID lead nowhere, as a port 0 has no peer.
        let port = node.port(out)?;
        at = port.peer.filter(|_| port.state() == PortState::Active)?;
        hops += 1;
        if hops > MOST_HOPS_BY_LID {
            return None;
        }
    }
    Some(Walked { at, hops })
}

/// Whether the port, or port 0 of the switch that it is on, has the LID.
///
/// LMC bits of the LID do not count: a port answers for all of its LIDs.
fn owns(devices: &[Device], at: PortRef, lid: u16) -> Option<bool> {
    let node = devices.get(at.node.get())?;
    let port = match node.kind {
        NodeType::Switch => node.port(0)?,
        NodeType::Ca | NodeType::Router => node.port(at.port)?,
    };
    let (base, lmc) = (
        port.info.base_lid.get(),
        port.info.m_key_protect_and_lmc & 7,
    );
    Some(base != 0 && lid >> lmc == base >> lmc)
}
