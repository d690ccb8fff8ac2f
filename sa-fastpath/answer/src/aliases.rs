//! Requests that are about alias GUIDs, told from the others before anything else is asked. What
//! they get is the slow lane's business, see `path::open_ends`.
//!
//! A port with alias GUIDs (one for each virtual function, say) is several end points behind one
//! LID, and OpenSM gives a record for each of them. A worker gives one record a pair, so such
//! requests are told apart at the door. Only subnets with aliases pay for the look: `single` asks
//! [`Snapshot::has_aliases`] first, and batches are not used there at all.

use sa_snapshot::Snapshot;
use sa_wire::Gid;
use sa_wire::mad::method;
use sa_wire::path_record::{PathCompMask, PathRecord};
use sa_wire::sa::{AttributeId, SaMad};
use sa_wire::umad::Slot;
use zerocopy::FromBytes;

use crate::unanswerable;

/// True when an end of a PathRecord request is named by an alias, or by the LID alone of a port
/// that has some and gets a record for each. Out of line, to leave subnets without aliases
/// undisturbed.
#[inline(never)]
pub(super) fn concern(snapshot: &Snapshot, slot: &mut Slot) -> bool {
    let requester_lid = slot.header.lid.get();
    let mad = SaMad::from_bytes_mut(&mut slot.mad);
    let asks_for_paths = mad.attribute_id() == AttributeId::PATH_RECORD
        && matches!(mad.mad.method, method::GET | method::GET_TABLE);
    // Strangers get from the fast path what they get, which is mostly nothing.
    // `unanswerable` comes last because it costs the most, and because most requests are for paths.
    let is_known = snapshot.port_by_lid(requester_lid).is_some();
    if !asks_for_paths || !is_known || unanswerable(snapshot, mad).is_some() {
        return false;
    }
    let Ok((record, _)) = PathRecord::ref_from_prefix(&mad.data) else {
        return false;
    };
    let mask = PathCompMask(mad.sa.component_mask.get());
    let ends = [
        (
            PathCompMask::SGID,
            record.sgid(),
            PathCompMask::SLID,
            record.slid.get(),
        ),
        (
            PathCompMask::DGID,
            record.dgid(),
            PathCompMask::DLID,
            record.dlid.get(),
        ),
    ];
    ends.into_iter().any(|(by_gid, gid, by_lid, lid)| {
        // A GID decides alone: a LID beside it is only checked against the port, and gives no
        // further records.
        if mask.has(by_gid) {
            return is_alias(snapshot, gid);
        }
        let port = snapshot.port_by_lid(lid).filter(|_| mask.has(by_lid));
        port.is_some_and(|port| snapshot.is_aliased(port))
    })
}

/// Most GIDs are ports' own, and those are found faster.
fn is_alias(snapshot: &Snapshot, gid: Gid) -> bool {
    let guid = gid.interface_id();
    snapshot.port_by_guid(guid).is_none() && snapshot.alias(guid).is_some()
}
