//! What C is told: numbers of errors, their words, and a path as a struct.
//!
//! Nothing here touches a pointer. The numbers, and the layout of the path, are part of the
//! library's contract (`include/sapphire_sa.h`): programs are compiled against them.

use core::ffi::c_int;
use std::ffi::CString;

use sa_wire::path_record::PathRecord;
use zerocopy::IntoBytes;

use crate::Error;

/// A path for C: `struct sa_path` of the header.
///
/// Numbers in host order, GIDs as bytes of the wire; `record` has the record as it came, for what
/// has no field.
#[repr(C)]
pub(super) struct SaPath {
    dgid: [u8; 16],
    sgid: [u8; 16],
    dlid: u16,
    slid: u16,
    /// With the membership bit.
    pkey: u16,
    sl: u8,
    /// Code, 1 to 5.
    mtu: u8,
    /// Code, 2 to 24.
    rate: u8,
    /// Exponent of 4.096 us.
    packet_life: u8,
    /// 0 where the path has no flow label and stays in the subnet.
    hop_limit: u8,
    tclass: u8,
    /// 20 bits, 0 for none.
    flow_label: u32,
    /// 1: the same path works the other way.
    reversible: u8,
    /// Zero, for what later versions may say.
    reserved: [u8; 7],
    /// The record as on the wire.
    record: [u8; 64],
}

const _: () = assert!(size_of::<SaPath>() == 120 && core::mem::offset_of!(SaPath, record) == 56);

/// `SA_ERROR_ARGUMENT`: a pointer that must not be null is, or a length that cannot be.
pub(super) const ARGUMENT: c_int = -5;
/// `SA_ERROR_ROOM`: the reply is longer than the caller's room, whose length was written back.
pub(super) const ROOM: c_int = -8;
/// `SA_ERROR_FORKED`: this process was forked from the one that connected.
pub(super) const FORKED: c_int = -9;

impl SaPath {
    /// The fields of a path in host order, as the header file has them.
    pub(super) fn of(record: &PathRecord) -> Self {
        let mut whole = [0; 64];
        whole.copy_from_slice(record.as_bytes());
        Self {
            dgid: record.dgid,
            sgid: record.sgid,
            dlid: record.dlid.get(),
            slid: record.slid.get(),
            pkey: record.pkey.get(),
            sl: record.qos_class_sl.sl().get(),
            mtu: record.mtu.value(),
            rate: record.rate.value(),
            packet_life: record.packet_life.value(),
            hop_limit: record.flow.hop_limit(),
            tclass: record.tclass,
            flow_label: record.flow.flow_label(),
            reversible: record.numb_path.reversible().into(),
            reserved: [0; 7],
            record: whole,
        }
    }
}

/// The error's text for `sa_client_error`.
pub(super) fn words(error: &Error) -> CString {
    CString::new(error.to_string()).unwrap_or_default()
}

/// The number of an error; the header file has a name for each.
/// None may ever change: programs in C compare with them.
pub(super) const fn code(error: &Error) -> c_int {
    match error {
        Error::Connect { .. } | Error::NoDaemon { .. } => -1,
        Error::Version { .. } | Error::Refused { .. } | Error::Memory { .. } => -2,
        Error::Closed(_) => -3,
        Error::InFlight => -4,
        Error::Length(_) => ARGUMENT,
        Error::TimedOut => -6,
        Error::NoReply | Error::NoRecord => -7,
        Error::Forked => FORKED,
        Error::Status(status) => status.get() as c_int,
    }
}
