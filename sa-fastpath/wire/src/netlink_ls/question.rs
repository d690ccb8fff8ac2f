//! What the kernel asks.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use thiserror::Error;

use super::attributes::{Attribute, AttributeDamage, Attributes};
use super::constants::{DEVICE_SIZE, FAMILY_HEADER_SIZE, attribute};
use crate::ids::{Gid, ServiceId};

/// Which directions the path is for; the kernel's only word on reversibility.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PathUse {
    /// Reversible, asked by kernels from 6.1.
    All = 0,
    /// One way, not reversible.
    Unidirectional = 1,
    /// Reversible, asked by kernels before 6.1.
    Gmp = 2,
}

impl PathUse {
    /// From its code; nothing for a code that no kernel sends.
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::All),
            1 => Some(Self::Unidirectional),
            2 => Some(Self::Gmp),
            _ => None,
        }
    }
}

/// What a record of a reply may be used for (IB_PATH_*).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PathFlags(pub u32);

impl PathFlags {
    /// Paths for management datagrams.
    pub const GMP: Self = Self(1);
    /// The primary path of a connection.
    pub const PRIMARY: Self = Self(1 << 1);
    /// The alternate path of a connection, for automatic path migration.
    pub const ALTERNATE: Self = Self(1 << 2);
    /// Paths from the asker to the destination.
    pub const OUTBOUND: Self = Self(1 << 3);
    /// Paths from the destination to the asker.
    pub const INBOUND: Self = Self(1 << 4);
    /// The outbound record reversed leads back.
    pub const INBOUND_REVERSE: Self = Self(1 << 5);
    /// Outbound, and reversed inbound.
    pub const BIDIRECTIONAL: Self = Self(Self::OUTBOUND.0 | Self::INBOUND_REVERSE.0);

    /// What the main record of a reply carries: enough for every kernel. 0x0a or 0x2b.
    pub const fn for_main(path_use: PathUse) -> Self {
        // One set of flags for both, as older kernels want more of them.
        match path_use {
            PathUse::Unidirectional => Self::mask(path_use),
            PathUse::Gmp | PathUse::All => Self::mask(PathUse::Gmp),
        }
    }

    /// What the kernel demands of a record, all bits of it; other records do not count.
    pub const fn mask(path_use: PathUse) -> Self {
        match path_use {
            PathUse::All => Self::PRIMARY,
            PathUse::Unidirectional => Self(Self::PRIMARY.0 | Self::OUTBOUND.0),
            PathUse::Gmp => Self(Self::PRIMARY.0 | Self::GMP.0 | Self::BIDIRECTIONAL.0),
        }
    }

    /// True when every bit of the mask is set.
    pub const fn satisfies(self, mask: Self) -> bool {
        self.0 & mask.0 == mask.0
    }
}

/// A RESOLVE request. A component is there when the caller in the kernel gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resolve<'a> {
    /// nlmsg_seq; the reply has the same.
    pub seq: u32,
    /// The device's name, without padding. Shape: at most 64 bytes, none zero.
    pub device: &'a [u8],
    /// Its port, from 1.
    pub port: u8,
    /// Which directions and uses the paths are for.
    pub path_use: PathUse,
    /// The service that the connection is for, where the kernel names one.
    pub service_id: Option<ServiceId>,
    /// The destination, where it is named.
    pub dgid: Option<Gid>,
    /// The source, where it is named.
    pub sgid: Option<Gid>,
    /// Traffic class, where it is named.
    pub tclass: Option<u8>,
    /// P_Key, raw, where it is named.
    pub pkey: Option<u16>,
    /// QoSClass, not shifted; a MAD has room for its low twelve bits only.
    pub qos_class: Option<u16>,
}

/// An IP_RESOLVE request: which GID belongs to an IP address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IpResolve {
    /// nlmsg_seq; the reply has the same. Its own row of numbers, apart from RESOLVE's.
    pub seq: u32,
    /// The network interface that the address was routed to.
    pub ifindex: u32,
    /// Whose GID is wanted.
    pub address: IpAddr,
}

/// A request that is well formed and can be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question<'a> {
    /// A question for path records.
    Resolve(Resolve<'a>),
    /// A question for the GID of an IP address.
    IpResolve(IpResolve),
}

impl Question<'_> {
    /// nlmsg_seq, which the reply must carry.
    pub const fn seq(&self) -> u32 {
        match self {
            Self::Resolve(resolve) => resolve.seq,
            Self::IpResolve(resolve) => resolve.seq,
        }
    }
}

/// Why a request cannot be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Malformed {
    /// No such operation of the local service can be asked of an agent.
    #[error("operation {0} is none that an agent serves")]
    Operation(u16),
    /// The family header is cut.
    #[error("{0} bytes are too few for the family header")]
    ShortHeader(usize),
    /// Ports count from 1.
    #[error("port 0")]
    PortZero,
    /// path_use is 0, 1 or 2.
    #[error("path_use {0} is over 2")]
    PathUse(u8),
    /// The attribute area cannot be walked.
    #[error(transparent)]
    Attributes(#[from] AttributeDamage),
    /// An attribute's payload has another length than its type.
    #[error("attribute {kind} has {length} bytes")]
    Length {
        /// The attribute's type, which no question has.
        kind: u16,
        /// What it has. Units: bytes.
        length: usize,
    },
    /// Unknown here, and marked as one that must be understood.
    #[error("unknown attribute {0} must be understood")]
    UnknownMandatory(u16),
    /// Twice, with two values.
    #[error("attribute {0} comes twice with different values")]
    Contradiction(u16),
    /// None of the components that a path is asked by.
    #[error("no attribute to resolve by")]
    Empty,
    /// IP_RESOLVE without an address.
    #[error("no IP address")]
    NoAddress,
}

