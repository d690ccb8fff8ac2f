//! Performance management: what a port counted, errors and traffic.
//!
//! A request is a Get of class 0x04 to queue pair 1 of a port; a switch answers for all of its ports at the LID of its port 0.
//! Counters stay at their largest value when they reach it, until somebody clears them.
//!
//! | counter | PortCounters | PortCountersExtended |
//! |---|---|---|
//! | symbol errors, receive errors, discards and their like | 16 bits | 64 bits, where CapabilityMask2 says so |
//! | link down, recoveries, constraints | 8 bits | 64 bits, likewise |
//! | local integrity, buffer overruns | 4 bits | 64 bits, likewise |
//! | words and packets | 32 bits | 64 bits |
//!
//! Which attributes a device has is told by ClassPortInfo. A CA is asked at the LID of its port, a switch at its one LID; PortSelect then says
//! which port is meant, and answers name it again:
//!
//! ```text
//!   0 MAD header   24 reserved   64 reserved 1, PortSelect 1, CounterSelect 2, counters
//! ```
//!
//! A Set writes the counters that CounterSelect names, to the values in it; here all are 0, so that it clears them. Whoever clears a counter takes
//! it from everybody else who reads it.
//!
//! Source: IBA vol. 1, 16.1; rdma-core's libibmad for the places of the counters that were added to PortCountersExtended.

use zerocopy::byteorder::big_endian::{U16, U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::class_port_info::ClassPortInfo;
use crate::mad::{BASE_VERSION, MadHeader, method};
use crate::umad::MAD_SIZE;

/// Management class of performance management.
pub const MGMT_CLASS_PERFORMANCE: u8 = 0x04;
/// Class version of performance management.
pub const PERFORMANCE_CLASS_VERSION: u8 = 1;

/// Attributes of the class.
pub mod attribute {
    /// ClassPortInfo: which of the others a device has.
    pub const CLASS_PORT_INFO: u16 = 0x01;
    /// PortCounters.
    pub const PORT_COUNTERS: u16 = 0x12;
    /// PortCountersExtended.
    pub const PORT_COUNTERS_EXTENDED: u16 = 0x1d;
}

/// Bits of ClassPortInfo that are this class's own.
pub mod capability {
    /// CapabilityMask: PortCountersExtended, with all of its traffic counters.
    pub const EXTENDED: u16 = 1 << 9;
    /// CapabilityMask: PortCountersExtended, but without counters of unicast and multicast packets.
    pub const EXTENDED_WITHOUT_CASTS: u16 = 1 << 10;
    /// CapabilityMask: PortXmitWait in PortCounters.
    pub const XMIT_WAIT: u16 = 1 << 12;
    /// CapabilityMask2: PortCountersExtended has the counters of errors too.
    pub const EXTENDED_ERRORS: u32 = 1 << 1;
}

/// A MAD of the class, 256 bytes.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct PerformanceMad {
    /// As of any MAD.
    pub mad: MadHeader,
    /// Nothing in this version of the class.
    pub reserved: [u8; 40],
    /// The attribute, zeros behind it.
    pub data: [u8; 192],
}

impl PerformanceMad {
    /// Asks for an attribute of a port; of ClassPortInfo the port is not looked at.
    pub fn get(attribute: u16, port: u8, transaction: u32) -> Self {
        Self::request(method::GET, attribute, port, transaction)
    }

    /// Clears the counters of PortCounters that are named by bits of CounterSelect, and of CounterSelect2.
    pub fn clear(port: u8, select: u16, select2: u8, transaction: u32) -> Self {
        let mut request = Self::request(method::SET, attribute::PORT_COUNTERS, port, transaction);
        let counters = PortCounters {
            port_select: port,
            counter_select: select.into(),
            counter_select2: select2,
            ..PortCounters::new_zeroed()
        };
        let bytes = counters.as_bytes();
        for (to, from) in request.data.iter_mut().zip(bytes) {
            *to = *from;
        }
        request
    }

    fn request(method: u8, attribute: u16, port: u8, transaction: u32) -> Self {
        // Reserved bytes must be 0.
        let mut request = Self::new_zeroed();
        request.mad.base_version = BASE_VERSION;
        request.mad.mgmt_class = MGMT_CLASS_PERFORMANCE;
        request.mad.class_version = PERFORMANCE_CLASS_VERSION;
        request.mad.method = method;
        request.mad.attribute_id = attribute.into();
        // The upper half belongs to the kernel.
        request.mad.transaction_id = u64::from(transaction).into();
        // PortSelect is in one place of both attributes of counters.
        if attribute != attribute::CLASS_PORT_INFO
            && let [_, select, ..] = &mut request.data
        {
            *select = port;
        }
        request
    }

