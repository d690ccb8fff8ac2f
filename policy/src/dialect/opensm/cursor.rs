//! Reads values off the token stream.
//!
//! One token is looked at in advance, which is all that the grammar needs. Values are read as
//! OpenSM reads them: names lose their blanks, lists end where no comma follows, numbers saturate.

use sa_text::{Number, Span, Spanned};

use super::lexer::Lexer;
use super::token::{Kind, Token};
use crate::error::{Error, Problem};
use crate::model::limits::{MAX_NAME_BYTES, MAX_TEXT_BYTES};
use crate::model::options::ParseOptions;
use crate::model::ranges::Ranges;
use crate::services::UlpNames;

/// The token stream with one token looked at in advance.
/// Goes through a file once, from front to back.
pub(super) struct Cursor<'a> {
    /// Extensions read text from it past the token.
    pub(super) lexer: Lexer<'a>,
    /// Looked at in advance: every decision of the grammar is made by its kind.
    pub(super) next: Token<'a>,
    /// A quote that spans lines: often one that was not closed.
    /// The last one; an error behind it is mostly its doing.
    long_quote: Option<Span>,
    /// Names of services, where extensions are read.
    /// None refuses whatever OpenSM would refuse.
    pub(super) names: Option<UlpNames>,
    /// What was read that OpenSM does not have.
    pub(super) extensions: Vec<Spanned<&'static str>>,
}

impl<'a> Cursor<'a> {
    /// At the first token of a text.
    pub(super) fn new(text: &'a str, options: &ParseOptions) -> Self {
        let mut lexer = Lexer::new(text);
        let next = lexer.next();
        Self {
            lexer,
            next,
            long_quote: None,
            names: options.extensions.then(|| options.ulp_names.clone()),
            extensions: Vec::new(),
        }
    }

    /// The kind of the next token.
    pub(super) const fn kind(&self) -> Kind {
        self.next.kind
    }

    /// Where the next token stands.
    pub(super) const fn span(&self) -> Span {
        self.next.span
    }

