//! A policy as written, before references are found.
//!
//! The one form that all parsers write. Levels and groups are complete; rules say names, numbers or
//! SLs. A draft lives from the first token to the end of linking.
//!
//! ```text
//! sdp : 1                     ulp_rules: service ids 0x10000-0x1ffff, DraftLevel::Sl(1)
//! qos-level-name: bulk        rules: DraftLevel::Named("bulk")
//! qos-level-sn: 2             rules: DraftLevel::Position(2)
//! <match-level>7</..>         rules: DraftLevel::Sn(7)
//! ```

use sa_text::{Span, Spanned};

use crate::error::{Error, Problem};
use crate::link::diagnostics::Diagnostics;
use crate::model::criterion::ByField;
use crate::model::limits::{MAX_LEVELS, MAX_RANGES, MAX_RULES};
use crate::model::ranges::Ranges;
use crate::model::{Group, Level, ReservedSl, RuleOrigin, Setup};
use sa_snapshot::model::FlowLabels;

/// What a file says: sections put together, references still by name. Shape: in the order of the file.
/// Counts rules and ranges as they come, so that a hostile file is stopped while it is read.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    /// Complete but for the ports in them.
    pub(crate) groups: Vec<Group>,
    /// Complete but for what they are called.
    pub(crate) levels: Vec<Level>,
    /// Those with a block of their own.
    pub(crate) rules: Vec<DraftRule>,
    /// Made of `qos-ulps`; they come after all others, wherever they stand.
    pub(crate) ulp_rules: Vec<DraftRule>,
    /// The last `default` line in `qos-ulps`.
    /// Used where no level is called `default`.
    pub(crate) ulp_default: Option<Spanned<u8>>,
    /// All sections of the file together.
    pub(crate) setup: Setup,
    pub(crate) reserved_sls: Vec<ReservedSl>,
    /// What only this product reads, by its keyword.
    pub(crate) extensions: Vec<Spanned<&'static str>>,
    /// What the parser remarked; empty in OpenSM's dialect, where a fault ends reading.
    pub(crate) diagnostics: Diagnostics,
    /// In all rules so far, against [`MAX_RANGES`].
    ranges: usize,
}

/// A rule with names in place of what they stand for.
/// The same for all dialects; what one cannot say stays empty.
#[derive(Debug)]
pub(crate) struct DraftRule {
    pub(crate) purpose: Option<Spanned<String>>,
    /// Names, or the GUIDs of one line of `qos-ulps`.
    pub(crate) source: Vec<DraftGroup>,
    pub(crate) destination: Vec<DraftGroup>,
    pub(crate) fields: ByField<Option<Spanned<Ranges>>>,
    /// By whatever the dialect calls levels by.
    pub(crate) level: DraftLevel,
    pub(crate) flow_label: Option<Spanned<FlowLabels>>,
    /// Stays with the rule: an `ipoib` line is checked against partitions.
    pub(crate) origin: RuleOrigin,
    pub(crate) span: Span,
}

/// What a rule says about one end of a path.
#[derive(Debug)]
pub(crate) enum DraftGroup {
    Named(Spanned<String>),
    /// Port GUIDs of a line in `qos-ulps`.
    Guids(Spanned<Ranges>),
}

/// What a rule says about its level.
/// One for each way of the dialects to name a level.
#[derive(Debug)]
pub(crate) enum DraftLevel {
    Named(Spanned<String>),
    /// The SL of a line in `qos-ulps`.
    Sl(Spanned<u8>),
    /// From 1, in the order of the file.
    Position(Spanned<u64>),
    /// The level's own number.
    Sn(Spanned<u64>),
}

impl Draft {
    /// Errors: [`Problem::TooMany`] when this rule is one too many.
    /// Called before the rule is put in.
    pub(crate) fn check_rule(&mut self, rule: &DraftRule) -> Result<(), Error> {
        // After merging, so that a list of adjacent numbers counts as one.
        self.ranges += rule.range_count();
        let rules = self.rules.len() + self.ulp_rules.len() + 1;
        let over = [
            ("rules", rules, MAX_RULES),
            ("number ranges", self.ranges, MAX_RANGES),
        ];
        for (what, found, limit) in over {
            if found > limit {
                return Err(Error::new(
                    rule.span,
                    Problem::TooMany { what, found, limit },
                ));
            }
        }
        Ok(())
    }

    /// Errors: [`Problem::TooMany`] when there are too many levels for the rest to fit.
    pub(crate) fn check_levels(&self) -> Result<(), Error> {
        // `qos-ulps` adds at most a level for each SL and the default.
        let limit = MAX_LEVELS - 17;
        let found = self.levels.len();
        match self.levels.last() {
            Some(last) if found > limit => {
                let what = "levels";
                Err(Error::new(
                    last.span,
                    Problem::TooMany { what, found, limit },
                ))
            }
            _ => Ok(()),
        }
    }
}

impl DraftRule {
    /// How many number ranges its criteria have.
    fn range_count(&self) -> usize {
        self.fields
            .iter()
            .flatten()
            .map(|ranges| ranges.pairs().len())
            .sum()
    }
}
