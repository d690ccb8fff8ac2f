//! Fields of a umad packet: the kernel's header of 64 bytes, then the MAD.
//!
//! Source: Linux `include/uapi/rdma/ib_user_mad.h`; IBA vol. 1, 13.4.3.
//!
//! ```text
//!  0 agent  4 status  8 timeout_ms  12 retries  16 length  20 QPN  24 Q_Key  28 LID  30 SL ..  64
//!  64 base version  65 class  66 class version  67 method  68 status  72 transaction (8)  80 attribute
//! ```
//!
//! The header's first numbers are in the host's byte order, QPN and LID in the network's, as all of
//! the MAD. Only the first 88 bytes ([`HEAD_BYTES`]) are ever looked at: which agent, which class,
//! which method, whose transaction. What the SA's attributes hold is OpenSM's and sapphired's
//! business.

use split_protocol::{HEADER_BYTES, MAD_BYTES, Packet, READ_METHODS};

/// A packet with one whole MAD: 320. Units: bytes.
pub(crate) const PACKET_BYTES: usize = HEADER_BYTES + MAD_BYTES;
/// Header and the part of the MAD that is common to all classes. Units: bytes.
pub(crate) const HEAD_BYTES: usize = HEADER_BYTES + 24;

/// Class Subnet Administration, and its version.
pub(crate) const SA_CLASS: u8 = 3;
pub(crate) const SA_VERSION: u8 = 2;
/// Classes of SMPs: routed by LID, and directed.
pub(crate) const SMP_CLASSES: [u8; 2] = [0x01, 0x81];
/// Method Set: in an SMP it is how an SM programs a switch or a port.
pub(crate) const SET: u8 = 0x02;
/// The bit of a method that makes it a response.
pub(crate) const RESPONSE: u8 = 0x80;
/// Method Report: how an SA tells a subscriber of an event.
pub(crate) const REPORT: u8 = 0x06;

/// Where fields begin. In the header, then in the MAD behind it.
pub(crate) mod at {
    use split_protocol::HEADER_BYTES;

    /// Number of the agent that a packet is for, or from.
    pub(crate) const AGENT: usize = 0;
    /// 0, or an errno where the kernel hands a request back.
    pub(crate) const STATUS: usize = 4;
    /// How long the kernel waits for a response. Units: ms.
    pub(crate) const TIMEOUT: usize = 8;
    /// How often it sends again.
    pub(crate) const RETRIES: usize = 12;
    /// Of header and MAD. Units: bytes.
    pub(crate) const LENGTH: usize = 16;
    pub(crate) const QPN: usize = 20;
    pub(crate) const LID: usize = 28;
    pub(crate) const TID: usize = HEADER_BYTES + 8;
    /// The half of the transaction id that a sender chooses; the upper half is the kernel's.
    pub(crate) const TID_LOW: usize = HEADER_BYTES + 12;
}

/// The beginning of a packet: all that this library goes by.
pub(crate) type Head = [u8; HEAD_BYTES];

/// The first bytes of a packet; none where it is shorter, which is nothing of this library's.
pub(crate) fn head(packet: &[u8]) -> Option<&Head> {
    packet.first_chunk()
}

/// N bytes of a packet from one of [`at`] on. Zeros where it ends before: callers ask for what lies
/// in a [`Head`], which is whole.
pub(crate) fn field<const N: usize>(packet: &[u8], at: usize) -> [u8; N] {
    let field = packet.get(at..).and_then(<[u8]>::first_chunk);
    field.copied().unwrap_or([0; N])
}

/// Overwrites bytes from one of [`at`] on. Where the packet ends before, nothing changes.
pub(crate) fn set_field(packet: &mut [u8], at: usize, value: &[u8]) {
    let place = packet
        .get_mut(at..)
        .and_then(|rest| rest.get_mut(..value.len()));
    if let Some(place) = place {
        place.copy_from_slice(value);
    }
}

/// A number of the kernel's header, which is in the host's byte order.
pub(crate) fn number(packet: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(field(packet, at))
}

/// MgmtClass.
pub(crate) fn class(head: &Head) -> u8 {
    head[HEADER_BYTES + 1]
}

/// Method, with the bit of a response.
pub(crate) fn method(head: &Head) -> u8 {
    head[HEADER_BYTES + 3]
}

/// A read, or the response to one.
pub(crate) fn is_read(head: &Head) -> bool {
    READ_METHODS.contains(&(method(head) & !RESPONSE))
}

/// The bytes of `packet` as they are read from a umad file, but for the agent.
pub(crate) fn joined(packet: &Packet) -> [u8; PACKET_BYTES] {
    let mut bytes = [0; PACKET_BYTES];
    set_field(&mut bytes, 0, &packet.header);
    set_field(&mut bytes, HEADER_BYTES, &packet.mad);
    // These mean something else in what is written than in what is read, where the kernel leaves
    // zeros.
    for at in [at::STATUS, at::TIMEOUT, at::RETRIES] {
        set_field(&mut bytes, at, &[0; 4]);
    }
    set_length(&mut bytes, PACKET_BYTES);
    bytes
}

/// Units: bytes of the packet with its header, as the kernel counts it.
pub(crate) fn set_length(packet: &mut [u8], length: usize) {
    let length = u32::try_from(length).unwrap_or_default();
    set_field(packet, at::LENGTH, &length.to_ne_bytes());
}

/// The first MAD of what was written to a umad file; what is short of one is zero, as on the wire.
pub(crate) fn parted(written: &[u8]) -> Packet {
    let mut mad = [0; MAD_BYTES];
    let given = written.get(HEADER_BYTES..).unwrap_or_default();
    for (to, from) in mad.iter_mut().zip(given) {
        *to = *from;
    }
    Packet {
        header: field(written, 0),
        mad,
    }
}
