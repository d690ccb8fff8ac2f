//! The local service as its RFC v2 proposed it. Kept as a codec; no kernel ever spoke it.
//!
//! Never send these to a kernel: F_OK here is the bit that shipped kernels read as failure, and an
//! F_ERR here reads there as a success without a record, which fails the query for good. What
//! differs from [the shipped layout](super): status flags and status attribute, no family header, an
//! address attribute (host name, IPv4, IPv6), path records in requests too and in two forms, without
//! the reserved word, no path use, no mandatory bit.
//!
//! Two gaps of the text are filled here: the attribute of SET_TIMEOUT, for which it gives neither
//! number nor form ([`attribute::TIMEOUT`]), and the USER flag, printed `1<6` and taken as bit 6.
//!
//! Source: the seed document "RFC v2, RDMA netlink local service".

mod address;
mod item;
mod path;
#[cfg(test)]
mod tests;

use thiserror::Error;

pub use self::address::{Address, Hostname, Name};
pub use self::item::{Item, Status};
pub use self::path::{Path, UserPathRecord};
use super::attributes::{AttributeDamage, Attributes};
use super::constants::{LS_CLIENT, flags, kind};
use super::message::{Header, Message, MessageDamage, Messages};
use super::reply::{WriteError, Writer};

/// RDMA_NL_LS_F_OK: a response, and a success.
pub const F_OK: u16 = 0x0100;
/// RDMA_NL_LS_F_ERR: a response, and a failure.
pub const F_ERR: u16 = 0x0200;

/// Attribute types.
pub mod attribute {
    /// u32, one of [`Status`](super::Status).
    pub const STATUS: u16 = 0;
    /// u32 of flags, then the address.
    pub const ADDRESS: u16 = 1;
    /// u32 of flags, then 64 bytes.
    pub const PATH_RECORD: u16 = 2;
    /// u32. Units: ms. The text names no attribute for SET_TIMEOUT; this is the first free number.
    pub const TIMEOUT: u16 = 3;
}

/// RDMA_NL_LS_OP_*.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// A path is asked, or told.
    Resolve,
    /// The agent sets the kernel's patience.
    SetTimeout,
}

/// Which way a message goes, and how it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// NLM_F_REQUEST.
    Request,
    /// [`F_OK`].
    Success,
    /// [`F_ERR`].
    Failure,
}

/// What a message is, but for its attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The operation.
    pub operation: Operation,
    /// Request or response.
    pub role: Role,
    /// nlmsg_seq.
    pub seq: u32,
}

/// Why a message is none of this layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Damage {
    /// Its lengths.
    #[error(transparent)]
    Message(#[from] MessageDamage),
    /// Its attributes' lengths.
    #[error(transparent)]
    Attributes(#[from] AttributeDamage),
    /// Not a message type of this client.
    #[error("message type 0x{0:04x} is neither RESOLVE nor SET_TIMEOUT")]
    Kind(u16),
    /// Not exactly one of request, success and failure.
    #[error("nlmsg_flags 0x{0:04x} name not one of request, success, failure")]
    Flags(u16),
    /// An attribute type that the text does not have.
    #[error("attribute {0} is unknown")]
    Attribute(u16),
    /// A payload that its type cannot have.
    #[error("attribute {kind} cannot have {length} bytes")]
    Length {
        /// Its type.
        kind: u16,
        /// Units: bytes.
        length: usize,
    },
    /// A status that the text does not have.
    #[error("status {0} is over 2")]
    Status(u32),
    /// Address flags that name no format, or several, or no such bit.
    #[error("address flags 0x{0:x} do not name one format")]
    Address(u32),
    /// No host name.
    #[error("the host name is empty or has a zero byte inside")]
    Hostname,
}

/// Writes a message. Gives the length. Units: bytes.
///
/// Errors: [`WriteError::Room`], [`WriteError::TooLong`].
pub fn write(out: &mut [u8], head: Head, items: &[Item<'_>]) -> Result<usize, WriteError> {
    let operation = match head.operation {
        Operation::Resolve => kind::RESOLVE,
        Operation::SetTimeout => kind::SET_TIMEOUT,
    };
    let flags = match head.role {
        Role::Request => flags::REQUEST,
        Role::Success => F_OK,
        Role::Failure => F_ERR,
    };
    let mut writer = Writer::new(
        out,
        Header {
            kind: operation,
            flags,
            seq: head.seq,
            pid: 0,
        },
    )?;
    for item in items {
        item.write(&mut writer)?;
    }
    writer.finish()
}

/// The messages of a datagram. Total: any bytes.
pub fn read(datagram: &[u8]) -> impl Iterator<Item = Result<(Head, Items<'_>), Damage>> {
    Messages::new(datagram).map(|message| {
        let message = message?;
        Ok((Head::read(&message)?, Items(Attributes::new(message.body))))
    })
}

/// The attributes of a message; ends after the first that cannot be walked over.
#[derive(Debug, Clone)]
pub struct Items<'a>(Attributes<'a>);

impl<'a> Iterator for Items<'a> {
    type Item = Result<Item<'a>, Damage>;

    fn next(&mut self) -> Option<Self::Item> {
        let found = self.0.next()?;
        Some(
            found
                .map_err(Damage::from)
                .and_then(|found| Item::read(&found)),
        )
    }
}

impl Head {
    fn read(message: &Message<'_>) -> Result<Self, Damage> {
        let Header {
            kind, flags, seq, ..
        } = message.header;
        let operation = match kind {
            kind::RESOLVE => Operation::Resolve,
            kind::SET_TIMEOUT => Operation::SetTimeout,
            other => return Err(Damage::Kind(other)),
        };
        let role = match flags & (flags::REQUEST | F_OK | F_ERR) {
            flags::REQUEST => Role::Request,
            F_OK => Role::Success,
            F_ERR => Role::Failure,
            _ => return Err(Damage::Flags(flags)),
        };
        Ok(Self {
            operation,
            role,
            seq,
        })
    }
}

// The proposal's client has another name and the same number.
const _: () = assert!(LS_CLIENT == 4 && kind::RESOLVE == 0x1000);
