//! What does not suit torus-2QoS, which tells two QoS levels apart by bit 3 of the SL.
//!
//! torus-2QoS takes bit 3 of an SL as it is and makes the other three by coordinates, to be free of
//! deadlock. So a policy has two levels there, whatever SLs it writes; a path record comes back
//! with the engine's SL, which surprises those who compare numbers.
//!
//! ```text
//!  SL of a level   0..7 -> level 0, written as SL 0       8..15 -> level 1, written as SL 8
//!  multicast       the group's SL as it is: 0 and 8 only are kept apart from unicast
//! ```

use std::collections::BTreeMap;

use policy::lint::{Finding, LintId};
use sa_fabric::OpenSmOptions;
use sa_fabric::options::QosSet;
use sa_text::Severity;

use super::{Subject, sl_span};
use crate::qos_setup::torus_warnings;

/// Levels, multicast groups and options.
///
/// Nothing for other engines.
pub(super) fn findings(subject: &Subject<'_>) -> Vec<Finding> {
    if subject.parts.routes.torus().is_none() {
        return Vec::new();
    }
    let mut found = levels(subject);
    found.extend(multicast(subject));
    found.extend(options(&subject.parts.options));
    found
}

/// Levels with lower bits that will not stay, and levels that fall together.
fn levels(subject: &Subject<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut first: BTreeMap<u8, _> = BTreeMap::new();
    for (_, level, sl) in subject.sls() {
        // Bit 3 is the policy's, the lower ones are the engine's.
        let kept = sl & 8;
        if sl != kept {
            let sentence = format!(
                "SL {sl} of level '{}' acts as SL {kept}: torus-2QoS gives the lower bits itself",
                level.title()
            );
            let remedy = format!("write sl: {kept}");
            found.push(Finding::new(
                LintId::TORUS,
                sl_span(level),
                sentence,
                remedy,
            ));
        }
        let (of_first, other) = *first.entry(kept).or_insert((sl, level));
        if of_first != sl {
            let sentence = format!(
                "levels '{}' (SL {sl}) and '{}' (SL {of_first}) are one to torus-2QoS, which has \
                 two: SL 0 and SL 8",
                level.title(),
                other.title()
            );
            let remedy = "make do with two, or tell them apart by MTU, rate or P_Key";
            let finding = Finding::new(LintId::TORUS, sl_span(level), sentence, remedy);
            found.push(finding.and(sl_span(other), "the other level"));
        }
    }
    found
}

/// Multicast uses the SL of the group as it is.
///
/// No path record goes through the engine for a group, so a wrong SL is not put right and can close
/// a credit loop: an error.
fn multicast(subject: &Subject<'_>) -> impl Iterator<Item = Finding> {
    let partitions = &subject.parts.partitions;
    let groups = partitions.multicast_groups().iter();
    let bad = groups.filter(|group| !matches!(group.sl.get(), 0 | 8));
    bad.map(|group| {
        let (sl, kept) = (group.sl.get(), group.sl.get() & 8);
        let sentence = format!(
            "multicast group {} of P_Key 0x{:04x} has SL {sl}; with torus-2QoS multicast is free \
             of deadlock on SL 0 and SL 8 only",
            group.mgid, group.base
        );
        let remedy = format!("set sl={kept} for the partition or group in partitions.conf");
        Finding::new(LintId::TORUS, None, sentence, remedy).with(Severity::Error)
    })
}

/// VL arbitration in words of the options; briefly where nobody gave any.
fn options(options: &OpenSmOptions) -> Vec<Finding> {
    let sets = [
        &options.qos_common,
        &options.qos_ca,
        &options.qos_sw0,
        &options.qos_swe,
        &options.qos_rtr,
    ];
    let warnings = torus_warnings(options);
    if sets.iter().all(|set| **set == QosSet::default()) {
        let default = "VL arbitration is OpenSM's default, which is unfair on a torus";
        let remedy = "`sapphire setup` says what to set in opensm.conf";
        let finding =
            (!warnings.is_empty()).then(|| Finding::new(LintId::TORUS, None, default, remedy));
        return finding.into_iter().collect();
    }
    let told = warnings.iter();
    let told = told.map(|it| Finding::new(LintId::TORUS, None, it.sentence(), it.remedy()));
    let mut found: Vec<_> = told.collect();
    let common = &options.qos_common;
    // Common options are in force at end ports and between switches alike.
    let plain = [
        ("qos_vlarb_high", &common.vlarb_high),
        ("qos_vlarb_low", &common.vlarb_low),
    ];
    for (name, _) in plain.into_iter().filter(|(_, value)| value.is_some()) {
        let sentence = format!(
            "{name} is for all ports, and torus-2QoS uses other VLs at end ports than between \
             switches"
        );
        let remedy = "set qos_ca_vlarb_* and qos_swe_vlarb_* instead";
        found.push(Finding::new(LintId::TORUS, None, sentence, remedy));
    }
    found
}
