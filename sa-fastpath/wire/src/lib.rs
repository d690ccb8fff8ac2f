//! InfiniBand vocabulary as types, and the bytes of the management datagrams (MADs) that a Subnet
//! Administrator reads and writes.
//!
//! *Vocabulary* ([`ids`], [`attrs`]) holds values that cannot be wrong once made: a [`Lid`] is a unicast LID, an
//! [`Mtu`] one of five. *Layouts* ([`mad`], [`rmpp`], [`sa`], [`path_record`], [`multipath_record`],
//! [`class_port_info`], [`records`], [`notice`], [`umad`]) are structs whose memory is the wire, big-endian and
//! unaligned: they are read and written in place, and every pattern of bytes is one. Between both there is no
//! parser: a field that may hold anything is a raw number, and becomes a value where somebody needs one.
//!
//! [`records`] has each component of a record once, as data ([`records::Field`]); what compares, prints or asks for records
//! follows from that. [`request`] builds requests and reads replies. [`roce`] has the flow labels and UDP source
//! ports of RoCE v2, [`device_management`] the layouts by which I/O units tell of their services, [`performance`] what ports
//! count, and [`netlink_ls`] the messages of the kernel's local service, in host byte order.
//!
//! ```
//! use sa_wire::request::path_by_lids;
//! use sa_wire::sa::{AttributeId, SaMad};
//!
//! let request = path_by_lids(4, 9);
//! let mad = SaMad::from_bytes(&request.mad);
//! assert_eq!(mad.attribute_id(), AttributeId::PATH_RECORD);
//! assert!(!mad.mad.is_response());
//! ```
//!
//! Nothing here opens a file, reads a clock or knows how an SA decides; only [`request::parse`] allocates.

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
pub mod path_component;
pub mod path_record;
pub mod performance;
pub mod records;
pub mod request;
pub mod rmpp;
pub mod roce;
pub mod sa;
pub mod served;
pub mod smp;
pub mod umad;

pub use attrs::{DataVls, Mtu, PacketLifeTime, Rate, RateRank, Selector, Sl, SlToVl, SlVlMask, Vl};
pub use error::VocabularyError;
pub use ids::{Gid, Guid, Lid, Lmc, Mlid, NodeType, Pkey, ServiceId, SubnetPrefix, TransactionId};
