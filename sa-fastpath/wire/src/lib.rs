//! InfiniBand vocabulary as types, and the bytes of the management datagrams (MADs) that a Subnet
//! Administrator reads and writes.
//!
//! Two rooms: *vocabulary* ([`ids`], [`attrs`]) holds values that cannot be wrong once made;
//! *layouts* ([`mad`], [`rmpp`], [`sa`], [`path_record`], [`multipath_record`],
//! [`class_port_info`], [`records`], [`notice`], [`umad`]) are structs whose memory is the wire, big-endian and unaligned.
//!
//! Nothing here opens a file, reads a clock or allocates.

#![forbid(unsafe_code)]

pub mod attrs;
pub mod class_port_info;
mod comp_mask;
pub mod error;
pub mod ids;
pub mod mad;
pub mod multipath_record;
pub mod notice;
pub mod path_record;
pub mod records;
pub mod rmpp;
pub mod sa;
pub mod umad;

pub use attrs::{DataVls, Mtu, PacketLifeTime, Rate, RateRank, Selector, Sl, SlToVl, SlVlMask, Vl};
pub use error::VocabularyError;
pub use ids::{Gid, Guid, Lid, Lmc, Mlid, NodeType, Pkey, ServiceId, SubnetPrefix, TransactionId};
