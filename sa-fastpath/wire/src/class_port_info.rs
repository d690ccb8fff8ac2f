//! ClassPortInfo: what the Subnet Administrator says of itself.
//!
//! Source: IBA vol. 1, 13.4.8.1 and 15.2.5.1; OpenSM `osm_sa_class_port_info.c` for the values.

use core::ops::BitOr;

use zerocopy::byteorder::big_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::mad::{BASE_VERSION, SA_CLASS_VERSION};
use crate::umad::QP1_QKEY;

/// One ClassPortInfo, 72 bytes.
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
pub struct ClassPortInfo {
    /// Base version of MADs, 1.
    pub base_version: u8,
    /// Class version, 2 for Subnet Administration.
    pub class_version: u8,
    /// Raw [`CapabilityMask`]: what the class can do.
    pub capability_mask: U16,
    /// CapabilityMask2 (bits 31 to 5) and RespTimeValue (4 to 0).
    pub capability_mask2_response_time: U32,
    /// Where to ask instead.
    pub redirect_gid: [u8; 16],
    /// RedirectTC (31 to 24), SL (23 to 20), FlowLabel (19 to 0).
    pub redirect_tclass_sl_flow: U32,
    /// Where to ask instead; 0 is here.
    pub redirect_lid: U16,
    /// Where to ask instead.
    pub redirect_pkey: U16,
    /// Low 24 bits: the queue pair to ask.
    pub redirect_qp: U32,
    /// The Q_Key to ask with.
    pub redirect_qkey: U32,
    /// TrapGID: where traps of the class go.
    pub trap_gid: [u8; 16],
    /// TrapTC (31 to 24), SL (23 to 20), FlowLabel (19 to 0).
    pub trap_tclass_sl_flow: U32,
    /// LID that belongs to `trap_gid`.
    pub trap_lid: U16,
    /// P_Key that belongs to `trap_gid`.
    pub trap_pkey: U16,
    /// TrapHopLimit (31 to 24), TrapQP (23 to 0).
    pub trap_hop_limit_qp: U32,
    /// The Q_Key that traps go with.
    pub trap_qkey: U32,
}

impl ClassPortInfo {
    /// Length in the attribute data. Units: bytes.
    pub const SIZE: usize = size_of::<Self>();

    /// What the Subnet Administrator answers: asked on QP 1 of this port, sends no traps.
    pub const fn subnet_administration(
        mask: CapabilityMask,
        mask2: CapabilityMask2,
        response_time: ResponseTime,
    ) -> Self {
        Self {
            base_version: BASE_VERSION,
            class_version: SA_CLASS_VERSION,
            capability_mask: U16::new(mask.0),
            // Both share a word: 27 bits of capabilities above five of the time.
            capability_mask2_response_time: U32::new(mask2.0 << 5 | response_time.0 as u32),
            redirect_gid: [0; 16],
            redirect_tclass_sl_flow: U32::ZERO,
            redirect_lid: U16::ZERO,
            redirect_pkey: U16::ZERO,
            // Queue pair 1 and its Q_Key even where nothing is redirected, as OpenSM fills them in.
            redirect_qp: U32::new(1),
            redirect_qkey: U32::new(QP1_QKEY),
            trap_gid: [0; 16],
            trap_tclass_sl_flow: U32::ZERO,
            trap_lid: U16::ZERO,
            trap_pkey: U16::ZERO,
            trap_hop_limit_qp: U32::ZERO,
            trap_qkey: U32::new(QP1_QKEY),
        }
    }

    /// CapabilityMask as a type.
    pub const fn capability_mask(&self) -> CapabilityMask {
        CapabilityMask(self.capability_mask.get())
    }

    /// CapabilityMask2 as a type.
    pub const fn capability_mask2(&self) -> CapabilityMask2 {
        CapabilityMask2(self.capability_mask2_response_time.get() >> 5)
    }

    /// RespTimeValue as a type.
    pub const fn response_time(&self) -> ResponseTime {
        // The low five bits of the word's last byte.
        let [.., low] = self.capability_mask2_response_time.to_bytes();
        ResponseTime(low & 0x1f)
    }
}

/// ClassPortInfo.CapabilityMask, 16 bits; bits 8 to 15 are the class's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct CapabilityMask(pub u16);

impl CapabilityMask {
    /// Sends traps; not claimed.
    pub const TRAP: Self = Self(1);
    /// Get and Set of Notice.
    pub const GET_SET_NOTICE: Self = Self(1 << 1);
    /// Optional records; not claimed, though many are answered.
    pub const OPTIONAL_RECORDS: Self = Self(1 << 8);
    /// IsUDMulticastSupported: joins of groups for unreliable datagrams.
    pub const UD_MULTICAST: Self = Self(1 << 9);
    /// IsMultiPathRecordSupported: GetMulti of MultiPathRecord.
    pub const MULTI_PATH: Self = Self(1 << 10);
    /// IsReinitSupported: reinitialisation; not claimed.
    pub const REINIT: Self = Self(1 << 11);
    /// Matching single bits of PortInfo.CapabilityMask.
    pub const PORT_INFO_CAPABILITY_MATCH: Self = Self(1 << 13);

