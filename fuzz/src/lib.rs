//! What the fuzzers share: a small world, and what every error must have. Requests, transfers and
//! messages with the judge of what they get are `sa_tests::fuzz`, which the tests of the workspace
//! run too.

use std::sync::LazyLock;

use sa_text::decode;
use policy::{Dialect, ParseOptions, compile, parse_as};
use sa_snapshot::Snapshot;
use sa_wire::umad::Slot;
use sa_fabric::{Fabric, OpenSmOptions, ParseError, Subnet, SubnetOptions};
use sa_fabric::generate::{TorusSpec, plan};
use sa_answer::whole;
use sa_compiler::pipeline::{Compiled, Inputs, Stamp, self};

/// A 3x3x2 torus with the sample policy and two partitions.
pub static WORLD: LazyLock<Compiled> = LazyLock::new(|| {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let plan = plan(&TorusSpec::new([3, 3, 2], 1)).expect("a plan");
    let put = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path
    };
    let inputs = Inputs {
        fabric: put("net", &plan.net()),
        torus_conf: Some(put("torus-2QoS.conf", &plan.torus_conf())),
        policy: Some(put("policy.conf", POLICY)),
        partitions: Some(put("partitions.conf", PARTITIONS)),
        ..Inputs::default()
    };
    pipeline::compile(&inputs, Stamp::default()).expect("a snapshot")
});

const POLICY: &str = include_str!("../../docs/examples/qos-policy.conf");
const PARTITIONS: &str = "Default=0x7fff : ALL=full;\n\
    p1=0x1, sl=3 : 0x100001=full, 0x100011;\np2=0x2, defmember=both : ALL_CAS, SELF=full;\n";

/// Panics unless the error names a place in the text, or the line after it.
pub fn placed<T>(text: &[u8], result: Result<T, ParseError>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error) => {
            in_text(text, error.at.line, error.at.column);
            assert!(!error.problem.to_string().is_empty());
            None
        }
    }
}

/// Panics unless line and column are of the text, or of the line after it.
pub fn in_text(text: &[u8], line: u32, column: u32) {
    let lines = text.iter().filter(|byte| **byte == b'\n').count() + 1;
    let is_within = |place: u32, most: usize| usize::try_from(place).is_ok_and(|at| at <= most);
    assert!(line >= 1 && is_within(line, lines + 1), "line {line} of {lines}");
    // Bytes that are no UTF-8 may count as a character each, and some as two.
    assert!(column >= 1 && is_within(column, 2 * text.len() + 1), "column {column}");
}

/// Reads a policy in this dialect and compiles it; panics unless an error has a place in the text.
pub fn policy(bytes: &[u8], dialect: Dialect) {
    let parts = &WORLD.parts;
    let read = parse_as(&decode(bytes), Some(dialect), &ParseOptions::default());
    let compiled = read.and_then(|policy| compile(&policy, &parts.facts, &parts.partitions));
    if let Err(error) = compiled {
        in_text(bytes, error.line(), error.column());
    }
}

/// Looks at a fabric as the SM does, and routes it by shortest paths.
pub fn route(fabric: Fabric) {
    let Ok(subnet) = Subnet::new(fabric, &SubnetOptions::default()) else { return };
    let topology = subnet.topology(&OpenSmOptions { qos: true, ..OpenSmOptions::default() });
    // Larger fabrics cost time and find nothing that smaller ones do not.
    if topology.switches.len() > 20 || topology.end_ports.len() > 60 {
        return;
    }
    let routes = routing::engine::minhop::route(&topology);
    let _ = routing::paths::classes::compile(&topology, &routes, routing::Qos::On);
}

/// Asks, and checks that a reply is one.
pub fn ask(snapshot: &Snapshot, slot: &Slot) {
    let Some(reply) = whole::respond(snapshot, slot) else { return };
    assert!(reply.len() >= 56);
    assert_eq!(reply[..3], slot.mad[..3], "version and class");
    assert_eq!(reply[3] & 0x80, 0x80, "a response");
    assert_eq!(reply[8..16], slot.mad[8..16], "transaction");
    assert_eq!(reply[36..44], [0; 8], "no key comes back");
    assert_eq!(reply, whole::respond(snapshot, slot).unwrap_or_default(), "always the same");
}

/// Asks for the path between every two of the first ports by LIDs and by GIDs.
pub fn ask_some(snapshot: &Snapshot) {
    use sa_wire::{Gid, Guid, SubnetPrefix};
    use sa_wire::request::{path_by_gids, path_by_lids};
    let ports: Vec<_> = snapshot.ports().map(|(_, port)| (port.lid, port.guid())).take(6).collect();
    let gid = |guid: Option<Guid>| guid.map(|it| Gid::unicast(SubnetPrefix::LINK_LOCAL, it));
    for (from, from_guid) in &ports {
        for (to, to_guid) in &ports {
            ask(snapshot, &path_by_lids(*from, *to));
            if let (Some(sgid), Some(dgid)) = (gid(*from_guid), gid(*to_guid)) {
                ask(snapshot, &path_by_gids(*from, sgid, dgid));
            }
        }
    }
}
