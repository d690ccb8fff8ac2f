//! Device management: what an I/O unit says of its controllers and their services.
//!
//! A request is a Get of class 0x06 to queue pair 1 of the unit's port. SRP initiators find the
//! service ids of their targets so.
//!
//! Source: IBA vol. 1, 16.3; OpenSM `ib_types.h` for the layouts, Linux `ib_srpt.c` for the order of
//! slots in the controller list and of the numbers in a modifier.

use zerocopy::byteorder::big_endian::{U16, U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::mad::{BASE_VERSION, MadHeader, method};
use crate::umad::MAD_SIZE;

/// Management class of device management.
pub const MGMT_CLASS_DEVICE: u8 = 0x06;
/// Class version of device management.
pub const DEVICE_CLASS_VERSION: u8 = 1;
/// Status of a request for a slot whose controller does not answer, or that holds none.
pub const NO_CONTROLLER: u16 = 0x0100;
/// Bit of PortInfo.CapabilityMask: device management is answered at this port.
pub const IS_DEVICE_MANAGEMENT_SUPPORTED: u32 = 1 << 19;

/// What can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attribute {
    /// [`IoUnitInfo`]: how many slots the unit has, and which are taken.
    UnitInfo,
    /// [`ControllerProfile`] of the controller in a slot, from 1.
    ControllerProfile {
        /// The slot of the controller, from 1.
        slot: u8,
    },
    /// [`ServiceEntry`]s of a controller: those from `first` to `last`, four at most.
    ServiceEntries {
        /// The slot of the controller, from 1.
        slot: u8,
        /// The first entry asked for, from 0.
        first: u8,
        /// The last entry asked for, inclusive; at most three after the first.
        last: u8,
    },
}

impl Attribute {
    /// The attribute's number as in a MAD header.
    pub const fn id(self) -> u16 {
        match self {
            Self::UnitInfo => 0x0010,
            Self::ControllerProfile { .. } => 0x0011,
            Self::ServiceEntries { .. } => 0x0012,
        }
    }

    /// The attribute modifier: slot in the upper half of that of entries, then last and first.
    pub const fn modifier(self) -> u32 {
        match self {
            Self::UnitInfo => 0,
            // One slot in the lowest byte; the others are zero.
            Self::ControllerProfile { slot } => u32::from_be_bytes([0, 0, 0, slot]),
            Self::ServiceEntries { slot, first, last } => {
                u32::from_be_bytes([0, slot, last, first])
            }
        }
    }
}

/// A MAD of the class, 256 bytes.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct DeviceMad {
    /// As of any MAD.
    pub mad: MadHeader,
    /// Nothing in this version of the class.
    pub reserved: [u8; 40],
    /// The attribute, zeros behind it. Shape: what a device management MAD has room for.
    pub data: [u8; 192],
}

const _: () = assert!(size_of::<DeviceMad>() == MAD_SIZE);

impl DeviceMad {
    /// Asks for an attribute.
    pub fn get(attribute: Attribute) -> Self {
        // All zeros first: reserved bytes and the data of a Get must be.
        let mut request = Self::new_zeroed();
        request.mad.base_version = BASE_VERSION;
        request.mad.mgmt_class = MGMT_CLASS_DEVICE;
        request.mad.class_version = DEVICE_CLASS_VERSION;
        request.mad.method = method::GET;
        request.mad.attribute_id = attribute.id().into();
        request.mad.attribute_modifier = attribute.modifier().into();
        request
    }

    /// What an answer holds. None for fewer bytes than a MAD has, and for MADs of other classes or
    /// methods.
    pub fn answer(mad: &[u8]) -> Option<&Self> {
        let (answer, _) = Self::ref_from_prefix(mad).ok()?;
        // Class and method both: a reply to something else on the same queue pair is not taken for
        // this one.
        let is_answer =
            answer.mad.mgmt_class == MGMT_CLASS_DEVICE && answer.mad.method == method::GET_RESP;
        is_answer.then_some(answer)
    }

    /// The attribute of this form.
    pub fn attribute<T: FromBytes>(&self) -> Option<T> {
        let (attribute, _) = T::read_from_prefix(&self.data).ok()?;
        Some(attribute)
    }
}

