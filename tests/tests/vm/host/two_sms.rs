//! Two Subnet Managers, and what a change from one to the other costs traffic and clients.

use anyhow::Result;

use super::tables::WIRE;
use super::vm::Vm;

/// Two daemons, then a daemon and an OpenSM: the master is stopped, killed and started again, and priorities change.
pub(super) fn hand_over() -> Result<String> {
    let vm = Vm {
        options: &["-n", "H1,H2,H3,H4,H5", "-S", "-c", "1", "-t", LONGEST],
        script: "two-sms.sh",
        variables: &[WIRE],
    };
    let left = vm.run()?;
    left.all_passed(BEFORE + EVENTS * EACH)?;
    Ok(left.lines("two-sms:"))
}

/// Polls are waited for, so longer than others. Units: s.
const LONGEST: &str = "1200";
/// Of two-sms.sh: how things begin, in all parts; what happens; and checks of each of that.
const BEFORE: usize = 10;
const EVENTS: usize = 18;
const EACH: usize = 7;
