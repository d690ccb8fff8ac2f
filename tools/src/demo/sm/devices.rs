//! What the devices hold, read back by Gets along directed routes.
//!
//! Nothing is taken from what the Subnet Manager believes: its tables, its LIDs and its list of
//! nodes play no part. Routes to the nodes come from the drawing of the fabric, without the cables
//! that are pulled.

use std::collections::{HashMap, HashSet, VecDeque};

use sa_bench::sweeps::Manager;
use sa_fabric::{Fabric, NodeIx, PortRef};
use sa_wire::NodeType;
use sa_wire::smp::attribute;

use super::Cabled;

/// Tables of all nodes.
///
/// Read anew after each event; nothing is kept between two looks.
#[derive(Debug, Default)]
pub(super) struct Devices {
    /// Forwarding tables of switches. Shape: node, then LID.
    ///
    /// The value is an output port, 0xff where there is none.
    linear: HashMap<NodeIx, Vec<u8>>,
    /// SLtoVLMappingTables: node, input port, output port. Of a CA both ports are its own.
    ///
    /// Eight bytes are sixteen lanes of four bits, SL 0 in the upper half of the first.
    sl_to_vl: HashMap<(NodeIx, u8, u8), [u8; 8]>,
    /// End ports by LID; of a switch port 0.
    ///
    /// Of two ports with one LID the one that was read later stays.
    owners: HashMap<u16, PortRef>,
    /// The same the other way.
    lids: HashMap<PortRef, u16>,
}

impl Devices {
    /// Reads all nodes that cables lead to. Errors: a device does not answer; in words.
    ///
    /// Cost: a Get for each block of 64 LIDs and each pair of ports, one after the other.
    pub(super) fn read(
        manager: &mut Manager,
        cabled: Cabled<'_>,
        from: PortRef,
    ) -> Result<Self, String> {
        let mut devices = Self::default();
        for (at, path) in routes(cabled, from) {
            let mut asking = Asking {
                manager: &mut *manager,
                path: &path,
            };
            let read = devices.read_node(&mut asking, cabled.fabric, at);
            read.ok_or_else(|| {
                format!(
                    "{} does not answer",
                    cabled.fabric.node(at.node).description
                )
            })?;
        }
        Ok(devices)
    }

    /// The node that owns a LID, by its end port.
    ///
    /// None where no port holds it. LIDs are compared whole: the demo leaves LMC at 0.
    pub(super) fn owner(&self, lid: u16) -> Option<PortRef> {
        self.owners.get(&lid).copied()
    }

    /// The LID of an end port.
    ///
    /// None for a port that was not read, 0 for one that was given none.
    pub(super) fn lid(&self, port: PortRef) -> Option<u16> {
        self.lids.get(&port).copied()
    }

    /// Where a switch sends a LID.
    ///
    /// None where it drops it, and where the LID is above the top.
    pub(super) fn output(&self, switch: NodeIx, lid: u16) -> Option<u8> {
        let port = *self.linear.get(&switch)?.get(usize::from(lid))?;
        (port != NO_PORT).then_some(port)
    }

    /// The VL of an SL from one port to another; 15 where the packet is dropped.
    ///
    /// None where that table was not read: a port without a cable.
    pub(super) fn vl(&self, node: NodeIx, input: u8, output: u8, sl: u8) -> Option<u8> {
        let table = self.sl_to_vl.get(&(node, input, output))?;
        let pair = *table.get(usize::from(sl / 2))?;
        Some(if sl.is_multiple_of(2) {
            pair >> 4
        } else {
            pair & 15
        })
    }

    /// None: it does not answer. `at`: the port by which it is entered; a switch counts as its port
    /// 0.
    fn read_node(&mut self, asking: &mut Asking<'_>, fabric: &Fabric, at: PortRef) -> Option<()> {
        let node = fabric.node(at.node);
        let info = asking.get(attribute::PORT_INFO, 0)?;
        // LID: bytes 16 and 17 of PortInfo.
        let &[.., high, low] = info.first_chunk::<18>()?;
        let lid = u16::from_be_bytes([high, low]);
        if node.kind != NodeType::Switch {
            self.own(lid, at);
            let table = asking.get(attribute::SL_TO_VL, 0)?;
            let table = *table.first_chunk()?;
            // A CA has one table; input and output are then not told apart.
            self.sl_to_vl.insert((at.node, at.port, at.port), table);
            return Some(());
        }
        self.own(lid, PortRef { port: 0, ..at });
        self.read_linear(asking, at.node)?;
        self.read_sl_to_vl(asking, fabric, at.node)
    }

    /// Both ways at once, so that they cannot differ.
    fn own(&mut self, lid: u16, port: PortRef) {
        self.owners.insert(lid, port);
        self.lids.insert(port, lid);
    }

    /// As far as the switch looks: to LinearFDBTop.
    fn read_linear(&mut self, asking: &mut Asking<'_>, switch: NodeIx) -> Option<()> {
        let info = asking.get(attribute::SWITCH_INFO, 0)?;
        // LinearFDBTop: bytes 6 and 7 of SwitchInfo.
        let &[.., high, low] = info.first_chunk::<8>()?;
        let top = u16::from_be_bytes([high, low]);
        let blocks =
            (0..=u32::from(top / 64)).map(|block| asking.get(attribute::LINEAR_TABLE, block));
        let blocks: Option<Vec<[u8; 64]>> = blocks.collect();
        let mut table = blocks?.concat();
        // The last block reaches behind the top; what is there is not looked up, whatever it says.
        table.truncate(usize::from(top) + 1);
        self.linear.insert(switch, table);
        Some(())
    }

    /// Of ports with a cable.
    ///
    /// Pairs of them, a port with itself too: a packet may leave where it came in.
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
                // Input in the upper byte, output in the lower.
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
///
/// Asked without LIDs, since those are what is to be read.
struct Asking<'a> {
    manager: &'a mut Manager,
    path: &'a [u8],
}

impl Asking<'_> {
    /// None: no answer, or an error status.
    fn get(&mut self, attribute: u16, modifier: u32) -> Option<[u8; 64]> {
        self.manager.get(self.path, attribute, modifier)
    }
}

/// A shortest directed route to each node, by the port at which it is entered. Shape: nearest
/// first.
///
/// Route: output ports from the Subnet Manager on, empty for its own node.
fn routes(cabled: Cabled<'_>, from: PortRef) -> Vec<(PortRef, Vec<u8>)> {
    let mut known = HashSet::from([from.node]);
    let mut front = VecDeque::from([(from, Vec::new())]);
    let mut routes = Vec::new();
    while let Some((at, path)) = front.pop_front() {
        let node = cabled.fabric.node(at.node);
        let outputs = match node.kind {
            NodeType::Switch => 1..=node.port_count(),
            // The Subnet Manager's own host: out by the port that it is behind.
            _ if at == from => at.port..=at.port,
            // Nothing is passed on by the others.
            _ => {
                routes.push((at, path));
                continue;
            }
        };
        for port in outputs {
            let far = cabled.peer(PortRef { port, ..at });
            // The first that reaches a node is the shortest, since they come in order.
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
