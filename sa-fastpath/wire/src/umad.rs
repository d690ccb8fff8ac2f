//! The header that the kernel's umad files put before each MAD, and a slot for one of both.
//!
//! Source: Linux `include/uapi/rdma/ib_user_mad.h` (with P_Key index enabled).
//!
//! ```text
//!   0 agent  4 status  8 timeout  12 retries  16 length
//!  20 QPN  24 Q_Key  28 LID  30 SL, path bits  32 GRH present, GID index, hop limit, traffic class
//!  36 GID  52 flow label  56 P_Key index  58 zero  64 MAD
//! ```
//!
//! A slot of all transports has this header, so that workers and slow lane know no transport: rings
//! and the simulator fill in the fields that they have.

use zerocopy::byteorder::big_endian::{U16 as BeU16, U32 as BeU32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The Q_Key of QP1.
pub const QP1_QKEY: u32 = 0x8001_0000;

/// Units: bytes of a MAD.
pub const MAD_SIZE: usize = 256;

/// Addressing of one MAD: where it came from, or is to go. 64 bytes; integers without a stated
/// order are the host's, as in the kernel's structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct UmadHeader {
    /// Agent it is for, or to send with.
    pub agent: u32,
    /// 0, or an errno (ETIMEDOUT) on a request of ours that nobody answered.
    pub status: u32,
    /// 0 for replies. Units: ms.
    pub timeout_ms: u32,
    /// Repeats after the first send.
    pub retries: u32,
    /// Header and MAD bytes received. Units: bytes.
    pub length: u32,
    /// The remote queue pair.
    pub qpn: BeU32,
    /// The remote Q_Key; only for sending.
    pub qkey: BeU32,
    /// The remote LID: who asked, or whom the packet goes to.
    pub lid: BeU16,
    /// Service level of the packet.
    pub sl: u8,
    /// Low bits of our LID that the packet used.
    pub path_bits: u8,
    /// 1 when the fields from `gid_index` to `flow_label` count.
    pub grh_present: u8,
    /// Index of our GID in the port's table.
    pub gid_index: u8,
    /// Hop limit of the GRH.
    pub hop_limit: u8,
    /// Traffic class of the GRH.
    pub traffic_class: u8,
    /// The remote GID; counts only with a GRH.
    pub gid: [u8; 16],
    /// Flow label of the GRH.
    pub flow_label: BeU32,
    /// P_Key table index of the packet.
    pub pkey_index: u16,
    /// Zero, for the kernel.
    pub reserved: [u8; 6],
}

/// One request, later its reply: umad header and MAD, five cache lines.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C, align(64))]
pub struct Slot {
    /// Where it came from.
    pub header: UmadHeader,
    /// The MAD; of a shorter one, the rest is zero.
    pub mad: [u8; MAD_SIZE],
}

impl Slot {
    /// A slot with nothing in it, all zero.
    pub const EMPTY: Self = Self {
        header: UmadHeader {
            agent: 0,
            status: 0,
            timeout_ms: 0,
            retries: 0,
            length: 0,
            qpn: BeU32::ZERO,
            qkey: BeU32::ZERO,
            lid: BeU16::ZERO,
            sl: 0,
            path_bits: 0,
            grh_present: 0,
            gid_index: 0,
            hop_limit: 0,
            traffic_class: 0,
            gid: [0; 16],
            flow_label: BeU32::ZERO,
            pkey_index: 0,
            reserved: [0; 6],
        },
        mad: [0; MAD_SIZE],
    };
}

impl core::fmt::Debug for Slot {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        // The MAD is shown by whoever knows what it is.
        f.debug_struct("Slot")
            .field("header", &self.header)
            .finish_non_exhaustive()
    }
}

const _: () = assert!(size_of::<UmadHeader>() == 64);
const _: () = assert!(size_of::<Slot>() == 320);
