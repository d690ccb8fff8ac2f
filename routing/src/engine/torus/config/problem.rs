//! What can be wrong with a torus-2QoS.conf, in words.
//!
//! Every text has the same three parts: what was found, what was expected, what to do. Codes are
//! for programs and do not change; that OpenSM only logs a keyword and a line number for all of
//! these is the reason for the trouble.

use std::fmt;

use sa_text::{Position, nearest};

use super::KEYWORDS;
use crate::placement::Axis;

/// Lines that make a configuration unusable. Never empty, in the order of the file.
/// All of a file, so that it is repaired in one go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigErrors(pub Vec<ConfigError>);

impl ConfigErrors {
    /// One line per error, each beginning with `file:line:column:`.
    pub fn report(&self, file: &str) -> String {
        self.0
            .iter()
            .map(|error| format!("{file}:{error}\n"))
            .collect()
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}

/// One line that cannot be used.
/// Displays as `line:column: error[code]: text`; the caller puts the file's name before it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}:{}: error[{}]: {problem}", at.line, at.column, problem.code())]
pub struct ConfigError {
    /// The word that is wrong, or the end of the line where one is missing.
    pub at: Position,
    /// What the reader expected, or why a value will not do.
    pub problem: ConfigProblem,
}

/// Why a line cannot be used.
/// OpenSM logs 4E10, 4E12 or 4E13 for these and refuses the file as well.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigProblem {
    /// The first word of the line is no keyword.
    #[error("unknown keyword `{word}`{}; expected one of {}; correct it, or begin the line with #",
        suggestion(word), KEYWORDS.join(", "))]
    UnknownKeyword {
        /// The word as written.
        word: String,
    },
    /// A second `torus` or `mesh` line.
    #[error(
        "`{keyword}` again: the size of the torus is already given in line {first}; \
        expected a single `torus` or `mesh` line; delete one of them"
    )]
    SecondSize {
        /// The keyword of the second line: `torus` or `mesh`.
        keyword: &'static str,
        /// The line of the first one.
        first: u32,
    },
    /// Fewer arguments than the keyword needs.
    #[error(
        "`{keyword}` has {found} of its {wanted} arguments; expected `{keyword} {usage}`; \
        add what is missing"
    )]
    MissingArguments {
        /// The keyword of the line.
        keyword: &'static str,
        /// How many there are.
        found: usize,
        /// How many are needed.
        wanted: usize,
        /// The arguments as the manual writes them.
        usage: &'static str,
    },
    /// A dateline before the radices are known.
    #[error(
        "`{axis}_dateline` comes before the `torus` or `mesh` line, so the {axis} radix is \
        not known yet; move it below that line"
    )]
    DatelineBeforeSize {
        /// The axis of the dateline.
        axis: Axis,
    },
    /// A dateline further away than the ring is long.
    #[error(
        "{axis} dateline {value} is out of range; expected a number between -{radix} and \
        {radix}, both excluded (the {axis} radix is {radix})"
    )]
    DatelineRange {
        /// The axis of the dateline.
        axis: Axis,
        /// The position as the file has it.
        value: i32,
        /// Radix of the axis.
        radix: u32,
    },
}

impl ConfigProblem {
    /// A short name that does not change.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::UnknownKeyword { .. } => "unknown-keyword",
            Self::SecondSize { .. } => "second-size",
            Self::MissingArguments { .. } => "missing-arguments",
            Self::DatelineBeforeSize { .. } => "dateline-before-size",
            Self::DatelineRange { .. } => "dateline-range",
        }
    }
}

/// Something that is accepted, as OpenSM accepts it, but is hardly what was meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}:{}: warning[{}]: {remark}", at.line, at.column, remark.code())]
pub struct ConfigWarning {
    /// The word that is odd, or the beginning of the line where all of it is.
    pub at: Position,
    /// What was accepted although it looks like a mistake.
    pub remark: ConfigRemark,
}

/// What is odd about an accepted line.
/// None of them changes what is read: the value is what OpenSM would take.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigRemark {
    /// A word where a number was expected counts as 0.
    #[error(
        "`{word}` is no number and is read as 0; write a decimal, 0x hexadecimal or 0 octal \
        number"
    )]
    NotANumber {
        /// The word as the file has it.
        word: String,
    },
    /// Characters after a number are ignored.
    #[error("`{rest}` after the number {value} is ignored")]
    TrailingCharacters {
        /// The number that counts.
        value: u64,
        /// What stands behind it in the same word.
        rest: String,
    },
    /// More words than the keyword needs.
    #[error("`{word}` and what follows is ignored; begin comments with #")]
    IgnoredArguments {
        /// The first of them.
        word: String,
    },
    /// port_order lists a port twice.
    #[error("port {port} is already in the port order; the second mention is ignored")]
    DuplicatePort {
        /// The port that is listed a second time.
        port: u32,
    },
    /// port_order lists a number that no port can have.
    #[error("no switch has a port {port}; port numbers end at 254")]
    NoSuchPort {
        /// The number as it was read.
        port: u32,
    },
    /// A keyword that may be given once was given again.
    #[error("`{keyword}` replaces the one in line {first}; delete one of them")]
    Replaced {
        /// The keyword of the line.
        keyword: &'static str,
        /// The line that no longer counts.
        first: u32,
    },
}

impl ConfigRemark {
    /// A short name that does not change.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotANumber { .. } => "not-a-number",
            Self::TrailingCharacters { .. } => "trailing-characters",
            Self::IgnoredArguments { .. } => "ignored-arguments",
            Self::DuplicatePort { .. } => "duplicate-port",
            Self::NoSuchPort { .. } => "no-such-port",
            Self::Replaced { .. } => "replaced",
        }
    }
}

/// A hint at the keyword that was probably meant: same letters but for case, `-` for `_`, or one
/// typing error.
/// Empty where no keyword is near enough to be worth naming.
fn suggestion(word: &str) -> String {
    let near = nearest(&word.replace('-', "_"), KEYWORDS, |_| 1);
    near.map_or_else(String::new, |keyword| {
        format!(" (did you mean `{keyword}`?)")
    })
}
