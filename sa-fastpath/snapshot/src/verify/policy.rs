//! What must hold in the tables of a policy.
//!
//! From large to small: how many rules and levels, which semantics, then each level, then the sets
//! (`rules`), and last the maps, which need to know how many sets there are. Whatever passes lets
//! every class of every request find a set, every set a rule or the guard, every rule a level.

use sa_wire::{Mtu, RateRank};

use super::rules::{SetCounts, rule_sets};
use super::{Checked, LONGEST_LIFE, check};
use crate::flow_labels::FlowLabels;
use crate::format::policy_records::{
    LevelRecord, PKEY_ABSENT, PolicyRecord, QOS_CLASS_ABSENT, dimension, level_flags, semantics,
};
use crate::format::rare_fields::RareField;
use crate::format::records::PortRecord;
use crate::format::{RareSections, Sections};
use crate::model::MAX_RULES;

/// Errors: tables of a policy that is not there.
pub(super) fn no_policy(sections: &Sections) -> Checked {
    let empty = sections.levels.is_empty()
        && sections.level_pkeys.is_empty()
        && sections.level_path_bits.is_empty()
        && sections.rules.is_empty()
        && sections.source_sets.is_empty()
        && sections.destination_sets.is_empty()
        && sections.qos_class_map.is_empty()
        && sections.qos_class_sets.is_empty()
        && sections.pkey_map.is_empty()
        && sections.pkey_rule_sets.is_empty()
        && sections.service_starts.is_empty()
        && sections.service_classes.is_empty()
        && sections.service_sets.is_empty()
        && sections.rule_order.is_empty()
        && sections.policy_classes.is_empty()
        && sections.rule_words.is_empty()
        && sections.first_rules.is_empty()
        && sections.flow_labels.is_empty()
        && sections.rare.iter().all(RareSections::are_empty);
    check(empty, "policy", "tables without a policy")?;
    // A stray class would be an index into tables that are not there.
    let classless = |port: &PortRecord| port.source_class == 0 && port.destination_class == 0;
    check(
        sections.ports.iter().all(classless),
        "ports",
        "policy classes without a policy",
    )
}

/// Errors: the first thing that does not hold in a policy's tables.
pub(super) fn policy(sections: &Sections, record: &PolicyRecord) -> Checked {
    // Numbers of the file first, as everything below counts with them.
    let rules = usize::try_from(record.rules).unwrap_or(usize::MAX);
    check(rules <= MAX_RULES, "policy", "too many rules")?;
    check(
        sections.rules.len() == rules + 1,
        "rules",
        "unexpected number",
    )?;
    let levels = sections.levels.len();
    let known = |level: u32| usize::try_from(level).is_ok_and(|level| level < levels);
    check(
        sections.rules.iter().all(|rule| known(rule.level)),
        "rules",
        "unknown level",
    )?;
    // The guard is the last rule, and its level the default: lookups read it like any other.
    let guard = sections.rules.last().map(|rule| rule.level);
    check(
        guard == Some(u32::from(record.default_level)),
        "rules",
        "default level",
    )?;
    known_semantics(sections, record)?;
    levels_in_range(sections)?;
    path_bits(sections, record)?;
    flow_labels(sections, record)?;
    let sizes = rule_sets(sections, record)?;
    maps(sections, record, &sizes)
}

/// Errors: bits that mean nothing, or that do not agree with the levels.
fn known_semantics(sections: &Sections, record: &PolicyRecord) -> Checked {
    let dimensions = record.dimensions & !dimension::ALL == 0;
    check(dimensions, "policy", "unknown criterion")?;
    let bits = record.semantics & !semantics::ALL == 0;
    check(bits, "policy", "unknown semantics")?;
    let both = semantics::ECHO_QOS_CLASS | semantics::ECHO_TCLASS;
    check(record.semantics & both != both, "policy", "two echoes")?;
    let flags = [
        (level_flags::TCLASS, semantics::LEVEL_TCLASS),
        (level_flags::NO_SL, semantics::LEVEL_NO_SL),
    ];
    // Answers choose a shorter way by these bits, so a bit that is missing would change answers.
    let agree = flags.iter().all(|(flag, bit)| {
        let some = sections.levels.iter().any(|level| level.has(*flag));
        some == (record.semantics & bit != 0)
    });
    check(agree, "policy", "semantics and levels disagree")
}

