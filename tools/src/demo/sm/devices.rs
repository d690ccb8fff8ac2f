//! What the devices hold, read back by Gets along directed routes.
//!
//! Nothing is taken from what the Subnet Manager believes: its tables, its LIDs and its list of nodes play no part. Routes to the
//! nodes come from the drawing of the fabric.

use std::collections::{HashMap, HashSet, VecDeque};

use sa_bench::sweeps::Manager;
use sa_fabric::{Fabric, NodeIx, PortRef};
use sa_wire::NodeType;
use sa_wire::smp::attribute;

/// Tables of all nodes.
#[derive(Debug, Default)]
pub(super) struct Devices {
    /// Forwarding tables of switches. Shape: node, then LID.
    linear: HashMap<NodeIx, Vec<u8>>,
    /// SLtoVLMappingTables: node, input port, output port. Of a CA both ports are its own.
    sl_to_vl: HashMap<(NodeIx, u8, u8), [u8; 8]>,
    /// End ports by LID; of a switch port 0.
    owners: HashMap<u16, PortRef>,
    /// The same the other way.
    lids: HashMap<PortRef, u16>,
}

impl Devices {
    /// Reads all nodes that cables lead to. Errors: a device does not answer; in words.
    pub(super) fn read(
        manager: &mut Manager,
        fabric: &Fabric,
        from: PortRef,
    ) -> Result<Self, String> {
        let mut devices = Self::default();
        for (at, path) in routes(fabric, from) {
            let mut asking = Asking {
                manager: &mut *manager,
                path: &path,
            };
            let read = devices.read_node(&mut asking, fabric, at);
            read.ok_or_else(|| format!("{} does not answer", fabric.node(at.node).description))?;
        }
        Ok(devices)
    }

    /// The node that owns a LID, by its end port.
    pub(super) fn owner(&self, lid: u16) -> Option<PortRef> {
        self.owners.get(&lid).copied()
    }

    /// The LID of an end port.
    pub(super) fn lid(&self, port: PortRef) -> Option<u16> {
        self.lids.get(&port).copied()
    }

    /// Where a switch sends a LID.
    pub(super) fn output(&self, switch: NodeIx, lid: u16) -> Option<u8> {
        let port = *self.linear.get(&switch)?.get(usize::from(lid))?;
        (port != NO_PORT).then_some(port)
    }

    /// The VL of an SL from one port to another; 15 where the packet is dropped.
    pub(super) fn vl(&self, node: NodeIx, input: u8, output: u8, sl: u8) -> Option<u8> {
        let table = self.sl_to_vl.get(&(node, input, output))?;
        let pair = *table.get(usize::from(sl / 2))?;
        Some(if sl.is_multiple_of(2) {
            pair >> 4
        } else {
            pair & 15
        })
    }

    fn read_node(&mut self, asking: &mut Asking<'_>, fabric: &Fabric, at: PortRef) -> Option<()> {
        let node = fabric.node(at.node);
        let info = asking.get(attribute::PORT_INFO, 0)?;
        let &[.., high, low] = info.first_chunk::<18>()?;
        let lid = u16::from_be_bytes([high, low]);
        if node.kind != NodeType::Switch {
            self.own(lid, at);
            let table = asking.get(attribute::SL_TO_VL, 0)?;
            let table = *table.first_chunk()?;
            self.sl_to_vl.insert((at.node, at.port, at.port), table);
            return Some(());
        }
        self.own(lid, PortRef { port: 0, ..at });
        self.read_linear(asking, at.node)?;
        self.read_sl_to_vl(asking, fabric, at.node)
    }

    fn own(&mut self, lid: u16, port: PortRef) {
        self.owners.insert(lid, port);
        self.lids.insert(port, lid);
    }

    /// As far as the switch looks: to LinearFDBTop.
    fn read_linear(&mut self, asking: &mut Asking<'_>, switch: NodeIx) -> Option<()> {
        let info = asking.get(attribute::SWITCH_INFO, 0)?;
        let &[.., high, low] = info.first_chunk::<8>()?;
        let top = u16::from_be_bytes([high, low]);
        let blocks =
            (0..=u32::from(top / 64)).map(|block| asking.get(attribute::LINEAR_TABLE, block));
        let blocks: Option<Vec<[u8; 64]>> = blocks.collect();
        let mut table = blocks?.concat();
        table.truncate(usize::from(top) + 1);
        self.linear.insert(switch, table);
        Some(())
    }

    /// Of ports with a cable.
    fn read_sl_to_vl(
        &mut self,
        asking: &mut Asking<'_>,
        fabric: &Fabric,
        node: NodeIx,
    ) -> Option<()> {
        let ports = 1..=fabric.node(node).port_count();
        let has_cable = |port: &u8| fabric.port(PortRef { node, port: *port }).peer.is_some();
        let ports: Vec<u8> = ports.filter(has_cable).collect();
        for input in &ports {
            for output in &ports {
                let modifier = u32::from(u16::from_be_bytes([*input, *output]));
                let table = asking.get(attribute::SL_TO_VL, modifier)?;
                let table = *table.first_chunk()?;
                self.sl_to_vl.insert((node, *input, *output), table);
            }
        }
        Some(())
    }
}

/// One device, at the end of a directed route.
struct Asking<'a> {
    manager: &'a mut Manager,
    path: &'a [u8],
}

impl Asking<'_> {
    fn get(&mut self, attribute: u16, modifier: u32) -> Option<[u8; 64]> {
        self.manager.get(self.path, attribute, modifier)
    }
}

/// A shortest directed route to each node, by the port at which it is entered. Shape: nearest first.
fn routes(fabric: &Fabric, from: PortRef) -> Vec<(PortRef, Vec<u8>)> {
    let mut known = HashSet::from([from.node]);
    let mut front = VecDeque::from([(from, Vec::new())]);
    let mut routes = Vec::new();
    while let Some((at, path)) = front.pop_front() {
        let node = fabric.node(at.node);
        let outputs = match node.kind {
            NodeType::Switch => 1..=node.port_count(),
            _ if at == from => at.port..=at.port,
            // Nothing is passed on by the others.
            _ => {
                routes.push((at, path));
                continue;
            }
        };
        for port in outputs {
            let far = fabric.port(PortRef { port, ..at }).peer;
            let Some(far) = far.filter(|far| known.insert(far.node)) else {
                continue;
            };
            let mut longer = path.clone();
            longer.push(port);
            front.push_back((far, longer));
        }
        routes.push((at, path));
    }
    routes
}

/// In linear tables: no path.
const NO_PORT: u8 = 0xff;
