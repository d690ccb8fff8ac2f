//! etcd as the engine of a fleet's leader, for a few control hosts; followers and relays never link
//! it.
//!
//! ```text
//!  Leader ──Call──> Etcd ──order──> thread: Session ──gRPC──> one member at a time
//!                     <──Answer──             │ after an error the next one
//!                                             └ leases that may live still, revoked before another is taken
//! ```
//!
//! | key, below `/sapphire/FLEET/PREFIX/` | value | bound to a lease |
//! |---|---|---|
//! | `leader` | the host that leads, for people | yes |
//! | `announcement` | the last that was published, signed | no |
//!
//! The term of a leader is the revision at which its key was made, so terms grow for as long as
//! etcd keeps its memory, and no two leaders have the same. A publication is one transaction that
//! compares that revision and the one of the announcement before: whoever lost the lease changes
//! nothing, whatever its own clock says.
//!
//! Rooms: `settings` (what an operator says), `handle` (the blocking side), `session` (what the
//! calls mean in etcd), `members` (whom to ask), `certificates` (TLS to them).

#![forbid(unsafe_code)]

mod certificates;
mod handle;
mod members;
mod session;
mod settings;

pub use certificates::{EtcdIdentity, EtcdTls, FileError};
pub use handle::{Etcd, StartError};
pub use settings::{EtcdSettings, SettingsError};
