//! Metrics of a host of a fleet: whether it answers, until when, what it fetched and refused, and
//! who follows it.
//!
//! `sapphire_fleet_fresh_seconds` is the one to watch: it falls between beats and jumps back at
//! each. At 0 the host is silent.

use core::fmt;
use core::sync::atomic::Ordering;
use std::time::SystemTime;

use fleet_node::said::{Counts, Said};
use fleet_tls::{Refusals, Tls};
use fleet_transfer::serve::Desk;
use sa_fleet::refusal::Refusal;

use super::page::{Page, number};
use crate::server::fleet::FleetView;
use crate::server::operators::status::Status;

/// Everything of it; nothing without a fleet.
pub(super) fn write(status: &Status, page: &mut Page<'_>) -> fmt::Result {
    let Some(fleet) = status.fleet() else {
        return Ok(());
    };
    let said = fleet.said();
    announced(fleet, &said, page)?;
    followed(&said, page)?;
    if let Some(tls) = &fleet.tls {
        certificates(tls, page)?;
    }
    match &fleet.desk {
        Some(desk) => handed_on(fleet, desk, page),
        None => Ok(()),
    }
}

/// What is in force, and for how long that is known.
fn announced(fleet: &FleetView, said: &Said, page: &mut Page<'_>) -> fmt::Result {
    let state = [("role", fleet.role.name().to_owned())];
    page.gauge(
        "fleet_info",
        "Always 1; what this host does in its fleet",
        [(state, 1.0)],
    )?;
    let issue = said.position.issue;
    let parts = [
        ("era", issue.era.into()),
        ("term", issue.term),
        ("seq", issue.seq),
        ("beat", said.position.beat),
    ];
    let parts = parts.map(|(part, value)| ([("part", part.to_owned())], number(value)));
    page.gauge(
        "fleet_announced",
        "The newest announcement, in its four parts",
        parts,
    )?;
    let milliseconds = fleet.fresh_ms(said).unwrap_or(0);
    page.value(
        "fleet_fresh_seconds",
        "For how long what is known may be answered from without another word",
        number(milliseconds) / 1000.0,
    )?;
    page.truth(
        "fleet_silent",
        "1 while a follower answers nobody",
        fleet.silent().is_some(),
    )
}

/// What came here, and what was made of it.
fn followed(said: &Said, page: &mut Page<'_>) -> fmt::Result {
    let Counts {
        news,
        quiet,
        unanswered,
        patches,
        wholes,
        failed_fetches,
        loads,
        failed_loads,
        swaps,
        stores,
        failed_stores,
        publications,
    } = said.counts;
    let polls = vec![("news", news), ("quiet", quiet), ("unanswered", unanswered)];
    page.counter(
        "fleet_polls",
        "Polls for announcements, by what came",
        of("result", polls),
    )?;
    let files = vec![
        ("patched", patches),
        ("fetched", wholes),
        ("not_fetched", failed_fetches),
        ("loaded", loads),
        ("not_loaded", failed_loads),
        ("put_into_service", swaps),
    ];
    page.counter(
        "fleet_files",
        "Snapshots of the fleet, by what was done",
        of("what", files),
    )?;
    let records = vec![("stored", stores), ("not_stored", failed_stores)];
    page.counter(
        "fleet_records",
        "Records of what was seen, which have to be on the disk before it counts",
        of("result", records),
    )?;
    page.count(
        "fleet_publications",
        "Generations that this leader has published",
        publications,
    )?;
    page.count(
        "fleet_odd_clocks",
        "Announcements that were believed though this host's wall clock is far from the leader's",
        said.odd_clocks,
    )?;
    let refused = Refusal::ALL.map(|reason| {
        let mut counts = said.refused.iter();
        let count = counts
            .find(|(of, _)| *of == reason)
            .map_or(0, |(_, count)| *count);
        ([("reason", reason.name().to_owned())], count)
    });
    page.counter(
        "fleet_refused",
        "Announcements that were not believed",
        refused,
    )
}

/// How hosts know each other.
fn certificates(tls: &Tls, page: &mut Page<'_>) -> fmt::Result {
    let counts = tls.counts();
    let rows = |side: &'static str, refusals: &Refusals| {
        let row = |(reason, count): (fleet_tls::Refusal, u64)| {
            let labels = [
                ("side", side.to_owned()),
                ("reason", reason.name().to_owned()),
            ];
            (labels, count)
        };
        refusals.all().map(row).collect::<Vec<_>>()
    };
    let refused = [
        rows("asked_here", &counts.clients),
        rows("asks", &counts.servers),
    ]
    .concat();
    page.counter(
        "fleet_tls_refused",
        "Connections without a certificate that counts",
        refused,
    )?;
    let left = tls.good_until().map_or(f64::INFINITY, |until| {
        let left = until.duration_since(SystemTime::now());
        left.map_or(0.0, |left| left.as_secs_f64())
    });
    page.value(
        "fleet_tls_good_seconds",
        "Until this host's certificate ends",
        left,
    )?;
    page.truth(
        "fleet_tls_failing",
        "1 while the files of certificates cannot be used, and those before go on",
        tls.wrong().is_some(),
    )
}

/// Rows of a family that are told apart by one label.
fn of(
    label: &'static str,
    rows: Vec<(&'static str, u64)>,
) -> impl Iterator<Item = ([(&'static str, String); 1], u64)> {
    let rows = rows.into_iter();
    rows.map(move |(name, value)| ([(label, name.to_owned())], value))
}

/// Who follows this host.
fn handed_on(fleet: &FleetView, desk: &Desk, page: &mut Page<'_>) -> fmt::Result {
    let children = fleet.children();
    let said = fleet.said();
    let fresh = children
        .iter()
        .filter(|(_, child)| FleetView::is_fresh(&said, child));
    let (all, fresh) = (children.len() as u64, fresh.count() as u64);
    page.value("fleet_children", "Hosts that ask here", number(all))?;
    page.value(
        "fleet_children_fresh",
        "Those of them that answer from what is announced here",
        number(fresh),
    )?;
    let counts = &desk.counts;
    let open = counts.connections.load(Ordering::Relaxed) as u64;
    page.value(
        "fleet_connections",
        "Connections of hosts that ask here",
        number(open),
    )?;
    for (name, help, counter) in [
        (
            "fleet_sent_bytes",
            "Bytes of snapshots and patches that were sent",
            &counts.bytes,
        ),
        (
            "fleet_transfers",
            "Snapshots and patches that were begun to be sent",
            &counts.transfers,
        ),
        (
            "fleet_cut_off",
            "Those that were taken too slowly, and cut off",
            &counts.too_slow,
        ),
        (
            "fleet_turned_away",
            "Connections that were closed because there were too many",
            &counts.turned_away,
        ),
    ] {
        page.count(name, help, counter.load(Ordering::Relaxed))?;
    }
    Ok(())
}
