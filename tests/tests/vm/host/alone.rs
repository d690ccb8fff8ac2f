//! The daemon as SM and SA of a subnet that nobody else manages.

use anyhow::Result;

use super::vm::{LIMIT, Vm};

/// By queue pair 0 and 1 of one port, with the kernel's own agents on the others; then OpenSM finds nothing to do, and says
/// the same of the subnet.
pub(super) fn manages_a_subnet() -> Result<String> {
    let vm = Vm {
        options: &["-S", "-c", "1", "-t", LIMIT],
        script: "alone.sh",
        variables: &[],
    };
    let left = vm.run()?;
    let passed = left.all_passed(CHECKS)?;
    let queries = super::saquery::same(&left)?;
    Ok(format!(
        "{passed}     {queries} queries printed the same by the daemon and by OpenSM\n"
    ))
}

/// Those of alone.sh.
const CHECKS: usize = 35;
