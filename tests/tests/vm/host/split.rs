//! OpenSM with the preload library, and no daemon but a test's.

use anyhow::Result;

use super::vm::{LIMIT, Vm};
use sa_tests::cli::program;

pub(super) fn works() -> Result<String> {
    let library = program("libsapphire_split.so")?.display().to_string();
    let vm = Vm {
        options: &["-P", &library, "-c", "1", "-t", LIMIT],
        script: "split.sh",
        variables: &[],
    };
    let left = vm.run()?;
    left.all_passed(CHECKS)
}

/// Those of split.sh, and of the guest's part.
const CHECKS: usize = 26;
