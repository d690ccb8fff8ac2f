//! What a rehearsal comes to, for operators.
//!
//! ```text
//!  planned and in service ──> entries, paths, SLs      what clients will notice
//!  counted Sets           ──> by attribute, a number   what the subnet will be sent
//!  transition, findings   ──> in stages, not proved    what may go wrong meanwhile
//! ```

use sa_compiler::drained::Cost;
use sa_compiler::state::FabricState;
use sa_snapshot::Snapshot;
use sa_wire::smp::attribute;
use sa_wire::{Lid, Sl};
use sm_plan::{PairChanges, PlanFinding};

use super::plans::KEPT;
use crate::server::operators::control::maintenance::{Pairs, PlanReport};
use crate::server::subnet_manager::maintenance::Rehearsed;

/// More findings than that nobody reads at once.
const MOST_FINDINGS: usize = 50;

/// `before`: what is in service.
pub(super) fn of(
    rehearsed: &Rehearsed,
    before: (Option<&FabricState>, Option<&Snapshot>),
    cost: Cost,
    change: Vec<String>,
) -> PlanReport {
    let planned = &rehearsed.planned;
    let (state, compiled) = (&planned.compiled.parts, &planned.compiled);
    let engine = state.routes.engine().to_string();
    let engine_before = before
        .0
        .map_or_else(|| engine.clone(), |it| it.routes.engine().to_string());
    // None where the fabric itself is another one; its tables are written all the same, and counted as Sets.
    let changed = compiled.entries_changed.unwrap_or_default();
    // All are counted, and the first are told.
    let findings: Vec<String> = planned.findings.iter().map(ToString::to_string).collect();
    let by_attribute = rehearsed
        .sets
        .iter()
        .map(|(attribute, sets)| (name(*attribute), *sets));
    PlanReport {
        plan: number(rehearsed, &change),
        kept_s: KEPT.as_secs(),
        change,
        engine_before,
        engine,
        sets: rehearsed.sets.values().sum(),
        sets_by_attribute: by_attribute.collect(),
        entries_changed: changed.entries,
        switches_changed: changed.switches as u64,
        lids_changed: rehearsed.lids_changed,
        pairs: pairs(rehearsed, before),
        hosts_without_another_way: cost.hosts,
        pairs_without_another_way: cost.pairs,
        transition: transition(rehearsed, changed.entries),
        stages: planned.transition.stages.len(),
        findings_count: findings.len(),
        findings: findings.into_iter().take(MOST_FINDINGS).collect(),
    }
}

/// Why routes do not leave what is drained; none: they do.
pub(super) fn set_aside(rehearsed: &Rehearsed) -> Option<String> {
    let mut findings = rehearsed.planned.findings.iter();
    findings.find_map(|finding| match finding {
        PlanFinding::DrainsSetAside { why } => Some(why.clone()),
        _ => None,
    })
}

/// Of these Sets for this change.
fn number(rehearsed: &Rehearsed, change: &[String]) -> String {
    use core::hash::{Hash, Hasher};
    let mut hasher = std::hash::DefaultHasher::new();
    (rehearsed.promise.digest(), change).hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// Nothing has changed where nothing is in service yet.
fn pairs(rehearsed: &Rehearsed, before: (Option<&FabricState>, Option<&Snapshot>)) -> Pairs {
    let compiled = &rehearsed.planned.compiled;
    let changes = match before {
        (Some(state), Some(snapshot)) => {
            let sl = |snapshot: &Snapshot, from: Lid, to: Lid| -> Option<Sl> {
                sa_answer::whole::path_sl(snapshot, from, to).ok()
            };
            let old = |from, to| sl(snapshot, from, to);
            let new = |from, to| sl(&compiled.snapshot, from, to);
            PairChanges::new(state, &compiled.parts, (old, new))
        }
        // Nothing is in service that could change.
        _ => PairChanges::default(),
    };
    Pairs {
        all: changes.pairs,
        path_changed: changes.paths,
        lost: changes.lost,
        gained: changes.gained,
        sl_changed: changes.sls,
        sl_compared: changes.sls_compared,
    }
}

/// Whether no moment of the change can deadlock.
fn transition(rehearsed: &Rehearsed, entries: u64) -> &'static str {
    let planned = &rehearsed.planned;
    let is_open = |it: &PlanFinding| {
        matches!(
            it,
            PlanFinding::NotProvedTogether { .. } | PlanFinding::OldSls
        )
    };
    match (
        planned.findings.iter().any(is_open),
        planned.transition.stages.len(),
    ) {
        (true, _) => "not proved",
        (false, 0) if entries == 0 => "none",
        (false, 0) => "at once",
        (false, _) => "in stages",
    }
}

/// As the specification calls it.
fn name(id: u16) -> String {
    match id {
        attribute::SWITCH_INFO => "SwitchInfo",
        attribute::GUID_INFO => "GUIDInfo",
        attribute::PORT_INFO => "PortInfo",
        attribute::PKEY_TABLE => "P_KeyTable",
        attribute::SL_TO_VL => "SLtoVLMappingTable",
        attribute::VL_ARBITRATION => "VLArbitrationTable",
        attribute::LINEAR_TABLE => "LinearForwardingTable",
        attribute::MULTICAST_TABLE => "MulticastForwardingTable",
        other => return format!("0x{other:04x}"),
    }
    .to_owned()
}
