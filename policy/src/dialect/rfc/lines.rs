//! RFC 0.2: one statement a line.
//!
//! ```text
//! qos-level                  a word alone opens a block
//!     sl: 3                  a word and a colon is an entry
//!     # a comment            has a line of its own
//! end-qos-level              closes the innermost block, by its name
//! ```
//!
//! Unlike OpenSM's this language has lines: a value ends with its line, and nothing stands before a
//! keyword. What people bring from OpenSM all the same (comments behind values, quotes) is read and
//! told.

use sa_text::{LineIndex, Span};

use super::tags::Tag;
use super::value::{Value, WHITE};
use super::{Blocks, Content, Node, Open, Tree};
use crate::error::{Error, Problem};
use crate::model::dialect::Dialect;

/// Reads lines into blocks, up to one that cannot stand where it stands.
/// What was read before the error is in the tree.
pub(super) fn read<'a>(text: &'a str, places: &LineIndex<'_>) -> Tree<'a> {
    let mut blocks = Blocks::default();
    let mut lines = Lines::new(text, mark_length(text), places);
    let read = read_into(&mut blocks, &mut lines);
    blocks.finish(read)
}

/// Errors: the first line that cannot stand where it stands; a block that is open at the end.
fn read_into<'a>(blocks: &mut Blocks<'a>, lines: &mut Lines<'a, '_>) -> Result<(), Error> {
    while let Some(line) = lines.next_statement() {
        // Before it is looked at, so that endings count as well.
        blocks.count("statements", line.opening)?;
        match statement(blocks.innermost(), &line)? {
            Statement::Open(tag) => blocks.open(tag, line.opening),
            Statement::Entry(node) => blocks.add(node),
            Statement::Close => blocks.close(line.opening),
        }
    }
    // Only at the end: a block that is closed late is still closed.
    match blocks.open.last() {
        None => Ok(()),
        Some(open) => Err(not_closed(open)),
    }
}

/// Bytes of a byte order mark. Windows editors put one before the first line.
fn mark_length(text: &str) -> usize {
    const MARK: char = '\u{feff}';
    if text.starts_with(MARK) {
        MARK.len_utf8()
    } else {
        0
    }
}

/// A block that is open at the end of the file.
/// Points at the word that opened it, since the end of the file says nothing.
fn not_closed(open: &Open<'_>) -> Error {
    let name = open.tag.name();
    let what = format!("'{name}'");
    Error::new(open.opening, Problem::NotClosed { what })
        .expecting("the line that ends it")
        .hinting(format!("end it with a line 'end-{name}'"))
}

/// What a line does.
enum Statement<'a> {
    Open(Tag),
    Close,
    Entry(Node<'a>),
}

/// What a line means inside this block. A block's word stands alone, an entry's has a colon behind it.
fn statement<'a>(block: Tag, line: &Line<'a>) -> Result<Statement<'a>, Error> {
    const DIALECT: Dialect = Dialect::Rfc02Text;
    // Dashes only, and the usual name: variants are XML's.
    let tag = Tag::find(line.word).filter(|tag| tag.name() == line.word);
    match (tag, &line.value) {
        (Some(tag), None) if tag.is_block() && block.children(DIALECT).contains(&tag) => {
            Ok(Statement::Open(tag))
        }
        (Some(tag), Some((text, at)))
            if !tag.is_block() && block.children(DIALECT).contains(&tag) =>
        {
            Ok(Statement::Entry(Node {
                tag,
                opening: line.opening,
                span: line.opening,
                content: Content::Entry(Value::plain(text, *at)),
            }))
        }
        (None, None)
            if block != Tag::QosPolicy && line.word.strip_prefix("end-") == Some(block.name()) =>
        {
            Ok(Statement::Close)
        }
        _ => Err(unexpected(block, line, tag)),
    }
}

