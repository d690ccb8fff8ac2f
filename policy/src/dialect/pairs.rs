//! Number ranges that several keywords of one name give together.
//!
//! Kept as pairs in the order of the file until the block is complete, since merging them at each
//! keyword would be quadratic in a hostile file.

use sa_text::Spanned;

use crate::model::criterion::Field;
use crate::model::ranges::Ranges;
use crate::services::Criteria;

/// What keywords of one name gave so far. Shape: inclusive, as written.
pub(crate) type Pairs = Option<Spanned<Vec<(u64, u64)>>>;

/// Adds to what an earlier keyword of the same name gave.
/// The place of the whole runs from the first keyword's values to the last's.
pub(crate) fn append(slot: &mut Pairs, mut more: Spanned<Vec<(u64, u64)>>) {
    match slot {
        // In the order of the file; `Ranges` does not care.
        Some(pairs) => {
            pairs.value.append(&mut more.value);
            pairs.span = pairs.span.to(more.span);
        }
        None => *slot = Some(more),
    }
}

/// What all keywords of one name gave together.
pub(crate) fn to_ranges(pairs: Spanned<Vec<(u64, u64)>>) -> Spanned<Ranges> {
    Spanned::new(Ranges::new(pairs.value), pairs.span)
}

impl Criteria {
    /// The field that services by name stand for, and its numbers.
    pub(crate) fn in_field(self) -> (Field, Vec<(u64, u64)>) {
        match self {
            Self::ServiceIds(ids) => (Field::ServiceId, ids),
            Self::Pkeys(bases) => (Field::Pkey, bases),
        }
    }
}
