//! Notice: what a trap or a Report tells. Source: IBA vol. 1, 13.4.8.2, 14.2.5.1.
//!
//! Layout: type 1, producer 3, trap number 2, issuer LID 2, toggle and count 2, details 54, issuer
//! GID 16. What the details mean depends on the trap number. An SA reports 64 to 67, whose details
//! are six bytes of nothing and the GID that the trap is about.

use zerocopy::byteorder::big_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::ids::{Gid, Lid};

/// A Notice: the first 80 bytes of a Report's data.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct Notice {
    /// IsGeneric in the upper bit, Type in the others.
    pub generic_and_type: u8,
    /// ProducerType, or VendorID of vendors' notices.
    pub producer_type: [u8; 3],
    /// TrapNumber, or DeviceID of vendors' notices.
    pub trap_number: U16,
    /// IssuerLID.
    pub issuer_lid: U16,
    /// NoticeToggle in the upper bit, NoticeCount in the others.
    pub toggle_and_count: U16,
    /// DataDetails.
    pub details: [u8; 54],
    /// IssuerGID.
    pub issuer_gid: [u8; 16],
}

/// Generic traps: of class managers, and of devices.
pub mod trap {
    /// A port came into service.
    pub const GID_IN_SERVICE: u16 = 64;
    /// A port went out of service.
    pub const GID_OUT_OF_SERVICE: u16 = 65;
    /// A multicast group was made.
    pub const MGID_CREATED: u16 = 66;
    /// A multicast group is gone.
    pub const MGID_DESTROYED: u16 = 67;
    /// The state of a link of a switch has changed.
    pub const LINK_STATE: u16 = 128;
    /// The threshold of local link integrity was passed.
    pub const LINK_INTEGRITY: u16 = 129;
    /// Excessive buffer overruns.
    pub const BUFFER_OVERRUN: u16 = 130;
    /// The watchdog of flow control ran out.
    pub const FLOW_CONTROL: u16 = 131;
    /// Capabilities or something else of a node have changed.
    pub const LOCAL_CHANGE: u16 = 144;
    /// SystemImageGUID has changed.
    pub const SYSTEM_IMAGE_GUID: u16 = 145;
    /// The first of those about violations of keys.
    pub const BAD_MKEY: u16 = 256;
    /// The last of those about violations of keys.
    pub const BAD_SWITCH_PKEY: u16 = 259;
}

impl Notice {
    /// The IsGeneric bit.
    pub const GENERIC: u8 = 0x80;
    /// Type of notices about the management of the subnet.
    pub const SUBNET_MANAGEMENT: u8 = 3;
    /// ProducerType of class managers.
    pub const CLASS_MANAGER: [u8; 3] = [0, 0, 4];
    /// Where DataDetails of traps 64 to 67 have the GID. Units: bytes.
    const GID_AT: usize = 6;

    /// What a device says of itself in an SMP, which has no room for IssuerGID: it is 0.
    pub fn of_smp(data: &[u8; 64]) -> Self {
        let mut bytes = [0; size_of::<Self>()];
        for (place, byte) in bytes.iter_mut().zip(data) {
            *place = *byte;
        }
        zerocopy::transmute!(bytes)
    }

    /// One of the traps 64 to 67, about `subject`; the LID of its issuer is 0 where none is known.
    pub fn about_gid(
        trap_number: u16,
        issuer_lid: Option<Lid>,
        issuer_gid: Gid,
        subject: Gid,
    ) -> Self {
        // Zeros first: everything else in the details is reserved.
        let mut details = [0; 54];
        if let Some(place) = details.get_mut(Self::GID_AT..Self::GID_AT + 16) {
            place.copy_from_slice(&subject.0);
        }
        Self {
            generic_and_type: Self::GENERIC | Self::SUBNET_MANAGEMENT,
            producer_type: Self::CLASS_MANAGER,
            trap_number: trap_number.into(),
            issuer_lid: Lid::raw(issuer_lid).into(),
            toggle_and_count: 0.into(),
            details,
            issuer_gid: issuer_gid.0,
        }
    }

    /// The IsGeneric bit is set.
    pub const fn is_generic(&self) -> bool {
        self.generic_and_type & Self::GENERIC != 0
    }

    /// Type.
    pub const fn notice_type(&self) -> u8 {
        self.generic_and_type & !Self::GENERIC
    }

    /// The GID in the details of the traps 64 to 67.
    pub fn subject(&self) -> Gid {
        let bytes = self.details.get(Self::GID_AT..).unwrap_or_default();
        Gid(bytes.first_chunk().copied().unwrap_or_default())
    }
}

const _: () = assert!(size_of::<Notice>() == 80);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Guid, SubnetPrefix};

    #[test]
    fn a_notice_lies_as_the_specification_says() {
        let gid = |guid| Gid::unicast(SubnetPrefix::LINK_LOCAL, Guid::new(guid).unwrap());
        let notice = Notice::about_gid(
            trap::GID_OUT_OF_SERVICE,
            Lid::new(7).ok(),
            gid(0x11),
            gid(0x22),
        );
        let bytes = notice.as_bytes();
        assert_eq!(bytes[..10], [0x83, 0, 0, 4, 0, 65, 0, 7, 0, 0]);
        assert_eq!(bytes[10..16], [0; 6]);
        assert_eq!(bytes[16..32], gid(0x22).0);
        assert_eq!(bytes[64..], gid(0x11).0);
        assert_eq!(notice.subject(), gid(0x22));
        assert!(notice.is_generic() && notice.notice_type() == 3);
    }
}
