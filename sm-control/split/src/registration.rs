//! What a program says to the kernel to register an agent.
//!
//! OpenSM's registration names a management class and a mask of methods. It is made into two: the
//! same without the methods that read, for OpenSM's own agent, and one with these alone, for the
//! read agent. The kernel refuses two agents of one port that want the same method of a class, so
//! both together must want what OpenSM wanted and no bit twice.
//!
//! ```text
//!  REGISTER    28 bytes: id 0, method_mask 4..20, qpn 20, class 21, version 22, oui 23, rmpp 26
//!  REGISTER_2  40 bytes: id 0, qpn 4, class 8, version 9, flags 12, method_mask 16..32, oui 32, rmpp 36
//! ```
//!
//! Method m is bit m of the mask: Get (0x01) is bit 1, GetTable (0x12) bit 18, GetTraceTable (0x13)
//! bit 19, GetMulti (0x14) bit 20. No method of the SA is above 0x1f, so the first 32 bits of the
//! 128 are all that is looked at.

use libc::c_ulong;
use split_protocol::READ_METHODS;

use crate::mad::{SA_CLASS, SA_VERSION, field, set_field};

/// `IB_USER_MAD_REGISTER_AGENT`, `_IOWR(0x1b, 1, 28 bytes)`. Source: Linux
/// `include/uapi/rdma/rdma_user_ioctl.h`, as for those below.
pub(crate) const REGISTER: c_ulong = 0xC01C_1B01;
/// `IB_USER_MAD_REGISTER_AGENT2`, `_IOWR(0x1b, 4, 40 bytes)`.
pub(crate) const REGISTER_2: c_ulong = 0xC028_1B04;
/// `IB_USER_MAD_UNREGISTER_AGENT`, `_IOW(0x1b, 2, 4 bytes)`.
pub(crate) const UNREGISTER: c_ulong = 0x4004_1B02;
/// `IB_USER_MAD_ENABLE_PKEY`, `_IO(0x1b, 3)`: headers are of 64 bytes from then on.
pub(crate) const ENABLE_PKEY: c_ulong = 0x0000_1B03;

/// The argument of either ioctl that registers. The agent's number comes first in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Registration {
    /// [`REGISTER`] or [`REGISTER_2`].
    pub(crate) request: c_ulong,
    /// How many of [`Self::bytes`] are the argument; the rest is zero.
    pub(crate) length: usize,
    pub(crate) bytes: [u8; LONGEST],
}

/// Of a registration. Units: bytes.
pub(crate) const LONGEST: usize = 40;

impl Registration {
    /// Bytes that the argument of an ioctl has, if it is one that registers.
    pub(crate) fn length(request: c_ulong) -> Option<usize> {
        match request {
            REGISTER => Some(28),
            REGISTER_2 => Some(LONGEST),
            _ => None,
        }
    }

    /// Whether it is for an SA: one that answers reads of class 3. A client of an SA registers for
    /// the class too, but for no method that reads.
    pub(crate) fn is_of_an_sa(&self) -> bool {
        let (class, version) = match self.request {
            REGISTER => (21, 22),
            _ => (8, 9),
        };
        let byte = |at: usize| self.bytes.get(at).copied();
        (byte(class), byte(version)) == (Some(SA_CLASS), Some(SA_VERSION)) && self.reads() != 0
    }

    /// The same without the methods that read: what OpenSM's own call goes to the kernel with.
    /// OpenSM does not look at the mask again.
    pub(crate) fn without_reads(mut self) -> Self {
        let (left, at) = (self.methods() & !READS, self.mask_at());
        set_field(&mut self.bytes, at, &left.to_ne_bytes());
        self
    }

    /// The same with no other methods than those that read.
    pub(crate) fn only_reads(mut self) -> Self {
        let reads = self.reads();
        let at = self.mask_at();
        // All 128 bits first: this agent must not have Set or Delete under another bit.
        set_field(&mut self.bytes, at, &[0; 16]);
        set_field(&mut self.bytes, at, &reads.to_ne_bytes());
        self
    }

    /// The agent's number, once the kernel has filled it in.
    pub(crate) fn agent(&self) -> u32 {
        u32::from_ne_bytes(field(&self.bytes, 0))
    }

    /// The methods below 0x20, all that matter here, a bit each.
    ///
    /// On big-endian machines the first word of 64 bits begins with its upper half.
    fn methods(&self) -> u32 {
        u32::from_ne_bytes(field(&self.bytes, self.mask_at()))
    }

    /// Those that read, of the methods that it asks for.
    fn reads(&self) -> u32 {
        self.methods() & READS
    }

    /// Where the 32 bits of the methods below 0x20 begin: in REGISTER_2 of a big-endian machine in
    /// the second half of the first word.
    fn mask_at(&self) -> usize {
        match self.request {
            REGISTER => 4,
            _ if cfg!(target_endian = "big") => 20,
            _ => 16,
        }
    }
}

/// [`READ_METHODS`], a bit each.
const READS: u32 = {
    let [get, table, trace, multi] = READ_METHODS;
    1 << get | 1 << table | 1 << trace | 1 << multi
};
