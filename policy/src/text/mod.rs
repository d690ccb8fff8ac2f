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

use sa_text::{Span, check_file};

pub(crate) use levels::{append, to_ranges};

use crate::dialect::{Dialect, LEVEL_BY_NUMBER, level_by_number};
use crate::error::{Error, Problem};
use crate::link::link;
use crate::model::Policy;
use crate::options::ParseOptions;

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

/// The error for a refused text that looks like one of the languages of the RFCs.
fn foreign_dialect(text: &str) -> Option<Error> {
    let text_start = text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
    let refuse = |dialect, at, length| {
        Error::new(
            Span::in_text(text, at..at + length),
            Problem::UnsupportedDialect { dialect },
        )
    };
    if text_start.starts_with('<') {
        return Some(refuse("RFC 0.1 (XML)", text.len() - text_start.len(), 1));
    }
    let at = level_by_number(text)?;
    Some(refuse("RFC 0.2 (text)", at, LEVEL_BY_NUMBER.len()))
}
