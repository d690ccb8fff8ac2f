//! PathRecord: 64 bytes that ask for, or describe, one path.
//!
//! Fields narrower than a byte live in small packed types ([`FlowWord`], [`NumbPathByte`],
//! [`QosClassSl`], [`SelectedValue`]), which MultiPathRecord shares.
//!
//! Source: IBA vol. 1, 15.2.5.16.

use zerocopy::byteorder::big_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::attrs::{Selector, Sl, exactly, selected_value};
use crate::comp_mask::comp_mask;
use crate::ids::{Gid, ServiceId};

/// One PathRecord as it lies in a MAD.
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
pub struct PathRecord {
    /// ServiceID; two bits of the component mask, see [`PathCompMask::SERVICE_ID`].
    pub service_id: U64,
    /// DGID, where the path ends. Shape: wire bytes.
    pub dgid: [u8; 16],
    /// SGID, where the path starts. Shape: wire bytes.
    pub sgid: [u8; 16],
    /// DLID, raw: a base LID or any other of the port's.
    pub dlid: U16,
    /// SLID, raw: a base LID or any other of the port's.
    pub slid: U16,
    /// RawTraffic, FlowLabel, HopLimit in one word.
    pub flow: FlowWord,
    /// TClass of a global route header.
    pub tclass: u8,
    /// Reversible and, in requests, NumbPath.
    pub numb_path: NumbPathByte,
    /// P_Key, raw, with the membership bit.
    pub pkey: U16,
    /// QoSClass (12 bits) and SL (4 bits).
    pub qos_class_sl: QosClassSl,
    /// MTU and its selector.
    pub mtu: SelectedValue,
    /// Rate and its selector.
    pub rate: SelectedValue,
    /// PacketLifeTime and its selector.
    pub packet_life: SelectedValue,
    /// Preference; 0 is best.
    pub preference: u8,
    /// Zero in answers; in requests it does not count.
    pub reserved: [u8; 6],
}

impl PathRecord {
    /// Length in the attribute data, without padding. Units: bytes.
    pub const SIZE: usize = size_of::<Self>();

    /// DGID as a type.
    pub const fn dgid(&self) -> Gid {
        Gid(self.dgid)
    }

    /// SGID as a type.
    pub const fn sgid(&self) -> Gid {
        Gid(self.sgid)
    }

    /// ServiceID as a type.
    pub const fn service_id(&self) -> ServiceId {
        ServiceId(self.service_id.get())
    }
}

/// RawTraffic (bit 31), three reserved bits, FlowLabel (27 to 8), HopLimit (7 to 0).
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
#[repr(transparent)]
pub struct FlowWord(pub U32);

impl FlowWord {
    /// From flow label (its low 20 bits) and hop limit; no raw traffic.
    pub const fn new(flow_label: u32, hop_limit: u8) -> Self {
        // Bytes and not shifts, so that no bit of the label can get into the reserved ones.
        let [_, high, middle, low] = flow_label.to_be_bytes();
        Self(U32::from_bytes([high & 0x0f, middle, low, hop_limit]))
    }

    /// The same with RawTraffic set.
    #[must_use]
    pub const fn with_raw_traffic(self) -> Self {
        Self(U32::new(self.0.get() | 1 << 31))
    }

    /// RawTraffic: packets without P_Key.
    pub const fn raw_traffic(self) -> bool {
        self.0.get() >> 31 == 1
    }

    /// FlowLabel of a global route header, 20 bits.
    pub const fn flow_label(self) -> u32 {
        self.0.get() >> 8 & 0x000f_ffff
    }

    /// HopLimit of a global route header; more than 1 leaves the subnet.
    pub const fn hop_limit(self) -> u8 {
        let [.., hop_limit] = self.0.to_bytes();
        hop_limit
    }
}

/// Reversible (bit 7) and NumbPath (6 to 0).
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
#[repr(transparent)]
pub struct NumbPathByte(pub u8);

impl NumbPathByte {
    /// Reversible and no number: what answers carry.
    pub const REVERSIBLE: Self = Self(0x80);

    /// Not reversible, with the low seven bits of a number.
    pub const fn new(numb_path: u8) -> Self {
        Self(numb_path & 0x7f)
    }

    /// The same with Reversible set.
    #[must_use]
    pub const fn with_reversible(self) -> Self {
        Self(self.0 | 0x80)
    }

    /// Reversible: the same path works the other way.
    pub const fn reversible(self) -> bool {
        self.0 & 0x80 != 0
    }

    /// NumbPath, 0 to 127.
    pub const fn numb_path(self) -> u8 {
        self.0 & 0x7f
    }
}