impl<'a> Resolve<'a> {
    pub(super) fn read(seq: u32, body: &'a [u8]) -> Result<Self, Malformed> {
        let (header, area) = body
            .split_first_chunk::<FAMILY_HEADER_SIZE>()
            .ok_or(Malformed::ShortHeader(body.len()))?;
        let mut resolve = Self::without_attributes(seq, header)?;
        for found in Attributes::new(area) {
            resolve.take(&found?)?;
        }
        // Nothing that is named: no path in particular is asked for.
        if resolve.is_empty() {
            Err(Malformed::Empty)
        } else {
            Ok(resolve)
        }
    }

    fn without_attributes(
        seq: u32,
        header: &'a [u8; FAMILY_HEADER_SIZE],
    ) -> Result<Self, Malformed> {
        let (device, rest) = header.split_at(DEVICE_SIZE);
        // The last two bytes are padding that the kernel does not clear.
        let [port, path_use, ..] = rest else {
            return Err(Malformed::ShortHeader(header.len()));
        };
        if *port == 0 {
            return Err(Malformed::PortZero);
        }
        Ok(Self {
            seq,
            device: until_zero(device),
            port: *port,
            path_use: PathUse::from_code(*path_use).ok_or(Malformed::PathUse(*path_use))?,
            service_id: None,
            dgid: None,
            sgid: None,
            tclass: None,
            pkey: None,
            qos_class: None,
        })
    }

    fn take(&mut self, found: &Attribute<'_>) -> Result<(), Malformed> {
        match found.kind() {
            attribute::SERVICE_ID => put(
                &mut self.service_id,
                ServiceId(u64::from_ne_bytes(exact(found)?)),
                found,
            ),
            attribute::DGID => put(&mut self.dgid, Gid(exact(found)?), found),
            attribute::SGID => put(&mut self.sgid, Gid(exact(found)?), found),
            attribute::TCLASS => put(&mut self.tclass, u8::from_ne_bytes(exact(found)?), found),
            attribute::PKEY => put(&mut self.pkey, u16::from_ne_bytes(exact(found)?), found),
            attribute::QOS_CLASS => put(
                &mut self.qos_class,
                u16::from_ne_bytes(exact(found)?),
                found,
            ),
            _ => unknown(found),
        }
    }

    const fn is_empty(&self) -> bool {
        self.service_id.is_none()
            && self.dgid.is_none()
            && self.sgid.is_none()
            && self.tclass.is_none()
            && self.pkey.is_none()
            && self.qos_class.is_none()
    }
}

impl IpResolve {
    pub(super) fn read(seq: u32, body: &[u8]) -> Result<Self, Malformed> {
        let (ifindex, area) = body
            .split_first_chunk::<4>()
            .ok_or(Malformed::ShortHeader(body.len()))?;
        let mut address = None;
        for found in Attributes::new(area) {
            let found = found?;
            match found.kind() {
                attribute::IPV4 => {
                    put(
                        &mut address,
                        Ipv4Addr::from(exact::<4>(&found)?).into(),
                        &found,
                    )?;
                }
                attribute::IPV6 => {
                    put(
                        &mut address,
                        Ipv6Addr::from(exact::<16>(&found)?).into(),
                        &found,
                    )?;
                }
                _ => unknown(&found)?,
            }
        }
        let address = address.ok_or(Malformed::NoAddress)?;
        Ok(Self {
            seq,
            ifindex: u32::from_ne_bytes(*ifindex),
            address,
        })
    }
}

/// Kernels before the name was terminated copied 64 raw bytes.
fn until_zero(name: &[u8]) -> &[u8] {
    name.split(|byte| *byte == 0).next().unwrap_or(&[])
}

fn exact<const SIZE: usize>(found: &Attribute<'_>) -> Result<[u8; SIZE], Malformed> {
    let length = found.payload.len();
    found.payload.try_into().map_err(|_| Malformed::Length {
        kind: found.kind(),
        length,
    })
}

/// The same value twice does no harm; of two values nobody knows which one is meant.
fn put<T: PartialEq>(
    place: &mut Option<T>,
    value: T,
    found: &Attribute<'_>,
) -> Result<(), Malformed> {
    match place {
        Some(before) if *before != value => Err(Malformed::Contradiction(found.kind())),
        _ => {
            *place = Some(value);
            Ok(())
        }
    }
}

const fn unknown(found: &Attribute<'_>) -> Result<(), Malformed> {
    if found.is_mandatory() {
        Err(Malformed::UnknownMandatory(found.kind()))
    } else {
        Ok(())
    }
}
