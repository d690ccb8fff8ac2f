//! `qos-level`.
//!
//! | value | out of range |
//! |---|---|
//! | `sl` | kept: no path can have it, so the level is a dead end |
//! | `mtu-limit`, `rate-limit`, `packet-life`, `tclass` | dropped: no limit |
//! | `path-bits` | kept: no LID has such an offset |
//!
//! Each is told. To round a value would give a path that nobody asked for.

use sa_text::Spanned;
use sa_wire::{Mtu, Rate};

use super::Node;
use super::build::{append, to_ranges};
use super::tags::Tag;
use super::value::Value;
use super::values::Reader;
use crate::error::{Error, Remark};
use crate::model::dialect::Dialect;
use crate::model::{Level, LevelKey, Origin};

/// Reads the level at this position from 1. A number outside its range concerns this level alone.
///
/// Errors: RFC 0.1: neither `sn` nor name; a value that is none.
pub(super) fn level(
    reader: &mut Reader<'_>,
    block: &Node<'_>,
    position: u32,
    max_rate_code: u8,
) -> Result<Level, Error> {
    let (mut sn, mut name, mut path_bits) = (None, None, None);
    // What rules of RFC 0.2 call it, unless a name is given below.
    let place = Spanned::new(LevelKey::Position(position), block.opening);
    let mut level = Level::new(place, Origin::Written, block.span);
    for (entry, value) in block.entries()? {
        match entry.tag {
            Tag::Sn => sn = Some(reader.number(value)?),
            Tag::Name => name = Some(reader.name(value)?),
            Tag::Use => level.purpose = reader.description(value)?,
            Tag::Sl => level.sl = Some(sl(reader, value)?),
            Tag::MtuLimit => level.mtu_limit = mtu(reader, value)?,
            Tag::RateLimit => level.rate_limit = rate(reader, value, max_rate_code)?,
            Tag::PacketLife => level.packet_life = narrow(reader, value, ("packet-life", 63))?,
            Tag::TClass => level.tclass = narrow(reader, value, ("tclass", 255))?,
            Tag::FlowLabel => level.flow_label = Some(reader.flow_labels(entry, value)?),
            _ => append(&mut path_bits, reader.pairs(value)?),
        }
    }
    if let Some(key) = key(sn, name) {
        level.key = key;
    } else if reader.dialect == Dialect::Rfc01Xml {
        return Err(block.missing("sn", "qos-level"));
    }
    level.path_bits = path_bits.map(to_ranges);
    note_path_bits(reader, &level);
    Ok(level)
}

/// What rules call the level: its number goes before its name.
/// None where the position is all there is.
fn key(sn: Option<Spanned<u64>>, name: Option<Spanned<String>>) -> Option<Spanned<LevelKey>> {
    match (sn, name) {
        (Some(sn), name) => {
            let key = LevelKey::Sn {
                sn: *sn,
                name: name.map(|name| name.value),
            };
            Some(Spanned::new(key, sn.span))
        }
        (None, Some(name)) => Some(Spanned::new(LevelKey::Name(name.value), name.span)),
        (None, None) => None,
    }
}

/// One that is too large stays too large for every path.
fn sl(reader: &mut Reader<'_>, value: &Value<'_>) -> Result<Spanned<u8>, Error> {
    let number = reader.number(value)?;
    if *number > 15 {
        let remark = Remark::NoSuchSl(*number);
        reader.diagnostics.add(number.span, remark);
    }
    // Not cut to 8 bits as in OpenSM, where 256 becomes SL 0.
    let kept = u8::try_from(*number).unwrap_or(u8::MAX);
    Ok(Spanned::new(kept, number.span))
}

/// A code that stands for no MTU limits nothing, and is told.
/// None, with a remark, leaves the level without a limit.
fn mtu(reader: &mut Reader<'_>, value: &Value<'_>) -> Result<Option<Spanned<Mtu>>, Error> {
    let number = reader.number(value)?;
    let code = u8::try_from(*number).ok();
    let mtu = code.and_then(|code| Mtu::from_code(code).ok());
    if mtu.is_none() {
        let remark = Remark::NoSuchMtu(*number);
        reader.diagnostics.add(number.span, remark);
    }
    Ok(mtu.map(|mtu| Spanned::new(mtu, number.span)))
}

/// The examples of both RFCs have code 1, which is no rate.
fn rate(
    reader: &mut Reader<'_>,
    value: &Value<'_>,
    most: u8,
) -> Result<Option<Spanned<Rate>>, Error> {
    let number = reader.number(value)?;
    let code = u8::try_from(*number).ok().filter(|code| *code <= most);
    let rate = code.and_then(|code| Rate::from_code(code).ok());
    if rate.is_none() {
        let remark = Remark::NoSuchRate(*number);
        reader.diagnostics.add(number.span, remark);
    }
    Ok(rate.map(|rate| Spanned::new(rate, number.span)))
}

/// A number of few bits; a larger one counts as none.
/// `what` and `most` are for the remark: the keyword, and the largest number that fits.
fn narrow(
    reader: &mut Reader<'_>,
    value: &Value<'_>,
    (what, most): (&'static str, u8),
) -> Result<Option<Spanned<u8>>, Error> {
    let number = reader.number(value)?;
    let kept = u8::try_from(*number).ok().filter(|kept| *kept <= most);
    if kept.is_none() {
        let remark = Remark::LevelValue {
            what,
            value: *number,
            most: most.into(),
        };
        reader.diagnostics.add(number.span, remark);
    }
    Ok(kept.map(|kept| Spanned::new(kept, number.span)))
}

/// LMC has three bits, so that no port has path bits over 127.
/// LMC is not known here: that a bit fits the fabric's own is for lint.
fn note_path_bits(reader: &mut Reader<'_>, level: &Level) {
    let Some(bits) = &level.path_bits else { return };
    if let Some((_, last)) = bits.pairs().last().filter(|(_, last)| *last > 127) {
        reader.diagnostics.add(bits.span, Remark::PathBits(*last));
    }
}