/// IOUnitInfo: the unit as a whole.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct IoUnitInfo {
    /// Counts changes of the list.
    pub change_id: U16,
    /// Slots in the list.
    pub max_controllers: u8,
    /// DiagDeviceID (bit 6), OptionROM (bit 7).
    pub diagnosis: u8,
    /// Four bits for each slot, the first slot in the upper half of the first byte.
    pub controller_list: [u8; 128],
}

/// What a slot of an I/O unit holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotState {
    /// The slot exists and holds no controller.
    Empty,
    /// The slot holds a controller.
    Installed,
    /// The unit has no such slot.
    Missing,
    /// A value that is not defined.
    Reserved,
}

impl IoUnitInfo {
    /// What a slot holds. Shape: slots are counted from 1.
    pub fn slot(&self, slot: u8) -> SlotState {
        // Slots count from 1, so 0 is no slot, and neither is one beyond the unit's own number.
        let Some(place) = slot.checked_sub(1).filter(|_| slot <= self.max_controllers) else {
            return SlotState::Missing;
        };
        let byte = self.controller_list.get(usize::from(place / 2));
        // Two slots to a byte, the first in its upper half.
        let shift = if place.is_multiple_of(2) { 4 } else { 0 };
        match byte.map(|byte| byte >> shift & 0xf) {
            Some(0) => SlotState::Empty,
            Some(1) => SlotState::Installed,
            // 0xf is what the specification has for "no such slot".
            Some(0xf) | None => SlotState::Missing,
            Some(_) => SlotState::Reserved,
        }
    }
}

/// IOControllerProfile: one controller.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct ControllerProfile {
    /// The controller's GUID, unique worldwide.
    pub guid: U64,
    /// Vendor in the upper 24 bits.
    pub vendor: U32,
    /// The vendor's number for the kind of controller.
    pub device: U32,
    /// Version of the device, the vendor's own count.
    pub device_version: U16,
    /// Not used by the specification.
    pub reserved: U16,
    /// Vendor of the enclosure in the upper 24 bits.
    pub subsystem_vendor: U32,
    /// Which enclosure the controller is part of, by its vendor's number.
    pub subsystem: U32,
    /// 0xff00 or 0x0100 for SRP targets.
    pub io_class: U16,
    /// 0x609e for SRP targets.
    pub io_subclass: U16,
    /// 0x0108 for SRP targets.
    pub protocol: U16,
    /// Version of the protocol, as the protocol's owner counts.
    pub protocol_version: U16,
    /// Not used by the specification.
    pub reserved2: U32,
    /// Deepest send queue that the controller has.
    pub send_depth: U16,
    /// Not used by the specification.
    pub reserved3: u8,
    /// RDMA reads at once.
    pub rdma_read_depth: u8,
    /// Longest message. Units: bytes.
    pub send_size: U32,
    /// Longest RDMA. Units: bytes.
    pub rdma_size: U32,
    /// What the controller may do with memory.
    pub operations: u8,
    /// Not used by the specification.
    pub reserved4: u8,
    /// How many service entries it has.
    pub service_entries: u8,
    /// Not used by the specification.
    pub reserved5: [u8; 9],
    /// UTF-8, zeros behind it.
    pub id_string: [u8; 64],
}

/// I/O subclass of SRP targets. Source: T10 SRP r16a, B.7.
pub const SRP_IO_SUBCLASS: u16 = 0x609e;
/// Protocol of SRP targets.
pub const SRP_PROTOCOL: u16 = 0x0108;
/// What the names of SRP's service entries begin with.
pub const SRP_SERVICE_PREFIX: &[u8] = b"SRP.T10:";

impl ControllerProfile {
    /// True for a controller that speaks SRP.
    pub fn is_srp(&self) -> bool {
        // Both, as other protocols may share the subclass.
        self.io_subclass.get() == SRP_IO_SUBCLASS && self.protocol.get() == SRP_PROTOCOL
    }
}

/// One pair of ServiceEntries.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct ServiceEntry {
    /// Text, zeros behind it.
    pub name: [u8; 40],
    /// The id to connect to.
    pub id: U64,
}

/// How many of them an attribute holds.
pub const ENTRIES_AT_ONCE: u8 = 4;

