//! Links of a plan that did not come up, of which what answers takes no notice.
//!
//! ```text
//!  link of a plan ──┬─ to a mute node:     up where the end that answers is Active, as nobody knows of the other
//!                   └─ to one that answers: up where both ends are Active; asked only by who is strict
//! ```

use std::collections::{BTreeSet, HashMap};

use sa_fabric::NodeIx;
use sa_fabric::sa_records::Records;
use sa_sm::model::{Node, Port, PortState, Subnet};
use sa_wire::Guid;
use sa_wire::records::LinkRecord;

/// Links that did not come up are none: their ends are Down.
pub(crate) fn leave_out_links(records: &mut Records, after: &Subnet, is_strict: bool) {
    let links = Links::new(records, after);
    let all = records.links.iter();
    let (stay, gone): (Vec<LinkRecord>, Vec<LinkRecord>) =
        all.partition(|link| links.carries(link, is_strict));
    let down: BTreeSet<(u16, u8)> = gone.iter().flat_map(ends).collect();
    records.links = stay;
    for port in &mut records.ports {
        if down.contains(&(port.lid.get(), port.port_num)) {
            port.speed_supported_and_state =
                port.speed_supported_and_state & 0xf0 | PortState::Down as u8;
        }
    }
}

/// Links of a plan, and what became of them. Shape: looked up by LIDs of the plan's records.
pub(crate) struct Links<'a> {
    after: &'a Subnet,
    /// By LID.
    nodes: HashMap<u16, NodeIx>,
}

/// A port by its node.
type End<'a> = (Option<&'a Node>, u8);

impl<'a> Links<'a> {
    pub(crate) fn new(records: &Records, after: &'a Subnet) -> Self {
        let nodes = records.nodes.iter().filter_map(|record| {
            let guid = Guid::new(record.node_guid.get()).ok()?;
            Some((record.lid.get(), after.by_guid(guid)?))
        });
        Self {
            after,
            nodes: nodes.collect(),
        }
    }

    /// False for a link to a mute node that is not Active at the end that answers, and with `is_strict` for any that is not so. What a
    /// mute end was believed to be says nothing.
    pub(crate) fn carries(&self, link: &LinkRecord, is_strict: bool) -> bool {
        let node = |lid: u16| self.after.node(*self.nodes.get(&lid)?);
        let [one, far]: [End<'_>; 2] = ends(link).map(|(lid, port)| (node(lid), port));
        let counts = is_mute(one) || is_mute(far) || is_strict;
        let is_up = |end| is_mute(end) || is_active(end);
        !counts || (is_up(one) && is_up(far))
    }
}

fn is_mute((node, _): End<'_>) -> bool {
    node.is_some_and(|node| node.is_mute)
}

fn is_active((node, port): End<'_>) -> bool {
    let port = node.and_then(|node| node.port(port));
    port.and_then(Port::state) == Some(PortState::Active)
}

fn ends(link: &LinkRecord) -> [(u16, u8); 2] {
    [
        (link.from_lid.get(), link.from_port),
        (link.to_lid.get(), link.to_port),
    ]
}
