//! The fabric read from OpenSM itself, over the kernel's umad and RMPP.

use anyhow::{Result, ensure};

use super::vm::Left;

/// Of live.sh: forwarding and topology are those that OpenSM dumps, and so are the files of `more`;
/// the engine agrees with all of them, and so do 200 paths. So many checks are others'.
pub(super) fn reads_as_dumped(left: &Left, more: &[&str], others: usize) -> Result<String> {
    let passed = left.passed();
    let files = ["opensm-subnet.lst", "opensm-lfts.dump"];
    for file in files.iter().chain(more) {
        ensure!(passed.contains(file), "{file}:\n{}", left.printed);
    }
    let checks = passed.lines().count();
    ensure!(
        checks == CHECKS + files.len() + more.len() + others,
        "{}",
        left.printed
    );
    Ok(passed)
}

/// Besides those of files: it is read, the daemon takes it, by the engine.
const CHECKS: usize = 3;
