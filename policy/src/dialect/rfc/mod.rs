//! The dialects of the RFCs: two forms of one tree of blocks and entries, read by one builder.
//!
//! Both RFCs have the same blocks and entries under nearly the same names (`tags`): RFC 0.2 one statement a
//! line (`lines`), RFC 0.1 elements (`xml`). Either form becomes a tree of [`Node`]s whose values know where
//! each of their bytes comes from (`value`); then one builder (`build`) with a file for each section makes a
//! draft of it.
//!
//! Why a tree first: blocks are checked as wholes (an entry twice, one that is missing), and what follows an
//! error is not looked at, so that the first error of the file is the one that is told. XML is read by hand
//! because the RFC's own example is not well formed: comments open with typographic dashes, and closing tags
//! have other names.
//!
//! Tolerance ends where a file could be made to mean anything: document types, entities and CDATA are
//! refused.
//!
//! ```text
//! text ─ lines ─┐                           ┌─ groups   ┐
//!               ├─> Tree of Nodes ─ build ─>├─ levels   ├─> Draft
//! text ─ xml ───┘   (tag, value, place)     ├─ rules    │
//!                                           └─ setup    ┘
//! ```

mod build;
mod extensions;
mod groups;
mod levels;
mod lines;
mod numbers;
mod rules;
mod setup;
pub(crate) mod tags;
mod value;
mod values;
mod xml;

use sa_text::{LineIndex, Span, check_file};

use crate::error::{Error, Problem};
use crate::link::link;
use crate::model::Policy;
use crate::model::dialect::Dialect;
use crate::model::options::ParseOptions;
use build::Builder;
use tags::Tag;
use value::Value;

/// Blocks and entries that one file may have.
/// A file of 16 MiB could hold more; a node takes some hundred bytes.
const MAX_NODES: usize = 1 << 20;

/// A block or an entry.
/// A block holds nodes, an entry a value, by its tag.
#[derive(Debug)]
struct Node<'a> {
    /// Says whether it is a block or an entry.
    tag: Tag,
    /// The keyword or tag that opens it; errors about a lack point there.
    opening: Span,
    /// All of it, from there to what ends it.
    span: Span,
    /// Nodes or a value; never both.
    content: Content<'a>,
}

/// What a node holds.
#[derive(Debug)]
enum Content<'a> {
    Block(Vec<Node<'a>>),
    Entry(Value<'a>),
}

/// What a file consists of, as far as it could be read.
/// Kept although reading failed, so that an earlier fault of meaning is told instead.
#[derive(Debug, Default)]
struct Tree<'a> {
    /// In the order of the file.
    sections: Vec<Node<'a>>,
    /// Why reading ended before the end of the file.
    error: Option<Error>,
}

impl<'a> Tree<'a> {
    /// Hands it to the builder. Errors: the first that comes up on the way through the file, which
    /// is one in what was read. What a block lacks that was not read to its end is none.
    fn build(&self, builder: &mut Builder<'a>) -> Result<(), Error> {
        let built = builder.sections(&self.sections);
        match (&self.error, built) {
            (None, built) => built,
            // A block that was cut off by the error lacks things because of it.
            (Some(error), Err(earlier)) if matches!(earlier.problem, Problem::Missing { .. }) => {
                Err(error.clone())
            }
            (Some(error), Ok(())) => Err(error.clone()),
            (Some(_), Err(earlier)) => Err(earlier),
        }
    }
}

/// Blocks that are open, the outermost first, and those that are not any more.
/// A stack: what is read goes into the innermost.
#[derive(Debug, Default)]
struct Blocks<'a> {
    /// From the outermost to the innermost, which takes what is read next.
    open: Vec<Open<'a>>,
    sections: Vec<Node<'a>>,
    /// Counted for the limit, open or not.
    nodes: usize,
}

/// A block that has not been closed.
#[derive(Debug)]
struct Open<'a> {
    tag: Tag,
    opening: Span,
    /// What was read inside it so far.
    parts: Vec<Node<'a>>,
}

impl<'a> Blocks<'a> {
    /// The innermost block; the policy itself where none is open.
    fn innermost(&self) -> Tag {
        self.open.last().map_or(Tag::QosPolicy, |open| open.tag)
    }

    /// Opens a block inside the innermost one.
    fn open(&mut self, tag: Tag, opening: Span) {
        let parts = Vec::new();
        self.open.push(Open {
            tag,
            opening,
            parts,
        });
    }

    /// Adds to the innermost block, or to the policy itself.
    fn add(&mut self, node: Node<'a>) {
        match self.open.last_mut() {
            Some(open) => open.parts.push(node),
            None => self.sections.push(node),
        }
    }

    /// Closes the innermost block; nothing where none is open.
    /// Its node goes into what was around it.
    fn close(&mut self, end: Span) {
        if let Some(closed) = self.open.pop() {
            self.add(Node {
                tag: closed.tag,
                opening: closed.opening,
                span: closed.opening.to(end),
                content: Content::Block(closed.parts),
            });
        }
    }

    /// Errors: [`Problem::TooMany`] when there are too many blocks and entries.
    fn count(&mut self, what: &'static str, span: Span) -> Result<(), Error> {
        self.nodes += 1;
        if self.nodes <= MAX_NODES {
            return Ok(());
        }
        let (found, limit) = (self.nodes, MAX_NODES);
        Err(Error::new(span, Problem::TooMany { what, found, limit }))
    }

    /// All of it; what is open ends where it began.
    /// So a tree has no open ends, whatever the file had.
    fn finish(mut self, read: Result<(), Error>) -> Tree<'a> {
        while let Some(open) = self.open.last() {
            let end = open.opening;
            self.close(end);
        }
        Tree {
            sections: self.sections,
            error: read.err(),
        }
    }
}

/// Reads a policy as in RFC 0.2. Errors: the first one that leaves no reading.
pub(crate) fn parse_text(text: &str, options: &ParseOptions) -> Result<Policy, Error> {
    check_file(text)?;
    let mut builder = Builder::new(LineIndex::new(text), Dialect::Rfc02Text, options);
    // Once for the whole text: such blanks come in hundreds, from a mail program.
    builder.reader.note_no_break(text);
    let tree = lines::read(text, &builder.reader.places);
    tree.build(&mut builder)?;
    link(builder.draft(), Dialect::Rfc02Text, options)
}

/// Reads a policy as in RFC 0.1. Errors: the first one that leaves no reading.
pub(crate) fn parse_xml(text: &str, options: &ParseOptions) -> Result<Policy, Error> {
    check_file(text)?;
    let mut builder = Builder::new(LineIndex::new(text), Dialect::Rfc01Xml, options);
    builder.reader.note_no_break(text);
    let tree = xml::read(text, &mut builder.reader);
    tree.build(&mut builder)?;
    link(builder.draft(), Dialect::Rfc01Xml, options)
}
