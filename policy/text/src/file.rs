//! From the bytes of a file to a text that a parser can take.
//!
//! Files that operators write come in any encoding: what is not UTF-8 is taken for Latin-1, which any bytes
//! are, so that a comment with an umlaut refuses no policy. Size is bounded before anything is parsed.

use std::borrow::Cow;

use thiserror::Error;

use crate::place::{Position, Span};

/// Longest text that is parsed. Units: bytes.
pub const MAX_FILE_BYTES: usize = 16 << 20;

/// Why a text is refused before anybody parses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum BadText {
    /// It has more than [`MAX_FILE_BYTES`].
    #[error("{length} bytes are more than the {MAX_FILE_BYTES} that one file may have")]
    TooLong {
        /// How long it is. Units: bytes.
        length: usize,
    },
    /// A byte that text files do not have.
    #[error("a NUL byte: this is no text file")]
    Nul {
        /// The first of them.
        at: Span,
    },
}

impl BadText {
    /// The NUL byte, or the beginning of a text that is too long.
    pub const fn span(self) -> Span {
        match self {
            Self::TooLong { .. } => Span::START,
            Self::Nul { at } => at,
        }
    }
}

/// The text of a file: UTF-8 if it is that, else Latin-1, which any bytes are. Spans count in this
/// text.
pub fn decode(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        // Each byte of Latin-1 is the character of its number.
        Err(_) => Cow::Owned(bytes.iter().copied().map(char::from).collect()),
    }
}

/// The text of a file that should be UTF-8, with U+FFFD for what is not, and the place of the
/// first such.
pub fn decode_lossy(bytes: &[u8]) -> (Cow<'_, str>, Option<Position>) {
    let bad = std::str::from_utf8(bytes).err().map(|error| {
        // The error counts valid bytes, the message characters.
        let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
        Position::START.after(&String::from_utf8_lossy(before))
    });
    (String::from_utf8_lossy(bytes), bad)
}

/// Errors: the text has more than [`MAX_FILE_BYTES`].
pub const fn check_length(text: &str) -> Result<(), BadText> {
    match text.len() {
        ..=MAX_FILE_BYTES => Ok(()),
        length => Err(BadText::TooLong { length }),
    }
}

/// Errors: the text is longer than a parser takes, or holds a NUL byte.
pub fn check_file(text: &str) -> Result<(), BadText> {
    // Before anything looks through the text.
    check_length(text)?;
    match text.find('\0') {
        Some(at) => Err(BadText::Nul {
            at: Span::in_text(text, at..at + 1),
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_utf_8_is_latin_1() {
        assert_eq!(decode(b"a\xe9\xe8"), "a\u{e9}\u{e8}");
        assert_eq!(decode("a\u{e9}".as_bytes()), "a\u{e9}");
    }

    #[test]
    fn bad_bytes_have_their_place() {
        let (text, bad) = decode_lossy(b"ab\ncd\xff");
        assert_eq!(text, "ab\ncd\u{fffd}");
        assert_eq!(bad, Some(Position { line: 2, column: 3 }));
        assert_eq!(decode_lossy(b"ab").1, None);
    }

    #[test]
    fn no_parser_sees_a_nul_byte() {
        let error = check_file("a\nb\0").unwrap_err();
        assert_eq!(error.span(), Span::in_text("a\nb\0", 3..4));
        let long = " ".repeat(MAX_FILE_BYTES + 1);
        assert_eq!(check_file(&long).map_err(BadText::span), Err(Span::START));
    }
}
