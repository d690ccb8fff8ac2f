//! Paths beyond a router: what the kernel can use besides the main record.

use sa_wire::Gid;
use sa_wire::netlink_ls::{PathFlags, PathUse};
use sa_wire::path_record::PathRecord;

use super::agent::Records;
use crate::config::FarSubnet;

/// Packets with more hops than this leave the subnet.
const WITHIN: u8 = 1;

/// Puts a record into a reply, and where it leads to a far subnet whose router is known, the way
/// there and the way back too: the passive side of a connection takes its own first LID from the
/// latter (kernels from 6.1).
pub(super) fn fill(
    records: &mut Records,
    path_use: PathUse,
    record: PathRecord,
    known: &[FarSubnet],
) {
    // There is room for three.
    let mut push = |flags, record| {
        let _ = records.push(flags, record);
    };
    push(PathFlags::for_main(path_use), record);
    let leaves = record.flow.hop_limit() > WITHIN;
    let prefix = record.dgid().prefix();
    let far = known.iter().find(|far| far.prefix == prefix);
    if let (true, PathUse::All, Some(far)) = (leaves, path_use, far) {
        push(INBOUND, way_back(&record, far.router_lid));
        push(OUTBOUND, record);
    }
}

const INBOUND: PathFlags = PathFlags(PathFlags::PRIMARY.0 | PathFlags::INBOUND.0);
const OUTBOUND: PathFlags = PathFlags(PathFlags::PRIMARY.0 | PathFlags::OUTBOUND.0);

/// As it lies in the far subnet: from the far port to the router that leads here.
fn way_back(record: &PathRecord, router: u16) -> PathRecord {
    let (Gid(sgid), Gid(dgid)) = (record.dgid(), record.sgid());
    PathRecord {
        sgid,
        dgid,
        // The far port's own LID is not known here, nor does the kernel look at it.
        slid: 0.into(),
        dlid: router.into(),
        ..*record
    }
}