    /// What an answer holds. None for fewer bytes than a MAD has, and for MADs of other classes or methods.
    pub fn answer(mad: &[u8]) -> Option<&Self> {
        let (answer, _) = Self::ref_from_prefix(mad).ok()?;
        let is_answer = answer.mad.mgmt_class == MGMT_CLASS_PERFORMANCE
            && answer.mad.method == method::GET_RESP;
        is_answer.then_some(answer)
    }

    /// The attribute of this form. None for another attribute.
    pub fn attribute<T: Attribute>(&self) -> Option<T> {
        let (attribute, _) = T::read_from_prefix(&self.data).ok()?;
        (self.mad.attribute_id.get() == T::ID).then_some(attribute)
    }
}

/// An attribute with its number.
pub trait Attribute: FromBytes {
    /// As in a MAD header.
    const ID: u16;
}

impl Attribute for ClassPortInfo {
    const ID: u16 = attribute::CLASS_PORT_INFO;
}

impl Attribute for PortCounters {
    const ID: u16 = attribute::PORT_COUNTERS;
}

impl Attribute for PortCountersExtended {
    const ID: u16 = attribute::PORT_COUNTERS_EXTENDED;
}

/// PortCounters. Every counter ends at its largest value.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct PortCounters {
    /// Not used.
    pub reserved: u8,
    /// Which port it is about.
    pub port_select: u8,
    /// Of a Set: which counters are written, a bit each in their order.
    pub counter_select: U16,
    /// SymbolErrorCounter: symbols that are none, on any lane.
    pub symbol_errors: U16,
    /// LinkErrorRecoveryCounter: recoveries that succeeded.
    pub link_recoveries: u8,
    /// LinkDownedCounter: recoveries that failed, and took the link down.
    pub link_downed: u8,
    /// PortRcvErrors: packets with an error.
    pub receive_errors: U16,
    /// PortRcvRemotePhysicalErrors: packets that a switch before this port has marked bad.
    pub remote_physical_errors: U16,
    /// PortRcvSwitchRelayErrors: packets that a switch could not forward.
    pub switch_relay_errors: U16,
    /// PortXmitDiscards: packets that were dropped because the port is down or congested.
    pub xmit_discards: U16,
    /// PortXmitConstraintErrors: packets that were not sent for their partition or kind.
    pub xmit_constraint_errors: u8,
    /// PortRcvConstraintErrors: packets that were dropped for their partition or kind.
    pub receive_constraint_errors: u8,
    /// Of a Set: which of the counters behind the first 16 are written.
    pub counter_select2: u8,
    /// LocalLinkIntegrityErrors (7 to 4), ExcessiveBufferOverrunErrors (3 to 0).
    pub integrity_and_overruns: u8,
    /// QP1Dropped.
    pub qp1_dropped: U16,
    /// VL15Dropped: SMPs for which there was no room.
    pub vl15_dropped: U16,
    /// PortXmitData. Units: 4 bytes.
    pub xmit_data: U32,
    /// PortRcvData. Units: 4 bytes.
    pub receive_data: U32,
    /// PortXmitPkts.
    pub xmit_packets: U32,
    /// PortRcvPkts.
    pub receive_packets: U32,
    /// PortXmitWait: ticks in which there was something to send and it was not sent.
    pub xmit_wait: U32,
}

