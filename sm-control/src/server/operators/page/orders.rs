//! A rollback that is ordered in a browser: by POST, from a page of this listener, with the token.
//!
//! ```text
//!  GET /rollback ──> what it would change, and a form with the epoch that it returns to
//!  POST /rollback: token, epoch ── guard: same origin ──> token? ──> Command ──> sa-load ──Answer──> document
//!                                   403                   403, and for a second 429
//! ```
//!
//! The thread that loads does it, as for the control socket. The epoch of the form is part of the
//! order: where something else has become what a rollback returns to, nothing is done. Without
//! `[http] token_file` nothing can be ordered here.

use std::net::SocketAddr;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use policy::Query;
use sa_compiler::snapshot_change::{self, Asked, Comparison, name_in};
use sa_compiler::watch::Watch;
use sa_page::rollback::{Difference, Outcome, Rollback};
use sa_snapshot::EpochId;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tracing::warn;

use super::super::control::{Answer, By, Command, Order, Refusal, Work};
use super::super::counts::Event;
use super::{Page, Reply, value};

/// How long an order is waited for; less than a connection may take.
const PATIENCE: Duration = Duration::from_secs(8);

/// How long none is taken after one with a wrong token.
const PAUSE: Duration = Duration::from_secs(1);

/// Pairs of hosts that are asked of both snapshots.
const PAIRS: u64 = 20_000;

/// What a rollback would change, and the form.
pub(super) async fn form(State(page): State<Arc<Page>>) -> Response {
    super::made(page, |page| shown(page, StatusCode::OK, Outcome::None)).await
}

/// Does it, where the token is right.
pub(super) async fn roll_back(
    State(page): State<Arc<Page>>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let form = body.unwrap_or_default();
    let form = std::str::from_utf8(&form).unwrap_or_default();
    let (status, outcome) = match allowed(&page, form) {
        Ok(epoch) => ordered(&page, from, epoch).await,
        Err((status, why)) => {
            warn!(address = %from, "[http]: a rollback was refused: {why}");
            (status, Outcome::Refused(why.to_owned()))
        }
    };
    page.status.counts.add(match outcome {
        Outcome::Refused(_) => Event::HttpRefused,
        _ => Event::HttpOrdered,
    });
    let is_early = status == StatusCode::TOO_MANY_REQUESTS;
    let mut reply = super::made(page, move |page| shown(page, status, outcome)).await;
    if is_early {
        let soon = HeaderValue::from_static("1");
        reply.headers_mut().insert(header::RETRY_AFTER, soon);
    }
    reply.into_response()
}

/// The epoch that the form names. Errors: it may not order, and why.
fn allowed(page: &Page, form: &str) -> Result<EpochId, (StatusCode, &'static str)> {
    let Some(token) = &page.token else {
        return Err((
            StatusCode::FORBIDDEN,
            "there is no [http] token_file, so nothing can be ordered here; use sapphire rollback",
        ));
    };
    let mut paused = page.paused.lock().unwrap_or_else(PoisonError::into_inner);
    if paused.is_some_and(|until| Instant::now() < until) {
        return Err((
            StatusCode::TOO_MANY_REQUESTS,
            "a wrong token was sent within the last second; try again in a moment",
        ));
    }
    if !token.is(value(Some(form), "token").as_bytes()) {
        *paused = Instant::now().checked_add(PAUSE);
        return Err((StatusCode::FORBIDDEN, "the token is another one"));
    }
    let epoch = value(Some(form), "epoch").parse().ok();
    epoch.and_then(EpochId::new).ok_or((
        StatusCode::UNPROCESSABLE_ENTITY,
        "the form names no epoch; open the page again",
    ))
}

/// Gives the order, and waits for its answer for as long as a connection may.
async fn ordered(page: &Page, from: SocketAddr, epoch: EpochId) -> (StatusCode, Outcome) {
    let (reply, answer) = oneshot::channel();
    let command = Command {
        work: Work::Order(Order::Rollback { to: Some(epoch) }),
        by: By::Browser(from),
        reply,
    };
    let busy = || {
        let why = "other orders wait already, or the daemon is ending; try again later";
        (
            StatusCode::SERVICE_UNAVAILABLE,
            Outcome::Refused(why.to_owned()),
        )
    };
    let orders = page.orders.get();
    if orders.is_none_or(|orders| orders.try_send(command).is_err()) {
        return busy();
    }
    match timeout(PATIENCE, answer).await {
        Ok(Ok(answer)) => told(answer),
        Ok(Err(_)) => busy(),
        // It stands in the queue, and is done when the load under way is over.
        Err(_) => (StatusCode::ACCEPTED, Outcome::Waits),
    }
}

fn told(answer: Result<Answer, Refusal>) -> (StatusCode, Outcome) {
    match answer {
        Ok(Answer::RolledBack {
            epoch,
            content_of_epoch,
            restart,
            ..
        }) => {
            let outcome = Outcome::Done {
                epoch,
                of: content_of_epoch,
                restart,
            };
            (StatusCode::OK, outcome)
        }
        Ok(_) => (StatusCode::OK, Outcome::Waits),
        Err(refusal) => (
            StatusCode::CONFLICT,
            Outcome::Refused(refusal.words().to_owned()),
        ),
    }
}

fn shown(page: &Page, status: StatusCode, outcome: Outcome) -> Reply {
    let rollback = Rollback {
        outcome,
        can_order: page.token.is_some(),
        to: page.status.rollback().previous.map(EpochId::get),
        difference: difference(page),
    };
    let document = page.shown(|shell| sa_page::rollback::page(shell, &rollback));
    Reply(status, document)
}

/// Of what a rollback returns to, against what is in force. None where either is not there.
fn difference(page: &Page) -> Option<Difference> {
    let force = page.force().ok()?;
    let before = page.before.load_full()?;
    let (published, parts) = (before.published.upgrade()?, before.parts.upgrade()?);
    let asked = Asked {
        numbers: Query::default().numbers(),
        most: PAIRS,
        watch: Watch::default(),
    };
    let (now, then) = (&force.published.snapshot, &published.snapshot);
    let change = snapshot_change::between((now, then), &asked).ok()?;
    let name = |port| {
        let name = name_in(&force.state.parts, port).or_else(|| name_in(&parts, port));
        name.unwrap_or_else(|| port.to_string())
    };
    Some(Difference {
        from: force.published.epoch.get(),
        to: published.epoch.get(),
        change: Comparison::of(&change, &name),
    })
}
