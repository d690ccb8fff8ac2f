//! `flow-label:`, an extension of all dialects: `none`, `fixed N`, `hash` or `spread K`.
//!
//! ```text
//! flow-label: fixed 0x12345      this label
//! flow-label: hash               a label of the pair, the same every time
//! flow-label: spread 4           four labels for a pair, in as many records
//! ```
//!
//! One reader for all dialects, as none of them had the word before: numbers are C's without octal,
//! and everything behind the value is an error.

use core::ops::Range;

use sa_snapshot::model::FlowLabels;
use sa_text::{Number, Span};
use sa_wire::roce::FlowLabel;

use crate::error::{Error, Problem};

/// What a value has to be.
const EXPECTED: &str = "none, fixed N, hash or spread K";
/// Advice for a label that is out of range.
const LABEL: &str = "flow labels have 20 bits, and 0 stands for no label; `none` gives none";
/// Advice for a number of labels that is out of range.
const COUNT: &str = "give each pair of ports 2 labels or more; no request can name more than 127 \
     paths";

/// Reads a value. Shape: `text` without outer white space; `span` tells where a piece of it stands.
///
/// Errors: another word; a number that is none, or out of range.
/// `span` makes a place in the file of bytes of `text`: only the caller knows where that stands.
pub(crate) fn read(text: &str, span: impl Fn(Range<usize>) -> Span) -> Result<FlowLabels, Error> {
    let word_end = text.find(char::is_whitespace).unwrap_or(text.len());
    let rest = text[word_end..].trim_start();
    let number_at = text.len() - rest.len();
    let value = Value {
        word: &text[..word_end],
        number: rest,
        whole: span(0..text.len()),
        at: span(number_at..text.len()),
    };
    match (value.word, rest) {
        // Words take no number: `hash 3` is unexpected as a whole.
        ("none", "") => Ok(FlowLabels::None),
        ("hash", "") => Ok(FlowLabels::Hash),
        ("fixed", _) => {
            let label = value.number(1, FlowLabel::MAX.get(), "flow-label fixed", LABEL)?;
            let label = FlowLabel::new(label).ok();
            label
                .and_then(FlowLabels::fixed)
                .ok_or_else(|| value.unexpected())
        }
        ("spread", _) => {
            // NumbPath of a request has seven bits.
            let most = u32::from(FlowLabels::MOST);
            let count = value.number(2, most, "flow-label spread", COUNT)?;
            let count = u8::try_from(count).ok();
            count
                .and_then(FlowLabels::spread)
                .ok_or_else(|| value.unexpected())
        }
        _ => Err(value.unexpected()),
    }
}

/// A value in its pieces.
/// Kept apart so that an error can point at the part that is wrong.
struct Value<'a> {
    word: &'a str,
    /// What stands behind the word.
    number: &'a str,
    whole: Span,
    /// Where the number stands, or where it is missing.
    at: Span,
}

impl Value<'_> {
    /// Points at the number where the word is right, else at the whole value.
    fn unexpected(&self) -> Error {
        let (found, at) = match (self.word, self.number) {
            ("fixed" | "spread", "") => (String::from("end of the value"), self.at),
            ("fixed" | "spread", number) => (shown(number), self.at),
            (word, _) => (shown(word), self.whole),
        };
        Error::new(at, Problem::Unexpected { found }).expecting(EXPECTED)
    }

    /// The number behind the word. Errors: none, more than a number, or one out of range.
    fn number(
        &self,
        least: u32,
        most: u32,
        what: &'static str,
        hint: &'static str,
    ) -> Result<u32, Error> {
        // No policy has it yet, so that none needs zeros that mean octal to OpenSM.
        let is_octal = self.number.len() > 1
            && self.number.starts_with('0')
            && !self.number.starts_with(['x', 'X']);
        let is_hexadecimal = self.number.starts_with("0x") || self.number.starts_with("0X");
        let number = Number::read_digits(self.number);
        let (number, length) = (number.unsigned_64(), number.length);
        // Signs, letters behind the number and octal are no numbers here.
        if length == 0 || length < self.number.len() || is_octal && !is_hexadecimal {
            return Err(self.unexpected());
        }
        match u32::try_from(number) {
            Ok(number) if (least..=most).contains(&number) => Ok(number),
            _ => {
                let problem = Problem::OutOfRange {
                    what,
                    value: number,
                    least: least.into(),
                    most: most.into(),
                };
                Err(Error::new(self.at, problem).hinting(hint))
            }
        }
    }
}

/// As messages quote it: 40 characters at most, so that a hostile value does not fill a screen.
fn shown(text: &str) -> String {
    format!("'{}'", text.chars().take(40).collect::<String>())
}

#[cfg(test)]
mod tests {
    use sa_text::Position;

    use super::*;

    fn at(range: Range<usize>) -> Span {
        let column = u32::try_from(range.start + 1).unwrap();
        Span {
            start: Position { line: 1, column },
            ..Span::START
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let fixed = |raw| FlowLabels::fixed(FlowLabel::new(raw).unwrap()).unwrap();
        for (text, labels) in [
            ("none", FlowLabels::None),
            ("hash", FlowLabels::Hash),
            ("fixed 1", fixed(1)),
            ("fixed\t 0xFFFFF", fixed(0xf_ffff)),
            ("spread 2", FlowLabels::Spread(2)),
            ("spread 0x7f", FlowLabels::Spread(127)),
        ] {
            assert_eq!(read(text, at), Ok(labels), "{text}");
            assert_eq!(read(&labels.to_string(), at), Ok(labels));
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        for (text, column, says) in [
            ("", 1, "unexpected ''"),
            ("Hash", 1, "unexpected 'Hash'"),
            ("hash 3", 1, "unexpected 'hash'"),
            ("fixed", 6, "unexpected end of the value"),
            (
                "fixed 0",
                7,
                "flow-label fixed 0 is not within 1 to 1048575",
            ),
            (
                "fixed 0x100000",
                7,
                "flow-label fixed 1048576 is not within 1 to 1048575",
            ),
            ("fixed  ten", 8, "unexpected 'ten'"),
            ("fixed 010", 7, "unexpected '010'"),
            ("fixed 1 2", 7, "unexpected '1 2'"),
            ("spread 1", 8, "flow-label spread 1 is not within 2 to 127"),
            (
                "spread 128",
                8,
                "flow-label spread 128 is not within 2 to 127",
            ),
            ("spread 99999999999999999999", 8, "is not within 2 to 127"),
            ("spread -1", 8, "unexpected '-1'"),
        ] {
            let error = read(text, at).unwrap_err();
            assert!(error.message().contains(says), "{text}: {error}");
            assert_eq!(error.column(), column, "{text}");
        }
    }
}
