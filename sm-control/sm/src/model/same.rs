//! Whether a subnet is as another one, but for what depends on the way by which it was found.
//!
//! | compared | left out |
//! |---|---|
//! | which nodes there are; NodeInfo and NodeDescription of each; SwitchInfo | by which port a node was found first |
//! | PortInfo of every port | LocalPortNum, and counters of violations |
//! | links, by GUID and port; GUIDs of end ports; whether there is a way | the way, and the order of nodes |
//! | P_Key tables, as far as the later one read them | other tables, as nobody reads them each time |
//! | findings, word for word | |
//!
//! Forwarding tables and their like that somebody else has written since are not seen here: nothing short of reading all of
//! them would, and no sweep does that. A restart does.

use sa_fabric::PortRef;
use sa_wire::Guid;
use sa_wire::records::{NodeRecord, PortInfoRecord};

use super::{Node, Port, Subnet};

impl Subnet {
    /// True where this one, found just now, tells what the `other` one holds. Two such lead to the same plan.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let is_same = |node: &Node| {
            let old = other.by_guid(node.guid()).and_then(|at| other.node(at));
            old.is_some_and(|old| self.is_same_node(node, other, old))
        };
        self.nodes.len() == other.nodes.len()
            && self.findings == other.findings
            && self.named(self.sm) == other.named(other.sm)
            && self.nodes.iter().all(is_same)
    }

    /// `old` is a node of `other` with the same GUID.
    fn is_same_node(&self, node: &Node, other: &Self, old: &Node) -> bool {
        let is_same = |((_, port), (_, old)): ((u8, &Port), (u8, &Port))| {
            self.named(port.peer) == other.named(old.peer)
                && port.guid == old.guid
                && port.route.is_some() == old.route.is_some()
                && port.info.map(told) == old.info.map(told)
        };
        // What the later one read is what the earlier one knew; the earlier one may know more.
        let mut tables = node.tables.blocks();
        of_node(&node.record) == of_node(&old.record)
            && node.switch_info == old.switch_info
            && node.port_count() == old.port_count()
            && node.ports().zip(old.ports()).all(is_same)
            && tables.all(|(block, data)| old.tables.get(*block) == Some(data))
    }

    /// A port by a name that does not depend on the order of nodes.
    fn named(&self, at: Option<PortRef>) -> Option<(Guid, u8)> {
        let at = at?;
        Some((self.node(at.node)?.guid(), at.port))
    }
}

/// Without the port that answered first.
fn of_node(record: &NodeRecord) -> NodeRecord {
    let vendor = record.port_and_vendor.get() & 0x00ff_ffff;
    NodeRecord {
        port_guid: 0.into(),
        port_and_vendor: vendor.into(),
        ..*record
    }
}

/// Without what counts by itself or depends on the way.
pub(crate) fn told(info: PortInfoRecord) -> PortInfoRecord {
    PortInfoRecord {
        local_port_num: 0,
        m_key_violations: 0.into(),
        p_key_violations: 0.into(),
        q_key_violations: 0.into(),
        ..info
    }
}
