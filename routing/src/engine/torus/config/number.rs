//! Numbers as the C library's base-0 conversions read them.

/// A number at the start of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Number<'w> {
    /// The digits' value; none when it exceeds 64 bits.
    magnitude: Option<u64>,
    negative: bool,
    /// True when there was at least one digit; without any the value is 0.
    pub(super) has_digits: bool,
    /// What follows the number.
    pub(super) rest: &'w str,
}

impl<'w> Number<'w> {
    /// The same number, with less behind it.
    pub(super) const fn followed_by(self, rest: &'w str) -> Self {
        Self { rest, ..self }
    }

    /// The unsigned reading (`strtoull`): a minus sign wraps round, overflow saturates.
    pub(super) fn unsigned_64(self) -> u64 {
        match self.magnitude {
            Some(magnitude) if self.negative => magnitude.wrapping_neg(),
            Some(magnitude) => magnitude,
            None => u64::MAX,
        }
    }

    /// The unsigned reading cut to the 32 bits of an `unsigned int`.
    pub(super) fn unsigned_32(self) -> u32 {
        low_32(self.unsigned_64())
    }

    /// The signed reading (`strtol`), which saturates at the ends of 64 bits, cut to 32 bits.
    pub(super) fn signed_32(self) -> i32 {
        let limit = i64::MAX.cast_unsigned() + u64::from(self.negative);
        let magnitude = self
            .magnitude
            .map_or(limit, |magnitude| magnitude.min(limit));
        let value = if self.negative {
            magnitude.wrapping_neg()
        } else {
            magnitude
        };
        low_32(value).cast_signed()
    }
}

/// Reads `0x` hexadecimal, `0` octal or decimal digits after blanks and one sign.
/// Source: C, `strtoul` with base 0.
pub(super) fn read(word: &str) -> Number<'_> {
    let after_blanks = word.trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
    let (negative, digits) = match after_blanks.as_bytes().first() {
        Some(b'-') => (true, &after_blanks[1..]),
        Some(b'+') => (false, &after_blanks[1..]),
        _ => (false, after_blanks),
    };
    let (base, digits) = base(digits);
    let count = digits
        .bytes()
        .take_while(|byte| char::from(*byte).is_digit(base))
        .count();
    let (digits, rest) = digits.split_at(count);
    if digits.is_empty() {
        return Number {
            magnitude: Some(0),
            negative: false,
            has_digits: false,
            rest: word,
        };
    }
    let magnitude = u64::from_str_radix(digits, base).ok();
    Number {
        magnitude,
        negative,
        has_digits: true,
        rest,
    }
}

/// The base that a prefix asks for, and the digits after it. `0x` without a hexadecimal digit is
/// the number 0 followed by an `x`.
fn base(digits: &str) -> (u32, &str) {
    let bytes = digits.as_bytes();
    let is_hex = matches!(bytes, [b'0', b'x' | b'X', digit, ..] if digit.is_ascii_hexdigit());
    match bytes.first() {
        Some(b'0') if is_hex => (16, &digits[2..]),
        Some(b'0') => (8, digits),
        _ => (10, digits),
    }
}

fn low_32(value: u64) -> u32 {
    u32::try_from(value & u64::from(u32::MAX)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_strtoul_reads() {
        let value = |word| read(word).unsigned_64();
        assert_eq!(value("0x200000"), 0x20_0000);
        assert_eq!(value("017"), 15);
        assert_eq!(value("08"), 0, "8 is no octal digit");
        assert_eq!(value("12t"), 12);
        assert_eq!(value("0x"), 0);
        assert_eq!(value("99999999999999999999"), u64::MAX);
        assert_eq!(value("-1"), u64::MAX);
        assert_eq!(value("+7"), 7);
        assert_eq!(read("0xg").rest, "xg");
        assert_eq!(read("5m").rest, "m");
        assert!(!read("five").has_digits && read("0").has_digits);
        assert_eq!(read("0x100000005").unsigned_32(), 5);
    }

    #[test]
    fn signed_reading_saturates_and_is_cut_to_32_bits() {
        assert_eq!(read("-3").signed_32(), -3);
        assert_eq!(read("0x7fffffff").signed_32(), i32::MAX);
        assert_eq!(read("4294967297").signed_32(), 1);
        assert_eq!(
            read("99999999999999999999").signed_32(),
            -1,
            "low bits of LONG_MAX"
        );
        assert_eq!(
            read("-99999999999999999999").signed_32(),
            0,
            "low bits of LONG_MIN"
        );
    }
}
