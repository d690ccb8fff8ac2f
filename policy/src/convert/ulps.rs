//! `qos-ulps`, which only OpenSM has.
//!
//! `sdp : 1` comes back as `any, service-id 0x10000-0x1ffff : 1`: one form for all lines, with the
//! same rule behind it. Only IPoIB keeps its word, since OpenSM checks its partition.
//!
//! ```text
//! rds : 3                                any, service-id 0x10648ca : 3
//! ipoib, pkey 0x7fff : 6                 ipoib, pkey 0x7fff : 6
//! ```

use sa_text::Spanned;

use super::Writer;
use super::script::{Block, Part, listed};
use crate::model::criterion::{Field, Notation};
use crate::model::{GroupIx, Origin, Rule, RuleOrigin, Selector};

impl Writer<'_> {
    /// The section, in words that take every value.
    pub(super) fn ulps(&self) -> Option<Block> {
        let mut section = Block::new("qos-ulps");
        let default = self.policy.level(self.policy.default_level);
        if let Some(sl) = default.sl.filter(|_| default.origin == Origin::Ulp) {
            section.parts.push(Part::Line(format!("default : {}", *sl)));
        }
        for rule in &self.policy.rules {
            if let RuleOrigin::Ulp { ipoib } = rule.origin {
                let sl = self.policy.level(*rule.level).sl.map_or(0, |sl| *sl);
                let line = format!("{} : {sl}", self.criterion(rule, ipoib));
                section.parts.push(Part::Line(line));
            }
        }
        section.unless_empty()
    }

    /// What stands before the colon. The words `any, ..` take every value that the shorthands (`sdp`, `rds`)
    /// stand for, and OpenSM reads both alike.
    /// Every rule of shorthand has exactly one criterion, or both ends by one list.
    fn criterion(&self, rule: &Rule, ipoib: bool) -> String {
        if let Some(ids) = rule.wanted(Field::ServiceId) {
            return format!("any, service-id {}", listed(ids, Notation::Hexadecimal));
        }
        if let Some(bases) = rule.wanted(Field::Pkey) {
            let ulp = if ipoib { "ipoib" } else { "any" };
            return format!("{ulp}, pkey {}", listed(bases, Notation::Hexadecimal));
        }
        // Both ends hold the same GUIDs, as one line made them.
        // Both are set only by `source-target-port-guid`.
        let (word, groups) = match (rule.source.is_empty(), rule.destination.is_empty()) {
            (false, false) => ("source-target-port-guid", &rule.source),
            (false, true) => ("source-port-guid", &rule.source),
            _ => ("target-port-guid", &rule.destination),
        };
        format!("any, {word} {}", self.guids(groups))
    }

    /// Port GUIDs of the groups that such a line made.
    fn guids(&self, groups: &[Spanned<GroupIx>]) -> String {
        let groups = groups.iter().map(|group| self.policy.group(group.value));
        let selectors = groups.flat_map(|group| &group.selectors);
        let guids: Vec<String> = selectors
            .filter_map(|selector| match &selector.value {
                Selector::Guids(guids) => Some(listed(guids, Notation::Hexadecimal)),
                _ => None,
            })
            .collect();
        guids.join(",")
    }
}
