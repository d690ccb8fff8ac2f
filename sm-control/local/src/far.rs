//! Paths beyond a router: what the kernel can use besides the main record.
//!
//! Inside a subnet one record says everything, since the passive side of a connection takes the
//! same path backwards. Beyond a router the LIDs of the two subnets differ, and the passive side
//! needs the LID of the router on its own side. From 6.1 on the kernel takes three records and
//! sorts them by flags:
//!
//! | record | flags | DLID | what rdma_cm does with it |
//! |---|---|---|---|
//! | main | 0x2b | router here | the path |
//! | inbound | 0x12 | router there | its DLID goes to the passive side, in the REQ |
//! | outbound | 0x0a | router here | its DLID is used for data |
//!
//! The inbound record is used only where the hop limit is over 1. Kernels before 6.1 take the first
//! record and skip the rest.

use sa_wire::Gid;
use sa_wire::netlink_ls::{PathFlags, PathUse};
use sa_wire::path_record::PathRecord;

use super::agent::Records;
use crate::options::FarSubnet;

/// Packets with a larger hop limit than this may leave the subnet: each router takes one.
const WITHIN: u8 = 1;

/// Puts a record into a reply, and where it leads to a far subnet whose router is known, the way
/// there and the way back too. `records` is empty before. Only a query for ALL gets three: the
/// other uses take one record, and are asked by older kernels or for one direction.
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

/// The way back: 0x12. Without GMP, or rdma_cm would take it for the path.
const INBOUND: PathFlags = PathFlags(PathFlags::PRIMARY.0 | PathFlags::INBOUND.0);
/// The way there: 0x0a.
const OUTBOUND: PathFlags = PathFlags(PathFlags::PRIMARY.0 | PathFlags::OUTBOUND.0);

/// The path from the far port to the router that leads here, as it lies in the far subnet: ends
/// exchanged, and everything else, such as SL and MTU, as on the way there.
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

#[cfg(test)]
mod tests {
    use sa_wire::SubnetPrefix;
    use sa_wire::path_record::FlowWord;

    use super::*;

    const FAR: FarSubnet = FarSubnet {
        prefix: SubnetPrefix(0xfec0_0000_0000_0001),
        router_lid: 77,
    };

    fn filled(prefix: u64, hops: u8, path_use: PathUse) -> Vec<(PathFlags, PathRecord)> {
        let gid =
            |prefix: u64, guid: u64| (u128::from(prefix) << 64 | u128::from(guid)).to_be_bytes();
        let record = PathRecord {
            dgid: gid(prefix, 9),
            sgid: gid(0xfe80 << 48, 1),
            dlid: 5.into(),
            slid: 1.into(),
            flow: FlowWord::new(0, hops),
            ..PathRecord::default()
        };
        let mut records = Records::new();
        fill(&mut records, path_use, record, &[FAR]);
        records.as_slice().to_vec()
    }

    #[test]
    fn a_known_far_subnet_gets_the_way_back() {
        let all = filled(FAR.prefix.0, 255, PathUse::All);
        let [(main, there), (inbound, back), (outbound, again)] = &all[..] else {
            panic!("{all:?}")
        };
        assert_eq!((main.0, inbound.0, outbound.0), (0x2b, 0x12, 0x0a));
        assert_eq!(there, again);
        assert_eq!((back.dlid.get(), back.slid.get()), (77, 0));
        assert_eq!((back.dgid, back.sgid), (there.sgid, there.dgid));
    }

    #[test]
    fn all_else_is_one_record() {
        assert_eq!(filled(0xfe80 << 48, 0, PathUse::All).len(), 1);
        assert_eq!(filled(0xfec0 << 48 | 2, 255, PathUse::All).len(), 1);
        assert_eq!(filled(FAR.prefix.0, 1, PathUse::All).len(), 1);
        let [(flags, _)] = filled(FAR.prefix.0, 255, PathUse::Unidirectional)[..] else {
            panic!("one record")
        };
        assert_eq!(flags.0, 0x0a);
    }
}
