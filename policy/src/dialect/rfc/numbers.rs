//! Numbers and ranges in the text of an entry.
//!
//! ```text
//! 22, 4719, 6000-6010      pairs
//! 0:64, 2:128              weights
//! 010                      10, with a remark: OpenSM would read 8
//! ```

use sa_text::Spanned;

use super::value::{Piece, Value, split};
use super::values::Reader;
use crate::error::{Error, Remark};
use crate::model::Setup;
use crate::model::ranges::Ranges;

impl Reader<'_> {
    /// A number. Errors: anything else, a list too.
    /// Comments behind it are told and cut off.
    pub(super) fn number(&mut self, value: &Value<'_>) -> Result<Spanned<u64>, Error> {
        let all = self.number_text(value);
        self.number_at(value, all, "a number")
    }

    /// Numbers with commas between.
    pub(super) fn numbers(&mut self, value: &Value<'_>) -> Result<Vec<Spanned<u64>>, Error> {
        let all = self.number_text(value);
        let pieces: Vec<Piece> = split(&value.text, all, ',').collect();
        pieces
            .into_iter()
            .map(|piece| self.number_at(value, piece, "a number, or numbers with commas between"))
            .collect()
    }

    /// Numbers and ranges with commas between.
    /// In the order of the file; sorted and merged later.
    pub(super) fn pairs(&mut self, value: &Value<'_>) -> Result<Spanned<Vec<(u64, u64)>>, Error> {
        let all = self.number_text(value);
        self.pairs_in(value, all)
    }

    /// Numbers and ranges in a part of the value.
    fn pairs_in(
        &mut self,
        value: &Value<'_>,
        all: Piece,
    ) -> Result<Spanned<Vec<(u64, u64)>>, Error> {
        let pieces: Vec<Piece> = split(&value.text, all, ',').collect();
        let pairs = pieces.into_iter().map(|piece| self.range(value, piece));
        let pairs = pairs.collect::<Result<_, _>>()?;
        Ok(Spanned::new(pairs, self.span(value, all)))
    }

    /// A number, or two with a dash between. Bounds the other way round are told and kept: ranges order them.
    /// Errors: more than one dash, an end that is no number.
    pub(super) fn range(&mut self, value: &Value<'_>, piece: Piece) -> Result<(u64, u64), Error> {
        const EXPECTED: &str = "a number or a range of numbers as in 7-9";
        let mut ends = split(&value.text, piece, '-');
        let (first, last) = (ends.next().unwrap_or(piece), ends.next());
        // `1-2-3` is no range, and taking two of the three would be a guess.
        if ends.next().is_some() {
            return Err(self.unexpected(value, piece, EXPECTED));
        }
        let low = *self.number_at(value, first, EXPECTED)?;
        let high = match last {
            Some(last) => *self.number_at(value, last, EXPECTED)?,
            None => low,
        };
        if high < low {
            let (low, high) = (high, low);
            let span = self.span(value, piece);
            self.diagnostics
                .add(span, Remark::TurnedRange { low, high });
        }
        Ok((low, high))
    }

    /// Pairs of numbers with a colon between.
    pub(super) fn weights(&mut self, value: &Value<'_>) -> Result<Vec<(u64, u64)>, Error> {
        const EXPECTED: &str = "VL:weight, or several with commas between";
        let all = self.number_text(value);
        let pieces: Vec<Piece> = split(&value.text, all, ',').collect();
        let mut weights = Vec::with_capacity(pieces.len());
        for piece in pieces {
            let mut halves = split(&value.text, piece, ':');
            let (Some(vl), Some(weight), None) = (halves.next(), halves.next(), halves.next())
            else {
                return Err(self.unexpected(value, piece, EXPECTED));
            };
            let vl = self.number_at(value, vl, EXPECTED)?;
            weights.push((*vl, *self.number_at(value, weight, EXPECTED)?));
        }
        Ok(weights)
    }

    /// Port numbers, or an asterisk for any.
    /// The asterisk stands alone: in a list it is no number.
    pub(super) fn ports(&mut self, value: &Value<'_>) -> Result<Ranges, Error> {
        let all = self.number_text(value);
        match &value.text[all.from..all.to] {
            "*" => Ok(Ranges::new([Setup::ANY_PORT])),
            _ => Ok(Ranges::new(self.pairs_in(value, all)?.value)),
        }
    }

    /// A number, and a remark where it is read otherwise than it looks. Errors: what is no number.
    /// Every number of these dialects is read here.
    fn number_at(
        &mut self,
        value: &Value<'_>,
        piece: Piece,
        expected: &'static str,
    ) -> Result<Spanned<u64>, Error> {
        let text = &value.text[piece.from..piece.to];
        let Some(number) = written_number(text) else {
            return Err(self.unexpected(value, piece, expected));
        };
        let span = self.span(value, piece);
        match number {
            Written::Plain(_) => {}
            Written::LeadingZero(number) => {
                self.diagnostics.add(span, Remark::LeadingZero(number));
            }
            // Saturates as C does; whoever has a narrower range tells more.
            Written::TooLarge => self.diagnostics.add(span, Remark::TooLarge),
        }
        Ok(Spanned::new(number.value(), span))
    }

    /// A value of numbers up to a comment.
    pub(super) fn number_text(&mut self, value: &Value<'_>) -> Piece {
        self.without_comment(value, value.text.find('#'))
    }
}

/// A number in decimal or `0x` hexadecimal.
/// How it is written decides about remarks, not about the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    Plain(u64),
    LeadingZero(u64),
    TooLarge,
}

impl Written {
    /// The number that is gone on with.
    const fn value(self) -> u64 {
        match self {
            Self::Plain(value) | Self::LeadingZero(value) => value,
            Self::TooLarge => u64::MAX,
        }
    }
}

/// None for what is no number. The RFCs say nothing of octal, so that zeros before a decimal number change
/// nothing.
fn written_number(text: &str) -> Option<Written> {
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let (digits, radix) = hex.map_or((text, 10), |digits| (digits, 16));
    // Signs are no digits: `-1` is no number here, while C would make a large one of it.
    let is_number = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
    if !is_number {
        return None;
    }
    Some(match u64::from_str_radix(digits, radix) {
        // All digits are good, so nothing else can have failed.
        Err(_) => Written::TooLarge,
        Ok(value) if radix == 10 && digits.len() > 1 && digits.starts_with('0') => {
            Written::LeadingZero(value)
        }
        Ok(value) => Written::Plain(value),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_decimal_or_hexadecimal() {
        assert_eq!(written_number("10"), Some(Written::Plain(10)));
        assert_eq!(written_number("0"), Some(Written::Plain(0)));
        assert_eq!(written_number("0X1f"), Some(Written::Plain(31)));
        assert_eq!(written_number("010"), Some(Written::LeadingZero(10)));
        assert_eq!(
            written_number("99999999999999999999"),
            Some(Written::TooLarge)
        );
        for bad in ["", "0x", "-1", "+1", "1 2", "a", "1.0"] {
            assert_eq!(written_number(bad), None, "{bad}");
        }
    }
}
