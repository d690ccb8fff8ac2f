//! What operators see and order: the control socket, the metrics page, counters in the log.
//!
//! [`status`] is the one place where the threads of the daemon write what there is to tell, and
//! from which [`control`] (answers and orders over a socket), [`http`] with [`metrics`], and
//! [`counters`] (SIGUSR1) read it; none of them asks a thread. [`counts`] is the table of what the
//! daemon itself counts, [`sweeps`] is what the Subnet Manager is at, [`port_history`] keeps what
//! each port counted over its lives, [`happening`] what happened lately; [`in_force`] is the
//! snapshot and what it was compiled from. [`page`] shows all of it to people, with the fabric and
//! its paths. [`admin`] is the thread that both servers run on.
//!
//! Orders (reload, rollback) are only passed on: the thread that loads carries them out.
//!
//! ```text
//!  loader, workers, state thread, comparison ──write──> Status <──read── sa-admin ─┬─ control socket
//!                                                                                 ├─ /metrics /health /ready
//!                                                                                 └─ the page, made on sa-page
//!  SIGUSR1 ──> main ──> counters in the log
//!  reload, rollback ──> control ──Command──> sa-load ──Answer──> control
//! ```

pub(in crate::server) mod admin;
pub(in crate::server) mod control;
pub(in crate::server) mod counters;
pub(in crate::server) mod counts;
pub(in crate::server) mod happening;
pub(in crate::server) mod http;
pub(in crate::server) mod in_force;
pub(in crate::server) mod metrics;
pub(in crate::server) mod page;
pub(in crate::server) mod port_history;
pub(in crate::server) mod status;
pub(in crate::server) mod sweeps;

use std::net::SocketAddr;

use thiserror::Error;

use crate::checks::{ControlSocketError, HttpTokenError};

/// Operators cannot be served.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AdminError {
    /// Not over the control socket.
    #[error(transparent)]
    Control(#[from] ControlSocketError),
    /// Not with this token.
    #[error(transparent)]
    Token(#[from] HttpTokenError),
    /// Not over HTTP.
    #[error("[http] listen = \"{listen}\": {source}")]
    Http {
        /// Where it was to be.
        listen: SocketAddr,
        /// Why not.
        source: std::io::Error,
    },
}
