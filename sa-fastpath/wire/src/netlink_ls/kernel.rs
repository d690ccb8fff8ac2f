//! The kernel's side: how it writes questions, and how it reads replies. For emulators and tests.
//!
//! Source: Linux 6.1 `drivers/infiniband/core/{sa_query,addr,netlink}.c`, `lib/nlattr.c`.

use core::net::IpAddr;

use zerocopy::FromBytes;

use super::attributes::{Attribute, Attributes};
use super::constants::{
    ATTRIBUTE_TYPE_MASK, DEVICE_SIZE, MANDATORY, MAX_RECORDS, MAX_TIMEOUT_MS, MIN_TIMEOUT_MS,
    RECORD_SIZE, attribute, flags, kind,
};
use super::message::{Header, Message};
use super::question::{IpResolve, PathFlags, Resolve};
use super::reply::{WriteError, Writer};
use crate::ids::Gid;
use crate::path_record::PathRecord;

/// A RESOLVE as the kernel sends it. Gives the length.
///
/// Errors: [`WriteError::Room`], [`WriteError::TooLong`] for the device's name.
pub fn write_resolve(out: &mut [u8], question: &Resolve<'_>) -> Result<usize, WriteError> {
    let mut writer = Writer::new(out, request(kind::RESOLVE, question.seq))?;
    let name = question.device;
    // A longer name is refused, not cut: it would name another device.
    let padding = DEVICE_SIZE
        .checked_sub(name.len())
        .ok_or(WriteError::TooLong(name.len()))?;
    writer.put(name)?;
    writer.zeros(padding)?;
    // Two bytes of padding, which the kernel does not clear and nobody reads.
    writer.put(&[question.port, question.path_use as u8, 0, 0])?;
    write_components(&mut writer, question)?;
    writer.finish()
}

/// In the kernel's order.
fn write_components(writer: &mut Writer<'_>, question: &Resolve<'_>) -> Result<(), WriteError> {
    if let Some(service_id) = question.service_id {
        mandatory(writer, attribute::SERVICE_ID, &service_id.0.to_ne_bytes())?;
    }
    if let Some(dgid) = question.dgid {
        mandatory(writer, attribute::DGID, &dgid.0)?;
    }
    if let Some(sgid) = question.sgid {
        mandatory(writer, attribute::SGID, &sgid.0)?;
    }
    if let Some(tclass) = question.tclass {
        mandatory(writer, attribute::TCLASS, &[tclass])?;
    }
    if let Some(pkey) = question.pkey {
        mandatory(writer, attribute::PKEY, &pkey.to_ne_bytes())?;
    }
    if let Some(qos_class) = question.qos_class {
        mandatory(writer, attribute::QOS_CLASS, &qos_class.to_ne_bytes())?;
    }
    Ok(())
}

/// An IP_RESOLVE as the kernel sends it. Gives the length.
///
/// Errors: [`WriteError::Room`].
pub fn write_ip_resolve(out: &mut [u8], question: &IpResolve) -> Result<usize, WriteError> {
    let mut writer = Writer::new(out, request(kind::IP_RESOLVE, question.seq))?;
    writer.put(&question.ifindex.to_ne_bytes())?;
    match question.address {
        IpAddr::V4(address) => mandatory(&mut writer, attribute::IPV4, &address.octets())?,
        IpAddr::V6(address) => mandatory(&mut writer, attribute::IPV6, &address.octets())?,
    }
    writer.finish()
}

/// NLMSG_ERROR about a message: 0 confirms, a negative errno refuses. Gives the length.
///
/// Errors: [`WriteError::Room`].
pub fn write_ack(out: &mut [u8], about: &Message<'_>, code: i32) -> Result<usize, WriteError> {
    let header = about.header;
    let answer = Header {
        kind: kind::ERROR,
        flags: 0,
        seq: header.seq,
        pid: header.pid,
    };
    let mut writer = Writer::new(out, answer)?;
    writer.put(&code.to_ne_bytes())?;
    let length = super::HEADER_SIZE + about.body.len();
    let length = u32::try_from(length).map_err(|_| WriteError::TooLong(length))?;
    writer.put(&length.to_ne_bytes())?;
    writer.put(&header.kind.to_ne_bytes())?;
    writer.put(&header.flags.to_ne_bytes())?;
    writer.put(&header.seq.to_ne_bytes())?;
    writer.put(&header.pid.to_ne_bytes())?;
    writer.finish()
}

const fn request(kind: u16, seq: u32) -> Header {
    Header {
        kind,
        flags: flags::REQUEST,
        seq,
        pid: 0,
    }
}

fn mandatory(writer: &mut Writer<'_>, kind: u16, payload: &[u8]) -> Result<(), WriteError> {
    writer.attribute(kind | MANDATORY, &[payload])
}

/// What the kernel makes of a reply to RESOLVE.
#[expect(clippy::large_enum_variant, reason = "nothing here allocates")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The query is completed with these records.
    Taken(Taken),
    /// A refusal, or an attribute that its check rejects: it asks the SA at once.
    AskSa,
    /// A success without a record that counts: the query fails, and the SA is not asked.
    Fail,
}

/// Records that the kernel took, at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    records: [(PathFlags, PathRecord); MAX_RECORDS],
    count: usize,
    /// A record was shorter than 72 bytes, and the kernel read on behind it.
    pub overread: bool,
}

