//! What is wrong with parts of a policy that is accepted as a whole.

use std::borrow::Cow;
use std::fmt;

use crate::error::Span;

/// A remark of a parser. Whoever shows it adds the file's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Where.
    pub span: Span,
    /// What, and what is made of it, in a sentence.
    pub text: String,
    /// What to do about it.
    pub remedy: Option<Cow<'static, str>>,
}

/// How bad something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Unusual form, but what it means is clear.
    Warning,
    /// A part has no effect, or not the one it seems to ask for.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

impl fmt::Display for Diagnostic {
    /// Shape: `line:column: text (remedy)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Span { line, column, .. } = self.span;
        write!(f, "{line}:{column}: {}", self.text)?;
        match &self.remedy {
            Some(remedy) => write!(f, " ({remedy})"),
            None => Ok(()),
        }
    }
}

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

    fn add(&mut self, severity: Severity, span: Span, text: String, remedy: Cow<'static, str>) {
        let full = self.list.len() == MOST;
        if full {
            self.list.push(Diagnostic {
                severity,
                span,
                text: String::from("there is more like this, which is not listed"),
                remedy: None,
            });
        } else if self.list.len() < MOST {
            self.list.push(Diagnostic {
                severity,
                span,
                text,
                remedy: Some(remedy),
            });
        }
    }

    /// All of them in the order of the file.
    pub(crate) fn into_list(mut self) -> Vec<Diagnostic> {
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
            diagnostics.warn(span, "odd", "make it even");
        }
        let list = diagnostics.into_list();
        assert_eq!(list.len(), MOST + 1);
        assert!(list.is_sorted_by_key(|remark| remark.span.offset));
        assert_eq!(list[5].to_string(), "1:1: odd (make it even)");
    }
}
