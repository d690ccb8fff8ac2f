//! `qos-setup`: checked as far as OpenSM does.
//!
//! OpenSM parses the section, checks its grammar and a few numbers, and throws it away. It is kept
//! here, as `sapphire setup` shows the tables that would follow.
//!
//! ```text
//! vlarb-scope
//!     group: storage
//!     vlarb-high: 0:64, 2:128      VL:weight, not checked
//!     vl-high-limit: 10
//! end-vlarb-scope
//! sl2vl-scope
//!     across-to: storage           groups by name, not looked up
//!     from: 1-18                   input ports, up to 127; `*` for any
//!     sl2vl-table: 0,1,2,3,0,0,0,0,0,0,0,0,0,0,0,15
//! end-sl2vl-scope
//! ```

use sa_text::{Span, Spanned};

use super::cursor::{Cursor, out_of_range, set_once};
use super::token::{Block, Key, Kind};
use crate::error::{Error, Problem};
use crate::model::ranges::Ranges;
use crate::model::{Setup, Sl2VlScope, VlArbScope};

/// The whole section; it and its tables may be empty.
pub(super) fn section(cursor: &mut Cursor<'_>, setup: &mut Setup) -> Result<(), Error> {
    let start = cursor.bump().span;
    loop {
        match cursor.kind() {
            Kind::Start(Block::VlArbTables) => {
                cursor.bump();
                while let Some(scope) = cursor.accept(Kind::Start(Block::VlArbScope)) {
                    setup.vlarb.push(vlarb_scope(cursor, scope.span)?);
                }
                let end = Kind::End(Block::VlArbTables);
                cursor.expect(end, "vlarb-scope or end-vlarb-tables")?;
            }
            Kind::Start(Block::Sl2VlTables) => {
                cursor.bump();
                while let Some(scope) = cursor.accept(Kind::Start(Block::Sl2VlScope)) {
                    setup.sl2vl.push(sl2vl_scope(cursor, scope.span)?);
                }
                let end = Kind::End(Block::Sl2VlTables);
                cursor.expect(end, "sl2vl-scope or end-sl2vl-tables")?;
            }
            _ => break,
        }
    }
    let expected = "vlarb-tables, sl2vl-tables or end-qos-setup";
    let end = cursor.expect(Kind::End(Block::Setup), expected)?.span;
    // Whatever is odd inside is about set-up, and nothing that answers depend on.
    setup.spans.push(start.to(end));
    Ok(())
}

/// VL arbitration of some ports. OpenSM checks no number here, and neither does this. Errors: no group.
/// Lists add up over several lines of one keyword.
fn vlarb_scope(cursor: &mut Cursor<'_>, start: Span) -> Result<VlArbScope, Error> {
    const ENTRIES: &str =
        "group:, across:, vlarb-high:, vlarb-low:, vl-high-limit: or end-vlarb-scope";
    let mut scope = VlArbScope::new(start);
    loop {
        match cursor.kind() {
            Kind::Key(Key::Group) => append_names(cursor, &mut scope.groups)?,
            Kind::Key(Key::Across) => append_names(cursor, &mut scope.across)?,
            Kind::Key(Key::VlArbHigh) => append_weights(cursor, &mut scope.high)?,
            Kind::Key(Key::VlArbLow) => append_weights(cursor, &mut scope.low)?,
            Kind::Key(Key::VlHighLimit) => {
                cursor.bump();
                // The last counts; OpenSM lets it be repeated.
                scope.high_limit = Some(*cursor.number()?);
            }
            _ => break,
        }
    }
    let end = cursor.expect(Kind::End(Block::VlArbScope), ENTRIES)?.span;
    scope.span = start.to(end);
    if scope.groups.is_empty() && scope.across.is_empty() {
        return Err(missing(start, "group or across", "vlarb-scope"));
    }
    Ok(scope)
}

