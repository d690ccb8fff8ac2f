//! Which QoS level a request gets.
//!
//! Each criterion maps the request's value to a class with a set of rules that it satisfies; the
//! lowest rule in the intersection is the first match. A guard bit behind the last rule, set
//! everywhere, stands for "no rule". Source: reference on QoS policy, rule bitsets by equivalence
//! class.

use crate::records::{LevelRecord, PkeyRangeRecord, PolicyRecord, PortIx, PortRecord};
use crate::snapshot::Snapshot;

/// Index of "names no QoS class" in its map.
pub(crate) const QOS_CLASS_ABSENT: u16 = 4096;
/// Index of "names no P_Key" in its map.
pub(crate) const PKEY_ABSENT: u16 = 0x8000;

/// Bits of `PolicyRecord::dimensions`.
pub(crate) mod dimension {
    pub(crate) const SOURCE: u32 = 1 << 0;
    pub(crate) const DESTINATION: u32 = 1 << 1;
    pub(crate) const QOS_CLASS: u32 = 1 << 2;
    pub(crate) const PKEY: u32 = 1 << 3;
    pub(crate) const SERVICE: u32 = 1 << 4;
}

/// What a request says that rules ask about; `None` where its component mask leaves it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MatchInput {
    /// 12 bits.
    pub qos_class: Option<u16>,
    /// As requested; rules compare the base.
    pub pkey: Option<u16>,
    /// 64 bits.
    pub service_id: Option<u64>,
}

/// A level, and which rule gave it.
#[derive(Debug, Clone, Copy)]
pub struct Matched<'a> {
    /// Place of the rule from 0; none for the default level.
    pub rule: Option<u32>,
    /// Place of the level.
    pub level_index: u32,
    /// The level.
    pub level: &'a LevelRecord,
}

/// The classes of what a request says; the same for every pair of ports.
#[derive(Debug, Clone, Copy)]
pub struct RequestClasses {
    qos_class: u16,
    pkey: u16,
    service: u16,
}

impl Snapshot {
    /// True when a policy is in force.
    #[inline(always)]
    pub const fn has_policy(&self) -> bool {
        self.policy.is_some()
    }

    /// Classifies what the request says, once per request. None without a policy.
    #[inline(always)]
    pub fn classify(&self, input: &MatchInput) -> Option<RequestClasses> {
        let policy = self.policy.as_ref()?;
        Some(RequestClasses {
            qos_class: self.qos_class_class(policy, input.qos_class),
            pkey: self.pkey_class(policy, input.pkey),
            service: self.service_class(policy, input.service_id),
        })
    }

    #[inline(always)]
    fn qos_class_class(&self, policy: &PolicyRecord, qos_class: Option<u16>) -> u16 {
        if policy.dimensions & dimension::QOS_CLASS == 0 {
            return 0;
        }
        let at = qos_class.map_or(QOS_CLASS_ABSENT, |class| class & 0xfff);
        self.sections
            .qos_class_map
            .get(usize::from(at))
            .copied()
            .unwrap_or(0)
    }

    #[inline(always)]
    fn pkey_class(&self, policy: &PolicyRecord, pkey: Option<u16>) -> u16 {
        if policy.dimensions & dimension::PKEY == 0 {
            return 0;
        }
        let at = pkey.map_or(PKEY_ABSENT, |pkey| pkey & 0x7fff);
        self.sections
            .pkey_map
            .get(usize::from(at))
            .copied()
            .unwrap_or(0)
    }

    #[inline(always)]
    fn service_class(&self, policy: &PolicyRecord, service_id: Option<u64>) -> u16 {
        if policy.dimensions & dimension::SERVICE == 0 {
            return 0;
        }
        let Some(service_id) = service_id else {
            return policy.service_absent;
        };
        let after = self
            .sections
            .service_starts
            .partition_point(|start| *start <= service_id);
        self.sections
            .service_classes
            .get(after.wrapping_sub(1))
            .copied()
            .unwrap_or(0)
    }

    /// The level for a path from `source` to `destination`. None without a policy.
    #[inline(always)]
    pub fn match_level(
        &self,
        source: PortIx,
        destination: PortIx,
        classes: &RequestClasses,
    ) -> Option<Matched<'_>> {
        let policy = self.policy.as_ref()?;
        let first = self.first_rule(policy, self.port(source), self.port(destination), classes);
        let record = self.sections.rules.get(usize::try_from(first).ok()?)?;
        Some(Matched {
            rule: (first < policy.rules).then_some(first),
            level_index: record.level,
            level: self
                .sections
                .levels
                .get(usize::try_from(record.level).ok()?)?,
        })
    }

    /// The place of the first rule that holds; the guard's when none does.
    #[inline(always)]
    fn first_rule(
        &self,
        policy: &PolicyRecord,
        source: &PortRecord,
        destination: &PortRecord,
        classes: &RequestClasses,
    ) -> u32 {
        let words = usize::try_from(policy.words).unwrap_or(0);
        let sections = &self.sections;
        let (
            Some(by_source),
            Some(by_destination),
            Some(by_class),
            Some(by_pkey),
            Some(by_service),
        ) = (
            rule_set(&sections.source_sets, source.source_class, words),
            rule_set(
                &sections.destination_sets,
                destination.destination_class,
                words,
            ),
            rule_set(&sections.qos_class_sets, classes.qos_class, words),
            rule_set(&sections.pkey_rule_sets, classes.pkey, words),
            rule_set(&sections.service_sets, classes.service, words),
        )
        else {
            return policy.rules;
        };
        let ends = by_source.iter().zip(by_destination);
        let said = by_class.iter().zip(by_pkey).zip(by_service);
        let mut base = 0;
        for ((source, destination), ((class, pkey), service)) in ends.zip(said) {
            let hits = source & destination & class & pkey & service;
            if hits != 0 {
                return base + hits.trailing_zeros();
            }
            base += u64::BITS;
        }
        policy.rules
    }

    /// The P_Key ranges a level allows; empty for any.
    #[inline(always)]
    pub fn level_pkeys(&self, level: &LevelRecord) -> &[PkeyRangeRecord] {
        let start = usize::try_from(level.pkeys_start).unwrap_or(usize::MAX);
        let len = usize::try_from(level.pkeys_len).unwrap_or(usize::MAX);
        self.sections
            .level_pkeys
            .get(start..start.saturating_add(len))
            .unwrap_or_default()
    }

    /// The line of the policy file where a rule starts.
    pub fn rule_line(&self, rule: u32) -> Option<u32> {
        self.sections
            .rules
            .get(usize::try_from(rule).ok()?)
            .map(|record| record.line)
    }

    /// The name of a level.
    pub fn level_name(&self, level: u32) -> Option<&str> {
        let names = core::str::from_utf8(&self.sections.level_names).ok()?;
        names.lines().nth(usize::try_from(level).ok()?)
    }
}

/// The rules that a class satisfies.
#[inline(always)]
fn rule_set(sets: &[u64], class: u16, words: usize) -> Option<&[u64]> {
    let start = usize::from(class) * words;
    sets.get(start..start + words)
}
