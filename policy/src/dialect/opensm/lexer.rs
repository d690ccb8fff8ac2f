//! From text to tokens, as OpenSM's scanner does it.
//!
//! The longest keyword wins wherever it stands, even inside a name; what a letter means depends
//! on the keywords seen since the last newline. Source: OpenSM `osm_qos_parser_l.l`.
//!
//! ```text
//! name: vs1 HCA-1 # node          Key(Name) Text(v) Text(s) Text(1) Text(H) .. Text(-) Text(1)
//! sl: 3                           Key(Sl) Number(3): the newline ended "names"
//! ```
//!
//! A name is put together of such pieces again by the cursor. What looks roundabout is what makes
//! `name: a,b` two names, `use: a,b` one text and `sl: a` an error, as in OpenSM.

use sa_text::{Position, Span};

use super::token::{Key, Kind, Pattern, Token, blanks_end, patterns_with};
use crate::model::index;

/// Hands out tokens one by one; behind the last it gives [`Kind::EndOfFile`] for ever.
/// Nothing is copied: tokens are parts of the text.
pub(super) struct Lexer<'a> {
    text: &'a str,
    /// Where the next token begins. Units: bytes.
    at: usize,
    /// The same place as line and column, counted on with every token.
    position: Position,
    /// What the keywords of this line ask for; a newline clears all of it.
    expecting: Expecting,
    /// A `#` behind it begins no comment.
    last_newline: Option<usize>,
    /// A quote behind it or at it is closed by none.
    last_quote: Option<usize>,
}

/// What keywords since the last newline ask for; several may hold at once.
/// OpenSM's scanner has start conditions for them; here they are flags that the newline clears.
#[derive(Debug, Clone, Copy, Default)]
struct Expecting {
    /// Behind `use:`: everything up to the newline is text.
    description: bool,
    /// Behind `node-type:`: `ca` and the like are words of the language.
    node_types: bool,
    /// Behind keywords of names: letters, digits and dashes are pieces of one.
    names: bool,
}

impl Expecting {
    /// What is expected once this keyword has been seen. Nothing takes an expectation back before the line
    /// ends.
    /// `use: x name: y` goes on as a description, as in OpenSM.
    const fn after(mut self, key: Key) -> Self {
        match key {
            Key::Use => self.description = true,
            Key::NodeType => self.node_types = true,
            Key::Name | Key::Partition | Key::LevelName => self.names = true,
            Key::PortName | Key::Group | Key::Source | Key::Destination => self.names = true,
            Key::Across | Key::AcrossTo | Key::AcrossFrom => self.names = true,
            _ => {}
        }
        self
    }

    /// True where letters, digits and dashes are pieces of a text.
    const fn text(self) -> bool {
        self.description || self.names
    }
}

impl<'a> Lexer<'a> {
    /// Shape: `text` has less than 2^32 bytes.
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            position: Position::START,
            expecting: Expecting::default(),
            // Looked up once: searching on from each `#` or quote would take quadratic time in a hostile
            // file.
            last_newline: text.rfind('\n'),
            last_quote: text.rfind('"'),
        }
    }

    /// The next token, blanks and comments passed over. A `#` begins a comment only if a newline follows
    /// somewhere, as in OpenSM.
    pub(super) fn next(&mut self) -> Token<'a> {
        loop {
            let Some(first) = self.rest().as_bytes().first().copied() else {
                return self.take(0, Kind::EndOfFile);
            };
            match first {
                b'\n' => self.end_line(1),
                // Without a newline behind it OpenSM's pattern does not match, and the `#` is a
                // stray character.
                b'#' if self.last_newline.is_some_and(|last| last > self.at) => {
                    let length = self.rest().find('\n').map_or(0, |at| at + 1);
                    self.end_line(length);
                }
                b' ' | b'\t' => {
                    if let Some(token) = self.blanks() {
                        return token;
                    }
                }
                // Carriage returns are no blanks, so that a file from Windows fails at its first
                // line.
                _ => return self.word(first),
            }
        }
    }

    /// The text from a token on.
    pub(super) fn text_from(&self, span: Span) -> &'a str {
        &self.text[index(span.offset)..]
    }

    /// Text as it stands, `skip` bytes behind the beginning of the token at `span`. What comes
    /// next is read from there on.
    pub(super) fn raw(&mut self, span: Span, skip: usize, length: usize) -> Token<'a> {
        (self.at, self.position) = (index(span.offset), span.start);
        self.advance(skip);
        self.take(length, Kind::Text)
    }

    /// What has not been read.
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// A line ends, and with it what its keywords asked for.
    fn end_line(&mut self, length: usize) {
        self.advance(length);
        self.expecting = Expecting::default();
    }

    /// Blanks count only inside a description, and not at the end of its line.
    fn blanks(&mut self) -> Option<Token<'a>> {
        let rest = self.rest().as_bytes();
        let length = blanks_end(rest, 0);
        // Blanks before a newline go with it, also in a description.
        if rest.get(length) == Some(&b'\n') {
            self.end_line(length + 1);
            None
        } else if self.expecting.description {
            Some(self.take(length, Kind::Text))
        } else {
            self.advance(length);
            None
        }
    }

    /// A keyword, quoted text, a number or mark, or one character of text.
    fn word(&mut self, first: u8) -> Token<'a> {
        // Before anything else, so that a keyword wins over the name that it begins.
        if first.is_ascii_alphabetic()
            && let Some((length, pattern)) = longest_keyword(self.rest().as_bytes())
        {
            return self.keyword(length, pattern.kind);
        }
        if first == b'"' && self.last_quote.is_some_and(|last| last > self.at) {
            return self.quoted();
        }
        // Inside a text these marks are letters like others; a comma still parts names.
        let plain = |kind, as_text| if as_text { Kind::Text } else { kind };
        let text = self.expecting.text();
        match first {
            b'0'..=b'9' => self.take(number_length(self.rest()), plain(Kind::Number, text)),
            b'-' => self.take(1, plain(Kind::Dash, text)),
            b':' => self.take(1, plain(Kind::Colon, text)),
            b'*' => self.take(1, plain(Kind::Asterisk, text)),
            // Only a description takes commas for text.
            b',' => self.take(1, plain(Kind::Comma, self.expecting.description)),
            _ => {
                // One character at a time, however many bytes: the next may begin a keyword.
                let length = self.rest().chars().next().map_or(0, char::len_utf8);
                self.take(length, Kind::Text)
            }
        }
    }

    /// A keyword is text where a description goes on, and a node type only where node types are listed.
    fn keyword(&mut self, length: usize, kind: Kind) -> Token<'a> {
        let kind = match kind {
            Kind::NodeWord(_) if self.expecting.node_types => kind,
            // `ca` is a word like others where no node types are listed.
            Kind::NodeWord(_) => Kind::Text,
            _ if self.expecting.description => Kind::Text,
            _ => kind,
        };
        if let Kind::Key(key) = kind {
            self.expecting = self.expecting.after(key);
        }
        self.take(length, kind)
    }

    /// Text between quotes, which may span lines without ending what the line asked for.
    /// Keywords between quotes are text, so that any name can be written somehow.
    fn quoted(&mut self) -> Token<'a> {
        let inner = self.rest()[1..].find('"').unwrap_or(0);
        let mut token = self.take(inner + 2, Kind::Text);
        token.text = &token.text[1..=inner];
        token
    }

    /// The next bytes as a token.
    /// `length` ends between characters.
    fn take(&mut self, length: usize, kind: Kind) -> Token<'a> {
        let text = &self.rest()[..length];
        let span = Span {
            start: self.position,
            offset: narrow(self.at),
            length: narrow(length),
        };
        self.advance(length);
        Token { kind, text, span }
    }

    /// Goes on by so many bytes. Units: bytes.
    fn advance(&mut self, length: usize) {
        self.position = self.position.after(&self.rest()[..length]);
        self.at += length;
    }
}

