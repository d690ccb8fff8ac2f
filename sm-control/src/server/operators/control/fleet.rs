//! What is asked of a daemon that is one of a fleet: who follows, who leads, and what is in force there.
//!
//! Whoever may connect may ask for the state. To promote and to withdraw is to say for all hosts of the subnet what they answer, so it is an
//! order like any other.
//!
//! ```text
//!  > {"verb": "fleet-status"}
//!  > {"verb": "fleet-promote"}    or  {"verb": "fleet-promote", "above": 41}
//!  > {"verb": "fleet-withdraw"}
//!  < {"ok":false,"code":"failed","error":"this sapphired is of no fleet: ..."}
//! ```

use super::{Answer, Context, Peer, Refusal};

/// A request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fleet {
    /// Who is there, and what is announced.
    Status,
    /// Lead from now on.
    Promote {
        /// With a term above this one, where the memory of terms went back or was lost.
        above: Option<u64>,
    },
    /// Have nothing answered any more.
    Withdraw,
}

/// What is told or done. Errors: this user may not; this daemon is of no fleet.
pub(super) fn answer(asked: Fleet, peer: Peer, context: &Context) -> Result<Answer, Refusal> {
    if asked != Fleet::Status {
        context.admit(peer)?;
    }
    Err(Refusal::failed(
        "this sapphired is of no fleet: its configuration has no section [fleet]",
    ))
}