/// The error for a line that cannot stand here, with the advice that fits: capital letters, a missing colon,
/// another dialect's word.
fn unexpected(block: Tag, line: &Line<'_>, tag: Option<Tag>) -> Error {
    let shown: String = line.word.chars().take(40).collect();
    let found = if shown.starts_with("<") {
        String::from("XML")
    } else {
        format!("'{shown}'")
    };
    let error = Error::new(line.opening, Problem::Unexpected { found })
        .expecting(block.expected(Dialect::Rfc02Text));
    let lower = line.word.to_ascii_lowercase();
    let lacks_colon = tag.is_some_and(|tag| !tag.is_block()) && line.value.is_none();
    let first = line.word.split(WHITE).next().unwrap_or_default();
    match tag.and_then(Tag::foreign_hint) {
        Some(hint) if !lacks_colon => error.hinting(hint),
        // The order of these cases is that of likelihood; the last is for lines that make no sense
        // at all.
        _ if lower != line.word && Tag::find(&lower).is_some() => {
            error.hinting("keywords are lower case")
        }
        _ if lacks_colon || Tag::find(first).is_some_and(|tag| !tag.is_block()) => {
            error.hinting("put a colon between the keyword and its value")
        }
        _ if tag.is_some_and(Tag::is_block) && line.value.is_some() => {
            error.hinting("the words that open a block stand alone on their line, without colon")
        }
        _ if line.word.starts_with("end-") && block != Tag::QosPolicy => {
            error.hinting(format!("end '{}' first", block.name()))
        }
        _ if line.word == "pkey" || line.word == "qos-ulps" => {
            error.hinting("this is OpenSM's; choose that dialect, in which levels have names")
        }
        _ => error.hinting("one keyword a line, the first word on it; comments begin with #"),
    }
}

/// A line that is neither empty nor a comment.
/// Points into the text; places are worked out for the word alone.
struct Line<'a> {
    /// What stands before the colon, all of it without colon.
    word: &'a str,
    /// What stands behind the colon, and where that begins. Units: bytes.
    value: Option<(&'a str, usize)>,
    /// Where the word stands; errors about the line point there.
    opening: Span,
}

/// The lines of a text, those that say nothing left out.
struct Lines<'a, 'p> {
    text: &'a str,
    /// Where the next line begins. Units: bytes.
    at: usize,
    /// Turns bytes into lines and columns.
    places: &'p LineIndex<'p>,
}

impl<'a, 'p> Lines<'a, 'p> {
    /// From byte `at` on.
    const fn new(text: &'a str, at: usize, places: &'p LineIndex<'p>) -> Self {
        Self { text, at, places }
    }

    /// None at the end of the text.
    fn next_statement(&mut self) -> Option<Line<'a>> {
        loop {
            let rest = &self.text[self.at..];
            if rest.is_empty() {
                return None;
            }
            let start = self.at;
            let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
            // Past the newline, or to the end where there is none.
            self.at = (start + line.len() + 1).min(self.text.len());
            let statement = line.trim_start_matches(WHITE);
            let from = start + line.len() - statement.len();
            let statement = statement.trim_end_matches(WHITE);
            if !statement.is_empty() && !statement.starts_with('#') {
                return Some(self.line(statement, from));
            }
        }
    }

    /// Splits at the first colon before a comment.
    fn line(&self, statement: &'a str, from: usize) -> Line<'a> {
        // A colon within a comment separates nothing.
        let comment = statement.find('#').unwrap_or(statement.len());
        let (word, value) = match statement.find(':').filter(|colon| *colon < comment) {
            Some(colon) => {
                let behind = colon + 1;
                (
                    &statement[..colon],
                    Some((&statement[behind..], from + behind)),
                )
            }
            None => (&statement[..comment], None),
        };
        let word = word.trim_end_matches(WHITE);
        let opening = self.places.span(from..from + word.len());
        Line {
            word,
            value,
            opening,
        }
    }
}
