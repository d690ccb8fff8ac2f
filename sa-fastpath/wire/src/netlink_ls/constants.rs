//! Numbers of the protocol, as shipped in Linux.

/// NETLINK_RDMA, the protocol of the socket.
pub const PROTOCOL: i32 = 20;
/// RDMA_NL_GROUP_LS, for NETLINK_ADD_MEMBERSHIP.
pub const GROUP: u32 = 3;
/// The bit of [`GROUP`] in a bind address; also the number in systemd's `ListenNetlink=rdma 4`.
pub const GROUP_MASK: u32 = 1 << (GROUP - 1);
/// RDMA_NL_LS, the client in the upper six bits of a message type.
pub const LS_CLIENT: u16 = 4;

/// The shortest wait for a reply that the kernel accepts. Units: ms.
pub const MIN_TIMEOUT_MS: u32 = 100;
/// How long the kernel waits when nobody said otherwise. Units: ms.
pub const DEFAULT_TIMEOUT_MS: u32 = 2000;
/// The longest wait for a reply that the kernel accepts. Units: ms.
pub const MAX_TIMEOUT_MS: u32 = 200_000;

/// Records that the kernel takes from one reply.
pub const MAX_RECORDS: usize = 3;
/// `ib_path_rec_data`: flags, a reserved word and the PathRecord. Units: bytes.
pub const RECORD_SIZE: usize = 72;
/// The device name at the start of a RESOLVE request. Units: bytes.
pub const DEVICE_SIZE: usize = 64;
/// Device, port, path use and padding of a RESOLVE request; replies have none. Units: bytes.
pub const FAMILY_HEADER_SIZE: usize = 68;

/// RDMA_NLA_F_MANDATORY in an attribute's type: who does not know the attribute must refuse.
pub const MANDATORY: u16 = 1 << 13;
/// What is left of an attribute's type without the NESTED, NET_BYTEORDER and mandatory bits.
pub const ATTRIBUTE_TYPE_MASK: u16 = 0x1fff;

/// Message types: netlink's own, and client and operation of the local service.
pub mod kind {
    use super::LS_CLIENT;

    /// NLMSG_NOOP: to be passed over.
    pub const NOOP: u16 = 1;
    /// NLMSG_ERROR: an acknowledgement, or a refusal.
    pub const ERROR: u16 = 2;
    /// NLMSG_DONE: the end of a message of several parts.
    pub const DONE: u16 = 3;
    /// Types below this one are netlink's own.
    pub const FIRST: u16 = 16;

    /// The kernel asks for a path.
    pub const RESOLVE: u16 = LS_CLIENT << 10;
    /// The agent tells how long to wait for it.
    pub const SET_TIMEOUT: u16 = RESOLVE + 1;
    /// The kernel asks for the GID behind an IP address.
    pub const IP_RESOLVE: u16 = RESOLVE + 2;

    /// The client of a message type.
    pub const fn client(kind: u16) -> u16 {
        kind >> 10
    }

    /// The operation of a message type.
    pub const fn operation(kind: u16) -> u16 {
        kind & 0x03ff
    }
}

/// Bits of nlmsg_flags, as every netlink message has them.
pub mod flags {
    /// NLM_F_REQUEST: the sender wants something.
    pub const REQUEST: u16 = 0x0001;
    /// NLM_F_ACK: the receiver confirms with NLMSG_ERROR 0.
    pub const ACK: u16 = 0x0004;
    /// RDMA_NL_LS_F_ERR: this reply is a refusal; the kernel asks the SA.
    pub const LS_ERROR: u16 = 0x0100;
}

/// Attribute types (LS_NLA_TYPE_*), without flag bits.
pub mod attribute {
    /// 72 bytes of a reply.
    pub const PATH_RECORD: u16 = 1;
    /// Host u32 of SET_TIMEOUT. Units: ms.
    pub const TIMEOUT: u16 = 2;
    /// ServiceID, a u64 in host order.
    pub const SERVICE_ID: u16 = 3;
    /// DGID. Shape: 16 wire bytes.
    pub const DGID: u16 = 4;
    /// SGID. Shape: 16 wire bytes.
    pub const SGID: u16 = 5;
    /// TClass. Shape: one byte.
    pub const TCLASS: u16 = 6;
    /// P_Key, a u16 in host order.
    pub const PKEY: u16 = 7;
    /// Host u16, not shifted.
    pub const QOS_CLASS: u16 = 8;
    /// 4 bytes of IP_RESOLVE.
    pub const IPV4: u16 = 9;
    /// 16 bytes of IP_RESOLVE.
    pub const IPV6: u16 = 10;
}
