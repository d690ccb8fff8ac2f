//! The kernel's path queries, answered on the host that asks.

use anyhow::Result;

use super::vm::{LIMIT, Vm};
use sa_tests::cli::program;

/// By the policy, and by the SA whenever the agent is of no use.
pub(super) fn answers_the_kernel() -> Result<String> {
    let library = program("libsapphire_split.so")?.display().to_string();
    let options = ["-O", "-D 0x43", "-P", &library, "-c", "1", "-t", LIMIT];
    let vm = Vm {
        options: &options,
        script: "local-service.sh",
        variables: &[],
    };
    let left = vm.run()?;
    let passed = left.all_passed(CHECKS)?;
    Ok(format!("{passed}{}", left.lines("result:")))
}

/// Those of local-service.sh.
const CHECKS: usize = 31;
