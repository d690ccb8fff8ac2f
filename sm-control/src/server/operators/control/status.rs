//! The board as an object for programs.

use core::sync::atomic::Ordering;

use sa_answer::{DropReason, PuntReason, Reject};
use sa_compiler::pipeline;
use sa_local::agent::{Counted, Reason};
use serde_json::{Map, Value, json};

use crate::server::operators::board::{Board, PortRow};

/// Everything that operators may know.
pub(super) fn of(board: &Board) -> Value {
    let readiness = board.readiness();
    let standing = board.standing();
    let passive = board.passive();
    let history = board.history();
    let kept = board.kept();
    let facts = standing.facts.iter();
    let facts: Map<String, Value> = facts
        .map(|(name, value)| ((*name).to_owned(), json!(value)))
        .collect();
    let failure = board.failure().map(|failure| {
        let age = pipeline::unix_time().saturating_sub(failure.unix);
        json!({
            "what": failure.what,
            "cause": failure.cause,
            "unix": failure.unix,
            "age_s": age,
        })
    });
    let count = |counter: &core::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "pid": std::process::id(),
        "uptime_s": board.uptime(),
        "role": board.role,
        "source": board.source,
        "ready": readiness.is_ok(),
        "not_ready": readiness.err(),
        "active": passive.is_none(),
        "passive": passive,
        "standing": facts,
        "snapshot": snapshot(board),
        "previous_epoch": history.previous,
        "held_epoch": history.held,
        "state": {
            "directory": board.state_directory,
            "stored_epoch": kept.stored,
            "problem": kept.problem,
            "failures": kept.failures,
        },
        "configuration": board.reconfigured().as_deref(),
        "last_failure": failure,
        "loads": count(&board.counts.loads),
        "failed_loads": count(&board.counts.failed_loads),
        "rollbacks": count(&board.counts.rollbacks),
        "shadow": shadow(board),
        "local_service": local(board),
        "ports": board.ports.iter().map(port).collect::<Vec<_>>(),
    })
}

/// None in another role.
fn shadow(board: &Board) -> Option<Value> {
    let counts = &board.counts;
    board.is_shadow.then(|| {
        json!({
            "asked": counts.shadow_asked.load(Ordering::Relaxed),
            "answered": counts.shadow_answered.load(Ordering::Relaxed),
            "different": counts.shadow_different.load(Ordering::Relaxed),
        })
    })
}

/// None without one.
fn local(board: &Board) -> Option<Value> {
    let local = board.local()?;
    let refused = Reason::ALL.map(|reason| local.counters.refused_for(reason));
    let counts = &local.counts;
    Some(json!({
        "served": local.is_served(),
        "resolved": local.counters.of(Counted::Resolved),
        "addresses": local.counters.of(Counted::ResolvedAddress),
        "later": local.counters.of(Counted::Later),
        "refused": reasons(Reason::ALL.map(Reason::name), refused),
        "kept": counts.kept.load(Ordering::Relaxed),
        "overruns": counts.overruns.load(Ordering::Relaxed),
        "unsent": counts.unsent.load(Ordering::Relaxed),
        "others": counts.others.load(Ordering::Relaxed),
    }))
}

fn snapshot(board: &Board) -> Option<Value> {
    let service = board.service()?;
    Some(json!({
        "epoch": service.epoch,
        "built_unix": service.built_unix,
        "age_s": service.age(),
        "engine": service.engine,
        "switches": service.switches,
        "hosts": service.hosts,
        "rules": service.rules,
        "bytes": service.bytes,
        "digest": format!("{:016x}", service.digest),
    }))
}

fn port(port: &PortRow) -> Value {
    let now = port.stats.snapshot();
    let entry = port.entry();
    let mads = entry.counters.map(|counters| {
        let all = counters.each().into_iter();
        Value::Object(
            all.map(|(name, count)| (name.to_owned(), json!(count)))
                .collect(),
        )
    });
    json!({
        "transport": port.transport,
        "place": port.place,
        "served": port.is_served(),
        "attached": entry.away.is_none(),
        "away": entry.away,
        "attachments": entry.attachments,
        "epoch": now.epoch,
        "received": now.received,
        "answered": now.answered,
        "refused": reasons(Reject::ALL.map(|(_, name)| name), now.refused),
        "dropped": reasons(DropReason::ALL.map(|(_, name)| name), now.dropped),
        "punted": reasons(PuntReason::ALL.map(|(_, name)| name), now.punted),
        "unsent": now.unsent,
        "mads": mads,
    })
}

/// Those that counted.
fn reasons<const N: usize>(names: [&'static str; N], counts: [u64; N]) -> Value {
    let all = names
        .into_iter()
        .zip(counts)
        .filter(|(_, count)| *count > 0);
    Value::Object(
        all.map(|(name, count)| (name.to_owned(), json!(count)))
            .collect(),
    )
}
