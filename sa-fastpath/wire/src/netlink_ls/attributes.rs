//! Netlink attributes in the body of a message.
//!
//! Length 2, type 2, payload, zeros up to a multiple of four. The length counts header and payload
//! but not the zeros; the upper three bits of the type are flags.

use thiserror::Error;

use super::constants::{ATTRIBUTE_TYPE_MASK, MANDATORY};
use super::message::aligned;

/// Length and type before each attribute (nlattr). Units: bytes.
pub(super) const ATTRIBUTE_HEADER_SIZE: usize = 4;

/// One attribute of a message: a type and its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// nla_type as it lies there, flag bits included.
    pub raw: u16,
    /// What follows its header, without padding.
    pub payload: &'a [u8],
}

impl Attribute<'_> {
    /// The type without flag bits.
    pub const fn kind(&self) -> u16 {
        self.raw & ATTRIBUTE_TYPE_MASK
    }

    /// True when who does not know it must refuse the message.
    pub const fn is_mandatory(&self) -> bool {
        self.raw & MANDATORY != 0
    }
}

/// Why the rest of an attribute area cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AttributeDamage {
    /// nla_len is below 4.
    #[error("nla_len {0} is below the header's 4 bytes")]
    LengthTooSmall(u16),
    /// nla_len reaches past the message.
    #[error("nla_len {length} reaches past the message, which has {left} bytes left")]
    LengthTooLarge {
        /// The length that the attribute claims. Units: bytes.
        length: u16,
        /// The bytes that are left of the message. Units: bytes.
        left: usize,
    },
    /// Fewer bytes than a header after the last attribute.
    #[error("{0} bytes after the last attribute")]
    Trailing(usize),
}

/// The attributes of a message, one after another; ends after the first damage.
#[derive(Debug, Clone)]
pub struct Attributes<'a> {
    rest: &'a [u8],
}

impl<'a> Attributes<'a> {
    /// Of what follows the headers of a message.
    pub const fn new(area: &'a [u8]) -> Self {
        Self { rest: area }
    }

    fn take(&mut self) -> Result<Attribute<'a>, AttributeDamage> {
        // Taken out first: after damage nothing is left, and the iterator ends.
        let area = core::mem::take(&mut self.rest);
        let Some(([l0, l1, t0, t1], _)) = area.split_first_chunk::<ATTRIBUTE_HEADER_SIZE>() else {
            return Err(AttributeDamage::Trailing(area.len()));
        };
        let length = u16::from_ne_bytes([*l0, *l1]);
        let size = usize::from(length);
        // The length may be anything: it is looked at before it is used.
        let Some(attribute) = area.get(..size) else {
            return Err(AttributeDamage::LengthTooLarge {
                length,
                left: area.len(),
            });
        };
        let payload = attribute.get(ATTRIBUTE_HEADER_SIZE..);
        let payload = payload.ok_or(AttributeDamage::LengthTooSmall(length))?;
        // The last attribute may lack its padding.
        self.rest = area.get(aligned(size)..).unwrap_or(&[]);
        Ok(Attribute {
            raw: u16::from_ne_bytes([*t0, *t1]),
            payload,
        })
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = Result<Attribute<'a>, AttributeDamage>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            None
        } else {
            Some(self.take())
        }
    }
}
