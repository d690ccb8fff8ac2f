//! A remark about a text.

use std::borrow::Cow;
use std::fmt;

use crate::excerpt::Excerpt;
use crate::place::{Position, Span};

/// Something that an operator should know about a text. Whoever shows it adds the file's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// A short name of this kind of remark that does not change, if it has one: `L10`.
    pub code: Option<Cow<'static, str>>,
    /// How much it matters.
    pub severity: Severity,
    /// The piece of the text that it is about; none for what lies outside the text.
    pub place: Option<Span>,
    /// What is wrong and what is made of it, in one sentence.
    pub message: String,
    /// What to do about it, and other places that have to do with it. Shape: a line each.
    pub help: Vec<Cow<'static, str>>,
}

/// How much a diagnostic matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Good to know; nothing has to be done.
    Info,
    /// Unusual, or likely not what was meant; but what it means is clear.
    Warning,
    /// A part has no effect, or the whole text is refused.
    Error,
}

impl Severity {
    /// As compilers have it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl Diagnostic {
    /// The remark as compilers print theirs, in plain text. Shape: `file:line:column: severity[code]: message`,
    /// the line, a mark under it, a line for each help; the last line ended too. Only the file's name stands
    /// before what has no place, and no line is shown where `text` does not have it.
    pub fn render(&self, file: &str, text: &str) -> String {
        let place = self.place.map_or_else(String::new, |span| {
            let Position { line, column } = span.start;
            format!(":{line}:{column}")
        });
        let code = self.code.as_ref().map(|code| format!("[{code}]"));
        let code = code.unwrap_or_default();
        let head = format!("{file}{place}: {}{code}: {}\n", self.severity, self.message);
        let excerpt = self.place.and_then(|span| Excerpt::new(text, span));
        // Help lines up with the excerpt, whose margin depends on the line number.
        let margin = excerpt.as_ref().map_or(Excerpt::MARGIN, Excerpt::margin);
        let excerpt = excerpt.map_or_else(String::new, |excerpt| excerpt.to_string());
        let help = self.help.iter();
        let help = help.map(|help| format!("{:margin$} = {help}\n", ""));
        head + &excerpt + &help.collect::<String>()
    }
}

impl fmt::Display for Diagnostic {
    /// Shape: `line:column: message (help)`, on one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(span) = self.place {
            let Position { line, column } = span.start;
            write!(f, "{line}:{column}: ")?;
        }
        f.write_str(&self.message)?;
        match self.help.as_slice() {
            [] => Ok(()),
            help => write!(f, " ({})", help.join("; ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, place: impl Into<Option<Span>>, help: &[&'static str]) -> String {
        let remark = Diagnostic {
            code: Some("L10".into()),
            severity: Severity::Warning,
            place: place.into(),
            message: "odd".into(),
            help: help.iter().map(|help| (*help).into()).collect(),
        };
        remark.render("f", text)
    }

    const fn span(offset: u32, length: u32, line: u32, column: u32) -> Span {
        Span {
            start: Position { line, column },
            offset,
            length,
        }
    }

    #[test]
    fn the_mark_stands_below_its_place() {
        let text = "a\n\tsl: 16 # x\r\nb";
        assert_eq!(
            shown(text, span(7, 2, 2, 6), &["do", "or not"]),
            "f:2:6: warning[L10]: odd\n  2 | \tsl: 16 # x\n    | \t    ^^\n    = do\n    = or not\n"
        );
        assert_eq!(
            shown(text, None, &["do"]),
            "f: warning[L10]: odd\n    = do\n"
        );
    }

    #[test]
    fn a_span_of_lines_is_marked_to_the_end_of_the_first() {
        assert_eq!(
            shown("ab c \nd", span(3, 4, 1, 4), &[]),
            "f:1:4: warning[L10]: odd\n  1 | ab c\n    |    ^\n"
        );
    }

    #[test]
    fn long_lines_are_cut_and_odd_places_do_no_harm() {
        let text = "x".repeat(500) + "y" + &"\u{1b}".repeat(500);
        let long = shown(&text, span(500, 1, 1, 501), &[]);
        let lines: Vec<&str> = long.lines().collect();
        assert_eq!(lines[1].chars().count(), 6 + 96);
        assert_eq!(lines[1].chars().nth(lines[2].len() - 1), Some('y'));
        assert!(!long.contains('\u{1b}'));
        for odd in [
            span(9000, 5, 7, 900),
            span(0, 0, 1, 90),
            span(1001, 9, 1, 1002),
        ] {
            assert!(shown(&text, odd, &[]).starts_with("f:"));
        }
        assert!(shown("", span(0, 0, 1, 1), &[]).starts_with("f:1:1: "));
    }

    #[test]
    fn on_one_line_it_is_place_message_and_help() {
        let remark = Diagnostic {
            code: None,
            severity: Severity::Warning,
            place: Some(Span::START),
            message: "odd".into(),
            help: vec!["make it even".into()],
        };
        assert_eq!(remark.to_string(), "1:1: odd (make it even)");
    }
}