impl Taken {
    /// Shape: one to three.
    pub fn records(&self) -> &[(PathFlags, PathRecord)] {
        self.records.get(..self.count).unwrap_or(&[])
    }
}

/// Reads a reply to RESOLVE as the kernel does: records whose flags have the whole mask, up to
/// `most`. Total: any bytes.
pub fn read_answer(reply: &Message<'_>, mask: PathFlags, most: usize) -> Answer {
    // The refusal first: its attributes do not count.
    if reply.header.flags & flags::LS_ERROR != 0 || !passes(reply.body, Check::Resolve) {
        return Answer::AskSa;
    }
    let mut taken = Taken {
        records: Default::default(),
        count: 0,
        overread: false,
    };
    for (offset, found) in with_offsets(reply.body) {
        // The raw type: a record with any flag bit is none.
        if found.raw != attribute::PATH_RECORD {
            continue;
        }
        let (path_flags, record) = record_at(reply.body, offset);
        if !path_flags.satisfies(mask) {
            continue;
        }
        // More than three are not taken, whatever the agent sends.
        let Some(place) = taken.records.get_mut(taken.count) else {
            break;
        };
        *place = (path_flags, record);
        taken.count += 1;
        taken.overread |= found.payload.len() < RECORD_SIZE;
        if taken.count >= most {
            break;
        }
    }
    // Records were there, but none with the flags that the kernel wants.
    if taken.count == 0 {
        Answer::Fail
    } else {
        Answer::Taken(taken)
    }
}

/// The GID of a reply to IP_RESOLVE; nothing when the kernel ignores it. Total: any bytes.
pub fn read_gid(reply: &Message<'_>) -> Option<Gid> {
    if reply.header.flags & flags::LS_ERROR != 0 || !passes(reply.body, Check::IpResolve) {
        return None;
    }
    // The last of several, as in the kernel's table of attributes.
    let found = whole(reply.body)
        .filter(|found| found.raw == attribute::DGID)
        .last()?;
    found.payload.try_into().ok().map(Gid)
}

/// The timeout that the kernel takes from a SET_TIMEOUT, clamped; nothing when it changes nothing.
/// Total: any bytes. Units: ms.
pub fn read_timeout(message: &Message<'_>) -> Option<u32> {
    if !passes(message.body, Check::Resolve) {
        return None;
    }
    let found = whole(message.body)
        .filter(|it| checked_type(it) == attribute::TIMEOUT)
        .last()?;
    let (value, _) = found.payload.split_first_chunk::<4>()?;
    // A signed number there: the upper half of the range is below the least.
    let value = u32::try_from(i32::from_ne_bytes(*value)).unwrap_or(0);
    Some(value.clamp(MIN_TIMEOUT_MS, MAX_TIMEOUT_MS))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Check {
    Resolve,
    IpResolve,
}

/// nla_parse_deprecated with the policy of the handler: types that it does not know pass.
fn passes(body: &[u8], check: Check) -> bool {
    // What is damaged ends the walk and does not fail the check, as in the kernel.
    whole(body).all(|found| length_passes(&found, check))
}

fn length_passes(found: &Attribute<'_>, check: Check) -> bool {
    let length = found.payload.len();
    match (checked_type(found), check) {
        (attribute::DGID, Check::IpResolve) => length == 16,
        (_, Check::IpResolve) => true,
        (attribute::PATH_RECORD, _) => length <= RECORD_SIZE,
        (attribute::DGID | attribute::SGID, _) => length <= 16,
        (attribute::SERVICE_ID, _) => length >= 8,
        (attribute::TIMEOUT, _) => length >= 4,
        (attribute::PKEY | attribute::QOS_CLASS, _) => length >= 2,
        (attribute::TCLASS, _) => length >= 1,
        _ => true,
    }
}

/// nla_type(): the mandatory bit stays, which makes the type an unknown one.
const fn checked_type(found: &Attribute<'_>) -> u16 {
    found.raw & (ATTRIBUTE_TYPE_MASK | MANDATORY)
}

/// Up to the first damage; the kernel logs what is left over and goes on.
fn whole(body: &[u8]) -> impl Iterator<Item = Attribute<'_>> {
    Attributes::new(body).map_while(Result::ok)
}

/// Each attribute with the place of its payload in the body.
fn with_offsets(body: &[u8]) -> impl Iterator<Item = (usize, Attribute<'_>)> {
    whole(body).scan(0_usize, |at, found| {
        let offset = *at + super::attributes::ATTRIBUTE_HEADER_SIZE;
        *at = super::message::aligned(offset + found.payload.len());
        Some((offset, found))
    })
}

/// 72 bytes from here on, whatever the attribute's length; zeros behind the message.
fn record_at(body: &[u8], offset: usize) -> (PathFlags, PathRecord) {
    let mut bytes = [0; RECORD_SIZE];
    // The kernel reads 72 bytes even where the attribute is shorter; the flag `overread` tells.
    let rest = body.get(offset..).unwrap_or(&[]);
    for (to, from) in bytes.iter_mut().zip(rest) {
        *to = *from;
    }
    let [f0, f1, f2, f3, _, _, _, _, record @ ..] = bytes;
    let record = PathRecord::read_from_bytes(&record).unwrap_or_default();
    (PathFlags(u32::from_ne_bytes([f0, f1, f2, f3])), record)
}
