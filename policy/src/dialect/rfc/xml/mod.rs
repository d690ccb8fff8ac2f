//! RFC 0.1: elements, read with tolerance for what the RFC's own example has.
//!
//! A scanner (`scanner`) goes from tag to tag, a parser here keeps the open blocks, and values are decoded
//! (`decode`) when their entry closes. What the RFC's example has and XML does not is read and told: a
//! closing tag with another name closes an entry, an opening tag in place of the closing one closes a block,
//! `_` counts as `-`.
//!
//! ```text
//! <mtu_limit>1</mtl_limit>            an entry closes with any closing tag; `_` is `-`
//! <sl2vl-tables> .. <sl2vl-tables>    what follows does not belong inside: the second one closes
//! 7-9 or 11></use>                    `>` is text
//! <!DOCTYPE ..>, &unknown;            refused
//! ```
//!
//! Each tolerance but the third is a remark, so that the author learns what an XML parser would
//! say.

mod decode;
mod markup;
mod scanner;

use sa_text::Span;

use super::tags::Tag;
use super::value::Value;
use super::values::Reader;
use super::{Blocks, Content, Node, Tree};
use crate::error::{Error, Problem, Remark};
use crate::model::dialect::Dialect;
use markup::Markup;
use scanner::Scanner;

const DIALECT: Dialect = Dialect::Rfc01Xml;

/// Reads the sections of `<qos-policy>`, up to what leaves no reading.
pub(super) fn read<'a>(text: &'a str, reader: &mut Reader<'_>) -> Tree<'a> {
    let mut parser = Parser {
        scanner: Scanner::new(text),
        blocks: Blocks::default(),
        told_underscore: false,
    };
    let read = parser.document(reader);
    parser.blocks.finish(read)
}

/// Where the scanner is, and which blocks are open.
/// One pass over the text, nothing taken back.
struct Parser<'a> {
    scanner: Scanner<'a>,
    /// Entries never lie here: each is read in one go.
    blocks: Blocks<'a>,
    /// The first `_` is told, not each.
    told_underscore: bool,
}

impl<'a> Parser<'a> {
    /// Errors: no `<qos-policy>`, something behind its end, or an error inside.
    /// The parts read before an error stay in `blocks`.
    fn document(&mut self, reader: &mut Reader<'_>) -> Result<(), Error> {
        self.scanner.skip_prolog(reader)?;
        if let Some(opening) = self.root(reader)? {
            self.sections(opening, reader)?;
        }
        self.scanner.skip_blanks(reader)?;
        if self.scanner.is_at_end() {
            Ok(())
        } else {
            let expected = "the end of the file, as </qos-policy> came before";
            Err(self.scanner.unexpected(reader, expected))
        }
    }

    /// The opening tag of the policy; none for `<qos-policy/>`.
    fn root(&mut self, reader: &mut Reader<'_>) -> Result<Option<Span>, Error> {
        // Made before the tag is read, as it names what stands there.
        let error = self.scanner.unexpected(reader, "<qos-policy>");
        if !self.scanner.rest().starts_with('<') {
            return Err(error);
        }
        match self.scanner.markup(reader)? {
            Markup::Open { name, span, empty } if Tag::find(name) == Some(Tag::QosPolicy) => {
                Ok((!empty).then_some(span))
            }
            _ => Err(error),
        }
    }

    /// Everything up to the closing tag of the policy.
    fn sections(&mut self, policy: Span, reader: &mut Reader<'_>) -> Result<(), Error> {
        loop {
            let block = self.blocks.innermost();
            let opening = self.blocks.open.last().map_or(policy, |open| open.opening);
            self.scanner.skip_blanks(reader)?;
            if self.scanner.is_at_end() {
                return Err(not_closed(block, opening));
            }
            // Between tags only white space and comments may stand, unlike within an entry.
            if !self.scanner.rest().starts_with('<') {
                let error = self.scanner.unexpected(reader, block.expected(DIALECT));
                return Err(error.hinting("values stand in elements of their own: <sl>3</sl>"));
            }
            match self.scanner.markup(reader)? {
                Markup::Close { name, span } if Tag::find(name) == Some(block) => {
                    if block == Tag::QosPolicy {
                        return Ok(());
                    }
                    self.blocks.close(span);
                }
                Markup::Close { name, span } => {
                    return Err(wrong_closing(block, opening, name, span));
                }
                Markup::Open { name, span, empty } => {
                    self.note_underscore(reader, name, span);
                    // Entries and blocks alike, before memory is taken for them.
                    self.blocks.count("elements", span)?;
                    self.opened(reader, block, (name, span, empty))?;
                }
            }
        }
    }

