//! `qos-level`.

use sa_text::Spanned;
use sa_wire::{Mtu, Rate};

use super::Node;
use super::build::{append, to_ranges};
use super::tags::Tag;
use super::value::Value;
use super::values::Reader;
use crate::error::Error;
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
            Tag::PacketLife => level.packet_life = packet_life(reader, value)?,
            Tag::TClass => level.tclass = tclass(reader, value)?,
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
        reader.diagnostics.error(
            number.span,
            format!(
                "there is no SL {}; queries that get this level find no path",
                *number
            ),
            "choose an SL from 0 to 15",
        );
    }
    let kept = u8::try_from(*number).unwrap_or(u8::MAX);
    Ok(Spanned::new(kept, number.span))
}

fn mtu(reader: &mut Reader<'_>, value: &Value<'_>) -> Result<Option<Spanned<Mtu>>, Error> {
    let number = reader.number(value)?;
    let code = u8::try_from(*number).ok();
    let mtu = code.and_then(|code| Mtu::from_code(code).ok());
    if mtu.is_none() {
        reader.diagnostics.error(
            number.span,
            format!(
                "there is no MTU code {}; the level has no MTU limit",
                *number
            ),
            "MTU codes are 1 = 256, 2 = 512, 3 = 1024, 4 = 2048, 5 = 4096 bytes",
        );
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
    let text = || {
        format!(
            "there is no rate code {}; the level has no rate limit",
            *number
        )
    };
    let remedy = "rate codes are 2 to 22 in OpenSM 3.3.23 and 2 to 24 in 3.3.24";
    match (rate, *number) {
        (Some(_), _) => {}
        (None, 0 | 1) => reader.diagnostics.warn(number.span, text(), remedy),
        (None, _) => reader.diagnostics.error(number.span, text(), remedy),
    }
    Ok(rate.map(|rate| Spanned::new(rate, number.span)))
}

fn packet_life(reader: &mut Reader<'_>, value: &Value<'_>) -> Result<Option<Spanned<u8>>, Error> {
    let number = reader.number(value)?;
    let kept = narrow(*number, 63);
    if kept.is_none() {
        reader.diagnostics.error(
            number.span,
            format!("packet-life {} is over 63; the level sets none", *number),
            "choose 0 to 63 for 4.096 microseconds times 2 to that power",
        );
    }
    Ok(kept.map(|kept| Spanned::new(kept, number.span)))
}

fn tclass(reader: &mut Reader<'_>, value: &Value<'_>) -> Result<Option<Spanned<u8>>, Error> {
    let number = reader.number(value)?;
    let kept = narrow(*number, 255);
    if kept.is_none() {
        reader.diagnostics.error(
            number.span,
            format!("tclass {} is over 255; the level sets none", *number),
            "choose a traffic class from 0 to 255",
        );
    }
    Ok(kept.map(|kept| Spanned::new(kept, number.span)))
}

fn narrow(number: u64, most: u8) -> Option<u8> {
    u8::try_from(number).ok().filter(|kept| *kept <= most)
}

fn note_path_bits(reader: &mut Reader<'_>, level: &Level) {
    let Some(bits) = &level.path_bits else { return };
    if let Some((_, last)) = bits.pairs().last().filter(|(_, last)| *last > 127) {
        reader.diagnostics.error(
            bits.span,
            format!("path bits {last} are over 127, which no port has"),
            "name path bits under 2 to the power of the LMC",
        );
    }
}
