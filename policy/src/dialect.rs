//! The three languages of policies, and what tells them apart.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A policy language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// The text that OpenSM reads.
    OpenSm,
    /// The text of RFC 0.2, July 2007: levels by number, one statement a line.
    Rfc02Text,
    /// The XML of RFC 0.1, May 2006.
    Rfc01Xml,
}

impl Dialect {
    /// All of them.
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
    pub const fn is_rfc(self) -> bool {
        !matches!(self, Self::OpenSm)
    }

    /// The language that a text looks like, broken ones too: XML when it begins with `<`; RFC 0.2
    /// when a rule names a `qos-level-sn` or a level has no `name`; else OpenSM's.
    pub fn detect(text: &str) -> Self {
        let start = text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
        if start.starts_with('<') {
            return Self::Rfc01Xml;
        }
        match level_by_number(text).is_some() || has_nameless_level(text) {
            true => Self::Rfc02Text,
            false => Self::OpenSm,
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A word that stands for none of the choices.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("there is no {what} {word:?}; choose one of {choices}")]
pub struct UnknownWord {
    /// Of what.
    pub what: &'static str,
    /// As given.
    pub word: String,
    /// What there is.
    pub choices: String,
}

/// The choice whose word this is.
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

/// The keyword by which rules of RFC 0.2 refer to a level's place; OpenSM's refer to names.
pub(crate) const LEVEL_BY_NUMBER: &str = "qos-level-sn";

/// Where a line begins with the keyword. Units: bytes.
pub(crate) fn level_by_number(text: &str) -> Option<usize> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let word = line.trim_start_matches([' ', '\t']);
        if word.starts_with(LEVEL_BY_NUMBER) {
            return Some(at + line.len() - word.len());
        }
        at += line.len();
    }
    None
}

/// Goes by words, as OpenSM allows several statements on a line; descriptions are passed over.
fn has_nameless_level(text: &str) -> bool {
    let mut named = None;
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default();
        let statement = line.split("use:").next().unwrap_or_default();
        for word in statement.split([' ', '\t', '\r']) {
            match word {
                "qos-level" => named = Some(false),
                "end-qos-level" if named == Some(false) => return true,
                "end-qos-level" => named = None,
                _ if word == "name" || word.starts_with("name:") => named = named.map(|_| true),
                _ => {}
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dialects_are_told_apart() {
        let level = |entry: &str| format!("qos-levels\nqos-level\n{entry}\nend-qos-level\n");
        for (text, dialect) in [
            (" \n\u{feff}<?xml?>".to_owned(), Dialect::Rfc01Xml),
            (String::new(), Dialect::OpenSm),
            (level("name: a\nsl: 1"), Dialect::OpenSm),
            (level("sl: 1 name : a"), Dialect::OpenSm),
            (level("sl: 1\n# name: a"), Dialect::Rfc02Text),
            (level("sl: 1\nuse: the name: a"), Dialect::Rfc02Text),
            (
                level("name: a\nsl: 1") + "\t qos-level-sn: 1",
                Dialect::Rfc02Text,
            ),
            ("use: qos-level-sn".to_owned(), Dialect::OpenSm),
        ] {
            assert_eq!(Dialect::detect(&text), dialect, "{text:?}");
        }
    }

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
