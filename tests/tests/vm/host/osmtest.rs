//! OpenSM's own test program against the daemon, which alone is the SA.

use anyhow::{Result, ensure};

use super::vm::{LIMIT, Vm};

pub(super) fn passes() -> Result<String> {
    let vm = Vm {
        options: &["-c", "1", "-t", LIMIT, "-O", "-D 0x43"],
        script: "osmtest.sh",
        variables: &[("ROLE", "test"), ("FLOWS", "c v s e m q a")],
    };
    let left = vm.run()?;
    let passed = left.passed();
    ensure!(passed.lines().count() == FLOWS, "{}", left.printed);
    Ok(passed)
}

/// Seven flows, and four kinds of stress.
const FLOWS: usize = 11;
