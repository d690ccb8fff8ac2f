//! The daemon beside an OpenSM that keeps the fabric, on one port.

use anyhow::Result;

use super::vm::{LIMIT, Vm};
use sa_tests::cli::program;

/// Reads by the daemon, writes by OpenSM, and neither misses the other for long.
pub(super) fn lives_with_opensm() -> Result<String> {
    let library = program("libsapphire_split.so")?.display().to_string();
    let vm = Vm {
        options: &[
            "-n",
            "H1,H2,H3,H4",
            "-O",
            "-D 0x43 -Q -Y /run/softib/policy.conf",
            "-P",
            &library,
            "-c",
            "1",
            "-t",
            LIMIT,
        ],
        script: "beside.sh",
        variables: &[],
    };
    let left = vm.run()?;
    let passed = left.all_passed(CHECKS)?;
    let queries = super::saquery::same(&left)?;
    Ok(format!(
        "{passed}{}     {queries} queries printed the same by the daemon and by OpenSM\n",
        left.lines("beside:")
    ))
}

/// The standby's daemon takes over with the standby.
pub(super) fn fails_over() -> Result<String> {
    let library = program("libsapphire_split.so")?.display().to_string();
    let vm = Vm {
        options: &["-n", "H1,H2,H3,H4", "-S", "-c", "1", "-t", LIMIT],
        script: "failover.sh",
        variables: &[("LIBRARY", &library), super::tables::WIRE],
    };
    let left = vm.run()?;
    let passed = left.all_passed(FAILOVER_CHECKS)?;
    let compared = super::tables::judge(&left, 1000)?;
    let queries = super::saquery::same(&left)?;
    Ok(format!(
        "{passed}{}{compared}     {queries} queries printed the same by the daemon and by OpenSM\n",
        left.lines("failover:")
    ))
}

/// Those of beside.sh.
const CHECKS: usize = 37;
/// Those of failover.sh.
const FAILOVER_CHECKS: usize = 13;
