//! NodeRecords. Source: OpenSM `osm_sa_node_record.c`.
//!
//! The record is of a port as much as of a node: LID, port GUID and port number are the port's, the
//! rest is the node's. A CA with two ports has two records, a switch one, with port 0.
//!
//! ```text
//!  Get(NodeRecord), LID 5                    the port with LID 5 and its node
//!  GetTable(NodeRecord), NodeType 2          every switch that shares a partition with the requester
//!  NodeDescription "HCA-1"                   whose description is this, up to its NUL
//! ```

use core::ops::ControlFlow;

use sa_fabric::PortRef;
use sa_wire::records::{Field, Form, Layout, NodeRecord};
use zerocopy::IntoBytes;

use super::device;
use super::out::Out;
use super::query::Query;
use super::view::View;

/// One record for each CA and router port, one for each switch.
pub(super) fn walk(view: &View<'_>, query: &Query<'_>, out: &mut Out) -> ControlFlow<()> {
    let lid = query.wanted("lid");
    let wanted_end = lid.map(|lid| view.end_by_lid(lid).map(|end| end.at));
    for node in view.nodes_by_lid(lid) {
        let ends = view.ports(node).take(match view.is_switch(node) {
            true => 1,
            false => usize::MAX,
        });
        for at in ends {
            // The LID found the node; of a CA with several ports only the one that owns it is
            // meant.
            if wanted_end.is_some_and(|wanted| wanted != Some(at)) {
                continue;
            }
            let record = record(view, at);
            let agrees =
                query.agrees(record.as_bytes(), is_equal) && same_description(query, &record);
            if agrees && view.shows(at) {
                out.push(record.as_bytes())?;
            }
        }
    }
    ControlFlow::Continue(())
}

/// What is compared for equality. LIDs are ranges, and descriptions end at a NUL, so both are
/// compared otherwise.
fn is_equal(field: &Field) -> bool {
    field.name != "lid" && field.form != Form::Text
}

/// NodeDescription up to the first NUL: what is behind that is no text.
fn same_description(query: &Query<'_>, record: &NodeRecord) -> bool {
    let field = Layout::NODE.field("node_description");
    field.is_none_or(|field| {
        !query.has(field.mask()) || field.text(query.data()) == field.text(record.as_bytes())
    })
}

/// What is known of the node itself, else what the file says, with the versions that every device has.
fn record(view: &View<'_>, at: PortRef) -> NodeRecord {
    let node = view.node(at.node);
    let end = view.end(at);
    let told = view.told().zip(end);
    if let Some(told) = told.and_then(|(told, end)| told.node(end.lid)) {
        return *told;
    }
    let mut description = [0; 64];
    // Cut at 64 bytes, as the field is; without a NUL where all are used.
    for (place, byte) in description.iter_mut().zip(node.description.as_bytes()) {
        *place = *byte;
    }
    NodeRecord {
        lid: end.map_or(0, |end| end.lid.get()).into(),
        reserved: 0.into(),
        base_version: device::VERSION,
        class_version: device::VERSION,
        node_type: node.kind as u8,
        num_ports: node.port_count(),
        system_image_guid: node.system_guid.get().into(),
        node_guid: node.guid.get().into(),
        port_guid: end.map_or(0, |end| end.guid.get()).into(),
        partition_cap: device::partition_cap(node.kind).into(),
        device_id: node.device_id.into(),
        revision: node.revision.into(),
        port_and_vendor: (u32::from(at.port) << 24 | node.vendor_id & 0x00ff_ffff).into(),
        description,
        padding: 0.into(),
    }
}
