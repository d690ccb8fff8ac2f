//! `reserved-sl`: SLs that something uses without asking.

use crate::error::{Span, Spanned};
use crate::model::ReservedSl;
use crate::ranges::Ranges;
use crate::ulps::{Scan, UlpError};

/// SLs and what they are kept for: `3 mpi`, `3-4 mpi`.
pub(crate) fn parse(value: Spanned<&str>) -> Result<ReservedSl, UlpError> {
    let mut scan = Scan::new(value.value);
    let sls = scan.ranges("SL", 15)?;
    let name = scan.word();
    let name = name.ok_or_else(|| scan.unexpected("what the SL is kept for, as in 3 mpi"))?;
    if !scan.is_at_end() {
        return Err(scan.unexpected("one word"));
    }
    Ok(ReservedSl {
        sls: Ranges::new(sls),
        name: name.to_ascii_lowercase(),
        span: value.span,
    })
}

/// Where a piece of one line's text stands that begins at `start`. Units of `at` and `length`:
/// bytes.
pub(crate) fn piece(text: &str, start: Span, at: usize, length: usize) -> Span {
    let narrow = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let before = text.get(..at).unwrap_or(text);
    Span {
        offset: start.offset.saturating_add(narrow(before.len())),
        length: narrow(length),
        line: start.line,
        column: start.column.saturating_add(narrow(before.chars().count())),
    }
}
