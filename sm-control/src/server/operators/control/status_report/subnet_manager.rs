//! What the Subnet Manager of this process is at, as an object of the status.

use core::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;
use sm_plan::Waited;

use super::super::maintenance::DrainedPart;
use crate::server::health::Observed;
use crate::server::operators::sweeps::Sweeps;

/// What the Subnet Manager of this process is at.
#[derive(Debug, Serialize)]
pub(super) struct SubnetManager {
    /// `waiting`, `finding` or `writing`.
    phase: &'static str,
    nodes: u64,
    /// Requests without an outcome.
    open: u64,
    smps_per_second: u64,
    sweeps: u64,
    failed_sweeps: u64,
    smps: u64,
    sets: u64,
    repeated: u64,
    /// What nodes were written, read back.
    audit_reads: u64,
    /// Of these, what was other, and was written again.
    audit_differing: u64,
    last_ms: u64,
    /// When the last sweep came to its end; none before the first.
    up_unix: Option<u64>,
    /// All of them, of which `findings` has the first.
    findings_count: usize,
    findings: Vec<String>,
    /// What routes are to leave.
    drained: Vec<DrainedPart>,
    /// LIDs that hosts had no path to while routes changed, in the last sweep that had any;
    /// `waited` has the first.
    waited_count: usize,
    waited: Vec<WaitedLid>,
}

impl SubnetManager {
    pub(super) fn new(sweeps: &Sweeps, observed: Option<&Observed>) -> Self {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        // Those of links behind those of the sweep.
        let links = observed.map(Observed::standing).unwrap_or_default();
        let (findings, waited) = (sweeps.findings(), sweeps.last_waited());
        Self {
            phase: sweeps.phase().word(),
            nodes: of(&sweeps.nodes),
            open: of(&sweeps.open),
            smps_per_second: of(&sweeps.smps_per_second),
            sweeps: of(&sweeps.ended),
            failed_sweeps: of(&sweeps.failed),
            smps: of(&sweeps.smps),
            sets: of(&sweeps.sets),
            repeated: of(&sweeps.repeated),
            audit_reads: of(&sweeps.audit_reads),
            audit_differing: of(&sweeps.audit_differing),
            last_ms: of(&sweeps.last_ms),
            up_unix: Some(of(&sweeps.up_unix)).filter(|unix| *unix != 0),
            findings_count: findings.len() + links.len(),
            findings: findings
                .iter()
                .chain(links.iter())
                .take(MOST_FINDINGS)
                .cloned()
                .collect(),
            drained: sweeps.drained().iter().map(Into::into).collect(),
            waited_count: waited.len(),
            waited: waited.iter().take(MOST_WAITED).map(Into::into).collect(),
        }
    }
}

/// A LID that hosts had no path to for a while.
#[derive(Debug, Serialize)]
struct WaitedLid {
    lid: u16,
    /// NODE:PORT.
    port: String,
    /// Names of the switches of these hosts.
    from: Vec<String>,
    hosts: usize,
    ms: u64,
    /// They have a path again.
    over: bool,
}

impl From<&Waited> for WaitedLid {
    fn from(it: &Waited) -> Self {
        Self {
            lid: it.lid,
            port: it.port.clone(),
            from: it.from.clone(),
            hosts: it.hosts,
            ms: u64::try_from(it.took.as_millis()).unwrap_or(u64::MAX),
            over: it.is_over,
        }
    }
}

/// More than that nobody reads at once; the log has them all.
const MOST_FINDINGS: usize = 50;
/// Of LIDs with switches: some ten kilobytes in a subnet of a hundred switches.
const MOST_WAITED: usize = 256;
