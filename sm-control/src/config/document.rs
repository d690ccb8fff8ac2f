//! A configuration as it is written: where each key stands.
//!
//! Serde says what is wrong with a value and, for most, where. For sections that a key tells apart
//! (`transport`) or that are judged as a whole (`try_from`) it has read the keys into a buffer by
//! then, and the place is that of the section. [`Document::read`] finds the key in that case by
//! experiment: the one without which the error goes away is to blame.
//!
//! ```text
//!  [[port]]
//!  transport = "umad"
//!  nod = "H1"          serde: unknown field `nod`, at line 1 (the section)
//!                      without `nod` the error is gone: line 3, column 1
//! ```
//!
//! The configuration is read again for each of its keys, but only when it is wrong.

use core::ops::Range;

use sa_text::Position;
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer};

use super::{Config, ConfigProblem, Problem};

/// What is wrong at a byte of the text. Made where the text is not at hand; [`Document::problem`]
/// makes line and column of it.
///
/// Shape: a byte of the text, not of a line: lines are counted once, for the one problem that is
/// told.
#[derive(Debug)]
pub(super) struct At {
    byte: usize,
    problem: Problem,
}

impl At {
    pub(super) fn new(byte: usize, problem: impl Into<Problem>) -> Self {
        let problem = problem.into();
        Self { byte, problem }
    }

    /// The parser's own words, at a byte.
    fn said(byte: usize, said: &str) -> Self {
        let said = said.to_owned();
        Self::new(byte, Problem::Text { said })
    }
}

/// A text that is TOML, with the place of each key and value.
///
/// Borrows the text: it lives for the reading of one configuration.
pub(super) struct Document<'t> {
    text: &'t str,
    /// As parsed, each key with its place.
    /// Its own span is the whole text.
    tables: Spanned<DeTable<'t>>,
}

/// Names of the tables around a key, and the key; of tables of one name their number.
///
/// Shape: from the outermost table to the key; the number tells tables of one name (`[[port]]`)
/// apart.
type Path = Vec<(String, usize)>;

/// What an error becomes when a key is taken away.
///
/// How much a key is to blame: least of all the first.
enum Without {
    /// It stays, or says nothing about this key.
    Same,
    /// The key itself is missing: it is needed, but not like this.
    Lacks,
    /// It goes.
    Gone,
}

/// A key, and where it and its value stand. Sections are leaves too.
///
/// Places are in bytes of the text.
struct Leaf {
    path: Path,
    key: Range<usize>,
    value: Range<usize>,
    /// Its value is a table or several.
    is_section: bool,
}

impl<'t> Document<'t> {
    /// Errors: it is no TOML.
    pub(super) fn parse(text: &'t str) -> Result<Self, ConfigProblem> {
        match DeTable::parse(text) {
            Ok(tables) => Ok(Self { text, tables }),
            // The parser's message may end with a line break, which a line of the log must not have.
            Err(error) => {
                let byte = error.span().map_or(0, |span| span.start);
                Err(placed(text, At::said(byte, error.message().trim_end())))
            }
        }
    }

    /// With its line and column.
    pub(super) fn problem(&self, at: At) -> ConfigProblem {
        placed(self.text, at)
    }

    /// Its end, where something is missing.
    pub(super) fn end(&self) -> usize {
        self.text.len()
    }

    /// Where the value of a key begins; its section or the beginning where there is none.
    pub(super) fn place(&self, section: &str, key: &str) -> usize {
        let tables = self.sections(section);
        let values = tables.iter().filter_map(|table| table.get(key));
        values.map(|value| value.span().start).next().unwrap_or(0)
    }

