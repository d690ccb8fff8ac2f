//! MCMemberRecord: a multicast group, or a port's membership in one. Source: IBA vol. 1, 15.2.5.17.

use zerocopy::byteorder::big_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::field::{Field, Form};
use crate::comp_mask::comp_mask;
use crate::ids::Gid;
use crate::path_record::SelectedValue;

/// An MCMemberRecord as it lies in a table, padding included.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
    Unaligned,
)]
#[repr(C)]
pub struct McMemberRecord {
    /// MGID; all zeros ask the SA for one.
    pub mgid: [u8; 16],
    /// PortGID, of the member.
    pub port_gid: [u8; 16],
    /// Q_Key of the group, which packets to it carry.
    pub q_key: U32,
    /// MLID, raw: 0xc000 to 0xfffe.
    pub mlid: U16,
    /// MTU and its selector.
    pub mtu: SelectedValue,
    /// TClass of packets to the group.
    pub tclass: u8,
    /// P_Key of the group, raw, with the membership bit.
    pub pkey: U16,
    /// Rate and its selector.
    pub rate: SelectedValue,
    /// PacketLifeTime and its selector.
    pub packet_life: SelectedValue,
    /// SL (31 to 28), FlowLabel (27 to 8), HopLimit (7 to 0).
    pub sl_flow_hop: U32,
    /// Scope (7 to 4), JoinState (3 to 0).
    pub scope_and_state: u8,
    /// ProxyJoin, one bit; see [`Self::PROXY_JOIN`].
    pub proxy_join: u8,
    /// Not used; echoed.
    pub reserved: [u8; 2],
    /// Fills the record up to a multiple of 8 bytes; echoed.
    pub padding: [u8; 4],
}

impl McMemberRecord {
    /// Length without padding. Units: bytes.
    pub const SIZE: usize = size_of::<Self>();

    /// The bit of ProxyJoin: the specification's is the highest of the byte, but OpenSM and its
    /// clients have the lowest, where their compiler puts it on a little-endian host.
    pub const PROXY_JOIN: u8 = 1;

    /// MGID as a type.
    pub const fn mgid(&self) -> Gid {
        Gid(self.mgid)
    }

    /// PortGID as a type.
    pub const fn port_gid(&self) -> Gid {
        Gid(self.port_gid)
    }

    /// Service level of packets to the group, 0 to 15.
    pub const fn sl(&self) -> u8 {
        (self.sl_flow_hop.get() >> 28) as u8
    }

    /// Flow label, 20 bits.
    pub const fn flow_label(&self) -> u32 {
        self.sl_flow_hop.get() >> 8 & 0xf_ffff
    }

    /// Hop limit of packets to the group.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the low byte is what is wanted"
    )]
    pub const fn hop_limit(&self) -> u8 {
        self.sl_flow_hop.get() as u8
    }

    /// Scope of the group's address, 4 bits: 2 is link-local.
    pub const fn scope(&self) -> u8 {
        self.scope_and_state >> 4
    }

    /// JoinState, 4 bits; see [`join_state`].
    pub const fn join_state(&self) -> u8 {
        self.scope_and_state & 0x0f
    }

    /// The same with another JoinState.
    #[must_use]
    pub const fn with_join_state(self, state: u8) -> Self {
        Self {
            scope_and_state: self.scope_and_state & 0xf0 | state & 0x0f,
            ..self
        }
    }

    /// True where the ProxyJoin bit is set.
    pub const fn is_proxy_join(&self) -> bool {
        self.proxy_join & Self::PROXY_JOIN != 0
    }

    /// The same with this ProxyJoin bit.
    #[must_use]
    pub fn with_proxy_join(self, is_proxy: bool) -> Self {
        Self {
            // Other bits of the byte are reserved and come back as they were sent.
            proxy_join: self.proxy_join & !Self::PROXY_JOIN | u8::from(is_proxy),
            ..self
        }
    }
}

/// Bits of JoinState: how a port takes part in a group.
pub mod join_state {
    /// Sends and receives; the group lives as long as there is one.
    pub const FULL: u8 = 1;
    /// Sends and receives, but does not keep the group alive.
    pub const NON_MEMBER: u8 = 2;
    /// Sends to the group, gets nothing, and does not keep it alive.
    pub const SEND_ONLY_NON_MEMBER: u8 = 4;
    /// Sends only, and keeps the group alive.
    pub const SEND_ONLY_FULL: u8 = 8;
}

/// Which components of an MCMemberRecord count in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct McMemberCompMask(pub u64);

