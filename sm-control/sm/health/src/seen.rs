//! What a sweep found of links: what there is to look at.
//!
//! ```text
//!  Subnet (all that a sweep knows, hundreds of megabytes) ──of──> Seen (links alone) ──> Health, on another thread
//! ```
//!
//! It is a copy, so that the next sweep can change its model while this one is looked at. Only ends of links are in it: a port that
//! is down counts nothing and runs at nothing. Port 0 of a switch is no end of a link; it lends its LID to all ports of the switch,
//! as that is where a switch is asked about any of them.
//!
//! A link whose far end has not answered the sweep is there with one end: its counters can be read, but what both ends can is not
//! known.

use std::sync::Arc;

use sa_fabric::PortRef;
use sa_sm::model::{Node, PortState, Subnet};
use sa_wire::Guid;

use crate::finding::Place;
use crate::link::End;

/// Devices and their links, as of one sweep. Memory: some 60 bytes a link's end.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// Of the port by which this SM sends; 0 before it has one.
    pub own_lid: u16,
    /// With at least one link each, in the order in which they were found.
    pub devices: Vec<Device>,
}

/// A node.
#[derive(Debug, Clone)]
pub struct Device {
    /// Of the node.
    pub guid: Guid,
    /// NodeDescription.
    pub name: Arc<str>,
    /// Those with a link, by number.
    pub ports: Vec<Port>,
}

/// A port with a link.
#[derive(Debug, Clone, Copy)]
pub struct Port {
    /// Of the node.
    pub number: u8,
    /// Where it is asked: of a switch the LID of port 0; 0 where it has none yet.
    pub lid: u16,
    /// How it runs.
    pub end: End,
    /// The sweep found it in Init: where it was Active before, its link was down.
    pub came_up: bool,
    /// The sweep left it Active.
    pub is_active: bool,
    /// The far end: the place of the device in the list, and its port. None where that did not answer.
    pub peer: Option<(usize, u8)>,
}

impl Seen {
    /// The links of a subnet.
    pub fn of(subnet: &Subnet) -> Self {
        // By place, as nodes without a link are left out.
        let mut places: Vec<Option<usize>> = vec![None; subnet.nodes().len()];
        let mut devices = Vec::new();
        for (at, node) in subnet.places() {
            let ports = ports(node, subnet, at);
            if ports.is_empty() {
                continue;
            }
            // Of the node, whatever was left out before it.
            if let Some(place) = places.get_mut(at.get()) {
                *place = Some(devices.len());
            }
            devices.push(Device {
                guid: node.guid(),
                name: node.description().into(),
                ports,
            });
        }
        // Now that all places are known.
        for port in devices.iter_mut().flat_map(|device| &mut device.ports) {
            let device = |(node, number): (usize, u8)| Some(((*places.get(node)?)?, number));
            port.peer = port.peer.and_then(device);
        }
        let own = subnet.sm().and_then(|at| subnet.port(at)?.info);
        Self {
            own_lid: own.map_or(0, |info| info.base_lid.get()),
            devices,
        }
    }

    /// The far end of a port.
    pub fn peer(&self, port: &Port) -> Option<(&Device, &Port)> {
        let (device, number) = port.peer?;
        let device = self.devices.get(device)?;
        Some((device, device.port(number)?))
    }
}

impl Device {
    /// `None` for one that has no link.
    pub fn port(&self, number: u8) -> Option<&Port> {
        // By number, as they were found.
        let at = self.ports.binary_search_by_key(&number, |port| port.number);
        self.ports.get(at.ok()?)
    }

    /// For a person.
    pub fn place(&self, port: Option<u8>) -> Place {
        Place {
            guid: self.guid,
            port,
            name: Arc::clone(&self.name),
        }
    }
}

/// The ports of a node that have a link. Peers are by node.
fn ports(node: &Node, subnet: &Subnet, at: sa_fabric::NodeIx) -> Vec<Port> {
    // Of a CA each port has its own.
    let lid = |number: u8| {
        let end = node.port(node.end_port(number));
        let info = end.and_then(|port| port.info);
        info.map_or(0, |info| info.base_lid.get())
    };
    let linked = node.ports().filter(|(number, port)| {
        // Port 0 is inside of the switch.
        *number != 0 && port.state() > Some(PortState::Down)
    });
    let found = linked.filter_map(|(number, port)| {
        let peer = subnet.peer(PortRef {
            node: at,
            port: number,
        });
        Some(Port {
            number,
            lid: lid(number),
            end: End::of(port.info.as_ref()?),
            came_up: port.came_up,
            is_active: port.state() == Some(PortState::Active),
            peer: peer.map(|peer| (peer.node.get(), peer.port)),
        })
    });
    found.collect()
}