impl ServiceEntry {
    /// The name up to the zeros.
    pub fn name(&self) -> &[u8] {
        text(&self.name)
    }

    /// True for the I/O class and protocol of SRP targets.
    pub fn is_srp(&self) -> bool {
        self.name.starts_with(SRP_SERVICE_PREFIX)
    }
}

/// Text up to the first zero.
pub fn text(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|byte| *byte == 0);
    // Without a zero the text fills its field.
    bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes as IBA vol. 1, 16.3.3 lays them out.
    #[test]
    fn layouts_are_those_of_the_specification() {
        assert_eq!(size_of::<IoUnitInfo>(), 132);
        assert_eq!(size_of::<ControllerProfile>(), 128);
        assert_eq!(size_of::<ServiceEntry>(), 48);
        assert_eq!(
            usize::from(ENTRIES_AT_ONCE) * size_of::<ServiceEntry>(),
            192
        );
        let mut bytes = [0u8; 256];
        bytes[..4].copy_from_slice(&[1, 6, 1, 0x81]);
        bytes[16..24].copy_from_slice(&[0, 0x11, 0, 0, 0, 0, 0, 3]);
        bytes[64..72].copy_from_slice(&0x0002_c902_0040_2bd4_u64.to_be_bytes());
        bytes[64 + 28..64 + 36].copy_from_slice(&[0xff, 0, 0x60, 0x9e, 1, 8, 0, 1]);
        bytes[64 + 54] = 2;
        bytes[64 + 64..64 + 67].copy_from_slice(b"ioc");
        let answer = DeviceMad::answer(&bytes).unwrap();
        assert_eq!(
            answer.mad.attribute_modifier.get(),
            Attribute::ControllerProfile { slot: 3 }.modifier()
        );
        let profile: ControllerProfile = answer.attribute().unwrap();
        assert_eq!(profile.guid.get(), 0x0002_c902_0040_2bd4);
        assert!(profile.is_srp());
        assert_eq!(
            (profile.io_class.get(), profile.service_entries),
            (0xff00, 2)
        );
        assert_eq!(text(&profile.id_string), b"ioc");
    }

    #[test]
    fn requests_name_class_attribute_and_slot() {
        let request = DeviceMad::get(Attribute::ServiceEntries {
            slot: 2,
            first: 4,
            last: 7,
        });
        let bytes = request.as_bytes();
        assert_eq!(bytes[..4], [1, 6, 1, 1]);
        assert_eq!(bytes[16..18], [0, 0x12]);
        assert_eq!(bytes[20..24], [0, 2, 7, 4]);
        assert!(bytes[24..].iter().all(|byte| *byte == 0));
        assert_eq!(
            DeviceMad::get(Attribute::UnitInfo).mad.attribute_id.get(),
            0x10
        );
        assert!(DeviceMad::answer(bytes).is_none());
        assert!(DeviceMad::answer(&bytes[..255]).is_none());
    }

    #[test]
    fn slots_are_half_bytes_from_the_top() {
        let mut info = IoUnitInfo::new_zeroed();
        info.max_controllers = 4;
        info.controller_list[..2].copy_from_slice(&[0x1f, 0x02]);
        let states: Vec<_> = (0..=5).map(|slot| info.slot(slot)).collect();
        assert_eq!(
            states,
            [
                SlotState::Missing,
                SlotState::Installed,
                SlotState::Missing,
                SlotState::Empty,
                SlotState::Reserved,
                SlotState::Missing,
            ]
        );
        info.max_controllers = 255;
        assert_eq!(info.slot(255), SlotState::Empty);
    }

    #[test]
    fn entries_have_names_and_ids() {
        let mut bytes = [0u8; 48];
        bytes[..24].copy_from_slice(b"SRP.T10:0002C90200402BD4");
        bytes[40..].copy_from_slice(&0x0002_c902_0040_2bd4_u64.to_be_bytes());
        let entry = ServiceEntry::read_from_bytes(&bytes).unwrap();
        assert!(entry.is_srp());
        assert_eq!(entry.name(), b"SRP.T10:0002C90200402BD4");
        assert_eq!(entry.id.get(), 0x0002_c902_0040_2bd4);
    }
}
