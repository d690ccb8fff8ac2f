//! The text of an entry, decoded, and where each of its bytes comes from.
//!
//! ```text
//! file    <use>a &amp; b</use>           bytes 5 to 14
//! text    a & b                          sources (0, 5), (2, 7), (3, 12): byte 3 is 12 in the file
//! ```
//!
//! Lines need one source, values of XML one more for each reference or comment in them. Messages
//! point at the byte in the file, however it was written.

use std::borrow::Cow;

/// White space, as C has it, and the blank that does not break lines: mail programs and word
/// processors put it in place of others, in the RFC's own example too.
/// Of all these only the blank and the tab are blanks to OpenSM.
pub(super) const WHITE: [char; 7] = [' ', '\t', '\n', '\x0b', '\x0c', '\r', NO_BREAK];
/// The blank that does not break lines.
pub(super) const NO_BREAK: char = '\u{a0}';

/// A decoded text. Its outer white space is gone.
/// Borrowed where nothing had to be decoded, which is nearly always.
#[derive(Debug)]
pub(super) struct Value<'a> {
    /// Without quotes or comments taken off: that is for whoever reads the value.
    pub(super) text: Cow<'a, str>,
    /// Where bytes come from: those from `.0` on stand at `.1` of the file and behind. Shape: the
    /// first is for byte 0; ascending.
    sources: Vec<(usize, usize)>,
}

impl<'a> Value<'a> {
    /// Text as it stands in the file from byte `at` on.
    pub(super) fn plain(text: &'a str, at: usize) -> Self {
        let trimmed = text.trim_start_matches(WHITE);
        Self {
            sources: vec![(0, at + text.len() - trimmed.len())],
            text: Cow::Borrowed(trimmed.trim_end_matches(WHITE)),
        }
    }

    /// Text put together of pieces that come from elsewhere.
    /// White space at the ends must be gone already.
    pub(super) fn decoded(text: String, sources: Vec<(usize, usize)>) -> Self {
        Self {
            text: Cow::Owned(text),
            sources,
        }
    }

    /// Where pieces come from. Shape: as in [`Self::decoded`].
    pub(super) fn sources(&self) -> &[(usize, usize)] {
        &self.sources
    }

    /// Where byte `at` of the text stands in the file.
    /// Cost: O(log sources). Inside of what was decoded the place is its beginning.
    pub(super) fn source(&self, at: usize) -> usize {
        let next = self.sources.partition_point(|(from, _)| *from <= at);
        match self.sources.get(next.wrapping_sub(1)) {
            Some((from, source)) => {
                // A reference is longer than what it stands for: do not run into the next piece.
                let limit = self.sources.get(next).map_or(usize::MAX, |(_, next)| *next);
                (source + (at - from)).min(limit)
            }
            None => 0,
        }
    }
}

/// A piece of a text by its bytes.
/// In bytes of the decoded text, never of the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    /// The first byte of the piece, at a boundary of characters.
    pub(super) from: usize,
    /// One behind the last; equal to `from` for an empty piece.
    pub(super) to: usize,
}

impl Piece {
    /// Without white space at its ends.
    pub(super) fn trimmed(self, text: &str) -> Self {
        let piece = &text[self.from..self.to];
        let start = piece.trim_start_matches(WHITE);
        let from = self.to - start.len();
        Self {
            from,
            to: from + start.trim_end_matches(WHITE).len(),
        }
    }
}

/// What stands between these characters, trimmed; one piece at least.
/// Empty pieces are given too, as something is missing there.
pub(super) fn split(text: &str, whole: Piece, at: char) -> impl Iterator<Item = Piece> {
    let mut from = whole.from;
    text[whole.from..whole.to].split(at).map(move |part| {
        let piece = Piece {
            from,
            to: from + part.len(),
        };
        from = piece.to + at.len_utf8();
        piece.trimmed(text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_trimmed_and_keep_their_places() {
        let value = Value::plain("  a, bc ,", 10);
        assert_eq!((value.text.as_ref(), value.source(0)), ("a, bc ,", 12));
        let whole = Piece { from: 0, to: 7 };
        let pieces: Vec<&str> = split(&value.text, whole, ',')
            .map(|piece| &value.text[piece.from..piece.to])
            .collect();
        assert_eq!(pieces, ["a", "bc", ""]);
    }

    #[test]
    fn sources_skip_what_was_decoded() {
        // "a&lt;b" at byte 5
        let value = Value::decoded("a<b".into(), vec![(0, 5), (1, 6), (2, 10)]);
        assert_eq!([0, 1, 2, 3].map(|at| value.source(at)), [5, 6, 10, 11]);
    }
}
