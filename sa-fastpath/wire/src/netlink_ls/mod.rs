//! NETLINK_RDMA local service: the messages by which the kernel asks a user-space agent for path
//! records before it asks the SA.
//!
//! The kernel is the client: it multicasts a RESOLVE to [`GROUP`], and the agent unicasts a reply
//! with the same type and sequence number. [`heard()`] reads what an agent receives, [`reply`] writes
//! what it sends; [`kernel`] is the other side, for emulators; [`rfc_v2`] is the layout of the
//! proposal, which no kernel speaks.
//!
//! Integers are in host byte order, GIDs and path records in network order. Nothing here allocates
//! or panics, whatever the bytes.
//!
//! Source: Linux `rdma_netlink.h`, `ib_user_sa.h`.

mod attributes;
mod constants;
mod heard;
pub mod kernel;
mod message;
mod question;
pub mod reply;
pub mod rfc_v2;

#[cfg(test)]
mod tests;

pub use attributes::{Attribute, AttributeDamage, Attributes};
pub use constants::{
    ATTRIBUTE_TYPE_MASK, DEFAULT_TIMEOUT_MS, DEVICE_SIZE, FAMILY_HEADER_SIZE, GROUP, GROUP_MASK,
    LS_CLIENT, MANDATORY, MAX_RECORDS, MAX_TIMEOUT_MS, MIN_TIMEOUT_MS, PROTOCOL, RECORD_SIZE,
    attribute, flags, kind,
};
pub use heard::{Heard, Hearing, NotForUs, heard};
pub use message::{HEADER_SIZE, Header, Message, MessageDamage, Messages};
pub use question::{IpResolve, Malformed, PathFlags, PathUse, Question, Resolve};
pub use reply::{WriteError, write_error, write_gid, write_records, write_set_timeout};
