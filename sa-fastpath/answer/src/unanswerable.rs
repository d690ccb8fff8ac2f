//! Requests that get no reply, whatever they ask.
//!
//! Asked by workers, by the slow lane and by `aliases`, so that all of them are silent to the same
//! requests. The order decides which reason is counted.
//!
//! Source: OpenSM `osm_sa_mad_ctrl.c`, which drops a strange key without a word.

use sa_snapshot::Snapshot;
use sa_wire::mad::{BASE_VERSION, MGMT_CLASS_SA, SA_CLASS_VERSION, method};
use sa_wire::sa::{AttributeId, SaMad};

use crate::multi::is_multi_path;
use crate::path::service_id_in_key;
use crate::{DropReason, rmpp};

/// Requests that get no reply whatever they ask, so that nobody can make two SAs talk in circles
/// or guess keys. None for the others.
pub fn unanswerable(snapshot: &Snapshot, mad: &SaMad) -> Option<DropReason> {
    let is_key = |reason: &DropReason| *reason == DropReason::Key;
    suspicious(snapshot, mad)
        .filter(|reason| !is_key(reason) || !has_service_id_for_key(snapshot, mad))
}

/// As [`unanswerable`], but a strange key may be something else.
#[inline(always)]
pub(crate) fn suspicious(snapshot: &Snapshot, mad: &SaMad) -> Option<DropReason> {
    if mad.mad.mgmt_class != MGMT_CLASS_SA {
        return Some(DropReason::Class);
    }
    if mad.mad.method & method::RESPONSE_BIT != 0 {
        return Some(DropReason::Response);
    }
    // An ACK, STOP or ABORT for a table of ours carries the request's method.
    if mad.rmpp.is_active() && rmpp::is_part(mad) {
        return Some(DropReason::Rmpp);
    }
    let key = mad.sa.sm_key.get();
    // 0 is no key. A snapshot without a key inside has 0 too, so then every key is strange.
    (key != 0 && key != snapshot.subnet().sa_key).then_some(DropReason::Key)
}

/// True when what stands for a key is none: requests for paths may carry their service id there.
pub(crate) fn has_service_id_for_key(snapshot: &Snapshot, mad: &SaMad) -> bool {
    let version = (mad.mad.base_version, mad.mad.class_version);
    // Another version may lay out its header otherwise, so what stands for the key there is not
    // looked at.
    let is_path = version == (BASE_VERSION, SA_CLASS_VERSION)
        && mad.attribute_id() == AttributeId::PATH_RECORD
        && matches!(mad.mad.method, method::GET | method::GET_TABLE);
    (is_path || is_multi_path(mad)) && service_id_in_key(snapshot, mad).is_some()
}
