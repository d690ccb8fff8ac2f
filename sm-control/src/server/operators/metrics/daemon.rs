//! Metrics of the process: how long it runs, what it has loaded, whether it answers, and from what.
//!
//! What to watch, in this order: `sapphire_ready` (0 is a page at night), `sapphire_reload_total`
//! with result failed (the sources are broken, and the snapshot in service grows old),
//! `sapphire_snapshot_age_seconds`, `sapphire_state_failing` (a restart would be slow).
//! `docs/operating.md` lists all of them.
//!
//! | function | families, without `sapphire_` |
//! |---|---|
//! | `loads` | `uptime_seconds`, `load_seconds`, `reload` |
//! | `state` | `configuration_changed`, `state_stored_epoch`, `state_failing`, `state_failures` |
//! | `write` | `rollback`, `control_requests`, `admin_connections_cut`, of a table; `log_suppressed` |
//! | `readiness` | `ready`, `active`, `standing`, `rollback_held` |
//! | `overheard` | beside an OpenSM: `overheard_words`, `overheard_lost`, `overheard_mended`, `fabric_readings`, `tables_compared` |
//! | `write` | in a shadow, of a table: `shadow_asked`, `shadow_answered`, `shadow_different` |
//! | `snapshot` | its age, size and epoch, and what of the fabric is in it |
//!
//! Counters get `_total` behind their names from the library.

use core::fmt;

use sa_fastpath::publish::EpochId;
use sa_source::written::Counts as Overheard;

use super::page::{Page, number};
use crate::logging;
use crate::server::operators::counts::Section;
use crate::server::operators::status::{InService, Status};

/// Everything that is of no port. Families of a snapshot are left out while there is none: a 0
/// would look like an empty fabric.
///
/// Errors: the writer's, as of all functions here.
pub(super) fn write(status: &Status, page: &mut Page<'_>) -> fmt::Result {
    loads(status, page)?;
    state(status, page)?;
    page.families(status.counts.families(Section::Operators))?;
    page.count(
        "log_suppressed",
        "Log lines suppressed by the rate limit",
        logging::suppressed(),
    )?;
    readiness(status, page)?;
    if let Some(counts) = status.sm_facts().overheard {
        overheard(counts, page)?;
    }
    if status.is_shadow {
        page.families(status.counts.families(Section::Shadow))?;
    }
    page.value(
        "snapshot_epoch",
        "Number of the snapshot in service, 0 for none",
        number(EpochId::raw(status.service().map(|service| service.epoch))),
    )?;
    match status.service() {
        Some(service) => snapshot(&service, page),
        None => Ok(()),
    }
}

/// How long the process runs, and what came of its loads.
fn loads(status: &Status, page: &mut Page<'_>) -> fmt::Result {
    page.value(
        "uptime_seconds",
        "Time since the start",
        number(status.uptime()),
    )?;
    page.value(
        "load_seconds",
        "How long the load under way has taken, 0 without one",
        number(status.loading().map_or(0, |since| since.as_secs())),
    )?;
    page.families(status.counts.families(Section::Loads))
}

/// What a restart would find: without a state directory, only whether the configuration has
/// changed.
fn state(status: &Status, page: &mut Page<'_>) -> fmt::Result {
    page.truth(
        "configuration_changed",
        "1 if the configuration file differed from the one in force at the last reload",
        status.reconfigured().is_some(),
    )?;
    // Without a directory a 0 would look like a state that is empty.
    if status.state_directory.is_none() {
        return Ok(());
    }
    let kept = status.kept();
    page.value(
        "state_stored_epoch",
        "Epoch of the snapshot in the state directory, 0 for none",
        number(EpochId::raw(kept.stored)),
    )?;
    page.truth(
        "state_failing",
        "1 if the snapshot in service is not in the state directory",
        kept.problem.is_some(),
    )?;
    page.count(
        "state_failures",
        "Writes to the state directory that failed",
        kept.failures,
    )
}

/// Whether requests are answered, and if not, whose turn it is: `ready` is this daemon's fault,
/// `active` may be right beside an OpenSM that answers itself.
fn readiness(status: &Status, page: &mut Page<'_>) -> fmt::Result {
    page.truth(
        "ready",
        "1 if requests are answered from a snapshot of the sources",
        status.readiness().is_ok(),
    )?;
    page.truth(
        "active",
        "1 if this daemon is the one to answer",
        status.passive().is_none(),
    )?;
    let about_sm = status.sm_facts();
    // The fact is in the labels, as a gauge of words has no other place.
    let facts = about_sm.facts.iter().map(|(name, value)| {
        let labels = [("name", (*name).to_owned()), ("value", value.clone())];
        (labels, 1.0)
    });
    page.gauge(
        "standing",
        "Relation to the SM, in the labels; always 1",
        facts,
    )?;
    page.truth(
        "rollback_held",
        "1 if a rollback holds back automatic reloads",
        status.rollback().held.is_some(),
    )
}

/// What is known of an OpenSM's work without asking it.
///
/// `tables_compared` with `different` should stay 0.
fn overheard(counts: Overheard, page: &mut Page<'_>) -> fmt::Result {
    for (name, help, value) in [
        (
            "overheard_words",
            "Answers to OpenSM's SMPs that were overheard",
            counts.words,
        ),
        (
            "overheard_lost",
            "Of those, lost on their way here on this connection",
            counts.lost,
        ),
        (
            "overheard_mended",
            "Readings from what was overheard that put together anew only what had changed",
            counts.mended,
        ),
    ] {
        page.count(name, help, value)?;
    }
    let by = |name: &'static str, value: &str, count: u64| ([(name, value.to_owned())], count);
    page.counter(
        "fabric_readings",
        "Readings of the fabric, from what was overheard or by asking OpenSM for everything",
        [
            by("from", "overheard", counts.taken),
            by("from", "sa", counts.asked),
        ],
    )?;
    page.counter(
        "tables_compared",
        "Forwarding tables that OpenSM was asked for and that were compared with those overheard",
        [
            by("result", "same", counts.compared),
            by("result", "different", counts.differences),
        ],
    )
}

/// What is in service, by size.
fn snapshot(service: &InService, page: &mut Page<'_>) -> fmt::Result {
    // A size that does not fit would be of memory that no machine has.
    let size = |number: usize| u32::try_from(number).map_or(f64::INFINITY, f64::from);
    // Without a policy 0, as for one without rules.
    let rules = service.rules.unwrap_or(0);
    for (name, help, value) in [
        (
            "snapshot_age_seconds",
            "Age of the snapshot in service",
            number(service.age()),
        ),
        (
            "snapshot_built_seconds",
            "Unix time when the snapshot was compiled",
            number(service.built_unix),
        ),
        (
            "snapshot_bytes",
            "Size of the snapshot in service",
            size(service.bytes),
        ),
        ("switches", "Switches of the fabric", size(service.switches)),
        (
            "hosts",
            "CA and router ports of the fabric",
            size(service.hosts),
        ),
        ("policy_rules", "Rules of the policy", f64::from(rules)),
    ] {
        page.value(name, help, value)?;
    }
    Ok(())
}
