//! `vlarb-scope` and `sl2vl-scope`.
//!
//! A scope with a fault in itself is left out with a remark and the others stand: answers do not
//! depend on it. Groups and ranges are judged in `crate::link`.
//!
//! ```text
//! sl2vl-table: 0,1,2           RFC 0.2: 0 for the other thirteen, told
//! sl2vl-table: 15 values       RFC 0.1's own example: the sixteenth is open, 0 is taken, told
//! sl2vl-table: 17 values       left out, with the whole scope
//! ```

use sa_text::Spanned;

use super::Node;
use super::tags::Tag;
use super::value::Value;
use super::values::Reader;
use crate::error::{Error, Remark, VLARB_SCOPE};
use crate::model::dialect::Dialect;
use crate::model::ranges::Ranges;
use crate::model::{Sl2VlScope, VlArbScope};

/// Reads a scope; none, with an error noted, when it applies to nothing. Errors: a value that is
/// none.
/// Numbers are kept as wide as they are written.
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
            // An entry that may be repeated: the last counts, as in OpenSM.
            _ => scope.high_limit = Some(*reader.number(value)?),
        }
    }
    if scope.groups.is_empty() && scope.across.is_empty() {
        let remark = empty_scope(VLARB_SCOPE, "group or across");
        reader.diagnostics.add(block.opening, remark);
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
    // A table that was read and found wrong was told already, and the scope goes with it.
    let lacks = match table {
        None => "sl2vl-table",
        Some(_) if !has_group => "group or across",
        Some(table) => return Ok(table.map(|table| Sl2VlScope { table, ..scope })),
    };
    let remark = empty_scope("sl2vl-scope", lacks);
    reader.diagnostics.add(block.opening, remark);
    Ok(None)
}

/// A scope that is skipped because it says too little.
/// Points at the word that opens the block.
const fn empty_scope(scope: &'static str, lacks: &'static str) -> Remark {
    Remark::EmptyScope { scope, lacks }
}

/// VLs by SL. RFC 0.2 has 0 for those that are missing; RFC 0.1, whose example lacks one, says
/// nothing.
/// None for a table that is no good, which was told.
fn vl_table(reader: &mut Reader<'_>, value: &Value<'_>) -> Result<Option<[u8; 16]>, Error> {
    let values = reader.numbers(value)?;
    let (first, last) = match (values.first(), values.last()) {
        (Some(first), Some(last)) => (first.span, last.span),
        _ => return Ok(None),
    };
    let span = first.to(last);
    if let Some(vl) = values.iter().find(|vl| vl.value > 15) {
        let remark = Remark::NoSuchVl(vl.value);
        reader.diagnostics.add(vl.span, remark);
        return Ok(None);
    }
    // Zero for SLs that are not listed, as RFC 0.2 says.
    let mut table = [0; 16];
    let found = values.len();
    if found > table.len() {
        let remark = Remark::LongTable { values: found };
        reader.diagnostics.add(span, remark);
        return Ok(None);
    }
    if found < table.len() {
        let remark = Remark::ShortTable {
            values: found,
            is_left_open: reader.dialect == Dialect::Rfc01Xml,
        };
        reader.diagnostics.add(span, remark);
    }
    for (entry, vl) in table.iter_mut().zip(&values) {
        *entry = low_byte(vl);
    }
    Ok(Some(table))
}

/// VLs were checked to be under 16.
const fn low_byte(number: &Spanned<u64>) -> u8 {
    number.value.to_le_bytes()[0]
}
