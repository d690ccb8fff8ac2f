//! What operators see and order: the control socket, the metrics page, counters in the log.
//!
//! [`board`] is the one place where the threads of the daemon write what there is to tell, and from which
//! [`control`] (answers and orders over a socket), [`http`] with [`metrics`], and [`counters`] (SIGUSR1)
//! read it; none of them asks a thread. [`ledger`] keeps what each port counted over its lives.
//! [`admin`] is the thread that both servers run on.
//!
//! Orders (reload, rollback) are only passed on: the thread that loads carries them out.

pub(in crate::server) mod admin;
pub(in crate::server) mod board;
pub(in crate::server) mod control;
pub(in crate::server) mod counters;
pub(in crate::server) mod http;
pub(in crate::server) mod ledger;
pub(in crate::server) mod metrics;
