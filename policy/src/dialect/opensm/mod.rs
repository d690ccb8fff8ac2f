//! The policy text that OpenSM reads.
//!
//! `lexer` follows OpenSM's scanner, in which the longest keyword wins wherever it stands; `cursor` hands its
//! tokens to one file for each section, all of which fill a draft that `crate::link` completes. A text that is
//! refused is looked at once more, since what looks like a language of the RFCs wants another message.
//! Lexer and grammar are written by hand because OpenSM's are the specification, down to what
//! letters mean behind which keyword. Whether ports and partitions exist is no matter of this module.
//!
//! # What surprises
//!
//! ```text
//! sl: 010                      8: a leading zero makes it octal
//! name: Virtual Servers        VirtualServers: blanks outside quotes go
//! name: qos-level-x            an error: a keyword, wherever it stands
//! # the last line, no newline  an error: no comment
//! sl : 3   use: some text      two statements on a line are fine, this way round
//! ```
//!
//! All of it is OpenSM's, and all of it is kept: a file must mean here what it means there.

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

use crate::dialect::detect::{LEVEL_BY_NUMBER, level_by_number};
use crate::error::{Error, Problem};
use crate::link::link;
use crate::model::Policy;
use crate::model::dialect::Dialect;
use crate::model::options::ParseOptions;

/// Reads a policy in OpenSM's dialect and finds what its rules refer to.
///
/// [`crate::parse_as`] reads the other dialects too. Accepts what OpenSM accepts, but for NUL bytes and [`crate::model::limits`]; does not let
/// rules refer to the groups that `qos-ulps` makes. What depends on the fabric is checked by
/// [`crate::check`].
///
/// Errors: the first one in the file. Source: OpenSM `osm_qos_parser_y.y`, `osm_qos_policy.c`.
/// Cost: one pass. The second look of a refused text is a search for two words.
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
/// None for a text that is OpenSM's as far as can be told; the error stands then.
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
