//! What was found, and what to do about it.
//!
//! It is the document of `--json` as well, one line each.
//!
//! As a document, without a remedy where there is nothing to do:
//!
//! ```text
//! {"schema":"sapphire.doctor/1","about":"modules","verdict":"ok","what":"ib_core is loaded"}
//! ```

use std::fmt;

use serde::Serialize;

use crate::json::Document;

/// One fact.
/// Sentences begin small and have no full stop, so that they can stand behind other words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    /// What it is about, in a word.
    /// Such as `modules`, `nodes`, `ports`; programs may group by it.
    pub(super) about: &'static str,
    /// For programs the one field to look at.
    pub(super) verdict: Verdict,
    /// In a sentence.
    /// With the names and numbers that were found, so that a log of it can be read elsewhere.
    pub(super) what: String,
    /// In a sentence, where something can be done.
    /// Never missing beside a warning or a problem: the constructors see to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) remedy: Option<String>,
}

impl Document for Finding {
    const SCHEMA: &'static str = "sapphire.doctor/1";
}

/// How bad it is.
/// A problem alone changes the exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Verdict {
    Ok,
    /// It works, but not as well as it could, or perhaps not as meant.
    Warning,
    /// It does not work.
    Problem,
}

impl Finding {
    /// Told too: that something was looked at is worth knowing.
    pub(super) fn ok(about: &'static str, what: impl Into<String>) -> Self {
        let (what, remedy, verdict) = (what.into(), None, Verdict::Ok);
        Self {
            about,
            verdict,
            what,
            remedy,
        }
    }

    /// What an operator may decide to leave as it is.
    pub(super) fn warning(
        about: &'static str,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let (what, remedy) = (what.into(), Some(remedy.into()));
        let verdict = Verdict::Warning;
        Self {
            about,
            verdict,
            what,
            remedy,
        }
    }

    /// What keeps `sapphired` from serving on this machine, or from serving what was meant.
    pub(super) fn problem(
        about: &'static str,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let verdict = Verdict::Problem;
        Self {
            verdict,
            ..Self::warning(about, what, remedy)
        }
    }
}

/// Verdict and subject in columns; the remedy below, behind an arrow, under the sentence.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.verdict {
            Verdict::Ok => "ok",
            Verdict::Warning => "warning",
            Verdict::Problem => "PROBLEM",
        };
        write!(f, "{word:<8}{:<9}{}", self.about, self.what)?;
        match &self.remedy {
            Some(remedy) => write!(f, "\n{:17}-> {remedy}", ""),
            None => Ok(()),
        }
    }
}