    /// An element that opens inside `block`: a block, an entry with its value, or the block's own name in
    /// place of its end.
    fn opened(
        &mut self,
        reader: &mut Reader<'_>,
        block: Tag,
        (name, span, empty): (&'a str, Span, bool),
    ) -> Result<(), Error> {
        let children = block.children(DIALECT);
        match Tag::find(name) {
            Some(tag) if tag == block && closes_itself(block, &self.scanner) => {
                let name = block.name();
                reader
                    .diagnostics
                    .add(span, Remark::OpeningForClosing { name });
                self.blocks.close(span);
            }
            Some(tag) if children.contains(&tag) && tag.is_block() => {
                self.blocks.open(tag, span);
                if empty {
                    self.blocks.close(span);
                }
            }
            Some(tag) if children.contains(&tag) => {
                let node = if empty {
                    entry(tag, span, span, Value::plain("", end_of(span)))
                } else {
                    self.entry(reader, tag, span)?
                };
                self.blocks.add(node);
            }
            tag => return Err(unknown(block, name, span, tag)),
        }
        Ok(())
    }

    /// The value of an entry and its closing tag, whose name does not matter unless it is that of
    /// a block that is open.
    fn entry(
        &mut self,
        reader: &mut Reader<'_>,
        tag: Tag,
        opening: Span,
    ) -> Result<Node<'a>, Error> {
        let segments = self
            .scanner
            .entry_text(reader)?
            .ok_or_else(|| not_closed(tag, opening))?;
        let Markup::Close { name, span } = self.scanner.markup(reader)? else {
            return Err(not_closed(tag, opening));
        };
        let closes = Tag::find(name);
        let is_open = |tag| self.blocks.open.iter().any(|open| open.tag == tag);
        // `<sl>3</qos-level>`: the closing tag of `sl` was forgotten, not misspelled.
        if closes.is_some_and(|tag| tag == Tag::QosPolicy || is_open(tag)) {
            return Err(not_closed(tag, opening));
        }
        if closes != Some(tag) {
            let remark = Remark::OtherClosing {
                name: String::from(name),
                right: tag.name(),
            };
            reader.diagnostics.add(span, remark);
        }
        let value = decode::decode(self.scanner.text(), &segments, reader)?;
        Ok(entry(tag, opening, span, value))
    }

    /// Once, as files are written one way or the other.
    fn note_underscore(&mut self, reader: &mut Reader<'_>, name: &str, span: Span) {
        if !self.told_underscore && name.contains('_') {
            self.told_underscore = true;
            let name = String::from(name);
            reader.diagnostics.add(span, Remark::Underscores { name });
        }
    }
}

/// True when a block's opening tag, met inside the block, stands for its closing one: what comes
/// behind it does not belong into the block.
/// Where one of the block's parts follows it is a block within itself, which is an error.
fn closes_itself(block: Tag, scanner: &Scanner<'_>) -> bool {
    block != Tag::QosPolicy && !scanner.goes_on_with(block.children(DIALECT))
}

/// A closing tag of something else. That of an entry closes nothing where none is open.
/// The advice names the block that is open and its line.
fn wrong_closing(block: Tag, opening: Span, name: &str, span: Span) -> Error {
    let found = format!("</{name}>");
    let (block_name, line) = (block.name(), opening.start.line);
    Error::new(span, Problem::Unexpected { found })
        .expecting(block.expected(DIALECT))
        .hinting(format!(
            "<{block_name}> of line {line} is still open: close it with </{block_name}>"
        ))
}

/// Byte behind the last of a span.
fn end_of(span: Span) -> usize {
    usize::try_from(span.offset + span.length).unwrap_or(usize::MAX)
}

/// An entry from its opening to its closing tag.
const fn entry(tag: Tag, opening: Span, end: Span, value: Value<'_>) -> Node<'_> {
    Node {
        tag,
        opening,
        span: opening.to(end),
        content: Content::Entry(value),
    }
}

/// An element that the file ends in, or that another one ends.
fn not_closed(tag: Tag, opening: Span) -> Error {
    let name = tag.name();
    let what = format!("<{name}>");
    Error::new(opening, Problem::NotClosed { what })
        .expecting("its closing tag")
        .hinting(format!("close it with </{name}>"))
}

/// An element that cannot stand in the block, with the advice that fits.
fn unknown(block: Tag, name: &str, span: Span, tag: Option<Tag>) -> Error {
    let shown: String = name.chars().take(40).collect();
    let found = format!("<{shown}>");
    let error = Error::new(span, Problem::Unexpected { found }).expecting(block.expected(DIALECT));
    let lower = name.to_ascii_lowercase();
    match tag.and_then(Tag::foreign_hint) {
        Some(hint) => error.hinting(hint),
        None if lower != name && Tag::find(&lower).is_some() => {
            error.hinting("names of elements are lower case")
        }
        None if tag.is_some() => {
            error.hinting(format!("<{shown}> does not belong into <{}>", block.name()))
        }
        None if name == "pkey" => error.hinting("only OpenSM's dialect has P_Keys in policies"),
        None => error.hinting("RFC 0.1 has no such element; leave it out"),
    }
}
