//! What OpenSM wrote to ibsim's devices, written to ours: every answer has the status that was
//! recorded, and at the end every field of every node is what the recording says.
//!
//! Recordings: `tests/golden/sm`, of which those with one first sweep of one SM are replayed. What is compared is
//! the state that was read back after it (`state-0-up`), less what no device of ours has a say in:
//! SMInfo of the SM's port, its IsSM bit, and multicast groups that were joined.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test that cannot go on should stop; the recordings are ours"
)]

mod state;
mod trace;

use std::path::{Path, PathBuf};

use fabric_simulator::{Simulator, Timing};
use sa_fabric::formats::net;
use sa_fabric::{Fabric, PortRef};

/// First sweeps without overrides of what devices tell.
const CASES: [&str; 9] = [
    "g01-star",
    "g02-line",
    "g03-ftree",
    "g04-ftree-lmc1",
    "g05-torus444-minhop",
    "g07-torus444-2qos",
    "g08-ftree-qos",
    "g11-parallel",
    "g12-router-esp0-lmc1",
];

fn case(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    root.join("../../../tests/golden/sm").join(name)
}

/// A file of a recording, packed or not.
fn read(name: &str, file: &str) -> String {
    let plain = case(name).join(file);
    if let Ok(text) = std::fs::read_to_string(&plain) {
        return text;
    }
    let packed = std::fs::File::open(case(name).join(format!("{file}.xz"))).unwrap();
    let mut text = String::new();
    let mut reader = lzma_rust2::XzReader::new(packed, false);
    std::io::Read::read_to_string(&mut reader, &mut text).unwrap();
    text
}

/// The fabric of a recording, and the port with its SM.
fn fabric(name: &str) -> (Fabric, PortRef) {
    let fabric = net::parse(read(name, "net").as_bytes()).unwrap();
    // The recordings start their SM on the first host.
    let trace = read(name, "trace.txt");
    let host = trace.lines().next().unwrap().rsplit(' ').next().unwrap();
    let node = fabric
        .nodes()
        .iter()
        .position(|node| node.name() == host)
        .unwrap();
    let sm = PortRef {
        node: sa_fabric::NodeIx::nth(node),
        port: 1,
    };
    (fabric, sm)
}

#[test]
fn devices_keep_what_opensm_wrote() {
    for name in CASES {
        let (fabric, sm) = fabric(name);
        let mut simulator = Simulator::new(&fabric, Timing::NONE);
        let count = trace::replay(&mut simulator, sm, &read(name, "trace.txt"));
        assert!(count > 20, "{name}: {count} Sets");
        let told = read(name, "state-0-up.txt");
        let compared = told.lines().filter(|line| state::is_compared(line));
        let expected: Vec<String> = compared.map(state::without_sm).collect();
        assert!(expected.len() > 20, "{name}: {} lines", expected.len());
        let found = state::read_back(&mut simulator, &fabric, sm);
        for (expected, found) in expected.iter().zip(&found) {
            assert_eq!(found, expected, "{name}");
        }
        assert_eq!(found.len(), expected.len(), "{name}");
    }
}