    /// The tables of that name, as in `local_service.cache`; one or, of `[[..]]`, any number. Empty
    /// where it is not written.
    /// A table in the middle of a name may be there several times; all of them are gone into.
    pub(super) fn sections(&self, name: &str) -> Vec<&DeTable<'t>> {
        let mut tables = vec![self.tables.get_ref()];
        for part in name.split('.') {
            let below = tables.iter().filter_map(|table| table.get(part));
            tables = below.flat_map(|value| in_value(value.get_ref())).collect();
        }
        tables
    }

    /// The configuration. Errors: with the place of the key that is to blame.
    ///
    /// Cost: as often as there are keys, but only for a text that is wrong.
    pub(super) fn read(&self) -> Result<Config, At> {
        read(self.tables.clone()).map_err(|(span, problem)| {
            let whole = span.unwrap_or_else(|| 0..self.end());
            let is_here =
                |leaf: &Leaf| leaf.key == whole || (!leaf.is_section && leaf.value == whole);
            let byte = match self.leaves().iter().any(is_here) {
                // A place that is a key's own is right already.
                true => whole.start,
                false => self.blame(&problem, whole.start).unwrap_or(whole.start),
            };
            At::said(byte, &problem)
        })
    }

    /// Serde forgets where keys stand when a whole section decides what they mean. The one to blame
    /// is the one without which there is no such error: of the section that begins at `header`, or
    /// of another. None where something is missing: then the section is the place.
    ///
    /// Three guesses are kept apart, and the best one wins: the key whose absence mends it nearby,
    /// then elsewhere, then a section.
    fn blame(&self, problem: &str, header: usize) -> Option<usize> {
        if problem.starts_with("missing field") {
            return None;
        }
        let next = self.headers().into_iter().filter(|at| *at > header).min();
        let next = next.unwrap_or_else(|| self.end());
        let (mut needed, mut other, mut section) = (None, None, None);
        for leaf in self.leaves() {
            let start = match problem.contains("unknown field") {
                true => leaf.key.start,
                false => leaf.value.start,
            };
            // An error names its section, so a key of another one is the less likely cause.
            let is_near = (header..next).contains(&leaf.key.start);
            let found = match self.without(&leaf, problem) {
                Without::Same => continue,
                Without::Lacks if !is_near => continue,
                Without::Lacks => &mut needed,
                // The section itself, or one around it.
                Without::Gone if leaf.is_section && leaf.value.start <= header => &mut section,
                Without::Gone if is_near => return Some(start),
                Without::Gone => &mut other,
            };
            found.get_or_insert(start);
        }
        other.or(needed).or(section)
    }

    /// What an error becomes without a key.
    fn without(&self, leaf: &Leaf, problem: &str) -> Without {
        let name = leaf.path.last().map_or("", |(name, _)| name.as_str());
        match read(without(self.tables.clone(), &leaf.path)) {
            Err((_, other)) if other == *problem => Without::Same,
            // What says which keys there are is the last to blame.
            Err((_, other)) if other.starts_with("missing field") => {
                let is_it = other.contains(&format!("`{name}`"))
                    && (name != "transport" || problem.contains("variant"));
                if is_it { Without::Lacks } else { Without::Same }
            }
            Ok(_) | Err(_) => Without::Gone,
        }
    }

    /// Where the headers of sections begin.
    ///
    /// Shape: bytes, of all `[x]` and `[[x]]`.
    fn headers(&self) -> Vec<usize> {
        let mut all = Vec::new();
        gather_headers(self.tables.get_ref(), &mut all);
        // A table in braces is the value of a key.
        all.retain(|at| self.text.as_bytes().get(*at) == Some(&b'['));
        all
    }

    /// Every key, those inside a section before its own.
    fn leaves(&self) -> Vec<Leaf> {
        let mut all = Vec::new();
        gather(self.tables.get_ref(), &Path::new(), &mut all);
        all
    }
}

/// The tables that a value is, or has: one for `[x]`, any number for `[[x]]`.
fn in_value<'d, 't>(value: &'d DeValue<'t>) -> Vec<&'d DeTable<'t>> {
    match value {
        DeValue::Table(table) => vec![table],
        DeValue::Array(list) => list
            .iter()
            .filter_map(|value| value.get_ref().as_table())
            .collect(),
        _ => Vec::new(),
    }
}

/// Places of all tables, from the top down.
fn gather_headers(table: &DeTable<'_>, all: &mut Vec<usize>) {
    for value in table.values() {
        let tables: Vec<&Spanned<DeValue<'_>>> = match value.get_ref() {
            DeValue::Array(list) => list.iter().collect(),
            _ => vec![value],
        };
        for value in tables {
            if let DeValue::Table(table) = value.get_ref() {
                all.push(value.span().start);
                gather_headers(table, all);
            }
        }
    }
}

