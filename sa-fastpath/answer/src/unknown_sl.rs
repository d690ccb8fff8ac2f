//! Requests for paths whose SL the routing engine chose, and nobody here knows which.
//!
//! Where another SM routes by LASH, DFSSSP or Nue, its tables do not say which SL each path has. A
//! record with another SL could lock the fabric up, and one that is left out would say that there is
//! no path. So a request that may be given such a path is not answered here at all: beside OpenSM
//! the slow lane hands it on, elsewhere it is refused with "no resources".
//!
//! What a request asks of paths besides (P_Key, MTU, visibility) is not looked at: that one of them
//! has no known SL is enough.

use sa_snapshot::Snapshot;
use sa_wire::mad::method;
use sa_wire::sa::{AttributeId, SaMad};
use sa_wire::umad::Slot;

use crate::path::is_sl_unknown;
use crate::{MultiPathEnds, MultiPathQuery, PathQuery, find_ends, is_multi_path, is_to_group};

/// True where a path that the request may be given has no known SL. For the slow lane: the work
/// grows with the pairs of ports that the request stands for.
///
/// False for what is no request for paths, or a bad one, which is refused for what is wrong with it.
pub fn asks_for_unknown_sl(snapshot: &Snapshot, request: &Slot) -> bool {
    snapshot.has_unknown_sls() && is_concerned(snapshot, SaMad::from_bytes(&request.mad))
}

/// The same of a MAD, where some SL is not known.
fn is_concerned(snapshot: &Snapshot, mad: &SaMad) -> bool {
    if is_multi_path(mad) {
        let query = MultiPathQuery::from_mad(snapshot, mad);
        let ends = MultiPathEnds::find(snapshot, mad);
        return matches!((query, ends), (Ok(query), Ok(ends)) if query.wants_unknown_sl(snapshot, &ends));
    }
    let is_table = matches!(mad.mad.method, method::GET | method::GET_TABLE);
    if mad.attribute_id() != AttributeId::PATH_RECORD || !is_table {
        return false;
    }
    let Ok(query) = PathQuery::from_mad(snapshot, mad) else {
        return false;
    };
    let ends = match is_to_group(&query) {
        true => return false,
        false => find_ends(snapshot, &query),
    };
    ends.is_ok_and(|ends| {
        ends.any_pair(snapshot, |from, to| {
            is_sl_unknown(snapshot, &query, from, to)
        })
    })
}
