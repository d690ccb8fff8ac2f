//! The fabric read from OpenSM itself, over the kernel's umad and RMPP.

use anyhow::{Result, ensure};

use super::vm::{LIMIT, Vm};

/// Forwarding, SL2VL and topology are those that OpenSM dumps, torus-2QoS agrees with all of them,
/// and so do 200 paths.
pub(super) fn torus_reads_as_dumped() -> Result<String> {
    let torus = ["-T", "3,3,3", "-O", "-D 0x43"];
    reads("torus-2QoS", &torus, &["opensm-sl2vl.dump"])
}

/// Two levels of switches, by the tables that OpenSM made.
pub(super) fn tree_reads_as_dumped() -> Result<String> {
    reads("files", &["-O", "-D 0x43"], &[])
}

fn reads(engine: &str, options: &[&str], more: &[&str]) -> Result<String> {
    let vm = Vm {
        options: &[&["-t", LIMIT], options].concat(),
        script: "live.sh",
        variables: &[("ENGINE", engine)],
    };
    let left = vm.run()?;
    let passed = left.passed();
    let files = ["opensm-subnet.lst", "opensm-lfts.dump"];
    for file in files.iter().chain(more) {
        ensure!(passed.contains(file), "{file}:\n{}", left.printed);
    }
    Ok(passed)
}
