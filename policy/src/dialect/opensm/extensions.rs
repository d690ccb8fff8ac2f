//! What OpenSM refuses and this product reads: services by name, `ulp`, `reserved-sl`,
//! `flow-label`.
//!
//! It stands only where OpenSM's grammar allows nothing at all, so that everything that OpenSM
//! reads means the same here.
//!
//! Text is read off the file and not off tokens: OpenSM's scanner would take `tcp:4420` apart and
//! see keywords in names of services. The lexer then goes on behind it.
//!
//! Each use is noted with its keyword, so that an operator can be told which parts of a file OpenSM
//! would refuse.

use core::ops::Range;

use sa_text::Spanned;

use super::cursor::Cursor;
use super::token::Kind;
use crate::dialect::flow_label;
use crate::dialect::reserved_sl;
use crate::error::Error;
use crate::error::UlpError;
use crate::model::ReservedSl;
use crate::model::ranges::Ranges;
use crate::services::Criteria;
use sa_snapshot::model::FlowLabels;

impl<'a> Cursor<'a> {
    /// `ulp:` and names. None when something else stands here.
    pub(super) fn ulp(&mut self) -> Result<Option<Spanned<Criteria>>, Error> {
        let Some(value) = self.statement("ulp") else {
            return Ok(None);
        };
        self.read(value, |names, text| names.criteria(text))
            .map(Some)
    }

    /// `reserved-sl:` with SLs and a name. None when something else stands here.
    pub(super) fn reserved_sl(&mut self) -> Result<Option<ReservedSl>, Error> {
        let Some(value) = self.statement("reserved-sl") else {
            return Ok(None);
        };
        let reserved = reserved_sl::parse(value);
        reserved.map(Some).map_err(|error| placed(error, value))
    }

    /// `flow-label:` and what labels there are. None when something else stands here.
    pub(super) fn flow_label(&mut self) -> Result<Option<Spanned<FlowLabels>>, Error> {
        let Some(value) = self.statement("flow-label") else {
            return Ok(None);
        };
        let at = |range: Range<usize>| value.span.piece(value.value, range);
        let labels = flow_label::read(value.value, at)?;
        Ok(Some(Spanned::new(labels, value.span)))
    }

    /// What a line of `qos-ulps` is about when it begins with a name of the table. None when
    /// something else stands here.
    pub(super) fn ulp_line(&mut self) -> Result<Option<Spanned<Criteria>>, Error> {
        let Some(names) = self.names.as_ref().filter(|_| self.is_at_name()) else {
            return Ok(None);
        };
        let rest = self.lexer.text_from(self.span());
        let name_end = rest.find([' ', '\t', ',', ':', '\n', '#']);
        if names
            .find(&rest[..name_end.unwrap_or(rest.len())])
            .is_none()
        {
            return Ok(None);
        }
        let end = rest.find([':', '\n', '#']).unwrap_or(rest.len());
        // As in OpenSM's own lines a comma stands between the name and what its numbers are.
        let length = rest[..end].trim_end().len();
        let value = self.take(0, length, "ulp");
        if value.value.ends_with(',') {
            return Err(self.unexpected("a port number or a name behind the comma"));
        }
        // One character for one, so that places in the text stay right.
        let text = value.value.replacen(',', " ", 1);
        let read = Spanned::new(text.as_str(), value.span);
        self.read(read, |names, text| names.criteria(text))
            .map(Some)
    }

    /// Numbers, ranges and names with commas between, as written.
    pub(super) fn service_pairs(&mut self) -> Result<Spanned<Vec<(u64, u64)>>, Error> {
        self.services(Colon::Port)
    }

    /// The same as a set, where a colon ends the list.
    pub(super) fn service_ranges(&mut self) -> Result<Spanned<Ranges>, Error> {
        let pairs = self.services(Colon::End)?;
        Ok(Spanned::new(Ranges::new(pairs.value), pairs.span))
    }

    /// A list that mixes numbers and names, each read by its own rules.
    fn services(&mut self, colon: Colon) -> Result<Spanned<Vec<(u64, u64)>>, Error> {
        let mut span = self.span();
        let mut pairs = Vec::new();
        loop {
            // OpenSM wants a digit here, so a letter cannot be anything of its own.
            if self.names.is_some() && self.is_at_name() {
                let length = colon.word_length(self.lexer.text_from(self.span()));
                let word = self.take(0, length, "service-id");
                let ids = self.read(word, |names, text| names.ids(text))?;
                span = span.to(ids.span);
                pairs.extend(ids.value);
            } else {
                let range = self.pair()?;
                span = span.to(range.span);
                pairs.push(range.value);
            }
            if self.accept(Kind::Comma).is_none() {
                return Ok(Spanned::new(pairs, span));
            }
        }
    }

