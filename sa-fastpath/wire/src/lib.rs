//! InfiniBand vocabulary as types, and the bytes of the management datagrams (MADs) that a Subnet
//! Administrator reads and writes.
//!
//! Two rooms: *vocabulary* ([`ids`], [`attrs`]) holds values that cannot be wrong once made;
//! *layouts* ([`mad`], [`rmpp`], [`sa`], [`path_record`], [`multipath_record`],
//! [`class_port_info`], [`records`], [`notice`], [`umad`]) are structs whose memory is the wire, big-endian and unaligned.
//!
//! [`roce`] has the flow labels and UDP source ports of RoCE v2.
//!
//! [`device_management`] has the layouts by which I/O units tell of their services.
//!
//! [`netlink_ls`] is the local service's netlink messages, in host byte order.
//!
//! Nothing here opens a file, reads a clock or allocates.

#![forbid(unsafe_code)]

pub mod attrs;
pub mod class_port_info;
mod comp_mask;
pub mod device_management;
pub mod error;
pub mod ids;
pub mod mad;
pub mod multipath_record;
pub mod netlink_ls;
pub mod notice;
pub mod path_record;
pub mod records;
pub mod request;
pub mod rmpp;
pub mod roce;
pub mod sa;
pub mod served;
pub mod umad;

pub use attrs::{DataVls, Mtu, PacketLifeTime, Rate, RateRank, Selector, Sl, SlToVl, SlVlMask, Vl};
pub use error::VocabularyError;
pub use ids::{Gid, Guid, Lid, Lmc, Mlid, NodeType, Pkey, ServiceId, SubnetPrefix, TransactionId};
