//! What an agent sends.

use thiserror::Error;
use zerocopy::IntoBytes;

use super::attributes::ATTRIBUTE_HEADER_SIZE;
use super::constants::{MAX_RECORDS, RECORD_SIZE, attribute, flags, kind};
use super::message::{HEADER_SIZE, Header, aligned};
use super::question::PathFlags;
use crate::ids::Gid;
use crate::path_record::PathRecord;

/// The longest reply: three records. Units: bytes.
pub const MAX_REPLY_SIZE: usize = HEADER_SIZE + MAX_RECORDS * (ATTRIBUTE_HEADER_SIZE + RECORD_SIZE);

/// Why a message was not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The buffer is too small.
    #[error("a buffer of {0} bytes is too small for the message")]
    Room(usize),
    /// A success has one to three records: the kernel fails a query on an empty one.
    #[error("{0} records are not one to three")]
    Records(usize),
    /// A name, an attribute or a message is longer than its field allows.
    #[error("{0} bytes are too long for the field")]
    TooLong(usize),
}

/// A success with these records. Gives the length. Units: bytes.
///
/// Errors: [`WriteError::Records`], [`WriteError::Room`].
pub fn write_records(
    out: &mut [u8],
    seq: u32,
    records: &[(PathFlags, PathRecord)],
) -> Result<usize, WriteError> {
    // None would fail the query for good, more than three are not read.
    if records.is_empty() || records.len() > MAX_RECORDS {
        return Err(WriteError::Records(records.len()));
    }
    let mut writer = Writer::new(out, reply_to(kind::RESOLVE, seq))?;
    for (path_flags, record) in records {
        let [f0, f1, f2, f3] = path_flags.0.to_ne_bytes();
        // Flags, a reserved word, then the record as in a MAD.
        let head = [f0, f1, f2, f3, 0, 0, 0, 0];
        writer.attribute(attribute::PATH_RECORD, &[&head, record.as_bytes()])?;
    }
    writer.finish()
}

/// A refusal of the request of this type: the kernel asks the SA. Gives the length.
///
/// Errors: [`WriteError::Room`].
pub fn write_error(out: &mut [u8], kind: u16, seq: u32) -> Result<usize, WriteError> {
    let flags = flags::LS_ERROR;
    Writer::new(
        out,
        Header {
            flags,
            ..reply_to(kind, seq)
        },
    )?
    .finish()
}

/// The answer to IP_RESOLVE. Gives the length.
///
/// Errors: [`WriteError::Room`].
pub fn write_gid(out: &mut [u8], seq: u32, gid: Gid) -> Result<usize, WriteError> {
    let mut writer = Writer::new(out, reply_to(kind::IP_RESOLVE, seq))?;
    writer.attribute(attribute::DGID, &[&gid.0])?;
    writer.finish()
}

/// Tells the kernel how long to wait for replies; it clamps the value. Gives the length.
///
/// Errors: [`WriteError::Room`].
pub fn write_set_timeout(
    out: &mut [u8],
    seq: u32,
    milliseconds: u32,
    ack: bool,
) -> Result<usize, WriteError> {
    let flags = if ack {
        flags::REQUEST | flags::ACK
    } else {
        flags::REQUEST
    };
    let mut writer = Writer::new(
        out,
        Header {
            flags,
            ..reply_to(kind::SET_TIMEOUT, seq)
        },
    )?;
    writer.attribute(attribute::TIMEOUT, &[&milliseconds.to_ne_bytes()])?;
    writer.finish()
}

const fn reply_to(kind: u16, seq: u32) -> Header {
    Header {
        kind,
        flags: 0,
        seq,
        pid: 0,
    }
}

/// One message that grows in a buffer.
pub(super) struct Writer<'a> {
    out: &'a mut [u8],
    length: usize,
}

impl<'a> Writer<'a> {
    pub(super) fn new(out: &'a mut [u8], header: Header) -> Result<Self, WriteError> {
        let mut writer = Self { out, length: 0 };
        // The length is not known yet; `finish` fills it in.
        writer.put(&[0; 4])?;
        writer.put(&header.kind.to_ne_bytes())?;
        writer.put(&header.flags.to_ne_bytes())?;
        writer.put(&header.seq.to_ne_bytes())?;
        writer.put(&header.pid.to_ne_bytes())?;
        Ok(writer)
    }

    /// One attribute of these parts, padded.
    pub(super) fn attribute(&mut self, raw: u16, parts: &[&[u8]]) -> Result<(), WriteError> {
        // With the header, without the padding: so netlink counts.
        let size = parts.iter().map(|part| part.len()).sum::<usize>() + ATTRIBUTE_HEADER_SIZE;
        let length = u16::try_from(size).map_err(|_| WriteError::TooLong(size))?;
        self.put(&length.to_ne_bytes())?;
        self.put(&raw.to_ne_bytes())?;
        for part in parts {
            self.put(part)?;
        }
        self.zeros(aligned(size) - size)
    }

    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        let room = WriteError::Room(self.out.len());
        let place = self
            .out
            .get_mut(self.length..)
            .and_then(|it| it.get_mut(..bytes.len()));
        place.ok_or(room)?.copy_from_slice(bytes);
        self.length += bytes.len();
        Ok(())
    }

    pub(super) fn zeros(&mut self, count: usize) -> Result<(), WriteError> {
        (0..count).try_for_each(|_| self.put(&[0]))
    }

    /// Fills in nlmsg_len.
    pub(super) fn finish(self) -> Result<usize, WriteError> {
        let length = u32::try_from(self.length).map_err(|_| WriteError::TooLong(self.length))?;
        let place = self.out.first_chunk_mut::<4>().ok_or(WriteError::Room(0))?;
        *place = length.to_ne_bytes();
        Ok(self.length)
    }
}
