//! `qos-match-rules`.
//!
//! A rule that cannot be said whole is left out, never written without a criterion: it would hold
//! for requests that it was not meant for. Requests that it was for then fall to later rules, which
//! is why the loss names the level.

use sa_text::Spanned;

use super::script::Block;
use super::{Lost, Writer};
use crate::model::criterion::Field;
use crate::model::dialect::Dialect;
use crate::model::{GroupIx, Rule, RuleOrigin, index};

impl Writer<'_> {
    /// The section; rules of `qos-ulps` belong to it unless there is such a section.
    pub(super) fn rules(&mut self) -> Option<Block> {
        let mut section = Block::new("qos-match-rules");
        let policy = self.policy;
        for rule in &policy.rules {
            let is_ulp = matches!(rule.origin, RuleOrigin::Ulp { .. });
            // Written as shorthand again.
            if is_ulp && self.to == Dialect::OpenSm {
                continue;
            }
            match self.unsayable(rule) {
                Some(criterion) => self.leave_out(rule, criterion),
                None => {
                    // Of the new file: rules that are left out leave no gap.
                    let number = section.parts.len() + 1;
                    let block = self.rule(rule, number);
                    section.block(block);
                }
            }
        }
        section.unless_empty()
    }

    /// A criterion that the dialect does not have.
    /// None where the dialect has a word for each of its fields.
    fn unsayable(&self, rule: &Rule) -> Option<&'static str> {
        // The last of several is named; one is enough to leave the rule out.
        let fields = Field::ALL.into_iter().rev();
        let mut unsayable = fields
            .filter(|field| rule.fields[*field].is_some() && field.keyword(self.to).is_none());
        unsayable.next().map(Field::name)
    }

    /// Without its criterion a rule would hold where it must not.
    fn leave_out(&mut self, rule: &Rule, criterion: &'static str) {
        let level = self.policy.level(*rule.level).title();
        self.lose(rule.span, Lost::Rule { level, criterion });
    }

    /// A rule, every criterion of which the dialect can say. Shape: `number` from 1, RFC 0.1's order label.
    fn rule(&mut self, rule: &Rule, number: usize) -> Block {
        let mut block = Block::new("qos-match-rule");
        let is_xml = self.to == Dialect::Rfc01Xml;
        if is_xml {
            block.plain("sn", number);
        }
        self.purpose(&mut block, rule.purpose.as_ref());
        block.names("source", self.group_names(&rule.source));
        block.names("destination", self.group_names(&rule.destination));
        for field in Field::ALL {
            if let Some(keyword) = field.keyword(self.to) {
                block.ranges(keyword, rule.wanted(field), field.notation());
            }
        }
        self.level_reference(&mut block, usize::from(rule.level.0));
        self.flow_label(&mut block, rule.flow_label);
        block
    }

    /// Names as the new file has them.
    fn group_names(&self, groups: &[Spanned<GroupIx>]) -> Vec<String> {
        let name = |group: &Spanned<GroupIx>| self.names.groups.get(index(group.0)).cloned();
        groups.iter().filter_map(name).collect()
    }

    /// OpenSM refers to levels by name, RFC 0.2 by position, RFC 0.1 by number.
    /// By the names worked out before, so that a level that was renamed is still meant.
    fn level_reference(&self, block: &mut Block, at: usize) {
        let Some(level) = self.names.levels.get(at) else {
            return;
        };
        match self.to {
            Dialect::OpenSm => {
                block.name("qos-level-name", level.name.clone().unwrap_or_default());
            }
            // Levels are written in the order of the policy, so that places are positions.
            Dialect::Rfc02Text => block.plain("qos-level-sn", at + 1),
            Dialect::Rfc01Xml => block.plain("match-level", level.sn.unwrap_or(0)),
        }
    }
}