/// SL to VL mapping of some ports. Errors: no group, no table, a port or VL out of range.
/// `from` and `to` that are absent mean any port.
fn sl2vl_scope(cursor: &mut Cursor<'_>, start: Span) -> Result<Sl2VlScope, Error> {
    const ENTRIES: &str = "group:, across:, across-from:, across-to:, from:, to:, sl2vl-table: \
         or end-sl2vl-scope";
    let (mut groups, mut across) = (Vec::new(), Vec::new());
    let (mut across_from, mut across_to) = (Vec::new(), Vec::new());
    let (mut from, mut to) = (Ranges::default(), Ranges::default());
    let mut table = None;
    loop {
        let at = cursor.span();
        match cursor.kind() {
            Kind::Key(Key::Group) => append_names(cursor, &mut groups)?,
            Kind::Key(Key::AcrossFrom) => append_names(cursor, &mut across_from)?,
            Kind::Key(Key::AcrossTo) => append_names(cursor, &mut across_to)?,
            Kind::Key(Key::Across) => append_names(cursor, &mut across)?,
            Kind::Key(Key::From) => append_ports(cursor, &mut from)?,
            Kind::Key(Key::To) => append_ports(cursor, &mut to)?,
            Kind::Key(Key::Sl2VlTable) => {
                cursor.bump();
                set_once(
                    &mut table,
                    vl_table(cursor)?,
                    at,
                    "sl2vl-table",
                    "sl2vl-scope",
                )?;
            }
            _ => break,
        }
    }
    let end = cursor.expect(Kind::End(Block::Sl2VlScope), ENTRIES)?.span;
    let table = table.ok_or_else(|| missing(start, "sl2vl-table", "sl2vl-scope"))?;
    // OpenSM does not look names up, but it wants one.
    if [&groups, &across, &across_from, &across_to]
        .iter()
        .all(|names| names.is_empty())
    {
        return Err(missing(
            start,
            "group, across-to or across-from",
            "sl2vl-scope",
        ));
    }
    Ok(Sl2VlScope {
        groups,
        across,
        across_from,
        across_to,
        from,
        to,
        table,
        skipped: None,
        span: start.to(end),
    })
}

/// A block without something that it needs.
const fn missing(at: Span, what: &'static str, block: &'static str) -> Error {
    Error::new(at, Problem::Missing { what, block })
}

/// Names behind a keyword, added to those of an earlier one.
fn append_names(cursor: &mut Cursor<'_>, names: &mut Vec<Spanned<String>>) -> Result<(), Error> {
    cursor.bump();
    names.append(&mut cursor.names()?);
    Ok(())
}

/// Pairs of VL and weight.
fn append_weights(cursor: &mut Cursor<'_>, weights: &mut Vec<(u64, u64)>) -> Result<(), Error> {
    cursor.bump();
    loop {
        let vl = *cursor.number()?;
        cursor.expect(Kind::Colon, "':' and the VL's weight")?;
        weights.push((vl, *cursor.number()?));
        if cursor.accept(Kind::Comma).is_none() {
            return Ok(());
        }
    }
}

/// Switch ports; an asterisk means all that there can be.
/// Errors: a number over 127, which OpenSM refuses for the whole file.
fn append_ports(cursor: &mut Cursor<'_>, ports: &mut Ranges) -> Result<(), Error> {
    cursor.bump();
    if cursor.accept(Kind::Asterisk).is_some() {
        // Written as OpenSM has it; `Setup::is_any_port` knows that all ports are meant.
        ports.extend(&Ranges::new([(0, LAST_PORT)]));
        return Ok(());
    }
    let listed = cursor.ranges()?;
    match listed.pairs().iter().find(|(_, high)| *high > LAST_PORT) {
        Some((_, high)) => Err(out_of_range(
            Spanned::new(*high, listed.span),
            "port number",
            0,
            LAST_PORT,
        )),
        None => {
            ports.extend(&listed.value);
            Ok(())
        }
    }
}

/// The largest port number OpenSM takes here.
const LAST_PORT: u64 = 127;

/// Sixteen VLs by SL. Errors: another number of them; one over 15.
fn vl_table(cursor: &mut Cursor<'_>) -> Result<[u8; 16], Error> {
    let at = cursor.span();
    let values = cursor.numbers()?;
    let span = values.last().map_or(at, |last| at.to(last.span));
    let mut table = [0; 16];
    // RFC 0.2 pads a short table; OpenSM's grammar counts sixteen.
    if values.len() != table.len() {
        let found = values.len();
        return Err(Error::new(span, Problem::TableLength { found }));
    }
    for (entry, value) in table.iter_mut().zip(values) {
        if *value > 15 {
            return Err(out_of_range(value, "VL", 0, 15));
        }
        *entry = value.value.to_le_bytes()[0];
    }
    Ok(table)
}
