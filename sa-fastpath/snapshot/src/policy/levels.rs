//! The level of a common request, by whichever match the policy has.
//!
//! A [`PackedLevel`] is four bytes that say all a common answer needs: the greatest capacity, the
//! SL, the packet life time and the place of its flow labels. The table has one for each rule and
//! the default's behind them, so the number of a rule is the index.

use super::matching::{MatchInput, RequestClasses};
use crate::Snapshot;
use crate::derived::{PackedLevel, PairBits};
use crate::flow_labels::FlowLabels;
use crate::format::records::PortRecord;

impl Snapshot {
    /// Between which ends some rule may hold; none where looking does not pay.
    #[inline(always)]
    pub const fn pair_bits(&self) -> Option<&PairBits> {
        self.derived.pairs.as_ref()
    }

    /// The level where no rule holds.
    #[inline(always)]
    pub fn level_without_rule(&self) -> PackedLevel {
        self.level_of_rule(None)
    }

    /// The flow labels of the rule that gave a level.
    #[inline(always)]
    pub fn labels_of(&self, level: &PackedLevel) -> FlowLabels {
        // 0 is "no labels", and becomes a place that there is not.
        let place = usize::from(level.labels).wrapping_sub(1);
        self.derived.labels.get(place).copied().unwrap_or_default()
    }

    /// The level of a common policy for a request of these classes.
    #[inline(always)]
    pub fn level_of(
        &self,
        from: &PortRecord,
        to: &PortRecord,
        classes: &RequestClasses,
    ) -> PackedLevel {
        // Two lengths of rule sets have a match of their own; anything else is the search.
        let first = match self.derived.by_service {
            Some(16) => self
                .by_service::<16>()
                .and_then(|rules| rules.first_of(from, to, classes)),
            Some(32) => self
                .by_service::<32>()
                .and_then(|rules| rules.first_of(from, to, classes)),
            _ => self.first_rule(from, to, classes),
        };
        self.level_of_rule(first)
    }

    /// That of a rule, the default level for none.
    #[inline(always)]
    pub(crate) fn level_of_rule(&self, first: Option<u32>) -> PackedLevel {
        // The guard's is the last: no rule, or a number that there is not.
        let last = self.derived.levels.len().wrapping_sub(1);
        let place = first.and_then(|first| usize::try_from(first).ok());
        let level = self.derived.levels.get(place.unwrap_or(last));
        level.copied().unwrap_or_default()
    }

    /// The level of a common policy; nothing of a level without one. See also
    /// [`crate::ByService`].
    pub fn common_level(
        &self,
        from: &PortRecord,
        to: &PortRecord,
        input: &MatchInput,
    ) -> PackedLevel {
        let classes = self.classify(input);
        self.level_of_rule(classes.and_then(|classes| self.first_rule(from, to, &classes)))
    }
}