impl McMemberCompMask {
    /// MGID: the group's address.
    pub const MGID: Self = Self(1);
    /// PortGID: who joins, or is a member.
    pub const PORT_GID: Self = Self(1 << 1);
    /// Q_Key of packets to the group.
    pub const Q_KEY: Self = Self(1 << 2);
    /// MLID of the group.
    pub const MLID: Self = Self(1 << 3);
    /// MTUSelector; counts together with the MTU.
    pub const MTU_SELECTOR: Self = Self(1 << 4);
    /// MTU to compare with.
    pub const MTU: Self = Self(1 << 5);
    /// TClass of packets to the group.
    pub const TCLASS: Self = Self(1 << 6);
    /// P_Key of the group.
    pub const PKEY: Self = Self(1 << 7);
    /// RateSelector; counts together with the rate.
    pub const RATE_SELECTOR: Self = Self(1 << 8);
    /// Rate to compare with.
    pub const RATE: Self = Self(1 << 9);
    /// PacketLifeTimeSelector; counts together with the life time.
    pub const PACKET_LIFE_SELECTOR: Self = Self(1 << 10);
    /// PacketLifeTime to compare with.
    pub const PACKET_LIFE: Self = Self(1 << 11);
    /// SL of packets to the group.
    pub const SL: Self = Self(1 << 12);
    /// FlowLabel of packets to the group.
    pub const FLOW_LABEL: Self = Self(1 << 13);
    /// HopLimit of packets to the group.
    pub const HOP_LIMIT: Self = Self(1 << 14);
    /// Scope of the group's address.
    pub const SCOPE: Self = Self(1 << 15);
    /// JoinState: the kind of membership.
    pub const JOIN_STATE: Self = Self(1 << 16);
    /// ProxyJoin: joined by another than the member.
    pub const PROXY_JOIN: Self = Self(1 << 17);

    /// MTU with its selector.
    pub const MTU_PAIR: Self = Self::MTU_SELECTOR.union(Self::MTU);
    /// Rate with its selector.
    pub const RATE_PAIR: Self = Self::RATE_SELECTOR.union(Self::RATE);
    /// What joining and leaving need.
    pub const JOIN: Self = Self::MGID.union(Self::PORT_GID).union(Self::JOIN_STATE);
    /// What making a group needs.
    pub const CREATE: Self = Self::JOIN
        // As OpenSM asks for it: a group cannot be made without these.
        .union(Self::Q_KEY)
        .union(Self::TCLASS)
        .union(Self::PKEY)
        .union(Self::FLOW_LABEL)
        .union(Self::SL);
}

comp_mask!(McMemberCompMask);

/// Components of an MCMemberRecord.
pub(super) const MC_MEMBER: &[Field] = &[
    Field::number("mgid", 0, 0, 128).form(Form::Gid),
    Field::number("port_gid", 1, 128, 128).form(Form::Gid),
    Field::number("q_key", 2, 256, 32).hex(),
    Field::number("mlid", 3, 288, 16).hex(),
    Field::number("mtu_selector", 4, 304, 2),
    Field::number("mtu", 5, 306, 6),
    Field::number("tclass", 6, 312, 8),
    Field::number("pkey", 7, 320, 16).hex(),
    Field::number("rate_selector", 8, 336, 2),
    Field::number("rate", 9, 338, 6),
    Field::number("packet_life_time_selector", 10, 344, 2),
    Field::number("packet_life_time", 11, 346, 6),
    Field::number("sl", 12, 352, 4),
    Field::number("flow_label", 13, 356, 20).hex(),
    Field::number("hop_limit", 14, 376, 8),
    Field::number("scope", 15, 384, 4),
    Field::number("join_state", 16, 388, 4),
    Field::number("proxy_join", 17, 399, 1),
];

const _: () = assert!(size_of::<McMemberRecord>() == 56);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::Layout;

    #[test]
    fn parts_of_words_are_where_the_layout_has_them() {
        let record = McMemberRecord {
            sl_flow_hop: 0x5123_4567.into(),
            scope_and_state: 0xe9,
            proxy_join: 0x81,
            mtu: SelectedValue::exactly(4),
            ..McMemberRecord::default()
        };
        let value = |name| {
            Layout::MC_MEMBER
                .field(name)
                .unwrap()
                .value(record.as_bytes())
        };
        assert_eq!(value("sl"), u64::from(record.sl()));
        assert_eq!(value("flow_label"), u64::from(record.flow_label()));
        assert_eq!(value("hop_limit"), u64::from(record.hop_limit()));
        assert_eq!((value("scope"), value("join_state")), (0xe, 9));
        assert_eq!((record.scope(), record.join_state()), (0xe, 9));
        assert_eq!((value("mtu_selector"), value("mtu")), (2, 4));
        assert_eq!((value("proxy_join"), record.is_proxy_join()), (1, true));
        assert_eq!(record.with_proxy_join(false).proxy_join, 0x80);
        assert_eq!(record.with_join_state(2).scope_and_state, 0xe2);
    }
}
