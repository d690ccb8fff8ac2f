//! A fleet of two hosts: the leader beside OpenSM, and a host whose kernel asks its own follower.

use anyhow::Result;

use super::vm::{LIMIT, Vm};
use sa_tests::cli::program;

/// What the kernel is told is the leader's, for as long as the leader's word is good, and the SA's
/// at any other time.
pub(super) fn follows_its_leader() -> Result<String> {
    let library = program("libsapphire_split.so")?.display().to_string();
    let options = ["-O", "-D 0x43", "-P", &library, "-c", "1", "-t", LIMIT];
    let vm = Vm {
        options: &options,
        script: "fleet.sh",
        variables: &[],
    };
    let left = vm.run()?;
    let passed = left.all_passed(CHECKS)?;
    Ok(format!("{passed}{}", left.lines("fleet:")))
}

/// Those of fleet.sh.
const CHECKS: usize = 27;
