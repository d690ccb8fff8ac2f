//! Paths to multicast groups. Source: OpenSM `osm_sa_path_record.c`.
//!
//! The DGID names a group, and the answer is the request itself with what the group decides written
//! over it: DLID is the MLID, P_Key, SL, MTU, rate and life time are the group's. All else comes
//! back as it was sent, ServiceID and reserved bytes included. MTU, rate and life time that the
//! request asks for are not looked at.
//!
//! Groups are those of the partitions; members are not known here (deviation 6), so a request that
//! names a source finds nothing, as for a group that nobody has joined.

use policy::partitions::MulticastGroup;
use sa_wire::path_record::PathRecord;
use sa_wire::sa::SaMad;
use sa_wire::{Mlid, Pkey};
use zerocopy::FromBytes;

use super::Reference;
use super::request::{Data, Method};

/// "Exactly", in the two bits of a selector.
const EXACTLY: u8 = 0x80;

impl Reference<'_> {
    /// The one record of the group that is asked for, or none.
    ///
    /// A GetTable for 0 paths gets none; a Get does not look at NumbPath.
    pub(super) fn group_records(&self, method: Method, mad: &SaMad) -> Vec<PathRecord> {
        let data = Data::of(mad);
        let asks_for_none = method == Method::GetTable && data.has(12) && data.byte(49) & 0x7f == 0;
        let groups = self.inputs.partitions.multicast_groups();
        let mut groups = groups.iter().zip(&self.inputs.off_subnet.mlids);
        let found = groups.find(|(group, _)| group.mgid == data.gid(8));
        let wanted = found.filter(|(group, mlid)| !asks_for_none && suits(&data, group, **mlid));
        wanted
            .map(|(group, mlid)| self.group_record(&data, group, *mlid))
            .into_iter()
            .collect()
    }

    /// What was sent, with some bytes replaced.
    fn group_record(&self, data: &Data<'_>, group: &MulticastGroup, mlid: Mlid) -> PathRecord {
        let mut bytes: [u8; 64] = core::array::from_fn(|at| data.byte(at));
        // Scope 2 is the subnet.
        let hop_limit = match group.mgid.0[1] & 0xf {
            2 => group.hop_limit,
            _ => 255,
        };
        // In network byte order; OpenSM's is that of its host (deviation 25).
        let flow = group.flow_label << 8 | u32::from(hop_limit);
        bytes[40..42].copy_from_slice(&mlid.get().to_be_bytes());
        bytes[44..48].copy_from_slice(&flow.to_be_bytes());
        bytes[48] = group.tclass;
        // NumbPath 1, and not reversible.
        bytes[49] = 1;
        bytes[50..52].copy_from_slice(&pkey(group).to_be_bytes());
        bytes[52..54].copy_from_slice(&u16::from(group.sl.get()).to_be_bytes());
        bytes[54] = EXACTLY | group.mtu.code();
        bytes[55] = EXACTLY | group.rate.code();
        bytes[56] = EXACTLY | self.options.packet_life & 0x3f;
        PathRecord::read_from_bytes(&bytes).unwrap_or_default()
    }
}

/// Nobody is a member, so no source is one.
/// Whether all that the request names is the group's. The whole P_Key must be equal, its membership
/// bit too.
fn suits(data: &Data<'_>, group: &MulticastGroup, mlid: Mlid) -> bool {
    let differs = |bit, asked: u32, has: u32| data.has(bit) && asked != has;
    let flow = data.u32(44);
    !(data.has(3)
        || data.has(5)
        || differs(4, data.u16(40).into(), mlid.get().into())
        || differs(8, flow >> 8 & 0xf_ffff, group.flow_label)
        || differs(9, flow & 0xff, group.hop_limit.into())
        || differs(10, data.byte(48).into(), group.tclass.into())
        || differs(13, data.u16(50).into(), pkey(group).into())
        || differs(15, u32::from(data.byte(53) & 0xf), group.sl.get().into()))
}

/// Full membership: that is how a group's key is told.
const fn pkey(group: &MulticastGroup) -> u16 {
    group.base | Pkey::FULL_BIT
}