/// The text is known to be short enough.
fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The longest keyword here, with its length. Flex has the same rule, which is why `qos-level-name` is not
/// `qos-level` and more.
/// Cost: the keywords of one letter, a dozen at most.
fn longest_keyword(rest: &[u8]) -> Option<(usize, &'static Pattern)> {
    let patterns = patterns_with(*rest.first()?).iter();
    let lengths = patterns.filter_map(|p| p.length_in(rest).map(|length| (length, p)));
    lengths.max_by_key(|(length, _)| *length)
}

/// How long the number here is; the `0x` of a hexadecimal one counts only if a digit follows.
fn number_length(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let hex = bytes
        .iter()
        .skip(2)
        .take_while(|b| b.is_ascii_hexdigit())
        .count();
    if hex > 0 && matches!(bytes, [b'0', b'x' | b'X', ..]) {
        return 2 + hex;
    }
    bytes.iter().take_while(|b| b.is_ascii_digit()).count()
}

#[cfg(test)]
mod tests {
    use super::super::token::{Block, NodeWord, Ulp};
    use super::*;

    fn kinds(text: &str) -> Vec<Kind> {
        let mut lexer = Lexer::new(text);
        let mut kinds = Vec::new();
        loop {
            match lexer.next().kind {
                Kind::EndOfFile => return kinds,
                kind => kinds.push(kind),
            }
        }
    }

    #[test]
    fn longest_keyword_wins() {
        assert_eq!(kinds("qos-levels"), [Kind::Start(Block::Levels)]);
        assert_eq!(kinds("qos-level-name:"), [Kind::Key(Key::LevelName)]);
        assert_eq!(
            kinds("end-qos-level\nqos-level"),
            [Kind::End(Block::Level), Kind::Start(Block::Level)]
        );
        assert_eq!(kinds("ANY , pkey"), [Kind::Ulp(Ulp::AnyPkey)]);
        assert_eq!(kinds("Sdp\t: "), [Kind::Ulp(Ulp::Sdp)]);
    }

    #[test]
    fn numbers_are_text_where_names_stand() {
        assert_eq!(kinds("sl: 0x1f"), [Kind::Key(Key::Sl), Kind::Number]);
        assert_eq!(
            kinds("name: 12\n12"),
            [Kind::Key(Key::Name), Kind::Text, Kind::Number]
        );
        assert_eq!(kinds("0x"), [Kind::Number, Kind::Text]);
    }

    #[test]
    fn node_words_are_text_elsewhere() {
        let listed = [Kind::Key(Key::NodeType), Kind::NodeWord(NodeWord::Ca)];
        assert_eq!(
            kinds("node-type: cA\nca"),
            [&listed[..], &[Kind::Text]].concat()
        );
    }

    #[test]
    fn comments_need_their_newline() {
        assert_eq!(kinds("# all\n"), []);
        assert_eq!(kinds("#")[..], [Kind::Text]);
    }

    #[test]
    fn places_count_characters() {
        let mut lexer = Lexer::new("name: \u{e9}\u{e9}b\n  sl:");
        let last = std::iter::repeat_with(|| lexer.next()).nth(4).unwrap();
        assert_eq!(
            (last.kind, last.span.start.line, last.span.start.column),
            (Kind::Key(Key::Sl), 2, 3)
        );
        let quoted = Lexer::new("\"a\nb\"").next();
        assert_eq!((quoted.text, quoted.span.length), ("a\nb", 5));
    }
}
