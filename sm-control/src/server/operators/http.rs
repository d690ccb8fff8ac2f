//! `/metrics`, `/health`, `/ready`, and where `[http] ui` says so the page for people.
//!
//! One short request per connection, all of which has to be over in a few seconds: those who ask
//! here are monitors, and whoever else comes must not cost more than a place in a short row.
//!
//! | page | says | for |
//! |---|---|---|
//! | `/metrics` | everything that is counted, in the format that is asked for | Prometheus |
//! | `/health` | 503 where a part of the process is dead: start it again | liveness |
//! | `/ready` | 503 where it should be asked nothing now: wait | readiness |
//! | others | what [`page`](super::page) has | people |

use std::future::Future;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tracing::{info, warn};

use super::AdminError;
use super::admin::{Connections, rest};
use super::metrics::{Format, Metrics};
use super::page::{self, Page};
use super::status::Status;
use crate::config::HttpSection;

/// Connections at a time; the oldest go for newer ones. Known at the start, so that descriptors can
/// be reckoned.
pub(in crate::server) const CONNECTIONS: usize = 128;

/// How long the head of a request may take.
const HEAD: Duration = Duration::from_secs(5);

/// How long a connection may take in all, also one that reads its page byte by byte.
const WHOLE: Duration = Duration::from_secs(10);

/// Bytes of the longest head; the least that the library takes.
const HEAD_BYTES: usize = 8192;

/// Header lines of a request.
const HEADERS: usize = 64;

/// Listens, before the thread that serves exists: an address that is taken ends the start. Errors:
/// [`AdminError::Http`].
pub(in crate::server) fn listen(section: &HttpSection) -> Result<StdListener, AdminError> {
    let listener = StdListener::bind(section.listen).map_err(|source| AdminError::Http {
        listen: section.listen,
        source,
    })?;
    let address = listener.local_addr().unwrap_or(section.listen);
    info!(%address, "metrics, health and ready are here");
    warn_of_remotes(address);
    Ok(listener)
}

/// The configuration had to allow it; the log says what that means.
fn warn_of_remotes(address: SocketAddr) {
    if !address.ip().is_loopback() {
        warn!("[http] is open to other machines: whoever reaches {address} reads the metrics");
    }
}

/// Takes connections for ever. Errors: the listener cannot be used.
pub(in crate::server) fn serve(
    listener: StdListener,
    status: Arc<Status>,
    page: Option<Arc<Page>>,
) -> std::io::Result<impl Future<Output = ()>> {
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let mut pages = pages(Arc::clone(&status));
    if let Some(page) = page {
        pages = pages.merge(page::routes(page));
    }
    Ok(async move {
        let mut connections = Connections::new(CONNECTIONS);
        loop {
            match listener.accept().await {
                Ok((stream, from)) => {
                    let pages = pages.clone().layer(Extension(ConnectInfo(from)));
                    let connection = connection(stream, pages);
                    connections.admit(connection, &status.counts);
                }
                Err(error) => {
                    warn!("[http]: cannot take a connection: {error}");
                    rest().await;
                }
            }
        }
    })
}

/// Serves one connection, whatever it does, for [`WHOLE`] at most.
async fn connection(stream: TcpStream, pages: Router) {
    let mut server = http1::Builder::new();
    server
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(HEAD_BYTES)
        .max_headers(HEADERS)
        // A monitor asks every few seconds: a connection that is kept would hold a place for
        // nothing.
        .keep_alive(false);
    let service = TowerToHyperService::new(pages);
    let served = server.serve_connection(TokioIo::new(stream), service);
    // What went wrong is the client's business.
    let _ = timeout(WHOLE, served).await;
}

/// What the pages show.
#[derive(Clone)]
struct Shown {
    status: Arc<Status>,
    metrics: Arc<Metrics>,
}

/// What is at which address.
fn pages(status: Arc<Status>) -> Router {
    let metrics = Arc::new(Metrics::new(Arc::clone(&status)));
    Router::new()
        .route("/metrics", get(metrics_page))
        .route("/health", get(health_page))
        .route("/ready", get(ready_page))
        .with_state(Shown { status, metrics })
}

/// 500 where the page could not be written, which has no known way to happen.
async fn metrics_page(State(shown): State<Shown>, headers: HeaderMap) -> impl IntoResponse {
    let accept = headers.get_all(header::ACCEPT).iter();
    let format = Format::accepted(accept.filter_map(|value| value.to_str().ok()));
    match shown.metrics.text(format) {
        Ok(text) => ([(header::CONTENT_TYPE, format.content_type())], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// 200 or 503; the words are for people.
async fn health_page(State(shown): State<Shown>) -> impl IntoResponse {
    verdict(shown.status.health())
}

async fn ready_page(State(shown): State<Shown>) -> impl IntoResponse {
    verdict(shown.status.readiness())
}

/// 200, or 503 and why.
fn verdict<E: core::fmt::Display>(verdict: Result<(), E>) -> (StatusCode, String) {
    match verdict {
        Ok(()) => (StatusCode::OK, "ok\n".to_owned()),
        Err(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")),
    }
}
