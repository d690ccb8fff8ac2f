//! Which of the SA's parts replies to a request: the snapshot alone, or the records of the fabric's
//! state too, where what the snapshot was compiled from is at hand.
//!
//! It is not always at hand. A snapshot that was read from a file at a warm start serves paths at
//! once, and until the fabric has been read too there is no [`FabricState`]. Requests for records
//! are then answered by [`whole::punted`], as by an SA that does not have them.
//!
//! A table too long for one buffer is not built: [`stream`] gives the lane something that makes it
//! record by record while it is sent. All functions are pure.
//!
//! | request | parts at hand | answered by |
//! |---|---|---|
//! | NodeRecord | yes | `records` |
//! | NodeRecord | no | the snapshot, as an SA without such records |
//! | GetTable(PathRecord), one end open | either | a stream of the snapshot |
//! | GetTable(LinearForwardingTableRecord), all switches | yes | a stream of the parts |

use std::sync::Arc;

use sa_answer::whole::{self, Streamed};
use sa_compiler::state::FabricState;
use sa_fastpath::publish::Published;
use sa_snapshot::Snapshot;
use sa_wire::mad::method;
use sa_wire::sa::{AttributeId, SaMad};
use sa_wire::umad::Slot;

use crate::records;

/// [`whole::respond`], with records of the fabric's state where there are the parts that the
/// snapshot was compiled from. The whole reply; none where there is to be silence. `parts` must be
/// of the snapshot's own epoch, or one reply would mix two states of the fabric.
pub fn respond_with(
    snapshot: &Snapshot,
    parts: Option<&FabricState>,
    request: &Slot,
) -> Option<Vec<u8>> {
    whole::respond_or(snapshot, request, || punted_with(snapshot, parts, request))
}

/// [`whole::punted`], with records as [`respond_with`]. For requests that a worker has looked at
/// and left.
pub fn punted_with(
    snapshot: &Snapshot,
    parts: Option<&FabricState>,
    request: &Slot,
) -> Option<Vec<u8>> {
    let mad = SaMad::from_bytes(&request.mad);
    // Who may not be answered is judged by the snapshot, as for paths, before any record is walked.
    let is_record = records::serves(mad.attribute_id()) && whole::is_answerable(snapshot, mad);
    match parts.filter(|_| is_record) {
        Some(parts) => records::respond(parts, request),
        None => whole::punted(snapshot, request),
    }
}

/// The reply to a request for a long table; none where [`punted_with`] is to answer, because the
/// reply is short or something else.
pub fn stream(
    published: &Arc<Published>,
    parts: Option<&Arc<FabricState>>,
    request: &Slot,
) -> Option<Streamed> {
    let mad = SaMad::from_bytes(&request.mad);
    let is_table =
        mad.mad.method == method::GET_TABLE && whole::is_answerable(&published.snapshot, mad);
    if !is_table {
        return None;
    }
    if mad.attribute_id() == AttributeId::PATH_RECORD {
        return whole::paths(published, request);
    }
    whole::table(records::Stream::new(Arc::clone(parts?), request)?, mad)
}
