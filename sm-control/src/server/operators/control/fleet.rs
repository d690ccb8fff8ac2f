//! What is asked of a daemon that is one of a fleet: who follows, who leads, and what is in force
//! there.
//!
//! Whoever may connect may ask for the state. To promote and to withdraw is to say for all hosts of
//! the subnet what they answer, so it is an order like any other.

use fleet_node::leading::Order;
use tracing::warn;

use super::fleet_report::FleetReport;
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

/// What is told or done. Errors: this user may not; this daemon is of no fleet, or no leader.
pub(super) fn answer(asked: Fleet, peer: Peer, context: &Context) -> Result<Answer, Refusal> {
    if asked != Fleet::Status {
        context.admit(peer)?;
    }
    let Some(fleet) = context.status.fleet() else {
        return Err(Refusal::failed(
            "this sapphired is of no fleet: its configuration has no section [fleet]",
        ));
    };
    let (order, schema) = match asked {
        Fleet::Status => return Ok(Answer::Fleet(Box::new(FleetReport::of(fleet, true)))),
        Fleet::Promote { above } => {
            let above = above.unwrap_or(0);
            (Order::Promote { above }, "sapphired.fleet-promote/1")
        }
        Fleet::Withdraw => (Order::Withdraw, "sapphired.fleet-withdraw/1"),
    };
    match fleet.order(order) {
        None => Err(Refusal::failed(format!(
            "this host is no leader but a {}: ask the host that leads or is to lead",
            fleet.role.name()
        ))),
        Some(false) => Err(Refusal::busy("the leader is at other orders; try again")),
        Some(true) => {
            warn!(
                pid = peer.pid,
                uid = peer.uid,
                ?order,
                "fleet: ordered over the control socket"
            );
            Ok(Answer::FleetOrdered { schema })
        }
    }
}
