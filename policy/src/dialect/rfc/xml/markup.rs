//! Tags and comments.
//!
//! Pure functions over the text that is left: how long a name, a tag or the opening of a comment
//! is. Whether it makes sense where it stands is for the scanner and the parser.
//!
//! ```text
//! <!--            4 bytes, as XML has it
//! <! and dashes   of a word processor: the same, told
//! ```

use sa_text::Span;

/// A tag as it stands, whether its name is one of ours or not.
/// Attributes are not kept: no element of the language has any.
#[derive(Debug, Clone, Copy)]
pub(super) enum Markup<'a> {
    Open {
        name: &'a str,
        span: Span,
        /// True for `<name/>`, which closes itself.
        empty: bool,
    },
    Close {
        name: &'a str,
        span: Span,
    },
}

/// How many bytes open a comment, and whether they are what XML has.
///
/// Word processors made dashes of hyphens in the RFC's example: an en or em dash may stand for
/// either, in UTF-8, in Windows' Latin-1, or in UTF-8 that was taken for Latin-1.
pub(super) fn comment_opening(rest: &str) -> Option<(usize, bool)> {
    let dashes = rest.strip_prefix("<!")?;
    let first = dash(dashes)?;
    let second = dash(&dashes[first..])?;
    let length = 2 + first + second;
    Some((length, &rest[..length] == "<!--"))
}

/// Bytes of what stands for a hyphen here.
/// None where no hyphen stands here, nor what programs made of one.
fn dash(text: &str) -> Option<usize> {
    const DASHES: [&str; 7] = [
        "-",
        "\u{2013}",
        "\u{2014}",
        "\u{96}",
        "\u{97}",
        "\u{e2}\u{80}\u{93}",
        "\u{e2}\u{80}\u{94}",
    ];
    let found = DASHES.iter().find(|dash| text.starts_with(**dash));
    found.map(|dash| dash.len())
}

/// The length of an element's name at the beginning of `text`.
/// 0 where no name begins; letters beyond ASCII end one.
pub(super) fn name_length(text: &str) -> usize {
    let is_name =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':');
    text.bytes().take_while(|byte| is_name(byte)).count()
}

/// Where a tag ends, from behind its name on: the length up to and with its `>`. A `>` in a quoted
/// attribute does not end it; another `<` or the end of the text mean that it has no end.
pub(super) fn tag_length(rest: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in rest.bytes().enumerate() {
        match (byte, quote) {
            (b'>', None) => return Some(at + 1),
            (b'<', _) => return None,
            (b'"' | b'\'', None) => quote = Some(byte),
            (_, Some(open)) if open == byte => quote = None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_may_open_with_typographic_dashes() {
        assert_eq!(comment_opening("<!-- a"), Some((4, true)));
        for odd in [
            "<!\u{2014}- a",
            "<!-\u{2013}",
            "<!\u{97}-",
            "<!\u{96}\u{2014}",
            "<!\u{e2}\u{80}\u{94}-",
        ] {
            let (_, plain) = comment_opening(odd).unwrap();
            assert!(!plain, "{odd}");
        }
        for none in ["<!-", "<!DOCTYPE", "<!\u{2014}a", "<-"] {
            assert_eq!(comment_opening(none), None, "{none}");
        }
    }

    #[test]
    fn tags_end_outside_quotes() {
        assert_eq!(tag_length("> x"), Some(1));
        assert_eq!(tag_length(" a='>'/>"), Some(8));
        assert_eq!(tag_length(" a <b>"), None);
        assert_eq!(tag_length(" a"), None);
    }
}
