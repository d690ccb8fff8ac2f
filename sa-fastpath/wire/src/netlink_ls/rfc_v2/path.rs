//! `rdma_nla_ls_path_rec`: a path record in one of two forms of the same length.

use zerocopy::byteorder::big_endian::{U16, U32};
use zerocopy::byteorder::native_endian::U32 as HostU32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::super::attributes::Attribute;
use super::super::question::PathFlags;
use super::super::reply::{WriteError, Writer};
use super::item::{flags_and_rest, length_of};
use super::{Damage, attribute};
use crate::attrs::{Selector, Sl};
use crate::path_record::{FlowWord, NumbPathByte, PathRecord, QosClassSl, SelectedValue};

/// A path record; the flags tell the form, and nothing in the 64 bytes does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// As in a MAD.
    Wire(PathFlags, PathRecord),
    /// As user space has it.
    User(PathFlags, UserPathRecord),
}

/// `ib_user_path_rec`: ServiceID and QoSClass are missing. Host order but where a type says other.
///
/// Source: Linux `include/uapi/rdma/ib_user_sa.h`.
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
pub struct UserPathRecord {
    /// DGID.
    pub dgid: [u8; 16],
    /// SGID.
    pub sgid: [u8; 16],
    /// DLID.
    pub dlid: U16,
    /// SLID.
    pub slid: U16,
    /// RawTraffic: 0 or 1.
    pub raw_traffic: HostU32,
    /// FlowLabel.
    pub flow_label: U32,
    /// Reversible: 0 or 1.
    pub reversible: HostU32,
    /// MTU code.
    pub mtu: HostU32,
    /// P_Key.
    pub pkey: U16,
    /// HopLimit.
    pub hop_limit: u8,
    /// TClass.
    pub traffic_class: u8,
    /// NumbPath.
    pub numb_path: u8,
    /// SL.
    pub sl: u8,
    /// MtuSelector.
    pub mtu_selector: u8,
    /// RateSelector.
    pub rate_selector: u8,
    /// Rate code.
    pub rate: u8,
    /// PacketLifeTimeSelector.
    pub packet_life_selector: u8,
    /// PacketLifeTime.
    pub packet_life: u8,
    /// Preference.
    pub preference: u8,
}

impl Path {
    pub(super) fn read(found: &Attribute<'_>) -> Result<Self, Damage> {
        let (flags, rest) = flags_and_rest(found)?;
        let known = PathFlags(flags & !USER);
        if flags & USER == 0 {
            let record = PathRecord::read_from_bytes(rest).map_err(|_| length_of(found))?;
            Ok(Self::Wire(known, record))
        } else {
            let record = UserPathRecord::read_from_bytes(rest).map_err(|_| length_of(found))?;
            Ok(Self::User(known, record))
        }
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) -> Result<(), WriteError> {
        let (flags, record) = match self {
            Self::Wire(flags, record) => (flags.0 & !USER, record.as_bytes()),
            Self::User(flags, record) => (flags.0 | USER, record.as_bytes()),
        };
        writer.attribute(attribute::PATH_RECORD, &[&flags.to_ne_bytes(), record])
    }
}

impl From<&PathRecord> for UserPathRecord {
    /// Without ServiceID and QoSClass, for which this form has no place.
    fn from(record: &PathRecord) -> Self {
        Self {
            dgid: record.dgid,
            sgid: record.sgid,
            dlid: record.dlid,
            slid: record.slid,
            raw_traffic: HostU32::new(record.flow.raw_traffic().into()),
            flow_label: U32::new(record.flow.flow_label()),
            reversible: HostU32::new(record.numb_path.reversible().into()),
            mtu: HostU32::new(record.mtu.value().into()),
            pkey: record.pkey,
            hop_limit: record.flow.hop_limit(),
            traffic_class: record.tclass,
            numb_path: record.numb_path.numb_path(),
            sl: record.qos_class_sl.sl().get(),
            mtu_selector: record.mtu.selector() as u8,
            rate_selector: record.rate.selector() as u8,
            rate: record.rate.value(),
            packet_life_selector: record.packet_life.selector() as u8,
            packet_life: record.packet_life.value(),
            preference: record.preference,
        }
    }
}

impl From<&UserPathRecord> for PathRecord {
    /// Fields that are too wide lose their upper bits.
    fn from(user: &UserPathRecord) -> Self {
        let flow = FlowWord::new(user.flow_label.get(), user.hop_limit);
        let numb_path = NumbPathByte::new(user.numb_path);
        let [.., mtu] = user.mtu.get().to_be_bytes();
        Self {
            dgid: user.dgid,
            sgid: user.sgid,
            dlid: user.dlid,
            slid: user.slid,
            flow: if user.raw_traffic.get() == 0 {
                flow
            } else {
                flow.with_raw_traffic()
            },
            tclass: user.traffic_class,
            numb_path: match user.reversible.get() {
                0 => numb_path,
                _ => numb_path.with_reversible(),
            },
            pkey: user.pkey,
            qos_class_sl: QosClassSl::new(0, Sl::from_low_bits(user.sl)),
            mtu: selected(user.mtu_selector, mtu),
            rate: selected(user.rate_selector, user.rate),
            packet_life: selected(user.packet_life_selector, user.packet_life),
            preference: user.preference,
            ..Self::default()
        }
    }
}

const fn selected(selector: u8, value: u8) -> SelectedValue {
    SelectedValue::new(Selector::from_byte(selector << 6), value)
}

/// LS_NLA_PATH_F_USER.
const USER: u32 = 1 << 6;

const _: () = assert!(size_of::<UserPathRecord>() == 64);
