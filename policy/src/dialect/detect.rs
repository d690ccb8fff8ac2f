//! Which language a text looks like.
//!
//! Only for files whose dialect nobody named. The marks are words that one language has and the others cannot
//! have, so that a broken file is still told to be of the language that its author meant. XML is certain;
//! between the two languages of lines a `qos-level-sn` or a level without name decides.
//!
//! ```text
//! <qos-policy> ..                              RFC 0.1
//! qos-level without name:, or qos-level-sn:    RFC 0.2
//! everything else                              OpenSM
//! ```

use crate::model::dialect::Dialect;

impl Dialect {
    /// The language that a text looks like, broken ones too: XML when it begins with `<`; RFC 0.2
    /// when a rule names a `qos-level-sn` or a level has no `name`; else OpenSM's.
    /// Never fails; a file that fits no language is read as OpenSM's and refused there.
    pub fn detect(text: &str) -> Self {
        // A byte order mark or blank lines before the first tag do not make it another language.
        let start = text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
        if start.starts_with('<') {
            return Self::Rfc01Xml;
        }
        if level_by_number(text).is_some() || has_nameless_level(text) {
            Self::Rfc02Text
        } else {
            Self::OpenSm
        }
    }
}

/// The keyword by which rules of RFC 0.2 refer to a level's place; OpenSM's refer to names.
/// OpenSM's scanner has no such word, so no file of its own holds it as a keyword.
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
/// OpenSM refuses a level without name, so that no good file of its own is taken for another's.
fn has_nameless_level(text: &str) -> bool {
    let mut named = None;
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default();
        // "use: qos-level for storage" opens no level.
        let statement = line.split("use:").next().unwrap_or_default();
        for word in statement.split([' ', '\t', '\r']) {
            match word {
                "qos-level" => named = Some(false),
                // One is enough: a file that is OpenSM's has none.
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
}
