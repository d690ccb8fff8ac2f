//! `reserved-sl`: SLs that something uses without asking.
//!
//! An MPI library whose SL is set by hand never asks the SA, so no rule can keep others off its SL.
//! The statement says which SL that is; lint tells of levels that give it to somebody else.

use sa_text::Spanned;

use crate::error::UlpError;
use crate::model::ReservedSl;
use crate::model::ranges::Ranges;
use crate::services::Scan;

/// SLs and what they are kept for: `3 mpi`, `3-4 mpi`.
/// Errors: an SL over 15, no name, more than one word behind the SLs.
pub(crate) fn parse(value: Spanned<&str>) -> Result<ReservedSl, UlpError> {
    let mut scan = Scan::new(value.value);
    let sls = scan.ranges("SL", 15)?;
    let name = scan.word();
    let name = name.ok_or_else(|| scan.unexpected("what the SL is kept for, as in 3 mpi"))?;
    // `3 mpi library` is refused: a name is one word, by which reports call it.
    if !scan.is_at_end() {
        return Err(scan.unexpected("one word"));
    }
    Ok(ReservedSl {
        sls: Ranges::new(sls),
        name: name.to_ascii_lowercase(),
        span: value.span,
    })
}
