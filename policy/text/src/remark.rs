//! A remark about inputs that may be of many files.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

use crate::diagnostic::{Diagnostic, Severity};
use crate::place::Position;

/// A file, and the place in it where that is known.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Location {
    /// The file, as its reader was given it.
    pub file: PathBuf,
    /// None for what concerns the file as a whole.
    pub at: Option<Position>,
}

impl Location {
    /// A place in a file.
    pub fn new(file: impl Into<PathBuf>, at: Position) -> Self {
        Self {
            file: file.into(),
            at: Some(at),
        }
    }

    /// A file as a whole.
    pub fn file(file: impl Into<PathBuf>) -> Self {
        Self {
            file: file.into(),
            at: None,
        }
    }
}

impl fmt::Display for Location {
    /// Shape: `file:line:column`, or `file`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        match self.at {
            Some(Position { line, column }) => write!(f, ":{line}:{column}"),
            None => Ok(()),
        }
    }
}

/// Something that an operator should know about what was read. Unlike a [`Diagnostic`], which is
/// about one text and leaves the file's name to whoever shows it, a remark stands by itself among
/// those of other files.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Remark {
    /// A short name of this kind of remark that does not change, such as `lid-moved`. Remarks of
    /// one kind are counted together. None for what has no name.
    pub code: Option<Cow<'static, str>>,
    /// How much it matters.
    pub severity: Severity,
    /// Where it is said; none for what no file says.
    pub location: Option<Location>,
    /// What is odd and what is made of it. Shape: one sentence, or several lines.
    pub message: String,
    /// What to do about it. Shape: a line each.
    pub help: Vec<Cow<'static, str>>,
}

impl Remark {
    /// A warning that no file is named for.
    pub fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code: Some(code.into()),
            severity: Severity::Warning,
            location: None,
            message: message.into(),
            help: Vec::new(),
        }
    }

    /// A warning about a place, of a kind that has no name.
    pub fn unnamed(file: impl Into<PathBuf>, at: Position, message: impl Into<String>) -> Self {
        Self {
            code: None,
            severity: Severity::Warning,
            location: Some(Location::new(file, at)),
            message: message.into(),
            help: Vec::new(),
        }
    }

    /// The same about a place.
    #[must_use]
    pub fn at(self, file: impl Into<PathBuf>, at: Position) -> Self {
        Self {
            location: Some(Location::new(file, at)),
            ..self
        }
    }

    /// The same about a file as a whole.
    #[must_use]
    pub fn in_file(self, file: impl Into<PathBuf>) -> Self {
        Self {
            location: Some(Location::file(file)),
            ..self
        }
    }

    /// What a diagnostic says, with the file that it is about.
    pub fn from_diagnostic(file: impl Into<PathBuf>, diagnostic: &Diagnostic) -> Self {
        Self {
            code: diagnostic.code.clone(),
            severity: diagnostic.severity,
            location: Some(Location {
                file: file.into(),
                at: diagnostic.place.map(|span| span.start),
            }),
            message: diagnostic.message.clone(),
            help: diagnostic.help.clone(),
        }
    }
}

impl fmt::Display for Remark {
    /// Shape: `file:line:column: message (help; help)`, as much of it as there is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(location) = &self.location {
            write!(f, "{location}: ")?;
        }
        f.write_str(&self.message)?;
        match self.help.as_slice() {
            // On one line, as a log has it.
            [] => Ok(()),
            help => write!(f, " ({})", help.join("; ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Span;

    #[test]
    fn as_much_is_shown_as_there_is() {
        let plain = Remark::warning("lid-moved", "LID 3 could not be kept");
        assert_eq!(plain.to_string(), "LID 3 could not be kept");
        let file = plain.clone().in_file("a/net");
        assert_eq!(file.to_string(), "a/net: LID 3 could not be kept");
        let at = Position { line: 3, column: 9 };
        let placed = plain.at("a/net", at);
        assert_eq!(placed.to_string(), "a/net:3:9: LID 3 could not be kept");
    }

    #[test]
    fn a_diagnostic_says_the_same_with_its_file() {
        let diagnostic = Diagnostic {
            code: Some("L10".into()),
            severity: Severity::Error,
            place: Some(Span::START),
            message: "odd".into(),
            help: vec!["make it even".into(), "or leave it out".into()],
        };
        let remark = Remark::from_diagnostic("qos.conf", &diagnostic);
        assert_eq!(remark.to_string(), format!("qos.conf:{diagnostic}"));
        assert_eq!(remark.severity, Severity::Error);
    }
}
