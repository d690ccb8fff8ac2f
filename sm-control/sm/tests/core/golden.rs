//! Recordings of OpenSM's first sweeps.

use std::io::Read;
use std::path::Path;

use sa_fabric::formats::net;
use sa_fabric::{Fabric, NodeIx, PortRef};

/// First sweeps of one SM.
pub(crate) const CASES: [&str; 9] = [
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

/// A file of a recording.
pub(crate) fn read(case: &str, file: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/sm");
    let packed = std::fs::File::open(root.join(case).join(format!("{file}.xz"))).unwrap();
    let mut text = String::new();
    let mut reader = lzma_rust2::XzReader::new(packed, false);
    reader.read_to_string(&mut text).unwrap();
    text
}

/// The fabric of a recording, and the port with its SM: the host that the first line of the trace names.
pub(crate) fn fabric(case: &str) -> (Fabric, PortRef) {
    let fabric = net::parse(read(case, "net").as_bytes()).unwrap();
    let trace = read(case, "trace.txt");
    let host = trace.lines().next().unwrap().rsplit(' ').next().unwrap();
    let mut nodes = fabric.nodes().iter();
    let node = NodeIx::nth(nodes.position(|node| node.name() == host).unwrap());
    (fabric, PortRef { node, port: 1 })
}

/// How many Gets of an attribute OpenSM sent in the first sweep, up to the first Set.
pub(crate) fn gets(case: &str, attribute: &str) -> usize {
    let needle = format!(" Get {attribute} ");
    let trace = read(case, "trace.txt");
    let before_sets = trace.lines().take_while(|line| !line.contains(" Set "));
    before_sets.filter(|line| line.contains(&needle)).count()
}
