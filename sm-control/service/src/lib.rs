//! What the SA answers beyond paths, and to whom.
//!
//! A worker answers PathRecord and MultiPathRecord requests from the snapshot. Everything else is
//! punted to the slow lane, and this crate is what the lane asks:
//!
//! ```text
//!  slow lane ──> SaDatabase::serves? ── yes ──> sa_db: groups, services, subscriptions, alias GUIDs
//!                      │ no                       └─ journal: what outlives a restart
//!                      v
//!               dispatch ─┬─> records: nodes, ports, links, tables, VLs, P_Keys, GUIDs, the SM
//!                         └─> sa_answer::whole: all else that the snapshot alone can say
//! ```
//!
//! [`dispatch`] takes a request that no worker answered and finds who replies: the snapshot alone
//! ([`sa_answer::whole`]), or the [`records`] of the fabric's state, walked from what the snapshot
//! was compiled from. [`sa_db`] keeps what clients set (groups, services, subscriptions, alias
//! GUIDs) and its journal.
//!
//! Nothing here owns a thread, a socket or a clock: requests come in as slots, replies go out as
//! bytes, and the daemon's slow lane stands between both and the ports. So `tests/tests/opensm` can
//! compare whole replies with those of an OpenSM over the same simulated fabric.
//!
//! Where this crate and the specification differ, OpenSM is followed: clients were written against
//! it. Where it differs from OpenSM, `docs/deviations.md` says so.

#![forbid(unsafe_code)]

pub mod dispatch;
pub mod records;
pub mod sa_db;
