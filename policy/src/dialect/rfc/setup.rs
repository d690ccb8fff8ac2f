//! `vlarb-scope` and `sl2vl-scope`.

use sa_text::Spanned;

use super::Node;
use super::tags::Tag;
use super::value::Value;
use super::values::Reader;
use crate::error::Error;
use crate::model::dialect::Dialect;
use crate::model::ranges::Ranges;
use crate::model::{Sl2VlScope, VlArbScope};

/// Reads a scope; none, with an error noted, when it applies to nothing. Errors: a value that is
/// none.
pub(super) fn vlarb_scope(
    reader: &mut Reader<'_>,
    block: &Node<'_>,
) -> Result<Option<VlArbScope>, Error> {
    let mut scope = VlArbScope::new(block.span);
    for (entry, value) in block.entries()? {
        match entry.tag {
            Tag::Group => scope.groups.append(&mut reader.names(value)?),
            Tag::Across => scope.across.append(&mut reader.names(value)?),
            Tag::To => scope.to.extend(&reader.ports(value)?),
            Tag::VlArbHigh => scope.high.append(&mut reader.weights(value)?),
            Tag::VlArbLow => scope.low.append(&mut reader.weights(value)?),
            _ => scope.high_limit = Some(*reader.number(value)?),
        }
    }
    if scope.groups.is_empty() && scope.across.is_empty() {
        reader.diagnostics.error(
            block.opening,
            "vlarb-scope has no group or across; it is skipped",
            "name the ports that it is for",
        );
        return Ok(None);
    }
    Ok(Some(scope))
}

/// Reads a scope; none, with an error noted, when it applies to nothing or its table is none.
/// Errors: a value that is none.
pub(super) fn sl2vl_scope(
    reader: &mut Reader<'_>,
    block: &Node<'_>,
) -> Result<Option<Sl2VlScope>, Error> {
    let mut scope = Sl2VlScope {
        groups: Vec::new(),
        across: Vec::new(),
        across_from: Vec::new(),
        across_to: Vec::new(),
        from: Ranges::default(),
        to: Ranges::default(),
        table: [0; 16],
        skipped: None,
        span: block.span,
    };
    let mut table = None;
    for (entry, value) in block.entries()? {
        match entry.tag {
            Tag::Group => scope.groups.append(&mut reader.names(value)?),
            Tag::Across => scope.across.append(&mut reader.names(value)?),
            Tag::AcrossFrom => scope.across_from.append(&mut reader.names(value)?),
            Tag::AcrossTo => scope.across_to.append(&mut reader.names(value)?),
            Tag::From => scope.from.extend(&reader.ports(value)?),
            Tag::To => scope.to.extend(&reader.ports(value)?),
            _ => table = Some(vl_table(reader, value)?),
        }
    }
    let has_group = scope.group_names().next().is_some();
    let missing = match table {
        None => "sl2vl-scope has no sl2vl-table; it is skipped",
        Some(_) if !has_group => "sl2vl-scope has no group or across; it is skipped",
        Some(table) => return Ok(table.map(|table| Sl2VlScope { table, ..scope })),
    };
    let remedy = "name the ports that it is for, and the VL of each SL";
    reader.diagnostics.error(block.opening, missing, remedy);
    Ok(None)
}

/// VLs by SL. RFC 0.2 has 0 for those that are missing; RFC 0.1, whose example lacks one, says
/// nothing.
fn vl_table(reader: &mut Reader<'_>, value: &Value<'_>) -> Result<Option<[u8; 16]>, Error> {
    let values = reader.numbers(value)?;
    let (first, last) = match (values.first(), values.last()) {
        (Some(first), Some(last)) => (first.span, last.span),
        _ => return Ok(None),
    };
    let span = first.to(last);
    if let Some(vl) = values.iter().find(|vl| vl.value > 15) {
        reader.diagnostics.error(
            vl.span,
            format!("there is no VL {}; the scope is skipped", vl.value),
            "choose VLs from 0 to 14, or 15 to drop packets",
        );
        return Ok(None);
    }
    let mut table = [0; 16];
    if values.len() > table.len() {
        reader.diagnostics.error(
            span,
            format!(
                "sl2vl-table has {} values; the scope is skipped",
                values.len()
            ),
            "give the VL of each SL, 0 to 15",
        );
        return Ok(None);
    }
    if values.len() < table.len() {
        note_padding(reader, values.len(), span);
    }
    for (entry, vl) in table.iter_mut().zip(&values) {
        *entry = low_byte(vl);
    }
    Ok(Some(table))
}

fn note_padding(reader: &mut Reader<'_>, found: usize, span: sa_text::Span) {
    let source = match reader.dialect {
        Dialect::Rfc01Xml => ", which RFC 0.1 leaves open",
        _ => "",
    };
    reader.diagnostics.warn(
        span,
        format!("sl2vl-table has {found} values; the other SLs get VL 0{source}"),
        "give the VL of each SL, 0 to 15",
    );
}

const fn low_byte(number: &Spanned<u64>) -> u8 {
    number.value.to_le_bytes()[0]
}
