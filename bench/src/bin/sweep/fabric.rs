//! Fabrics to sweep, and how they are routed.

use std::fs;
use std::path::Path;

use policy::Dialect;
use sa_bench::shapes::Shape;
use sa_compiler::pipeline::Inputs;
use sa_fabric::formats::net;
use sa_fabric::{Fabric, NodeIx, PortRef};
use sa_wire::NodeType;

use crate::Failure;

/// By its name ([`Shape::named`]). A torus needs a file in a directory. Errors: another name; the
/// file cannot be written.
pub(crate) fn named(name: &str, qos: bool, folder: &Path) -> Result<(Fabric, Inputs), Failure> {
    let shape = Shape::named(name).map_err(|error| format!("{name}: {error}"))?;
    let mut inputs = Inputs {
        qos: Some(qos),
        engine: Some(shape.engine),
        ..Inputs::default()
    };
    if let Some(text) = shape.torus_conf {
        let conf = folder.join("torus-2QoS.conf");
        fs::write(&conf, text)?;
        inputs.torus_conf = Some(conf);
    }
    Ok((net::parse(shape.net.as_bytes())?, inputs))
}

/// The same with a new partition of all hosts and, where QoS is on, a policy whose set-up scope
/// gives their ports another VL arbitration. Errors: a file cannot be written.
///
/// Both files change at once: P_Key tables and VL arbitration are then written in one sweep.
pub(crate) fn with_policy(inputs: Inputs, folder: &Path) -> Result<Inputs, Failure> {
    let (policy, partitions) = (
        folder.join("qos-policy.conf"),
        folder.join("partitions.conf"),
    );
    fs::write(&policy, POLICY)?;
    fs::write(&partitions, PARTITIONS)?;
    Ok(Inputs {
        policy: Some(policy),
        dialect: Some(Dialect::Rfc02Text),
        partitions: Some(partitions),
        ..inputs
    })
}

/// A cable between switches that fails, far from the Subnet Manager, and the switch that is
/// rebooted: one with hosts.
///
/// Errors: a fabric of one switch, or without hosts, has neither.
pub(crate) fn to_fail(fabric: &Fabric) -> Result<(PortRef, NodeIx), Failure> {
    // Between switches: a cable to a host changes no route of anybody else.
    let kind = |at: PortRef| fabric.node(at.node).kind;
    let cables: Vec<_> = fabric
        .cabled()
        .filter(|(at, far)| kind(*at) == NodeType::Switch && kind(*far) == NodeType::Switch)
        .collect();
    // A third down the list is neither at the first switch nor at the SM's.
    let cable = cables
        .get(cables.len() / 3)
        .ok_or("no two switches are joined")?;
    let leaves = fabric.cabled().filter_map(|(at, far)| {
        (kind(at) == NodeType::Switch && kind(far) == NodeType::Ca).then_some(at.node)
    });
    // The last in the list is at the far end of the fabric from the first host, which has the SM.
    Ok((cable.0, leaves.last().ok_or("no switch has a host")?))
}

/// In the text of RFC 0.2.
///
/// One set-up scope that no default has, so that each host's tables differ from those before.
const POLICY: &str = "\
port-groups
    port-group
        name: hosts
        node-type: CA
    end-port-group
end-port-groups
qos-setup
    vlarb-tables
        vlarb-scope
            group: hosts
            vlarb-high: 0:64,1:128
            vlarb-low: 0:32,1:32
            vl-high-limit: 10
        end-vlarb-scope
    end-vlarb-tables
end-qos-setup
qos-levels
    qos-level
        name: DEFAULT
        sl: 0
    end-qos-level
end-qos-levels
";

/// Everybody in both.
///
/// A second key in every port: each of them has a P_Key block to be set.
const PARTITIONS: &str = "Default=0x7fff : ALL=full ;\nblue=0x1 : ALL=full ;\n";
