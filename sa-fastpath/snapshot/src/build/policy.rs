//! The policy's part of a snapshot.

use super::{Builder, count32};
use crate::error::BuildError;
use crate::layout::SectionId;
use crate::model::PolicyTables;
use crate::policy_match::dimension;
use crate::records::{LevelRecord, PkeyRangeRecord, PolicyRecord, RuleRecord};

impl Builder<'_> {
    /// Lays the policy out. Errors: classes that do not fit the ports.
    pub(super) fn policy(&mut self) -> Result<(), BuildError> {
        let Some(policy) = &self.model.policy else {
            return Ok(());
        };
        let ports = self.model.ports.len();
        if policy.source.map.len() != ports || policy.destination.map.len() != ports {
            return Err(BuildError::Inconsistent {
                what: "policy classes of ports",
            });
        }
        let words = policy.rules.len() / 64 + 1;
        self.put(SectionId::Policy, &[policy_record(policy, words)]);
        self.levels(policy);
        self.rules(policy);
        let sets: [(SectionId, &Vec<Vec<u64>>); 5] = [
            (SectionId::SourceSets, &policy.source.sets),
            (SectionId::DestinationSets, &policy.destination.sets),
            (SectionId::QosClassSets, &policy.qos_class.sets),
            (SectionId::PkeySetsOfRules, &policy.pkey.sets),
            (SectionId::ServiceSets, &policy.service_id.sets),
        ];
        for (section, sets) in sets {
            let guarded = guarded_sets(sets, policy.rules.len(), words);
            self.put(section, &guarded);
        }
        self.put(SectionId::QosClassMap, &policy.qos_class.map);
        self.put(SectionId::PkeyMap, &policy.pkey.map);
        self.put(SectionId::ServiceStarts, &policy.service_id.map.starts);
        self.put(SectionId::ServiceClasses, &policy.service_id.map.classes);
        Ok(())
    }

    fn levels(&mut self, policy: &PolicyTables) {
        let mut records = Vec::with_capacity(policy.levels.len());
        let mut ranges: Vec<PkeyRangeRecord> = Vec::new();
        let mut names = String::new();
        for level in &policy.levels {
            records.push(LevelRecord {
                pkeys_start: count32(ranges.len()),
                pkeys_len: count32(level.pkeys.len()),
                sl: level.sl,
                mtu_limit: level.mtu_limit.map_or(0, |mtu| mtu.code()),
                rate_limit: level.rate_limit.map_or(0, |rank| rank.get()),
                has_packet_life: u8::from(level.packet_life.is_some()),
                packet_life: level.packet_life.unwrap_or(0),
                reserved: [0; 3],
            });
            let pkeys = level.pkeys.iter();
            ranges.extend(pkeys.map(|(first, last)| PkeyRangeRecord {
                first: *first,
                last: *last,
            }));
            names.extend(
                level
                    .name
                    .chars()
                    .map(|c| if c.is_control() { ' ' } else { c }),
            );
            names.push('\n');
        }
        self.put(SectionId::Levels, &records);
        self.put(SectionId::LevelPkeys, &ranges);
        self.put(SectionId::LevelNames, names.as_bytes());
    }

    fn rules(&mut self, policy: &PolicyTables) {
        let guard = RuleRecord {
            line: 0,
            level: u32::from(policy.default_level),
        };
        let records: Vec<RuleRecord> = policy
            .rules
            .iter()
            .map(|rule| RuleRecord {
                line: rule.line,
                level: u32::from(rule.level),
            })
            .chain([guard])
            .collect();
        self.put(SectionId::Rules, &records);
    }
}

fn policy_record(policy: &PolicyTables, words: usize) -> PolicyRecord {
    let dimensions = [
        (policy.source.sets.len(), dimension::SOURCE),
        (policy.destination.sets.len(), dimension::DESTINATION),
        (policy.qos_class.sets.len(), dimension::QOS_CLASS),
        (policy.pkey.sets.len(), dimension::PKEY),
        (policy.service_id.sets.len(), dimension::SERVICE),
    ];
    PolicyRecord {
        rules: count32(policy.rules.len()),
        words: count32(words),
        default_level: policy.default_level,
        service_absent: policy.service_id.map.absent,
        dimensions: dimensions
            .iter()
            .filter(|(classes, _)| *classes > 1)
            .fold(0, |bits, (_, bit)| bits | bit),
    }
}

/// The sets one after another, each with the guard bit behind the last rule.
fn guarded_sets(sets: &[Vec<u64>], rules: usize, words: usize) -> Vec<u64> {
    let mut all = Vec::with_capacity(sets.len() * words);
    for set in sets {
        let start = all.len();
        all.extend(set.iter().copied().chain(core::iter::repeat(0)).take(words));
        if let Some(word) = all.get_mut(start + rules / 64) {
            *word |= 1 << (rules % 64);
        }
    }
    all
}
