//! `prefix-routes.conf`: through which routers other subnets are reached.
//!
//! A line is a prefix and the GUID of a router port, in hexadecimal digits with or without 0x; `*`
//! stands for any prefix, and for the first router there is. A line that begins with `#` is a
//! comment, and so is what follows the GUID. The first line that fits a prefix counts. Lines that
//! OpenSM passes over with an error are errors here. Source: OpenSM `osm_subnet.c`.
//!
//! ```text
//! # prefix            port GUID of a router
//! fec0000000000007    0x100011
//! 0xfec0000000000008  *              # any router
//! *                   0x100021
//! ```

use sa_fabric::ParseError;
use sa_fabric::text::Cursor;
use sa_text::{Line, Position};
use sa_wire::{Guid, SubnetPrefix};

/// A line.
///
/// Whether the router is there is judged with the subnet (`off_subnet`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrefixRoute {
    /// Where it stands.
    pub at: Position,
    /// Prefix of the other subnet; none for any.
    pub prefix: Option<SubnetPrefix>,
    /// Port GUID of the router; none for the first router there is.
    pub router: Option<Guid>,
}

/// Reads the file. Errors: the first word that is not what it should be.
pub(crate) fn parse(text: &str) -> Result<Vec<PrefixRoute>, ParseError> {
    // Not by `lines`: a carriage return belongs to the GUID for OpenSM, and is an error here.
    let lines = (1..).zip(text.split('\n'));
    let routes = lines.map(|(number, text)| route(Line { number, text }));
    routes.filter_map(Result::transpose).collect()
}

/// None for an empty line and for a comment.
///
/// What follows the GUID is passed over, as OpenSM does.
fn route(line: Line<'_>) -> Result<Option<PrefixRoute>, ParseError> {
    let mut cursor = Cursor::new(line);
    let (at, prefix) = word(&mut cursor);
    if prefix.is_empty() || prefix.starts_with('#') {
        return Ok(None);
    }
    let prefix = number(prefix).ok_or_else(|| at.expected(PREFIX))?;
    let (at_guid, guid) = word(&mut cursor);
    // What stands before a comment that no blank parts from it.
    let guid = guid.split_once('#').map_or(guid, |(guid, _)| guid);
    let guid = number(guid).ok_or_else(|| at_guid.expected(GUID))?;
    Ok(Some(PrefixRoute {
        at: at.at(),
        prefix: (prefix != 0).then_some(SubnetPrefix(prefix)),
        router: Guid::new(guid).ok(),
    }))
}

/// The next word, and a cursor at its start. Tabs and spaces alone part words.
fn word<'a>(cursor: &mut Cursor<'a>) -> (Cursor<'a>, &'a str) {
    let is_blank = |c| matches!(c, ' ' | '\t');
    cursor.take_while(is_blank);
    let start = *cursor;
    (start, cursor.take_while(|c| !is_blank(c)))
}

/// The number of a word, 0 for a star.
///
/// Written as 0 it means the same, since OpenSM keeps a star as 0.
fn number(word: &str) -> Option<u64> {
    if word == "*" {
        return Some(0);
    }
    let digits = word
        .strip_prefix("0x")
        .or_else(|| word.strip_prefix("0X"))
        .unwrap_or(word);
    // `from_str_radix` would take a sign.
    let is_hex = digits.starts_with(|c: char| c.is_ascii_hexdigit());
    let value = u64::from_str_radix(digits, 16).ok();
    value.filter(|_| is_hex)
}

/// What is expected in the first and in the second place.
const PREFIX: &str = "a subnet prefix in hexadecimal digits, or * for any";
const GUID: &str = "the GUID of a router port in hexadecimal digits, or * for the first router";

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn prefixes_lead_to_routers() {
        let text = "# other subnets\n\nfec0000000000007 0X10\n \t0xfec0000000000008\t*  # first\n\
                    * 0x20#comment\n* * and so on";
        let routes = parse(text).unwrap();
        let shown: Vec<_> = routes
            .iter()
            .map(|route| {
                let prefix = route.prefix.map(|prefix| prefix.0 & 0xff);
                (route.at.line, prefix, route.router.map(Guid::get))
            })
            .collect();
        assert_eq!(
            shown,
            [
                (3, Some(7), Some(0x10)),
                (4, Some(8), None),
                (5, None, Some(0x20)),
                (6, None, None),
            ]
        );
    }

    #[test]
    fn zero_is_a_star() {
        let routes = parse("0 0x0").unwrap();
        assert_eq!((routes[0].prefix, routes[0].router), (None, None));
    }

    #[test]
    fn wrong_words_are_named_with_their_place() {
        for (text, starts) in [
            ("x *", "line 1, column 1: expected a subnet prefix"),
            ("\n  *# *", "line 2, column 3: expected a subnet prefix"),
            (
                "fec0",
                "line 1, column 5: expected the GUID of a router port",
            ),
            ("fec0 # any", "line 1, column 6: expected the GUID"),
            ("fec0 0x", "line 1, column 6: expected the GUID"),
            ("fec0 +1", "line 1, column 6: expected the GUID"),
            ("fec0 10h", "line 1, column 6: expected the GUID"),
            (
                "fec0 10000000000000000",
                "line 1, column 6: expected the GUID",
            ),
            ("* *\r\n", "line 1, column 3: expected the GUID"),
        ] {
            let said = said(text);
            assert!(said.starts_with(starts), "{text:?}: {said}");
        }
    }
}
