//! What was found, and what to do about it.

use std::fmt;

use serde::Serialize;

use crate::json::Document;

/// One fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    /// What it is about, in a word.
    pub(super) about: &'static str,
    pub(super) verdict: Verdict,
    /// In a sentence.
    pub(super) what: String,
    /// In a sentence, where something can be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) remedy: Option<String>,
}

impl Document for Finding {
    const SCHEMA: &'static str = "sapphire.doctor/1";
}

/// How bad it is.
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
    pub(super) fn ok(about: &'static str, what: impl Into<String>) -> Self {
        let (what, remedy, verdict) = (what.into(), None, Verdict::Ok);
        Self {
            about,
            verdict,
            what,
            remedy,
        }
    }

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
