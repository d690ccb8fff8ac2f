//! What a lint check finds.
//!
//! A finding is a check's number with a sentence and a remedy. Programs go by the number; the sentence is for
//! people and may be reworded.
//!
//! ```text
//! L31  warning  at the level's sl  "in partition 'p' .. get SL 3 by level 'x'; the partition has SL 1"
//!      remedy   "set sl=3 in partitions.conf, or .."       related: the rule that gives the level
//! ```
//!
//! Order and bounds are settled in one place, here, and not by the checks: each says what it found,
//! in any order, and as often as it likes.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

use sa_text::{Diagnostic, Position, Severity, Span};

use crate::lint::catalogue::{CATALOGUE, Check};

/// Number of a check in the catalogue: `L10`.
/// Only those of the catalogue exist outside this room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LintId(u8);

impl LintId {
    /// A number of the catalogue's.
    pub(super) const fn new(number: u8) -> Self {
        Self(number)
    }

    /// What the catalogue says of it.
    pub fn check(self) -> &'static Check {
        let found = CATALOGUE.iter().find(|check| check.id == self);
        // A finding can only have an id of the catalogue's, which a test sees to.
        found.unwrap_or(&CATALOGUE[0])
    }
}

impl fmt::Display for LintId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "L{:02}", self.0)
    }
}

/// A word that is no number of a check.
/// The word as it was given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no check {0:?}; checks are called as in L10")]
pub struct UnknownLint(String);

impl FromStr for LintId {
    type Err = UnknownLint;

    fn from_str(word: &str) -> Result<Self, UnknownLint> {
        // By the printed form, so that whatever reports print is taken.
        let found = CATALOGUE.iter().map(|check| check.id);
        // Letter case does not matter on command lines: `l10` will do.
        let mut fitting = found.filter(|id| id.to_string().eq_ignore_ascii_case(word));
        fitting.next().ok_or_else(|| UnknownLint(word.to_owned()))
    }
}

/// A remark about a policy.
/// Two with the same number, place and sentence are one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The check that found it.
    pub id: LintId,
    /// The check's own severity, unless the case is milder or worse.
    pub severity: Severity,
    /// Where in the policy; none for what lies outside it.
    pub span: Option<Span>,
    /// What, in one sentence.
    pub sentence: String,
    /// What to do about it.
    /// One sentence; mostly a fixed one.
    pub remedy: Cow<'static, str>,
    /// Other places that have to do with it.
    /// Shown below the remedy, each as `line:column: label`.
    pub related: Vec<Related>,
}

/// A place that has to do with a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Related {
    /// The place, in the same policy.
    pub span: Span,
    /// What it has to do with the finding.
    pub label: String,
}

impl Finding {
    /// One of the severity that the check usually has.
    /// Most findings; [`Self::with`] is for the others.
    pub fn new(
        id: LintId,
        span: impl Into<Option<Span>>,
        sentence: impl Into<String>,
        remedy: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            id,
            severity: id.check().severity,
            span: span.into(),
            sentence: sentence.into(),
            remedy: remedy.into(),
            related: Vec::new(),
        }
    }

    /// With another severity than the check usually has.
    #[must_use]
    pub const fn with(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// The finding as a remark about the policy's text.
    /// The remedy comes before the related places.
    pub fn diagnostic(&self) -> Diagnostic {
        let related = self.related.iter().map(|related| {
            let Position { line, column } = related.span.start;
            Cow::Owned(format!("{line}:{column}: {}", related.label))
        });
        let remedy = std::iter::once(self.remedy.clone());
        Diagnostic {
            code: Some(Cow::Owned(self.id.to_string())),
            severity: self.severity,
            place: self.span,
            message: self.sentence.clone(),
            help: remedy.chain(related).collect(),
        }
    }

    /// With one more place.
    #[must_use]
    pub fn and(mut self, span: Span, label: impl Into<String>) -> Self {
        let label = label.into();
        self.related.push(Related { span, label });
        self
    }
}

/// In the order of the file; what has no place there comes last.
/// Equal places by number of the check, then by sentence, so that reports repeat.
pub fn in_order(findings: &mut [Finding]) {
    findings.sort_by_cached_key(|finding| {
        // What has no place in the file comes behind what has.
        let place = finding.span.map_or(u32::MAX, |span| span.offset);
        (place, finding.id, finding.sentence.clone())
    });
}

/// Ordered, each once, and not more of what is only good to know than people read.
pub(super) fn finished(mut found: Vec<Finding>) -> Vec<Finding> {
    let mut seen = HashSet::new();
    found.retain(|finding| seen.insert((finding.id, finding.span, finding.sentence.clone())));
    // By check, since the bound is for each: one that finds hundreds must not hide another.
    let mut kept: Vec<Finding> = Vec::new();
    for check in CATALOGUE {
        let mut of_check: Vec<_> = found
            .iter()
            .filter(|it| it.id == check.id)
            .cloned()
            .collect();
        let infos = of_check
            .iter()
            .filter(|it| it.severity == Severity::Info)
            .count();
        if infos > MOST_INFOS {
            shorten(&mut of_check, infos);
        }
        kept.append(&mut of_check);
    }
    in_order(&mut kept);
    kept
}

/// Remarks of one check that are only good to know.
/// Warnings and errors are never cut.
const MOST_INFOS: usize = 20;

/// Keeps the first few of what is only good to know, and says how many more there are.
fn shorten(found: &mut Vec<Finding>, infos: usize) {
    let mut left = MOST_INFOS;
    let id = found.first().map(|it| it.id);
    found.retain(|finding| {
        let is_info = finding.severity == Severity::Info;
        let keep = !is_info || left > 0;
        left -= usize::from(is_info && keep);
        keep
    });
    if let Some(id) = id {
        let sentence = format!(
            "there are {} more findings of this kind",
            infos - MOST_INFOS
        );
        found.push(
            Finding::new(id, None, sentence, "mend what is listed first").with(Severity::Info),
        );
    }
}
