//! One attribute of a message.

use super::super::attributes::Attribute;
use super::super::reply::{WriteError, Writer};
use super::{Address, Damage, Path, attribute};

/// One attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item<'a> {
    /// Why it failed.
    Status(Status),
    /// Who is asked for.
    Address(Address<'a>),
    /// What is known of the path, or the path.
    Path(Path),
    /// How long the kernel waits. Units: ms.
    Timeout(u32),
}

/// LS_NLA_STATUS_*.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Status {
    /// No error.
    Success = 0,
    /// The request was wrong.
    Invalid = 1,
    /// There is no such record.
    NoData = 2,
}

impl<'a> Item<'a> {
    pub(super) fn read(found: &Attribute<'a>) -> Result<Self, Damage> {
        match found.raw {
            attribute::STATUS => Status::from_code(word(found)?).map(Self::Status),
            attribute::ADDRESS => Address::read(found).map(Self::Address),
            attribute::PATH_RECORD => Path::read(found).map(Self::Path),
            attribute::TIMEOUT => word(found).map(Self::Timeout),
            other => Err(Damage::Attribute(other)),
        }
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) -> Result<(), WriteError> {
        match self {
            Self::Status(status) => {
                writer.attribute(attribute::STATUS, &[&(*status as u32).to_ne_bytes()])
            }
            Self::Address(address) => address.write(writer),
            Self::Path(path) => path.write(writer),
            Self::Timeout(milliseconds) => {
                writer.attribute(attribute::TIMEOUT, &[&milliseconds.to_ne_bytes()])
            }
        }
    }
}

impl Status {
    const fn from_code(code: u32) -> Result<Self, Damage> {
        match code {
            0 => Ok(Self::Success),
            1 => Ok(Self::Invalid),
            2 => Ok(Self::NoData),
            other => Err(Damage::Status(other)),
        }
    }
}

fn word(found: &Attribute<'_>) -> Result<u32, Damage> {
    let bytes = found.payload.try_into().map_err(|_| length_of(found))?;
    Ok(u32::from_ne_bytes(bytes))
}

pub(super) const fn length_of(found: &Attribute<'_>) -> Damage {
    Damage::Length {
        kind: found.raw,
        length: found.payload.len(),
    }
}

/// Flags and what follows them.
pub(super) fn flags_and_rest<'a>(found: &Attribute<'a>) -> Result<(u32, &'a [u8]), Damage> {
    let (flags, rest) = found
        .payload
        .split_first_chunk::<4>()
        .ok_or_else(|| length_of(found))?;
    Ok((u32::from_ne_bytes(*flags), rest))
}
