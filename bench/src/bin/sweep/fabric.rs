//! Fabrics to sweep, and how they are routed.

use std::fs;
use std::path::Path;

use policy::Dialect;
use routing::EngineKind;
use sa_bench::shapes;
use sa_compiler::pipeline::Inputs;
use sa_fabric::formats::net;
use sa_fabric::generate::{self, TorusSpec, plan};
use sa_fabric::{Fabric, NodeIx, PortRef};
use sa_wire::NodeType;

use crate::Failure;

/// By name: `torus:16x16x16x1`, one host on a switch, by torus-2QoS, or a shape by its word, as `fat-tree:32`
/// (`sa_fabric::generate::named`), by the engine that goes with it. A torus needs a file in a directory. Errors: another
/// name; the file cannot be written.
pub(crate) fn named(name: &str, qos: bool, folder: &Path) -> Result<(Fabric, Inputs), Failure> {
    let unknown = || format!("{name}: expected torus:XxYxZxHOSTS, or a shape as fat-tree:32");
    let mut inputs = Inputs {
        qos: Some(qos),
        engine: Some(shapes::engine(name)),
        ..Inputs::default()
    };
    let text = match name.strip_prefix("torus:") {
        Some(numbers) => {
            let numbers: Result<Vec<u8>, _> = numbers.split('x').map(str::parse).collect();
            let numbers = numbers.map_err(|_| unknown())?;
            let &[x, y, z, hosts] = numbers.as_slice() else {
                return Err(unknown().into());
            };
            let plan = plan(&TorusSpec::new([x, y, z], hosts))?;
            let conf = folder.join("torus-2QoS.conf");
            fs::write(&conf, plan.torus_conf())?;
            (inputs.engine, inputs.torus_conf) = (Some(EngineKind::Torus2Qos), Some(conf));
            plan.net()
        }
        None => generate::named(name)?.ok_or_else(unknown)?.net(),
    };
    Ok((net::parse(text.as_bytes())?, inputs))
}

/// The same with a new partition of all hosts and, where QoS is on, a policy whose set-up scope gives their ports another VL
/// arbitration. Errors: a file cannot be written.
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

/// Where the Subnet Manager is.
pub(crate) fn first_host(fabric: &Fabric) -> Result<PortRef, Failure> {
    let mut nodes = fabric.nodes().iter();
    let first = nodes.position(|node| node.kind == NodeType::Ca);
    let node = NodeIx::nth(first.ok_or("the fabric has no host")?);
    Ok(PortRef { node, port: 1 })
}

/// A cable between switches that fails, far from the Subnet Manager, and the switch that is rebooted: one with hosts.
pub(crate) fn to_fail(fabric: &Fabric) -> Result<(PortRef, NodeIx), Failure> {
    let kind = |at: PortRef| fabric.node(at.node).kind;
    let cables: Vec<_> = fabric
        .cabled()
        .filter(|(at, far)| kind(*at) == NodeType::Switch && kind(*far) == NodeType::Switch)
        .collect();
    let cable = cables
        .get(cables.len() / 3)
        .ok_or("no two switches are joined")?;
    let leaves = fabric.cabled().filter_map(|(at, far)| {
        (kind(at) == NodeType::Switch && kind(far) == NodeType::Ca).then_some(at.node)
    });
    Ok((cable.0, leaves.last().ok_or("no switch has a host")?))
}

/// In the text of RFC 0.2.
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
const PARTITIONS: &str = "Default=0x7fff : ALL=full ;\nblue=0x1 : ALL=full ;\n";