/// PortCountersExtended. Counters of errors are 0 where the device has them not ([`capability::EXTENDED_ERRORS`]).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct PortCountersExtended {
    /// Not used.
    pub reserved: u8,
    /// Which port it is about.
    pub port_select: u8,
    /// Of a Set: which counters are written.
    pub counter_select: U16,
    /// The same of those that were added.
    pub counter_select2: U32,
    /// PortXmitData. Units: 4 bytes.
    pub xmit_data: U64,
    /// PortRcvData. Units: 4 bytes.
    pub receive_data: U64,
    /// PortXmitPkts.
    pub xmit_packets: U64,
    /// PortRcvPkts.
    pub receive_packets: U64,
    /// Packets to one port and to groups, sent and received: unicast sent, unicast received, multicast sent, multicast received.
    pub casts: [U64; 4],
    /// As of [`PortCounters`], from here on.
    pub symbol_errors: U64,
    /// LinkErrorRecoveryCounter.
    pub link_recoveries: U64,
    /// LinkDownedCounter.
    pub link_downed: U64,
    /// PortRcvErrors.
    pub receive_errors: U64,
    /// PortRcvRemotePhysicalErrors.
    pub remote_physical_errors: U64,
    /// PortRcvSwitchRelayErrors.
    pub switch_relay_errors: U64,
    /// PortXmitDiscards.
    pub xmit_discards: U64,
    /// PortXmitConstraintErrors.
    pub xmit_constraint_errors: U64,
    /// PortRcvConstraintErrors.
    pub receive_constraint_errors: U64,
    /// LocalLinkIntegrityErrors.
    pub integrity_errors: U64,
    /// ExcessiveBufferOverrunErrors.
    pub buffer_overruns: U64,
    /// VL15Dropped.
    pub vl15_dropped: U64,
    /// PortXmitWait.
    pub xmit_wait: U64,
    /// QP1Dropped.
    pub qp1_dropped: U64,
}

const _: () = assert!(size_of::<PerformanceMad>() == MAD_SIZE);
const _: () = assert!(core::mem::offset_of!(PerformanceMad, data) == 64);
const _: () = assert!(size_of::<PortCounters>() == 44);
const _: () = assert!(core::mem::offset_of!(PortCounters, xmit_data) == 24);
const _: () = assert!(core::mem::offset_of!(PortCountersExtended, symbol_errors) * 8 == 576);
const _: () = assert!(core::mem::offset_of!(PortCountersExtended, qp1_dropped) * 8 == 1408);
const _: () = assert!(size_of::<PortCountersExtended>() == 184);

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes as IBA vol. 1, 16.1.3.5 lays them out: each field has a value of its own.
    #[test]
    fn counters_lie_where_the_specification_has_them() {
        let mut bytes = [0u8; 256];
        bytes[..4].copy_from_slice(&[1, 4, 1, 0x81]);
        bytes[17] = 0x12;
        let data: [u8; 44] = core::array::from_fn(|at| u8::try_from(at + 1).unwrap());
        bytes[64..108].copy_from_slice(&data);
        let answer = PerformanceMad::answer(&bytes).unwrap();
        let counters: PortCounters = answer.attribute().unwrap();
        assert_eq!(counters.port_select, 2);
        assert_eq!(counters.symbol_errors.get(), 0x0506);
        assert_eq!((counters.link_recoveries, counters.link_downed), (7, 8));
        assert_eq!(counters.receive_errors.get(), 0x090a);
        assert_eq!(counters.xmit_discards.get(), 0x0f10);
        assert_eq!(counters.integrity_and_overruns, 0x14);
        assert_eq!(counters.vl15_dropped.get(), 0x1718);
        assert_eq!(counters.xmit_wait.get(), 0x292a_2b2c);
        assert!(answer.attribute::<PortCountersExtended>().is_none());
        assert!(PerformanceMad::answer(&bytes[..255]).is_none());
        bytes[3] = 1;
        assert!(PerformanceMad::answer(&bytes).is_none(), "a request");
    }

    #[test]
    fn requests_name_class_attribute_and_port() {
        let request = PerformanceMad::get(attribute::PORT_COUNTERS_EXTENDED, 7, 0x0102_0304);
        let bytes = request.as_bytes();
        assert_eq!(bytes[..4], [1, 4, 1, 1]);
        assert_eq!(bytes[8..18], [0, 0, 0, 0, 1, 2, 3, 4, 0, 0x1d]);
        assert_eq!((bytes[64], bytes[65]), (0, 7));
        let class = PerformanceMad::get(attribute::CLASS_PORT_INFO, 7, 1);
        assert_eq!(class.data, [0; 192]);
        let clear = PerformanceMad::clear(3, 0x0e01, 1, 1);
        let bytes = clear.as_bytes();
        assert_eq!((bytes[3], bytes[17]), (2, 0x12));
        assert_eq!(bytes[64..68], [0, 3, 0x0e, 0x01]);
        assert_eq!(bytes[82], 1);
    }
}
