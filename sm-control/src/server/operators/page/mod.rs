//! The page for people: addresses, and where the values come from. What it looks like is
//! `sa-page`'s.
//!
//! ```text
//!  request ── guard: Host, headers ──> address ──> a place among PLACES ──> thread sa-page: values -> document ──> reply
//!                                  └─> /events/stream: waits for news, makes nothing
//! ```
//!
//! | address | what | from |
//! |---|---|---|
//! | `/` | overview | status, readings of workers, health of links |
//! | `/fabric`, `/switch` | picture, one switch | the state that the snapshot in force was compiled from |
//! | `/path` | why a pair gets its path | the same, and the snapshot |
//! | `/policy` | a policy that is tried | what is in force |
//! | `/rollback` | what it would change, and its order | what is in force and was before |
//! | `/snapshots`, `/events` | what is kept, what happened | status |
//! | `/fleet` | who has what; 404 without `[fleet]` | what the fleet's part says of itself |
//! | `/page.css`, `/page.js`, `/page.svg` | style, script, icon | constants |
//!
//! One address changes something, `/rollback` by POST, and only with a token ([`orders`]); a policy
//! is tried by POST, too ([`policies`]), as it does not fit into an address. All others answer GET
//! alone. Work is bounded: [`MAKERS`] documents are made at a time, [`PLACES`] may wait, whoever
//! comes then is told to come again. A worker is never asked: counters are read, snapshots are
//! looked at.

mod asked;
mod changes;
mod facts;
mod fleet;
mod guard;
mod marks;
mod orders;
mod paths;
mod policies;
mod readings;
mod stream;
mod values;

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use axum::Router;
use axum::extract::{DefaultBodyLimit, RawQuery, State};
use axum::http::{StatusCode, header};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use crossbeam_channel::Sender;
use sa_compiler::pipeline::Inputs;
use sa_page::{Here, Shell};
use tokio::sync::Semaphore;

use self::guard::Hosts;
use self::readings::Readings;
use super::AdminError;
use super::control::Command;
use super::in_force::{Force, InForce, Unknown};
use super::status::Status;
use crate::checks::{self, HttpToken};
use crate::config::{Config, HttpSection};
use crate::server::state::BeforeInService;

pub(in crate::server) use self::readings::readings;

/// Documents that are made at a time: pages must not take the cores of workers.
pub(in crate::server) const MAKERS: usize = 2;

/// Those that are made or wait for it.
const PLACES: usize = 16;

/// What pages are made from.
pub(in crate::server) struct Page {
    status: Arc<Status>,
    in_force: Arc<InForce>,
    before: Arc<BeforeInService>,
    /// What an order has to bring; none: none is taken.
    token: Option<HttpToken>,
    /// Until when none is taken, after one with a wrong token.
    paused: Mutex<Option<Instant>>,
    orders: OnceLock<Sender<Command>>,
    /// Where the policy is, for places in it, and names of services.
    inputs: Inputs,
    readings: Mutex<Readings>,
    hosts: Hosts,
    places: Arc<Semaphore>,
    /// Of policies that are tried.
    turn: policies::Turn,
    streams: Semaphore,
}

/// What the page sees of the daemon.
pub(in crate::server) struct Sight {
    pub(in crate::server) in_force: Arc<InForce>,
    pub(in crate::server) status: Arc<Status>,
    pub(in crate::server) before: Arc<BeforeInService>,
}

impl Page {
    /// Of this daemon.
    ///
    /// Errors: the file of its token cannot be used.
    pub(in crate::server) fn new(
        config: &Config,
        section: &HttpSection,
        sight: Sight,
    ) -> Result<Self, AdminError> {
        let Sight {
            in_force,
            status,
            before,
        } = sight;
        Ok(Self {
            status,
            in_force,
            before,
            token: checks::token(config)?,
            paused: Mutex::default(),
            orders: OnceLock::new(),
            inputs: config.inputs(),
            readings: Mutex::default(),
            hosts: Hosts::of(section.listen),
            places: Arc::new(Semaphore::new(PLACES)),
            turn: policies::Turn::default(),
            streams: Semaphore::new(stream::STREAMS),
        })
    }

    /// Where orders are carried out. Said once, before the page is served.
    pub(in crate::server) fn orders_go_to(&self, commands: Sender<Command>) {
        let _ = self.orders.set(commands);
    }

    /// The snapshot in force with its state. Errors: why there is none.
    fn force(&self) -> Result<Force, &'static str> {
        self.in_force.force().map_err(Unknown::words)
    }

    /// Makes a document of what the head of all of them has.
    fn shown<T>(&self, made: impl FnOnce(Shell<'_>) -> T) -> T {
        let why = self.status.readiness().err().map(|why| why.to_string());
        let epoch = self.status.service().map(|service| service.epoch.get());
        made(Shell {
            not_ready: why.as_deref(),
            epoch,
            has_fleet: self.status.fleet().is_some(),
        })
    }
}

