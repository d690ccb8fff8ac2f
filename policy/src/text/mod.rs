//! The policy text that OpenSM reads.

mod cursor;
mod extensions;
mod levels;
mod lexer;
mod parser;
mod port_groups;
mod rules;
mod setup;
mod token;
mod ulps;

use std::borrow::Cow;

pub(crate) use levels::{append, to_ranges};

use crate::dialect::{Dialect, LEVEL_BY_NUMBER, level_by_number};
use crate::error::{Error, Problem, Span};
use crate::link::link;
use crate::model::Policy;
use crate::options::ParseOptions;

/// Units: bytes.
pub const MAX_FILE_BYTES: usize = 16 << 20;
/// Rules, those made of `qos-ulps` included.
pub const MAX_RULES: usize = 16_384;
/// Levels, those made of `qos-ulps` included.
pub const MAX_LEVELS: usize = 65_535;
/// Number ranges in all rules together, after merging.
pub const MAX_RANGES: usize = 1 << 20;
/// Units: bytes.
pub const MAX_NAME_BYTES: usize = 255;
/// Longest `use:` text. Units: bytes.
pub const MAX_TEXT_BYTES: usize = 10_239;

/// The text of a file: UTF-8 if it is that, else Latin-1. Spans count in this text.
pub fn decode(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.iter().copied().map(char::from).collect()),
    }
}

/// Reads a policy in OpenSM's dialect and finds what its rules refer to.
///
/// [`crate::parse_as`] reads the other dialects too. Accepts what OpenSM accepts, but for NUL bytes and the limits of this module; does not let
/// rules refer to the groups that `qos-ulps` makes. What depends on the fabric is checked by
/// [`crate::check`].
///
/// Errors: the first one in the file. Source: OpenSM `osm_qos_parser_y.y`, `osm_qos_policy.c`.
pub fn parse(text: &str, options: &ParseOptions) -> Result<Policy, Error> {
    check_file(text)?;
    parser::parse(text, options)
        .and_then(|draft| link(draft, Dialect::OpenSm, options))
        .map_err(|error| match foreign_dialect(text) {
            Some(foreign) => foreign,
            None => error,
        })
}

/// Errors: a text that is too long, or that holds a NUL byte.
pub(crate) fn check_file(text: &str) -> Result<(), Error> {
    if text.len() > MAX_FILE_BYTES {
        let problem = Problem::TooMany {
            what: "bytes",
            found: text.len(),
            limit: MAX_FILE_BYTES,
        };
        return Err(Error::new(Span::START, problem));
    }
    match text.find('\0') {
        Some(at) => Err(Error::new(span_at(text, at, 1), Problem::NulByte)),
        None => Ok(()),
    }
}

/// The error for a refused text that looks like one of the languages of the RFCs.
fn foreign_dialect(text: &str) -> Option<Error> {
    let text_start = text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
    let refuse = |dialect, at, length| {
        Error::new(
            span_at(text, at, length),
            Problem::UnsupportedDialect { dialect },
        )
    };
    if text_start.starts_with('<') {
        return Some(refuse("RFC 0.1 (XML)", text.len() - text_start.len(), 1));
    }
    let at = level_by_number(text)?;
    Some(refuse("RFC 0.2 (text)", at, LEVEL_BY_NUMBER.len()))
}

fn span_at(text: &str, at: usize, length: usize) -> Span {
    let before = &text[..at];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let narrow = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Span {
        offset: narrow(at),
        length: narrow(length),
        line: narrow(1 + before.bytes().filter(|byte| *byte == b'\n').count()),
        column: narrow(1 + before[line_start..].chars().count()),
    }
}
