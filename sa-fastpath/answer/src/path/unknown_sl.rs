//! Whether the routing engine chose the SL of a path, and nobody here knows which.
//!
//! Asked before paths are judged: one path whose SL is not known is enough for a request not to be
//! answered here (`asks_for_unknown_sl`).

use sa_snapshot::model::PathSl;
use sa_snapshot::{PortIx, Snapshot};

use super::pair::Pair;
use super::query::PathQuery;

/// True where the SL of a path between two ports, by the LIDs that the query leaves, is not known,
/// or that of a way back whose SL the query asks for.
pub(crate) fn is_sl_unknown(
    snapshot: &Snapshot,
    query: &PathQuery,
    source: PortIx,
    destination: PortIx,
) -> bool {
    if !snapshot.has_unknown_sls() {
        return false;
    }
    let pair = Pair::new(snapshot, query, source, destination);
    let some = |from, to, lids: (u16, u16)| {
        (lids.0..=lids.1).any(|lid| {
            let path = snapshot.path(from, to, lid);
            path.is_some_and(|path| path.sl == PathSl::Unknown)
        })
    };
    some(source, destination, pair.destination_lids)
        || query.requested_sl().is_some() && some(destination, source, pair.source_lids)
}