    /// True where a word begins that is no keyword of OpenSM's, or one out of place.
    /// What starts with a digit is a number, also in a list of names.
    fn is_at_name(&self) -> bool {
        let is_free = matches!(self.kind(), Kind::Text | Kind::NodeWord(_) | Kind::Ulp(_));
        is_free
            && self
                .next
                .text
                .starts_with(|c: char| c.is_ascii_alphabetic())
    }

    /// True where a statement of ours begins.
    pub(super) fn is_at_extension(&self) -> bool {
        const KEYWORDS: [&str; 3] = ["ulp", "reserved-sl", "flow-label"];
        KEYWORDS.iter().any(|word| self.value_of(word).is_some())
    }

    /// What stands behind this keyword and its colon, to the end of the file.
    /// None where extensions are off. Nothing is taken.
    fn value_of(&self, keyword: &str) -> Option<&'a str> {
        self.names.as_ref()?;
        // None of these words begins with a keyword, so all come as text.
        if self.kind() != Kind::Text {
            return None;
        }
        let rest = self.lexer.text_from(self.span());
        let colon = rest.strip_prefix(keyword)?.trim_start_matches(BLANKS);
        Some(colon.strip_prefix(':')?.trim_start_matches(BLANKS))
    }

    /// The value of a statement with this keyword, up to the end of the line.
    /// Blanks at its end do not belong to it.
    fn statement(&mut self, keyword: &'static str) -> Option<Spanned<&'a str>> {
        let value = self.value_of(keyword)?;
        let rest = self.lexer.text_from(self.span());
        // A comment ends the value even without a newline behind it: this is our own grammar.
        let end = value.find(['\n', '#']).unwrap_or(value.len());
        let length = value[..end].trim_end_matches(BLANKS).len();
        Some(self.take(rest.len() - value.len(), length, keyword))
    }

    /// Text as it stands, `skip` bytes behind the beginning of the next token.
    fn take(&mut self, skip: usize, length: usize, keyword: &'static str) -> Spanned<&'a str> {
        let start = self.span();
        let token = self.lexer.raw(start, skip, length);
        self.next = self.lexer.next();
        let whole = start.to(token.span);
        self.extensions.push(Spanned::new(keyword, whole));
        Spanned::new(token.text, token.span)
    }

    /// Reads a piece of text by the table of names. Errors: placed in the file.
    fn read<T>(
        &self,
        text: Spanned<&str>,
        read: impl FnOnce(&crate::services::UlpNames, &str) -> Result<T, UlpError>,
    ) -> Result<Spanned<T>, Error> {
        let names = self.names.clone().unwrap_or_default();
        let found = read(&names, text.value).map_err(|error| placed(error, text))?;
        Ok(Spanned::new(found, text.span))
    }
}

/// What OpenSM's scanner passes over within a line.
const BLANKS: [char; 2] = [' ', '\t'];

/// What a colon behind the name of a service is.
#[derive(Clone, Copy)]
enum Colon {
    /// A port number follows it: `tcp:4420`.
    Port,
    /// It ends the list, as in lines of `qos-ulps`.
    End,
}

impl Colon {
    /// How long the name is, with its port. Units: bytes.
    /// In `qos-ulps` a colon ends the criteria, so `tcp:4420` cannot be written there.
    fn word_length(self, rest: &str) -> usize {
        let end = |text: &str| {
            let end = text.find([' ', '\t', '\r', '\n', ',', ':', '#']);
            end.unwrap_or(text.len())
        };
        let name = end(rest);
        let port = rest[name..]
            .strip_prefix(':')
            .map(|port| &port[..end(port)]);
        match (self, port) {
            (Self::Port, Some(port)) if port.starts_with(|c: char| c.is_ascii_digit()) => {
                name + 1 + port.len()
            }
            _ => name,
        }
    }
}

/// An error in a piece of text, at its place in the file.
/// `UlpError` counts bytes of the piece; places of the file are worked out here.
fn placed(error: UlpError, text: Spanned<&str>) -> Error {
    let span = text
        .span
        .piece(text.value, error.at..error.at + error.length);
    error.at_span(span)
}
