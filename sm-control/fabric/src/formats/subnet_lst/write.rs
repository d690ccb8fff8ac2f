//! `opensm-subnet.lst`: nodes, LIDs and cables; read by [`super::parse`].
//!
//! Speeds are written by their number also for NDR (100), for which OpenSM 3.3.23 prints `??`.
//!
//! The order is that of OpenSM's maps, so that a file of ours and one of OpenSM's can be compared
//! with `diff`. Ports that the SM does not reach have no line.

use std::io::{self, Write};

use sa_wire::NodeType;

use crate::formats::printed;
use crate::model::{NodeIx, PortRef};
use crate::subnet::Subnet;

/// Writes the file: every end of every cable that the SM sees, in the order of node GUIDs and port
/// numbers. Errors: those of `out`.
///
/// Cost: a line of some 350 bytes for each end of each cable.
pub fn write(out: &mut impl Write, subnet: &Subnet) -> io::Result<()> {
    let fabric = subnet.fabric();
    let mut nodes: Vec<NodeIx> = subnet.end_ports().iter().map(|port| port.at.node).collect();
    nodes.sort_by_key(|node| fabric.node(*node).guid.map_order());
    nodes.dedup();
    for node in nodes {
        // Port 0 has no cable and falls out by itself.
        for port in 0..=fabric.node(node).port_count() {
            let here = PortRef { node, port };
            let is_seen = |at: &PortRef| subnet.by_port(*at).is_some();
            if let Some(there) = fabric
                .port(here)
                .peer
                .filter(|there| is_seen(&here) && is_seen(there))
            {
                line(out, subnet, here, there)?;
            }
        }
    }
    Ok(())
}

/// One end of a cable: itself, its far end, and what the link runs at. Vendor ids have six digits
/// in the first half and eight in the second, as OpenSM's format strings have it.
fn line(out: &mut impl Write, subnet: &Subnet, here: PortRef, there: PortRef) -> io::Result<()> {
    let node = subnet.fabric().node(here.node);
    let (vendor, device) = (node.vendor_id, node.device_id);
    side(
        out,
        subnet,
        here,
        format_args!("VenID:{vendor:06X} DevID:{device:04X}"),
    )?;
    // OpenSM converts the 16-bit device id of the far node as if it had 32 bits.
    let node = subnet.fabric().node(there.node);
    let (vendor, device) = (node.vendor_id, u32::from(node.device_id) << 16);
    side(
        out,
        subnet,
        there,
        format_args!("VenID:{vendor:08X} DevID:{device:04X}"),
    )?;
    let link = subnet.fabric().link(here);
    let state = subnet.fabric().port(here).state.name();
    writeln!(out, "PHY={} LOG={state} SPD={}", link.width, link.speed)
}

/// From brace to brace. `ids`: vendor and device, which the two halves print differently.
fn side(
    out: &mut impl Write,
    subnet: &Subnet,
    at: PortRef,
    ids: core::fmt::Arguments<'_>,
) -> io::Result<()> {
    let node = subnet.fabric().node(at.node);
    let Some((index, end)) = subnet
        .by_port(at)
        .and_then(|index| subnet.end_ports().get(index).map(|end| (index, end)))
    else {
        return Ok(());
    };
    let kind = match node.kind {
        NodeType::Ca => "CA",
        NodeType::Switch => "SW",
        NodeType::Router => "Rt",
    };
    // The mark stands at the SM's port only, and on the line of a switch at all its ports.
    let sm = if index == subnet.sm() { "-SM" } else { "" };
    write!(
        out,
        "{{ {kind}{sm} Ports:{:02X} SystemGUID:{:016x} NodeGUID:{:016x} PortGUID:{:016x} {ids} \
         Rev:{:08X} {{{}}} LID:{:04X} PN:{:02X} }} ",
        node.port_count(),
        node.system_guid.get(),
        node.guid.get(),
        end.guid.get(),
        node.revision,
        printed(&node.description),
        end.lid.get(),
        at.port,
    )
}