    /// What OpenSM claims while multicast is not disabled: 0x2602.
    pub const OPENSM: Self = Self::GET_SET_NOTICE
        .union(Self::UD_MULTICAST)
        .union(Self::MULTI_PATH)
        .union(Self::PORT_INFO_CAPABILITY_MATCH);

    /// True when all of these bits are set.
    pub const fn has_all(self, bits: Self) -> bool {
        self.0 & bits.0 == bits.0
    }

    /// The bits of both.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// All but these bits.
    #[must_use]
    pub const fn without(self, bits: Self) -> Self {
        Self(self.0 & !bits.0)
    }
}

impl BitOr for CapabilityMask {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.union(other)
    }
}

/// CapabilityMask2, 27 bits; the upper five of the number are lost on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct CapabilityMask2(pub u32);

impl CapabilityMask2 {
    /// QoS: QoSClass and ServiceID are looked at. OpenSM claims it only with QoS on.
    pub const QOS: Self = Self(1 << 1);
    /// P_Keys of reverse paths; not claimed.
    pub const REVERSE_PATH_PKEY: Self = Self(1 << 2);
    /// MulticastFDBTop; claimed with `use_mfttop`, OpenSM's default.
    pub const MULTICAST_TOP: Self = Self(1 << 3);
    /// Hierarchy records; not claimed.
    pub const HIERARCHY: Self = Self(1 << 4);
    /// Alias GUIDs can be set by GUIDInfoRecord.
    pub const ALIAS_GUIDS: Self = Self(1 << 5);
    /// The whole of PortInfoRecord.
    pub const FULL_PORT_INFO: Self = Self(1 << 6);
    /// PortInfo of ports tells extended link speeds (FDR and faster).
    pub const EXTENDED_SPEEDS: Self = Self(1 << 7);
    /// ServiceRecords may name multicast GIDs.
    pub const MULTICAST_SERVICE_RECORDS: Self = Self(1 << 8);
    /// Matching single bits of PortInfo.CapabilityMask2.
    pub const PORT_INFO_CAPABILITY2_MATCH: Self = Self(1 << 10);
    /// Send-only full members of multicast groups.
    pub const SEND_ONLY_FULL_MEMBER: Self = Self(1 << 12);
    /// Links of width 2x.
    pub const LINK_WIDTH_2X: Self = Self(1 << 13);
    /// Links of HDR speed.
    pub const LINK_SPEED_HDR: Self = Self(1 << 15);
    /// Links of NDR speed; not claimed.
    pub const LINK_SPEED_NDR: Self = Self(1 << 17);

    /// What OpenSM claims with QoS off and its default `use_mfttop`: 0xb5e8.
    pub const OPENSM: Self = Self::MULTICAST_TOP
        .union(Self::ALIAS_GUIDS)
        .union(Self::FULL_PORT_INFO)
        .union(Self::EXTENDED_SPEEDS)
        .union(Self::MULTICAST_SERVICE_RECORDS)
        .union(Self::PORT_INFO_CAPABILITY2_MATCH)
        .union(Self::SEND_ONLY_FULL_MEMBER)
        .union(Self::LINK_WIDTH_2X)
        .union(Self::LINK_SPEED_HDR);
    /// What OpenSM claims with QoS on: 0xb5ea.
    pub const OPENSM_QOS: Self = Self::OPENSM.union(Self::QOS);

    /// True when all of these bits are set.
    pub const fn has_all(self, bits: Self) -> bool {
        self.0 & bits.0 == bits.0
    }

    /// The bits of both.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// All but these bits.
    #[must_use]
    pub const fn without(self, bits: Self) -> Self {
        Self(self.0 & !bits.0)
    }
}

impl BitOr for CapabilityMask2 {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.union(other)
    }
}

/// RespTimeValue: an answer takes at most 4.096 us x 2^n, n = 0 to 31.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResponseTime(u8);

impl ResponseTime {
    /// For OpenSM's default `transaction_timeout` of 200 ms.
    pub const DEFAULT: Self = Self::from_millis(200);

    /// The smallest value from 8 on that covers a timeout, as OpenSM computes it: times are cut to
    /// whole milliseconds, and the largest value is 31. Units: ms.
    pub const fn from_millis(timeout: u32) -> Self {
        // From 8 on, as OpenSM: 4096 ns x 2^8 is one millisecond and a bit.
        let mut value = 8;
        // In 64 bits, as 4096 shifted by 31 leaves 32.
        while value < 31 && ((4096u64 << value) / 1_000_000) < timeout as u64 {
            value += 1;
        }
        Self(value)
    }

    /// The exponent n of 4.096 us times 2^n, 0 to 31.
    pub const fn get(self) -> u8 {
        self.0
    }
}

const _: () = assert!(size_of::<ClassPortInfo>() == 72);
