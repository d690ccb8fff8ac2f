//! The policy's part of a snapshot.
//!
//! Two forms, chosen by `Index::new`. Up to 255 rules, or where lists would not help: a bit a rule
//! in every set, and the guard bit behind the last. Else: the index, whose sets have rules by
//! place.
//!
//! For three rules, the second for one service only, sets are (bit 0 lowest, G the guard):
//!
//! ```text
//!  source sets      0b1111 (class 0)              all rules hold for every source
//!  service sets     0b1101 (other)  0b1111 (the service)
//!                     G210            G210
//! ```
//!
//! A request for another service: 0b1111 & 0b1101, lowest bit 0: rule 0. With rule 0 for another
//! source, rule 2; with none, the guard, whose level is the default.

use super::index::Index;
use super::{Builder, count32, limit};
use crate::error::BuildError;
use crate::format::layout::SectionId;
use crate::format::policy_records::{
    ClassRecord, LevelRecord, PathBitsRecord, PkeyRangeRecord, PolicyRecord, RuleRecord, criterion,
    dimension, level_flags, semantics,
};
use crate::format::rare_fields::RareField;
use crate::model::{Dimension, Echo, MAX_RULES, PolicyTables, QosLevelRow};

impl Builder<'_> {
    /// Lays the policy out. Errors: classes that do not fit the ports.
    pub(super) fn policy(&mut self) -> Result<(), BuildError> {
        let Some(policy) = &self.model.policy else {
            return Ok(());
        };
        let ports = self.model.ports.len();
        // Ports carry their classes, so the maps must name every port.
        if policy.source.map.len() != ports || policy.destination.map.len() != ports {
            return Err(BuildError::Inconsistent {
                what: "policy classes of ports",
            });
        }
        // Every number that a request can name must have a class, and so must "names none".
        for field in RareField::ALL {
            let dimension = policy.rare.get(field as usize);
            let values = dimension.map(|dimension| dimension.map.len());
            if values != Some(usize::from(field.values()) + 1) {
                let what = field.classes();
                return Err(BuildError::Inconsistent { what });
            }
        }
        limit("rules", policy.rules.len(), MAX_RULES)?;
        self.flow_labels(policy)?;
        self.levels(policy);
        self.rules(policy);
        let dimensions = dimensions(policy);
        let sets: Vec<&[Vec<u64>]> = dimensions.iter().map(|(_, sets)| *sets).collect();
        // Decided by the rules alone, so the same policy always has the same form.
        match Index::new(&sets, policy.rules.len()) {
            None => self.scanned(policy, &dimensions),
            Some(index) => self.indexed(policy, &dimensions, &index),
        }
        // Without a rule that asks for a rare field its whole dimension is left out, and with it one
        // look-up.
        for (field, dimension) in asked_rare(policy) {
            self.put(field.map(), &dimension.map);
        }
        self.put(SectionId::QosClassMap, &policy.qos_class.map);
        self.put(SectionId::PkeyMap, &policy.pkey.map);
        self.put(SectionId::ServiceStarts, &policy.service_id.map.starts);
        self.put(SectionId::ServiceClasses, &policy.service_id.map.classes);
        Ok(())
    }

    /// All rules in every set, the guard bit behind them.
    fn scanned(&mut self, policy: &PolicyTables, dimensions: &[(SectionId, &[Vec<u64>])]) {
        let rules = policy.rules.len();
        // One word more where the rules fill the last one: the guard needs a bit of its own.
        let words = rules / 64 + 1;
        self.put(SectionId::Policy, &[policy_record(policy, words)]);
        for (section, sets) in dimensions {
            self.put(*section, &guarded_sets(sets, rules, words));
        }
    }

    /// Rules by what they ask for.
    fn indexed(
        &mut self,
        policy: &PolicyTables,
        dimensions: &[(SectionId, &[Vec<u64>])],
        index: &Index,
    ) {
        let mut record = PolicyRecord {
            ends_words: count32(index.ends_words),
            scanned_words: count32(index.scanned_words),
            lists: index.lists,
            ..policy_record(policy, index.words)
        };
        // Without a table the number of columns is 0, which lookups take for "none".
        if !index.first_rules.is_empty() {
            record.pair_columns = count32(policy.destination.sets.len());
        }
        let mut classes: Vec<ClassRecord> = Vec::new();
        let parts = dimensions.iter().zip(&index.dimensions);
        for (start, ((section, _), dimension)) in record.class_starts.iter_mut().zip(parts) {
            // A rare field that no rule asks for has no classes, and its start stays 0.
            if dimension.classes.is_empty() {
                continue;
            }
            *start = count32(classes.len());
            classes.extend_from_slice(&dimension.classes);
            self.put(*section, &dimension.rows);
        }
        self.put(SectionId::Policy, &[record]);
        self.put(SectionId::RuleOrder, &index.order);
        self.put(SectionId::PolicyClasses, &classes);
        self.put(SectionId::RuleWords, &index.rest);
        self.put(SectionId::FirstRules, &index.first_rules);
    }

    /// Levels, the ranges of P_Keys that they allow, and their names.
    fn levels(&mut self, policy: &PolicyTables) {
        let mut records = Vec::with_capacity(policy.levels.len());
        // Ranges of all levels lie one after another; a level says where its own begin.
        let mut ranges: Vec<PkeyRangeRecord> = Vec::new();
        let mut names = String::new();
        for level in &policy.levels {
            records.push(level_record(level, ranges.len()));
            let pkeys = level.pkeys.iter();
            ranges.extend(pkeys.map(|(first, last)| PkeyRangeRecord {
                first: *first,
                last: *last,
            }));
            // A name is a line of the section, so it must not hold one.
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
        if limits_path_bits(policy) {
            let path_bits: Vec<PathBitsRecord> = policy.levels.iter().map(path_bits).collect();
            self.put(SectionId::LevelPathBits, &path_bits);
        }
    }

    /// Errors: not as many as there are rules, and the default.
    fn flow_labels(&mut self, policy: &PolicyTables) -> Result<(), BuildError> {
        if !gives_flow_labels(policy) {
            return Ok(());
        }
        if policy.flow_labels.len() != policy.rules.len() + 1 {
            return Err(BuildError::Inconsistent {
                what: "flow labels of rules",
            });
        }
        // One word for each rule and the default: the place is the rule's number.
        let words: Vec<u32> = policy.flow_labels.iter().map(|it| it.word()).collect();
        self.put(SectionId::FlowLabels, &words);
        Ok(())
    }

    /// Rules and, behind them, a guard with the default level: a match that finds no rule finds the
    /// guard.
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

/// True when some answer carries a flow label.
fn gives_flow_labels(policy: &PolicyTables) -> bool {
    policy.flow_labels.iter().any(|labels| labels.are_set())
}

/// The rare fields that some rule asks for.
fn asked_rare(policy: &PolicyTables) -> impl Iterator<Item = (RareField, &Dimension<Vec<u16>>)> {
    let rare = RareField::ALL.into_iter().zip(&policy.rare);
    rare.filter(|(_, dimension)| tells_apart(dimension, policy.rules.len()))
}

/// The sets of every dimension by its number; none of rare fields that no rule asks for.
fn dimensions(policy: &PolicyTables) -> Vec<(SectionId, &[Vec<u64>])> {
    // In the order of `criterion`, as class records are laid out by these numbers.
    let mut dimensions: Vec<(SectionId, &[Vec<u64>])> = vec![
        (SectionId::SourceSets, &policy.source.sets),
        (SectionId::DestinationSets, &policy.destination.sets),
        (SectionId::QosClassSets, &policy.qos_class.sets),
        (SectionId::PkeySetsOfRules, &policy.pkey.sets),
        (SectionId::ServiceSets, &policy.service_id.sets),
    ];
    dimensions.extend(RareField::ALL.map(|field| (field.sets(), &[][..])));
    for (field, dimension) in asked_rare(policy) {
        dimensions[criterion::RARE + field as usize].1 = &dimension.sets;
    }
    dimensions
}

/// The record of a level; `pkeys_start` is where its ranges will lie.
fn level_record(level: &QosLevelRow, pkeys_start: usize) -> LevelRecord {
    let flags = [
        (level.packet_life.is_some(), level_flags::PACKET_LIFE),
        (level.tclass.is_some(), level_flags::TCLASS),
        (level.sl.is_none(), level_flags::NO_SL),
        (level.packet_life > Some(63), level_flags::LONG_LIFE),
    ];
    LevelRecord {
        pkeys_start: count32(pkeys_start),
        pkeys_len: count32(level.pkeys.len()),
        sl: level.sl.unwrap_or(0),
        mtu_limit: level.mtu_limit.map_or(0, |mtu| mtu.code()),
        rate_limit: level.rate_limit.map_or(0, |rank| rank.get()),
        packet_life: level.packet_life.unwrap_or(0),
        tclass: level.tclass.unwrap_or(0),
        flags: flags
            .iter()
            .filter(|(holds, _)| *holds)
            .fold(0, |flags, (_, flag)| flags | flag),
        reserved: [0; 2],
    }
}

/// True when some level allows some LIDs of a destination only.
fn limits_path_bits(policy: &PolicyTables) -> bool {
    policy.levels.iter().any(|level| level.path_bits.is_some())
}

/// The offsets that a level allows, in two words.
fn path_bits(level: &QosLevelRow) -> PathBitsRecord {
    // All bits where a level limits nothing: the records are there for every level or for none.
    let bits = level.path_bits.unwrap_or(u128::MAX);
    let half = |from: u32| u64::try_from(bits >> from & u128::from(u64::MAX)).unwrap_or(0);
    PathBitsRecord {
        low: half(0),
        high: half(64),
    }
}

/// False when every rule holds whatever the request's value is, so that nothing need be looked up.
fn tells_apart<M>(criterion: &Dimension<M>, rules: usize) -> bool {
    let holds = |set: &[u64], rule: usize| {
        set.get(rule / 64)
            .is_some_and(|word| word >> (rule % 64) & 1 == 1)
    };
    match criterion.sets.as_slice() {
        // One class that holds every rule: nothing can be told apart.
        [set] => !(0..rules).all(|rule| holds(set, rule)),
        _ => true,
    }
}

/// What the policy says that OpenSM's dialect cannot; 0 lets answers take the shorter ways.
fn semantics_bits(policy: &PolicyTables) -> u32 {
    let semantics = &policy.semantics;
    let asks = asked_rare(policy).fold(0, |bits, (field, _)| bits | field.asks());
    let some = |holds: fn(&QosLevelRow) -> bool| policy.levels.iter().any(holds);
    let bits = [
        (some(|level| level.sl.is_none()), semantics::LEVEL_NO_SL),
        (
            some(|level| level.tclass.is_some()),
            semantics::LEVEL_TCLASS,
        ),
        (limits_path_bits(policy), semantics::LEVEL_PATH_BITS),
        (semantics.endpoint_mask_required, semantics::ENDPOINT_MASK),
        (semantics.legacy_service_id, semantics::LEGACY_SERVICE_ID),
        (semantics.service_id_in_key, semantics::SERVICE_ID_IN_KEY),
        (gives_flow_labels(policy), semantics::FLOW_LABELS),
        (semantics.echo == Echo::QosClass, semantics::ECHO_QOS_CLASS),
        (semantics.echo == Echo::TClass, semantics::ECHO_TCLASS),
    ];
    bits.iter()
        .filter(|(holds, _)| *holds)
        .fold(asks, |bits, (_, bit)| bits | bit)
}

/// The policy's record without an index: what one has besides is filled in by `indexed`.
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
        unnamed_source: policy.unnamed.source,
        unnamed_destination: policy.unnamed.destination,
        // A dimension with one class tells nothing apart, and its bit stays clear: one look-up
        // less.
        dimensions: dimensions
            .iter()
            .filter(|(classes, _)| *classes > 1)
            .fold(0, |bits, (_, bit)| bits | bit),
        semantics: semantics_bits(policy),
        class_starts: [0; criterion::COUNT],
        ends_words: 0,
        scanned_words: 0,
        lists: 0,
        pair_columns: 0,
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
