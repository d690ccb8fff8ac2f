//! Sampled pairs asked of the snapshot and of the reference before anything is published.
//!
//! The snapshot is made by code that precomputes; the reference answers the same request from
//! tables and written rules, one step after the other, and shares no line with it. 512 pairs find a
//! defect that touches one pair in a hundred nearly always, and one in a thousand in two of five
//! cases; the property tests and the load generator, which compares every reply, are for the rest.
//! This is a last look in the field, at the operator's own fabric and policy.
//!
//! Only paths by LIDs, with no wishes: the cost is that of 1,024 walks, some milliseconds.

use std::fmt;

use sa_answer::whole;
use sa_snapshot::Snapshot;
use sa_wire::Lid;
use sa_wire::umad::Slot;

use crate::reference::{Reference, Reply};
use crate::state::FabricState;

/// Pairs asked per compilation; all of them where there are fewer.
const SAMPLES: usize = 512;

/// A request that the compiled tables and the reference answer differently.
///
/// The request alone: which of both is right is for a developer to find out.
#[derive(Debug, Clone)]
pub struct Mismatch {
    slid: Lid,
    dlid: Lid,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PathRecord from LID {} to LID {}", self.slid, self.dlid)
    }
}

/// Asks for the path between ports spread evenly over the fabric. Errors: the first difference.
///
/// The same pairs for the same fabric, so that a difference comes again when it is looked for.
pub(super) fn sample(parts: &FabricState, snapshot: &Snapshot) -> Result<(), Box<Mismatch>> {
    let reference = parts.reference();
    let ends = &parts.topology.end_ports;
    let count = ends.len();
    for nth in 0..SAMPLES.min(count * count) {
        // Strides prime to each other and to most sizes, so that pairs spread.
        // 7919 and 104,729 are the 1,000th and the 10,000th prime.
        let (from, to) = (
            ends.get(nth * 7919 % count),
            ends.get(nth * 104_729 % count),
        );
        let (Some(from), Some(to)) = (from, to) else {
            continue;
        };
        let (slid, dlid) = (from.lid, to.lid);
        let request = sa_wire::request::path_by_lids(slid.get(), dlid.get());
        if !agrees(&reference, snapshot, &request) {
            return Err(Box::new(Mismatch { slid, dlid }));
        }
    }
    Ok(())
}

/// True when both give the same records or the same refusal.
///
/// Whole records are compared, and for refusals the status.
fn agrees(reference: &Reference<'_>, snapshot: &Snapshot, request: &Slot) -> bool {
    let fast = whole::respond(snapshot, request).map(|reply| sa_wire::request::parse(&reply));
    match (
        reference.respond(request.header.lid.get(), &request.mad),
        fast,
    ) {
        // Silence on both sides is an answer, too.
        (None, None) => true,
        (Some(Reply::Records(slow)), Some(Ok((0, fast)))) => slow == fast,
        (Some(Reply::Error(status)), Some(Ok((fast, _)))) => status.get() == fast,
        _ => false,
    }
}
