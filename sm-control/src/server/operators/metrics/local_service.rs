//! Metrics of the local service, where this daemon answers its host's kernel.
//!
//! `sapphire_local_messages_total` by result should grow with the connections of the host;
//! `sapphire_local_refused_total` by reason says what keeps it from answering. A refusal is no
//! failure of a connection: the kernel asks the SA then.
//!
//! The names of results and reasons are those of [`Counted`] and [`Reason`]; a new one there is a
//! new row here, without a change.

use core::fmt;
use core::sync::atomic::Ordering;

use sa_local::agent::{Counted, Reason};
use sa_local::service::ServiceCounts;

use super::page::{Page, number};
use crate::server::operators::status::{Local, Status};

/// Everything of it; nothing without a local service.
pub(super) fn write(status: &Status, page: &mut Page<'_>) -> fmt::Result {
    let Some(local) = status.local() else {
        return Ok(());
    };
    messages(local, page)?;
    troubles(&local.counts, page)?;
    page.value(
        "local_kept",
        "Answers of SAs in the cache",
        number(local.counts.kept.load(Ordering::Relaxed)),
    )?;
    page.value(
        "local_others",
        "Other programs that answer this host's kernel",
        number(local.counts.others.load(Ordering::Relaxed)),
    )?;
    page.truth(
        "local_served",
        "1 while this host's kernel is answered",
        local.is_served(),
    )
}

/// Every message ends in one row of either family; see `sa_local::agent::Counted`.
fn messages(local: &Local, page: &mut Page<'_>) -> fmt::Result {
    let messages = Counted::ALL.map(|what| {
        let label = [("result", what.name().to_owned())];
        (label, local.counters.of(what))
    });
    page.counter(
        "local_messages",
        "Messages from this host's kernel, by what was done with them",
        messages,
    )?;
    let refused = Reason::ALL.map(|reason| {
        let label = [("reason", reason.name().to_owned())];
        (label, local.counters.refused_for(reason))
    });
    page.counter(
        "local_refused",
        "Path queries that the kernel was told to ask the SA",
        refused,
    )
}

/// What should stay at 0.
fn troubles(counts: &ServiceCounts, page: &mut Page<'_>) -> fmt::Result {
    for (name, help, counter) in [
        (
            "local_overruns",
            "Times that the kernel's queue of requests was full",
            &counts.overruns,
        ),
        (
            "local_too_long",
            "Datagrams longer than any request",
            &counts.too_long,
        ),
        (
            "local_unsent",
            "Replies that the kernel did not take",
            &counts.unsent,
        ),
    ] {
        page.count(name, help, counter.load(Ordering::Relaxed))?;
    }
    Ok(())
}
