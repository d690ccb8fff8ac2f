//! The three languages of policies.
//!
//! | | OpenSM | RFC 0.2 | RFC 0.1 |
//! |---|---|---|---|
//! | form | stream of tokens | a statement a line | XML, loosely |
//! | levels | by name | by position, or by name | by `sn` |
//! | shorthand | `qos-ulps` | - | - |
//! | a value out of range | mostly refuses the file | leaves out a part | leaves out a part |
//! | default level | must exist | built in if absent | built in if absent |
//!
//! The words of options are here as well, since each is one of a few and refused alike.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A language that policies are written in.
/// Told from the text by [`crate::dialect`] where nobody names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// The text that OpenSM reads.
    OpenSm,
    /// The text of RFC 0.2, July 2007: levels by number, one statement a line.
    /// Looks much like OpenSM's; what it lacks and has more tells the two apart.
    Rfc02Text,
    /// The XML of RFC 0.1, May 2006.
    Rfc01Xml,
}

impl Dialect {
    /// All of them, in the order in which messages list them.
    pub const ALL: [Self; 3] = [Self::OpenSm, Self::Rfc02Text, Self::Rfc01Xml];

    /// Its name on command lines, which [`Self::from_str`] reads.
    pub const fn word(self) -> &'static str {
        match self {
            Self::OpenSm => "opensm",
            Self::Rfc02Text => "text",
            Self::Rfc01Xml => "xml",
        }
    }

    /// Its name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenSm => "OpenSM",
            Self::Rfc02Text => "RFC 0.2 (text)",
            Self::Rfc01Xml => "RFC 0.1 (XML)",
        }
    }

    /// True for the languages of the RFCs.
    /// Where values out of range are remarked upon instead of refusing the file.
    pub const fn is_rfc(self) -> bool {
        !matches!(self, Self::OpenSm)
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A word that stands for none of the choices.
/// Lists what there is, since words are few.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("there is no {what} {word:?}; choose one of {choices}")]
pub struct UnknownWord {
    /// What the word should have chosen.
    pub what: &'static str,
    /// The word as it was given.
    pub word: String,
    /// The words that there are, with commas between.
    pub choices: String,
}

/// The choice whose word this is.
/// Exact: `First` is no `first`.
pub(crate) fn choice<T: Copy>(
    what: &'static str,
    word: &str,
    choices: &[T],
    word_of: fn(T) -> &'static str,
) -> Result<T, UnknownWord> {
    let found = choices.iter().find(|choice| word_of(**choice) == word);
    found.copied().ok_or_else(|| UnknownWord {
        what,
        word: word.to_owned(),
        choices: choices
            .iter()
            .map(|choice| word_of(*choice))
            .collect::<Vec<_>>()
            .join(", "),
    })
}

impl FromStr for Dialect {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        choice("policy dialect", word, &Self::ALL, Self::word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_dialects_agree() {
        for dialect in Dialect::ALL {
            assert_eq!(dialect.word().parse(), Ok(dialect));
        }
        let error = "html".parse::<Dialect>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "there is no policy dialect \"html\"; choose one of opensm, text, xml"
        );
    }
}
