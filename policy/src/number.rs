//! Numbers as C's `strtoull` with base 0 reads them.

/// The number at the beginning of `text` and how many bytes it takes; `(0, 0)` when there is
/// none. Decimal, `0x` hexadecimal or, after a leading zero, octal; too large is `u64::MAX`.
pub(crate) fn leading_number(text: &str) -> (u64, usize) {
    let bytes = text.as_bytes();
    let is_hex_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_hexdigit);
    match bytes {
        [b'0', b'x' | b'X', ..] if is_hex_digit(2) => digits(bytes, 2, 16),
        [b'0', ..] => digits(bytes, 0, 8),
        _ => digits(bytes, 0, 10),
    }
}

/// The same with what `strtoul` allows in front: white space and a sign. A minus wraps around.
pub(crate) fn signed_number(text: &str) -> (u64, usize) {
    let digits = text.trim_start_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r']);
    let (negative, digits) = match digits.as_bytes() {
        [b'-', ..] => (true, &digits[1..]),
        [b'+', ..] => (false, &digits[1..]),
        _ => (false, digits),
    };
    let (value, length) = leading_number(digits);
    if length == 0 {
        return (0, 0);
    }
    let saturated = value == u64::MAX;
    let value = if negative && !saturated {
        value.wrapping_neg()
    } else {
        value
    };
    (value, text.len() - digits.len() + length)
}

fn digits(bytes: &[u8], from: usize, radix: u32) -> (u64, usize) {
    let mut value = 0u64;
    let mut at = from;
    while let Some(digit) = bytes.get(at).and_then(|b| char::from(*b).to_digit(radix)) {
        value = value
            .checked_mul(u64::from(radix))
            .and_then(|shifted| shifted.checked_add(u64::from(digit)))
            .unwrap_or(u64::MAX);
        at += 1;
        if value == u64::MAX {
            at += bytes[at..]
                .iter()
                .take_while(|b| char::from(**b).is_digit(radix))
                .count();
            break;
        }
    }
    (value, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_follow_the_c_library() {
        assert_eq!(leading_number("10"), (10, 2));
        assert_eq!(leading_number("010"), (8, 3), "octal");
        assert_eq!(leading_number("08"), (0, 1), "8 ends an octal number");
        assert_eq!(leading_number("0X0a"), (10, 4));
        assert_eq!(leading_number("0x"), (0, 1));
        assert_eq!(leading_number("x"), (0, 0));
        assert_eq!(
            leading_number("99999999999999999999999"),
            (u64::MAX, 23),
            "saturates"
        );
        assert_eq!(leading_number("18446744073709551615x"), (u64::MAX, 20));
        assert_eq!(leading_number("0xfffffffffffffffff"), (u64::MAX, 19));
    }

    #[test]
    fn a_sign_wraps_around() {
        assert_eq!(signed_number("-1"), (u64::MAX, 2));
        assert_eq!(signed_number(" +0x10,"), (16, 6));
        assert_eq!(signed_number("-"), (0, 0));
    }
}
