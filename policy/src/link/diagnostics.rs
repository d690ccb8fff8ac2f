//! What is wrong with parts of a policy that is accepted as a whole.
//!
//! Parsers of the RFC dialects go on after a fault and collect. OpenSM's stops at the first, so its
//! list stays empty.
//!
//! ```text
//! note at byte 40 (parser), note at byte 12 (linker)      told in the order 12, 40
//! ```

use sa_text::{Span, Spanned};

use crate::error::Remark;

/// Remarks about one file.
/// Up to 1,001: the last says that there are more.
#[derive(Debug, Default)]
pub(crate) struct Diagnostics {
    list: Vec<Spanned<Remark>>,
}

/// Enough for people; a hostile file must not fill memory with remarks.
const MOST: usize = 1000;

impl Diagnostics {
    /// Adds a remark, unless there are very many.
    pub(crate) fn add(&mut self, span: Span, remark: Remark) {
        match self.list.len() {
            ..MOST => self.list.push(Spanned::new(remark, span)),
            MOST => self.list.push(Spanned::new(Remark::More, span)),
            _ => {}
        }
    }

    /// True when more is only counted as more.
    pub(crate) const fn is_full(&self) -> bool {
        self.list.len() >= MOST
    }

    /// All of them in the order of the file.
    pub(crate) fn into_list(mut self) -> Vec<Spanned<Remark>> {
        // Linking tells of levels and scopes after all rules were read. Stable for remarks at one
        // place.
        self.list.sort_by_key(|remark| remark.span.offset);
        self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_bounded_and_in_order() {
        let mut diagnostics = Diagnostics::default();
        for offset in (0..2000).rev() {
            let span = Span {
                offset,
                ..Span::START
            };
            diagnostics.add(span, Remark::BareAmpersand);
        }
        let list = diagnostics.into_list();
        assert_eq!(list.len(), MOST + 1);
        assert!(list.is_sorted_by_key(|remark| remark.span.offset));
        assert!(list.iter().any(|remark| remark.value == Remark::More));
        assert_eq!(
            Remark::diagnostic(&list[5]).to_string(),
            "1:1: a bare '&' is taken as it is (write &amp;)"
        );
    }
}