    /// Takes the next token.
    pub(super) fn bump(&mut self) -> Token<'a> {
        let token = std::mem::replace(&mut self.next, self.lexer.next());
        // Only quoted text can hold a newline.
        if token.kind == Kind::Text && token.text.contains('\n') {
            self.long_quote = Some(token.span);
        }
        token
    }

    /// Takes the next token if it is of this kind.
    pub(super) fn accept(&mut self, kind: Kind) -> Option<Token<'a>> {
        (self.kind() == kind).then(|| self.bump())
    }

    /// Takes the next token, which has to be of this kind.
    /// Errors: [`Problem::Unexpected`], with what would have been right.
    pub(super) fn expect(
        &mut self,
        kind: Kind,
        expected: &'static str,
    ) -> Result<Token<'a>, Error> {
        self.accept(kind).ok_or_else(|| self.unexpected(expected))
    }

    /// The next token cannot stand here.
    pub(super) fn unexpected(&self, expected: &'static str) -> Error {
        let found = describe(&self.next);
        let error = Error::new(self.span(), Problem::Unexpected { found }).expecting(expected);
        match (self.long_quote, self.advice()) {
            (Some(quote), _) => error.hinting(format!(
                "the quote opened on line {} ends on a later line: was it meant to be closed?",
                quote.start.line
            )),
            (None, Some(advice)) => error.hinting(advice),
            (None, None) => error,
        }
    }

    /// What operators most often did wrong where such a token surprises: a byte order mark, carriage returns,
    /// an unquoted name with a keyword in it.
    /// Goes by the token alone; what the file means as a whole is looked at elsewhere.
    fn advice(&self) -> Option<&'static str> {
        let text = self.next.text;
        match self.kind() {
            Kind::Text if text.starts_with('\r') => Some("convert the line ends to Unix's"),
            Kind::Text if text.starts_with('\u{feff}') => {
                Some("remove the byte order mark at the beginning of the file")
            }
            Kind::Text if text.starts_with('#') => {
                Some("a comment at the end of the file needs a newline behind it")
            }
            Kind::Text => Some(
                "keywords are lower case, with a colon before their value; comments begin with #",
            ),
            Kind::Start(_) | Kind::End(_) | Kind::Key(_) | Kind::Ulp(_) => {
                Some("a name that contains a keyword has to be quoted")
            }
            Kind::Number => {
                Some("names that go on after a newline cannot have digits outside quotes")
            }
            _ => None,
        }
    }

    /// A name or description: all text up to something else, outer white space removed.
    /// Pieces are joined without what stood between them: so OpenSM drops the blanks of names.
    fn text(&mut self, limit: usize, what: &'static str) -> Result<Spanned<String>, Error> {
        let mut token = self.expect(Kind::Text, what)?;
        let (mut value, mut span) = (String::new(), token.span);
        loop {
            value.push_str(token.text);
            span = span.to(token.span);
            // While it grows, so that a hostile file costs no more than the limit.
            if value.len() > limit {
                return Err(Error::too_long(span, what, value.len(), limit));
            }
            // No text in OpenSM goes on with what begins a line like this.
            let is_next_line = self.span().start.line > token.span.start.line;
            match self.kind() {
                Kind::Text if !(is_next_line && self.is_at_extension()) => token = self.bump(),
                _ => break,
            }
        }
        let trimmed = value.trim_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r']);
        Ok(Spanned::new(String::from(trimmed), span))
    }

    /// A name. Errors: another token; longer than names may be.
    pub(super) fn name(&mut self) -> Result<Spanned<String>, Error> {
        self.text(MAX_NAME_BYTES, "a name")
    }

    /// What something is for.
    pub(super) fn description(&mut self) -> Result<Spanned<String>, Error> {
        self.text(MAX_TEXT_BYTES, "a description")
    }

    /// Names with commas between.
    /// Errors: a comma with no name behind it.
    pub(super) fn names(&mut self) -> Result<Vec<Spanned<String>>, Error> {
        let mut names = vec![self.name()?];
        while self.accept(Kind::Comma).is_some() {
            names.push(self.name()?);
        }
        Ok(names)
    }

    /// A number, decimal, octal or hexadecimal as C reads it. Errors: another token.
    pub(super) fn number(&mut self) -> Result<Spanned<u64>, Error> {
        let token = self.expect(Kind::Number, "a number")?;
        Ok(Spanned::new(
            Number::read_digits(token.text).unsigned_64(),
            token.span,
        ))
    }

    /// A number up to `most`. Errors: [`Problem::OutOfRange`].
    pub(super) fn number_up_to(
        &mut self,
        most: u64,
        what: &'static str,
    ) -> Result<Spanned<u64>, Error> {
        let number = self.number()?;
        if *number <= most {
            Ok(number)
        } else {
            Err(out_of_range(number, what, 0, most))
        }
    }

    /// Numbers with commas between.
    /// A comma at the end of a line goes on in the next, as newlines separate nothing.
    pub(super) fn numbers(&mut self) -> Result<Vec<Spanned<u64>>, Error> {
        let mut numbers = vec![self.number()?];
        while self.accept(Kind::Comma).is_some() {
            numbers.push(self.number()?);
        }
        Ok(numbers)
    }

    /// Numbers and ranges with commas between, as written: in order, bounds in either order.
    /// The place runs from the first number to the last.
    pub(super) fn pairs(&mut self) -> Result<Spanned<Vec<(u64, u64)>>, Error> {
        let mut span = self.span();
        let mut pairs = Vec::new();
        loop {
            let pair = self.pair()?;
            span = span.to(pair.span);
            pairs.push(pair.value);
            if self.accept(Kind::Comma).is_none() {
                return Ok(Spanned::new(pairs, span));
            }
        }
    }

    /// A number or a range, as written.
    pub(super) fn pair(&mut self) -> Result<Spanned<(u64, u64)>, Error> {
        let first = self.number()?;
        // Bounds may stand either way round; `Ranges` orders them.
        let last = match self.accept(Kind::Dash) {
            Some(_) => self.number()?,
            None => first,
        };
        Ok(Spanned::new((*first, *last), first.span.to(last.span)))
    }

    /// Numbers and ranges as a set.
    pub(super) fn ranges(&mut self) -> Result<Spanned<Ranges>, Error> {
        let pairs = self.pairs()?;
        Ok(Spanned::new(Ranges::new(pairs.value), pairs.span))
    }

    /// P_Keys as pairs of bases. Both bounds lose their membership bit before they are ordered,
    /// so 0x7000-0x8123 is 0x0123-0x7000, as in OpenSM.
    pub(super) fn pkey_pairs(&mut self) -> Result<Spanned<Vec<(u64, u64)>>, Error> {
        let mut pairs = self.pairs()?;
        for (first, last) in &mut pairs.value {
            // OpenSM masks each bound for itself, which turns some ranges into others; lint tells
            // of it.
            *first &= 0x7fff;
            *last &= 0x7fff;
        }
        Ok(pairs)
    }

    /// P_Keys as a set of bases.
    pub(super) fn pkey_ranges(&mut self) -> Result<Spanned<Ranges>, Error> {
        let pairs = self.pkey_pairs()?;
        Ok(Spanned::new(Ranges::new(pairs.value), pairs.span))
    }
}

/// This number is not within its range.
pub(super) const fn out_of_range(
    number: Spanned<u64>,
    what: &'static str,
    least: u64,
    most: u64,
) -> Error {
    let problem = Problem::OutOfRange {
        what,
        value: number.value,
        least,
        most,
    };
    Error::new(number.span, problem)
}

/// A token as messages name it.
/// What cannot be seen on a screen (a carriage return, a control character) is told in words.
fn describe(token: &Token<'_>) -> String {
    match token.kind {
        Kind::EndOfFile => String::from("end of the file"),
        Kind::Text if token.text.starts_with('\r') => String::from("carriage return"),
        Kind::Text
            if token
                .text
                .chars()
                .all(|c| c.is_control() || c.is_whitespace()) =>
        {
            String::from("white space or control character")
        }
        Kind::Number => format!("number {}", token.text),
        Kind::Text | Kind::NodeWord(_) => format!("text '{}'", first_line(token.text)),
        _ => format!("'{}'", first_line(token.text).trim_end()),
    }
}

/// Its first 40 characters on one line, as quoted text may be long.
fn first_line(text: &str) -> String {
    text.lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(40)
        .collect()
}

/// Puts `value` in a slot that is filled once only.
/// Errors: it was filled before; the place is that of the second keyword.
pub(super) fn set_once<T>(
    slot: &mut Option<T>,
    value: T,
    at: Span,
    keyword: &'static str,
    block: &'static str,
) -> Result<(), Error> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(Error::new(at, Problem::Repeated { keyword, block })),
    }
}
