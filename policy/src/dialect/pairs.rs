//! Number ranges that several keywords of one name give together.

use sa_text::Spanned;

use crate::model::ranges::Ranges;

/// Adds to what an earlier keyword of the same name gave.
pub(crate) fn append(
    slot: &mut Option<Spanned<Vec<(u64, u64)>>>,
    mut more: Spanned<Vec<(u64, u64)>>,
) {
    match slot {
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
