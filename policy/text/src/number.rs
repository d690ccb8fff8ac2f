//! Numbers as the C library's base-0 conversions read them.

/// A number at the start of a text: `0x` hexadecimal, `0` octal or decimal digits. OpenSM and ibsim read
/// all of theirs by `strtoul` and its relatives, so what follows the digits is no matter of the number, and
/// too large a one has a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number {
    /// The digits' value; none when it exceeds 64 bits.
    pub magnitude: Option<u64>,
    is_negative: bool,
    /// How much of the text is the number; 0 when it begins with none. Units: bytes.
    pub length: usize,
}

impl Number {
    /// Reads blanks, one sign, then digits. Source: C, `strtoul` with base 0.
    pub fn read(text: &str) -> Self {
        // What C's `isspace` takes; other blanks of Unicode begin no number.
        let unsigned = text.trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
        let digits = unsigned.strip_prefix(['-', '+']).unwrap_or(unsigned);
        let number = Self::read_digits(digits);
        match number.length {
            // A sign without digits is no part of a number.
            0 => number,
            length => Self {
                is_negative: unsigned.starts_with('-'),
                length: text.len() - digits.len() + length,
                ..number
            },
        }
    }

    /// Reads digits alone, as a scanner does that has seen to what stands before them.
    pub fn read_digits(text: &str) -> Self {
        let (radix, prefix) = radix(text.as_bytes());
        let digits = &text[prefix..];
        let end = digits.find(|digit: char| !digit.is_digit(radix));
        let digits = &digits[..end.unwrap_or(digits.len())];
        // `0x` without a digit behind it has been read as 0 by now.
        let magnitude = match digits {
            "" => Some(0),
            _ => u64::from_str_radix(digits, radix).ok(),
        };
        Self {
            magnitude,
            is_negative: false,
            length: prefix + digits.len(),
        }
    }

    /// The unsigned reading (`strtoull`): a minus sign wraps round, overflow saturates.
    pub const fn unsigned_64(self) -> u64 {
        match self.magnitude {
            Some(magnitude) if self.is_negative => magnitude.wrapping_neg(),
            Some(magnitude) => magnitude,
            None => u64::MAX,
        }
    }

    /// The unsigned reading cut to the 32 bits of an `unsigned int`.
    pub fn unsigned_32(self) -> u32 {
        low_32(self.unsigned_64())
    }

    /// The signed reading (`strtol`), which saturates at the ends of 64 bits, cut to 32 bits.
    pub fn signed_32(self) -> i32 {
        // One more below zero than above.
        let limit = i64::MAX.cast_unsigned() + u64::from(self.is_negative);
        let magnitude = self.magnitude.map_or(limit, |value| value.min(limit));
        let value = if self.is_negative {
            magnitude.wrapping_neg()
        } else {
            magnitude
        };
        low_32(value).cast_signed()
    }
}

/// The base that a prefix asks for, and its length. `0x` without a hexadecimal digit is the number 0 followed
/// by an `x`; the zero of an octal number is a digit of it.
const fn radix(text: &[u8]) -> (u32, usize) {
    match text {
        [b'0', b'x' | b'X', digit, ..] if digit.is_ascii_hexdigit() => (16, 2),
        // The zero is a digit too, so that `0` alone is a number, and `08` is 0 with an 8 behind
        // it.
        [b'0', ..] => (8, 0),
        _ => (10, 0),
    }
}

/// What an `unsigned int` keeps of it.
fn low_32(value: u64) -> u32 {
    u32::try_from(value & u64::from(u32::MAX)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_follow_the_c_library() {
        let read = |text| {
            let number = Number::read_digits(text);
            (number.unsigned_64(), number.length)
        };
        assert_eq!(read("10"), (10, 2));
        assert_eq!(read("017"), (15, 3), "octal");
        assert_eq!(read("08"), (0, 1), "8 ends an octal number");
        assert_eq!(read("0X0a"), (10, 4));
        assert_eq!(read("0x20(20)"), (0x20, 4));
        assert_eq!(read("0x"), (0, 1));
        assert_eq!(read("0xg"), (0, 1), "the x is no part of it");
        assert_eq!(read("12t"), (12, 2));
        assert_eq!(read("x"), (0, 0));
        assert_eq!(read("-1"), (0, 0));
        assert_eq!(read("1\u{e9}"), (1, 1));
        let large = "99999999999999999999999";
        assert_eq!(read(large), (u64::MAX, 23), "saturates");
        assert_eq!(read("18446744073709551615x"), (u64::MAX, 20));
        assert_eq!(read("0xfffffffffffffffff"), (u64::MAX, 19));
    }

    #[test]
    fn a_sign_wraps_around() {
        let read = |text| {
            let number = Number::read(text);
            (number.unsigned_64(), number.length)
        };
        assert_eq!(read("-1"), (u64::MAX, 2));
        assert_eq!(read(" +0x10,"), (16, 6));
        assert_eq!(read("-"), (0, 0));
        assert_eq!(read("-18446744073709551615"), (1, 21));
        assert_eq!(read("-99999999999999999999").0, u64::MAX, "saturates");
        assert_eq!(read("five"), (0, 0));
    }

    #[test]
    fn signed_reading_saturates_and_is_cut_to_32_bits() {
        let signed = |text| Number::read(text).signed_32();
        assert_eq!(signed("-3"), -3);
        assert_eq!(signed("0x7fffffff"), i32::MAX);
        assert_eq!(signed("4294967297"), 1);
        assert_eq!(signed("99999999999999999999"), -1, "low bits of LONG_MAX");
        assert_eq!(signed("-99999999999999999999"), 0, "low bits of LONG_MIN");
        assert_eq!(Number::read("0x100000005").unsigned_32(), 5);
    }
}
