//! What happens, as server-sent events, in turns.
//!
//! ```text
//!  browser                                   daemon
//!    GET /events/stream?since=7  ──────────>   nothing new: waits
//!                                              epoch 8 is in force
//!    event: state .. id: 8 data: {..}  <────   and the reply is over
//!    GET .. Last-Event-ID: 8     ──────────>   nothing for TURN: state alone, and the reply is over
//! ```
//!
//! A reply that never ends would need an exception to the listener's rule that a connection is over
//! in some seconds. Browsers ask again by themselves and say what they have seen, so nothing is
//! lost between two turns. [`STREAMS`] wait at a time; who comes then is answered at once and told
//! to come again later.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use sa_page::events::Happened;
use serde_json::json;
use tokio::time::timeout;

use super::{Page, value};

/// Those that wait at a time.
pub(super) const STREAMS: usize = 16;

/// The longest wait; less than a connection may take.
const TURN: Duration = Duration::from_secs(7);

/// When a browser is to ask again. Units: ms.
const SOON: u32 = 500;
const LATER: u32 = 15_000;

/// Waits for what is newer than what was seen.
pub(super) async fn stream(
    State(page): State<Arc<Page>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    // What the browser says by itself is newer than what the page said.
    let last = headers
        .get("last-event-id")
        .and_then(|id| id.to_str().ok()?.parse().ok());
    let seen = last.or_else(|| value(query.as_deref(), "since").parse().ok());
    // A number from before a restart is larger than any: it would wait for ever.
    let mut news = page.status.happening.news();
    let seen = seen.unwrap_or(0_u64).min(*news.borrow());
    let retry = match page.streams.try_acquire() {
        Err(_) => LATER,
        Ok(_turn) => {
            let newer = news.wait_for(|newest| *newest > seen);
            // Time without news is an answer, too.
            let _ = timeout(TURN, newer).await;
            SOON
        }
    };
    let text = told(&page, &page.status.happening.since(seen), retry);
    ([(header::CONTENT_TYPE, "text/event-stream")], text).into_response()
}

/// The state, then what happened. JSON has no line breaks, so each is one line of data.
fn told(page: &Page, happened: &[Happened], retry: u32) -> String {
    let epoch = page.status.service().map(|service| service.epoch.get());
    let state = json!({ "ready": page.status.readiness().is_ok(), "epoch": epoch });
    let mut text = format!("retry: {retry}\nevent: state\ndata: {state}\n\n");
    for it in happened {
        let data = json!({
            "nth": it.nth,
            "when": sa_page::unix(it.unix),
            "level": it.level.word(),
            "words": sa_page::name_of(&it.words),
        });
        // A string takes all that is written to it.
        let _ = write!(text, "id: {}\ndata: {data}\n\n", it.nth);
    }
    text
}
