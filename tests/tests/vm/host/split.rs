//! OpenSM with the preload library, and no daemon but a test's.

use anyhow::{Result, ensure};

use super::vm::{LIMIT, Vm};
use crate::e2e_support::program;

pub(super) fn works() -> Result<String> {
    let library = program("libsapphire_split.so")?.display().to_string();
    let vm = Vm {
        options: &["-P", &library, "-c", "1", "-t", LIMIT],
        script: "split.sh",
        variables: &[],
    };
    let left = vm.run()?;
    let passed = left.passed();
    let count = passed.lines().count();
    ensure!(
        count == CHECKS,
        "{count} of {CHECKS} checks:\n{}",
        left.printed
    );
    Ok(passed)
}

/// Those of split.sh, and of the guest's part.
const CHECKS: usize = 26;