/// QoSClass (bits 15 to 4) and SL (3 to 0).
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
#[repr(transparent)]
pub struct QosClassSl(pub U16);

impl QosClassSl {
    /// From a class (its low 12 bits) and a service level.
    pub const fn new(qos_class: u16, sl: Sl) -> Self {
        // Twelve bits above four: what a class has above twelve is lost by the shift.
        let [high, low] = (qos_class << 4).to_be_bytes();
        Self(U16::from_bytes([high, low | sl.get()]))
    }

    /// QoSClass, 0 to 4095.
    pub const fn qos_class(self) -> u16 {
        self.0.get() >> 4
    }

    /// SL, the low four bits.
    pub const fn sl(self) -> Sl {
        let [_, low] = self.0.to_bytes();
        Sl::from_low_bits(low)
    }
}

/// A selector (bits 7 and 6) and the value that it compares with (5 to 0).
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
#[repr(transparent)]
pub struct SelectedValue(pub u8);

impl SelectedValue {
    /// From a selector and the low six bits of a value.
    pub const fn new(selector: Selector, value: u8) -> Self {
        // Six bits of value: more would change the selector.
        Self((selector as u8) << 6 | selected_value(value))
    }

    /// "Exactly this": what answers carry.
    pub const fn exactly(value: u8) -> Self {
        Self(exactly(value))
    }

    /// The selector, the upper two bits.
    pub const fn selector(self) -> Selector {
        Selector::from_byte(self.0)
    }

    /// The raw value, 0 to 63.
    pub const fn value(self) -> u8 {
        selected_value(self.0)
    }
}

/// Which components of a PathRecord count in a request. Bits that no constant names are ignored
/// by OpenSM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PathCompMask(pub u64);

impl PathCompMask {
    /// The upper 8 bits of ServiceID.
    pub const SERVICE_ID_MSB: Self = Self(1);
    /// The lower 56 bits of ServiceID.
    pub const SERVICE_ID_LSB: Self = Self(1 << 1);
    /// DGID: the destination by GID.
    pub const DGID: Self = Self(1 << 2);
    /// SGID: the source by GID.
    pub const SGID: Self = Self(1 << 3);
    /// DLID: the destination by LID.
    pub const DLID: Self = Self(1 << 4);
    /// SLID: the source by LID.
    pub const SLID: Self = Self(1 << 5);
    /// RawTraffic: packets without P_Key.
    pub const RAW_TRAFFIC: Self = Self(1 << 6);
    /// FlowLabel of a global route header.
    pub const FLOW_LABEL: Self = Self(1 << 8);
    /// HopLimit of a global route header.
    pub const HOP_LIMIT: Self = Self(1 << 9);
    /// TClass of a global route header.
    pub const TCLASS: Self = Self(1 << 10);
    /// Reversible: only paths that work both ways.
    pub const REVERSIBLE: Self = Self(1 << 11);
    /// NumbPath: at most so many records of a table.
    pub const NUMB_PATH: Self = Self(1 << 12);
    /// P_Key that both ends must share.
    pub const PKEY: Self = Self(1 << 13);
    /// QoSClass that rules of a policy match.
    pub const QOS_CLASS: Self = Self(1 << 14);
    /// SL that the path must have.
    pub const SL: Self = Self(1 << 15);
    /// Selector of the MTU; counts together with it.
    pub const MTU_SELECTOR: Self = Self(1 << 16);
    /// MTU to compare with.
    pub const MTU: Self = Self(1 << 17);
    /// Selector of the rate; counts together with it.
    pub const RATE_SELECTOR: Self = Self(1 << 18);
    /// Rate to compare with.
    pub const RATE: Self = Self(1 << 19);
    /// Selector of the packet life time; counts together with it.
    pub const PACKET_LIFE_SELECTOR: Self = Self(1 << 20);
    /// Packet life time to compare with.
    pub const PACKET_LIFE: Self = Self(1 << 21);

    /// Both halves of ServiceID; one without the other is an error.
    pub const SERVICE_ID: Self = Self::SERVICE_ID_MSB.union(Self::SERVICE_ID_LSB);
    /// MTU with its selector; one without the other is ignored.
    pub const MTU_PAIR: Self = Self::MTU_SELECTOR.union(Self::MTU);
    /// Rate with its selector; one without the other is ignored.
    pub const RATE_PAIR: Self = Self::RATE_SELECTOR.union(Self::RATE);
    /// PacketLifeTime with its selector; one without the other is ignored.
    pub const PACKET_LIFE_PAIR: Self = Self::PACKET_LIFE_SELECTOR.union(Self::PACKET_LIFE);
}

comp_mask!(PathCompMask);

const _: () = assert!(size_of::<PathRecord>() == 64);
