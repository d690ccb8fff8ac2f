//! How a verb fails, and the exit status that says so.

use std::fmt;
use std::path::Path;

use serde_json::{Value, json};

/// What a verb ends with.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

/// A verb that did not do what was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A file cannot be read or parsed, or the work failed: exit 1.
    Failed(String),
    /// Options that clap cannot judge: exit 2.
    Usage(String),
    /// Inputs understood, but the route is refused or problems were found: exit 3.
    Refused(String),
    /// Nobody answered: exit 4.
    Unreachable(String),
}

impl Failure {
    /// Exit status of wrong usage.
    pub(crate) const USAGE: u8 = 2;

    /// The exit status.
    pub(crate) const fn exit_code(&self) -> u8 {
        match self {
            Self::Failed(_) => 1,
            Self::Usage(_) => Self::USAGE,
            Self::Refused(_) => 3,
            Self::Unreachable(_) => 4,
        }
    }

    /// A failure of the work itself.
    pub(crate) fn failed(error: impl fmt::Display) -> Self {
        Self::Failed(error.to_string())
    }

    fn text(&self) -> &str {
        let (Self::Failed(text)
        | Self::Usage(text)
        | Self::Refused(text)
        | Self::Unreachable(text)) = self;
        text
    }

    /// For programs. Shape: an object with one member, `error`; in it `message`, `exit_code`,
    /// and `file`, `line` and `column`, each null where there is none.
    pub(crate) fn in_json(&self) -> Value {
        let mut answer = json!({});
        self.put_into(&mut answer);
        answer
    }

    /// The same member in an answer that says more.
    pub(crate) fn put_into(&self, answer: &mut Value) {
        let place = place(self.text());
        let error = json!({
            "message": self.text(),
            "exit_code": self.exit_code(),
            "file": place.file,
            "line": place.line,
            "column": place.column,
        });
        if let Some(fields) = answer.as_object_mut() {
            fields.insert("error".to_owned(), error);
        }
    }
}

/// Where something is wrong.
#[derive(Debug, Default, PartialEq, Eq)]
struct Place<'a> {
    file: Option<&'a str>,
    line: Option<u32>,
    column: Option<u32>,
}

/// The place that an error begins with: every error about a text begins with `file:line:column: `,
/// one about a file as a whole with `file: `.
fn place(text: &str) -> Place<'_> {
    let first = text.lines().next().unwrap_or_default();
    let ends = first.match_indices(": ");
    let heads = ends.map(|(end, _)| &first[..end]);
    for head in heads {
        let mut parts = head.rsplitn(3, ':');
        let mut number = || parts.next().and_then(|digits| digits.parse().ok());
        if let (column @ Some(_), line @ Some(_), Some(file)) = (number(), number(), parts.next()) {
            return Place {
                file: Some(file),
                line,
                column,
            };
        }
        if is_a_file(head) {
            let file = Some(head);
            return Place {
                file,
                ..Place::default()
            };
        }
    }
    Place::default()
}

/// Named on the command line, in a directory that was, or there.
fn is_a_file(head: &str) -> bool {
    let mut given = std::env::args_os().skip(1);
    given.any(|word| Path::new(head).starts_with(&word)) || Path::new(head).is_file()
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sapphire: {}", self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_found_where_there_is_one() {
        let at = |file, line, column| Place {
            file: Some(file),
            line: Some(line),
            column: Some(column),
        };
        assert_eq!(place("a/b.conf:3:14: error: no"), at("a/b.conf", 3, 14));
        assert_eq!(place("a: b:3:14: expected x"), at("a: b", 3, 14));
        let file = std::env::current_exe().unwrap();
        let file = file.to_str().unwrap();
        let whole = format!("{file}: cannot be read: it is long");
        assert_eq!(place(&whole).file, Some(file));
        for text in ["", "give --fabric", "LID 3: no such port", "1:2: x"] {
            assert_eq!(place(text), Place::default(), "{text}");
        }
    }
}
