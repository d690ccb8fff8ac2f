//! From the text of an element to its value.
//!
//! ```text
//! Virtual&#10;   Servers      one newline from the reference, which stays
//! Virtual
//!    Servers                  one blank: a line was broken for the eye
//! ```

use crate::dialect::rfc::value::{Piece, Value, WHITE};
use crate::dialect::rfc::values::Reader;
use crate::error::{Error, Problem, Remark};

/// Puts the pieces together: entities are decoded, line ends and the white space about them
/// become one blank. Errors: an entity that is none of XML's own.
/// Cost: nothing is copied where one piece has no reference and no line end.
pub(super) fn decode<'a>(
    text: &'a str,
    pieces: &[Piece],
    reader: &mut Reader<'_>,
) -> Result<Value<'a>, Error> {
    if let [piece] = pieces {
        let piece = piece.trimmed(text);
        let plain = &text[piece.from..piece.to];
        if !plain.contains(['&', '\n', '\r']) {
            return Ok(Value::plain(plain, piece.from));
        }
    }
    let mut decoder = Decoder {
        text,
        out: String::new(),
        sources: Vec::new(),
    };
    for piece in pieces {
        // Comments between pieces leave nothing, not even a blank.
        decoder.piece(*piece, reader)?;
    }
    Ok(decoder.finish())
}

/// Text so far, and where its bytes come from: a message about a decoded value still points at the right
/// place of the file.
/// Made for a value that is not plain; plain ones are borrowed from the file.
struct Decoder<'a> {
    text: &'a str,
    /// Decoded so far, white space at the beginning included.
    out: String,
    /// As in [`Value`]: byte of `out`, byte of the file.
    sources: Vec<(usize, usize)>,
}

impl<'a> Decoder<'a> {
    /// Adds the text between two comments.
    fn piece(&mut self, piece: Piece, reader: &mut Reader<'_>) -> Result<(), Error> {
        let mut at = piece.from;
        while at < piece.to {
            let rest = &self.text[at..piece.to];
            let plain = rest.find(['&', '\n', '\r']).unwrap_or(rest.len());
            self.sources.push((self.out.len(), at));
            self.out.push_str(&rest[..plain]);
            at += plain;
            match rest[plain..].chars().next() {
                None => {}
                Some('&') => at += self.reference(at, piece.to, reader)?,
                Some(_) => at += self.line_end(&rest[plain..], at),
            }
        }
        self.sources.push((self.out.len(), at));
        Ok(())
    }

    /// Puts a blank where lines end; gives the length of the white space.
    /// White space before the line end goes, too, with its sources.
    fn line_end(&mut self, rest: &str, at: usize) -> usize {
        let kept = self.out.trim_end_matches([' ', '\t']).len();
        self.out.truncate(kept);
        while self.sources.last().is_some_and(|(from, _)| *from >= kept) {
            self.sources.pop();
        }
        self.sources.push((kept, at));
        self.out.push(' ');
        rest.len() - rest.trim_start_matches(WHITE).len()
    }

    /// Decodes the reference at `at`; gives its length.
    /// Errors: a name that XML does not have. A bare `&` is taken for itself and told.
    fn reference(
        &mut self,
        at: usize,
        end: usize,
        reader: &mut Reader<'_>,
    ) -> Result<usize, Error> {
        let rest = &self.text[at..end];
        self.sources.push((self.out.len(), at));
        let body = &rest[1..];
        let name_length = body
            .bytes()
            .take(LONGEST)
            .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'#')
            .count();
        let span = |length: usize| reader.places.span(at..at + length);
        // `a & b`: XML forbids it and everybody writes it.
        if !body[name_length..].starts_with(';') {
            // Working out a place takes time, and a hostile file has many.
            if !reader.diagnostics.is_full() {
                let span = span(1);
                reader.diagnostics.add(span, Remark::BareAmpersand);
            }
            self.out.push('&');
            return Ok(1);
        }
        let length = name_length + 2;
        match character(&body[..name_length]) {
            Some(character) => {
                self.out.push(character);
                Ok(length)
            }
            None => {
                let text = String::from(&rest[..length]);
                Err(Error::new(span(length), Problem::Entity { text }))
            }
        }
    }

    /// Without white space at the ends.
    fn finish(self) -> Value<'a> {
        let piece = Piece {
            from: 0,
            to: self.out.len(),
        }
        .trimmed(&self.out);
        // A value without text, to look places up in.
        let first = Value::decoded(String::new(), self.sources);
        let start = first.source(piece.from);
        let later = first
            .sources()
            .iter()
            .filter(|(from, _)| *from > piece.from);
        let moved = later.map(|(from, source)| (from - piece.from, *source));
        let sources = std::iter::once((0, start)).chain(moved).collect();
        Value::decoded(String::from(&self.out[piece.from..piece.to]), sources)
    }
}

/// Longer names are none that XML has. Units: bytes.
const LONGEST: usize = 16;

/// The character that a reference stands for; none for entities that a document would have to define.
/// Zero is none: it would end texts elsewhere.
fn character(name: &str) -> Option<char> {
    let number = |digits: &str, radix| {
        let is_number = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
        let code = u32::from_str_radix(digits, radix)
            .ok()
            .filter(|_| is_number)?;
        char::from_u32(code).filter(|character| *character != '\0')
    };
    match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => match name.strip_prefix("#x") {
            Some(digits) => number(digits, 16),
            None => number(name.strip_prefix('#')?, 10),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_predefined_entities_and_numbers_are_characters() {
        let decoded = ["lt", "gt", "amp", "quot", "apos", "#65", "#x41"].map(character);
        let expected = ['<', '>', '&', '"', '\'', 'A', 'A'].map(Some);
        assert_eq!(decoded, expected);
        for none in ["nbsp", "#0", "#x110000", "#", "#x", "#+5", "xxe"] {
            assert_eq!(character(none), None, "{none}");
        }
    }
}
