//! What C is told: numbers of its own errors, words of all, and a path as a struct.
//!
//! Nothing here touches a pointer. The numbers (the others are at [`Error::code`]), and the layout of the
//! path, are part of the library's contract (`include/sapphire_sa.h`): programs are compiled against them.

use core::ffi::c_int;
use std::ffi::CString;

use sa_wire::path_record::PathRecord;
use zerocopy::IntoBytes;

use sa_client::Error;

/// A path for C: `struct sa_path` of the header.
///
/// Numbers in host order, GIDs as bytes of the wire; `record` has the record as it came, for what
/// has no field.
#[repr(C)]
pub(crate) struct SaPath {
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

/// `SA_ERROR_ARGUMENT`: a pointer that must not be null is, or a length that cannot be; the same number
/// as of [`Error::Length`].
pub(crate) const ARGUMENT: c_int = -5;
/// `SA_ERROR_ROOM`: the reply is longer than the caller's room, whose length was written back.
pub(crate) const ROOM: c_int = -8;

impl SaPath {
    /// Where there is no path: zeros.
    pub(crate) const NONE: Self = Self {
        dgid: [0; 16],
        sgid: [0; 16],
        dlid: 0,
        slid: 0,
        pkey: 0,
        sl: 0,
        mtu: 0,
        rate: 0,
        packet_life: 0,
        hop_limit: 0,
        tclass: 0,
        flow_label: 0,
        reversible: 0,
        reserved: [0; 7],
        record: [0; 64],
    };

    /// The fields of a path in host order, as the header file has them.
    pub(crate) fn of(record: &PathRecord) -> Self {
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
pub(crate) fn words(error: &Error) -> CString {
    CString::new(error.to_string()).unwrap_or_default()
}
