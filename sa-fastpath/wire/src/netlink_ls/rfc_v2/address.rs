//! `rdma_nla_ls_addr`: a host by name or IP address.

use core::net::{Ipv4Addr, Ipv6Addr};

use super::super::attributes::Attribute;
use super::super::reply::{WriteError, Writer};
use super::item::{flags_and_rest, length_of};
use super::{Damage, attribute};

/// One end of a path, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address<'a> {
    /// It is the source.
    pub is_source: bool,
    /// It is the destination.
    pub is_destination: bool,
    /// Whose.
    pub name: Name<'a>,
}

/// A host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name<'a> {
    /// By name.
    Hostname(Hostname<'a>),
    /// By IPv4 address; network order.
    V4(Ipv4Addr),
    /// By IPv6 address; network order.
    V6(Ipv6Addr),
}

/// The bytes of a host name. Shape: not empty, no zero byte; on the wire a last zero may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hostname<'a>(&'a [u8]);

impl<'a> Hostname<'a> {
    /// Errors: [`Damage::Hostname`].
    pub fn new(name: &'a [u8]) -> Result<Self, Damage> {
        if name.is_empty() || name.contains(&0) {
            Err(Damage::Hostname)
        } else {
            Ok(Self(name))
        }
    }

    /// The name.
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.0
    }
}

impl<'a> Address<'a> {
    pub(super) fn read(found: &Attribute<'a>) -> Result<Self, Damage> {
        let (flags, rest) = flags_and_rest(found)?;
        let name = match flags & !(SOURCE | DESTINATION) {
            HOSTNAME => Name::Hostname(Hostname::new(rest.strip_suffix(&[0]).unwrap_or(rest))?),
            IPV4 => Name::V4(exact::<4>(found, rest)?.into()),
            IPV6 => Name::V6(exact::<16>(found, rest)?.into()),
            _ => return Err(Damage::Address(flags)),
        };
        let (is_source, is_destination) = (flags & SOURCE != 0, flags & DESTINATION != 0);
        Ok(Self {
            is_source,
            is_destination,
            name,
        })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) -> Result<(), WriteError> {
        let flags = self.flags().to_ne_bytes();
        match self.name {
            Name::Hostname(name) => writer.attribute(attribute::ADDRESS, &[&flags, name.0]),
            Name::V4(address) => writer.attribute(attribute::ADDRESS, &[&flags, &address.octets()]),
            Name::V6(address) => writer.attribute(attribute::ADDRESS, &[&flags, &address.octets()]),
        }
    }

    const fn flags(&self) -> u32 {
        let format = match self.name {
            Name::Hostname(_) => HOSTNAME,
            Name::V4(_) => IPV4,
            Name::V6(_) => IPV6,
        };
        let source = if self.is_source { SOURCE } else { 0 };
        let destination = if self.is_destination { DESTINATION } else { 0 };
        format | source | destination
    }
}

fn exact<const SIZE: usize>(found: &Attribute<'_>, rest: &[u8]) -> Result<[u8; SIZE], Damage> {
    rest.try_into().map_err(|_| length_of(found))
}

// LS_NLA_ADDR_F_*.
const SOURCE: u32 = 1;
const DESTINATION: u32 = 1 << 1;
const HOSTNAME: u32 = 1 << 2;
const IPV4: u32 = 1 << 3;
const IPV6: u32 = 1 << 4;
