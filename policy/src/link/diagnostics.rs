//! What is wrong with parts of a policy that is accepted as a whole.

use std::borrow::Cow;

use sa_text::{Diagnostic, Severity, Span};

/// Diagnostics of one file.
#[derive(Debug, Default)]
pub(crate) struct Diagnostics {
    list: Vec<Diagnostic>,
}

/// Enough for people; a hostile file must not fill memory with remarks.
const MOST: usize = 1000;

impl Diagnostics {
    /// Adds a warning.
    pub(crate) fn warn(
        &mut self,
        span: Span,
        text: impl Into<String>,
        remedy: impl Into<Cow<'static, str>>,
    ) {
        self.add(Severity::Warning, span, text.into(), remedy.into());
    }

    /// Adds an error.
    pub(crate) fn error(
        &mut self,
        span: Span,
        text: impl Into<String>,
        remedy: impl Into<Cow<'static, str>>,
    ) {
        self.add(Severity::Error, span, text.into(), remedy.into());
    }

    /// True when more is only counted as more.
    pub(crate) const fn is_full(&self) -> bool {
        self.list.len() >= MOST
    }

    fn add(&mut self, severity: Severity, place: Span, text: String, remedy: Cow<'static, str>) {
        let (message, help) = match self.list.len() {
            ..MOST => (text, vec![remedy]),
            MOST => (
                String::from("there is more like this, which is not listed"),
                Vec::new(),
            ),
            _ => return,
        };
        self.list.push(Diagnostic {
            code: None,
            severity,
            place: Some(place),
            message,
            help,
        });
    }

    /// All of them in the order of the file.
    pub(crate) fn into_list(mut self) -> Vec<Diagnostic> {
        self.list
            .sort_by_key(|remark| remark.place.map(|span| span.offset));
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
            diagnostics.warn(span, "odd", "make it even");
        }
        let list = diagnostics.into_list();
        assert_eq!(list.len(), MOST + 1);
        assert!(list.is_sorted_by_key(|remark| remark.place.map(|span| span.offset)));
        assert_eq!(list[5].to_string(), "1:1: odd (make it even)");
    }
}
