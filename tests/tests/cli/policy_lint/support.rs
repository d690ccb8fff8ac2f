//! Ports, policies and findings for the tests of the linter.

use policy::PortFacts;
use policy::lint::Finding;
use sa_wire::{Guid, NodeType};

/// A CA port.
pub(crate) fn port(guid: u64, description: &str) -> PortFacts {
    PortFacts {
        guid: Guid::new(guid).unwrap(),
        node_guid: Guid::new(0x1000 + guid).unwrap(),
        node_type: NodeType::Ca,
        description: description.to_owned(),
        port_number: 1,
        node_ports: 1,
        is_sm: guid == 0x10,
    }
}

/// The ids of findings, in their order.
pub(crate) fn ids(findings: &[Finding]) -> Vec<String> {
    findings
        .iter()
        .map(|finding| finding.id.to_string())
        .collect()
}