/// Errors: limits that do not exist, ranges out of place, fields that count for nothing and are not
/// 0.
fn levels_in_range(sections: &Sections) -> Checked {
    let mut expected = 0u64;
    for level in sections.levels.iter() {
        // Ranges without gaps or overlaps: then start and length cannot lead outside.
        check(
            u64::from(level.pkeys_start) == expected,
            "QoS levels",
            "P_Keys out of place",
        )?;
        expected += u64::from(level.pkeys_len);
        let mtu = level.mtu_limit == 0 || Mtu::from_code(level.mtu_limit).is_ok();
        let rate = level.rate_limit == 0 || RateRank::from_raw(level.rate_limit).is_some();
        check(mtu && rate, "QoS levels", "MTU or rate limit")?;
        // The flag and the value must agree, as answers look at the flag alone.
        let long = level.packet_life > LONGEST_LIFE;
        let life = long == level.has(level_flags::LONG_LIFE);
        check(life, "QoS levels", "packet life time over 63")?;
        let known = level.flags & !level_flags::ALL == 0;
        check(known, "QoS levels", "unknown flags")?;
        check(absent_is_zero(level), "QoS levels", "reserved bytes")?;
    }
    let ranges = &*sections.level_pkeys;
    check(
        ranges.len() as u64 == expected,
        "level P_Keys",
        "unexpected length",
    )?;
    let ordered = ranges
        .iter()
        .all(|range| range.first <= range.last && range.last <= 0x7fff);
    check(ordered, "level P_Keys", "range")
}

/// What does not count is 0.
const fn absent_is_zero(level: &LevelRecord) -> bool {
    (level.has(level_flags::PACKET_LIFE) || level.packet_life == 0)
        && (level.has(level_flags::TCLASS) || level.tclass == 0)
        && (!level.has(level_flags::NO_SL) || level.sl == 0)
        && level.reserved[0] == 0
        && level.reserved[1] == 0
}

/// Path bits are there for every level, or for none.
fn path_bits(sections: &Sections, record: &PolicyRecord) -> Checked {
    let expected = match record.semantics & semantics::LEVEL_PATH_BITS {
        0 => 0,
        _ => sections.levels.len(),
    };
    let length = sections.level_path_bits.len() == expected;
    check(length, "level path bits", "unexpected length")
}

/// Flow labels are there for every rule and the default, or for none.
fn flow_labels(sections: &Sections, record: &PolicyRecord) -> Checked {
    const NAME: &str = "flow labels";
    let words = &*sections.flow_labels;
    let (expected, some) = match record.semantics & semantics::FLOW_LABELS {
        0 => (0, false),
        _ => (sections.rules.len(), true),
    };
    check(words.len() == expected, NAME, "unexpected length")?;
    let known = |word: &u32| FlowLabels::from_word(*word).is_some();
    check(words.iter().all(known), NAME, "no labels")?;
    let any = words.iter().any(|word| *word != 0);
    check(any == some, NAME, "semantics and labels disagree")
}

/// Every class that a map gives has a rule set.
fn maps(sections: &Sections, record: &PolicyRecord, sizes: &SetCounts) -> Checked {
    let inside = |map: &[u16], classes: usize| map.iter().all(|c| usize::from(*c) < classes);
    for port in sections.ports.iter() {
        let source = usize::from(port.source_class) < sizes.source;
        let destination = usize::from(port.destination_class) < sizes.destination;
        check(source && destination, "ports", "policy class out of range")?;
    }
    let source = usize::from(record.unnamed_source) < sizes.source;
    let destination = usize::from(record.unnamed_destination) < sizes.destination;
    let unnamed = source && destination;
    check(unnamed, "policy", "class of unnamed ends out of range")?;
    let qos = &*sections.qos_class_map;
    let length = qos.len() == usize::from(QOS_CLASS_ABSENT) + 1;
    check(
        length && inside(qos, sizes.qos_class),
        "QoS class map",
        "length or class",
    )?;
    for (field, rare) in RareField::ALL.into_iter().zip(&sections.rare) {
        let classes = sizes.rare[field as usize];
        let expected = match classes {
            // A field that no rule asks for has no map at all.
            0 => 0,
            _ => usize::from(field.values()) + 1,
        };
        let length = rare.map.len() == expected;
        let holds = length && inside(&rare.map, classes);
        check(holds, field.map().name(), "length or class")?;
    }
    let pkey = &*sections.pkey_map;
    let length = pkey.len() == usize::from(PKEY_ABSENT) + 1;
    check(
        length && inside(pkey, sizes.pkey),
        "P_Key map",
        "length or class",
    )?;
    let starts = &*sections.service_starts;
    // From 0, so that every id lies in some interval.
    let ascending = starts.first() == Some(&0) && starts.is_sorted_by(|a, b| a < b);
    check(ascending, "service ids", "not ascending from 0")?;
    let classes = &*sections.service_classes;
    let length = classes.len() == starts.len();
    check(
        length && inside(classes, sizes.service),
        "service classes",
        "length or class",
    )?;
    let absent = usize::from(record.service_absent) < sizes.service;
    check(absent, "policy", "service class out of range")
}
