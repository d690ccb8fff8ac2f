//! What the SA answers beyond paths, and to whom.
//!
//! [`dispatch`] takes a request that no worker answered and finds who replies: the snapshot alone
//! ([`sa_answer::whole`]), or the [`records`] of the fabric's state, walked from what the snapshot
//! was compiled from. [`sa_db`] keeps what clients set (groups, services, subscriptions, alias
//! GUIDs) and its journal.
//!
//! Nothing here owns a thread, a socket or a clock: requests come in as slots, replies go out as
//! bytes, and the daemon's slow lane stands between both and the ports.

#![forbid(unsafe_code)]

pub mod dispatch;
pub mod records;
pub mod sa_db;