/// Every key below a table.
///
/// Inner ones first: a section is blamed only where none of its keys is.
fn gather(table: &DeTable<'_>, above: &Path, all: &mut Vec<Leaf>) {
    for (key, value) in table {
        let path =
            |number: usize| [above.as_slice(), &[(key.get_ref().to_string(), number)]].concat();
        let tables = in_value(value.get_ref());
        for (number, table) in tables.iter().enumerate() {
            gather(table, &path(number), all);
        }
        all.push(Leaf {
            path: path(0),
            key: key.span(),
            value: value.span(),
            is_section: !tables.is_empty(),
        });
    }
}

/// The tables but for one key: a copy is changed, the document stays.
///
/// A path that leads nowhere changes nothing.
fn without<'t>(mut tables: Spanned<DeTable<'t>>, path: &Path) -> Spanned<DeTable<'t>> {
    let Some(((key, _), above)) = path.split_last() else {
        return tables;
    };
    let mut table = Some(tables.get_mut());
    for (name, number) in above {
        let value = table.and_then(|table| table.get_mut(name.as_str()));
        table = value.and_then(|value| match value.get_mut() {
            DeValue::Table(table) => Some(table),
            DeValue::Array(list) => match list.get_mut(*number).map(Spanned::get_mut) {
                Some(DeValue::Table(table)) => Some(table),
                _ => None,
            },
            _ => None,
        });
    }
    if let Some(table) = table {
        table.remove(key.as_str());
    }
    tables
}

/// What serde says: where, if it knows, and what.
///
/// Without a place serde means the whole document.
type Failed = (Option<Range<usize>>, String);

/// The configuration, or serde's words.
fn read(tables: Spanned<DeTable<'_>>) -> Result<Config, Failed> {
    let config = Config::deserialize(Deserializer::from(tables));
    config.map_err(|error| (error.span(), error.message().trim_end().to_owned()))
}

/// With the line and column of its byte.
/// Lines and columns from 1 on.
fn placed(text: &str, at: At) -> ConfigProblem {
    ConfigProblem {
        at: Position::in_text(text, at.byte),
        problem: at.problem,
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Config;

    const FABRIC: &str = "[fabric]\nsource = \"files\"\npath = \"net\"\n";

    /// Sections that a key tells apart, or that are judged as a whole, lose the place in serde.
    #[test]
    fn what_is_wrong_in_a_section_is_shown_at_its_key() {
        let umad = "[[port]]\ntransport = \"umad\"\n";
        for (wrong, expected) in [
            (format!("{umad}{umad}io_uring = 3\n"), "8:12: invalid type"),
            (
                format!("{umad}{umad}announce_sm = \"x\"\n"),
                "8:15: invalid type",
            ),
            (
                format!("{umad}node = \"H1\"\n"),
                "6:1: unknown field `node`",
            ),
            (
                "[[port]]\ntransport = \"ibsim\"\nnode = 3\n".to_owned(),
                "6:8: invalid type",
            ),
            (
                "[[port]]\ntransport = \"ring\"\npath = \"x\"\nmode = 660\n".to_owned(),
                "7:8: invalid type",
            ),
            (
                "[[port]]\nnode = \"a\"\ntransport = \"ether\"\n".to_owned(),
                "6:13: unknown variant",
            ),
            (
                "[[port]]\ntransport = \"ibsim\"\n".to_owned(),
                "4:1: missing field `node`",
            ),
            (
                format!("{umad}[sa]\nrole = \"x\"\n"),
                "7:8: unknown variant",
            ),
            // Not at the word in a comment.
            (
                format!("# role, source\n{umad}[opensm]\n[sa]\nrole = \"shadow\"\n"),
                "9:8: role =",
            ),
            (
                format!("{umad}[control]\npath = \"c\"\nmode = \"rw\"\n"),
                "8:8: invalid value",
            ),
            (format!("{umad}x = = 1\n"), "6:5: "),
        ] {
            let error = Config::parse(&format!("{FABRIC}{wrong}"));
            let error = error.unwrap_err().to_string();
            assert!(error.starts_with(expected), "{wrong}: {error}");
        }
    }
}
