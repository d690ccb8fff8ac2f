//! Which part of a blob is asked for. Source: RFC 9110, 13.1.5 and 14.
//!
//! One range; of several, and of one that is not in bytes, the whole is given, as the RFC allows.

use super::head::Head;

/// The part to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// All of it.
    Whole,
    /// From this byte up to, and without, that one.
    From(u64, u64),
    /// There is nothing at the place.
    Nothing,
}

/// Of a blob of `size` bytes whose entity tag is `tag`, with its quotation marks.
pub(super) fn of(head: &Head, size: u64, tag: &str) -> Part {
    if head.if_range.as_deref().is_some_and(|asked| asked != tag) {
        return Part::Whole;
    }
    let range = head.range.as_deref();
    let range = range.and_then(|range| range.strip_prefix("bytes="));
    range
        .and_then(|range| part(range, size))
        .unwrap_or(Part::Whole)
}

/// None: not understood.
fn part(range: &str, size: u64) -> Option<Part> {
    let (first, last) = range.split_once('-')?;
    let number = |text: &str| {
        let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        is_digits.then(|| text.parse().unwrap_or(u64::MAX))
    };
    if first.is_empty() {
        // The last so many.
        let most = number(last)?.min(size);
        return Some(match most {
            0 => Part::Nothing,
            most => Part::From(size - most, size),
        });
    }
    let first = number(first)?;
    let end = match last {
        "" => size,
        last => number(last)?.saturating_add(1),
    };
    if end <= first && first < size {
        return None;
    }
    Some(match first < size {
        true => Part::From(first, end.min(size)),
        false => Part::Nothing,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(range: &str, if_range: Option<&str>) -> Part {
        let head = Head {
            range: Some(range.to_owned()),
            if_range: if_range.map(str::to_owned),
            ..Head::default()
        };
        of(&head, 1000, "\"tag\"")
    }

    #[test]
    fn ranges_are_those_of_the_rfc() {
        let table = [
            ("bytes=0-", Part::From(0, 1000)),
            ("bytes=500-", Part::From(500, 1000)),
            ("bytes=500-599", Part::From(500, 600)),
            ("bytes=999-", Part::From(999, 1000)),
            ("bytes=500-5000", Part::From(500, 1000)),
            ("bytes=-100", Part::From(900, 1000)),
            ("bytes=-5000", Part::From(0, 1000)),
            ("bytes=1000-", Part::Nothing),
            ("bytes=99999999999999999999999-", Part::Nothing),
            ("bytes=-0", Part::Nothing),
            ("bytes=600-500", Part::Whole),
            ("bytes=0-1,5-6", Part::Whole),
            ("bytes=", Part::Whole),
            ("bytes=+5-", Part::Whole),
            ("lines=1-2", Part::Whole),
        ];
        for (range, part) in table {
            assert_eq!(asked(range, None), part, "{range}");
        }
    }

    #[test]
    fn a_part_of_something_else_is_never_given() {
        assert_eq!(asked("bytes=500-", Some("\"tag\"")), Part::From(500, 1000));
        assert_eq!(asked("bytes=500-", Some("\"other\"")), Part::Whole);
        // A weak tag does not do for ranges.
        assert_eq!(asked("bytes=500-", Some("W/\"tag\"")), Part::Whole);
    }
}
