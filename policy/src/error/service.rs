//! What can be wrong with a service by name.
//!
//! Names of services are read in policies, on command lines and in files of names, so that these errors count
//! bytes of the text they were given, and whoever knows the file makes places of them.

use sa_text::Span;
use thiserror::Error as ThisError;

use super::{Error, Problem};

/// What is wrong, and where in the text.
/// A policy's error is made of it with a place in the file.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
#[error("{problem}")]
pub struct UlpError {
    /// Units: bytes before it.
    pub at: usize,
    /// How much of the text is wrong. Units: bytes.
    pub length: usize,
    /// What is wrong there.
    pub problem: UlpProblem,
}

/// Why a text names no service, or none that a rule could match.
/// Each says which word is wrong and, by [`Self::advice`], what would do.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
#[non_exhaustive]
pub enum UlpProblem {
    /// A name that is not in the table.
    #[error("no service is called '{name}'")]
    Unknown {
        /// The word as it was written.
        name: String,
        /// What was likely meant.
        nearest: Option<String>,
    },
    /// Something else was expected.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// What would have been right here.
        expected: &'static str,
        /// What stands there, as messages quote it.
        found: String,
    },
    /// A number outside its range.
    #[error("{what} {value} is over {most}")]
    OutOfRange {
        /// What the number is.
        what: &'static str,
        /// The number as it was read.
        value: u64,
        /// The largest that is allowed.
        most: u64,
    },
    /// Ports, P_Keys or queue pairs for a name that has none.
    #[error("'{name}' takes no {what}")]
    Takes {
        /// The name as the table of names has it, or as it was written.
        name: String,
        /// What it was given.
        what: &'static str,
    },
    /// A ULP whose ids are each target's own.
    #[error("service ids of '{name}' are chosen by each target")]
    Target {
        /// The name as the table of names has it, or as it was written.
        name: String,
    },
    /// A ULP whose requests name nothing.
    #[error("'{name}' names nothing that a rule could match")]
    Silent {
        /// The name as the table of names has it, or as it was written.
        name: String,
    },
    /// Names that one request never has together.
    #[error("no request names a Service-ID and is IPoIB's")]
    Mixed,
    /// IPoIB, where a service id is expected.
    #[error("'{name}' has no service id: its requests name the P_Key of its partition")]
    NoId {
        /// The name as the table of names has it, or as it was written.
        name: String,
    },
    /// Many ids where one is wanted.
    #[error("'{name}' stands for {count} service ids")]
    Many {
        /// The name as the table of names has it, or as it was written.
        name: String,
        /// How many ids the text stands for.
        count: u64,
    },
    /// File of names: a name that the file has twice.
    #[error("'{name}' is defined twice in this file")]
    Twice {
        /// The name as the table of names has it, or as it was written.
        name: String,
    },
}

impl UlpError {
    /// The same as an error of a policy, at this place.
    pub(crate) fn at_span(self, span: Span) -> Error {
        let advice = self.problem.advice();
        let error = Error::new(span, Problem::Service(self.problem));
        match advice {
            Some(advice) => error.hinting(advice),
            None => error,
        }
    }
}

impl UlpProblem {
    /// What to do about it.
    pub fn advice(&self) -> Option<String> {
        Some(match self {
            Self::Unknown {
                nearest: Some(nearest),
                ..
            } => format!("did you mean '{nearest}'?"),
            Self::Unknown { .. } => String::from(
                "`sapphire query services` lists the names; a file of names (ulp-names) adds more",
            ),
            Self::Target { .. } => String::from(
                "match the targets by destination, or list the ids that `sapphire query \
                 srp-targets` shows; a file of names (ulp-names) can give them names",
            ),
            Self::Silent { .. } => String::from(
                "match by source, destination or partition; `reserved-sl` keeps an SL free for it",
            ),
            Self::Mixed => String::from("write a rule for each"),
            Self::NoId { .. } => String::from("match it by P_Key"),
            Self::Many { name, .. } => format!("name one port, as in {name}:4420"),
            Self::Twice { .. } => String::from("put all its ids on one line"),
            _ => return None,
        })
    }
}