/// What is at which address.
pub(in crate::server) fn routes(page: Arc<Page>) -> Router {
    let css = [(header::CONTENT_TYPE, "text/css; charset=utf-8")];
    let script = [(header::CONTENT_TYPE, "text/javascript; charset=utf-8")];
    let icon = [(header::CONTENT_TYPE, "image/svg+xml")];
    Router::new()
        .route("/", get(overview))
        .route("/fabric", get(fabric))
        .route("/switch", get(switch))
        .route("/path", get(path))
        .route("/policy", get(policies::form).post(policies::tried))
        .route("/rollback", get(orders::form).post(orders::roll_back))
        .route("/snapshots", get(snapshots))
        .route("/fleet", get(fleet))
        .route("/events", get(events))
        .route("/events/stream", get(stream::stream))
        .route(
            "/page.css",
            get(move || async move { (css, sa_page::STYLE) }),
        )
        .route(
            "/page.js",
            get(move || async move { (script, sa_page::SCRIPT) }),
        )
        .route(
            "/page.svg",
            get(move || async move { (icon, sa_page::ICON) }),
        )
        .layer(DefaultBodyLimit::max(policies::LONGEST))
        .layer(middleware::from_fn_with_state(
            Arc::clone(&page),
            guard::guard,
        ))
        .with_state(page)
}

/// Makes a document off the thread that serves. 503 where too many wait.
async fn made(page: Arc<Page>, make: impl FnOnce(&Page) -> Reply + Send + 'static) -> Response {
    // The work has the place and not who waits for it: a connection that is cut ends the waiting alone.
    let Ok(place) = Arc::clone(&page.places).try_acquire_owned() else {
        let busy = "too many pages are being made; come again in a moment\n";
        return (StatusCode::SERVICE_UNAVAILABLE, busy).into_response();
    };
    let making = Arc::clone(&page);
    let work = move || {
        let _place = place;
        make(&making)
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(reply) => reply.into_response(),
        // A panic of it, which has no known way to happen.
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// A document and its status.
struct Reply(StatusCode, String);

impl IntoResponse for Reply {
    fn into_response(self) -> Response {
        let html = [(header::CONTENT_TYPE, "text/html; charset=utf-8")];
        (self.0, html, self.1).into_response()
    }
}

impl From<String> for Reply {
    fn from(text: String) -> Self {
        Self(StatusCode::OK, text)
    }
}

async fn overview(State(page): State<Arc<Page>>) -> Response {
    made(page, |page| {
        let values = facts::overview(page);
        page.shown(|shell| sa_page::overview::page(shell, &values))
            .into()
    })
    .await
}

async fn fabric(State(page): State<Arc<Page>>, RawQuery(query): RawQuery) -> Response {
    made(page, move |page| values::fabric(page, query.as_deref())).await
}

async fn switch(State(page): State<Arc<Page>>, RawQuery(query): RawQuery) -> Response {
    made(page, move |page| values::switch(page, query.as_deref())).await
}

async fn path(State(page): State<Arc<Page>>, RawQuery(query): RawQuery) -> Response {
    made(page, move |page| paths::path(page, query.as_deref())).await
}

async fn snapshots(State(page): State<Arc<Page>>) -> Response {
    made(page, |page| {
        let values = values::snapshots(page);
        page.shown(|shell| sa_page::snapshots::page(shell, &values))
            .into()
    })
    .await
}

/// Where this host is of no fleet there is no such page.
async fn fleet(State(page): State<Arc<Page>>) -> Response {
    if page.status.fleet().is_none() {
        return StatusCode::NOT_FOUND.into_response();
    }
    made(page, |page| {
        let values = page.status.fleet().map(fleet::fleet).unwrap_or_default();
        page.shown(|shell| sa_page::fleet::page(shell, &values))
            .into()
    })
    .await
}

async fn events(State(page): State<Arc<Page>>) -> Response {
    made(page, |page| {
        let all = page.status.happening.since(0);
        let kept = super::happening::KEPT;
        page.shown(|shell| sa_page::events::page(shell, &all, kept))
            .into()
    })
    .await
}

/// A page that has nothing to show.
fn nothing(page: &Page, status: StatusCode, here: Here, title: &str, why: &str) -> Reply {
    Reply(
        status,
        page.shown(|shell| sa_page::message(shell, here, title, why)),
    )
}

/// A value of a query, the first of its name, without blanks around it; empty where there is none.
fn value(query: Option<&str>, name: &str) -> String {
    let mut pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    let found = pairs.find(|(key, _)| key == name);
    found.map_or_else(String::new, |(_, value)| value.trim().to_owned())
}
