//! The units that `docs/examples/systemd` has, as they are.

use anyhow::Result;

use super::vm::{LIMIT, Vm};
use sa_tests::cli::program;

/// The local service, and the daemon beside OpenSM, started, killed, restarted and stopped by systemd.
pub(super) fn runs_the_units() -> Result<String> {
    let library = program("libsapphire_split.so")?.display().to_string();
    let vm = Vm {
        options: &["-O", "-D 0x43", "-c", "1", "-t", LIMIT],
        script: "systemd.sh",
        variables: &[("SPLIT_LIBRARY", &library)],
    };
    vm.run()?.all_passed(CHECKS)
}

/// Those of systemd.sh.
const CHECKS: usize = 21;
