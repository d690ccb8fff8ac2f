//! OpenSM's own test program against the daemon, which alone is the SA.

use anyhow::{Result, ensure};

use super::vm::{LIMIT, Vm};

/// On two levels of switches. First that fabric is read from OpenSM, by the tables that it made.
pub(super) fn passes() -> Result<String> {
    let vm = Vm {
        options: &["-c", "1", "-t", LIMIT, "-O", "-D 0x43"],
        script: "live.sh osmtest.sh",
        variables: &[
            ("ENGINE", "files"),
            ("ROLE", "test"),
            ("FLOWS", "c v s e m q a"),
        ],
    };
    let left = vm.run()?;
    let flows = |line: &&str| line.starts_with("ok   osmtest");
    let passed = left.passed();
    let found = passed.lines().filter(flows).count();
    ensure!(found == FLOWS, "{found} flows:\n{}", left.printed);
    let read = super::live::reads_as_dumped(&left, &[], FLOWS)?;
    Ok(read)
}

/// Seven flows, and four kinds of stress.
const FLOWS: usize = 11;
