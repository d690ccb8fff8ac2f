//! Metrics of the Subnet Manager of this process.
//!
//! What to watch: `sapphire_sm_sweep_failures_total` that rises (the subnet is not followed),
//! `sapphire_sm_findings` above 0 (devices that want a person), `sapphire_sm_up_seconds` that does
//! not rise (no sweep comes to its end).
//!
//! `sapphire_sm_sets_total` rises with each change of the subnet; where nothing changes and it
//! rises, a device does not keep what it is told.

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};

use super::page::{Page, number};
use crate::server::operators::status::Status;

/// Nothing where another SM has the subnet.
pub(super) fn write(status: &Status, page: &mut Page<'_>) -> fmt::Result {
    let Some(sweeps) = status.sweeps() else {
        return Ok(());
    };
    let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    for (name, help, counter) in [
        ("sm_sweeps", "Sweeps that came to their end", &sweeps.ended),
        (
            "sm_sweep_failures",
            "Sweeps that did not: the port failed, or there was no plan",
            &sweeps.failed,
        ),
        ("sm_smps", "SMPs sent by sweeps", &sweeps.smps),
        ("sm_sets", "Of these, Sets", &sweeps.sets),
        (
            "sm_smps_repeated",
            "SMPs sent again as no answer came",
            &sweeps.repeated,
        ),
        ("sm_traps", "Traps of devices", &sweeps.traps),
        (
            "sm_traps_dropped",
            "Of these, those that subscribers were to hear and did not, as too many waited",
            &sweeps.traps_dropped,
        ),
        (
            "sm_audit_reads",
            "Attributes of nodes that were read back",
            &sweeps.audit_reads,
        ),
        (
            "sm_audit_differing",
            "Of these, those that were other than they had been written, and were written again",
            &sweeps.audit_differing,
        ),
    ] {
        page.count(name, help, of(counter))?;
    }
    let seconds = number(of(&sweeps.last_ms)) / 1e3;
    for (name, help, value) in [
        (
            "sm_nodes",
            "Nodes that sweeps found",
            number(of(&sweeps.nodes)),
        ),
        (
            "sm_requests_open",
            "SMPs of a sweep without an outcome",
            number(of(&sweeps.open)),
        ),
        ("sm_sweep_seconds", "How long the last sweep took", seconds),
        (
            "sm_up_seconds",
            "When the last sweep came to its end, seconds since 1970; 0 before",
            number(of(&sweeps.up_unix)),
        ),
        (
            "sm_findings",
            "What a person should know of the subnet, as of the last sweep",
            number(sweeps.findings().len() as u64),
        ),
        (
            "sm_drained",
            "Switches and cables that routes are to leave",
            number(sweeps.drained().len() as u64),
        ),
    ] {
        page.value(name, help, value)?;
    }
    Ok(())
}
