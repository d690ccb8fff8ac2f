//! A policy as written, before references are found.

use crate::error::{Span, Spanned};
use crate::model::{Group, Level, RuleOrigin, Setup};
use crate::ranges::Ranges;

/// What a file says.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) groups: Vec<Group>,
    pub(super) levels: Vec<Level>,
    pub(super) rules: Vec<DraftRule>,
    /// Made of `qos-ulps`; they come after all others, wherever they stand.
    pub(super) ulp_rules: Vec<DraftRule>,
    /// The last `default` line in `qos-ulps`.
    pub(super) ulp_default: Option<Spanned<u8>>,
    pub(super) setup: Setup,
}

/// A rule with names in place of what they stand for.
#[derive(Debug)]
pub(super) struct DraftRule {
    pub(super) purpose: Option<Spanned<String>>,
    pub(super) source: Vec<DraftGroup>,
    pub(super) destination: Vec<DraftGroup>,
    pub(super) qos_class: Option<Spanned<Ranges>>,
    pub(super) service_id: Option<Spanned<Ranges>>,
    pub(super) pkey: Option<Spanned<Ranges>>,
    pub(super) level: DraftLevel,
    pub(super) origin: RuleOrigin,
    pub(super) span: Span,
}

/// What a rule says about one end of a path.
#[derive(Debug)]
pub(super) enum DraftGroup {
    Named(Spanned<String>),
    /// Port GUIDs of a line in `qos-ulps`.
    Guids(Spanned<Ranges>),
}

/// What a rule says about its level.
#[derive(Debug)]
pub(super) enum DraftLevel {
    Named(Spanned<String>),
    /// The SL of a line in `qos-ulps`.
    Sl(Spanned<u8>),
}

impl Draft {
    /// How many rules there are so far.
    pub(super) fn rule_count(&self) -> usize {
        self.rules.len() + self.ulp_rules.len()
    }
}

impl DraftRule {
    /// How many number ranges its criteria have.
    pub(super) fn range_count(&self) -> usize {
        let criteria = [&self.qos_class, &self.service_id, &self.pkey];
        criteria
            .into_iter()
            .flatten()
            .map(|ranges| ranges.pairs().len())
            .sum()
    }
}
