//! What a request may name of a fabric.

use policy::ServiceIdEncoding;
use routing::EndPort;
use sa_compiler::state::FabricState;
use sa_wire::Lid;

use crate::rng::Rng;

/// Where the policy's dialect looks for service ids; none without a policy.
pub fn service_id_encoding(parts: &FabricState) -> Option<ServiceIdEncoding> {
    let policy = parts.policy.as_ref();
    policy.map(|policy| policy.semantics.service_id_encoding)
}

/// LIDs of all end ports, those by LMC included.
pub fn lids(parts: &FabricState) -> impl Iterator<Item = u16> {
    let ends = parts.topology.end_ports.iter();
    ends.flat_map(EndPort::lids).map(Lid::get)
}

/// Any end port.
pub fn any<'a>(parts: &'a FabricState, rng: &mut Rng) -> &'a EndPort {
    let ends = &parts.topology.end_ports;
    &ends[rng.below(ends.len())]
}

/// The node GUID of any switch or any end port. A switch's is its port GUID; a CA's is not.
pub fn node_guid(parts: &FabricState, rng: &mut Rng) -> u64 {
    let switches = &parts.topology.switches;
    if !switches.is_empty() && rng.one_in(2) {
        return switches[rng.below(switches.len())].guid.get();
    }
    any(parts, rng).node_guid.get()
}
